# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the reports of node autoscalers about a pod from its events. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import Facts, get_path, text
from ..common.text import shorten
from .node_failures import event_time

# Reasons that only autoscalers use, and the components of those that use reasons of the scheduler as well.
_COMING, _REASONS = ("TriggeredScaleUp", "Nominated"), ("TriggeredScaleUp", "NotTriggerScaleUp", "FailedScaleUp", "Nominated")
_COMPONENTS = ("karpenter", "cluster-autoscaler", "eks-auto-mode")


def from_autoscaler(event: Facts) -> bool:
    """Whether a node autoscaler wrote an event of a pod."""
    component = text(event.get("reportingComponent")) or text(get_path(event, "source", "component"))
    return event.get("reason") in _REASONS or component.startswith(_COMPONENTS)


def coming(event: Facts) -> bool:
    """Whether an event of an autoscaler announces a new node."""
    return event.get("reason") in _COMING


def reported(events: t.Sequence[Facts]) -> str:
    """The report in the latest event of a node autoscaler, as text; empty without one."""
    latest = max(filter(from_autoscaler, events), key=event_time, default=None)
    return f"the node autoscaler reports {text(latest.get('reason'))}: {shorten(text(latest.get('message')))}" if latest else ""
