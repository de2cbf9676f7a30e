# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness of workloads, Services and claims. Pure. See readiness.judge."""

from __future__ import annotations

from ...common.objects import Context, Facts, Verdict, condition, dicts, generation, get_path, mapping, number, text, unmet
from ...common.text import shorten
from ..autoscaler_events import reported
from ..pod_failures import creation_failure, pod_activity, pod_failure, unreplaced


def deployment(obj: Facts, context: Context) -> Verdict:
    """Observed, every replica updated and available, none of an older revision left."""
    status, want = mapping(obj.get("status")), number(get_path(obj, "spec", "replicas"), 1)
    updated, available = number(status.get("updatedReplicas")), number(status.get("availableReplicas"))
    if get_path(obj, "spec", "paused") is True and updated < want:
        return Verdict(False, "its rollout is paused", "resume it (kubectl rollout resume)")
    return _replicas(obj, context, want, min(updated, available), number(status.get("replicas")) - updated)


def statefulset(obj: Facts, context: Context) -> Verdict:
    """Observed, every replica ready, and of the current revision unless its update strategy keeps old ones."""
    status, want = mapping(obj.get("status")), number(get_path(obj, "spec", "replicas"), 1)
    ready, updated = number(status.get("readyReplicas")), number(status.get("updatedReplicas"))
    strategy = mapping(get_path(obj, "spec", "updateStrategy"))
    partition = number(get_path(strategy, "rollingUpdate", "partition"))
    if strategy.get("type") == "OnDelete" or status.get("currentRevision") == status.get("updateRevision"):
        return _replicas(obj, context, want, ready, max(0, number(status.get("replicas")) - want))
    return _replicas(obj, context, want, ready, max(0, want - partition - updated))


def daemonset(obj: Facts, context: Context) -> Verdict:
    """Observed, updated and available on every node where it is scheduled."""
    status = mapping(obj.get("status"))
    want = number(status.get("desiredNumberScheduled"))
    done = number(status.get("numberAvailable"))
    if get_path(obj, "spec", "updateStrategy", "type") != "OnDelete":
        done = min(done, number(status.get("updatedNumberScheduled")))
    return _replicas(obj, context, want, done, number(status.get("numberMisscheduled")))


def replicaset(obj: Facts, context: Context) -> Verdict:
    """Observed and every replica available."""
    status, want = mapping(obj.get("status")), number(get_path(obj, "spec", "replicas"), 1)
    return _replicas(obj, context, want, number(status.get("availableReplicas")), number(status.get("replicas")) - want)


def leader_worker_set(obj: Facts, context: Context) -> Verdict:
    """Observed, every group of the current revision and ready, which it is with its leader and all of its workers."""
    status, want = mapping(obj.get("status")), number(get_path(obj, "spec", "replicas"), 1)
    ready, updated = number(status.get("readyReplicas")), number(status.get("updatedReplicas"))
    verdict = _replicas(obj, context, want, min(ready, updated), number(status.get("replicas")) - updated)
    # readyReplicas and updatedReplicas may count different groups; only the condition counts groups that are both. Its message when False is no reason.
    if verdict.ready and unmet(status, ("Available",), generation(obj)):
        return Verdict(False, f"{verdict.reason}, others being replaced")
    return verdict


def _replicas(obj: Facts, context: Context, want: int, done: int, old: int) -> Verdict:
    if number(get_path(obj, "status", "observedGeneration")) < generation(obj):
        return Verdict(False, "not yet observed by its controller", "check that the controller manager runs")
    if done >= want and old <= 0:
        return Verdict(True, f"{done}/{want} ready")
    if done >= want:
        # An old pod can be the one that is available, while a new one cannot run.
        return _pods(f"{done}/{want} ready, {old} old still there", context)
    count = f"{done}/{want} ready"
    failure = condition(obj.get("status"), "ReplicaFailure")
    if failure.get("status") == "True":
        reason = creation_failure(text(failure.get("message")))
        return Verdict(False, f"{count} ({reason.what})", reason.remedy, reason.terminal and not (context.leaving and reason.code == "quota"))
    return _pods(count, context)


def _pods(count: str, context: Context) -> Verdict:
    """Not ready, with the worst failure of the pods, else what the first unready pod does."""
    waiting = [pod for pod in unreplaced(context.pods) if condition(mapping(pod).get("status"), "Ready").get("status") != "True"]
    failures = [failure for failure in (pod_failure(pod, context.restarts, context.again) for pod in waiting) if failure]
    if failures:
        worst = max(failures, key=lambda failure: failure.terminal)
        unscheduled = condition(mapping(waiting[0]).get("status"), "PodScheduled").get("status") == "False"
        report = f"; {words}" if unscheduled and (words := reported(context.events)) else ""
        return Verdict(False, f"{count} ({worst.what}{report})", worst.remedy, worst.terminal)
    if waiting:
        return Verdict(False, f"{count} ({pod_activity(waiting[0], context.events)})")
    return Verdict(False, count)


def job(obj: Facts, context: Context) -> Verdict:
    """Complete; a failed job stays failed."""
    status = mapping(obj.get("status"))
    if condition(status, "Complete").get("status") == "True":
        return Verdict(True, "complete")
    for name in ("Failed", "FailureTarget"):
        failed = condition(status, name)
        if failed.get("status") == "True":
            what = f"failed: {text(failed.get('reason'))} {shorten(text(failed.get('message')))}".strip()
            return Verdict(False, what, "read the log of its last pod, then delete the job and run again", True)
    if get_path(obj, "spec", "suspend") is True:
        return Verdict(False, "suspended", "set spec.suspend to false")
    done, want = number(status.get("succeeded")), number(get_path(obj, "spec", "completions"), 1)
    return _pods(f"{done}/{want} complete", context)


def pod(obj: Facts, context: Context) -> Verdict:
    """Ready, or succeeded."""
    status = mapping(obj.get("status"))
    if status.get("phase") == "Succeeded":
        return Verdict(True, "succeeded")
    if condition(status, "Ready").get("status") == "True":
        return Verdict(True, "ready")
    failure = pod_failure(obj, context.restarts, context.again)
    if failure:
        return Verdict(False, failure.what, failure.remedy, failure.terminal)
    return Verdict(False, pod_activity(obj, context.events))


def service(obj: Facts, context: Context) -> Verdict:
    """It exists, and one of type LoadBalancer has an address."""
    if get_path(obj, "spec", "type") != "LoadBalancer" or dicts(get_path(obj, "status", "loadBalancer", "ingress")):
        return Verdict(True, "there")
    return Verdict(False, "no load balancer address yet", "install a load balancer, or use type ClusterIP or NodePort")


def claim(obj: Facts, context: Context) -> Verdict:
    """Bound."""
    phase = text(get_path(obj, "status", "phase"))
    if phase == "Bound":
        return Verdict(True, "bound")
    if phase == "Lost":
        return Verdict(False, "its volume is lost", "delete the claim and create it again", True)
    return Verdict(False, f"{phase or 'Pending'}", "check its storage class; some bind only when a pod uses the claim")
