# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of a run on one cluster: its results, the endpoint and the versions of the stack, the places of the reports, and the failure. Pure."""

from __future__ import annotations

import collections.abc as c

from ..common.objects import Facts
from ..common.text import one_line
from ..report import text

LINES = 10
PLACES = {"config_map": "ConfigMap", "s3": ""}  # in addition to the folder


def lines(reports: c.Mapping[str, Facts], failure: Facts | None) -> list[str]:
    """At most LINES lines of text.WIDTH columns, except for paths and addresses; none for a successful run without reports.

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
    width = max((len(name) for name, _value in [*rows, *ends]), default=0)
    last = [line for name, value in ends for line in (_wrapped(name, value, width, 2) if name == "versions" else [f"{name:{width}}  {one_line(str(value))}"])]
    last = last[: LINES - len(rows)]
    shown: list[str] = []
    for number, (name, value) in enumerate(rows):  # a short row leaves its lines to the next ones
        room = LINES - len(last) - len(shown)
        shown += _wrapped(name, value, width, max(1, room // (len(rows) - number)))
    return [*shown, *last]


def _wrapped(name: str, value: str, width: int, limit: int) -> list[str]:
    """A row of the summary, in at most `limit` lines."""
    rows = text.wrapped(f"{name:{width}}  {one_line(str(value))}", text.WIDTH, " " * (width + 2))
    return [*rows[: limit - 1], text.cut(" ".join([rows[limit - 1], *(each.strip() for each in rows[limit:])]))] if len(rows) > limit else rows


def _versions(versions: Facts) -> str:
    gateway = versions.get("gateway") or {}
    parts = [versions.get("release"), gateway.get("provider") and f"{gateway['provider']} {gateway.get('version') or ''}".strip()]
    parts += [versions.get("kubernetes") and f"Kubernetes {versions['kubernetes']}", versions.get("collection") and f"llm_d.inference {versions['collection']}"]
    return ", ".join(str(part) for part in parts if part)


def _places(reports: Facts) -> list[str]:
    """The path of the first report, which is the most important, and the other places of the reports."""
    kept = [f"{title} {reports[place]}".strip() for place, title in PLACES.items() if reports.get(place)]
    return [f"{reports['folder']}/{reports['files'][0]}", *kept]
