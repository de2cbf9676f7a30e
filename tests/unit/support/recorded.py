# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects recorded from a real API server (Kubernetes 1.34, Envoy Gateway 1.9, on the local cluster), and edits of them."""

from __future__ import annotations

import copy
import json
import typing as t
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "objects"


def recorded(name: str) -> t.Any:
    """A fresh copy of one recorded object."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def changed(obj: dict, path: str, value: t.Any) -> dict:
    """A copy with another value at a dotted path; numbers are list indexes."""
    result = copy.deepcopy(obj)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place: t.Any = result
    for step in steps:
        place = place[step]
    place[last] = value
    return result


def condition(holder: dict, name: str) -> dict:
    """The condition of a type, to be edited in place."""
    return next(entry for entry in holder["conditions"] if entry["type"] == name)
