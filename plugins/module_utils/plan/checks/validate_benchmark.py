# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes in llm_d_benchmark beyond single values. Pure."""

from __future__ import annotations

import typing as t

from ...schema.fields import Problem, suggest

_PATH = "llm_d_benchmark"


def benchmark_problems(wanted: dict[str, t.Any], services: t.Sequence[str]) -> list[Problem]:
    """The problems of a completed llm_d_benchmark; `services` are the names of all model services."""
    problems = []
    for index, name in enumerate(wanted["services"] or ()):
        if name not in services:
            close = suggest(name, services)
            fix = f"Did you mean {close}?" if close else f"Write one of {', '.join(services) or 'llm_d_model_services, which is empty'}."
            problems.append(Problem(f"{_PATH}.services[{index}]", name, f"there is no model service '{name}'.", fix))
    if wanted["baseline_max_ratio"] is not None and not wanted["baseline"]:
        problems.append(
            Problem(
                f"{_PATH}.baseline_max_ratio",
                wanted["baseline_max_ratio"],
                "there is nothing to compare with.",
                "Write the folder of an earlier run into baseline, or take it out.",
            )
        )
    if wanted["quick"] and (wanted["slo"] or wanted["baseline"]):
        problems.append(
            Problem(f"{_PATH}.quick", True, "sends no load, so that objectives and baseline would not be checked.", "Take it out, or take those out.")
        )
    return problems + _objectives(wanted)


def _objectives(wanted: dict[str, t.Any]) -> list[Problem]:
    # Imported here: most files have no objectives.
    from ...benchmark.slo import good_problems, rules

    problems = []
    for name, value in wanted["slo"].items():
        try:
            rules({name: value})
        except ValueError as error:
            problems.append(Problem(f"{_PATH}.slo.{name}", value, *_halves(str(error))))
    for line in good_problems(wanted["goodput"]):
        name = line.split(":")[0].removeprefix("goodput.")
        problems.append(Problem(f"{_PATH}.goodput.{name}", wanted["goodput"].get(name), *_halves(line)))
    return problems


def _halves(line: str) -> tuple[str, str]:
    """(reason, fix) of a line such as `slo.x: no such objective; write y`."""
    reason, _mark, fix = line.split(": ", 1)[1].partition("; ")
    return f"{reason}.", f"{fix[:1].upper()}{fix[1:]}." if fix else f"Write {reason.rpartition(' is not ')[2]}."
