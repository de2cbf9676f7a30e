# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The diagnosis as a user runs it: playbooks/diagnose.yml, on a broken stack and on none at all; what is printed, what is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from local_servers import free_port, serve
from stack_objects import StackServer, healthy


@pytest.fixture(name="play")
def run_playbook(root, tmp_path):
    """Runs playbooks/diagnose.yml against an API server's URL; gives the process and the folder of artifacts."""
    def run(server, *arguments):
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "here", "clusters": [{"name": "c", "cluster": {"server": server}}],
                  "users": [{"name": "u", "user": {"token": "sk-token-of-the-test"}}], "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}]}
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config), encoding="utf-8")
        user = {"llm_d_charts": {"envoy_gateway": "/charts"}, "llm_d_gateway": {"service_type": "ClusterIP"}, "llm_d_kubeconfig": str(tmp_path / "kubeconfig"),
                "llm_d_artifacts_dir": str(tmp_path / "artifacts"),
                "llm_d_model_services": [{"name": "sim", "model": {"served_name": "llm-d/simulated-8b"}, "replicas": 2, "engine": {"type": "simulator"}}]}
        (tmp_path / "user.yml").write_text(yaml.safe_dump(user), encoding="utf-8")
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1", "no_proxy": "*",
                       "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"), "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"}
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "-c", "local", "-e", "@user.yml", *arguments,
                   "-e", f"ansible_python_interpreter={sys.executable}", str(root / "playbooks/diagnose.yml")]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False), tmp_path / "artifacts"
    return run


def without_pool():
    snap = healthy()
    snap.objects["InferencePool"] = []
    return StackServer(snap)


def test_a_broken_stack(play):
    api = without_pool()
    with serve(api) as url:
        done, artifacts = play(url, "-e", "diagnose_requests=false")
    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads((artifacts / "diagnosis.json").read_text(encoding="utf-8"))
    assert made["ok"] is False and made["findings"][0]["code"] == "absent" and made["findings"][0]["where"] == "InferencePool llm-d/sim"
    assert set(made) == {"ok", "summary", "instance", "namespace", "release", "time", "seconds", "findings", "looked_at", "not_read"}
    assert "the pool of sim is missing" in (artifacts / "diagnosis.md").read_text(encoding="utf-8")
    assert "most probable cause: the pool of sim is missing" in done.stdout and "remedy:" in done.stdout and "changed=0" in done.stdout
    assert "summary.txt" in {path.name for path in (artifacts / "diagnose").iterdir()}
    assert api.methods == {"GET"}


def test_no_api_server(play):
    done, artifacts = play(f"http://127.0.0.1:{free_port()}")
    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads((artifacts / "diagnosis.json").read_text(encoding="utf-8"))
    assert [entry["code"] for entry in made["findings"]] == ["api"] and "connection refused" in done.stdout and "Traceback" not in done.stdout + done.stderr
    assert "sk-token" not in done.stdout


def test_it_fails_where_that_is_wanted_and_writes_nothing_in_check_mode(play):
    with serve(without_pool()) as url:
        done, artifacts = play(url, "-e", "diagnose_fail=true", "--check")
    assert done.returncode == 2 and "the pool of sim is missing" in done.stdout and not artifacts.exists()
