# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that are there, have the names of ours, and belong to somebody else. Pure."""

from __future__ import annotations

from ..common.labels import MANAGED_BY, PART_OF, has_labels
from ..common.objects import Facts, dicts, get_path, mapping, text
from ..common.text import shorten
from .finding import Found, PreflightFinding

MAX_NAMED = 10


def objects_of_others(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """Applying ours would change them, and the teardown would delete them."""
    foreign = [item for item in dicts(facts.get("objects")) if not has_labels(item, needs["labels"])]
    if not foreign or needs["adopt"]:
        return
    names = [f"{item['kind']} {_name(item)} ({_whose(item)})" for item in foreign]
    rest = len(names) - MAX_NAMED
    yield PreflightFinding(
        "objects/foreign",
        "Objects of others have the names of ours: they would be changed now, and deleted by a teardown.",
        ", ".join(names[:MAX_NAMED]) + (f" and {rest} more" if rest > 0 else ""),
        "none, or objects of this instance",
        "Write other names (name of the service, llm_d_name_suffix) or another llm_d_namespace; 'llm_d_adopt: true' takes them over.",
    )


def _name(item: Facts) -> str:
    return f"{text(get_path(item, 'metadata', 'namespace'))}/{text(get_path(item, 'metadata', 'name'))}"


def _whose(item: Facts) -> str:
    labels = mapping(get_path(item, "metadata", "labels"))
    manager, part = shorten(text(labels.get(MANAGED_BY)), 63), shorten(text(labels.get(PART_OF)), 63)
    if manager == "llm_d.inference":
        return f"of llm_d_instance {part}"
    return f"of {part or manager}" if part or manager else "of unknown origin"


CHECKS = (objects_of_others,)
