# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about the autoscalers of model servers, those of the plan and others. No claim for a service without any. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import Facts, condition, describe, get_path, mapping, text
from .claims import Claim, claim

KINDS = ("Deployment", "LeaderWorkerSet")
_REMEDY = "check that its metrics arrive (metrics.k8s.io, custom or external metrics, and their APIService), and that only one autoscaler targets a Deployment"
_ABSENT = "run playbooks/site.yml; with KEDA, which creates it from the ScaledObject, check that object's conditions and the log of keda-operator"
# KEDA creates such an object for each ScaledObject.
PATH = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"


def judge(autoscalers: c.Sequence[Facts], services: c.Sequence[c.Mapping[str, t.Any]], seconds: float) -> list[Claim]:
    """One claim for each service with an autoscaler. `services`: {name, deployments, autoscaled: deployments with an autoscaler in the plan}."""
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
        wrong += [line for item in mine if (line := problem(item))] + conflicts(mine)
        well = "; ".join(_said(item) for item in mine)
        found.append(claim(f"{service['name']}/scaling", not wrong, "; ".join(wrong) or well, _REMEDY if not alone else _ABSENT, seconds))
    return found


def problem(autoscaler: Facts) -> str:
    """Why an autoscaler does not work; empty when it does."""
    for name in ("AbleToScale", "ScalingActive"):
        entry = condition(autoscaler.get("status"), name)
        # Someone has scaled the target to 0, which disables the autoscaler and is not a failure.
        if entry.get("status") != "True" and entry.get("reason") != "ScalingDisabled":
            return f"{_name(autoscaler)} does not scale {_target(autoscaler)}: {describe(entry) if entry else f'{name} is not reported'}"
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


def _name(autoscaler: Facts) -> str:
    return text(get_path(autoscaler, "metadata", "name"))


def _target(autoscaler: Facts) -> str:
    return text(get_path(autoscaler, "spec", "scaleTargetRef", "name"))
