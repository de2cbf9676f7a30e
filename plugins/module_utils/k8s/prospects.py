# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether an object that is not ready is under way and can still become ready, and why not, from the object and what is around it. Pure.

For a wait that is not patient (wait.Wait): one for a verdict, in which nobody creates, corrects or repairs anything meanwhile. What waits for a controller, a
node, an image, a model or a volume is under way; what is absent, refused, in a crash loop or unschedulable is not. Ages are by the clock of the API server.
"""

from __future__ import annotations

import collections.abc as c

from ..common.objects import Facts, Verdict, condition, describe, dicts, generation, get_path, mapping, text
from .pod_failures import creation_failure
from .pod_prospects import Around, Hopeless, lasting, pod_prospect

# Seconds after which a controller has seen a change, or reported on what has changed around; after which it does not change its mind about what it refuses;
# and that what it waits for may take: an address, pods of a proxy.
UNSEEN, UNREPORTED, REFUSED, PENDING = 30.0, 10.0, 5.0, 300.0
# Reasons of conditions that are False while something else is made.
_WAITING = {"Pending": PENDING, "AddressNotAssigned": PENDING, "Waiting": PENDING, "NoResources": 60.0}
# Of API groups with these parts of a name; their controllers write a condition for each generation.
_GATEWAYS = ("gateway.", "inference.networking.")


def prospect(obj: Facts | None, verdict: Verdict, around: Around) -> Hopeless | None:
    """Why an object that is not ready, as `verdict` says, cannot become ready any more; None where it still can. obj: None where it does not exist."""
    if obj is None:
        return Hopeless(verdict.reason, verdict.remedy, 0.0)
    if verdict.terminal or get_path(obj, "metadata", "deletionTimestamp"):
        return Hopeless(verdict.reason, verdict.remedy)
    if get_path(obj, "spec", "paused") is True or get_path(obj, "spec", "suspend") is True:
        return None  # as somebody wants it, who may resume it
    return next((found for rule in _RULES if (found := rule(obj, verdict, around))), None)


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
    found = [each for pod in around.pods if (each := pod_prospect(pod, around))]
    return min(found, key=lambda each: each.hold, default=None)


def _stuck(obj: Facts, verdict: Verdict, around: Around) -> Hopeless | None:
    """A Deployment that has made no progress for as long as it allows itself."""
    entry = condition(obj.get("status"), "Progressing")
    if entry.get("reason") != "ProgressDeadlineExceeded" or entry.get("status") != "False" or _unseen(obj):
        return None
    return Hopeless(f"its rollout has made no progress for {get_path(obj, 'spec', 'progressDeadlineSeconds')} s", "look at the pods of its latest ReplicaSet")


def _overlooked(obj: Facts, verdict: Verdict, around: Around) -> Hopeless | None:
    """A change that its controller has not seen, or has not reported on."""
    if not _unseen(obj):
        return None
    remedy = verdict.remedy or "check that its controller runs"
    return lasting(Hopeless(verdict.reason, remedy), UNSEEN, around.age(_changed(obj)))


def _unseen(obj: Facts) -> bool:
    seen, current = [get_path(obj, "status", "observedGeneration")], generation(obj)
    if not _of_gateway(obj):
        return isinstance(seen[0], int) and seen[0] < current
    entries = list(_conditions(obj.get("status")))
    if not entries:
        return obj.get("kind") != "InferencePool"  # of which many controllers report nothing
    return any(isinstance(entry.get("observedGeneration"), int) and entry["observedGeneration"] < current for entry in entries)


def _changed(obj: Facts) -> str:
    """When somebody changed the object last, so far as its managed fields say; else when it was created."""
    fields = [entry for entry in dicts(get_path(obj, "metadata", "managedFields")) if not entry.get("subresource")]
    return max([text(get_path(obj, "metadata", "creationTimestamp")), *(text(entry.get("time")) for entry in fields)])


def _condition(obj: Facts, verdict: Verdict, around: Around) -> Hopeless | None:
    """What a controller of the Gateway API says of the current generation, and goes on to say."""
    if not _of_gateway(obj):
        return None
    entry = next((entry for entry in _conditions(obj.get("status")) if describe(entry) in verdict.reason), None)
    failure, created = Hopeless(verdict.reason, verdict.remedy), around.age(get_path(obj, "metadata", "creationTimestamp"))
    if entry is None:
        return lasting(failure, UNREPORTED, None) if lasting(failure, UNSEEN, around.age(_changed(obj))) else None
    limit = PENDING if entry.get("status") == "Unknown" else _WAITING.get(text(entry.get("reason")), REFUSED)
    # The CRDs give a new object conditions of 1970.
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
