# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about the autoscalers of model servers, also about those that are not in the plan. A service without an autoscaler has no claim. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.objects import Facts, condition, describe, dicts, get_path, mapping, moment, text
from .claims import Claim, claim

KINDS = ("Deployment", "LeaderWorkerSet")
_METRICS_REMEDY = (
    "check that its metrics arrive (metrics.k8s.io, custom or external metrics, and their APIService), and that only one autoscaler targets a Deployment"
)
_MISSING_REMEDY = "run playbooks/site.yml; with KEDA, which creates it from the ScaledObject, check that object's conditions and the log of keda-operator"
# The HorizontalPodAutoscalers of a namespace, also those that KEDA creates for its ScaledObjects.
HPA_PATH = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"
# The autoscaler of a ScaledObject reports that a metric failed; only an event of the ScaledObject has the reason.
EVENTS_PATH, KEDA_WARNINGS = "/api/v1/namespaces/{}/events", {"fieldSelector": "involvedObject.kind=ScaledObject,type=Warning", "limit": "500"}
_KEDA_REASONS = ("KEDAScalerFailed", "KEDAMetricSourceFailed")
# (parts of messages of KEDA and metrics adapters about a metric, remedy).
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


def judge(
    autoscalers: c.Sequence[Facts], services: c.Sequence[c.Mapping[str, t.Any]], seconds: float, messages: c.Mapping[str, str] | None = None
) -> list[Claim]:
    """One claim for each service with an autoscaler.

    `services`: {name, deployments: names of its Deployments or LeaderWorkerSets, autoscaled: those that have an autoscaler in the plan}; seconds: duration of
    the check; messages: as keda_messages() returns them.
    """
    claims = []
    for service in services:
        own = [
            item
            for item in autoscalers
            if get_path(item, "spec", "scaleTargetRef", "kind") in KINDS and get_path(item, "spec", "scaleTargetRef", "name") in service["deployments"]
        ]
        missing = [name for name in service.get("autoscaled") or () if name not in map(_target, own)]
        if not own and not missing:
            continue
        problems = [f"no autoscaler targets {name}, and the plan has one for it" for name in missing]
        problems += [line for item in own if (line := problem(item, messages or {}))] + conflicts(own)
        summary = "; ".join(_summary(item) for item in own)
        claims.append(claim(f"{service['name']}/scaling", not problems, "; ".join(problems) or summary, _remedy(problems, missing), seconds))
    return claims


def recently_created(autoscalers: c.Sequence[Facts], services: c.Sequence[c.Mapping[str, t.Any]], now: float, seconds: float) -> bool:
    """Whether an autoscaler of the plan is younger than `seconds`, so that it may not have read its metrics yet. now: seconds since the epoch."""
    planned = {name for service in services for name in service.get("autoscaled") or ()}
    created = [moment(get_path(item, "metadata", "creationTimestamp")) for item in autoscalers if _target(item) in planned]
    return any(each is not None and now - each.timestamp() < seconds for each in created)


def keda_messages(events: c.Sequence[Facts]) -> dict[str, str]:
    """The latest KEDA message about the triggers of each ScaledObject, by the name of the ScaledObject."""
    latest: dict[str, tuple[str, str]] = {}
    for event in events:
        if event.get("reason") in _KEDA_REASONS:
            time = max(text(value) for value in (event.get("lastTimestamp"), event.get("eventTime"), get_path(event, "series", "lastObservedTime")))
            name = text(get_path(event, "involvedObject", "name"))
            latest[name] = max(latest.get(name, ("", "")), (time, text(event.get("message"))))
    # A message contains the URL of a Prometheus query, whose escaped text is long.
    return {name: " ".join(re.sub(r'\?query=[^" ]*', "", message).split())[:300] for name, (_time, message) in latest.items()}


def _remedy(problems: c.Sequence[str], missing: c.Sequence[str]) -> str:
    """The remedy for the problems of a service. missing: its Deployments without the autoscaler that the plan has."""
    line = " ".join(problems)
    return _MISSING_REMEDY if missing else next((remedy for parts, remedy in _CAUSES if any(part in line for part in parts)), _METRICS_REMEDY)


def problem(autoscaler: Facts, messages: c.Mapping[str, str]) -> str:
    """The reason why an autoscaler does not work; empty when it works. `messages`: as keda_messages() returns them."""
    for name in ("AbleToScale", "ScalingActive"):
        entry = condition(autoscaler.get("status"), name)
        # A target that was scaled to 0 disables its autoscaler, which is not a failure.
        if entry.get("status") != "True" and entry.get("reason") != "ScalingDisabled":
            # Only the part after `metrics API: ` is shown: before it, the message names the metric and its selector in hundreds of characters.
            shown = {**entry, "message": text(entry.get("message")).rpartition("metrics API: ")[2]}
            detail = f"; KEDA: {messages[owner]}" if (owner := _owner(autoscaler)) in messages else ""
            return f"{_name(autoscaler)} does not scale {_target(autoscaler)}: {describe(shown) + detail if entry else f'{name} is not reported'}"
    return ""


def conflicts(autoscalers: c.Sequence[Facts]) -> list[str]:
    """One line for each target with several autoscalers."""
    targets = [_target(item) for item in autoscalers]
    return [
        f"{target} is scaled by {', '.join(_name(item) for item in autoscalers if _target(item) == target)} at the same time"
        for target in dict.fromkeys(targets)
        if targets.count(target) > 1
    ]


def _summary(autoscaler: Facts) -> str:
    spec = mapping(autoscaler.get("spec"))
    return (
        f"{_name(autoscaler)} keeps {_target(autoscaler)} between {spec.get('minReplicas', 1)} and {spec.get('maxReplicas')} replicas, "
        f"now {get_path(autoscaler, 'status', 'currentReplicas') or 0}"
    )


def _owner(autoscaler: Facts) -> str:
    """The name of the ScaledObject that owns the autoscaler; empty without one."""
    owners = dicts(get_path(autoscaler, "metadata", "ownerReferences"))
    return next((text(owner.get("name")) for owner in owners if owner.get("kind") == "ScaledObject"), "")


def _name(autoscaler: Facts) -> str:
    return text(get_path(autoscaler, "metadata", "name"))


def _target(autoscaler: Facts) -> str:
    return text(get_path(autoscaler, "spec", "scaleTargetRef", "name"))
