# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/diagnose.yml as a user runs it, on a broken stack and without a stack: its output and its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import plays
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from engine_servers import VLLM, engine
from local_servers import closed_port, serve
from stack_objects import StackServer, healthy

pytestmark = pytest.mark.timing


@pytest.fixture(name="play")
def run_playbook(root, tmp_path):
    """A function that runs playbooks/diagnose.yml against an API server's URL and returns (process, folder of artifacts)."""

    def run(server, *arguments):
        plays.kubeconfig(tmp_path / "kubeconfig", server)
        user = {
            "llm_d_release": "scheduler-0.7",
            "llm_d_charts": {"envoy_gateway": "/charts"},
            "llm_d_gateway": {"service_type": "ClusterIP"},
            "llm_d_kubeconfig": str(tmp_path / "kubeconfig"),
            "llm_d_artifacts_dir": str(tmp_path / "artifacts"),
            "llm_d_model_services": [{"name": "sim", "model": {"served_name": "llm-d/simulated-8b"}, "replicas": 2, "engine": {"type": "simulator"}}],
        }
        (tmp_path / "user.yml").write_text(yaml.safe_dump(user), encoding="utf-8")
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
        command = [
            *plays.command(),
            "-i",
            "localhost,",
            "-c",
            "local",
            "-e",
            "@user.yml",
            *arguments,
            "-e",
            f"ansible_python_interpreter={sys.executable}",
            str(root / "playbooks/diagnose.yml"),
        ]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False), tmp_path / "artifacts"

    return run


def without_pool():
    snap = healthy()
    snap.objects["InferencePool"] = []
    return StackServer(snap, planned=[obj for obj in definitions(snap.plan) if obj["kind"] != "InferencePool"])


def test_a_broken_stack(play):
    api = without_pool()
    with serve(api) as url:
        done, artifacts = play(url, "-e", "diagnose_requests=false")
    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads((artifacts / "diagnosis.json").read_text(encoding="utf-8"))
    assert made["ok"] is False and made["findings"][0]["code"] == "absent" and made["findings"][0]["where"] == "InferencePool llm-d/sim"
    assert set(made) == {
        "ok",
        "summary",
        "instance",
        "namespace",
        "cluster",
        "release",
        "time",
        "seconds",
        "busy",
        "claims",
        "findings",
        "looked_at",
        "not_read",
    }
    assert "the pool of sim is missing" in (artifacts / "diagnosis.md").read_text(encoding="utf-8")
    assert "most probable cause: the pool of sim is missing" in done.stdout and "remedy:" in done.stdout and "changed=0" in done.stdout
    assert "summary.txt" in {path.name for path in (artifacts / "diagnose").iterdir()}
    assert api.methods == {"GET", "PATCH"}, "and each PATCH is a dry run: tests/unit/plugins/modules/test_cluster_drift.py"


TOKEN = "hf_abcdEFGH12345678"


def test_the_evidence_is_whole_and_holds_no_secret(play):
    snap = healthy()
    picker, decode = ([pod for pod in snap.of("Pod") if pod["metadata"]["name"].startswith(part)] for part in ("sim-epp", "sim-decode"))
    config = next(obj for obj in snap.of("ConfigMap") if obj["metadata"]["name"] == "sim-epp")
    config["data"]["config.yaml"] += f"# token: {TOKEN}\n"
    decode[0]["spec"]["containers"][0].setdefault("env", []).extend([{"name": "HF_TOKEN", "value": TOKEN}, {"name": "OTHER", "value": f"Bearer {TOKEN}"}])
    decode[0]["spec"]["containers"][0]["args"] += ["--hf-token", TOKEN]
    snap.objects["Event"].append(
        {
            "metadata": {"name": "pulled", "namespace": "llm-d"},
            "type": "Warning",
            "reason": "Failed",
            "involvedObject": {"kind": "Pod", "name": decode[0]["metadata"]["name"], "uid": decode[0]["metadata"]["uid"]},
            "message": f"401 for Authorization: Bearer {TOKEN}",
        }
    )
    snap.objects["ConfigMap"].append({"metadata": {"name": "of-another", "namespace": "llm-d"}, "data": {"whose": "not ours"}})
    logs = {pod["metadata"]["name"]: f"INFO HF_TOKEN={TOKEN}\nINFO serving\n" for pod in decode}
    page = VLLM + f'vllm:request_success_total{{user="{TOKEN}"}} 1.0\n'
    with serve(engine("vllm", **{"/metrics": (200, "text/plain", page)})) as server:
        for pod in decode:
            pod["metadata"]["annotations"] = {"test/url": server}
        with serve(StackServer(snap, logs=logs)) as url:
            done, artifacts = play(url, "-e", "diagnose_requests=false")
    assert done.returncode == 0, done.stdout + done.stderr
    kept = {path.name: path.read_text(encoding="utf-8") for path in (artifacts / "diagnose").iterdir()}
    first, silent = (f"pod-llm-d-{pods[0]['metadata']['name']}" for pods in (decode, picker))
    assert "HF_TOKEN=(removed)" in kept[f"{first}-server.log"] and "INFO serving" in kept[f"{first}-server.log"]
    assert "401 for Authorization: Bearer (removed)" in kept[f"{first}-events.txt"]
    assert "vllm:num_requests_waiting" in kept[f"{first}-metrics.txt"] and 'user="(removed)"' in kept[f"{first}-metrics.txt"]
    assert kept[f"{silent}-metrics.txt"].startswith("# GET /metrics of Pod llm-d/sim-epp") and "connection refused" in kept[f"{silent}-metrics.txt"]
    assert kept[f"{first}.yml"].count("(removed)") == 3 and "schedulingProfiles" in kept["configmaps-llm-d.yml"]
    assert "not ours" not in kept["configmaps-llm-d.yml"] and "name: sim\n" in kept["services-llm-d.yml"]
    assert "Deployment llm-d/sim-decode: ready" in kept["summary.txt"]
    written = [*kept.values(), *((artifacts / name).read_text(encoding="utf-8") for name in ("diagnosis.json", "diagnosis.md")), done.stdout, done.stderr]
    assert not any(TOKEN in text for text in written)


def test_no_api_server(play):
    done, artifacts = play(f"http://127.0.0.1:{closed_port()}")
    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads((artifacts / "diagnosis.json").read_text(encoding="utf-8"))
    assert [entry["code"] for entry in made["findings"]] == ["api"] and "connection refused" in done.stdout and "Traceback" not in done.stdout + done.stderr
    assert "sk-token" not in done.stdout


def test_diagnose_fail_fails_the_play_and_check_mode_writes_no_files(play):
    with serve(without_pool()) as url:
        done, artifacts = play(url, "-e", "diagnose_fail=true", "--check")
    assert done.returncode == 2 and "the pool of sim is missing" in done.stdout and not artifacts.exists()
