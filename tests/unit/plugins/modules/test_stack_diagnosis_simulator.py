# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The diagnosis of real simulators that misbehave, behind an API server of this host. The binary: the local cluster's, or of the folder LLM_D_BINARIES."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.modules import stack_diagnosis
from engine_servers import engine, listed
from local_servers import JSON, port_for_a_program, serve
from stack_objects import EPP_METRICS, StackServer, healthy

SIMULATOR = Path(os.environ.get("LLM_D_BINARIES", "/var/cache/llm-d-local/bin")) / "llm-d-inference-sim"
MODEL = "llm-d/simulated-8b"
pytestmark = [
    pytest.mark.skipif(not SIMULATOR.is_file(), reason="no simulator: bring up the local cluster, which builds it, or set LLM_D_BINARIES"),
    pytest.mark.timing,
]


def setting(port, **settings):
    body = json.dumps({name.replace("_", "-"): value for name, value in settings.items()}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/admin/config", body, {"Content-Type": JSON})
    urllib.request.urlopen(request, timeout=5).close()


@pytest.fixture(name="made")
def two_simulators(monkeypatch):
    """The plan of a stack with two real servers, and the port of the first."""
    snap, ports = healthy(), (port_for_a_program(), port_for_a_program())
    with contextlib.ExitStack() as running:
        for port in ports:
            command = [str(SIMULATOR), f"--model={MODEL}", f"--port={port}", "--force-dummy-tokenizer=true"]
            process = running.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            running.callback(process.kill)  # on SIGTERM it would wait for its hung requests
        until = time.monotonic() + 30
        for port in ports:
            while time.monotonic() < until:
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                    break
                time.sleep(0.1)
        epp = running.enter_context(serve(lambda *request: (200, {"Content-Type": "text/plain"}, EPP_METRICS)))
        numbers = list(ports)
        for pod in snap.objects["Pod"]:
            decode = "sim-decode" in pod["metadata"]["name"]
            pod["metadata"]["annotations"] = {"test/url": f"http://127.0.0.1:{numbers.pop(0)}" if decode else epp}
        known = engine("vllm", **{"/v1/models": (200, JSON, listed("vllm", MODEL))})
        gateway = running.enter_context(
            serve(lambda *request: (*known(*request)[:1], {"Content-Type": JSON, "x-went-into-resp-headers": "1"}, known(*request)[2]))
        )
        snap.objects["Gateway"][0]["status"]["addresses"] = [{"value": "127.0.0.1"}]
        snap.plan["gateway"]["listener"]["port"] = int(gateway.rpartition(":")[2])
        api = StackServer(snap)
        api.pods.sort(key=lambda pod: "epp" not in pod["metadata"]["name"])
        monkeypatch.setenv("K8S_AUTH_HOST", running.enter_context(serve(api)))
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        yield snap.plan, ports[0]


def test_both_are_well(call, made):
    result = call(stack_diagnosis, plan=made[0])
    assert result["findings"] == [], result["lines"]


@pytest.mark.parametrize(
    "settings, code",
    [
        ({"time_to_first_token": "60s"}, "hung"),
        ({"time_to_first_token": "2s"}, "slow"),
        ({"failure_injection_rate": 100, "failure_types": ["server_error"]}, "hung"),
        ({"failure_injection_rate": 100, "failure_types": ["invalid_api_key"]}, "key"),
    ],
)
def test_one_misbehaves(call, made, settings, code):
    setting(made[1], **settings)
    result = call(stack_diagnosis, plan=made[0])
    assert [entry["code"] for entry in result["findings"]] == [code], result["lines"]
    assert "4bn0t" in result["findings"][0]["where"] and "4bn1t" not in result["findings"][0]["where"] and result["seconds"] < 30
