# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A gateway and a claim stay while others use them, and the error names the users."""

from __future__ import annotations

import json

import pytest
from ansible_collections.llm_d.inference.plugins.modules import stack_use
from local_servers import serve

LABELS = {"app.kubernetes.io/managed-by": "llm_d.inference", "app.kubernetes.io/part-of": "a"}
GATEWAY, CLAIM = {"namespace": "llm-d", "name": "llm-d-gateway"}, {"namespace": "llm-d", "name": "a-weights"}
API, TO_OURS = "/apis/gateway.networking.k8s.io", {"namespace": "llm-d", "name": "llm-d-gateway"}


def route(name, parent, namespace="shop", labels=None):
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels or {}}, "spec": {"parentRefs": [parent]}}


def volumes(name):
    return {"volumes": [{"name": "cache", "emptyDir": {}}, {"name": "w", "persistentVolumeClaim": {"claimName": name}}]}


LISTS = {
    f"{API}/v1/httproutes": [
        route("search", TO_OURS),
        route("ours", TO_OURS, labels=LABELS),
        route("elsewhere", {"name": "llm-d-gateway"}),  # of its own namespace
        route("of-a-service", {**TO_OURS, "group": "", "kind": "Service"}),
        route("other", {**TO_OURS, "name": "other"}),
    ],
    f"{API}/v1/grpcroutes": [route("here", {"name": "llm-d-gateway"}, namespace="llm-d", labels={**LABELS, "app.kubernetes.io/part-of": "b"})],
    "/api/v1/namespaces/llm-d/pods": [
        {"metadata": {"name": "copy", "namespace": "llm-d"}, "spec": volumes("a-weights")},
        {"metadata": {"name": "a-decode-1", "namespace": "llm-d", "labels": LABELS}, "spec": volumes("a-weights")},
        {"metadata": {"name": "else", "namespace": "llm-d"}, "spec": volumes("else")},
    ],
    "/apis/apps/v1/namespaces/llm-d/deployments": [{"metadata": {"name": "later", "namespace": "llm-d"}, "spec": {"template": {"spec": volumes("a-weights")}}}],
}
NAMED = {
    f"{API}/v1/namespaces/llm-d/gateways/llm-d-gateway": LABELS,
    f"{API}/v1/namespaces/llm-d/gateways/unused": LABELS,
    f"{API}/v1/namespaces/llm-d/gateways/other": {**LABELS, "app.kubernetes.io/part-of": "b"},
    "/api/v1/namespaces/llm-d/persistentvolumeclaims/a-weights": LABELS,
    "/api/v1/namespaces/llm-d/persistentvolumeclaims/else": {},
}
KINDS = {
    f"{API}/v1": {"httproutes": "HTTPRoute", "grpcroutes": "GRPCRoute", "gateways": "Gateway"},
    "/api/v1": {"pods": "Pod", "persistentvolumeclaims": "PersistentVolumeClaim"},
    "/apis/apps/v1": {"deployments": "Deployment"},
}


def group_of(root):
    version = root.removeprefix("/apis/")
    return {"name": version.partition("/")[0], "preferredVersion": {"groupVersion": version}, "versions": [{"groupVersion": version}]}


@pytest.fixture(name="look")
def looked(call):
    """Calls the module against an API server that refuses these paths, breaks at others, and has counted these numbers of routes at the listeners."""

    def look(refused=(), broken=(), counted=None, **options):
        def answer(_handler, _method, path, _body):
            plain = path.partition("?")[0]
            if plain in refused:
                return 403, {}, json.dumps({"kind": "Status", "reason": "Forbidden", "code": 403, "message": "forbidden"})
            if plain in broken:
                return 500, {}, json.dumps({"kind": "Status", "reason": "InternalError", "code": 500, "message": "the conversion webhook does not answer"})
            if plain in NAMED:
                status = {"listeners": [{"name": "http", "attachedRoutes": count} for count in counted], "attachedListenerSets": 1} if counted else {}
                return 200, {}, json.dumps({"metadata": {"labels": NAMED[plain]}, "status": status})
            if plain == "/apis":
                return 200, {}, json.dumps({"groups": [group_of(root) for root in KINDS if root.startswith("/apis/")]})
            if plain in KINDS:
                entries = [{"name": name, "kind": kind, "namespaced": True, "verbs": ["get", "list"]} for name, kind in KINDS[plain].items()]
                return 200, {}, json.dumps({"resources": entries})
            if plain in LISTS or (plain.startswith(f"{API}/v1/namespaces/llm-d/") and "routes" in plain):
                here = [item for item in LISTS.get(f"{API}/v1/{plain.rpartition('/')[2]}", []) if item["metadata"]["namespace"] == "llm-d"]
                return 200, {}, json.dumps({"items": LISTS.get(plain, here)})
            return 404, {}, json.dumps({"kind": "Status", "reason": "NotFound", "code": 404, "message": "not found"})

        with serve(answer) as url:
            return call(stack_use, host=url, api_key="x", labels=LABELS, **options)

    return look


ROUTES = [
    "HTTPRoute shop/search leads through the Gateway llm-d/llm-d-gateway",
    "GRPCRoute llm-d/here of instance b leads through the Gateway llm-d/llm-d-gateway",
]
MOUNTS = ["Pod llm-d/copy mounts the PersistentVolumeClaim a-weights", "Deployment llm-d/later mounts the PersistentVolumeClaim a-weights"]


def test_exactly_the_foreign_users_of_gateways_and_claims_are_reported(look):
    result = look(gateways=[GATEWAY], claims=[CLAIM])
    assert result["failed"] and result["users"] == ROUTES + MOUNTS
    assert result["msg"].startswith("Others use what would be removed. Nothing has been removed.\n  - HTTPRoute shop/search")
    assert "llm_d_force_removal: true" in result["msg"]


def test_an_unused_gateway_or_claim_can_be_removed(look):
    result = look(gateways=[{**GATEWAY, "name": "unused"}], claims=[{**CLAIM, "name": "unused"}])
    assert not result.get("failed") and result["users"] == []


def test_a_gateway_or_claim_of_others_is_not_checked_for_users(look):
    result = look(gateways=[{**GATEWAY, "name": "other"}], claims=[{**CLAIM, "name": "else"}])
    assert not result.get("failed") and result["users"] == []


def test_force_reports_the_users_and_does_not_fail(look):
    result = look(gateways=[GATEWAY], force=True)
    assert not result.get("failed") and result["users"] == ROUTES


def test_an_account_of_one_namespace_sees_the_routes_there(look):
    assert look(refused=[f"{API}/v1/httproutes", f"{API}/v1/grpcroutes"], gateways=[GATEWAY])["users"] == ROUTES[1:]
    everywhere = [f"{API}/v1{place}/{kind}" for place in ("", "/namespaces/llm-d") for kind in ("httproutes", "grpcroutes")]
    assert look(refused=everywhere, gateways=[GATEWAY])["users"] == []


def test_an_unreadable_gateway_fails_unless_skip_forbidden_is_set(look):
    """An account with permissions for another provider only: it cannot have created a Gateway, and deletes none."""
    hidden = {"refused": [f"{API}/v1/namespaces/llm-d/gateways/llm-d-gateway"], "gateways": [GATEWAY]}
    assert look(**hidden)["failed"] and "grant the permission" in look(**hidden)["msg"]
    result = look(**hidden, skip_forbidden=True, claims=[CLAIM])
    assert result["users"] == MOUNTS, "what it may read is checked"


EVERYWHERE = [f"{API}/v1{place}/{kind}" for place in ("", "/namespaces/llm-d") for kind in ("httproutes", "grpcroutes")]


def test_routes_of_all_kinds_and_listener_sets_are_reported(look, monkeypatch):
    """Routes are listed in the API version that serves them, and count when they are attached to a foreign XListenerSet of the Gateway."""
    extra, sets = "/apis/gateway.networking.x-k8s.io/v1alpha1", {"kind": "XListenerSet", "group": "gateway.networking.x-k8s.io", "name": "more"}
    monkeypatch.setitem(KINDS, f"{API}/v1alpha2", {"tcproutes": "TCPRoute", "tlsroutes": "TLSRoute", "referencegrants": "ReferenceGrant"})
    monkeypatch.setitem(KINDS, extra, {"xlistenersets": "XListenerSet"})
    monkeypatch.setitem(LISTS, f"{API}/v1alpha2/tcproutes", [route("raw", {**TO_OURS, "sectionName": "tcp"})])
    monkeypatch.setitem(LISTS, f"{API}/v1alpha2/tlsroutes", [route("beside", sets), route("elsewhere", {**sets, "namespace": "other"})])
    monkeypatch.setitem(LISTS, f"{API}/v1alpha2/referencegrants", [])
    listeners = {"metadata": {"name": "more", "namespace": "shop"}, "spec": {"parentRef": {**TO_OURS, "kind": "Gateway", "group": "gateway.networking.k8s.io"}}}
    monkeypatch.setitem(LISTS, f"{extra}/xlistenersets", [listeners])
    monkeypatch.setitem(LISTS, f"{API}/v1/httproutes", [])
    monkeypatch.setitem(LISTS, f"{API}/v1/grpcroutes", [])
    assert look(gateways=[GATEWAY])["users"] == [
        "XListenerSet shop/more adds listeners to the Gateway llm-d/llm-d-gateway",
        "TCPRoute shop/raw leads through the Gateway llm-d/llm-d-gateway",
        "TLSRoute shop/beside leads through the Gateway llm-d/llm-d-gateway",
    ]


def test_a_route_of_the_same_instance_and_another_file_counts(look, monkeypatch):
    ours, theirs = ({**LABELS, "llm-d.ai/namespace": home} for home in ("llm-d", "b"))
    routes = [route("ours", TO_OURS, "teams", ours), route("theirs", TO_OURS, "teams", theirs)]
    monkeypatch.setitem(LISTS, f"{API}/v1/httproutes", routes)
    monkeypatch.setitem(LISTS, f"{API}/v1/grpcroutes", [])
    line = "HTTPRoute teams/theirs of instance a in namespace b leads through the Gateway llm-d/llm-d-gateway"
    assert look(gateways=[GATEWAY], home="llm-d")["users"] == [line]


def test_routes_the_account_cannot_list_are_counted_from_the_gateway_status(look, monkeypatch, clock):
    """An account of one namespace, and a Gateway that routes of other namespaces are attached to."""
    monkeypatch.setitem(LISTS, f"{API}/v1/grpcroutes", [])
    monkeypatch.setitem(LISTS, f"{API}/v1/httproutes", [route("ours", {"name": "llm-d-gateway"}, "llm-d", LABELS)])
    hidden = {"refused": [f"{API}/v1/httproutes", f"{API}/v1/grpcroutes"], "gateways": [GATEWAY]}
    result = look(counted=[1, 3], **hidden)
    message = "has attached 2 more routes and 1 more ListenerSet, which this account cannot list"
    assert result["failed"] and result["users"] == [f"the controller of the Gateway llm-d/llm-d-gateway {message}"]
    assert sum(clock.sleeps) > 5, "what the controller counts may be late"
    monkeypatch.setitem(NAMED, f"{API}/v1/namespaces/llm-d/gateways/unused", LABELS)
    assert look(counted=[1, 1], force=True, **hidden)["users"] == [result["users"][0].replace("2 more routes and ", "")]
    assert look(**hidden)["users"] == [], "nobody has counted, and routes of other namespaces are not attached by our listeners"


def test_a_kind_that_the_api_server_cannot_list_is_named(look, monkeypatch, clock):
    monkeypatch.setitem(LISTS, f"{API}/v1/httproutes", [route("ours", TO_OURS, labels=LABELS), route("set", TO_OURS, labels=LABELS)])
    monkeypatch.setitem(KINDS, f"{API}/v1", {**KINDS[f"{API}/v1"], "listenersets": "ListenerSet"})
    one = {"metadata": {"name": "ours", "namespace": "llm-d", "labels": LABELS}, "spec": {"parentRef": {"name": "llm-d-gateway"}}}
    monkeypatch.setitem(LISTS, f"{API}/v1/listenersets", [one])
    broken = {"broken": [f"{API}/v1/grpcroutes"], "gateways": [GATEWAY]}
    message = "grpcroutes.gateway.networking.k8s.io cannot be listed: 500 the conversion webhook does not answer"
    result = look(counted=[2, 1], **broken)
    assert not result.get("failed") and result["users"] == [] and message in json.dumps(result["warnings"]), "its controller has counted no more"
    result = look(**broken)
    assert result["failed"] and result["users"] == [f"it is not known who uses the Gateways: {message}"]


def test_jobs_that_mount_a_claim_are_users_of_it(look, monkeypatch):
    monkeypatch.setitem(KINDS, "/apis/batch/v1", {"jobs": "Job", "cronjobs": "CronJob"})
    template = {"template": {"spec": volumes("a-weights")}}
    for plural, spec in (("jobs", template), ("cronjobs", {"jobTemplate": {"spec": template}})):
        monkeypatch.setitem(LISTS, f"/apis/batch/v1/namespaces/llm-d/{plural}", [{"metadata": {"name": "nightly", "namespace": "llm-d"}, "spec": spec}])
    mounts = [f"{kind} llm-d/nightly mounts the PersistentVolumeClaim a-weights" for kind in ("Job", "CronJob")]
    assert look(claims=[CLAIM])["users"] == MOUNTS + mounts


def test_pods_that_the_account_may_not_list_may_mount_a_claim(look):
    place = "/namespaces/llm-d"
    result = look(refused=[f"/api/v1{place}/pods"], claims=[CLAIM])
    hidden = "it is not known which pods mount the PersistentVolumeClaims in namespace llm-d, which this account may not list"
    assert result["failed"] and result["users"] == [MOUNTS[1], hidden]
    message = "only the pods that mount the PersistentVolumeClaims in namespace llm-d are known: this account may not list Deployment"
    result = look(refused=[f"/apis/apps/v1{place}/deployments"], claims=[CLAIM], force=True)
    assert result["users"] == MOUNTS[:1] and message in json.dumps(result["warnings"])
