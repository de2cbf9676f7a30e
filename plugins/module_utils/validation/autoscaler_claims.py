# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about the autoscalers of model servers, those of the plan and others. No claim for a service without any. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.objects import Facts, condition, describe, dicts, get_path, mapping, moment, text
from .claims import Claim, claim

KINDS = ("Deployment", "LeaderWorkerSet")
_REMEDY = "check that its metrics arrive (metrics.k8s.io, custom or external metrics, and their APIService), and that only one autoscaler targets a Deployment"
_ABSENT = "run playbooks/site.yml; with KEDA, which creates it from the ScaledObject, check that object's conditions and the log of keda-operator"
# KEDA creates such an object for each ScaledObject.
PATH = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"
# The autoscaler of a ScaledObject says that a metric failed, and only an event says why.
EVENTS, OF_KEDA = "/api/v1/namespaces/{}/events", {"fieldSelector": "involvedObject.kind=ScaledObject,type=Warning", "limit": "500"}
_REASONS = ("KEDAScalerFailed", "KEDAMetricSourceFailed")
# Parts of what KEDA and metrics adapters say of a metric, and what to do about it.
_CAUSES = (
    (
        ("the result is empty", "the value list is empty", "could not find the metric", "no metrics returned"),
        "its Prometheus has no such series: have it scrape the servers (llm_d_monitoring.scrape, with the labels that it selects by),"
        " and give its series the labels namespace and pod",
    ),
    (
        ('Get "http', "query api returned error", "unable to fetch metrics"),
        "its Prometheus does not answer: check autoscaling.prometheus for KEDA, for a HorizontalPodAutoscaler the address in the metrics adapter's settings",
    ),
)


def judge(autoscalers: c.Sequence[Facts], services: c.Sequence[c.Mapping[str, t.Any]], seconds: float, said: c.Mapping[str, str] | None = None) -> list[Claim]:
    """One claim for each service with an autoscaler. `services`: {name, deployments, autoscaled: deployments with an autoscaler in the plan}.

    said: as told().
    """
    found = []
    for service in services:
        mine = [
            item
            for item in autoscalers
            if get_path(item, "spec", "scaleTargetRef", "kind") in KINDS and get_path(item, "spec", "scaleTargetRef", "name") in service["deployments"]
        ]
        alone = [name for name in service.get("autoscaled") or () if name not in map(_target, mine)]
        if not mine and not alone:
            continue
        wrong = [f"no autoscaler targets {name}, and the plan has one for it" for name in alone]
        wrong += [line for item in mine if (line := problem(item, said or {}))] + conflicts(mine)
        well = "; ".join(_said(item) for item in mine)
        found.append(claim(f"{service['name']}/scaling", not wrong, "; ".join(wrong) or well, _remedy(wrong, alone), seconds))
    return found


def young(autoscalers: c.Sequence[Facts], services: c.Sequence[c.Mapping[str, t.Any]], now: float, seconds: float) -> bool:
    """Whether an autoscaler of the plan is younger than `seconds`, so that it may not have read its metrics yet. now: seconds since the epoch."""
    ours = {name for service in services for name in service.get("autoscaled") or ()}
    born = [moment(get_path(item, "metadata", "creationTimestamp")) for item in autoscalers if _target(item) in ours]
    return any(each is not None and now - each.timestamp() < seconds for each in born)


def told(events: c.Sequence[Facts]) -> dict[str, str]:
    """The last that KEDA said about the triggers of each ScaledObject, by its name."""
    found: dict[str, tuple[str, str]] = {}
    for event in events:
        if event.get("reason") in _REASONS:
            at = max(text(place) for place in (event.get("lastTimestamp"), event.get("eventTime"), get_path(event, "series", "lastObservedTime")))
            name = text(get_path(event, "involvedObject", "name"))
            found[name] = max(found.get(name, ("", "")), (at, text(event.get("message"))))
    # A query is in its URL, escaped and long.
    return {name: " ".join(re.sub(r'\?query=[^" ]*', "", message).split())[:300] for name, (_at, message) in found.items()}


def _remedy(wrong: c.Sequence[str], alone: c.Sequence[str]) -> str:
    line = " ".join(wrong)
    return _ABSENT if alone else next((remedy for parts, remedy in _CAUSES if any(part in line for part in parts)), _REMEDY)


def problem(autoscaler: Facts, said: c.Mapping[str, str]) -> str:
    """Why an autoscaler does not work; empty when it does. `said`: as told()."""
    for name in ("AbleToScale", "ScalingActive"):
        entry = condition(autoscaler.get("status"), name)
        # Someone has scaled the target to 0, which disables the autoscaler and is not a failure.
        if entry.get("status") != "True" and entry.get("reason") != "ScalingDisabled":
            # What fails is named first, in hundreds of characters.
            shown = {**entry, "message": text(entry.get("message")).rpartition("metrics API: ")[2]}
            more = f"; KEDA: {said[owner]}" if (owner := _owner(autoscaler)) in said else ""
            return f"{_name(autoscaler)} does not scale {_target(autoscaler)}: {describe(shown) + more if entry else f'{name} is not reported'}"
    return ""


def conflicts(autoscalers: c.Sequence[Facts]) -> list[str]:
    """One line for each target with several autoscalers."""
    targets = [_target(item) for item in autoscalers]
    return [
        f"{target} is scaled by {', '.join(_name(item) for item in autoscalers if _target(item) == target)} at the same time"
        for target in dict.fromkeys(targets)
        if targets.count(target) > 1
    ]


def _said(autoscaler: Facts) -> str:
    spec = mapping(autoscaler.get("spec"))
    return (
        f"{_name(autoscaler)} keeps {_target(autoscaler)} between {spec.get('minReplicas') or 1} and {spec.get('maxReplicas')} replicas, "
        f"now {get_path(autoscaler, 'status', 'currentReplicas') or 0}"
    )


def _owner(autoscaler: Facts) -> str:
    """The name of the ScaledObject that the autoscaler is of; empty without one."""
    owners = dicts(get_path(autoscaler, "metadata", "ownerReferences"))
    return next((text(owner.get("name")) for owner in owners if owner.get("kind") == "ScaledObject"), "")


def _name(autoscaler: Facts) -> str:
    return text(get_path(autoscaler, "metadata", "name"))


def _target(autoscaler: Facts) -> str:
    return text(get_path(autoscaler, "spec", "scaleTargetRef", "name"))
