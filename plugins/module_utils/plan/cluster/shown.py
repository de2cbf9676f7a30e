# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a plan as text: our objects, and separately the additions of the user's file to pods. Pure."""

from __future__ import annotations

import collections.abc as c
import difflib
import typing as t

from ...common.objects import Facts, get_path
from ...common.yaml_text import to_yaml
from ...k8s.sanitize import redact_object

Plan = t.TypeVar("Plan")


def without_additions(plan: Plan) -> Plan:
    """The plan with the pod templates without the user's additions, also in objects that the plan contains as a whole."""
    return t.cast(Plan, _replaced(plan, [pair for pair in _pairs(plan) if pair[0] != pair[1]]))


def _pairs(part: t.Any) -> c.Iterator[tuple[t.Any, t.Any]]:
    """(template, ours) of each part that the user can add to."""
    if isinstance(part, dict):
        if {"ours", "template"} <= part.keys():
            yield part["template"], part["ours"]
        for value in part.values():
            yield from _pairs(value)
    elif isinstance(part, list):
        for value in part:
            yield from _pairs(value)


def _replaced(part: t.Any, pairs: c.Sequence[tuple[t.Any, t.Any]]) -> t.Any:
    """A part of the plan, in which the first of each pair is replaced by the second."""
    if part and (match := next((pair for pair in pairs if pair[0] == part), None)):
        return match[1]
    if isinstance(part, dict):
        return {key: _replaced(value, pairs) for key, value in part.items()}
    return [_replaced(value, pairs) for value in part] if isinstance(part, list) else part


def shown(objects: c.Sequence[Facts], ours: c.Sequence[Facts], only: c.Collection[str] = ()) -> list[str]:
    """Lines with each of our objects in YAML, then the additions to it as a unified diff. Values of environment variables are redacted.

    objects, ours: with and without the additions, in the same order; only: kinds and names to show; empty for all.
    """
    lines = []
    for one, own in zip(objects, ours, strict=True):
        kind, name = one["kind"], one["metadata"]["name"]
        if only and not {kind, name} & {*only}:
            continue
        place = f"{kind} {namespace}/{name}" if (namespace := get_path(one, "metadata", "namespace")) else f"{kind} {name}"
        before, after = (to_yaml(redact_object(item)).splitlines() for item in (own, one))
        lines += ["---", f"# {place}", *before]
        if before != after:
            lines += [f"# what your file adds to {place}", *difflib.unified_diff(before, after, "ours", "with what your file adds", lineterm="")]
    return lines
