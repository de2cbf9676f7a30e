# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a snapshot that a stack creates or uses: by its plan, by labels, owner, selector or reference. Objects of others are not checked. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.labels import GROUP_LABELS
from ..common.objects import Facts, dicts, get_path, mapping, text
from .snapshot import Snapshot, selector_matches, selects
from .strangers import is_ours, labelled, place, proxies_of

Key = tuple[str, str, str]  # kind, namespace, name


def workloads(snap: Snapshot) -> c.Iterator[dict[str, t.Any]]:
    """The workloads of the plan: {kind, namespace, name, replicas (None: any number), part, service}."""
    gateway = snap.plan["gateway"]
    for controller in gateway["controllers"] if gateway.get("install") else ():
        yield {
            "kind": "Deployment",
            "namespace": controller["namespace"],
            "name": controller["name"],
            "replicas": None,
            "part": "gateway controller",
            "service": "",
        }
    for service in snap.services:
        epp = service["scheduler"]
        yield {
            "kind": "Deployment",
            "namespace": snap.picker_namespace,
            "name": epp["name"],
            "replicas": epp["replicas"],
            "part": "endpoint picker",
            "service": service["name"],
        }
        for server in service["servers"]:
            role = f"{server.get('role') or 'model'} servers"
            count = None if server.get("autoscaling") else server["replicas"]
            yield {
                "kind": server.get("kind") or "Deployment",
                "namespace": snap.namespace,
                "name": server["name"],
                "replicas": count,
                "part": role,
                "service": service["name"],
            }


def owner(pod: Facts) -> str:
    """The name of the workload that owns the pod, without the hash of the template."""
    first = next(iter(dicts(get_path(pod, "metadata", "ownerReferences"))), {})
    group = text(get_path(pod, "metadata", "labels", f"{GROUP_LABELS}/name"))
    if group:  # of a LeaderWorkerSet, which creates numbered StatefulSets
        return group
    return re.sub(r"-[a-z0-9]{6,10}$", "", text(first.get("name"))) or text(get_path(pod, "metadata", "name"))


def owners(snap: Snapshot) -> list[Facts]:
    """The Deployments and ReplicaSets that the plan names, that have its labels, or that are of the gateway's controllers."""
    named = {(wanted["kind"], wanted["namespace"], wanted["name"]) for wanted in workloads(snap)} | _controllers(snap)
    mine = [obj for obj in snap.of("Deployment") if ("Deployment", *place(obj)) in named or is_ours(snap, obj)]
    known = {("Deployment", *place(obj)) for obj in mine}
    return mine + [obj for obj in snap.of("ReplicaSet") if labelled(snap, obj) or _owned_by(obj) & known]


def pods(snap: Snapshot) -> list[Facts]:
    """The pods of the stack: those of its workloads, with its labels, that its pools and Services select, of its proxies, and of its controllers."""
    named = {(wanted["namespace"], wanted["name"]) for wanted in workloads(snap)}
    chosen, proxies = _selectors(snap), {id(pod) for pod in proxies_of(snap)}
    controllers = [
        (namespace, mapping(get_path(obj, "spec", "selector")))
        for _kind, namespace, name in _controllers(snap)
        if (obj := snap.get("Deployment", name, namespace)) is not None
    ]
    return [
        pod
        for pod in snap.of("Pod")
        if labelled(snap, pod)
        or (place(pod)[0], owner(pod)) in named
        or id(pod) in proxies
        or any(selects(labels, pod) for pair in mapping(get_path(pod, "metadata", "labels")).items() for labels in chosen.get((place(pod)[0], *pair), ()))
        or any(place(pod)[0] == namespace and selector_matches(selector, pod) for namespace, selector in controllers)
    ]


def claims(snap: Snapshot) -> set[tuple[str, str]]:
    """(namespace, name) of each PersistentVolumeClaim that our pods, or the templates of our workloads, refer to."""
    specs = [(place(pod)[0], pod.get("spec")) for pod in pods(snap)]
    specs += [(place(obj)[0], get_path(obj, "spec", "template", "spec")) for obj in owners(snap)]
    for obj in snap.of("LeaderWorkerSet", snap.namespace):
        group = mapping(get_path(obj, "spec", "leaderWorkerTemplate"))
        specs += [(place(obj)[0], get_path(group, part, "spec")) for part in ("leaderTemplate", "workerTemplate")]
    return {
        (namespace, text(get_path(volume, "persistentVolumeClaim", "claimName")))
        for namespace, spec in specs
        for volume in dicts(get_path(spec, "volumes"))
        if get_path(volume, "persistentVolumeClaim", "claimName")
    }


def elsewhere(snap: Snapshot) -> set[str]:
    """The namespaces of others that our routes lead to."""
    names = {(each["namespace"], each["name"]) for service in snap.services for each in service["routes"]}
    refs = [
        (place(obj)[0], text(ref.get("namespace")))
        for obj in snap.of("HTTPRoute")
        if place(obj) in names
        for rule in dicts(get_path(obj, "spec", "rules"))
        for ref in dicts(rule.get("backendRefs"))
    ]
    return {other for home, other in refs if other and other != home}


def _controllers(snap: Snapshot) -> set[Key]:
    return {(each["kind"], each["namespace"], each["name"]) for each in snap.plan["gateway"]["controllers"]}


def _selectors(snap: Snapshot) -> dict[tuple[str, str, object], list[c.Mapping[str, str]]]:
    """The labels by which our pools and Services select pods, by (namespace, name, value) of one label: an index, since there may be thousands of pods."""
    selectors: dict[tuple[str, str, object], list[c.Mapping[str, str]]] = {}
    for service in snap.services:
        here = [(snap.namespace, service["pool"]["selector"]), (snap.picker_namespace, service["scheduler"]["selector"])]
        for namespace, labels in [*here, *((snap.namespace, stage["selector"]) for stage in service["stages"])]:
            if labels:
                selectors.setdefault((namespace, *max(labels.items(), key=lambda pair: len(pair[1]))), []).append(labels)
    return selectors


def _owned_by(obj: Facts) -> set[Key]:
    namespace = place(obj)[0]
    return {(text(entry.get("kind")), namespace, text(entry.get("name"))) for entry in dicts(get_path(obj, "metadata", "ownerReferences"))}
