# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness of an object, by the rules of its kind, from the object as the API server returns it. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Context, Facts, Verdict, condition, describe, dicts, generation, get_path, group_of, mapping, number, text, unmet
from . import gateway as gateways
from . import operators, workloads

# The conditions that mean ready for a kind without a function of its own. An object without them counts as ready.
READY_CONDITIONS = ("Ready", "Available")
# (API group, kind): the conditions that its controller always sets, so that an object without them is not ready yet.
REQUIRED_CONDITIONS = {
    ("keda.sh", "ScaledObject"): ("Ready",),
    ("apiregistration.k8s.io", "APIService"): ("Available",),
    ("cert-manager.io", "Certificate"): ("Ready",),
    ("serving.kserve.io", "InferenceService"): ("Ready",),
    ("serving.kserve.io", "LLMInferenceService"): ("Ready",),
}


Judge = t.Callable[[Facts, Context], Verdict]


def judge(obj: object, context: Context | None = None) -> Verdict:
    """The verdict on one object. Never raises; parts of an unexpected shape read as absent.

    obj: as the API server returns it, None when it does not exist.
    """
    context = context or Context()
    if not isinstance(obj, dict) or not obj:
        return Verdict(False, "does not exist", "check that it was applied, and whether something deletes it")
    if get_path(obj, "metadata", "deletionTimestamp"):
        return deletion_verdict(obj)
    return find_judge(group_of(obj), text(obj.get("kind")))(obj, context)


def find_judge(group: str, kind: str) -> Judge:
    """The function that judges objects of a kind."""
    rule = JUDGES.get((group, kind))
    if rule:
        return rule
    if kind == "InferencePool":
        return gateways.inference_pool
    if kind.endswith("Route") and group == gateways.GROUP:
        return gateways.route
    if kind.endswith("Policy") and (group.startswith("gateway.") or group == gateways.GROUP):
        return gateways.policy
    return other


# (a finalizer, its domain, or '.' with the end of its domain; who removes it; what to do where that does not happen). The domain of any other finalizer is the
# API group of its controller.
_CHECK_CONTROLLER = "check that the controller of this API group runs"
FINALIZER_OWNERS: tuple[tuple[str, str, str], ...] = (
    ("foregroundDeletion", "the garbage collector of Kubernetes", "wait until the objects that it owns are gone"),
    ("orphan", "the garbage collector of Kubernetes", "check that kube-controller-manager runs"),
    ("kubernetes.io/pvc-protection", "Kubernetes, while a Pod mounts the claim", "delete the Pods that mount it"),
    ("kubernetes.io/pv-protection", "Kubernetes, while a claim is bound to the volume", "delete the claim"),
    ("kubernetes", "the namespace controller of Kubernetes", "check that kube-controller-manager runs"),
    ("batch.kubernetes.io/job-tracking", "the job controller of Kubernetes", "check that kube-controller-manager runs"),
    ("customresourcecleanup.apiextensions.k8s.io", "the API server, while objects of the kind exist", "delete these objects"),
    ("service.kubernetes.io/load-balancer-cleanup", "the cloud's load balancer", "check that the cloud controller manager runs"),
    (
        "gateway-exists-finalizer.gateway.networking.k8s.io",
        "the controller of the class, while a Gateway is of it",
        "delete these Gateways; check that the controller runs",
    ),
    ("finalizer.keda.sh", "KEDA", "check that its operator runs"),
    (".envoyproxy.io", "Envoy Gateway", "check that its controller runs"),
    (".istio.io", "Istio", "check that istiod runs"),
    (".gke.io", "GKE", "check the events of the object"),
    (".nvidia.com", "the GPU operator of NVIDIA", "check that it runs"),
)


def finalizer_owner(finalizer: str) -> tuple[str, str]:
    """(who removes a finalizer, what to do where that does not happen)."""
    domain = finalizer.partition("/")[0]
    for name, who, remedy in FINALIZER_OWNERS:
        if name in (finalizer, domain) or (name.startswith(".") and f".{domain}".endswith(name)):
            return who, remedy
    return (f"the controller of {domain}", _CHECK_CONTROLLER) if "." in domain else ("a controller that is not known here", "check the events of the object")


def deletion_verdict(obj: Facts) -> Verdict:
    """The verdict on an object that is being deleted: the finalizers that hold it, and who removes them."""
    finalizers = [text(name) for name in get_path(obj, "metadata", "finalizers") or []] if isinstance(get_path(obj, "metadata", "finalizers"), list) else []
    if text(obj.get("kind")) == "Namespace":
        finalizers += [text(name) for name in get_path(obj, "spec", "finalizers") or []] if isinstance(get_path(obj, "spec", "finalizers"), list) else []
        remaining = [describe(entry) for entry in dicts(get_path(obj, "status", "conditions")) if entry.get("status") == "True"]
        if remaining:
            remedy = "delete the objects that it still contains while their controllers run, or remove their finalizers"
            return Verdict(False, f"being deleted; {'; '.join(remaining)}", remedy)
    owners = {name: finalizer_owner(name) for name in finalizers}
    words = "being deleted" + (f", held by {', '.join(f'finalizer {name} of {who}' for name, (who, _remedy) in owners.items())}" if owners else "")
    return Verdict(False, words, "; ".join(dict.fromkeys(remedy for _who, remedy in owners.values())))


def crd(obj: Facts, context: Context) -> Verdict:
    """Ready once it is established under the names that it requests."""
    names = condition(obj.get("status"), "NamesAccepted")
    if names.get("status") == "False":
        return Verdict(False, describe(names), "another CRD has taken its names: remove one of them", True)
    words = unmet(obj.get("status"), ("Established", "NamesAccepted"), 0)
    return Verdict(False, words) if words else Verdict(True, "established")


def namespace(obj: Facts, context: Context) -> Verdict:
    """Ready in phase Active."""
    phase = text(get_path(obj, "status", "phase"))
    return Verdict(True, "active") if phase == "Active" else Verdict(False, phase or "not yet active")


def node(obj: Facts, context: Context) -> Verdict:
    """Ready, and without the taint of a node that joins, which keeps pods away until some seconds after the condition Ready."""
    joining = "node.kubernetes.io/not-ready"
    verdict = other(obj, context)
    tainted = joining in [text(taint.get("key")) for taint in dicts(get_path(obj, "spec", "taints"))]
    return Verdict(False, f"still tainted {joining}") if verdict.ready and tainted else verdict


def other(obj: Facts, context: Context) -> Verdict:
    """Any other kind: by its observed generation and its Ready or Available condition, if it has them."""
    status, current = mapping(obj.get("status")), generation(obj)
    observed = status.get("observedGeneration")
    if isinstance(observed, int) and number(observed) < current:
        return Verdict(False, "not yet observed by its controller")
    required = REQUIRED_CONDITIONS.get((group_of(obj), text(obj.get("kind"))), ())
    for name in required or READY_CONDITIONS:
        if required or condition(status, name):
            words = unmet(status, (name,), current)
            return Verdict(False, words) if words else Verdict(True, name.lower())
    return Verdict(True, "there")


JUDGES: dict[tuple[str, str], Judge] = {
    ("", "Node"): node,
    ("apps", "Deployment"): workloads.deployment,
    ("apps", "StatefulSet"): workloads.statefulset,
    ("apps", "DaemonSet"): workloads.daemonset,
    ("apps", "ReplicaSet"): workloads.replicaset,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): workloads.leader_worker_set,
    ("batch", "Job"): workloads.job,
    ("", "Pod"): workloads.pod,
    ("", "Service"): workloads.service,
    ("", "PersistentVolumeClaim"): workloads.claim,
    ("", "Namespace"): namespace,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): crd,
    ("nvidia.com", "ClusterPolicy"): operators.cluster_policy,
    ("habanalabs.habana.ai", "ClusterPolicy"): operators.gaudi_policy,
    ("amd.com", "DeviceConfig"): operators.device_config,
    ("operators.coreos.com", "Subscription"): operators.subscription,
    ("operators.coreos.com", "ClusterServiceVersion"): operators.service_version,
    (gateways.GROUP, "GatewayClass"): gateways.gateway_class,
    (gateways.GROUP, "Gateway"): gateways.gateway,
}


def waitable(obj: Facts) -> bool:
    """Whether an object can exist without being ready, so that a task has to wait for it."""
    group, kind = group_of(obj), text(obj.get("kind"))
    if kind in ("Service", "PersistentVolumeClaim") and group == "":
        # A Service of another type is ready once it exists. A claim has no type: some bind only when a pod uses them, so no task waits for any.
        return text(get_path(obj, "spec", "type")) == "LoadBalancer"
    return find_judge(group, kind) is not other or (group, kind) in REQUIRED_CONDITIONS
