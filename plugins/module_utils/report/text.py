# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of reports: tables for a terminal and as Markdown, of which the first row is the head, and what a report is of. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.text import one_line


def aligned(rows: c.Sequence[c.Sequence[str]], left: int) -> list[str]:
    """Lines in columns. left: the column that begins on the left, which the others do not."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) if column == left else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]


def markdown(rows: c.Sequence[c.Sequence[str]], left: int) -> list[str]:
    """Lines of a table. left: as for `aligned`."""
    rule = "|" + "|".join("---" if column == left else "---:" for column in range(len(rows[0]))) + "|"
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return [head, rule, *body]


def subject(found: c.Mapping[str, t.Any]) -> str:
    """The deployment that a report with {instance, namespace, cluster, release} is of, on one line; empty for a report that does not say it."""
    if not found.get("instance"):
        return ""
    where = f" on {found['cluster']}" if found.get("cluster") else ""
    return one_line(f"{found['instance']} in namespace {found['namespace']}{where}, {found['release']}")
