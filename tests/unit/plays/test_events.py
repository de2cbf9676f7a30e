# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role objects creates an Event for each object that it creates, unless the user's file disables this."""

from __future__ import annotations

import json
import sys

import plays
import pytest
import yaml
from local_servers import JSON, serve

MADE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "llm-d"}, "data": {"key": "value"}}
VERBS = ["create", "get", "list", "patch"]
KINDS = [{"name": f"{kind.lower()}s", "singularName": kind.lower(), "kind": kind, "namespaced": True, "verbs": VERBS} for kind in ("ConfigMap", "Event")]


class Cluster:
    """An API server with two kinds, which stores their objects by path."""

    def __init__(self) -> None:
        self.kept = {}

    def __call__(self, _handler, method, path, body):
        path = path.partition("?")[0]
        if method in ("PATCH", "POST"):
            item = json.loads(body)
            if method == "POST":
                path = f"{path}/{item['metadata']['name']}"
            self.kept[path] = {**item, "metadata": {**item["metadata"], "uid": "uid-1"}}
            return 201, {"Content-Type": JSON}, json.dumps(self.kept[path])
        pages = {
            "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.4"},
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "groups": []},
            "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": KINDS},
            **self.kept,
        }
        if path in pages:
            return 200, {"Content-Type": JSON}, json.dumps(pages[path])
        return 404, {"Content-Type": JSON}, json.dumps({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"})


@pytest.mark.rest
@pytest.mark.parametrize("setting", [None, True, False])
def test_a_created_object_gets_an_event_unless_llm_d_events_is_false(tmp_path, setting):
    role = {"name": "llm_d.inference.objects", "tasks_from": "apply"}
    task = {"ansible.builtin.include_role": role, "vars": {"objects_definitions": [MADE], "objects_wait": False}}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": [task]}]), encoding="utf-8")
    cluster = Cluster()
    with serve(cluster) as url:
        plays.kubeconfig(tmp_path / "kubeconfig", url)
        given = {"llm_d_kubeconfig": str(tmp_path / "kubeconfig"), "ansible_python_interpreter": sys.executable}
        given |= {} if setting is None else {"llm_d_events": setting}
        done = plays.run("-i", "localhost,", "-c", "local", str(tmp_path / "play.yml"), "-e", json.dumps(given), no_proxy="*")
    assert done.returncode == 0 and "changed=1 " in done.stdout, done.stdout + done.stderr
    events = [item for path, item in cluster.kept.items() if "/events/" in path]
    wanted = [] if setting is False else [("Created", "a", "uid-1")]
    assert [(event["reason"], event["involvedObject"]["name"], event["involvedObject"]["uid"]) for event in events] == wanted, done.stdout
