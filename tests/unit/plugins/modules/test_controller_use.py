# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the whole cluster has one of stays while anybody else needs it."""

from __future__ import annotations

import json
import urllib.parse

import pytest
from ansible_collections.llm_d.inference.plugins.modules import controller_use
from local_servers import serve

MANAGED, PART = "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of"
OURS, THEIRS = ({MANAGED: "llm_d.inference", PART: name} for name in ("a", "b"))
ENVOY = {"name": "gateway.envoyproxy.io/gatewayclass-controller", "namespace": "envoy-gateway-system", "class_name": "envoy-gateway"}
ISTIO = {
    "name": "istio.io/gateway-controller",
    "namespace": "istio-system",
    "class_name": "istio",
    "classes": {"istio": "istio.io/gateway-controller", "istio-remote": "istio.io/unmanaged-gateway"},
}
GATEWAYS, CLASSES = (f"/apis/gateway.networking.k8s.io/v1/{plural}" for plural in ("gateways", "gatewayclasses"))


def gateway(namespace, name, class_name, labels=None):
    return {"metadata": {"namespace": namespace, "name": name, "labels": labels or {}}, "spec": {"gatewayClassName": class_name}}


def of(controller, name, labels=None):
    return {"metadata": {"name": name, **({"labels": labels} if labels else {})}, "spec": {"controllerName": controller["name"]}}


class Api:
    """An API server with lists of objects, filtered by the labels that a query names."""

    def __init__(self):
        self.lists = {
            GATEWAYS: [gateway("a", "llm-d-gateway", "envoy-gateway", OURS)],
            CLASSES: [of(ENVOY, "envoy-gateway", OURS)],
            "/api/v1/namespaces": [{"metadata": {"name": "envoy-gateway-system", "labels": OURS}}],
        }

    def answer(self, _handler, _method, path, _body):
        plain, _mark, query = path.partition("?")
        wanted = urllib.parse.parse_qs(query).get("labelSelector", [""])[0]
        if plain not in self.lists and not plain.endswith("/deployments"):
            return 404, {}, json.dumps({"kind": "Status", "reason": "NotFound", "code": 404, "message": "not found"})
        return 200, {}, json.dumps({"items": [item for item in self.lists.get(plain, []) if chosen(item, wanted)]})


def chosen(item, selector):
    labels = item["metadata"].get("labels", {})
    parts = [part for part in selector.split(",") if part]
    return all(
        labels.get(part.partition("!=")[0]) != part.partition("!=")[2] if "!=" in part else labels.get(part.partition("=")[0]) == part.partition("=")[2]
        for part in parts
    )


@pytest.fixture(name="look")
def _look(call):
    api = Api()

    def look(controller, **options):
        return call(controller_use, host=api.url, api_key="sesame-open", labels=OURS, controllers=[controller], **{"own_namespace": "a", **options})

    look.lists = api.lists
    with serve(api.answer) as api.url:
        yield look


def test_our_own_gateway_keeps_nothing(look):
    found = look(ENVOY)
    assert not found["changed"] and (found["used"], found["classes"], found["namespaces"], found["lines"]) == ([], [], [], [])
    assert found["made"] == [], "a class that we apply goes by its labels"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({GATEWAYS: gateway("b", "llm-d-gateway", "envoy-gateway", THEIRS)}, "Gateway b/llm-d-gateway of instance b is of class envoy-gateway"),
        ({GATEWAYS: gateway("shop", "front", "envoy-gateway")}, "Gateway shop/front is of class envoy-gateway"),
        ({GATEWAYS: gateway("elsewhere", "llm-d-gateway", "envoy-gateway", OURS)}, "Gateway elsewhere/llm-d-gateway of instance a is of class envoy-gateway"),
        ({GATEWAYS: gateway("shop", "front", "fast"), CLASSES: of(ENVOY, "fast")}, "Gateway shop/front is of class fast"),
        ({CLASSES: of(ENVOY, "theirs", THEIRS)}, "GatewayClass theirs of instance b is another's"),
        ({CLASSES: of(ENVOY, "by-hand")}, "GatewayClass by-hand is another's"),
    ],
)
def test_whoever_else_is_there_keeps_it(look, change, said):
    for path, item in change.items():
        look.lists[path].append(item)
    found = look(ENVOY)
    assert found["used"] == [ENVOY["name"]] and found["namespaces"] == ["envoy-gateway-system"]
    assert len(found["lines"]) == 1 and said in found["lines"][0]
    assert found["classes"] == sorted({item["spec"]["gatewayClassName"] for item in look.lists[GATEWAYS][1:]})


def test_a_namespace_with_weights_of_ours_stays(look):
    claims = "/api/v1/namespaces/llm-d/persistentvolumeclaims"
    look.lists[claims] = [{"metadata": {"namespace": "llm-d", "name": "llama-weights", "labels": OURS}}, {"metadata": {"name": "data", "namespace": "llm-d"}}]
    found = look(ENVOY, namespaces=["llm-d"])
    assert found["namespaces"] == ["llm-d"] and found["used"] == []
    assert found["lines"] == ["the namespace llm-d stays: PersistentVolumeClaim llm-d/llama-weights of instance a"]
    look.lists[claims].pop(0)
    assert look(ENVOY, namespaces=["llm-d"])["namespaces"] == [], "what others keep there is no concern of ours"


def test_a_gateway_whose_class_is_gone_still_counts(look):
    look.lists[GATEWAYS].append(gateway("b", "g", "envoy-gateway", THEIRS))
    look.lists[CLASSES].clear()
    assert look(ENVOY)["used"] == [ENVOY["name"]]


def test_the_rest_of_a_deployment_goes_before_its_controller(look):
    assert look(ENVOY, own_namespace="")["used"] == [ENVOY["name"]]


def test_who_made_the_namespace_takes_it_away(look):
    look.lists["/api/v1/namespaces"][0]["metadata"]["labels"] = THEIRS
    found = look(ENVOY)
    assert found["used"] == [ENVOY["name"]] and "Namespace envoy-gateway-system of instance b was made by another instance" in found["lines"][0]


def test_other_controllers_and_their_gateways_do_not_matter(look):
    look.lists[GATEWAYS].append(gateway("shop", "front", "nginx"))
    look.lists[CLASSES].append({"metadata": {"name": "nginx"}, "spec": {"controllerName": "nginx.org/gateway"}})
    found = look(ENVOY)
    assert found["used"] == [] and found["classes"] == ["nginx"]


def test_classes_that_a_controller_makes_by_itself_are_cleared_away_with_it(look):
    look.lists[CLASSES] += [of(ISTIO, "istio"), {"metadata": {"name": "istio-remote"}, "spec": {"controllerName": "istio.io/unmanaged-gateway"}}]
    found = look(ISTIO)
    assert found["used"] == [] and [item["metadata"]["name"] for item in found["made"]] == ["istio", "istio-remote"]
    look.lists[CLASSES][-1]["spec"]["controllerName"] = "someone.else/controller"
    assert [item["metadata"]["name"] for item in look(ISTIO)["made"]] == ["istio"]
    for class_name in ("istio", "istio-remote"):
        look.lists[CLASSES][-1]["spec"]["controllerName"] = "istio.io/unmanaged-gateway"
        look.lists[GATEWAYS][1:] = [gateway("b", "g", class_name, THEIRS)]
        found = look(ISTIO)
        assert found["used"] == [ISTIO["name"]] and found["made"] == []


def test_a_namespace_with_workloads_of_another_instance_stays(look):
    place = "/apis/apps/v1/namespaces/shared/deployments"
    look.lists[place] = [{"metadata": {"namespace": "shared", "name": "x", "labels": OURS}}, {"metadata": {"namespace": "shared", "name": "y"}}]
    assert look(ENVOY, namespaces=["shared", "empty"])["namespaces"] == []
    look.lists[place].append({"metadata": {"namespace": "shared", "name": "llama-decode", "labels": THEIRS}})
    found = look(ENVOY, namespaces=["shared", "empty"])
    assert found["namespaces"] == ["shared"] and found["lines"] == ["the namespace shared stays: Deployment shared/llama-decode of instance b"]


def test_a_namespace_with_a_gateway_of_anyone_else_stays(look):
    assert look(ENVOY, namespaces=["a"])["namespaces"] == [], "our own"
    look.lists[GATEWAYS].append(gateway("a", "front", "nginx"))
    found = look(ENVOY, namespaces=["a"])
    assert found["used"] == [] and found["namespaces"] == ["a"] and found["lines"] == ["the namespace a stays: Gateway a/front"]


def test_a_cluster_without_the_gateway_api_has_no_users(look):
    del look.lists[GATEWAYS], look.lists[CLASSES]
    assert look(ENVOY)["used"] == []
