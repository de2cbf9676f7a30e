# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about objects that differ from what the plan renders for them. Pure."""

from __future__ import annotations

import collections.abc as c

from .finding import DRIFT, MISSING, NOTE, Finding, finding
from .snapshot import Snapshot


def differing(snap: Snapshot) -> c.Iterator[Finding]:
    """Objects of the plan that are missing, that differ from the plan, or that could not be compared with it."""
    unread = [drift for drift in snap.drift if drift.problem]
    if unread:
        where, objects = ", ".join(drift.where for drift in unread), "objects" if len(unread) > 1 else "an object"
        yield finding(
            "permissions", where, list(dict.fromkeys(line for drift in unread for line in drift.lines())), NOTE, f"{objects} cannot be compared with the plan"
        )
    for drift in snap.drift:
        if drift.problem:
            continue
        if drift.missing:
            yield finding("absent", drift.where, drift.lines(), MISSING)
        else:
            fields = ", ".join(difference.field for difference in drift.differences[:2]) + (" and more" if len(drift.differences) > 2 else "")
            yield finding("drift", drift.where, drift.lines(), DRIFT, f"{fields} {'are' if len(drift.differences) > 1 else 'is'} not as planned")


RULES = (differing,)
