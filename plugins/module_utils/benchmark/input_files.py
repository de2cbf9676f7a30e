# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the files that options of a measurement name, before anything is sent."""

from __future__ import annotations

import collections.abc as c
import json
import os
import typing as t

from ..common.objects import Facts

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
        except ValueError as error:
            raise ValueError(str(error) if str(error).startswith("baseline") else f"baseline {baseline}: no JSON: {error}") from None
        if not isinstance(earlier, dict) or not isinstance(earlier.get("stages"), list):
            raise ValueError(f"baseline {baseline}: no result of an earlier run; give its result.json")
    return Files(workload(params), earlier)


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
