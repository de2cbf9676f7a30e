# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objectives: which are read, at what bound they are met, when there are enough requests for them. By hand."""

from __future__ import annotations

import math

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import slo
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.slo import Rule
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import Allowed, Totals
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record


def totals(answered, failed=0, takes=lambda _number: 0.1, gaps=(), tokens=4, client=()):
    """So many requests with their times to first token in seconds; `client`: milliseconds by which its event loop was late."""
    made = Totals()
    for number in range(answered):
        first = takes(number)
        made.add(Record(number, 0, 0.0, 0.0, first, first + 0.3, 2.0, 200, 64, tokens, gaps=list(gaps)))
    for number in range(failed):
        made.add(Record(number, 0, 0.0, 0.0, end=2.0, error="http_503", detail="answered 503"))
    for lag in client:
        made.client_lag.add(lag)
    return made


def judged(name, bound, made):
    (found,) = slo.judge(slo.rules({name: bound}), made, Allowed())
    return found


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("ttft_p90_ms", 500, ("ttft", "p90", 90.0, 500.0, True)),
        ("e2e_from_schedule_p99_9_ms", "2e3", ("e2e_from_schedule", "p99_9", 99.9, 2000.0, True)),
        ("itl_p99_95_ms", 1.5, ("itl", "p99_95", 99.95, 1.5, True)),
        ("tpot_mean_ms", 0, ("tpot", "mean", None, 0.0, True)),
        ("queue_max_ms", 0.5, ("queue", "max", None, 0.5, True)),
        ("error_rate_max", 0.01, ("error_rate", "", None, 0.01, True)),
        ("output_tokens_per_s_min", 1000, ("output_tokens_per_s", "", None, 1000.0, False)),
        ("goodput_share_min", 0.9, ("goodput_share", "", None, 0.9, False)),
    ],
)
def test_objectives_as_they_are_written(name, value, rule):
    assert slo.rules({name: value}) == [Rule(name, *rule)]


@pytest.mark.parametrize("value", [-0.001, math.inf, math.nan, True, False, "soon", None])
def test_a_bound_is_a_number_from_0_on(value):
    with pytest.raises(ValueError, match=r"^slo\.ttft_p90_ms: .* is no number from 0 on$"):
        slo.rules({"ttft_p90_ms": value})


@pytest.mark.parametrize(
    "name", ["ttft_p90", "ttft_p900_ms", "ttft_p9_123_ms", "latency_p90_ms", "ttft_min_ms", "goodput_min", "error_rate_min", "requests_per_s_max"]
)
def test_there_is_no_such_objective(name):
    with pytest.raises(ValueError, match=f"^slo.{name}: no such objective"):
        slo.rules({name: 1})


@pytest.mark.parametrize(
    ("value", "good"), [(0.001, True), (1, True), (0, False), (-1, False), (math.inf, False), (math.nan, False), (True, False), ("5", False), (None, False)]
)
def test_the_bound_of_a_good_request_is_a_number_above_0(value, good):
    assert slo.good_problems({"e2e_ms": value}) == ([] if good else [f"goodput.e2e_ms: {value!r} is no number above 0"])


def test_there_is_no_such_bound_of_a_good_request():
    assert slo.good_problems({"ttft": 5}) == ["goodput.ttft: no such bound; write ttft_ms, tpot_ms, itl_ms, ntpot_ms, e2e_ms"]


@pytest.mark.parametrize(
    ("name", "answered", "failed", "enough"),
    [
        ("ttft_p90_ms", 10, 0, True),
        ("ttft_p90_ms", 9, 0, False),
        ("ttft_p90_ms", 5, 5, True),  # a failed one is as good as one that lasts for ever
        ("ttft_p90_ms", 8, 1, False),
        ("ttft_p90_ms", 5, 4, True),  # so many that failed are no chance
        ("ttft_p99_ms", 100, 0, True),
        ("ttft_p99_ms", 99, 0, False),
        ("ttft_p50_ms", 2, 0, True),
        ("ttft_p50_ms", 1, 0, False),
        ("ttft_mean_ms", 1, 0, True),
        ("itl_p90_ms", 9, 0, False),  # 27 gaps, but of 9 requests
    ],
)
def test_one_request_must_lie_above_a_percentile(name, answered, failed, enough):
    assert judged(name, 1e6, totals(answered, failed, gaps=[0.1] * 3))["enough"] is enough


@pytest.mark.parametrize(
    ("name", "bound", "answered", "failed", "found", "met"),
    [
        # times to first token of 10, 20, 30, ... ms
        ("ttft_max_ms", 100, 10, 0, 100, True),
        ("ttft_max_ms", 99, 10, 0, 100, False),
        ("ttft_mean_ms", 55, 10, 0, 55, True),
        ("ttft_mean_ms", 54, 10, 0, 55, False),
        ("ttft_max_ms", 1e9, 10, 1, None, False),
        ("ttft_mean_ms", 1e9, 10, 1, None, False),
        ("ttft_p90_ms", 1e9, 9, 1, 90, True),
        ("ttft_p90_ms", 1e9, 8, 2, None, False),
        # three gaps for each request, so each that failed counts as three: 27 of 30, 26.1 of 29, 24 of 30
        ("itl_p90_ms", 1e9, 9, 1, 100, True),
        ("itl_p91_ms", 1e9, 9, 1, None, False),
        ("itl_p90_ms", 1e9, 8, 2, None, False),
        ("itl_p80_ms", 1e9, 8, 2, 100, True),
        ("send_lag_max_ms", 0, 8, 2, 0, True),  # of what was sent, whatever came of it
        ("error_rate_max", 0.33333, 2, 1, 0.33333, True),
        ("error_rate_max", 0.33332, 2, 1, 0.33333, False),
        ("requests_per_s_min", 5, 10, 0, 5, True),  # in 2 seconds
        ("requests_per_s_min", 5.01, 10, 0, 5, False),
        ("total_tokens_per_s_min", 340, 10, 0, 340, True),
        ("goodput_share_min", 0.8, 8, 2, 0.8, True),
    ],
)
def test_what_was_found_and_whether_it_is_met(name, bound, answered, failed, found, met):
    told = judged(name, bound, totals(answered, failed, takes=lambda number: 0.01 * (number + 1), gaps=[0.1] * 3))
    assert told["met"] is met and told["wanted"] == bound and told["found"] == (None if found is None else pytest.approx(found, rel=6e-4))


@pytest.mark.parametrize(
    ("name", "answered", "failed", "gaps", "why"),
    [
        ("itl_p99_ms", 8, 2, [0.1], "2 of 10 requests failed, and count as ones that last for ever"),
        ("itl_p99_ms", 8, 2, [], slo.ABSENT["itl"]),
        ("ttft_p99_ms", 8, 2, [], "2 of 10 requests failed, and count as ones that last for ever"),
        ("ttft_p99_ms", 0, 2, [], "no request succeeded"),
        ("ttft_p99_ms", 0, 0, [], "no request was due"),
        ("ttft_p99_ms", 8, 0, [], None),
    ],
)
def test_why_an_objective_has_no_value(name, answered, failed, gaps, why):
    assert judged(name, 1e9, totals(answered, failed, gaps=gaps))["why"] == why


@pytest.mark.parametrize(
    ("name", "bound", "clear"),
    [
        # 100 ms, of which 30 may be the client's
        ("ttft_p99_ms", 71, False),
        ("ttft_p99_ms", 69, True),
        ("ttft_mean_ms", 71, False),
        ("ttft_mean_ms", 69, True),
        ("ttft_p50_ms", 99, True),  # the median was not late
        ("tpot_p99_ms", 99.5, True),  # of one clock: it has no part in that
        ("ttft_p99_ms", 101, True),
        ("requests_per_s_min", 1e9, True),
        ("queue_max_ms", 1, True),
    ],
)
def test_what_is_missed_by_more_than_the_client_was_late_is_clear(name, bound, clear):
    made = totals(100, client=[0.0] * 95 + [30.0] * 5)
    told = judged(name, bound, made)
    assert told["clear"] is clear and told["met"] is (bound == 101)


@pytest.mark.parametrize(
    ("name", "bound", "answered", "said"),
    [
        ("ttft_max_ms", 150, 20, "ttft_max_ms: 100 meets at most 150"),
        ("ttft_max_ms", 50, 20, "ttft_max_ms: 100 misses at most 50"),
        ("requests_per_s_min", 10, 20, "requests_per_s_min: 10 meets at least 10"),
        ("requests_per_s_min", 12.5, 20, "requests_per_s_min: 10 misses at least 12.5"),
        ("ttft_p90_ms", 150, 5, "ttft_p90_ms: 100 meets at most 150 (too few requests for this percentile)"),
        ("ttft_p90_ms", 50, 5, "ttft_p90_ms: 100 misses at most 50"),
    ],
)
def test_what_is_said_of_an_objective(name, bound, answered, said):
    assert slo.said(judged(name, bound, totals(answered))) == said
