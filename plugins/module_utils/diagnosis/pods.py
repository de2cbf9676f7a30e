# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Diagnosis of what runs: the Deployments of the plan, their pods, the logs of those that do not run. Computes only."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.labels import GROUP_LABELS
from ..common.objects import condition, describe, dicts, dig, generation, mapping, number, text
from ..common.text import shorten
from ..k8s.pod_failures import Trouble, containers, doing, last_line, log_trouble, pod_trouble, refused, when
from .catalog import CATALOG
from .finding import CANNOT_RUN, CONTROLLER, MISSING, NOTE, REFUSED, SUSPECT, UNREADY, Finding, finding
from .snapshot import Snapshot, is_ready, name_of, selector_matches

# trouble of a pod that says that it ends, and not why: its log may
BARE = ("crash", "failed")
ACCELERATOR = re.compile(r"^(nvidia\.com/|amd\.com/gpu|gpu\.intel\.com/|habana\.ai/|google\.com/tpu)")
YOUNG = 60  # seconds in which a pod may start without being a finding
PLAIN = ("starting", "unschedulable", "create", "crash", "failed")


def workloads(snap: Snapshot) -> c.Iterator[dict[str, t.Any]]:
    """What runs pods by the plan: {kind, namespace, name, replicas (None: any), part, service}."""
    gateway = snap.plan["gateway"]
    if gateway.get("install") and gateway.get("controller"):
        controller = gateway["controller"]
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
            "namespace": snap.namespace,
            "name": epp["name"],
            "replicas": epp["replicas"],
            "part": "endpoint picker",
            "service": service["name"],
        }
        for server in service.get("servers") or [service["server"]]:
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


def missing(snap: Snapshot) -> c.Iterator[Finding]:
    """What is planned to run pods and is not there, or has fewer replicas than planned."""
    scaled_by = {text(dig(hpa, "spec", "scaleTargetRef", "name")) for hpa in snap.of("HorizontalPodAutoscaler", snap.namespace)}
    for wanted in workloads(snap):
        if not snap.read(wanted["kind"]) and wanted["kind"] not in snap.absent:
            continue
        where, part = f"{wanted['kind']} {wanted['namespace']}/{wanted['name']}", wanted["part"]
        of = f" of {wanted['service']}" if wanted["service"] else ""
        verb = "are" if part.endswith("servers") else "is"
        obj = snap.get(wanted["kind"], wanted["name"], wanted["namespace"])
        controller = part == "gateway controller"
        if obj is None:
            yield finding(
                "controller" if controller else "absent", where, ["not there"], CONTROLLER if controller else MISSING, f"the {part}{of} {verb} missing"
            )
            continue
        have = number(dig(obj, "spec", "replicas"), 1)
        least = wanted["replicas"] if wanted["replicas"] is not None and wanted["name"] not in scaled_by else 1
        if have < min(1, least) or have < least:
            weight = MISSING if have == 0 else SUSPECT
            yield finding(
                "controller" if controller else "scaled",
                where,
                [f"spec.replicas is {have}, planned: {least}"],
                CONTROLLER + 1 if controller and not have else weight,
                f"the {part}{of} {verb} scaled to {have}",
            )


def refusals(snap: Snapshot) -> c.Iterator[Finding]:
    """Workloads whose pods may not be created: quota, security policy, service account."""
    for obj in [*snap.of("Deployment"), *snap.of("ReplicaSet")]:
        failure = condition(obj.get("status"), "ReplicaFailure")
        if failure.get("status") == "True":
            trouble = refused(text(failure.get("message")))
            yield finding(trouble.code, name_of(obj), [trouble.what], REFUSED, remedy=trouble.remedy)


def stale(snap: Snapshot) -> c.Iterator[Finding]:
    """Objects whose controller has not seen their present generation."""
    for obj in [*snap.of("Deployment", snap.namespace), *snap.of("LeaderWorkerSet", snap.namespace)]:
        seen = dig(obj, "status", "observedGeneration")
        if isinstance(seen, int) and seen < generation(obj):
            yield finding("F43", name_of(obj), [f"observedGeneration {seen}, generation {generation(obj)}"], SUSPECT)


def pods(snap: Snapshot) -> c.Iterator[Finding]:
    """Every pod of the namespace, of the controller and of the proxies that is not ready, and why."""
    groups: dict[tuple[str, str, str], list[tuple[dict, Trouble, list[str]]]] = {}
    for pod in snap.of("Pod"):
        if is_ready(pod) or dig(pod, "metadata", "deletionTimestamp") or dig(pod, "status", "phase") == "Succeeded" or not _ours(snap, pod):
            continue
        if dig(pod, "status", "phase") == "Failed" and _replaced(snap, pod):
            continue
        trouble, evidence = why(snap, pod)
        # replicas of one Deployment fail alike: one finding for all of them; and so does all that looks for names when the cluster's DNS is down
        alike = ("", "") if trouble.code == "dns" else (owner(pod), _plain(trouble.what))
        groups.setdefault((trouble.code, *alike), []).append((pod, trouble, evidence))
    for (code, _owner, _what), entries in groups.items():
        pod, trouble, evidence = entries[0]
        names = ", ".join(name_of(other) for other, _trouble, _lines in entries)
        weight = UNREADY if code in PLAIN else CANNOT_RUN
        if code == "starting":
            weight = NOTE if all(snap.age(other) < YOUNG for other, _trouble, _lines in entries) else SUSPECT - 5
        weight += 5 if code == "crash" else 0
        if code == "dns":
            lines = [f"{name_of(other)}: {said.what}" for other, said, _lines in entries[:3]]
            yield finding(code, names, lines, weight, remedy=trouble.remedy)
            continue
        yield finding(code, names, [trouble.what, *evidence], weight, part_of(snap, pod) + ": " + CATALOG[code].title, trouble.remedy)


def _replaced(snap: Snapshot, pod: dict) -> bool:
    """True for what is left of a pod in whose place others have long been ready."""
    obj = snap.get("Deployment", owner(pod), text(dig(pod, "metadata", "namespace")))
    return obj is not None and number(dig(obj, "status", "readyReplicas")) >= number(dig(obj, "spec", "replicas"), 1)


def _plain(what: str) -> str:
    return re.sub(r"[0-9]+|[a-z0-9]{8,10}-[a-z0-9]{5}", "#", what)


def _ours(snap: Snapshot, pod: dict) -> bool:
    namespace = dig(pod, "metadata", "namespace")
    controller = mapping(snap.plan["gateway"].get("controller"))
    return namespace in (snap.namespace, snap.plan["gateway"]["namespace"]) or (bool(controller) and namespace == controller.get("namespace"))


def owner(pod: dict) -> str:
    """The name of what created the pod, without the hash of the template."""
    first = next(iter(dicts(dig(pod, "metadata", "ownerReferences"))), {})
    group = text(dig(pod, "metadata", "labels", f"{GROUP_LABELS}/name"))
    if group:  # of a LeaderWorkerSet, whose StatefulSets are numbered
        return group
    return re.sub(r"-[a-z0-9]{6,10}$", "", text(first.get("name"))) or text(dig(pod, "metadata", "name"))


def part_of(snap: Snapshot, pod: dict) -> str:
    """What a pod is in the stack, in words."""
    for wanted in workloads(snap):
        if wanted["name"] == owner(pod) and wanted["namespace"] == dig(pod, "metadata", "namespace"):
            return wanted["part"] + (f" of {wanted['service']}" if wanted["service"] else "")
    return f"pod of {owner(pod)}"


def why(snap: Snapshot, pod: dict) -> tuple[Trouble, list[str]]:
    """Why a pod is not ready: its status, its log, its events, in this order."""
    trouble, events = pod_trouble(pod), snap.events(pod)
    if trouble is None or trouble.code in BARE:
        for entry in containers(pod):
            log = snap.log(pod, text(entry.get("name")))
            said = log_trouble(log) if not entry.get("ready") else None
            if said:
                return said, [trouble.what] if trouble else []
        probed = _probe(events)
        if probed and (trouble is None or dig_exit(pod) in (137, 143)):
            return probed, [trouble.what] if trouble else []
    if trouble:
        lines = [last_line(snap.log(pod, text(entry.get("name")))) for entry in containers(pod) if not entry.get("ready")]
        return trouble, [f"last line of its log: {line}" for line in lines if line and trouble.code in BARE]
    mounted = [event for event in events if event.get("reason") in ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox")]
    if mounted:
        latest = max(mounted, key=when)
        return _mount(latest), []
    since = text(dig(pod, "status", "startTime")) or "an unknown time"
    return Trouble("starting", f"{doing(pod, events)} (since {since})", "wait, then read its log and its events"), []


def dig_exit(pod: dict) -> object:
    """The exit code of the last run of the first container that ended."""
    codes = [dig(entry, state, "terminated", "exitCode") for entry in containers(pod) for state in ("lastState", "state")]
    return next((code for code in codes if code is not None), None)


def _probe(events: list[dict]) -> Trouble | None:
    failed = [event for event in events if event.get("reason") == "Unhealthy"]
    if not failed:
        return None
    message = shorten(text(max(failed, key=when).get("message")))
    if re.search(r":(19000|8080)\b", message):
        return Trouble("F42", message, "ask the port on which the program serves its health: 9003 for the endpoint picker")
    if message.startswith("Startup probe failed"):
        return Trouble("F19", message, "allow more time to start (the startup probe's failureThreshold), or stage the model before")
    if "unknown service" in message:
        return Trouble("F50", message, "let the probe name the health service that this image serves")
    return Trouble("starting", message, "look at its log: it runs and does not say that it is healthy")


def _mount(event: dict) -> Trouble:
    message = shorten(text(event.get("message")))
    if re.search(r'(secret|configmap) "[^"]+" not found', message):
        return Trouble("F17", message, "create what the message names")
    if event.get("reason") == "FailedCreatePodSandBox":
        return Trouble("starting", message, "look at the cluster's network plugin")
    return Trouble("F20", message, "look at the volume, its claim and its storage class")


def accelerators(snap: Snapshot) -> c.Iterator[Finding]:
    """Simulators that ask for an accelerator: nothing but a mistake."""
    for service in snap.services:
        if service.get("engine") != "simulator":
            continue
        for server in service.get("servers") or [service["server"]]:
            obj = snap.get("Deployment", server["name"])
            for part in dicts(dig(obj, "spec", "template", "spec", "containers")) if obj else []:
                asked = {name for key in ("requests", "limits") for name in mapping(dig(part, "resources", key)) if ACCELERATOR.match(name)}
                if asked:
                    yield finding(
                        "F48",
                        name_of(obj),
                        [f"container {text(part.get('name'))} asks for {', '.join(sorted(asked))}, the engine is the simulator"],
                        CANNOT_RUN + 1,
                    )


def autoscalers(snap: Snapshot) -> c.Iterator[Finding]:
    """Autoscalers that get no numbers, or that fight with whoever applies the replicas."""
    for kind in ("HorizontalPodAutoscaler", "ScaledObject"):
        for obj in snap.of(kind, snap.namespace):
            bad = [
                entry
                for entry in dicts(dig(obj, "status", "conditions"))
                if (entry.get("type") in ("ScalingActive", "AbleToScale", "Ready") and entry.get("status") == "False")
                or (entry.get("type") == "Fallback" and entry.get("status") == "True")
            ]
            if bad and not (len(bad) == 1 and bad[0].get("reason") == "ScalingDisabled"):
                yield finding("F38", name_of(obj), [describe(entry) for entry in bad], SUSPECT)
            target = snap.get("Deployment", text(dig(obj, "spec", "scaleTargetRef", "name")))
            owners = replica_owners(target) if target else []
            if len(owners) > 1:
                yield finding("F39", name_of(target or obj), [f"spec.replicas is owned by {', '.join(owners)}"], NOTE)


def replica_owners(obj: dict) -> list[str]:
    """Managers that own spec.replicas of an object."""
    entries = dicts(dig(obj, "metadata", "managedFields"))
    return sorted({text(entry.get("manager")) for entry in entries if dig(entry, "fieldsV1", "f:spec", "f:replicas") is not None})


def controllers(snap: Snapshot) -> c.Iterator[Finding]:
    """The gateway's controller is there and has no ready replica."""
    for wanted in workloads(snap):
        obj = snap.get("Deployment", wanted["name"], wanted["namespace"])
        if wanted["part"] != "gateway controller" or obj is None or not number(dig(obj, "spec", "replicas"), 1):
            continue
        if not dig(obj, "status", "readyReplicas"):
            mine = [pod for pod in snap.of("Pod", wanted["namespace"]) if selector_matches(mapping(dig(obj, "spec", "selector")), pod)]
            yield finding("controller", name_of(obj), ["no ready replica", *(why(snap, pod)[0].what for pod in mine[:1])], CONTROLLER)


RULES = (missing, refusals, controllers, pods, accelerators, autoscalers, stale)
