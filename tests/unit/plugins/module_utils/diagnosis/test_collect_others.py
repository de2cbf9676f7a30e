# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of others, from an API server that is a real HTTP server of this host."""

from __future__ import annotations

import types

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import collect_others, report
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.snapshot import Snapshot
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from local_servers import serve
from stack_objects import NAMESPACE, StackServer, healthy

CONFIGURATION = "ValidatingWebhookConfiguration"


def made(api_version, kind, namespace=NAMESPACE, name="theirs", **more):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {"selector": {}}, **more}


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
PASSED_BY = [made("cilium.io/v2", "CiliumEndpoint"), made("shop.example.com/v1", "Widget"), made("networking.gke.io/v1", "ManagedCertificate")]


@pytest.fixture
def read(monkeypatch):
    """Reads what a server shows of these objects: gives the snapshot, and the lists of others that were asked for."""

    def reading(*others, endpoints=None, refuses=()):
        snap = healthy()
        snap.others, snap.endpoints = list(others), endpoints or {}
        api = StackServer(snap, refuses=refuses)
        with serve(api) as url:
            for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
                monkeypatch.delenv(name, raising=False)
            monkeypatch.setenv("K8S_AUTH_HOST", url)
            monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
            found = Snapshot(snap.plan, snap.objects)
            collect_others.OthersReader(connect(types.SimpleNamespace(params={})), found).read()
        assert api.methods == {"GET"}
        return found, [path.partition("?")[0] for path in api.requests if "?" in path]

    return reading


def keys(objects):
    return {(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]) for obj in objects}


def test_every_kind_of_the_groups_is_read_by_one_list(read):
    found, lists = read(*ROWS, *PASSED_BY)
    assert keys(ROWS) <= keys(found.others) and not keys(PASSED_BY) & keys(found.others) and found.unread == []
    assert len(lists) == len(set(lists)) and not any("/namespaces/" in path for path in lists if "endpointslices" not in path)
    assert not any(word in path for path in lists for word in ("pods", "secrets", "widgets", "ciliumendpoints", "managedcertificates"))


def test_our_own_objects_are_read_and_are_no_finding(read):
    found, _lists = read()
    assert {"HTTPRoute", "Gateway", "BackendTrafficPolicy", "InferencePool"} <= {obj["kind"] for obj in found.others}
    assert report.diagnose(found) == []


def test_an_account_of_some_namespaces_reads_those(read):
    found, lists = read(*ROWS, refuses=("in all namespaces",))
    assert {key for key in keys(found.others) if key[1] == "SecurityPolicy"} == {("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", NAMESPACE, "theirs")}
    assert any("/namespaces/llm-d/securitypolicies" in path for path in lists)
    (entry,) = found.unread
    assert CONFIGURATION in entry["what"] and "SecurityPolicy" not in entry["what"]
    assert [finding.code for finding in report.diagnose(found) if finding.code == "rights"] == [], "it is said, and no finding"


def test_what_may_not_be_read_is_one_line_and_no_finding(read):
    found, _lists = read(*ROWS, refuses=("SecurityPolicy", "GRPCRoute"))
    (entry,) = found.unread
    assert "GRPCRoute" in entry["what"] and "SecurityPolicy" in entry["what"] and entry["status"] is None
    assert not any(finding.code == "rights" for finding in report.diagnose(found))
    assert ("cilium.io/v2", "CiliumNetworkPolicy", NAMESPACE, "theirs") in keys(found.others)


def test_too_many_of_a_kind_are_read_in_our_namespaces(read, monkeypatch):
    monkeypatch.setattr(collect_others, "MAX_OBJECTS", 3)
    many = [made("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", "shop", f"a-{number}") for number in range(5)]
    found, _lists = read(*many, ROWS[0])
    assert keys(ROWS[:1]) <= keys(found.others) and found.unread == []
    more = [made("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", name=f"a-{number}") for number in range(5)]
    found, _lists = read(*more)
    assert len([obj for obj in found.others if obj["kind"] == "SecurityPolicy"]) >= 3
    assert ["SecurityPolicy" in entry["what"] for entry in found.unread] == [True]


def test_it_stops_in_time(read, monkeypatch):
    monkeypatch.setattr(collect_others, "SECONDS", 0.0)
    found, lists = read(*ROWS)
    assert lists == [] and found.others == [] and "SecurityPolicy" in found.unread[0]["what"]


@pytest.mark.parametrize("endpoints, silent", [({}, True), ({"shop/checker": 0}, True), ({"shop/checker": 1}, False)])
def test_the_endpoints_behind_webhooks_are_counted(read, endpoints, silent):
    found, lists = read(webhook("checker"), endpoints=endpoints)
    assert [path for path in lists if "endpointslices" in path] == ["/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"]
    assert [entry.code for entry in report.diagnose(found)] == (["F32"] if silent else [])
