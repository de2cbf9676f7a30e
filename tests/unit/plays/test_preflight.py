# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/preflight.yml waits for missing objects as long as the user's file says; its output and that of site.yml, in order.

tests/unit/plugins/modules/test_cluster_preflight.py tests what it waits for.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from ansible_collections.llm_d.inference.plugins.plugin_utils.results import BASE
from keeping_api_server import KINDS, PREPARED, KeepingApi
from local_servers import closed_port, serve

SIM = {"name": "sim", "model": {"served_name": "acme/sim"}, "replicas": 3, "engine": {"type": "simulator"}}
FILE = {
    "llm_d_scope": "namespace",
    "llm_d_gateway": {"provider": "none", "name": "theirs"},
    "llm_d_preflight": {"images": "ignore"},
    "llm_d_model_services": [SIM],
}


@pytest.mark.rest
@pytest.mark.parametrize("wait", [0, 1])
def test_preflight_waits_as_long_as_the_file_specifies(tmp_path, wait):
    plays.kubeconfig(tmp_path / "config", f"http://127.0.0.1:{closed_port()}")
    here = {"llm_d_kubeconfig": str(tmp_path / "config"), "llm_d_artifacts_dir": str(tmp_path), "ansible_python_interpreter": sys.executable}
    user = {**here, "llm_d_preflight": {"wait": wait}}
    done = plays.run("-i", "localhost,", "-c", "local", "playbooks/preflight.yml", "-vvv", "-e", json.dumps(user), no_proxy="*")
    assert done.returncode == 2 and "connection refused" in done.stdout, done.stdout + done.stderr
    assert re.findall(r"^ +timeout: (\d+)$", done.stdout.partition("invocation:")[2], re.MULTILINE) == [str(wait)], done.stdout


@pytest.fixture(name="preflight")
def _preflight(tmp_path):
    """A function that runs the preflight, or another playbook, on the stack of a file, and returns (exit status, output, preflight.json)."""

    def run(there, *options, playbook="playbooks/preflight.yml", allowed=True, **given):
        api = KeepingApi(ready=True)
        api.kept.update(PREPARED)
        for item in definitions(plan({**FILE, **there})) if there is not None else []:
            plural = KINDS.get(item["apiVersion"], {}).get(item["kind"])
            if plural and item["metadata"].get("namespace") == "llm-d":
                root = f"/apis/{item['apiVersion']}" if "/" in item["apiVersion"] else f"/api/{item['apiVersion']}"
                api.apply(f"{root}/namespaces/llm-d/{plural}/{item['metadata']['name']}", "", item)

        def answer(handler, method, url, body):
            if url.endswith("selfsubjectaccessreviews") and not allowed:
                return 201, {"Content-Type": "application/json"}, json.dumps({"status": {"allowed": False}})
            return api.answer(handler, method, url, body)

        with serve(answer) as url:
            user = {
                **FILE,
                "llm_d_kubeconfig": plays.kubeconfig(tmp_path / "config", url),
                "llm_d_artifacts_dir": str(tmp_path / "artifacts"),
                **given,
            }
            done = plays.run("-i", "inventories/kubernetes", playbook, *options, "-e", json.dumps(user), no_proxy="*")
        kept = tmp_path / "artifacts/preflight.json"
        return done.returncode, done.stdout, json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else None

    return run


def lines_of(output, task):
    """The output of a task."""
    return output.partition(f"| {task}]")[2].partition("\nTASK ")[0].partition("\nPLAY ")[0]


@pytest.mark.rest
def test_the_summary_is_printed_without_facts_unless_they_are_requested(preflight):
    status, output, kept = preflight(None)
    assert status == 0 and "preflight: nothing is missing" in output and "this changes" not in output, output
    assert "gateways.gateway.networking.k8s.io" not in output and kept["facts"]["crds"]["gateways.gateway.networking.k8s.io"]["version"] == "1.4.0"
    assert {key: kept[key] for key in ("instance", "namespace", "release", "findings", "changes")} == {
        "instance": "llm-d", "namespace": "llm-d", "release": "router-0.11", "findings": [], "changes": [],
    }  # fmt: skip
    assert kept["cluster"].startswith("http://127.0.0.1:") and kept["kubernetes"] == "v1.34.4"
    assert [line for line in lines_of(output, "Show what matters").splitlines() if len(line) > 80 and "preflight.json" not in line] == []
    status, output, _kept = preflight(None, "-e", "prerequisites_show_facts=true")
    assert status == 0 and "gateways.gateway.networking.k8s.io" in lines_of(output, "Show the facts")


@pytest.mark.rest
def test_a_stack_of_this_instance_that_would_change_is_named(preflight):
    changed = {"llm_d_model_services": [{**SIM, "replicas": 1, "scheduler": {"preset": "queue"}}]}
    there = {"llm_d_release": "router-0.9"}
    lines = [
        "release line: from router-0.9 to router-0.11",
        "sim: scorers: from queue 2, kv_cache 2, prefix 3 to queue 1",
        "sim: servers sim-decode: from 3 to 1",
        "sim: image of sim-decode: from ghcr.io/llm-d/llm-d-inference-sim:v0.10.2 to ghcr.io/llm-d/llm-d-inference-sim:v0.11.4",
    ]
    status, output, kept = preflight(there, **changed)
    folded = " ".join(output.split())
    assert status == 0 and "this changes an existing deployment: llm-d in namespace llm-d" in folded and kept["changes"] == lines, output
    assert [line for line in lines if line not in folded] == []
    status, output, _kept = preflight(there, "--tags", "prerequisites", "--check", playbook="site.yml", **changed)
    assert "this changes an existing deployment: llm-d in namespace llm-d" in output, output


@pytest.mark.rest
def test_an_unchanged_stack_is_no_news(preflight):
    status, output, kept = preflight({})
    assert status == 0 and kept["changes"] == [] and "this changes" not in output, output
    _status, output, _kept = preflight({}, "--tags", "prerequisites", "--check", playbook="site.yml")
    assert "preflight | Show what matters" in output and "preflight: " not in lines_of(output, "Show what matters"), output


def test_missing_permissions_end_the_play_with_findings_and_facts_are_kept(preflight):
    status, output, kept = preflight(None, allowed=False)
    folded = " ".join(output.split())
    assert status == 2 and "prerequisites are missing. Nothing has been touched." in folded and "error permissions/lacking: The account" in folded, output
    assert kept["findings"][0]["severity"] == "error" and "gateways.gateway.networking.k8s.io" not in output and kept["facts"]["crds"]
    assert folded.count("Found: denied. Needed: allowed.") <= 2, "Ansible shows the failure of a task twice"
    assert [line for line in output.partition("fatal: ")[2].partition("PLAY RECAP")[0].splitlines() if len(line) > 80 and "/" not in line] == []


@pytest.mark.rest
def test_facts_that_cannot_be_written_are_no_failure(preflight, tmp_path, monkeypatch):
    """The folder of temporary files cannot be written either. Its name is short, since Ansible has a socket in it."""
    (tmp_path / "artifacts").write_text("a file", encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{BASE}{os.getuid()}").write_text("a file", encoding="utf-8")
        monkeypatch.setenv("TMPDIR", folder)
        status, output, _kept = preflight(None)
    folded = " ".join(output.split())
    assert status == 0 and "facts: not written. Cannot write" in folded and "llm_d_artifacts_dir names another folder" in folded, output
