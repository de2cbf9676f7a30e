# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of others: those that affect a stack are reported, those beside it are not."""

from __future__ import annotations

import copy
import functools

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import report, strangers
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.route_conflicts import meet, wins
from recorded import condition, recorded
from stack_objects import CONTROLLER, NAMESPACE, healthy, planned

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-12-01T00:00:00Z"
GATEWAY = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "llm-d-gateway", "namespace": NAMESPACE}
ROUTE = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "sim"}
MANAGERS = [{"manager": "kubectl-create", "operation": "Update"}, {"manager": "controller", "subresource": "status"}]


def other(api_version, kind, spec, namespace=NAMESPACE, name="theirs", **fields):
    """An object of someone else."""
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": LATE, "managedFields": MANAGERS}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, **fields}


def route(*matches, hostnames=(), namespace="shop", created=LATE, parent=None, accepted="True", kind="HTTPRoute", backend="shop"):
    """An HTTPRoute of someone else on our Gateway."""
    ref = {**GATEWAY, **(parent or {})}
    made = other(
        "gateway.networking.k8s.io/v1",
        kind,
        {"parentRefs": [ref], "hostnames": list(hostnames), "rules": [{"matches": list(matches), "backendRefs": [{"name": backend, "port": 80}]}]},
        namespace,
        status={"parents": [{"parentRef": ref, "conditions": [{"type": "Accepted", "status": accepted}]}]},
    )
    made["metadata"]["creationTimestamp"] = created
    return made


def path(value, kind="PathPrefix", **fields):
    return {"path": {"type": kind, "value": value}, **fields}


@functools.cache
def usual():
    return healthy()


def stack(*objects, fails=False, made=None, hostnames=()):
    """A healthy stack with these objects beside it. Its own routes are in the snapshot twice, since they are read twice."""
    snap = healthy(made) if made else copy.deepcopy(usual())
    snap.plan["services"][0]["route"]["hostnames"] = list(hostnames)
    for obj in snap.objects["HTTPRoute"]:
        obj["spec"]["hostnames"] = list(hostnames)
        obj["metadata"]["creationTimestamp"] = "2026-06-01T00:00:00Z"
    snap.others = [*copy.deepcopy(snap.objects["HTTPRoute"]), *objects]
    if fails:
        snap.answers[0].update(ok=False, status=503, body="", evidence="503")
    return snap


def named(snap, code="stranger"):
    return [entry for entry in report.diagnose(snap) if entry.code == code]


@pytest.mark.parametrize("one, two, both", [
    ("", "", ""), ("", "a.b", "a.b"), ("a.b", "", "a.b"), ("A.b", "a.B", "a.b"), ("a.b", "c.b", None), ("*.b", "a.b", "a.b"), ("x.a.b", "*.b", "x.a.b"),
    ("*.b", "b", None), ("*.b", "*.a.b", "*.a.b"), ("*.a.b", "*.c.b", None), ("*.b", "ab", None),
])  # fmt: skip
def test_host_names_in_common(one, two, both):
    assert meet(one, two) == both and meet(two, one) == both


HEADER, PARAMETER = {"headers": [{"name": "x-team", "value": "a"}]}, {"queryParams": [{"name": "q", "value": "a"}]}


@pytest.mark.parametrize("match, prefix, older, all_of_it", [
    (path("/v1"), "/", False, True),
    (path("/v1/"), "/", False, True),
    (path("/v1/chat"), "/", False, True),
    (path("/v1/chat/completions", "Exact"), "/", False, True),
    (path("/v2"), "/", False, None),
    (path("/v"), "/", False, None),
    (path("/shop"), "/", True, None),
    (path("/", "Exact"), "/", True, None),
    (path("/"), "/", True, True),
    (path("/"), "/", False, None),
    ({}, "/", True, True),
    ({}, "/", False, None),
    (path("/", method="POST"), "/", False, True),
    (path("/", method="GET"), "/", False, False),
    (path("/", **HEADER), "/", False, False),
    (path("/", **PARAMETER), "/", False, False),
    (path("/v1", **HEADER), "/", False, False),
    (path("/pd"), "/pd", True, True),
    (path("/pd/"), "/pd", False, None),
    (path("/pd/v1"), "/pd", False, True),
    (path("/pdx"), "/pd", True, None),
    (path("/"), "/pd", True, None),
    (path("/", **HEADER), "/pd", True, None),
    (path("/v1"), "/pd", True, None),
    (path("/pd", "Exact"), "/pd", False, True),
    (path("/v1/.*", "RegularExpression"), "/", False, False),
    (path("^/(a+)+$", "RegularExpression"), "/", False, False),
    (path("/shop/.*", "RegularExpression"), "/", False, None),
])  # fmt: skip
def test_precedence_of_paths(match, prefix, older, all_of_it):
    won = wins(match, prefix, older)
    assert (won and won[0]) is all_of_it
    if all_of_it is None:
        assert won is None


@pytest.mark.parametrize("match, headers, older, taken", [
    ({}, 1, True, False),
    (HEADER, 1, True, True),
    (HEADER, 1, False, False),
    (HEADER, 2, True, False),
    ({**HEADER, **PARAMETER}, 1, False, True),
    (PARAMETER, 1, True, False),
    ({"method": "POST"}, 3, False, True),
])  # fmt: skip
def test_a_route_match_with_more_headers_takes_precedence(match, headers, older, taken):
    assert bool(wins(path("/", **match), "/", older, headers=headers)) is taken


def test_a_foreign_route_that_takes_requests_by_a_longer_prefix_is_reported():
    snap = stack(route(path("/v1"), namespace=NAMESPACE))
    snap.answers[0].update(ok=False, status=404, body="", evidence="404")
    first = report.diagnose(snap)[0]
    assert first.code == "stranger" and first.where == f"HTTPRoute {NAMESPACE}/theirs, HTTPRoute {NAMESPACE}/sim"
    assert "prefix /v1" in first.evidence[0] and "Service shop" in first.evidence[0]
    assert any("kubectl-create" in line and LATE in line and "controller" not in line for line in first.evidence)


@pytest.mark.parametrize("taken, ours, theirs", [
    (False, [], ["shop.example.com"]),  # a route that lists a host name takes precedence
    (False, ["llm.example.com"], []),  # ours is the longer name
    (False, ["llm.example.com"], ["shop.example.com"]),
    (False, ["llm.example.com"], ["*.example.com"]),
    (True, ["llm.example.com"], ["llm.example.com"]),
    (True, ["*.example.com"], ["llm.example.com"]),
    (True, ["a.example.com", "llm.example.com"], ["b.example.com", "LLM.example.com"]),
])  # fmt: skip
def test_the_host_name_of_a_route_takes_precedence_over_its_path(taken, ours, theirs):
    assert bool(named(stack(route(path("/v1"), hostnames=theirs), hostnames=ours))) is taken
    assert bool(named(stack(route(path("/"), hostnames=theirs), hostnames=ours))) is (taken and ours == ["*.example.com"])


@pytest.mark.parametrize("theirs, taken", [([], True), (["llm.example.com"], True), (["shop.example.com"], False), (["*.example.com"], True)])
def test_the_host_name_of_the_listener_counts(theirs, taken):
    made = planned()
    for listener in made["gateway"]["listeners"]:
        listener["hostname"] = "llm.example.com"
    assert bool(named(stack(route(path("/v1"), hostnames=theirs), made=made))) is taken


@pytest.mark.parametrize("created, taken", [(EARLY, True), (LATE, False)])
def test_of_equal_routes_the_oldest_takes_the_requests(created, taken):
    assert bool(named(stack(route(path("/"), created=created)))) is taken


@pytest.mark.parametrize("change", [
    {"parent": {"name": "another"}}, {"parent": {"namespace": "shop"}}, {"parent": {"sectionName": "another"}}, {"parent": {"port": 8443}},
    {"accepted": "False"}, {"parent": {"group": "", "kind": "Service", "name": "another"}},
])  # fmt: skip
def test_a_foreign_route_not_attached_to_own_listeners_is_not_reported(change):
    assert named(stack(route(path("/v1")))) and report.diagnose(stack(route(path("/v1"), **change))) == []


def test_a_grpc_route_with_the_host_name_of_a_refused_own_route_is_reported():
    snap = stack(route({"method": {"service": "shop"}}, kind="GRPCRoute"))
    assert named(snap) == []
    for routes in (snap.objects["HTTPRoute"], snap.others):
        condition(next(obj for obj in routes if obj["metadata"]["name"] == "sim")["status"]["parents"][0], "Accepted")["status"] = "False"
    assert "GRPCRoute" in named(snap)[0].where


def test_a_route_of_another_llm_d_deployment_is_reported_with_its_name():
    taking = route(path("/v1"))
    taking["metadata"]["labels"] = {**planned()["labels"], "app.kubernetes.io/part-of": "second"}
    assert any("of the deployment second" in line for line in named(stack(taking))[0].evidence)
    taking["metadata"]["labels"] = planned()["labels"]
    assert any("not in its plan" in line for line in named(stack(taking))[0].evidence)


POLICY = "gateway.envoyproxy.io/v1alpha1"
ACCEPTED = {"ancestors": [{"conditions": [{"type": "Accepted", "status": "True"}]}]}
REJECTED = {"ancestors": [{"conditions": [{"type": "Accepted", "status": "False", "reason": "Conflicted"}]}]}
AIMED = {
    "route": other(POLICY, "SecurityPolicy", {"targetRefs": [ROUTE]}, status=ACCEPTED),
    "route_in_one": other(POLICY, "BackendTrafficPolicy", {"targetRef": ROUTE}),
    "service": other("gateway.networking.k8s.io/v1", "BackendTLSPolicy", {"targetRefs": [{"group": "", "kind": "Service", "name": "sim-epp"}]}),
    "pool": other("networking.gke.io/v1", "GCPBackendPolicy", {"targetRef": {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "sim"}}),
    "patch": other(POLICY, "EnvoyPatchPolicy", {"targetRef": GATEWAY}, status=ACCEPTED),
    "kgateway": other("gateway.kgateway.dev/v1alpha1", "TrafficPolicy", {"targetRefs": [ROUTE]}),
    "agentgateway": other("agentgateway.dev/v1alpha1", "AgentgatewayPolicy", {"targetRefs": [ROUTE]}),
    "unheard_of": other("gateway.networking.x-k8s.io/v1alpha1", "XSomethingNew", {"targetRefs": [ROUTE]}),
    "by_labels": other(POLICY, "SecurityPolicy", {"targetSelectors": [{"group": ROUTE["group"], "kind": "HTTPRoute", "matchLabels": planned()["labels"]}]}),
    "host": other("networking.istio.io/v1", "VirtualService", {"hosts": ["sim"]}),
    "host_from_elsewhere": other("networking.istio.io/v1", "DestinationRule", {"host": "sim.llm-d.svc.cluster.local"}, "shop"),
    "hosts_of_a_namespace": other("networking.istio.io/v1", "DestinationRule", {"host": "*.llm-d.svc.cluster.local"}, "shop"),
}
NEAR = {
    "gateway": other(POLICY, "ClientTrafficPolicy", {"targetRefs": [{**GATEWAY, "sectionName": "http"}]}, status=ACCEPTED),
    "cilium": other("cilium.io/v2", "CiliumNetworkPolicy", {"endpointSelector": {"matchLabels": {"k8s:llm-d.ai/model-service": "sim"}}}),
}
BESIDE = {
    "another_route": other(POLICY, "SecurityPolicy", {"targetRefs": [{**ROUTE, "name": "shop"}]}),
    "same_name_elsewhere": other(POLICY, "SecurityPolicy", {"targetRefs": [ROUTE]}, "shop"),
    "another_kind": other(POLICY, "SecurityPolicy", {"targetRefs": [{**ROUTE, "kind": "GRPCRoute"}]}),
    "another_group": other(POLICY, "SecurityPolicy", {"targetRefs": [{**ROUTE, "group": "x.example.com"}]}),
    "another_listener": other(POLICY, "ClientTrafficPolicy", {"targetRefs": [{**GATEWAY, "sectionName": "theirs"}]}),
    "another_gateway": other(POLICY, "EnvoyPatchPolicy", {"targetRef": {**GATEWAY, "name": "another"}}),
    "rejected": other(POLICY, "SecurityPolicy", {"targetRefs": [ROUTE]}, status=REJECTED),
    "other_labels": other(POLICY, "SecurityPolicy", {"targetSelectors": [{"group": ROUTE["group"], "kind": "HTTPRoute", "matchLabels": {"app": "shop"}}]}),
    "other_pods": other("cilium.io/v2", "CiliumNetworkPolicy", {"endpointSelector": {"matchLabels": {"app": "shop"}}}),
    "pods_elsewhere": other("cilium.io/v2", "CiliumNetworkPolicy", {"endpointSelector": {}}, "shop"),
    "other_host": other("networking.istio.io/v1", "VirtualService", {"hosts": ["shop", "sim.example.com"]}),
    "same_host_elsewhere": other("networking.istio.io/v1", "VirtualService", {"hosts": ["sim"]}, "shop"),
    "no_mesh": other("security.istio.io/v1", "AuthorizationPolicy", {}),
    "whole_mesh": other("security.istio.io/v1", "PeerAuthentication", {"mtls": {"mode": "STRICT"}}, "istio-system"),
    "objective": other(
        "inference.networking.x-k8s.io/v1alpha2", "InferenceObjective", {"poolRef": {"group": "inference.networking.k8s.io", "name": "another"}, "priority": 1}
    ),
    "listeners": other(
        "gateway.networking.k8s.io/v1", "ListenerSet", {"parentRef": GATEWAY, "listeners": [{"name": "a", "port": 80, "hostname": "shop.example.com"}]}
    ),
    "gateway": other("gateway.networking.k8s.io/v1", "Gateway", {"gatewayClassName": "envoy-gateway", "listeners": [{"name": "http", "port": 80}]}),
    "istio_gateway": other("networking.istio.io/v1", "Gateway", {"selector": {"istio": "ingressgateway"}, "servers": [{"hosts": ["*"]}]}),
    "odd": other(POLICY, "SecurityPolicy", {"targetRefs": "route", "targetRef": [None, 7], "selector": []}),
}


@pytest.mark.parametrize("name", sorted(AIMED))
def test_a_foreign_policy_that_targets_an_own_object_is_reported(name):
    findings = named(stack(AIMED[name]))
    assert [entry.weight for entry in findings] == [strangers.AIMED[0]] and findings[0].where.endswith(f"/{AIMED[name]['metadata']['name']}")
    assert findings[0].where.startswith(AIMED[name]["kind"]) and any("kubectl-create" in line for line in findings[0].evidence)
    assert report.diagnose(stack(AIMED[name], fails=True))[0].code == "stranger", "before the symptom"


@pytest.mark.parametrize("name", sorted(NEAR))
def test_a_foreign_policy_near_own_objects_is_a_note_until_requests_fail(name):
    assert report.report(report.diagnose(stack(NEAR[name])), {})["ok"] is True and named(stack(NEAR[name]))
    assert report.report(report.diagnose(stack(NEAR[name], fails=True)), {})["findings"][0]["code"] == "stranger"


@pytest.mark.parametrize("name", sorted(BESIDE))
def test_a_foreign_object_that_affects_no_own_object_is_not_reported(name):
    assert report.diagnose(stack(BESIDE[name])) == []
    assert named(stack(BESIDE[name], fails=True)) == []


def test_unrelated_foreign_objects_of_a_busy_cluster_give_no_finding():
    shop = [route(path(value), hostnames=hosts) for value, hosts in (("/shop", []), ("/", ["shop.example.com"]), ("/v1", ["*.example.org"]))]
    for number, obj in enumerate(shop):
        obj["metadata"]["name"] = f"shop-{number}"
    assert report.diagnose(stack(*shop, *BESIDE.values())) == []
    assert report.diagnose(stack(*shop, *BESIDE.values(), hostnames=["llm.example.net"])) == []


def test_own_objects_are_not_reported_as_foreign():
    for metadata in (
        {"labels": planned()["labels"]},
        {"ownerReferences": [{"kind": "Gateway", "name": "llm-d-gateway", "uid": "x"}]},
        {"ownerReferences": [{"kind": "Deployment", "name": "x", "uid": "uid-Deployment-sim-epp"}]},
        {"labels": {"gateway.networking.k8s.io/gateway-name": "llm-d-gateway"}},
    ):
        obj = copy.deepcopy(AIMED["route"])
        assert named(stack(obj))
        obj["metadata"].update(metadata)
        assert report.diagnose(stack(obj)) == [], metadata


def test_objectives_on_our_pool_and_policies_of_the_whole_mesh_count_only_while_requests_fail():
    objective = copy.deepcopy(BESIDE["objective"])
    objective["spec"]["poolRef"]["name"] = "sim"
    everywhere = copy.deepcopy(BESIDE["whole_mesh"])
    for obj in (objective, everywhere):
        for fails in (False, True):
            snap = stack(obj, fails=fails)
            for pod in snap.objects["Pod"]:
                pod["spec"]["containers"].append({"name": "istio-proxy"})
            assert bool(named(snap)) is fails


def test_istio_selects_only_pods_that_it_configures():
    obj = other("networking.istio.io/v1alpha3", "EnvoyFilter", {"workloadSelector": {"labels": {"llm-d.ai/model-service": "sim"}}})
    assert named(stack(obj)) == []
    snap = stack(obj)
    for pod in snap.objects["Pod"]:
        pod["metadata"]["annotations"] = {"ambient.istio.io/redirection": "enabled"}
    assert [entry.weight for entry in named(snap)] == [strangers.AIMED[0]]


def test_policies_of_a_gateway_that_someone_else_owns_are_its_owners():
    made = planned()
    made["gateway"]["create"] = False
    assert report.diagnose(stack(NEAR["gateway"], made=made)) == []
    assert named(stack(NEAR["gateway"], made=made, fails=True))


def test_a_foreign_gateway_that_claims_the_conflicted_address_is_reported():
    rival = other("gateway.networking.k8s.io/v1", "Gateway", {"gatewayClassName": "another", "addresses": [{"value": "10.216.0.161"}]}, "shop")
    beside = other("gateway.networking.k8s.io/v1", "Gateway", {"gatewayClassName": "another", "addresses": [{"value": "10.216.0.162"}]}, "shop", "beside")
    snap = stack(rival, beside)
    assert report.diagnose(snap) == []
    programmed = condition(snap.objects["Gateway"][0]["status"], "Programmed")
    programmed.update(status="False", reason="AddressNotUsable", message="The address is in use")
    first = report.diagnose(snap)[0]
    assert (first.code, first.where) == ("stranger", f"Gateway {NAMESPACE}/llm-d-gateway, Gateway shop/theirs") and "10.216.0.161" in first.evidence[0]


@pytest.mark.parametrize("kind, port, taken", [("Gateway", 80, True), ("Gateway", 81, False), ("ListenerSet", 80, True)])
def test_a_foreign_listener_on_the_port_of_a_conflicted_one_is_reported(kind, port, taken):
    spec = {"listeners": [{"name": "http", "port": port}], **({"parentRef": GATEWAY} if kind == "ListenerSet" else {"gatewayClassName": "envoy-gateway"})}
    snap = stack(other("gateway.networking.k8s.io/v1", kind, spec, "shop"))
    listener = snap.objects["Gateway"][0]["status"]["listeners"][0]
    listener["conditions"].append({"type": "Conflicted", "status": "True", "reason": "HostnameConflict"})
    assert any(entry.where.endswith(f"{kind} shop/theirs") for entry in named(snap)) is taken


def test_pods_of_another_workload_among_our_servers():
    snap = stack()
    pod = copy.deepcopy(next(pod for pod in snap.objects["Pod"] if "sim-decode" in pod["metadata"]["name"]))
    pod["metadata"].update(name="shop-1", uid="x", ownerReferences=[{"kind": "ReplicaSet", "name": "shop-1", "controller": True}])
    owner = {"kind": "Deployment", "name": "shop", "controller": True}
    made = {"kind": "ReplicaSet", "metadata": {"name": "shop-1", "namespace": NAMESPACE, "ownerReferences": [owner]}, "spec": {"replicas": 1}}
    snap.objects["Pod"].append(pod)
    snap.objects["ReplicaSet"].append(made)
    assert [entry.where for entry in named(snap)] == [f"Deployment {NAMESPACE}/shop"]
    owner["name"] = "sim-decode"
    assert named(snap) == []


# webhooks


def webhook(kind="ValidatingWebhookConfiguration", **change):
    hook = {
        "name": "check.shop.example.com",
        "clientConfig": {"service": {"namespace": "shop", "name": "checker"}},
        "failurePolicy": "Fail",
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
        **change,
    }
    made = other("admissionregistration.k8s.io/v1", kind, {}, "")
    del made["spec"], made["metadata"]["namespace"]
    return {**made, "webhooks": [hook]}


def silent(hook, ready=0):
    snap = stack(hook)
    snap.endpoints = {"shop/checker": ready} if ready is not None else {}
    return named(snap, "F32")


def rule(**change):
    return [{**webhook()["webhooks"][0]["rules"][0], **change}]


def test_a_webhook_without_endpoints_is_named():
    (finding,) = silent(webhook())
    assert finding.where == "ValidatingWebhookConfiguration theirs" and "Service shop/checker has no ready endpoint" in finding.evidence
    assert silent(webhook(failurePolicy=None)) and silent(webhook(rules=rule(resources=["*"], apiGroups=["*"], operations=["*"])))
    assert silent(webhook(rules=rule(apiGroups=["apps"], resources=["deployments"]))) and silent(webhook("MutatingWebhookConfiguration"))
    assert silent(webhook(namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}))


@pytest.mark.parametrize("change", [
    {"failurePolicy": "Ignore"},
    {"clientConfig": {"url": "https://checker.example.com"}},
    {"namespaceSelector": {"matchLabels": {"team": "shop"}}},
    {"objectSelector": {"matchLabels": {"team": "shop"}}},
    {"rules": rule(resources=["pods/exec"])},
    {"rules": rule(resources=["secrets"])},
    {"rules": rule(apiGroups=["shop.example.com"])},
    {"rules": rule(operations=["DELETE"])},
    {"rules": rule(scope="Cluster")},
])  # fmt: skip
def test_an_unrelated_ignorable_or_external_webhook_is_not_reported(change):
    assert silent(webhook(**change)) == []


@pytest.mark.parametrize("ready", [1, None])
def test_a_webhook_with_ready_or_unreadable_endpoints_is_not_reported(ready):
    assert silent(webhook(), ready) == []


def test_a_webhook_that_an_event_names_is_the_cause():
    snap = stack(webhook())
    snap.endpoints = {"shop/checker": 0}
    message = 'Error creating: Internal error occurred: failed calling webhook "check.shop.example.com": no endpoints available'
    snap.objects["Event"].append({"kind": "Event", "type": "Warning", "message": message, "metadata": {"namespace": NAMESPACE}, "involvedObject": {}})
    assert report.report(report.diagnose(snap), {})["findings"][0]["kind"] == "cause"


def changed(change, *hooks, fails=False):
    """The findings after a webhook has changed the first server pod."""
    snap = stack(*hooks, fails=fails)
    for made in snap.objects["ReplicaSet"]:
        deployment = next(obj for obj in snap.objects["Deployment"] if made["metadata"]["name"].startswith(obj["metadata"]["name"]))
        made["spec"]["template"] = copy.deepcopy(deployment["spec"]["template"])
    assert named(snap) == []
    change(next(pod for pod in snap.objects["Pod"] if "sim-decode" in pod["metadata"]["name"])["spec"])
    return named(snap)


@pytest.mark.parametrize("change, evidence", [
    (lambda spec: spec["containers"].append({"name": "agent", "image": "shop/agent:1"}), "container agent was added, image shop/agent:1"),
    (lambda spec: spec.setdefault("initContainers", []).append({"name": "agent"}), "container agent was added"),
    (lambda spec: spec["containers"][0].update(image="mirror/sim:1"), "has image mirror/sim:1, the template"),
    (lambda spec: spec["containers"][0].update(args=["--port=1"]), "has another args"),
    (lambda spec: spec["containers"][0].setdefault("env", []).append({"name": "AGENT", "value": "secret-value"}), "has more variables: AGENT"),
])  # fmt: skip
def test_pod_changes_by_a_webhook_are_reported_without_variable_values(change, evidence):
    hook = webhook("MutatingWebhookConfiguration")
    (finding,) = changed(change, hook)
    assert evidence in finding.evidence[0] and "MutatingWebhookConfiguration theirs" in finding.evidence[-1] and "secret-value" not in str(finding)
    assert report.report([finding], {})["ok"] is True
    assert report.report(changed(change, hook, fails=True), {})["ok"] is False
    assert "no webhook" in changed(change)[0].evidence[-1]


# network policies


def network(direction, *rules, namespace=NAMESPACE, selector=None, name="theirs"):
    spec = {"podSelector": selector or {}, "policyTypes": [direction], direction.lower(): list(rules)}
    return other("networking.k8s.io/v1", "NetworkPolicy", spec, namespace, name)


def ports(*numbers):
    return {"ports": [{"protocol": "TCP", "port": number} for number in numbers]}


@pytest.mark.parametrize("policies, blocked", [
    ([network("Ingress")], True),
    ([network("Egress")], True),
    ([network("Egress", ports(53))], True),
    ([network("Egress", ports(53), ports(8000))], False),
    ([network("Egress", {})], False),
    ([network("Ingress", ports(8000))], True),  # the picker's port is not admitted
    ([network("Ingress", ports(8000, 9002))], False),
    ([network("Ingress"), network("Ingress", ports(8000, 9002), name="allow")], False),
    ([network("Ingress", selector={"matchLabels": {"app": "shop"}})], False),
    ([network("Ingress", namespace="shop"), network("Egress", namespace="shop")], False),
    ([network("Ingress", namespace=CONTROLLER)], False),  # the ports of the proxy are its controller's
    ([network("Egress", namespace=CONTROLLER)], True),
])  # fmt: skip
def test_network_policies_add_up(policies, blocked):
    findings = named(stack(*policies), "policy")
    assert bool(findings) is blocked
    assert all("NetworkPolicy" in entry.where and any("kubectl-create" in line for line in entry.evidence) for entry in findings)


def test_the_recorded_route_is_recognized_as_an_own_object():
    assert strangers.is_ours(healthy(), recorded("httproute"))


def test_problems_of_foreign_routes_are_not_reported():
    broken = route(path("/shop"), namespace=NAMESPACE)
    broken["spec"]["rules"][0]["backendRefs"][0]["namespace"] = "shop"
    broken["metadata"].update(deletionTimestamp=LATE, finalizers=["shop.example.com/x"])
    snap = stack(broken)
    snap.objects["HTTPRoute"].append(broken)
    assert report.diagnose(snap) == []
    broken["metadata"]["labels"] = snap.plan["labels"]
    assert [entry.code for entry in report.diagnose(snap)] == ["F45"]
