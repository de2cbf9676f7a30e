# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics against numbers worked out by hand, and against Python's own for any numbers."""

from __future__ import annotations

import statistics

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import stats
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=60)


def record(number, planned, sent, first, last, tokens=5, cached=None, server=None, gaps=(), **more):
    return Record(number, 0, planned, sent, first, last, last or sent, 200, 100, tokens, cached, server, list(gaps), **more)


@pytest.mark.parametrize(
    ("values", "percent", "wanted"),
    [
        ([1, 2, 3, 4], 50, 2.5),  # half way between the second and the third
        ([1, 2, 3, 4], 90, 3.7),  # rank 0.9 x 3 = 2.7: from the third 0.7 of the way to the fourth
        ([4, 1, 3, 2], 90, 3.7),
        ([10, 20], 99, 19.9),
        ([7], 99, 7),
        ([1, 2, 3, 4, 5], 0, 1),
        ([1, 2, 3, 4, 5], 100, 5),
    ],
)
def test_percentiles_by_hand(values, percent, wanted):
    assert stats.percentile(values, percent) == pytest.approx(wanted)


@given(NUMBERS)
def test_percentiles_agree_with_pythons_own(values):
    theirs = statistics.quantiles(values, n=100, method="inclusive")
    for percent in stats.PERCENTILES:
        assert stats.percentile(values, percent) == pytest.approx(theirs[percent - 1], rel=1e-9, abs=1e-6)


@given(NUMBERS, st.floats(0, 100), st.floats(0, 100))
def test_percentiles_are_ordered_and_within_the_values(values, one, other):
    low, high = sorted((one, other))
    assert min(values) <= stats.percentile(values, low) <= stats.percentile(values, high) + 1e-6 <= max(values) + 2e-6


@pytest.mark.parametrize(("values", "percent"), [([], 50), ([1], 101), ([1], -1)])
def test_no_percentile(values, percent):
    with pytest.raises(ValueError):
        stats.percentile(values, percent)


def test_a_summary_leaves_out_what_is_not_known_and_scales():
    found = stats.summary([0.001, None, 0.003], 1000)
    assert found == {"n": 2, "mean": 2.0, "min": 1.0, "p50": 2.0, "p90": 2.8, "p95": 2.9, "p99": 2.98, "max": 3.0}
    assert stats.summary([None]) == {"n": 0, "mean": None, "min": None, "p50": None, "p90": None, "p95": None, "p99": None, "max": None}


def test_a_distribution_by_hand():
    assert stats.cdf([3, 1, 2, 2]) == [[1, 0.25], [2, 0.5], [2, 0.75], [3, 1.0]]
    assert stats.cdf([]) == []


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=500))
def test_a_distribution_is_short_ascends_and_ends_at_one(values):
    found = stats.cdf(values)
    assert len(found) <= stats.CDF_POINTS + 1 and found == sorted(found) and found[-1] == [round(max(values), 3), 1.0]
    assert found[0][0] == round(min(values), 3)


def test_latencies_by_hand():
    one = record(0, planned=1.0, sent=1.5, first=2.0, last=2.4, tokens=5)
    assert one.lag == 0.5 and one.ttft == 0.5 and one.ttft_from_schedule == 1.0
    assert one.e2e == pytest.approx(0.9) and one.e2e_from_schedule == pytest.approx(1.4)
    assert one.tpot == pytest.approx(0.1) and one.ntpot == pytest.approx(0.18)  # 0.4 s over the 4 tokens after the first; 0.9 s over all 5
    assert record(0, 1.0, 1.0, 2.0, 2.0, tokens=1).tpot is None and record(0, 1.0, 1.0, None, None, tokens=None).ttft is None


def test_a_stage_by_hand():
    records = [
        record(0, 0.0, 0.001, 0.101, 0.141, cached=80, server="a", gaps=[0.01] * 4),
        record(1, 1.0, 1.001, 1.201, 1.241, cached=0, server="b", gaps=[0.01] * 4),
        record(2, 2.0, 2.001, 2.301, 2.341, cached=100, server="a", gaps=[0.01] * 4),
        Record(3, 0, 3.0, 3.001, end=4.0, status=503, error="http_503", detail="answered 503"),
    ]
    found = stats.stage_summary(records, rate=1.0, cpu_seconds=0.4, max_lag=0.1)
    assert (found["requests"], found["ok"], found["failed"], found["errors"], found["error_example"]) == (4, 3, 1, {"http_503": 1}, "answered 503")
    assert found["ttft_ms"]["n"] == 3 and found["ttft_ms"]["p50"] == 200.0 and found["ttft_ms"]["p90"] == 280.0
    assert found["ttft_from_schedule_ms"]["p50"] == 201.0 and found["tpot_ms"]["p50"] == 10.0 and found["itl_ms"]["n"] == 12
    assert found["seconds"] == 4.0 and found["requests_per_s"] == 0.75 and found["output_tokens_per_s"] == 3.75 and found["sent_per_s"] == 1.0
    assert found["hit_ratio"] == 0.6 and found["servers"] == {"a": 2, "b": 1} and found["largest_share"] == 0.6667
    assert found["client_cpu"] == 0.1 and found["valid"] and found["why_invalid"] is None


def test_a_late_client_is_invalid_and_says_so():
    found = stats.stage_summary([record(number, number, number + 0.3, number + 0.4, number + 0.5) for number in range(5)], 1.0, 0.1, max_lag=0.1)
    assert found["valid"] is False and "within 300 ms" in found["why_invalid"] and found["ttft_ms"]["p50"] == 100.0
    assert found["ttft_from_schedule_ms"]["p50"] == 400.0


def test_a_stage_in_which_all_failed():
    found = stats.stage_summary([Record(0, 0, 0.0, error="in_flight", detail="not sent")], 1.0, 0.0, 0.1)
    assert found["ttft_ms"]["p90"] is None and found["requests_per_s"] == 0.0 and found["hit_ratio"] is None
    assert found["largest_share"] is None and found["valid"]


def test_stages_together():
    one = {"requests": 4, "ok": 3, "failed": 1, "hit_ratio": 0.5, "prompt_tokens": 100, "cached_tokens": 50, "servers": {"a": 3}, "valid": True}
    two = {"requests": 2, "ok": 2, "failed": 0, "hit_ratio": 1.0, "prompt_tokens": 300, "cached_tokens": 300, "servers": {"a": 1, "b": 1}, "valid": False}
    assert stats.together([one, two]) == {"requests": 6, "ok": 5, "failed": 1, "hit_ratio": 0.875, "servers": {"a": 4, "b": 1}, "valid": False}
    silent = {**one, "hit_ratio": None, "cached_tokens": None, "servers": {}}
    assert stats.together([silent])["hit_ratio"] is None
