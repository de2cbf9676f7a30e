# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`llm_d_scheduler_overrides`: scheduler blocks by model service, for this run only, merged over those of the user's file. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...common.objects import Facts
from ...epp.catalog.presets import SERVER_OPTIONS
from ...schema.fields import Problem, show, suggest
from ...schema.pods import BLOCKS, Type
from ...schema.pods import merged as patched
from ...schema.scheduler import RUNNING

VARIABLE = "llm_d_scheduler_overrides"
EVERY = "*"


def overriding_scheduler(element: t.Any, overrides: t.Any, ending: str = "") -> tuple[Facts | None, str]:
    """(the scheduler block of an element of llm_d_model_services with its override, the path of the override); (None, "") without one.

    ending: the suffix of names; keys of overrides are names with it or without.
    """
    blocks = overrides if isinstance(overrides, dict) else {}
    name = str(element.get("name")) if isinstance(element, dict) else EVERY
    key = next((each for each in (name, name + ending) if each in blocks), EVERY)
    block = blocks.get(key)
    if not isinstance(element, dict) or not isinstance(block, dict):
        return None, ""
    own: Facts = element["scheduler"] if isinstance(element.get("scheduler"), dict) else {}
    return merged_scheduler(own, block), f"{VARIABLE}.{key}"


def merged_scheduler(own: Facts, block: Facts) -> Facts:
    """A scheduler block over another. One with a preset, plugins or a document replaces every option of decisions; any other is merged."""
    if any(block.get(name) for name in ("preset", "plugins", "document")):
        # Options that describe the servers hold for every preset; plugins and documents have them as parameters.
        kept = (*RUNNING, "kv_cache_metric", *SERVER_OPTIONS) if block.get("preset") else RUNNING
        own = {name: value for name, value in own.items() if name in kept}
    merged = {**own, **block}
    if isinstance(own.get("scorers"), dict) and isinstance(block.get("scorers"), dict):
        merged["scorers"] = {**own["scorers"], **block["scorers"]}
    pods = {name: patched(own[name], block[name], Type(kind), patch=True) for name, kind in BLOCKS.items() if own.get(name) and block.get(name)}
    return {**merged, **pods}


def relocated(problem: Problem, path: str, place: str, overrides: t.Any) -> Problem:
    """The problem with the path of the override where the user wrote the value there. `path` is the path of the service, `place` that of its override."""
    inside = problem.path.removeprefix(f"{path}.scheduler.")
    key = place.removeprefix(f"{VARIABLE}.")
    if not place or inside == problem.path or inside.split(".")[0].split("[")[0] not in overrides[key]:
        return problem
    return dataclasses.replace(problem, path=f"{place}.{inside}")


def unknown_services(overrides: t.Any, names: t.Sequence[str]) -> list[Problem]:
    """Overrides for services that do not exist."""
    return [
        Problem(f"{VARIABLE}.{key}", value, f"there is no model service {show(key)}.", _fix(key, names))
        for key, value in (overrides if isinstance(overrides, dict) else {}).items()
        if key != EVERY and key not in names
    ]


def _fix(key: t.Any, names: t.Sequence[str]) -> str:
    near = suggest(str(key), names)
    return f"Did you mean {near}?" if near else f"Write one of {', '.join(names)}, or '*' for all." if names else "Leave it out."
