# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pace of answers, as the slope of a line through the end-to-end times of requests. test_runner.py has servers."""

from __future__ import annotations

import math

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.pace import Pace


def pace(*points):
    """The Pace of (due, took) pairs, in seconds."""
    made = Pace()
    for due, took in points:
        made.add(due, took)
    return made


@pytest.mark.parametrize(
    ("points", "share"),
    [
        ([(0, 1), (1, 2), (2, 3)], 1 / 2),  # requests due within 2 seconds end within 4: at 1, 3 and 5
        ([(0, 1), (10, 6), (20, 11)], 1 / 1.5),
        ([(0, 1), (1, 2)], 1.0),  # too few: a line fits any two points
        ([(0, 3), (1, 2), (2, 1)], 1.0),  # it gets faster
        ([(0, 2), (1, 2), (2, 2)], 1.0),
        ([(5, 1), (5, 2), (5, 3)], 1.0),  # all due at once
        # slope 1, each point 0.1 off the line: the slope has a standard error of sqrt(4 * 0.1**2 / 2 / 5), and three of them may be chance
        ([(0, 1.1), (1, 1.9), (2, 2.9), (3, 4.1)], 1 / (2 - 3 * math.sqrt(0.004))),
        # slope 0.8, with a standard error of 0.42
        ([(0, 0), (1, 2), (2, 1), (3, 3)], 1.0),
    ],
)
def test_answers_end_at_a_share_of_the_pace_at_which_they_are_due(points, share):
    whole, merged = pace(*points), pace(*points[:1])
    merged.merge(pace(*points[1:]))
    assert whole.share == pytest.approx(share) and merged.share == pytest.approx(share) and merged.n == len(points)
