# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of others beside a healthy stack are no finding, however broken they are, until a pod, a selector or a reference of ours uses them."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import ours, report, wanted
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.snapshot import FORBIDDEN
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from stack_objects import CONTROLLER, NAMESPACE, healthy, planned, pod_of

DECODE = "sim-decode"
CRASH = {
    "restartCount": 5,
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 2m40s restarting failed container"}},
    "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
}


def named(name, namespace=NAMESPACE, **fields):
    return {"name": name, "namespace": namespace, "uid": f"uid-{name}", **fields}


def ours_of(snap, kind, name):
    return next(obj for obj in snap.objects[kind] if obj["metadata"]["name"] == name)


def servers(snap):
    return [pod for pod in snap.objects["Pod"] if pod["metadata"]["name"].startswith(DECODE)]


def crashing(name, namespace=NAMESPACE, **labels):
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [{"name": "a", "ready": False, **CRASH}]}
    owner = {"kind": "ReplicaSet", "name": f"{name}-744dfd47c8", "uid": f"uid-set-{name}", "controller": True}
    metadata = named(f"{name}-744dfd47c8-x", namespace, labels={"app": name, **labels}, ownerReferences=[owner])
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "a"}]}, "status": status}


def claim(snap, phase="Pending"):
    snap.objects["PersistentVolumeClaim"] = [{"kind": "PersistentVolumeClaim", "metadata": named("data"), "status": {"phase": phase}}]
    involved = {"kind": "PersistentVolumeClaim", "name": "data", "uid": "uid-data"}
    event = {"type": "Warning", "reason": "ProvisioningFailed", "message": 'storageclass.storage.k8s.io "fast" not found', "involvedObject": involved}
    snap.objects["Event"].append({"kind": "Event", "metadata": {"namespace": NAMESPACE}, **event})


def mount(snap):
    servers(snap)[0]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def mount_in_the_template(snap):
    deployment = ours_of(snap, "Deployment", DECODE)
    deployment["spec"]["template"]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    snap.objects["Pod"] = [pod for pod in snap.objects["Pod"] if not pod["metadata"]["name"].startswith(DECODE)]


def pod(snap):
    snap.objects["Pod"] += [crashing("shop"), crashing("elsewhere", CONTROLLER)]


def select_it(snap):
    ours_of(snap, "InferencePool", "sim")["spec"]["selector"]["matchLabels"] = {"app": "shop"}
    snap.plan["services"][0]["pool"]["selector"] = {"app": "shop"}


def refused(snap):
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": 'pods "a" is forbidden: exceeded quota: compute'}
    status = {"observedGeneration": 1, "conditions": [condition]}
    snap.objects["Deployment"].append({"kind": "Deployment", "metadata": named("shop"), "spec": {"replicas": 1}, "status": status})
    snap.objects["ReplicaSet"].append({"kind": "ReplicaSet", "metadata": named("shop-744dfd47c8"), "spec": {"replicas": 1}, "status": status})


def label_it(snap):
    ours_of(snap, "Deployment", "shop")["metadata"]["labels"] = snap.plan["labels"]


def stale(snap):
    metadata = named("shop", generation=7)
    snap.objects["Deployment"].append({"kind": "Deployment", "metadata": metadata, "spec": {"replicas": 1}, "status": {"observedGeneration": 6}})


def autoscaler(snap):
    condition = {"type": "ScalingActive", "status": "False", "reason": "FailedGetExternalMetric", "message": "unable to get external metric"}
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "shop"}}
    scaler = {"kind": "HorizontalPodAutoscaler", "metadata": named("shop"), "spec": spec, "status": {"conditions": [condition]}}
    snap.objects["HorizontalPodAutoscaler"] = [scaler]


def target_ours(snap):
    snap.objects["HorizontalPodAutoscaler"][0]["spec"]["scaleTargetRef"]["name"] = DECODE


def pools(snap):
    mine = ours_of(snap, "InferencePool", "sim")
    for name in ("shop", "shop-again"):
        pool = copy.deepcopy(mine)
        pool["metadata"] = named(name)
        pool["spec"].update(selector={"matchLabels": {"app": "shop"}}, endpointPickerRef={"name": "shop-epp", "port": {"number": 9002}})
        snap.objects["InferencePool"].append(pool)


def name_our_picker(snap):
    snap.objects["InferencePool"][-1]["spec"]["endpointPickerRef"]["name"] = "sim-epp"


def destination_rule(snap):
    snap.objects["DestinationRule"] = [{"kind": "DestinationRule", "metadata": named("shop"), "spec": {"host": f"shop.{NAMESPACE}.svc.cluster.local"}}]


def name_our_service(snap):
    snap.objects["DestinationRule"][0]["spec"]["host"] = f"sim-epp.{NAMESPACE}.svc.cluster.local"


def quota(hard, **spec):
    def change(snap):
        snap.objects["ResourceQuota"] = [{"kind": "ResourceQuota", "metadata": named("theirs"), "spec": spec, "status": {"hard": hard, "used": dict(hard)}}]

    return change


def requesting(**resources):
    def change(snap):
        for each in servers(snap):
            each["spec"]["containers"][0]["resources"] = {"limits": {name.replace("__", "/").replace("_", "."): "1" for name in resources}}

    return change


def of_a_class(snap):
    for each in servers(snap):
        each["spec"]["priorityClassName"] = "batch"


def helm_release(snap):
    labels = {"owner": "helm", "status": "pending-install", "name": "shop"}
    snap.objects["Secret"] = [{"kind": "Secret", "metadata": named("sh.helm.release.v1.shop.v1", CONTROLLER, labels=labels)}]


def name_our_release(snap):
    snap.objects["Secret"][0]["metadata"]["labels"]["name"] = "envoy-gateway"


def node(snap):
    for each in snap.objects["Pod"]:
        each["spec"]["nodeName"] = "local"
    condition = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    snap.objects["Node"].append({"kind": "Node", "metadata": {"name": "away"}, "status": {"conditions": [condition]}})


def run_there(snap):
    servers(snap)[0]["spec"]["nodeName"] = "away"


def wait_for_a_node(snap):
    del servers(snap)[0]["spec"]["nodeName"]


def proxy_of_another_gateway(snap):
    labels = {"gateway.envoyproxy.io/owning-gateway-name": "llm-d-gateway", "gateway.envoyproxy.io/owning-gateway-namespace": "shop"}
    snap.objects["Pod"].append(crashing("envoy-shop-llm-d-gateway", CONTROLLER, **labels))


def own_it(snap):
    snap.objects["Pod"][-1]["metadata"]["labels"]["gateway.envoyproxy.io/owning-gateway-namespace"] = NAMESPACE


def others_of_this_name(snap):
    """A pod of another file with the same instance, in a namespace that both files use."""
    snap.objects["Pod"].append(crashing("shop", **snap.plan["labels"], **{"llm-d.ai/namespace": "shop"}))


def own_the_name(snap):
    del snap.objects["Pod"][-1]["metadata"]["labels"]["llm-d.ai/namespace"]


def service_and_route(snap):
    snap.objects["Service"].append({"kind": "Service", "metadata": named("shop"), "spec": {"selector": {"app": "nobody"}, "ports": [{"port": 80}]}})
    broken = copy.deepcopy(ours_of(snap, "HTTPRoute", "sim"))
    broken["metadata"], broken["spec"]["hostnames"] = named("shop"), ["shop.example.com"]
    broken["status"] = {"parents": [{"parentRef": {"name": "other"}, "conditions": [{"type": "Accepted", "status": "False", "reason": "NoMatchingParent"}]}]}
    snap.objects["HTTPRoute"].append(broken)
    snap.objects["Secret"] = [{"kind": "Secret", "metadata": named("shop", labels={"owner": "helm", "status": "failed", "name": "shop"})}]


def select_nobody(snap):
    ours_of(snap, "Service", "sim")["spec"]["selector"] = {"app": "nobody"}


# {title: (adds objects of others, makes the stack use them, code of the finding that follows)}
CASES = {
    "a claim": (claim, mount, "F20"),
    "a claim of pods that do not exist yet": (claim, mount_in_the_template, "F20"),
    "a lost claim": (lambda snap: claim(snap, "Lost"), mount, "F20"),
    "a pod": (pod, select_it, "crash"),
    "a workload without pods": (refused, label_it, "quota"),
    "a workload with a stale status": (stale, label_it, "F43"),
    "an autoscaler": (autoscaler, target_ours, "F38"),
    "pools": (pools, name_our_picker, "F29"),
    "a rule of Istio": (destination_rule, name_our_service, "F41"),
    "a quota of Secrets": (quota({"count/secrets": "4"}), quota({"pods": "4"}), "quota"),
    "a quota of storage": (quota({"requests.storage": "10Gi"}), quota({"limits.memory": "8Gi"}), "quota"),
    "a quota of GPUs": (quota({"requests.nvidia.com/gpu": "4"}), requesting(nvidia_com__gpu=1), "quota"),
    "a quota of pods that end": (quota({"pods": "4"}, scopes=["Terminating"]), quota({"pods": "4"}, scopes=["NotTerminating"]), "quota"),
    "a quota of another priority": (
        quota({"pods": "4"}, scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["batch"]}]}),
        of_a_class,
        "quota",
    ),
    "a Helm release": (helm_release, name_our_release, "F44"),
    "a node": (node, run_there, "node"),
    "a node where ours may go": (node, wait_for_a_node, "node"),
    "a proxy": (proxy_of_another_gateway, own_it, "crash"),
    "an instance of the same name": (others_of_this_name, own_the_name, "crash"),
    "a Service, a route and a Secret": (service_and_route, select_nobody, "F21"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_foreign_object_is_diagnosed_only_where_the_stack_uses_it(name):
    add, use, code = CASES[name]
    snap = healthy()
    add(snap)
    assert [(entry.code, entry.where) for entry in report.diagnose(snap)] == []
    use(snap)
    assert code in [entry.code for entry in report.diagnose(snap)]


def test_mounted_claims_of_the_file_are_read_by_name_and_not_listed():
    snap = healthy()
    mount(snap)
    assert ours.claims(snap) == {(NAMESPACE, "data")}
    assert "PersistentVolumeClaim" not in [kind for _version, kind, *_rest in wanted.lists(snap.plan)]


@pytest.mark.parametrize(
    ("user", "kinds"),
    [
        ({}, {"EnvoyProxy", "EnvoyExtensionPolicy", "BackendTrafficPolicy", "HTTPRoute", "Gateway", "InferencePool"}),
        ({"llm_d_gateway": {"provider": "istio", "service_type": "ClusterIP"}}, {"DestinationRule", "HTTPRoute", "Gateway", "InferencePool"}),
        ({"llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"}}, set()),
    ],
)
def test_only_kinds_that_the_file_makes_or_uses_are_read(user, kinds):
    service = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}
    made = plan({"llm_d_scope": "namespace", "llm_d_gateway": {"service_type": "ClusterIP"}, "llm_d_model_services": [service], **user})
    always = {"Pod", "Event", "Deployment", "Service", "ResourceQuota", "ReplicaSet", "NetworkPolicy", "HorizontalPodAutoscaler", "Node"}
    assert {kind for _version, kind, *_rest in wanted.lists(made)} == always | kinds


def test_routes_and_route_policies_are_read_in_routes_namespace():
    made = planned({"namespace": "edge", "routes_namespace": "routes"})
    listed = {(kind, place) for _version, kind, place, *_rest in wanted.lists(made)}
    assert {("HTTPRoute", "routes"), ("EnvoyExtensionPolicy", "routes"), ("Gateway", "edge"), ("EnvoyProxy", "edge")} <= listed
    assert not {("HTTPRoute", NAMESPACE), ("Gateway", NAMESPACE), ("HTTPRoute", "edge"), ("Pod", "routes")} & listed
    snap = healthy(made)
    for obj in snap.objects["Gateway"]:
        obj["metadata"]["namespace"] = "edge"
    for each in snap.objects["Pod"]:
        labels = each["metadata"]["labels"]
        if "gateway.envoyproxy.io/owning-gateway-namespace" in labels:
            labels["gateway.envoyproxy.io/owning-gateway-namespace"] = "edge"
    for obj in snap.objects["HTTPRoute"]:
        obj["spec"]["parentRefs"][0]["namespace"] = "edge"
        obj["status"]["parents"][0]["parentRef"]["namespace"] = "edge"
    assert [(entry.code, entry.where, entry.evidence) for entry in report.diagnose(snap) if entry.code != "F10"] == []
    snap.objects["HTTPRoute"] = []
    assert report.diagnose(snap)[0].where == "HTTPRoute routes/sim"


def test_a_gateway_of_someone_else_may_have_any_class():
    snap = healthy(planned({"provider": "none", "name": "llm-d-gateway"}))
    assert [(entry.code, entry.where, entry.evidence) for entry in report.diagnose(snap)] == []


def test_a_controller_in_an_unlisted_namespace_is_not_reported_as_missing():
    snap = healthy()
    snap.objects["Deployment"] = [obj for obj in snap.objects["Deployment"] if obj["metadata"]["namespace"] != CONTROLLER]
    assert report.diagnose(snap)[0].code == "controller"
    snap.unlisted.add(("Deployment", CONTROLLER))
    assert report.diagnose(snap) == []


def refusal(kind, place, **fields):
    what = f"{kind} in {place}" if place else kind
    return {"what": what, "kind": kind, "place": place, "message": f"forbids {kind} (403)", "status": 403, **fields}


def test_unreadable_kinds_outside_the_stack_are_one_line_and_no_cause():
    snap = healthy()
    elsewhere = [refusal("Pod", "kube-system"), refusal("Node", ""), refusal("Deployment", "kube-system"), refusal("Pod", CONTROLLER)]
    webhooks = {"what": "what others attach: ValidatingWebhookConfiguration", "message": FORBIDDEN, "status": None}
    snap.unread = [*elsewhere, webhooks]
    assert report.diagnose(snap) == []
    (line,) = report.not_read(snap)
    assert line.startswith(
        "Node, what others attach: ValidatingWebhookConfiguration; Pod in envoy-gateway-system; Deployment, Pod in kube-system: this account may not"
    )
    assert line.endswith("so a cause that lies there is not found")
    snap.unread.append(refusal("ResourceQuota", NAMESPACE))
    (finding,) = report.diagnose(snap)
    assert finding.code == "permissions" and report.report([finding], {})["ok"] is True, "a Role of an older release"
    snap.unread.append(refusal("Pod", NAMESPACE))
    assert report.report(report.diagnose(snap), {})["ok"] is False, "without pods a stack cannot be diagnosed"
    snap.unread += [{"what": name, "message": "answered 500", "status": 500} for name in ("Event in a", "Event in b")]
    assert len(report.not_read(snap)) == 2 and report.not_read(snap)[1] == "Event in a, Event in b: answered 500"


def test_an_own_pod_without_labels_is_recognized_by_its_owner():
    snap = healthy()
    lost = pod_of(ours_of(snap, "Deployment", DECODE), 7)
    lost["metadata"]["labels"] = {}
    snap.objects["Pod"].append(lost)
    assert lost in ours.pods(snap)
