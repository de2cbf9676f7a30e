# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/watch.yml as a schedule runs it: it deploys the file if an object differs; with watch_restore=false it only reports.

molecule/life/live/test_7_watch.py tests the restoration.
"""

from __future__ import annotations

import json
import sys

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from local_servers import JSON, serve
from stack_objects import CLUSTER_WIDE, plural

USER = {
    "llm_d_charts": {"envoy_gateway": "/charts"},
    "llm_d_preflight": {"images": "ignore"},
    "llm_d_model_services": [{"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}],
}
# The first task of site.yml that connects to the cluster. It fails here.
RESTORES = "preflight | Check whether the cluster can take the deployment"


class Cluster:
    """An API server with all objects of the file except some kinds. A dry run returns the merged object."""

    def __init__(self, *lacks: str) -> None:
        self.kinds: dict[str, dict[str, str]] = {}
        self.kept, self.changed = {}, []
        for item in definitions(plan(dict(USER))):
            root = f"/apis/{item['apiVersion']}" if "/" in item["apiVersion"] else f"/api/{item['apiVersion']}"
            self.kinds.setdefault(root, {})[plural(item["kind"])] = item["kind"]
            place = f"/namespaces/{item['metadata']['namespace']}" if "namespace" in item["metadata"] else ""
            if item["kind"] not in lacks:
                self.kept[f"{root}{place}/{plural(item['kind'])}/{item['metadata']['name']}"] = item

    def __call__(self, _handler, method, path, body):
        path, _mark, query = path.partition("?")
        if method not in ("GET", "HEAD") and "dryRun=All" not in query and "/authorization.k8s.io/" not in path:
            self.changed.append(f"{method} {path}")
        if path == "/version":
            return 200, {"Content-Type": JSON}, json.dumps({"major": "1", "minor": "34", "gitVersion": "v1.34.4"})
        if path in self.kinds:
            resources = [{"name": name, "kind": kind, "namespaced": name not in CLUSTER_WIDE} for name, kind in self.kinds[path].items()]
            return 200, {"Content-Type": JSON}, json.dumps({"resources": resources})
        if path in self.kept:
            return 200, {"Content-Type": JSON}, json.dumps({**self.kept[path], **(json.loads(body) if method == "PATCH" else {})})
        return 404, {"Content-Type": JSON}, json.dumps({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"})


@pytest.fixture(name="watch")
def _watch(tmp_path):
    def run(cluster, **given):
        """(exit status, output, differing objects of the report)."""
        with serve(cluster) as url:
            plays.kubeconfig(tmp_path / "kubeconfig", url)
            here = {"llm_d_kubeconfig": str(tmp_path / "kubeconfig"), "llm_d_artifacts_dir": str(tmp_path), "ansible_python_interpreter": sys.executable}
            done = plays.run("-i", "localhost,", "-c", "local", "playbooks/watch.yml", "-e", json.dumps({**USER, **here, **given}), no_proxy="*")
        report = json.loads((tmp_path / "drift.json").read_text(encoding="utf-8"))
        assert not cluster.changed
        return done.returncode, done.stdout + done.stderr, [entry["where"] for entry in report["objects"]]

    return run


def begun(output: str) -> bool:
    """Whether the play deploys the file."""
    lines = output.partition(RESTORES)[2].splitlines()
    return bool(lines) and not lines[1].startswith("skipping: ")


def test_a_stack_without_differences_is_left_alone(watch):
    status, output, differing = watch(Cluster())
    assert (status, differing) == (0, []) and "each is as planned" in output and not begun(output), output


@pytest.mark.rest
def test_a_missing_object_makes_watch_deploy_the_file_again(watch):
    _status, output, differing = watch(Cluster("HTTPRoute"))
    assert differing == ["HTTPRoute llm-d/sim"] and begun(output), output


@pytest.mark.rest
def test_differences_are_reported_but_not_restored_if_watch_restore_is_false(watch):
    status, output, differing = watch(Cluster("HTTPRoute"), watch_restore=False)
    assert status == 2 and differing == ["HTTPRoute llm-d/sim"] and RESTORES not in output, output
    assert "1 of" in output and "HTTPRoute llm-d/sim" in output
