# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on what autoscalers of the plan act by. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import mapping
from ..plan.autoscaling import KEDA, PODS, RESOURCES
from .finding import PreflightFinding

Facts = dict[str, t.Any]
Found = t.Iterator[PreflightFinding]
_OTHER = "or write 'provider: external' under autoscaling, or a fixed number in replicas."


def keda(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """ScaledObjects are known: else they would be refused."""
    if lacking := _lacking(facts, needs, KEDA):
        how = "the operator openshift-custom-metrics-autoscaler-operator" if seen["name"] == "openshift" else "KEDA"
        yield PreflightFinding(
            "autoscaling/keda", f"KEDA shall scale {lacking}, and is not here.", "none", f"API group {KEDA}", f"Have {how} installed, {_OTHER}"
        )


def metrics(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """Somebody serves the metrics that a HorizontalPodAutoscaler asks for; without them the stack serves, and nothing scales."""
    for group, what, who in (
        (PODS, "metrics of pods", "an adapter, such as prometheus-adapter, which reads them from Prometheus"),
        (RESOURCES, "the processor time of pods", "the metrics server"),
    ):
        if lacking := _lacking(facts, needs, group):
            what = f"A HorizontalPodAutoscaler shall scale {lacking} by {what}, which nobody serves here."
            yield PreflightFinding("autoscaling/metrics", what, "none", f"API group {group}", f"Have {who} installed, {_OTHER}", "warning")


def _lacking(facts: Facts, needs: Facts, group: str) -> str:
    """The services that need a group which is not served; empty where all is well, or was not read."""
    return ", ".join(needs["autoscaling"].get(group, ())) if "groups" in facts and group not in mapping(facts["groups"]) else ""


CHECKS = (keda, metrics)
