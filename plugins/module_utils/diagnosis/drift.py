# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about objects that differ from what the plan renders for them. Pure."""

from __future__ import annotations

import collections.abc as c

from .finding import DRIFT, MISSING, NOTE, Finding, finding
from .snapshot import Snapshot


def differing(snap: Snapshot) -> c.Iterator[Finding]:
    """Objects of the plan that are missing, or have other fields than planned."""
    unread = [drift for drift in snap.drift if drift.problem]
    if unread:
        where, what = ", ".join(drift.where for drift in unread), "objects cannot be compared with the plan" if unread[1:] else ""
        yield finding("rights", where, unread[0].lines(), NOTE, what or "an object cannot be compared with the plan")
    for drift in snap.drift:
        if drift.problem:
            continue
        if drift.missing:
            yield finding("absent", drift.where, drift.lines(), MISSING)
        else:
            fields = ", ".join(difference.field for difference in drift.differences[:2]) + (" and more" if len(drift.differences) > 2 else "")
            yield finding("drift", drift.where, drift.lines(), DRIFT, f"{fields} is not as planned")


RULES = (differing,)
