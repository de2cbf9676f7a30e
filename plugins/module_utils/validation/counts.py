# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences of counts by name, and counts of a server under any of its names. Pure."""

from __future__ import annotations

import collections.abc as c


def count_of(counts: c.Mapping[str, float], server: str) -> float:
    """What is counted of a server, also where its name has a rank behind it."""
    return sum(count for label, count in counts.items() if label == server or label.startswith(f"{server}-rank-"))


def increases(before: c.Mapping[str, float], after: c.Mapping[str, float]) -> dict[str, int]:
    """What was added in the meantime, without what stood still."""
    found = {name: int(value - before.get(name, 0)) for name, value in after.items()}
    return {name: count for name, count in found.items() if count}
