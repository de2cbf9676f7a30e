# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`profile` of a model service: named options, of the collection or of `llm_d_profiles`, which those of the element override. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ...common.objects import Facts
from ...releases.profiles import PROFILES
from ...schema.fields import Field, Problem, complete, show, suggest
from ...schema.pods import BLOCKS, Type, merged
from ...schema.variables import SERVICE
from .overrides import merged_scheduler

VARIABLE = "llm_d_profiles"


def _optional(field: Field) -> Field:
    """The field with nothing in it required."""
    options = {name: _optional(inner) for name, inner in field.options.items()} if field.options else field.options
    return dataclasses.replace(field, required=False, options=options)


_PART = dataclasses.replace(
    _optional(SERVICE), options={name: _optional(field) for name, field in (SERVICE.options or {}).items() if name not in ("name", "profile")}
)


def known(own: t.Any) -> dict[str, Facts]:
    """Every profile by name; the user's replace those of the collection."""
    return {**PROFILES, **{name: part for name, part in (own if isinstance(own, dict) else {}).items() if isinstance(part, dict)}}


def with_profiles(services: t.Sequence[t.Any], own: t.Any) -> list[t.Any]:
    """The elements of llm_d_model_services, each over its profile. own: llm_d_profiles."""
    return [over_profile(element, known(own)) for element in services]


def over_profile(element: t.Any, profiles: t.Mapping[str, Facts]) -> t.Any:
    """The element over its profile: mappings are merged at any depth, pods as Kubernetes does; anything else of the element replaces the profile's."""
    part = profiles.get(name) if isinstance(element, dict) and isinstance(name := element.get("profile"), str) else None
    if part is None:
        return element
    made = _merged(part, element)
    if isinstance(part.get("scheduler"), dict) and isinstance(element.get("scheduler"), dict):
        made["scheduler"] = merged_scheduler(part["scheduler"], element["scheduler"])
    return made


def _merged(below: Facts, above: Facts) -> Facts:
    made = {**below, **above}
    for key, value in below.items():
        if isinstance(value, dict) and isinstance(above.get(key), dict):
            made[key] = merged(value, above[key], Type(BLOCKS[key]), patch=True) if key in BLOCKS else _merged(value, above[key])
    return made


def profile_problems(own: Facts, chosen: t.Sequence[t.Any]) -> list[Problem]:
    """Mistakes in llm_d_profiles, and profiles that do not exist. chosen: the profile of each element of llm_d_model_services."""
    problems = [problem for name, part in own.items() for problem in complete(part, _PART, f"{VARIABLE}.{name}")[1]]
    names = known(own)
    for index, name in enumerate(chosen):
        if isinstance(name, str) and name not in names:
            near = suggest(name, names)
            fix = f"Did you mean {near}?" if near else f"Write one of {', '.join(sorted(names))}, or define it in {VARIABLE}."
            problems.append(Problem(f"llm_d_model_services[{index}].profile", name, f"there is no profile {show(name)}.", fix))
    return problems


def in_profile(problem: Problem, path: str, element: t.Any, own: Facts) -> Problem:
    """The problem at the place of its value: in the element, in llm_d_profiles, or in a profile of the collection. path, element: of the service."""
    inside = [part for part in re.split(r"[.\[\]]+", problem.path.removeprefix(path)) if part]
    name = element.get("profile") if isinstance(element, dict) else None
    part = known(own).get(name) if isinstance(name, str) else None
    whole = inside[:-1]  # the block, for an option that is missing in it
    if part is None or not inside or not any(_has(part, place) and not _has(element, place) for place in (inside, whole)):
        return problem
    where = problem.path.removeprefix(f"{path}.")
    if name in own:
        return dataclasses.replace(problem, path=f"{VARIABLE}.{name}.{where}")
    reason = f"sets {where}, and {show(problem.value)} {problem.reason}"
    return dataclasses.replace(problem, path=f"{path}.profile", value=name, reason=reason, fix=f"Write {where} here, or take another profile.")


def _has(value: t.Any, inside: t.Sequence[str]) -> bool:
    """Whether there is a value at the path, or one that is no mapping at a beginning of the path."""
    for key in inside:
        if not isinstance(value, dict):
            return True
        if key not in value:
            return False
        value = value[key]
    return True
