# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubeconfig that does not verify the API server's certificate: one warning of ours a run, and none of the client library."""

from __future__ import annotations

import json
import sys

import plays
import pytest
import yaml
from api_discovery import FIXED
from local_servers import JSON, serve

ITEM = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "llm-d"}}
OURS = "the certificate of the Kubernetes API server"


def answer(_handler, method, path, body):
    plain = path.partition("?")[0]
    if plain == "/api/v1":
        kinds = [{"name": "configmaps", "singularName": "configmap", "namespaced": True, "kind": "ConfigMap", "verbs": ["get", "patch", "list"]}]
        return 200, {"Content-Type": JSON}, json.dumps({**FIXED[plain], "resources": kinds})
    item = json.loads(body) if method == "PATCH" else FIXED.get(plain)
    return (200 if item else 404), {"Content-Type": JSON}, json.dumps(item or {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404})


def output_of(tmp_path, certificate, **cluster):
    """The output of a play that sends four requests to the API server, on two hosts in parallel."""
    with serve(answer, certificate) as url:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": url, **cluster}}],
            "users": [{"name": "u", "user": {"token": "sesame"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
        (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
        look = {"llm_d.inference.cluster_snapshot": {"resources": [ITEM]}}
        tasks = [look, {"llm_d.inference.cluster_objects": {"definitions": [ITEM]}}, look]
        defaults = {"group/llm_d.inference.cluster": {"kubeconfig": str(tmp_path / "config")}}
        play = {"hosts": "all", "gather_facts": False, "module_defaults": defaults, "tasks": tasks}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
        interpreter = f"ansible_python_interpreter={sys.executable}"
        done = plays.run("-i", "a,b,", "-c", "local", "-e", interpreter, str(tmp_path / "play.yml"), no_proxy="*", HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


def test_one_warning_a_run(tmp_path, certificate):
    output = output_of(tmp_path, certificate, **{"insecure-skip-tls-verify": True})
    assert output.count(OURS) == 1 and "[WARNING]: " + OURS in output, output
    assert "InsecureRequestWarning" not in output and "Unverified HTTPS" not in output and "errantly" not in output


@pytest.mark.rest
def test_none_where_it_is_verified(tmp_path, certificate):
    output = output_of(tmp_path, certificate, **{"certificate-authority": certificate[0]})
    assert OURS not in output and "errantly" not in output
