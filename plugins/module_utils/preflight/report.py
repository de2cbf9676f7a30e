# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings of the look before anything is touched: what, found, needed, how. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..k8s.platform import detect
from . import autoscaling, capacity, cluster, gateway, gpu_operator, leader_workers
from .finding import PreflightFinding

Facts = dict[str, t.Any]

_CHECKS = (*cluster.CHECKS, *gateway.CHECKS, *leader_workers.CHECKS, *autoscaling.CHECKS, *gpu_operator.CHECKS, *capacity.CHECKS)


def judge(facts: Facts, needs: Facts) -> list[PreflightFinding]:
    """All findings on a cluster, errors first. What could not be read is no finding, but the right to read it may be one."""
    platform = detect(facts)
    found = [finding for check in _CHECKS for finding in check(facts, needs, platform)]
    return sorted(found, key=lambda finding: finding.severity != "error")


def report(found: t.Sequence[PreflightFinding]) -> list[str]:
    """The findings as lines for people."""
    return [f"{finding.severity}  {finding.id}: {finding.what} Found: {finding.found}. Needed: {finding.needed}. {finding.how}" for finding in found]


def plain(found: t.Sequence[PreflightFinding]) -> list[Facts]:
    """The findings as data."""
    return [dataclasses.asdict(finding) for finding in found]
