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
    """Requests with their times to first token in seconds; `client`: milliseconds by which its event loop was late."""
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
    (entry,) = slo.judge(slo.rules({name: bound}), made, Allowed())
    return entry


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
    with pytest.raises(ValueError, match=r"^slo\.ttft_p90_ms: .* is not a number of at least 0$"):
        slo.rules({"ttft_p90_ms": value})


@pytest.mark.parametrize(
    "name", ["ttft_p90", "ttft_p900_ms", "ttft_p9_123_ms", "latency_p90_ms", "ttft_min_ms", "goodput_min", "error_rate_min", "requests_per_s_max"]
)
def test_there_is_no_such_objective(name):
    with pytest.raises(ValueError, match=f"^slo.{name}: no such objective"):
        slo.rules({name: 1})


@pytest.mark.parametrize(
    ("value", "good"),
    [(0.001, True), (1, True), (0, False), (-1, False), (math.inf, False), (math.nan, False), (True, False), ("5", False), (None, False), (10**400, False)],
)
def test_the_bound_of_a_good_request_is_a_number_above_0(value, good):
    assert slo.good_problems({"e2e_ms": value}) == ([] if good else [f"goodput.e2e_ms: {value!r} is not a number above 0"])


def test_a_bound_that_no_float_holds_is_refused():
    with pytest.raises(ValueError, match="is not a number of at least 0"):
        slo.rules({"ttft_p90_ms": 10**400})


def test_there_is_no_such_bound_of_a_good_request():
    assert slo.good_problems({"ttft": 5}) == ["goodput.ttft: no such bound; write ttft_ms, tpot_ms, itl_ms, ntpot_ms, e2e_ms"]


@pytest.mark.parametrize(
    ("name", "answered", "failed", "enough"),
    [
        ("ttft_p90_ms", 10, 0, True),
        ("ttft_p90_ms", 9, 0, False),
        ("ttft_p90_ms", 5, 5, True),  # a failed one is as good as one that lasts forever
        ("ttft_p90_ms", 8, 1, False),
        ("ttft_p90_ms", 5, 4, True),  # this many failures are not by chance
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
    ("name", "bound", "answered", "failed", "value", "met"),
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
        ("send_lag_max_ms", 0, 8, 2, 0, True),  # of all requests that were sent, whatever their outcome
        ("error_rate_max", 0.33333, 2, 1, 0.33333, True),
        ("error_rate_max", 0.33332, 2, 1, 0.33333, False),
        ("requests_per_s_min", 5, 10, 0, 5, True),  # in 2 seconds
        ("requests_per_s_min", 5.01, 10, 0, 5, False),
        ("total_tokens_per_s_min", 340, 10, 0, 340, True),
        ("goodput_share_min", 0.8, 8, 2, 0.8, True),
    ],
)
def test_an_objective_has_its_measured_value_and_whether_it_is_met(name, bound, answered, failed, value, met):
    entry = judged(name, bound, totals(answered, failed, takes=lambda number: 0.01 * (number + 1), gaps=[0.1] * 3))
    assert entry["met"] is met and entry["wanted"] == bound and entry["measured"] == (None if value is None else pytest.approx(value, rel=6e-4))


@pytest.mark.parametrize(
    ("name", "answered", "failed", "gaps", "why"),
    [
        ("itl_p99_ms", 8, 2, [0.1], "2 of 10 requests failed; failed requests count as infinite latency"),
        ("itl_p99_ms", 8, 2, [], slo.ABSENT["itl"]),
        ("ttft_p99_ms", 8, 2, [], "2 of 10 requests failed; failed requests count as infinite latency"),
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
        ("ttft_p99_ms", 101, False),
        ("ttft_p99_ms", 129, False),
        ("ttft_p99_ms", 131, True),
        ("ttft_p50_ms", 101, True),
        ("requests_per_s_min", 1e9, True),
        ("queue_max_ms", 1, True),
    ],
)
def test_an_objective_is_in_doubt_within_the_lateness_of_the_client(name, bound, clear):
    made = totals(100, client=[0.0] * 95 + [30.0] * 5)
    entry = judged(name, bound, made)
    assert entry["clear"] is clear and entry["in_doubt"] is not clear and entry["met"] is (100 < bound < 1e9)


@pytest.mark.parametrize(
    ("slo_of", "client", "allowed", "why"),
    [
        # 40 ms to the first token; the case: 6 ms late at a percentile that is no objective
        ({"ttft_p90_ms": 500}, (0.0,) * 98 + (6.0,) * 2, Allowed(), None),
        ({"ttft_p90_ms": 45}, (6.0,), Allowed(), "ttft_p90_ms: 40 meets the objective of at most 45, but the client was 6 ms late, which may decide that"),
        ({"ttft_p90_ms": 47}, (6.0,), Allowed(), None),
        ({"ttft_p90_ms": 37}, (6.0,), Allowed(), "ttft_p90_ms: 40 misses the objective of at most 37, but the client was 6 ms late, which may decide that"),
        ({"ttft_p90_ms": 33}, (6.0,), Allowed(), None),
        ({"ttft_p90_ms": 41}, (3.9,), Allowed(), None),  # within the tenth that is allowed
        ({"ttft_p90_ms": 41}, (6.0,), Allowed(share=0), None),  # a share of 0 is no bound
        # later than max_lag: what was to be sent came in bursts
        ({"ttft_p90_ms": 500}, (150.0,), Allowed(), None),
        ({"ttft_p90_ms": 180}, (150.0,), Allowed(share=0), "may decide that"),
        ({"tpot_p90_ms": 180}, (150.0,), Allowed(), "may decide that"),
        ({"tpot_p90_ms": 500}, (150.0,), Allowed(), None),
        ({"ttft_p90_ms": 180, "ttft_p50_ms": 500}, (150.0,), Allowed(), "ttft_p90_ms"),
        # of a closed loop whose places stand idle for a third of the time no more is known than that it is not slower
        ({"ttft_p90_ms": 500}, (200.0,), Allowed(), "ttft_p90_ms"),
        ({"error_rate_max": 0}, (200.0,), Allowed(), "error_rate_max: 0 meets the objective of at most 0, but the client was late, which may decide that"),
        ({"error_rate_max": 0}, (20.0,), Allowed(), None),
        ({"requests_per_s_min": 10}, (200.0,), Allowed(), None),  # 10 a second
        ({"requests_per_s_min": 11}, (200.0,), Allowed(), "requests_per_s_min"),
        ({"requests_per_s_min": 20}, (200.0,), Allowed(), None),
        ({"requests_per_s_min": 11}, (20.0,), Allowed(), None),
        ({"send_lag_p90_ms": 0}, (20.0,), Allowed(), None),
    ],
)
def test_lateness_makes_a_stage_invalid_only_where_it_could_change_the_answer(slo_of, client, allowed, why):
    made = totals(20, takes=lambda _number: 0.04, gaps=[0.1] * 3, client=client)
    if client[0] == 150:  # a fifth of its looks, so that few places stood idle
        for lag in (150.0, *[0.0] * 8):
            made.client_lag.add(lag)
    reason = slo.why_invalid(slo.rules(slo_of), made, allowed)
    assert reason is None if why is None else reason is not None and why in reason and reason.startswith("the client was too late to know")


def test_a_stage_is_invalid_if_its_client_is_exhausted_or_late_without_slo():
    made = totals(20, client=[30.0])
    late = made.lateness(Allowed(metrics=("ttft",)))
    assert late is not None and slo.why_invalid((), made, Allowed(metrics=("ttft",))) == late
    assert slo.why_invalid(slo.rules({"ttft_p90_ms": 500}), made, Allowed()) is None
    made.add(Record(0, 0, 0.0, None, end=2.0, error="client", detail="no connection left"))
    assert "no connection left on the client's own host" in slo.why_invalid(slo.rules({"ttft_p90_ms": 500}), made, Allowed())


@pytest.mark.parametrize(
    ("bound", "met", "clear"),
    # of 100 requests 60 take 40 ms, 20 take 95 and 20 take 105, of which 10 ms may be the client's; one is good within 100 ms
    [(0.6, True, True), (0.61, True, False), (0.8, True, False), (0.81, False, False), (1.0, False, False)],
)
def test_a_goodput_objective_is_in_doubt_if_client_lateness_can_decide_it(bound, met, clear):
    made = Totals({"ttft_ms": 100.0})
    for number in range(100):
        first = 0.04 if number < 60 else 0.095 if number < 80 else 0.105
        made.add(Record(number, 0, 0.0, 0.0, first, first + 0.3, 2.0, 200, 64, 4))
    made.client_lag.add(10.5)
    entry = judged("goodput_share_min", bound, made)
    assert (entry["met"], entry["clear"], entry["in_doubt"]) == (met, clear, not clear)
    assert judged("goodput_per_s_min", bound * 50, made)["in_doubt"] is entry["in_doubt"]


def test_objectives_are_in_doubt_when_sending_takes_longer_than_planned():
    """An open loop of 2 seconds: its requests were half a second late in the end, so that they came at four fifths of the rate."""
    made = Totals(open_loop=True)
    for number in range(21):
        due, sent = number * 0.1, number * 0.125
        made.add(Record(number, 0, due, sent, sent + 0.01, sent + 0.02, sent + 0.02, 200, 64, 4))
    assert made.unsent() == pytest.approx(0.2, rel=0.01)
    assert judged("ttft_p90_ms", 5000, made)["in_doubt"] and judged("error_rate_max", 0, made)["in_doubt"]
    assert Totals(open_loop=True).unsent() == Totals().unsent() == 0.0


@pytest.mark.parametrize(
    ("name", "bound", "answered", "line"),
    [
        ("ttft_max_ms", 150, 20, "ttft_max_ms: 100 meets the objective of at most 150"),
        ("ttft_max_ms", 50, 20, "ttft_max_ms: 100 misses the objective of at most 50"),
        ("requests_per_s_min", 10, 20, "requests_per_s_min: 10 meets the objective of at least 10"),
        ("requests_per_s_min", 12.5, 20, "requests_per_s_min: 10 misses the objective of at least 12.5"),
        ("ttft_p90_ms", 150, 5, "ttft_p90_ms: 100 meets the objective of at most 150 (too few requests for this percentile)"),
        ("ttft_p90_ms", 50, 5, "ttft_p90_ms: 100 misses the objective of at most 50"),
    ],
)
def test_an_objective_line_has_the_value_the_bound_and_the_outcome(name, bound, answered, line):
    assert slo.objective_line(judged(name, bound, totals(answered))) == line
