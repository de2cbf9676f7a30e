# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role by itself connects to the user's cluster, and to no other: by the kubeconfig and the context of the user's file, or by those of the play."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import plays
import pytest
import yaml
from local_servers import closed_port, serve

pytestmark = pytest.mark.rest

# (role, state or None)
ENTRIES = [
    ("prerequisites", "preflight"), ("prerequisites", "present"), ("prerequisites", "absent"), ("prerequisites", "crds_absent"),
    ("gpu_operator", "present"), ("gpu_operator", "absent"), ("gpu_operator", "removable"), ("gpu_operator", "verify"),
    ("gateway_provider", "present"), ("gateway_provider", "absent"), ("gateway_provider", "prune"), ("gateway_provider", "leftovers"),
    ("gateway_provider", "removable"),
    ("gaie_scheduler", "present"), ("gaie_scheduler", "absent"), ("model_service", "present"), ("model_service", "absent"), ("model_service", "removable"),
    ("benchmark", None), ("compare", None), ("diagnose", None), ("validation", None),
]  # fmt: skip
USER = {
    "llm_d_charts": {"envoy_gateway": "/charts", "gpu_operator": "/charts"},
    "llm_d_gpus": {"operator": "nvidia_helm"},
    "llm_d_wait_timeout": 1,
    "llm_d_gateway": {"provider": "envoy_gateway"},
    "llm_d_model_services": [{"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}],
    "llm_d_benchmark": {"quick": True},
    "gpu_operator_timeout": 1,
    "validation_wait": 1,
    "diagnose_evidence": False,
}


def entry(role: str, state: str | None) -> dict:
    """One role by itself; its failure is shown and the next one begins."""
    include = {"name": f"{role} {state or ''}", "ansible.builtin.include_role": {"name": f"llm_d.inference.{role}"}}
    if state:
        include["vars"] = {f"{role}_state": state}
    shown = {"ansible.builtin.debug": {"msg": f"{role}/{state}: {{{{ ansible_failed_result.msg | default('') }}}}"}}
    return {"block": [include], "rescue": [shown]}


@pytest.fixture(name="play")
def _play(root, tmp_path):
    def run(tasks: list[dict], user: dict, **keywords) -> str:
        (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks, **keywords}]), encoding="utf-8")
        (tmp_path / "user.yml").write_text(yaml.safe_dump({**user, "llm_d_artifacts_dir": str(tmp_path / "artifacts")}), encoding="utf-8")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
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
            "-e",
            f"ansible_python_interpreter={sys.executable}",
            "play.yml",
        ]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False)
        return done.stdout + done.stderr

    return run


def kubeconfig(path: Path, **servers: str) -> str:
    """A kubeconfig with one context for each server; the first is the current one."""
    config = {"apiVersion": "v1", "kind": "Config", "current-context": next(iter(servers)), "users": [{"name": "u", "user": {"token": "sesame"}}],
              "clusters": [{"name": name, "cluster": {"server": url}} for name, url in servers.items()],
              "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in servers]}  # fmt: skip
    path.write_text(json.dumps(config), encoding="utf-8")
    return str(path)


def test_each_role_by_itself_uses_the_users_kubeconfig_and_context(play, tmp_path):
    """The current context leads to a running server, the user's to a port where nothing listens: each role must name that port."""
    requests = []

    def answer(_handler, method, path, _body):
        requests.append((method, path))
        return 200, {"Content-Type": "application/json"}, "{}"

    dead = f"http://127.0.0.1:{closed_port()}"
    with serve(answer) as alive:
        user = {**USER, "llm_d_kubeconfig": kubeconfig(tmp_path / "config", current=alive, theirs=dead), "llm_d_context": "theirs"}
        output = play([entry(*each) for each in ENTRIES], user)
    assert not requests, output
    for role, state in ENTRIES:
        begin = output.index(f"TASK [{role} {state or ''}".rstrip())
        following = re.search(r"^TASK \[({}) ".format("|".join({name for name, _state in ENTRIES})), output[begin + 6 :], re.MULTILINE)
        part = output[begin : begin + 6 + following.start() if following else None]
        assert dead in part or dead.removeprefix("http://") in part, f"{role} {state}:\n{part}"


def test_defaults_of_the_users_play_hold_inside_a_role(play, tmp_path):
    """The defaults hold for options that the user's file omits, in a role and in the role objects that it calls."""
    dead = f"http://127.0.0.1:{closed_port()}"
    defaults = {"group/llm_d.inference.cluster": {"kubeconfig": kubeconfig(tmp_path / "config", current=dead)}}
    output = play([entry("prerequisites", "preflight"), entry("prerequisites", "absent")], USER, module_defaults=defaults)
    assert output.count(f"[ERROR]: Task failed: Module failed: the Kubernetes API server {dead}") == 2, output


def test_a_dry_run_reports_an_unreachable_api_server_in_the_error_line(play, tmp_path):
    """A refusal of the API server does not fail this step: it is evaluated afterwards."""
    dead = f"http://127.0.0.1:{closed_port()}"
    definition = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}
    given = {"objects_kubeconfig": kubeconfig(tmp_path / "config", current=dead), "objects_definitions": [definition]}
    output = play([{"ansible.builtin.include_role": {"name": "llm_d.inference.objects", "tasks_from": "judged"}, "vars": given}], {})
    assert f"[ERROR]: Task failed: Action failed: the Kubernetes API server {dead}" in output, output


@pytest.mark.parametrize("role", ["validation", "benchmark", "calibrate", "compare"])
def test_a_role_reports_an_unreachable_api_server_at_once(role, play, tmp_path):
    """The role tries nothing else that would wait for the API server."""
    dead = f"http://127.0.0.1:{closed_port()}"
    output = play([entry(role, None)], {**USER, "llm_d_kubeconfig": kubeconfig(tmp_path / "config", theirs=dead)})
    assert f"the Kubernetes API server {dead}" in output and "nothing listens there; start the cluster" in output, output
    assert "HTTPConnectionPool" not in output and output.count("[ERROR]") == 1, output
