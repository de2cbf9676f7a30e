# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The presets that role compare deploys one after the other, and their mistakes, before anything is touched."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

from ..module_utils.common.objects import Facts, dicts, mapping
from ..module_utils.plan.build import problems
from ..module_utils.plan.parts.overrides import VARIABLE
from ..module_utils.schema.fields import Problem


def cases(presets: t.Iterable[t.Any]) -> list[Facts]:
    """Each preset as {name, scheduler}: the scheduler block that it lays over that of the service."""
    return [_case(preset) for preset in presets]


def _case(preset: t.Any) -> Facts:
    if isinstance(preset, c.Mapping):
        return {"name": str(preset.get("name", "")), "scheduler": {key: value for key, value in preset.items() if key != "name"}}
    return {"name": str(preset), "scheduler": {"preset": preset}}


def preset_problems(user: Facts, options: Facts, known: c.Collection[Problem]) -> list[Problem]:
    """The problems of presets that are not among `known`, those of the user's file. options: of role compare."""
    services = [str(service.get("name")) for service in dicts(user.get("llm_d_model_services"))]
    service = options["service"] or next(iter(services), "")
    additional = []
    for index, case in enumerate(cases(options["presets"] or [])):
        place, override = f"compare_presets[{index}]", f"{VARIABLE}.{service}"
        for problem in problems({**user, VARIABLE: {**mapping(user.get(VARIABLE)), service: case["scheduler"]}}):
            if problem not in known:
                inside = problem.path.removeprefix(override) if problem.path.startswith(override) else ""
                additional.append(dataclasses.replace(problem, path=place + (inside if isinstance(options["presets"][index], dict) else "")))
    return additional
