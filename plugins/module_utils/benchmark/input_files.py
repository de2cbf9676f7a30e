# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the files that options of a measurement name, before anything is sent."""

from __future__ import annotations

import collections.abc as c
import json
import math
import os
import typing as t

from ..common.objects import Facts
from ..http.urls import excerpt

MAX_FILE = 1 << 30


class Files(t.NamedTuple):
    """The text of the workload's file and the baseline; None for those that are not given."""

    workload: str | None = None
    baseline: Facts | None = None


def read(params: c.Mapping[str, t.Any]) -> Files:
    """The files that options name. Raises ValueError."""
    baseline = params.get("baseline")
    earlier = None
    if baseline:
        try:
            earlier = json.loads(text("baseline", baseline))
        except (ValueError, RecursionError) as error:
            raise ValueError(str(error) if str(error).startswith("baseline") else f"baseline {baseline}: no JSON: {error}") from None
        if not isinstance(earlier, dict) or not isinstance(earlier.get("stages"), list):
            raise ValueError(f"baseline {baseline}: no result of an earlier run; give its result.json")
        if problems := [f"stages[{index}]{problem}" for index, stage in enumerate(earlier["stages"]) for problem in _stage_problems(stage)]:
            raise ValueError(f"baseline {baseline}: {'; '.join(problems)}; give the result.json of an earlier run of this version")
    return Files(workload(params), earlier)


def _stage_problems(stage: t.Any) -> list[str]:
    """Problems of a stage of a baseline, each to be appended to its path."""
    if not isinstance(stage, dict):
        return [f": {excerpt(repr(stage))} is no stage"]
    problems = [
        f".{name}: {excerpt(repr(stage[name])) if name in stage else 'missing'}; {expected} is needed"
        for name, kind, expected in (("label", str, "a text"), ("valid", bool, "true or false"), ("intervals", dict, "a map of figures"))
        if not isinstance(stage.get(name), kind)
    ]
    if not problems:
        problems = [
            f".intervals.{name}: {excerpt(repr(figure))} is no figure with its interval"
            for name, figure in stage["intervals"].items()
            if not _is_figure(figure)
        ]
    return problems


def _is_figure(value: t.Any) -> bool:
    def number(part: t.Any) -> bool:
        return isinstance(part, (int, float)) and not isinstance(part, bool) and math.isfinite(part) and part >= 0

    if not isinstance(value, dict) or not (number(value.get("value")) or value.get("value") is None):
        return False
    if isinstance(value.get("few"), str) and value["few"]:
        return True
    # an end that is null lies where requests failed
    return value.get("few") is None and all(end in value and (value[end] is None or number(value[end])) for end in ("low", "high"))


def workload(params: c.Mapping[str, t.Any]) -> str | None:
    """The text of the workload's file; None without one. Raises ValueError."""
    path = params["workload"].get("path")
    return text("workload.path", path) if path else None


def text(name: str, path: str) -> str:
    """The text of the file that an option names. Raises ValueError."""
    try:
        if os.path.getsize(path) > MAX_FILE:
            raise ValueError(f"{name} {path}: more than {MAX_FILE >> 20} MiB; cut it")
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise ValueError(f"{name} {path}: {error.strerror}; give a readable file") from None
    except UnicodeDecodeError:
        raise ValueError(f"{name} {path}: no UTF-8 text") from None
