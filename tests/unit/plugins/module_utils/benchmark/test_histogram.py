# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Distributions of few values, each figure by hand. test_options.py and test_confidence.py have properties of any values."""

from __future__ import annotations

import math

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.histogram import Coarse, Hist

NEAR = 5.1e-4  # as a share: what a bucket may hide


def filled(*values, kind=Hist):
    made = kind()
    for value in values:
        made.add(value)
    return made


def test_a_summary_by_hand():
    made = filled(*(float(value) for value in range(1, 201)), 0.5)
    summary = made.summary()
    assert (summary["n"], summary["min"], summary["max"], summary["mean"]) == (201, 0.5, 200.0, 100.002)  # 20100.5 / 201
    # ranks, counted from 1, ceil(201 * share): 101, 181, 191, 199; the smallest is 0.5
    assert [summary[f"p{percent}"] for percent in (50, 90, 95, 99)] == pytest.approx([100, 180, 190, 198], rel=NEAR)
    assert Hist().summary() == {"n": 0, "mean": None, "min": None, "p50": None, "p90": None, "p95": None, "p99": None, "max": None}


@pytest.mark.parametrize(("value", "kind", "share"), [(123.4, Hist, NEAR), (0.0123, Hist, NEAR), (123.4, Coarse, 5.1e-3)])
def test_a_percentile_is_as_near_as_the_width_of_its_bucket(value, kind, share):
    """This holds below and above the middle of a bucket."""
    for step in range(8):
        each = value * (1 + step * share / 4)
        assert filled(1e-3, each, 1e6, kind=kind).percentile(50) == pytest.approx(each, rel=share)


def test_a_time_of_zero_is_shown_as_zero():
    """A time of 0 is shown as 0, not as the smallest value that differs from it."""
    made = filled(0.0, 0.0, 0.0, 10.0)
    assert (made.percentile(50), made.low, made.high) == (0.0, 0.0, 10.0) and made.cdf()[0] == [0.0, 0.25]


@pytest.mark.parametrize(
    ("percent", "lost", "rank"),
    [(50, 0, 2), (51, 0, 3), (75, 0, 3), (76, 0, 4), (100, 0, 4), (0, 0, 1), (80, 1, 4), (50, 1, 3)],
)
def test_the_rank_of_a_percentile(percent, lost, rank):
    assert filled(10.0, 20.0, 30.0, 40.0).percentile(percent, lost) == pytest.approx(10 * rank, rel=NEAR)


def test_percentiles_that_reach_lost_requests_are_infinite():
    made = filled(10.0, 20.0, 30.0, 40.0)
    assert made.percentile(81, 1) == math.inf and made.percentile(100, 4) == math.inf and Hist().percentile(50) is None


def test_the_deviation_of_a_sample():
    left, right = filled(2.0, 4.0, 4.0, 4.0), filled(5.0, 5.0, 7.0, 9.0)
    left.merge(right)
    # the mean is 5, the squares of the distances are 9, 1, 1, 1, 0, 0, 4, 16
    assert left.deviation == pytest.approx(math.sqrt(32 / 7)) and left.mean == 5.0 and left.n == 8
    assert filled(3.0).deviation == 0 == Hist().deviation and filled(1.0, 3.0).deviation == pytest.approx(math.sqrt(2))


def test_an_interval_by_hand():
    """The median of 10 values lies below the second with a probability of 11 / 1024, below the third with 56 / 1024."""
    made = filled(*(10.0 * number for number in range(1, 11)))
    assert made.interval(50) == pytest.approx((20, 90), rel=NEAR)
    assert filled(*(float(number) for number in range(1, 7))).interval(50) == pytest.approx((1, 6), rel=NEAR)  # 1 / 64 on either side
    assert filled(*(float(number) for number in range(1, 6))).interval(50) is None  # 1 / 32


def test_an_interval_of_values_that_hang_together():
    """10 requests have 100 values each: the interval is from the first value of the second request to the last one of the ninth."""
    made = filled(*(float(number) for number in range(1, 1001)))
    assert made.interval(50, 10) == pytest.approx((101, 900), rel=NEAR) and made.interval(50, 5) is None
    assert made.interval(50, 5000) == made.interval(50)
    # 15 values of 10 requests: the second request begins at value 1.5, the ninth ends at 13.5
    assert filled(*(float(number) for number in range(1, 16))).interval(50, 10) == pytest.approx((2, 14), rel=NEAR)


@pytest.mark.parametrize(
    ("values", "points", "shares"),
    [
        ([1, 2, 4, 8], 3, [(1, 0.25), (2, 0.5), (4, 0.75), (8, 1.0)]),
        ([1, 2, 4, 8], 1, [(1, 0.25), (8, 1.0)]),
        ([5], 100, [(5, 1.0)]),
        ([3, 3, 6], 100, [(3, 0.33333), (3, 0.66667), (6, 1.0)]),
    ],
)
def test_shares_of_values_by_hand(values, points, shares):
    pairs = filled(*map(float, values)).cdf(points)
    assert [value for value, _share in pairs] == pytest.approx([value for value, _share in shares], rel=NEAR)
    assert [share for _value, share in pairs] == [share for _value, share in shares]


def test_shares_of_more_values_than_points():
    """The distribution of 201 values has every second one."""
    many = filled(*(float(number) for number in range(1, 202))).cdf()
    assert len(many) == 101 and many[50] == [pytest.approx(101, rel=NEAR), 0.50249] and many[99] == [pytest.approx(199, rel=NEAR), 0.99005]
