# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A gateway and a claim stay while others use them, and those are named."""

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


@pytest.fixture(name="look")
def looked(call):
    """Calls the module against an API server that refuses these paths."""

    def look(refused=(), **options):
        def answer(_handler, _method, path, _body):
            plain = path.partition("?")[0]
            if plain in refused:
                return 403, {}, json.dumps({"kind": "Status", "reason": "Forbidden", "code": 403, "message": "forbidden"})
            if plain in NAMED:
                return 200, {}, json.dumps({"metadata": {"labels": NAMED[plain]}})
            if plain in KINDS:
                return 200, {}, json.dumps({"resources": [{"name": name, "kind": kind, "namespaced": True} for name, kind in KINDS[plain].items()]})
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


def test_all_of_others_are_named_at_once_and_nothing_else(look):
    found = look(gateways=[GATEWAY], claims=[CLAIM])
    assert found["failed"] and found["users"] == ROUTES + MOUNTS
    assert found["msg"].startswith("Others use what would be removed. Nothing has been removed.\n  - HTTPRoute shop/search")
    assert "llm_d_force_removal: true" in found["msg"]


def test_what_nobody_uses_can_be_removed(look):
    found = look(gateways=[{**GATEWAY, "name": "unused"}], claims=[{**CLAIM, "name": "unused"}])
    assert not found.get("failed") and found["users"] == []


def test_what_is_not_ours_stays_so_nobody_needs_it_from_us(look):
    found = look(gateways=[{**GATEWAY, "name": "other"}], claims=[{**CLAIM, "name": "else"}])
    assert not found.get("failed") and found["users"] == []


def test_force_tells_and_goes_on(look):
    found = look(gateways=[GATEWAY], force=True)
    assert not found.get("failed") and found["users"] == ROUTES


def test_an_account_of_one_namespace_sees_the_routes_there(look):
    assert look(refused=[f"{API}/v1/httproutes", f"{API}/v1/grpcroutes"], gateways=[GATEWAY])["users"] == ROUTES[1:]
    everywhere = [f"{API}/v1{place}/{kind}" for place in ("", "/namespaces/llm-d") for kind in ("httproutes", "grpcroutes")]
    assert look(refused=everywhere, gateways=[GATEWAY])["users"] == []
