# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pace of answers, by hand: a line through the times that requests took. test_runner.py has servers."""

from __future__ import annotations

import math

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.pace import Pace


def pace(*points):
    made = Pace()
    for due, took in points:
        made.add(due, took)
    return made


@pytest.mark.parametrize(
    ("points", "share"),
    [
        ([(0, 1), (1, 2), (2, 3)], 1 / 2),  # each second one more: the last of 2 seconds ends 2 seconds later than due
        ([(0, 1), (10, 6), (20, 11)], 1 / 1.5),
        ([(0, 1), (1, 2)], 1.0),  # a line through any two points
        ([(0, 3), (1, 2), (2, 1)], 1.0),  # it gets faster
        ([(0, 2), (1, 2), (2, 2)], 1.0),
        ([(5, 1), (5, 2), (5, 3)], 1.0),  # all at once
        # a line of slope 1 and 0.1 off it: a standard error of sqrt(4 * 0.01 / 2 / 5), of which three may be chance
        ([(0, 1.1), (1, 1.9), (2, 2.9), (3, 4.1)], 1 / (2 - 3 * math.sqrt(0.004))),
        # 0.8 a second, but 0.42 off it
        ([(0, 0), (1, 2), (2, 1), (3, 3)], 1.0),
    ],
)
def test_answers_end_at_a_share_of_the_pace_at_which_they_are_due(points, share):
    whole, left = pace(*points), pace(*points[:1])
    left.merge(pace(*points[1:]))
    assert whole.share == pytest.approx(share) and left.share == pytest.approx(share) and left.n == len(points)
