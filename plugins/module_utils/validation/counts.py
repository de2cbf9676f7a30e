# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences of counts by name, and the count of a server under all of its names. Pure."""

from __future__ import annotations

import collections.abc as c


def count_of(counts: c.Mapping[str, float], server: str) -> float:
    """The count of a server, including labels with a rank after its name."""
    return sum(count for label, count in counts.items() if label == server or label.startswith(f"{server}-rank-"))


def increases(before: c.Mapping[str, float], after: c.Mapping[str, float]) -> dict[str, int]:
    """The increase of each count; counts that did not change are left out."""
    differences = {name: int(value - before.get(name, 0)) for name, value in after.items()}
    return {name: count for name, count in differences.items() if count}
