# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about the cluster under a stack: permissions, namespaces, nodes, CRDs, DNS, Helm, storage. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import Facts, api_group, condition, describe, dicts, get_path, mapping, text
from ..common.text import shorten
from ..k8s.node_failures import event_time
from ..k8s.pod_failures import refusal_failure
from ..k8s.readiness.judge import finalizer_owner
from . import ours
from .finding import BASE, CANNOT_RUN, CONTROLLER, MISSING, NOTE, SUSPECT, UNREADY, Finding, finding
from .snapshot import Snapshot, is_ready, name_of
from .strangers import is_ours, place
from .wanted import helm_releases

# A variable of the device plugin of NVIDIA's operator. https://github.com/NVIDIA/gpu-operator/releases/tag/v26.7.0
STRATEGY = "DEVICE_LIST_STRATEGY"
DNS_LABELS = ("kube-dns", "coredns")
# Without these kinds a stack cannot be diagnosed.
BASIC = ("Pod", "Service", "Deployment", "ReplicaSet", "InferencePool", "HTTPRoute", "Gateway")
# Names in a quota that count every pod.
POD_QUOTAS = ("pods", "count/pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


def permissions(snap: Snapshot) -> c.Iterator[Finding]:
    """Objects in the namespaces of the stack that this account has no permission to read. Elsewhere they are not a finding: they are not part of the stack."""
    gateway = snap.plan["gateway"]
    places = {*snap.homes, gateway["namespace"], gateway["routes_namespace"]}
    refused = [entry for entry in snap.unread if entry.get("status") == 403 and entry.get("place", snap.namespace) in places]
    if refused:
        yield finding(
            "permissions",
            ", ".join(entry["what"] for entry in refused),
            [entry["message"] for entry in refused[:2]],
            SUSPECT if any(entry.get("kind") in BASIC and entry["place"] in snap.homes for entry in refused) else NOTE,
            "this account has no permission to read all objects of the stack, so causes may be missing here",
        )
    for entry in snap.unread:
        failure = refusal_failure(entry["message"]) if entry.get("status") != 403 else None
        if failure:
            yield finding(failure.code, entry["what"], [entry["message"]], SUSPECT, remedy=failure.remedy)


def namespaces(snap: Snapshot) -> c.Iterator[Finding]:
    """Namespaces of the plan that are missing or being deleted."""
    present = {text(get_path(obj, "metadata", "name")): obj for obj in snap.of("Namespace")}
    for name in dict.fromkeys([*(entry["name"] for entry in snap.plan["prerequisites"]["namespaces"]), *snap.homes]):
        obj = present.get(name)
        if obj is None and snap.read("Namespace", name):
            yield finding("namespace", f"Namespace {name}", ["the API server answers 404"], BASE)
        elif get_path(obj, "metadata", "deletionTimestamp") or get_path(obj, "status", "phase") == "Terminating":
            held = [describe(item) for item in dicts(get_path(obj, "status", "conditions")) if item.get("status") == "True"]
            yield finding("F45", f"Namespace {name}", held or ["phase Terminating"], BASE, "the namespace is being deleted and does not terminate")


def crds(snap: Snapshot) -> c.Iterator[Finding]:
    """CRDs of the plan that are missing, not established, being deleted, or without the version that is used."""
    if not snap.crds and not snap.absent:
        return
    missing = [entry["probe"] for entry in snap.plan["prerequisites"]["crds"] if snap.crds.get(entry["probe"], {}) is None]
    if missing:
        yield finding("F1", "CustomResourceDefinition " + ", ".join(missing), ["not there"], BASE, f"CRDs are missing: {', '.join(missing)}")
    for name, facts in snap.crds.items():
        if facts is None:
            continue
        where = f"CustomResourceDefinition {name}"
        if facts.get("deleting"):
            yield finding("F31", where, ["it has a deletionTimestamp"], BASE)
        elif not facts.get("established", True):
            yield finding("F1", where, ["Established is not True"], BASE, "a CRD is not established")
    wanted = {(api_group(service["pool"]["api_version"]), service["pool"]["api_version"].rpartition("/")[2]) for service in snap.services}
    for group, version in sorted(wanted):
        pool = snap.crds.get(f"inferencepools.{group}")
        if pool and version not in pool["served"]:
            yield finding(
                "F2",
                f"CustomResourceDefinition inferencepools.{group}",
                [f"your release reads {group}/{version}, the CRD serves {', '.join(pool['served']) or 'nothing'}"],
                BASE,
            )


def nodes(snap: Snapshot) -> c.Iterator[Finding]:
    """Nodes of our pods that are not ready, under pressure, or whose change of MIG slices failed; all nodes while a pod of ours is not scheduled."""
    used = {text(get_path(pod, "spec", "nodeName")) for pod in ours.pods(snap)} or {""}
    all_nodes = snap.of("Node")
    for node in all_nodes:
        if "" not in used and get_path(node, "metadata", "name") not in used:
            continue
        ready = condition(node.get("status"), "Ready")
        if ready and ready.get("status") != "True":
            yield finding("node", name_of(node), [describe(ready)], CONTROLLER if len(all_nodes) == 1 else UNREADY)
        for pressure in ("DiskPressure", "MemoryPressure", "PIDPressure"):
            entry = condition(node.get("status"), pressure)
            if entry.get("status") == "True":
                yield finding("F20" if pressure == "DiskPressure" else "node", name_of(node), [describe(entry)], CANNOT_RUN, f"the node has {pressure}")
        if mapping(get_path(node, "metadata", "labels")).get("nvidia.com/mig.config.state") == "failed":
            yield finding("F36", name_of(node), ["label nvidia.com/mig.config.state=failed"], UNREADY)


def dns(snap: Snapshot) -> c.Iterator[Finding]:
    """The cluster's DNS, where it runs as a Deployment. `pods.pods` also finds DNS failures in the logs of other pods."""
    for deployment in snap.of("Deployment", "kube-system"):
        labels = mapping(get_path(deployment, "metadata", "labels"))
        if labels.get("k8s-app") not in DNS_LABELS and get_path(deployment, "metadata", "name") not in DNS_LABELS:
            continue
        if not get_path(deployment, "status", "readyReplicas"):
            pods = [pod for pod in snap.of("Pod", "kube-system") if mapping(get_path(pod, "metadata", "labels")).get("k8s-app") in DNS_LABELS]
            states = [f"{name_of(pod)}: {text(get_path(pod, 'status', 'phase'))}" for pod in pods if not is_ready(pod)]
            yield finding("dns", name_of(deployment), [f"0 of {text(get_path(deployment, 'spec', 'replicas'))} replicas ready", *states], CONTROLLER)


def operators(snap: Snapshot) -> c.Iterator[Finding]:
    """Operators that the stack depends on: OpenShift's ingress operator, NVIDIA's GPU operator."""
    for operator in snap.of("ClusterOperator"):
        degraded = condition(operator.get("status"), "Degraded")
        if get_path(operator, "metadata", "name") == "ingress" and degraded.get("status") == "True":
            yield finding("F33", name_of(operator), [describe(degraded)], CONTROLLER)
    for policy in snap.of("ClusterPolicy"):
        state = text(get_path(policy, "status", "state"))
        if state and state != "ready":
            lines = [describe(entry) for entry in dicts(get_path(policy, "status", "conditions")) if entry.get("reason") not in (None, "Reconciled", "Ready")]
            variables = [entry.get("name") for entry in dicts(get_path(policy, "spec", "devicePlugin", "env"))]
            if STRATEGY in variables and get_path(policy, "spec", "cdi", "enabled") is not False:
                lines.append(f"spec.devicePlugin.env has {STRATEGY}, which fails with CDI since GPU operator 26.7: take it out")
            yield finding("F15", name_of(policy), [f"state {state}", *lines], UNREADY)


def helm(snap: Snapshot) -> c.Iterator[Finding]:
    """Helm releases of the plan that an interrupted run left in a pending status."""
    known = helm_releases(snap.plan)
    for secret in snap.of("Secret"):
        labels = mapping(get_path(secret, "metadata", "labels"))
        planned = (place(secret)[0], labels.get("name")) in known
        if labels.get("owner") == "helm" and planned and text(labels.get("status")).startswith("pending"):
            yield finding("F44", name_of(secret), [f"release {text(labels.get('name'))} has the status {text(labels.get('status'))}"], SUSPECT)


def storage(snap: Snapshot) -> c.Iterator[Finding]:
    """PersistentVolumeClaims of our pods that are not bound, unless they wait for their first pod."""
    used = ours.claims(snap)
    for claim in [each for each in snap.of("PersistentVolumeClaim") if place(each) in used]:
        phase = text(get_path(claim, "status", "phase"))
        events = [event for event in snap.events(claim) if event.get("reason") not in ("WaitForFirstConsumer", "Provisioning", "ExternalProvisioning")]
        failures = [event for event in events if event.get("type") == "Warning" or event.get("reason") in ("FailedBinding", "ProvisioningFailed")]
        if phase == "Lost" or (phase == "Pending" and failures):
            lines = [f"{text(event.get('reason'))}: {shorten(text(event.get('message')))}" for event in sorted(failures, key=event_time)[-2:]]
            yield finding("F20", name_of(claim), [f"phase {phase}", *lines], CANNOT_RUN, "a volume claim is not bound")


def monitoring(snap: Snapshot) -> c.Iterator[Finding]:
    """Endpoint pickers with unreadable metrics."""
    for service, page in snap.metrics.items():
        if page.get("status") in (401, 403):
            yield finding("F40", f"endpoint picker of {service}", [f"GET /metrics: {page['status']}"], NOTE, "the picker's metrics cannot be read")


def quotas(snap: Snapshot) -> c.Iterator[Finding]:
    """Quotas that count pods of ours and are used up."""
    specs = [(place(pod)[0], mapping(pod.get("spec"))) for pod in ours.pods(snap)]
    specs += [(place(obj)[0], mapping(get_path(obj, "spec", "template", "spec"))) for obj in ours.owners(snap)]
    for quota in [obj for home in snap.homes for obj in snap.of("ResourceQuota", home)]:
        counted = [spec for home, spec in specs if home == place(quota)[0] and _in_scope(quota, spec)]
        hard, used = mapping(get_path(quota, "status", "hard")), mapping(get_path(quota, "status", "used"))
        counts = {*POD_QUOTAS, *(f"requests.{name}" for spec in counted for name in _requests(spec))}
        full = [
            f"{name}: {used[name]} of {limit} used"
            for name, limit in hard.items()
            if name in counts and text(used.get(name)) == text(limit) and text(limit) != "0"
        ]
        if counted and full:
            yield finding("quota", name_of(quota), full, NOTE, "a quota is used up to its limit, so no more pods can be created")


def _in_scope(quota: Facts, spec: Facts) -> bool:
    """Whether a quota counts pods of this spec."""
    scopes = [{"scopeName": scope, "operator": "Exists"} for scope in get_path(quota, "spec", "scopes") or []]
    return all(_matches(entry, spec) for entry in (*scopes, *dicts(get_path(quota, "spec", "scopeSelector", "matchExpressions"))))


def _matches(entry: c.Mapping[str, t.Any], spec: Facts) -> bool:
    terminating, name, values = spec.get("activeDeadlineSeconds") is not None, spec.get("priorityClassName"), entry.get("values") or []
    if entry.get("scopeName") == "PriorityClass":
        held = {"In": name in values, "NotIn": name not in values, "Exists": bool(name), "DoesNotExist": not name}
        return held.get(text(entry.get("operator")), False)
    best_effort = not _requests(spec)
    scopes = {"Terminating": terminating, "NotTerminating": not terminating, "BestEffort": best_effort, "NotBestEffort": not best_effort}
    return scopes.get(text(entry.get("scopeName")), False)


def _requests(spec: Facts) -> set[str]:
    """The resources that the containers of a pod request or are limited in."""
    parts = [*dicts(spec.get("containers")), *dicts(spec.get("initContainers"))]
    return {name for part in parts for key in ("requests", "limits") for name in mapping(get_path(part, "resources", key))}


def terminating_objects(snap: Snapshot) -> c.Iterator[Finding]:
    """Objects of the plan that are being deleted, with their finalizers."""
    for kind in ("Gateway", "GatewayClass", "HTTPRoute", "InferencePool"):
        for obj in snap.of(kind):
            if get_path(obj, "metadata", "deletionTimestamp") and is_ours(snap, obj):
                held = {text(name): finalizer_owner(text(name)) for name in get_path(obj, "metadata", "finalizers") or []}
                yield finding(
                    "F45",
                    name_of(obj),
                    [
                        f"deletionTimestamp {text(get_path(obj, 'metadata', 'deletionTimestamp'))}",
                        *(f"{name} of {who}" for name, (who, _remedy) in held.items()),
                    ],
                    MISSING,
                    "an object of the plan is being deleted",
                    "; ".join(dict.fromkeys([*(remedy for _who, remedy in held.values()), "then run playbooks/site.yml"])),
                )


RULES = (permissions, namespaces, crds, nodes, dns, operators, helm, storage, monitoring, quotas, terminating_objects)
