# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/validate.yml as a user runs it, with an API server that has no objects: each check is a claim, and the play fails with one error.

molecule/scorers/live has a whole stack.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys

import plays
import pytest
from keeping_api_server import empty
from local_servers import SSE, chunk, closed_port, serve, stream

pytestmark = pytest.mark.timing

SERVICE = {"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}}
USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 16}}


@pytest.fixture(name="play")
def play_validate(root, tmp_path):
    """Run validate.yml with more arguments and variables; returns (completed process, folder of its artifacts)."""

    def run(*arguments, **given):
        with serve(empty) as api:
            return run_against(api, *arguments, **given)

    def run_against(api, *arguments, **given):
        plays.kubeconfig(tmp_path / "kubeconfig", api, "sk-token")
        given = {
            "llm_d_model_services": [SERVICE],
            "llm_d_charts": {"envoy_gateway": "/charts"},
            "llm_d_kubeconfig": str(tmp_path / "kubeconfig"),
            "llm_d_artifacts_dir": str(tmp_path / "artifacts"),
            "validation_wait": 0,
            "validation_timeout": 1,
            **given,
        }
        (tmp_path / "vars.json").write_text(json.dumps(given), encoding="utf-8")
        command = [
            *plays.command(),
            "-i",
            "localhost,",
            "-c",
            "local",
            str(root / "playbooks" / "validate.yml"),
            "-e",
            f"@{tmp_path / 'vars.json'}",
            "-e",
            f"ansible_python_interpreter={sys.executable}",
            *arguments,
        ]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "no_proxy": "*",
            "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        }
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400, check=False)
        return done, tmp_path / "artifacts"

    return run


def test_every_check_is_a_claim_and_the_play_fails_once(play):
    def completions(_handler, _method, _path, _body):
        return 200, {"Content-Type": SSE}, stream(chunk("To"), chunk("day", "length"), USAGE)

    # The load test is valid on a slow host too: the client may be up to 5 seconds late.
    with serve(completions) as url:
        benchmark = {"url": url, "rates": [10], "max_lag": 5, "max_lag_share": 0}
        done, folder = play(validation_performance=True, validation_performance_seconds=1, llm_d_benchmark=benchmark)
    assert done.returncode != 0 and "failed=1" in done.stdout, done.stdout + done.stderr
    verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    ids = {entry["id"]: entry for entry in verdict["claims"]}
    assert set(ids) == {
        "platform/reachable",
        "objects/gateway/llm-d-gateway",
        "objects/deployment/envoy-gateway",
        "objects/deployment/sim-decode",
        "gateway/programmed",
        "sim/picker",
        "sim/pool",
        "sim/route",
        "sim/configured",
        "sim/servers",
        "sim/permissions",
        "sim/unprivileged",
        "sim/performance",
    }
    assert [name for name, entry in ids.items() if entry["ok"]] == ["sim/performance"] and ids["sim/performance"]["seconds"] > 0
    assert all(entry["remedy"] and entry["group"] for entry in ids.values() if not entry["ok"]) and "127.0.0.1" in ids["platform/reachable"]["evidence"]
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "12 of 13 claims do not hold" in report and (folder / "performance/sim/report.html").is_file()
    assert done.stdout.count("platform/reachable") >= 2 and "sk-token" not in done.stdout + report


def test_validation_does_not_wait_for_absent_objects(play):
    """The waits have their defaults, 60 and 300 seconds."""
    done, folder = play(validation_wait=60, validation_timeout=300)
    claims = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))["claims"]
    assert done.returncode != 0 and {entry["id"] for entry in claims} >= {"sim/route", "sim/picker", "gateway/programmed"}
    assert sum(entry["seconds"] for entry in claims) < 10, claims


def test_a_warm_up_is_claimed_and_its_prompts_are_not_shown(play):
    prompt = "You are the patient assistant of a shop for boots."
    done, folder = play("-vvv", llm_d_model_services=[{**SERVICE, "warmup": {"prompts": [prompt]}}])
    assert done.returncode != 0
    (claim,) = [entry for entry in json.loads((folder / "verdict.json").read_text(encoding="utf-8"))["claims"] if entry["id"] == "sim/warm"]
    assert claim["group"] == "caches" and not claim["ok"] and "no namespace llm-d" in claim["evidence"] and claim["remedy"]
    assert "sim/warm" in done.stdout and prompt not in done.stdout + done.stderr


@pytest.mark.parametrize("fault", ["refuses connections", "never answers", "answers with HTML"])
def test_an_unusable_prometheus_fails_its_claims_and_the_play_fails_once(play, fault):
    with contextlib.ExitStack() as stack:
        if fault == "answers with HTML":
            url = stack.enter_context(serve(lambda *_request: (200, {"Content-Type": "text/html"}, "<html>")))
        else:
            port = closed_port() if fault == "refuses connections" else stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            url = f"http://127.0.0.1:{port}"
        monitoring = {"scrape": True, "alerts": True, "dashboards": ["grafana"], "prometheus": url}
        done, folder = play(llm_d_monitoring=monitoring)
    ids = {entry["id"]: entry for entry in json.loads((folder / "verdict.json").read_text(encoding="utf-8"))["claims"]}
    for name in ("sim/alerts", "sim/dashboards"):
        assert not ids[name]["ok"] and url in ids[name]["evidence"], ids[name]
        assert "llm_d_monitoring.prometheus" in ids[name]["remedy"] and "vLLM" not in ids[name]["remedy"], ids[name]
    assert done.returncode != 0 and "failed=1" in done.stdout and done.stdout.count("[ERROR]") == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_check_mode_validates_nothing_and_writes_no_files(play):
    done, folder = play("--check", validation_performance=True)
    assert done.returncode == 0 and "nothing was validated" in done.stdout and not folder.exists(), done.stdout + done.stderr


def test_the_load_test_runs_with_the_role_tag_and_options_as_strings(play):
    done, folder = play(
        "--tags",
        "validation",
        "-e",
        "validation_performance=true",
        "-e",
        "validation_performance_seconds=1",
        llm_d_benchmark={"url": f"http://127.0.0.1:{closed_port()}", "concurrency": [1]},
    )
    assert done.returncode != 0
    (claim,) = [entry for entry in json.loads((folder / "verdict.json").read_text(encoding="utf-8"))["claims"] if entry["id"] == "sim/performance"]
    assert not claim["ok"] and "refused" in claim["evidence"]
