# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on objects that have the names of ours and belong to others. Pure."""

from __future__ import annotations

from ..common.labels import is_of, whose
from ..common.objects import Facts, dicts, get_path, text
from ..k8s.apply_results import OTHERWISE
from .finding import Findings, PreflightFinding

MAX_NAMED = 10


def objects_of_others(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """No object that we apply exists already as an object of others: we would change it now, and delete it in a teardown."""
    planned = {(text(item.get("kind")), _name(item)): item for item in dicts(needs.get("objects"))}
    foreign = [item for item in dicts(facts.get("objects")) if not is_of(item, planned.get((item["kind"], _name(item)), {}), needs["labels"])]
    if not foreign or needs["adopt"]:
        return
    names = [f"{item['kind']} {_name(item)} ({whose(item)})" for item in foreign]
    unnamed = len(names) - MAX_NAMED
    yield PreflightFinding(
        "objects/foreign",
        "Objects of others have the names of ours: they would be changed now, and deleted by a teardown.",
        ", ".join(names[:MAX_NAMED]) + (f" and {unnamed} more" if unnamed > 0 else ""),
        "none, or objects of this instance",
        OTHERWISE,
    )


def _name(item: Facts) -> str:
    return f"{text(get_path(item, 'metadata', 'namespace'))}/{text(get_path(item, 'metadata', 'name'))}"


CHECKS = (objects_of_others,)
