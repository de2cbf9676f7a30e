# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of a run on one cluster: what it found, where the stack answers, where the reports are, and what failed. Pure."""

from __future__ import annotations

import collections.abc as c

from ..common.objects import Facts
from ..common.text import one_line
from ..report import text

LINES = 10
PLACES = {"config_map": "ConfigMap", "s3": ""}  # beside the folder


def lines(reports: c.Mapping[str, Facts], failure: Facts | None) -> list[str]:
    """At most LINES lines of text.WIDTH columns, but for paths and addresses; none for a run without reports that ends well.

    reports: by their names, each with ok, summary, reports: {folder, files, config_map}, and perhaps endpoint and versions.
    failure: {task, msg} of the task that ended the run.
    """
    rows = [(name, each["summary"]) for name, each in reports.items()]
    rows += [("failed", f"{failure['task']}: {failure['msg']}")] if failure else []
    rows += [("reports", f"not in {place}: {why}") for each in reports.values() for place, why in each["reports"].get("lost", {}).items()]
    rows = rows[:LINES]
    ends = [("endpoint", each["endpoint"]) for each in reports.values() if each.get("endpoint")]
    ends += [("versions", _versions(each["versions"])) for each in reports.values() if each.get("versions")]
    ends += [("reports", place) for place in dict.fromkeys(place for each in reports.values() for place in _places(each["reports"]))]
    wide = max((len(name) for name, _said in [*rows, *ends]), default=0)
    last = [line for name, said in ends for line in (_wrapped(name, said, wide, 2) if name == "versions" else [f"{name:{wide}}  {one_line(str(said))}"])]
    last = last[: LINES - len(rows)]
    shown: list[str] = []
    for number, (name, said) in enumerate(rows):  # what a short one leaves is for the next ones
        room = LINES - len(last) - len(shown)
        shown += _wrapped(name, said, wide, max(1, room // (len(rows) - number)))
    return [*shown, *last]


def _wrapped(name: str, said: str, wide: int, most: int) -> list[str]:
    """A row of the summary, cut to some lines."""
    found = text.wrapped(f"{name:{wide}}  {one_line(str(said))}", text.WIDTH, " " * (wide + 2))
    return [*found[: most - 1], text.cut(" ".join([found[most - 1], *(each.strip() for each in found[most:])]))] if len(found) > most else found


def _versions(found: Facts) -> str:
    gateway = found.get("gateway") or {}
    parts = [found.get("release"), gateway.get("provider") and f"{gateway['provider']} {gateway.get('version') or ''}".strip()]
    parts += [found.get("kubernetes") and f"Kubernetes {found['kubernetes']}", found.get("collection") and f"llm_d.inference {found['collection']}"]
    return ", ".join(str(part) for part in parts if part)


def _places(found: Facts) -> list[str]:
    """The first file, which matters most, in its folder, and where else they are."""
    kept = [f"{title} {found[place]}".strip() for place, title in PLACES.items() if found.get(place)]
    return [f"{found['folder']}/{found['files'][0]}", *kept]
