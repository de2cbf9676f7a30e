# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader of objects of others, against an API server on this host."""

from __future__ import annotations

import types

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import collect_others, report
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.snapshot import Snapshot
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from local_servers import serve
from stack_objects import NAMESPACE, StackServer, healthy

CONFIGURATION = "ValidatingWebhookConfiguration"


def made(api_version, kind, namespace=NAMESPACE, name="theirs", **fields):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {"selector": {}}, **fields}


def webhook(service):
    rules = [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}]
    hook = {"name": "a.example.com", "failurePolicy": "Fail", "clientConfig": {"service": {"namespace": "shop", "name": service}}, "rules": rules}
    return made("admissionregistration.k8s.io/v1", CONFIGURATION, "", service, webhooks=[hook])


ROWS = [
    made("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy"),
    made("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", "shop"),
    made("gateway.networking.k8s.io/v1", "GRPCRoute", "shop"),
    made("gateway.networking.k8s.io/v1alpha3", "BackendTLSPolicy", "shop"),  # served by another version than the preferred one
    made("gateway.networking.x-k8s.io/v1alpha1", "XSomethingNew", "shop"),
    made("cilium.io/v2", "CiliumNetworkPolicy"),
    webhook("checker"),
]
IGNORED = [made("cilium.io/v2", "CiliumEndpoint"), made("shop.example.com/v1", "Widget"), made("networking.gke.io/v1", "ManagedCertificate")]


@pytest.fixture
def read(monkeypatch):
    """A function that reads these objects from an API server; it returns the snapshot and the paths of the requested lists."""

    def reading(*others, endpoints=None, refuses=()):
        snap = healthy()
        snap.others, snap.endpoints = list(others), endpoints or {}
        api = StackServer(snap, refuses=refuses)
        with serve(api) as url:
            for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
                monkeypatch.delenv(name, raising=False)
            monkeypatch.setenv("K8S_AUTH_HOST", url)
            monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
            result = Snapshot(snap.plan, snap.objects)
            collect_others.OthersReader(connect(types.SimpleNamespace(params={})), result).read()
        assert api.methods == {"GET"}
        return result, [path.partition("?")[0] for path in api.requests if "?" in path]

    return reading


def keys(objects):
    return {(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]) for obj in objects}


def test_every_kind_of_the_groups_is_read_by_one_list(read):
    snap, lists = read(*ROWS, *IGNORED)
    assert keys(ROWS) <= keys(snap.others) and not keys(IGNORED) & keys(snap.others) and snap.unread == []
    assert len(lists) == len(set(lists)) and not any("/namespaces/" in path for path in lists if "endpointslices" not in path)
    assert not any(word in path for path in lists for word in ("pods", "secrets", "widgets", "ciliumendpoints", "managedcertificates"))


def test_our_own_objects_are_read_and_are_no_finding(read):
    snap, _lists = read()
    assert {"HTTPRoute", "Gateway", "BackendTrafficPolicy", "InferencePool"} <= {obj["kind"] for obj in snap.others}
    assert report.diagnose(snap) == []


def test_an_account_of_some_namespaces_reads_those(read):
    snap, lists = read(*ROWS, refuses=("in all namespaces",))
    assert {key for key in keys(snap.others) if key[1] == "SecurityPolicy"} == {("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", NAMESPACE, "theirs")}
    assert any("/namespaces/llm-d/securitypolicies" in path for path in lists)
    (entry,) = snap.unread
    assert CONFIGURATION in entry["what"] and "SecurityPolicy" not in entry["what"]
    assert [finding.code for finding in report.diagnose(snap) if finding.code == "permissions"] == [], "it is listed as unread, and no finding"


def test_unreadable_kinds_are_reported_in_one_line_and_give_no_finding(read):
    snap, _lists = read(*ROWS, refuses=("SecurityPolicy", "GRPCRoute"))
    (entry,) = snap.unread
    assert "GRPCRoute" in entry["what"] and "SecurityPolicy" in entry["what"] and entry["status"] is None
    assert not any(finding.code == "permissions" for finding in report.diagnose(snap))
    assert ("cilium.io/v2", "CiliumNetworkPolicy", NAMESPACE, "theirs") in keys(snap.others)


def test_too_many_of_a_kind_are_read_in_our_namespaces(read, monkeypatch):
    monkeypatch.setattr(collect_others, "MAX_OBJECTS", 3)
    elsewhere = [made("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", "shop", f"a-{number}") for number in range(5)]
    snap, _lists = read(*elsewhere, ROWS[0])
    assert keys(ROWS[:1]) <= keys(snap.others) and snap.unread == []
    own = [made("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", name=f"a-{number}") for number in range(5)]
    snap, _lists = read(*own)
    assert len([obj for obj in snap.others if obj["kind"] == "SecurityPolicy"]) >= 3
    assert ["SecurityPolicy" in entry["what"] for entry in snap.unread] == [True]


def test_reading_foreign_objects_stops_at_the_time_limit(read, monkeypatch):
    monkeypatch.setattr(collect_others, "SECONDS", 0.0)
    snap, lists = read(*ROWS)
    assert lists == [] and snap.others == [] and "SecurityPolicy" in snap.unread[0]["what"]


@pytest.mark.parametrize("endpoints, silent", [({}, True), ({"shop/checker": 0}, True), ({"shop/checker": 1}, False)])
def test_a_webhook_without_ready_endpoints_is_reported(read, endpoints, silent):
    snap, lists = read(webhook("checker"), endpoints=endpoints)
    assert [path for path in lists if "endpointslices" in path] == ["/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"]
    assert [entry.code for entry in report.diagnose(snap)] == (["F32"] if silent else [])
