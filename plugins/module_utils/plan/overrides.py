# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`llm_d_scheduler_overrides`: other scheduler blocks for this run, by model service, on top of those in the user's file. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..schema.fields import Problem, show, suggest
from .endpoint_picker import RUNNING

VARIABLE = "llm_d_scheduler_overrides"
EVERY = "*"

Facts = dict[str, t.Any]


def overridden(element: t.Any, overrides: t.Any) -> tuple[t.Any, str]:
    """An element of llm_d_model_services with what overrides its scheduler block, and the place of that; "" when nothing does.

    A block with a preset, or with a configuration of one's own, replaces all that says how to decide; any other is laid over it.
    """
    found = overrides if isinstance(overrides, dict) else {}
    key = element.get("name") if isinstance(element, dict) and element.get("name") in found else EVERY
    block = found.get(key)
    if not isinstance(element, dict) or not isinstance(block, dict):
        return element, ""
    own = element.get("scheduler") if isinstance(element.get("scheduler"), dict) else {}
    if any(block.get(name) for name in ("preset", "plugins", "document")):
        # How servers call their metrics does not change with the preset; a configuration of one's own says it itself.
        kept = (*RUNNING, "kv_cache_metric") if block.get("preset") else RUNNING
        own = {name: value for name, value in own.items() if name in kept}
    scorers = {**own["scorers"], **block["scorers"]} if isinstance(own.get("scorers"), dict) and isinstance(block.get("scorers"), dict) else None
    return {**element, "scheduler": {**own, **block, **({"scorers": scorers} if scorers is not None else {})}}, f"{VARIABLE}.{key}"


def relocated(problem: Problem, path: str, place: str, overrides: t.Any) -> Problem:
    """A problem of an overridden scheduler block, told where the user wrote it. `path` is that of the service."""
    inside = problem.path.removeprefix(f"{path}.scheduler.")
    key = place.removeprefix(f"{VARIABLE}.")
    if not place or inside == problem.path or inside.split(".")[0].split("[")[0] not in overrides[key]:
        return problem
    return dataclasses.replace(problem, path=f"{place}.{inside}")


def unknown_services(overrides: t.Any, names: t.Sequence[str]) -> list[Problem]:
    """Overrides of services that there are not."""
    return [
        Problem(f"{VARIABLE}.{key}", value, f"there is no model service {show(key)}.", _fix(key, names))
        for key, value in (overrides if isinstance(overrides, dict) else {}).items()
        if key != EVERY and key not in names
    ]


def _fix(key: t.Any, names: t.Sequence[str]) -> str:
    near = suggest(str(key), names)
    return f"Did you mean {near}?" if near else f"Write one of {', '.join(names)}, or '*' for all." if names else "Leave it out."
