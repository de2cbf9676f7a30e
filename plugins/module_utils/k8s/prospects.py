# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether an object that is not ready is in progress and can still become ready, and why not, from the object and its surroundings. Pure.

For a wait that is not patient (wait.Wait): one for a verdict, in which nobody creates, corrects or repairs anything meanwhile. An object that waits for a
controller, a node, an image, a model or a volume is in progress; one that is absent, refused, in a crash loop or unschedulable is not. Ages are by the clock
of the API server.
"""

from __future__ import annotations

import collections.abc as c

from ..common.objects import Facts, Verdict, condition, describe, dicts, generation, get_path, mapping, text
from .pod_failures import creation_failure
from .pod_prospects import Around, Hopeless, lasting, pod_prospect

# Seconds within which a controller observes a change, and reports on a change of other objects; after which a refusal is final; and for what it waits for:
# an address, pods of a proxy.
UNOBSERVED, UNREPORTED, REFUSED, PENDING = 30.0, 10.0, 5.0, 300.0
# Reasons of conditions that are False while something else is made.
_WAITING = {"Pending": PENDING, "AddressNotAssigned": PENDING, "Waiting": PENDING, "NoResources": 60.0}
# Prefixes of API groups whose controllers write a condition for each generation.
_GATEWAYS = ("gateway.", "inference.networking.")


def prospect(obj: Facts | None, verdict: Verdict, around: Around) -> Hopeless | None:
    """Why an object that is not ready, by `verdict`, can no longer become ready; None where it still can. obj: None where it does not exist."""
    if obj is None:
        return Hopeless(verdict.reason, verdict.remedy, 0.0)
    if verdict.terminal or get_path(obj, "metadata", "deletionTimestamp"):
        return Hopeless(verdict.reason, verdict.remedy)
    if get_path(obj, "spec", "paused") is True or get_path(obj, "spec", "suspend") is True:
        return None  # on purpose, and may be resumed
    return next((hopeless for rule in _RULES if (hopeless := rule(obj, verdict, around))), None)


def _absent(obj: Facts, verdict: Verdict, around: Around) -> Hopeless | None:
    return Hopeless(f"{around.absent[0]} does not exist", "create it, or name the right one") if around.absent else None


def _refused(obj: Facts, verdict: Verdict, around: Around) -> Hopeless | None:
    """Pods that are not created: the condition of a Deployment, the events of other workloads."""
    failure = condition(obj.get("status"), "ReplicaFailure")
    message = text(failure.get("message")) if failure.get("status") == "True" else ""
    events = around.of(obj, "FailedCreate", "SuccessfulCreate")
    if not message and events and events[-1].get("reason") == "FailedCreate":
        message = text(events[-1].get("message"))
    known = creation_failure(message) if message else None
    return Hopeless(known.what, known.remedy) if known and not (around.leaving and known.code == "quota") else None


def _pods(obj: Facts, verdict: Verdict, around: Around) -> Hopeless | None:
    prospects = [each for pod in around.pods if (each := pod_prospect(pod, around))]
    return min(prospects, key=lambda each: each.hold, default=None)


def _stuck(obj: Facts, verdict: Verdict, around: Around) -> Hopeless | None:
    """A Deployment that has made no progress within its own deadline."""
    entry = condition(obj.get("status"), "Progressing")
    if entry.get("reason") != "ProgressDeadlineExceeded" or entry.get("status") != "False" or _unobserved(obj):
        return None
    return Hopeless(f"its rollout has made no progress for {get_path(obj, 'spec', 'progressDeadlineSeconds')} s", "look at the pods of its latest ReplicaSet")


def _overlooked(obj: Facts, verdict: Verdict, around: Around) -> Hopeless | None:
    """A change that its controller has not observed, or has not reported on."""
    if not _unobserved(obj):
        return None
    remedy = verdict.remedy or "check that its controller runs"
    return lasting(Hopeless(verdict.reason, remedy), UNOBSERVED, around.age(_changed(obj)))


def _unobserved(obj: Facts) -> bool:
    observed, current = [get_path(obj, "status", "observedGeneration")], generation(obj)
    if not _of_gateway(obj):
        return isinstance(observed[0], int) and observed[0] < current
    entries = list(_conditions(obj.get("status")))
    if not entries:
        return obj.get("kind") != "InferencePool"  # of which many controllers report nothing
    return any(isinstance(entry.get("observedGeneration"), int) and entry["observedGeneration"] < current for entry in entries)


def _changed(obj: Facts) -> str:
    """The time of the last change by its managed fields; the time of creation where they have none."""
    fields = [entry for entry in dicts(get_path(obj, "metadata", "managedFields")) if not entry.get("subresource")]
    return max([text(get_path(obj, "metadata", "creationTimestamp")), *(text(entry.get("time")) for entry in fields)])


def _condition(obj: Facts, verdict: Verdict, around: Around) -> Hopeless | None:
    """A condition that a controller of the Gateway API reports for the current generation, and keeps."""
    if not _of_gateway(obj):
        return None
    entry = next((entry for entry in _conditions(obj.get("status")) if describe(entry) in verdict.reason), None)
    failure, created = Hopeless(verdict.reason, verdict.remedy), around.age(get_path(obj, "metadata", "creationTimestamp"))
    if entry is None:
        return lasting(failure, UNREPORTED, None) if lasting(failure, UNOBSERVED, around.age(_changed(obj))) else None
    limit = PENDING if entry.get("status") == "Unknown" else _WAITING.get(text(entry.get("reason")), REFUSED)
    # The CRDs default the conditions of a new object to 1970.
    ages = [age for age in (around.age(entry.get("lastTransitionTime")), created) if age is not None]
    return lasting(failure, limit, min(ages, default=None))


def _unassigned(obj: Facts, verdict: Verdict, around: Around) -> Hopeless | None:
    """A Service that no load balancer has given an address."""
    if obj.get("kind") != "Service":
        return None
    return lasting(Hopeless(verdict.reason, verdict.remedy), PENDING, around.age(get_path(obj, "metadata", "creationTimestamp")))


def _of_gateway(obj: Facts) -> bool:
    return text(obj.get("apiVersion")).startswith(_GATEWAYS)


def _conditions(status: object) -> c.Iterator[Facts]:
    """All conditions in a status: its own, and those of parents, ancestors and listeners."""
    for holder in (mapping(status), *(entry for key in ("parents", "parent", "ancestors", "listeners") for entry in dicts(get_path(status, key)))):
        yield from dicts(holder.get("conditions"))


_RULES = (_absent, _refused, _pods, _stuck, _overlooked, _condition, _unassigned)
