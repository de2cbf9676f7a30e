# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings on a cluster and what would change there, for people, and a summary of the facts about it. Pure."""

from __future__ import annotations

import dataclasses
import itertools
import textwrap
import typing as t

from ..common.objects import Facts, mapping, text
from ..common.text import pluralize
from ..k8s.platform import detect, free_accelerators, image_version, load_balancer
from ..releases.lines import ACCELERATORS
from . import capacity, cluster, devices, gateway, named_objects, operators, ownership, pools, room
from .finding import PreflightFinding
from .named_objects import default_storage_class

_MODULES = (cluster, named_objects, gateway, pools, operators, ownership, room, devices, capacity)
_CHECKS = [check for each in _MODULES for check in each.CHECKS]
WIDTH = 68  # columns of the lines for people, which a callback indents and quotes
# API groups that are part of the summary.
_GROUPS = (
    "gateway.networking.k8s.io",
    "inference.networking.k8s.io",
    "inference.networking.x-k8s.io",
    "llm-d.ai",
    "leaderworkerset.x-k8s.io",
    "monitoring.coreos.com",
)


def judge(facts: Facts, needs: Facts) -> list[PreflightFinding]:
    """All findings on a cluster, errors first. A fact that could not be read gives no finding; a missing permission does."""
    platform = detect(facts)
    findings = [finding for check in _CHECKS for finding in check(facts, needs, platform)]
    return sorted(findings, key=lambda finding: finding.severity != "error")


def report(findings: t.Sequence[PreflightFinding]) -> list[str]:
    """The findings as lines of text."""
    return [f"{finding.severity}  {finding.id}: {finding.what} Found: {finding.found}. Needed: {finding.needed}. {finding.how}" for finding in findings]


def shown(findings: t.Sequence[PreflightFinding], changed: t.Sequence[str], needs: Facts) -> list[str]:
    """A summary for people, in short lines: the number of errors and of warnings, each finding, and what would change in an existing deployment."""
    errors = [finding for finding in findings if finding.severity == "error"]
    counts = [pluralize(len(errors), "error"), pluralize(len(findings) - len(errors), "warning")]
    lines = [f"preflight: {', '.join(counts) if findings else 'nothing is missing'}"]
    for same, alike in itertools.groupby(findings, lambda finding: dataclasses.replace(finding, what="")):
        first, *others = [finding.what for finding in alike]
        lines += _wrapped(f"{same.severity} {same.id}: {first}", 2)
        lines += [line for what in others for line in _wrapped(what, 4, 2)]
        lines += _wrapped(f"Found: {same.found}. Needed: {same.needed}. {same.how}", 4, 4)
    if changed:
        lines += _wrapped(f"this changes an existing deployment: {needs['planned']['instance']} in namespace {needs['namespace']}", 2)
        lines += [line for each in changed for line in _wrapped(each, 4, 2)]
    return lines


def _wrapped(line: str, rest: int, first: int = 0) -> list[str]:
    return textwrap.wrap(line, WIDTH, initial_indent=" " * first, subsequent_indent=" " * rest, break_long_words=False, break_on_hyphens=False)


def plain(findings: t.Sequence[PreflightFinding]) -> list[Facts]:
    """The findings as dictionaries."""
    return [dataclasses.asdict(finding) for finding in findings]


def summary(facts: Facts, needs: Facts, platform: Facts) -> Facts:
    """A summary of the facts, without objects. None: not needed by the plan, or not readable with the account's permissions."""
    bundles = {name: entry for name, entry in mapping(facts.get("crds")).items() if entry["version"]}
    return {
        "user": facts.get("user", ""),
        "nodes": len(facts["nodes"]) if "nodes" in facts else None,
        "accelerators": _free_accelerators(facts) if "nodes" in facts and "pods" in facts else None,
        "groups": {name: versions for name, versions in mapping(facts.get("groups")).items() if name in _GROUPS},
        "crds": bundles,
        "gateway_classes": sorted(mapping(facts.get("gateway_classes"))),
        "controllers": {name: image_version(workload) or "of no known version" for name, workload in mapping(facts.get("controllers")).items() if workload},
        "default_storage_class": default_storage_class(facts),
        "load_balancer": load_balancer(facts, platform) if "load_balancers" in facts else None,
    }


def _free_accelerators(facts: Facts) -> Facts:
    """Free accelerators of each product, or of each resource where nodes have no product label, such as `4 of 8`."""
    counted: dict[str, list[int]] = {}
    for vendor in ACCELERATORS.values():
        resource = vendor["resource"]
        for node in free_accelerators(facts, resource) if resource else []:
            name = text(node["labels"].get(vendor["product_label"])) or text(resource)
            free, total = counted.setdefault(name, [0, 0])
            counted[name] = [free + node["free"], total + node["allocatable"]]
    return {name: f"{free} of {total}" for name, (free, total) in sorted(counted.items())}
