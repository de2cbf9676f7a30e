# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about workloads: the Deployments of the plan, their pods, and the logs of pods that are not ready. Pure."""

from __future__ import annotations

import collections.abc as c
import re

from ..common.objects import Facts, condition, describe, dicts, generation, get_path, mapping, number, text
from ..common.text import shorten
from ..k8s.last_words import last_words
from ..k8s.node_failures import Failure, event_time, set_up_event, set_up_failure
from ..k8s.pod_failures import containers, creation_failure, last_line, log_failure, pod_activity, pod_failure
from . import ours
from .catalog import CATALOG
from .finding import CANNOT_RUN, CONTROLLER, MISSING, NOTE, REFUSED, SUSPECT, UNREADY, Finding, finding
from .ours import owner, workloads
from .snapshot import Snapshot, is_ready, name_of, selector_matches

# Failures that state that a container ended, without the reason; its log may contain it.
BARE = ("crash", "failed")
ACCELERATOR = re.compile(r"^(nvidia\.com/|amd\.com/gpu|gpu\.intel\.com/|habana\.ai/|google\.com/tpu)")
YOUNG = 60  # seconds; a younger pod that is starting is only a note
# Failures without a known cause, which weigh less.
PLAIN = ("starting", "unschedulable", "create", "crash", "failed")


def missing(snap: Snapshot) -> c.Iterator[Finding]:
    """Workloads of the plan that are missing, or have fewer replicas than planned."""
    scaled_by = {text(get_path(hpa, "spec", "scaleTargetRef", "name")) for hpa in snap.of("HorizontalPodAutoscaler", snap.namespace)}
    for wanted in workloads(snap):
        if not snap.read(wanted["kind"], wanted["namespace"]) and wanted["kind"] not in snap.absent:
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
        have = number(get_path(obj, "spec", "replicas"), 1)
        minimum = wanted["replicas"] if wanted["replicas"] is not None and wanted["name"] not in scaled_by else 1
        if have < min(1, minimum) or have < minimum:
            weight = MISSING if have == 0 else SUSPECT
            yield finding(
                "controller" if controller else "scaled",
                where,
                [f"spec.replicas is {have}, planned: {minimum}"],
                CONTROLLER + 1 if controller and not have else weight,
                f"the {part}{of} {verb} scaled to {have}",
            )


def refusals(snap: Snapshot) -> c.Iterator[Finding]:
    """Workloads whose pods cannot be created: quota, security policy, service account."""
    for obj in ours.owners(snap):
        failure = condition(obj.get("status"), "ReplicaFailure")
        if failure.get("status") == "True":
            known = creation_failure(text(failure.get("message")))
            yield finding(known.code, name_of(obj), [known.what], REFUSED, remedy=known.remedy)


def stale(snap: Snapshot) -> c.Iterator[Finding]:
    """Objects whose controller has not observed their current generation."""
    for obj in [*ours.owners(snap), *snap.of("LeaderWorkerSet", snap.namespace)]:
        observed = get_path(obj, "status", "observedGeneration")
        if isinstance(observed, int) and observed < generation(obj):
            yield finding("F43", name_of(obj), [f"observedGeneration {observed}, generation {generation(obj)}"], SUSPECT)


def pods(snap: Snapshot) -> c.Iterator[Finding]:
    """Pods of ours, of the controller and the proxies that are not ready, with the cause."""
    groups: dict[tuple[str, str, str], list[tuple[Facts, Failure, list[str]]]] = {}
    for pod in ours.pods(snap):
        if is_ready(pod) or get_path(pod, "metadata", "deletionTimestamp") or get_path(pod, "status", "phase") == "Succeeded":
            continue
        if get_path(pod, "status", "phase") == "Failed" and _replaced(snap, pod):
            continue
        failure, evidence = why(snap, pod)
        # One finding for all replicas of a Deployment with the same failure, and one for all pods that fail on DNS.
        group = ("", "") if failure.code == "dns" else (owner(pod), _plain(failure.what))
        groups.setdefault((failure.code, *group), []).append((pod, failure, evidence))
    for (code, _owner, _what), entries in groups.items():
        pod, failure, evidence = entries[0]
        names = ", ".join(name_of(other) for other, _failure, _lines in entries)
        weight = UNREADY if code in PLAIN else CANNOT_RUN
        if code == "starting":
            weight = NOTE if all(snap.age(other) < YOUNG for other, _failure, _lines in entries) else SUSPECT - 5
        weight += 5 if code == "crash" else 0
        if code == "dns":
            lines = [f"{name_of(other)}: {cause.what}" for other, cause, _lines in entries[:3]]
            yield finding(code, names, lines, weight, remedy=failure.remedy)
            continue
        yield finding(code, names, [failure.what, *evidence], weight, part_of(snap, pod) + ": " + CATALOG[code].title, failure.remedy)


def _replaced(snap: Snapshot, pod: Facts) -> bool:
    """True for a failed pod whose Deployment has all its replicas ready."""
    obj = snap.get("Deployment", owner(pod), text(get_path(pod, "metadata", "namespace")))
    return obj is not None and number(get_path(obj, "status", "readyReplicas")) >= number(get_path(obj, "spec", "replicas"), 1)


def _plain(what: str) -> str:
    return re.sub(r"[0-9]+|[a-z0-9]{8,10}-[a-z0-9]{5}", "#", what)


def part_of(snap: Snapshot, pod: Facts) -> str:
    """The part of the stack that a pod belongs to, such as `endpoint picker of llama`."""
    for wanted in workloads(snap):
        if wanted["name"] == owner(pod) and wanted["namespace"] == get_path(pod, "metadata", "namespace"):
            return text(wanted["part"]) + (f" of {wanted['service']}" if wanted["service"] else "")
    return f"pod of {owner(pod)}"


def why(snap: Snapshot, pod: Facts) -> tuple[Failure, list[str]]:
    """(failure, further evidence) of a pod that is not ready: from its status, its log, then its events."""
    failure, events = pod_failure(pod), snap.events(pod)
    if failure is None or failure.code in BARE:
        for entry in containers(pod):
            log = snap.log(pod, text(entry.get("name")))
            logged = log_failure(log) if not entry.get("ready") else None
            # A running program has survived an unknown exception, or has not ended yet.
            if logged and (logged.code != "exception" or _ended(entry)):
                return logged, [failure.what] if failure else []
        probed = _probe(events)
        if probed and (failure is None or last_exit_code(pod) in (137, 143)):
            return probed, [failure.what] if failure else []
    if failure:
        logs = [snap.log(pod, text(entry.get("name"))) for entry in containers(pod) if not entry.get("ready") and failure.code in BARE]
        last = [(last_words(log), last_line(log)) for log in logs]
        return failure, [f"its last error: {words}" if words else f"last line of its log: {line}" for words, line in last if line]
    unready = set_up_event(events)
    if unready:
        return set_up_failure(text(unready.get("reason")), text(unready.get("message"))), []
    since = text(get_path(pod, "status", "startTime")) or "an unknown time"
    raised = [log_failure(snap.log(pod, text(entry.get("name")))) for entry in containers(pod) if not entry.get("ready")]
    return Failure("starting", f"{pod_activity(pod, events)} (since {since})", "wait, then read its log and its events"), [
        f"its log: {one.what}" for one in raised if one
    ]


def _ended(entry: Facts) -> bool:
    return any(get_path(entry, state, "terminated") for state in ("lastState", "state"))


def last_exit_code(pod: Facts) -> object:
    """The exit code of the last run of the first container that ended."""
    codes = [get_path(entry, state, "terminated", "exitCode") for entry in containers(pod) for state in ("lastState", "state")]
    return next((code for code in codes if code is not None), None)


def _probe(events: list[Facts]) -> Failure | None:
    failed = [event for event in events if event.get("reason") == "Unhealthy"]
    if not failed:
        return None
    message = shorten(text(max(failed, key=event_time).get("message")))
    if re.search(r":(19000|8080)\b", message):
        return Failure("F42", message, "probe the port on which the program serves its health: 9003 for the endpoint picker")
    if message.startswith("Startup probe failed"):
        return Failure("F19", message, "allow more time to start (the startup probe's failureThreshold), or stage the model first")
    if "unknown service" in message:
        return Failure("F50", message, "set the probe to the health service that this image serves")
    return Failure("starting", message, "read its log: it runs but its probe fails")


def accelerators(snap: Snapshot) -> c.Iterator[Finding]:
    """Simulators that request an accelerator, which they do not use."""
    for service in snap.services:
        if service.get("engine") != "simulator":
            continue
        for server in service["servers"]:
            obj = snap.get("Deployment", server["name"])
            if obj is None:
                continue
            for part in dicts(get_path(obj, "spec", "template", "spec", "containers")):
                requested = {name for key in ("requests", "limits") for name in mapping(get_path(part, "resources", key)) if ACCELERATOR.match(name)}
                if requested:
                    yield finding(
                        "F48",
                        name_of(obj),
                        [f"container {text(part.get('name'))} requests {', '.join(sorted(requested))}, the engine is the simulator"],
                        CANNOT_RUN + 1,
                    )


def autoscalers(snap: Snapshot) -> c.Iterator[Finding]:
    """Autoscalers of our workloads without metrics, and targets whose spec.replicas has several field managers."""
    known = {wanted["name"] for wanted in workloads(snap)}
    for kind in ("HorizontalPodAutoscaler", "ScaledObject"):
        for obj in [each for each in snap.of(kind, snap.namespace) if get_path(each, "spec", "scaleTargetRef", "name") in known]:
            failed = [
                entry
                for entry in dicts(get_path(obj, "status", "conditions"))
                if (entry.get("type") in ("ScalingActive", "AbleToScale", "Ready") and entry.get("status") == "False")
                or (entry.get("type") == "Fallback" and entry.get("status") == "True")
            ]
            if failed and not (len(failed) == 1 and failed[0].get("reason") == "ScalingDisabled"):
                yield finding("F38", name_of(obj), [describe(entry) for entry in failed], SUSPECT)
            target = snap.get("Deployment", text(get_path(obj, "spec", "scaleTargetRef", "name")))
            owners = replica_owners(target) if target else []
            if len(owners) > 1:
                yield finding("F39", name_of(target or obj), [f"spec.replicas is owned by {', '.join(owners)}"], NOTE)


def replica_owners(obj: Facts) -> list[str]:
    """Field managers that own spec.replicas of an object."""
    entries = dicts(get_path(obj, "metadata", "managedFields"))
    return sorted({text(entry.get("manager")) for entry in entries if get_path(entry, "fieldsV1", "f:spec", "f:replicas") is not None})


def controllers(snap: Snapshot) -> c.Iterator[Finding]:
    """Controllers of the gateway that exist and have no ready replica."""
    for wanted in workloads(snap):
        obj = snap.get("Deployment", wanted["name"], wanted["namespace"])
        if wanted["part"] != "gateway controller" or obj is None or not number(get_path(obj, "spec", "replicas"), 1):
            continue
        if not get_path(obj, "status", "readyReplicas"):
            mine = [pod for pod in snap.of("Pod", wanted["namespace"]) if selector_matches(mapping(get_path(obj, "spec", "selector")), pod)]
            yield finding("controller", name_of(obj), ["no ready replica", *(why(snap, pod)[0].what for pod in mine[:1])], CONTROLLER)


RULES = (missing, refusals, controllers, pods, accelerators, autoscalers, stale)
