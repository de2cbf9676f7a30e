# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module against an API server of this host: its requests, and objects that are missing, of others, forbidden, or refused by the dry run."""

from __future__ import annotations

import copy
import json
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.applyset import MEMBER
from ansible_collections.llm_d.inference.plugins.modules import cluster_drift
from local_servers import JSON, serve

Facts = dict[str, t.Any]
LABELS = {"app.kubernetes.io/managed-by": "llm_d.inference"}
KINDS = {"services": "Service", "namespaces": "Namespace", "configmaps": "ConfigMap"}


def item(kind: str, name: str, **fields: t.Any) -> Facts:
    place = {} if kind == "Namespace" else {"namespace": "llm-d"}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **place, "labels": LABELS}, **fields}


SERVICE = item("Service", "sim", spec={"ports": [{"port": 80, "targetPort": 8000}]})


class Api:
    """An API server with these objects, which accepts a dry run unchanged, or refuses it."""

    def __init__(self, *objects: Facts, refuses: int = 0, forbids: str = "") -> None:
        self.objects, self.refuses, self.forbids, self.requests = {each["metadata"]["name"]: each for each in objects}, refuses, forbids, set()

    def __call__(self, handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        path, _mark, query = path.partition("?")
        name = path.rpartition("/")[2]
        self.requests.add((method, query))
        if path == "/version":
            return self.json({"gitVersion": "v1.34.2"})
        if path == "/api/v1":
            return self.json({"resources": [{"name": plural, "kind": kind, "namespaced": kind != "Namespace"} for plural, kind in KINDS.items()]})
        if name == self.forbids:
            return 403, {"Content-Type": JSON}, json.dumps({"kind": "Status", "reason": "Forbidden", "message": f"{name} is forbidden"})
        if name not in self.objects and method != "POST":
            return 404, {"Content-Type": JSON}, json.dumps({"kind": "Status", "reason": "NotFound", "message": "not found"})
        if method == "POST":
            return self.json({**json.loads(body), "spec": {**json.loads(body)["spec"], "sessionAffinity": "None"}})
        if method == "PATCH" and self.refuses:
            return (
                self.refuses,
                {"Content-Type": JSON},
                json.dumps({"kind": "Status", "reason": "Invalid", "message": "may not specify more than 1 handler type"}),
            )
        return self.json({**self.objects[name], **json.loads(body)} if method == "PATCH" else self.objects[name])

    @staticmethod
    def json(content: t.Any) -> t.Any:
        return 200, {"Content-Type": JSON}, json.dumps(content)


@pytest.fixture(name="compare")
def _compare(call: t.Any, monkeypatch: pytest.MonkeyPatch) -> t.Any:
    """Runs the module against an API server."""
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)

    def compare(api: Api, *definitions: Facts, check: bool = False) -> Facts:
        with serve(api) as url:
            result: Facts = call(cluster_drift, check=check, host=url, api_key="token", definitions=list(definitions), labels=LABELS)
        assert "failed" not in result, result
        return result

    return compare


def test_only_a_cluster_wide_object_in_another_record_is_no_drift(compare: t.Any) -> None:
    """A namespaced object belongs to one file, so that another record on it is a drift."""
    ours = {**LABELS, MEMBER: "applyset-ours-v1"}
    for definition, differs in ((item("Namespace", "shared"), False), (SERVICE, True)):
        live = {**definition, "metadata": {**definition["metadata"], "labels": {**LABELS, MEMBER: "applyset-theirs-v1"}}}
        result = compare(Api(live), {**definition, "metadata": {**definition["metadata"], "labels": ours}})
        assert result["ok"] is not differs and (MEMBER in str(result["lines"])) is differs, result


def changed(**port: t.Any) -> Facts:
    made = copy.deepcopy(SERVICE)
    made["spec"]["ports"][0].update(port)
    return made


@pytest.mark.parametrize("check", [False, True])
def test_only_reads_and_dry_runs_are_sent_to_the_api_server(compare: t.Any, check: bool) -> None:
    api = Api(SERVICE)
    result = compare(api, SERVICE, check=check)
    assert result["ok"] and result["objects"] == [] and result["lines"] == [] and not result["changed"]
    assert api.requests == {("GET", ""), ("PATCH", "fieldManager=llm_d.inference&force=true&dryRun=All")}


@pytest.mark.parametrize("refuses", [0, 403, 422])
def test_a_differing_field_is_reported_even_if_the_dry_run_is_refused(compare: t.Any, refuses: int) -> None:
    result = compare(Api(changed(targetPort=9), refuses=refuses), SERVICE)
    assert not result["ok"] and result["lines"] == ["Service llm-d/sim: spec.ports[port=80].targetPort is 9, planned: 8000"]
    assert result["objects"][0]["differences"] == [{"field": "spec.ports[port=80].targetPort", "found": "9", "planned": "8000", "by": "", "at": ""}]


def test_a_default_that_someone_has_set_is_no_difference(compare: t.Any) -> None:
    live = copy.deepcopy(SERVICE)
    live["metadata"]["managedFields"] = [{"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:spec": {"f:sessionAffinity": {}}}}]
    live["spec"]["sessionAffinity"] = "None"
    api = Api(live, refuses=422)
    assert compare(api, SERVICE)["ok"] and ("POST", "dryRun=All") in api.requests
    live["spec"]["sessionAffinity"] = "ClientIP"
    assert compare(Api(live, refuses=422), SERVICE)["lines"] == [
        "Service llm-d/sim: spec.sessionAffinity is ClientIP, planned: (absent); last set by kubectl-edit"
    ]


def test_missing_and_unreadable_objects_are_reported(compare: t.Any) -> None:
    result = compare(
        Api(SERVICE, forbids="hidden"), SERVICE, item("ConfigMap", "gone"), item("ConfigMap", "hidden"), {**item("Thing", "x"), "apiVersion": "a.test/v1"}
    )
    assert [(each["where"], each["missing"]) for each in result["objects"]] == [
        ("ConfigMap llm-d/gone", True),
        ("ConfigMap llm-d/hidden", False),
        ("Thing llm-d/x", True),
    ]
    assert "forbidden" in result["objects"][1]["problem"]


def test_missing_labels_of_a_foreign_namespace_are_no_drift(compare: t.Any) -> None:
    theirs = item("Namespace", "llm-d")
    theirs["metadata"]["labels"] = {}
    assert compare(Api(theirs), item("Namespace", "llm-d"))["ok"]
    assert not compare(Api(), item("Namespace", "llm-d"))["ok"]


def test_an_unreachable_api_server_is_reported_in_one_line(call: t.Any) -> None:
    result = call(cluster_drift, host="http://127.0.0.1:1", definitions=[SERVICE])
    assert result["failed"] and "\n" not in result["msg"]
