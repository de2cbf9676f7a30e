# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts: objectives on what does not exist, clients that were late; figures, intervals and comparisons by hand."""

from __future__ import annotations

import math

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import result, slo
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.histogram import Hist
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.plan import Measured, Plan
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import Allowed, Totals
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Shape
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step

SLO = {"ttft_from_schedule_p90_ms": 150}


def record(number=0, planned=0.0, sent=0.0, first=0.1, last=0.4, tokens=4, **more):
    return Record(number, 0, planned, sent, first, last, last, 200, 64, tokens, chunks=tokens, **more)


def stage(records, wanted=None, good=None, rate=8.0, behind=0.0):
    """A stage as result.json has it. `behind`: milliseconds by which the event loop of the client was late."""
    totals = Totals(good)
    for each in records:
        totals.add(each)
    totals.client_lag.add(behind)
    plan = Plan(None, None, Shape(), (), None, rules=tuple(slo.rules(wanted or {})), allowed=Allowed())
    return result.stage(Measured(Step(rate=rate, seconds=10), totals), plan)


WHOLE = [record(number, first=0.4) for number in range(200)]  # answers in one piece, as with stream: false


@pytest.mark.parametrize("name", ["tpot_p90_ms", "tpot_mean_ms", "tpot_max_ms", "itl_p50_ms"])
def test_answers_in_one_piece_have_no_time_between_tokens_and_miss_objectives_on_it(name):
    entry = stage(WHOLE, {name: 40}, {"tpot_ms": 40.0})
    assert entry["tpot_ms"]["n"] == entry["itl_ms"]["n"] == 0 and entry["tpot_ms"]["p90"] is None and entry["ntpot_ms"]["p50"] == pytest.approx(100, rel=0.001)
    verdict, why = result.verdict([entry], False, True)
    assert verdict == "failed" and f"{name}: no value (the tokens of each answer came in one piece" in why[0] and "stream is false" in why[0]


@pytest.mark.parametrize("name", ["tpot_ms", "itl_ms"])
def test_an_answer_without_a_measured_time_between_tokens_is_not_good(name):
    assert stage(WHOLE, good={name: 40.0})["goodput_share"] == 0
    # a single token has no such time, which is no miss; a time that was measured is judged
    assert stage([record(tokens=1, first=0.4)], good={name: 40.0})["goodput_share"] == 1
    for bound, share in ((99.0, 0), (101.0, 1)):
        assert stage([record(gaps=[0.1] * 3)], good={name: bound})["goodput_share"] == share


def test_good_requests_count_from_when_they_were_due():
    """Each was sent 300 ms late, by a client that waited for its server: its user waited for all of it."""
    late = [record(number, planned=0.0, sent=0.3, first=0.4, last=0.5) for number in range(10)]
    for name, due, sent in (("ttft_ms", 400, 100), ("e2e_ms", 500, 200)):
        assert stage(late, good={name: float(sent + 50)})["goodput_share"] == 0 and stage(late, good={name: due + 1.0})["goodput_share"] == 1


def test_the_reason_for_an_objective_without_a_value():
    failed = record(error="http_503", detail="answered 503")
    for records, name, why in (
        ([record(), failed], "ttft_max_ms", "1 of 2 requests failed"),
        ([failed], "ttft_max_ms", "no request succeeded"),
        ([], "ttft_max_ms", "no request was due"),
        ([record()], "queue_p50_ms", "queue_time_ms"),
    ):
        (judged,) = stage(records, {name: 150})["slo"]
        assert not judged["met"] and judged["measured"] is None and why in slo.objective_line(judged)
    assert stage([record()], {"ttft_max_ms": 150})["slo"][0]["why"] is None


def test_a_percentile_of_what_few_requests_have_is_not_known():
    """200 requests, of which 5 came in pieces."""
    entry = stage([*WHOLE[5:], *(record(number) for number in range(5))], {"tpot_p90_ms": 150})
    assert entry["slo"][0]["met"] and not entry["slo"][0]["enough"] and result.verdict([entry], False, True)[0] == "inconclusive"


@pytest.mark.parametrize(("slow", "verdict"), [(1, "inconclusive"), (10, "failed")])
def test_a_percentile_that_a_few_requests_miss_by_chance_is_not_known(slow, verdict):
    """The slowest of 40 is their 99th percentile."""
    entry = stage([record(number, first=1.0 if number < slow else 0.1) for number in range(40)], {"ttft_p99_ms": 500})
    assert not entry["slo"][0]["met"] and result.verdict([entry], False, True)[0] == verdict


def in_time(wanted=None, rate=8.0, first=0.1):
    return stage([record(number, first=first) for number in range(200)], wanted, rate=rate)


def late(wanted=None, rate=16.0, first=0.1):
    """The client sent 120 ms late, and meets or misses the objective by `first`."""
    return stage([record(number, sent=0.12, first=first) for number in range(200)], wanted, rate=rate)


def blurred(wanted=None, rate=16.0, first=0.3):
    """A stage whose client read 50 ms late, which is a large share of the measured times, but within max_lag."""
    return stage([record(number, first=first) for number in range(200)], wanted, rate=rate, behind=50.0)


@pytest.mark.parametrize("ladder", [False, True], ids=["stages", "sweep"])
@pytest.mark.parametrize("stages", [[late], [in_time, late], [in_time, blurred]], ids=["late", "late at last", "blurred at last"])
def test_a_client_that_was_late_makes_every_run_without_objectives_invalid(stages, ladder):
    verdict, why = result.verdict([each() for each in stages], ladder, False)
    assert verdict == "invalid" and len(why) == 1 and "the client" in why[0]
    assert result.verdict([in_time()], ladder, False) == ("passed", [])


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ([late(SLO)], "invalid"),  # every objective met, by a client that was late: neither passed nor failed
        ([late(SLO, first=0.9)], "failed"),  # missed by more than that
        ([in_time(SLO), late(SLO)], "passed"),  # one rate that meets them is enough
        ([in_time(SLO, first=0.9)], "failed"),
        ([in_time(SLO, first=0.9), late(SLO, rate=4.0)], "invalid"),  # a lower rate may meet them
        ([in_time(SLO, first=0.9), blurred(SLO, rate=4.0)], "failed"),  # missed by more than the client was late
        ([in_time(SLO, first=0.9), blurred(SLO, rate=4.0, first=0.18)], "invalid"),
        ([blurred(SLO, first=0.12)], "invalid"),
    ],
)
def test_a_search_with_a_late_client(stages, expected):
    verdict, why = result.verdict(stages, True, True)
    assert verdict == expected and bool(why) == (expected != "passed")
    assert expected != "failed" or "misses the objective of at most 150" in why[0]


def test_figures_of_a_stage_by_hand():
    """Two requests, of 100 and 200 ms to the first token."""
    entry = stage([record(first=0.1), record(first=0.2)])
    assert (entry["label"], entry["rate"], entry["to_rate"], entry["concurrency"]) == ("rate 8", 8.0, None, None)
    assert entry["deviations"]["ttft"] == 70.711 and entry["deviations"]["e2e"] == 0.0  # 50 * sqrt(2)
    percentiles = entry["percentiles"]["ttft"]
    assert list(percentiles) == ["0.1", "1", "5", "10", "25", "50", "75", "90", "95", "99", "99.9"] and "queue" not in entry["percentiles"]
    assert list(percentiles.values()) == pytest.approx([100.0] * 6 + [200.0] * 5, rel=6e-4)
    assert (entry["input_len"]["mean"], entry["output_len"]["mean"]) == (64.0, 4.0)
    assert "series" in entry and "ok" in result.brief(entry) and not {"series", "cdf", "percentiles", "intervals"} & set(result.brief(entry))


def failing(failed, **kinds):
    """A stage of 20 requests that succeed, and others that fail by kind."""
    return stage(
        [*(record(number) for number in range(20)), *(record(error=kind, detail=kind) for kind, count in kinds.items() for _n in range(count))], failed
    )


def test_the_verdict_names_the_errors_behind_a_missed_error_rate():
    verdict, why = result.verdict([failing({"error_rate_max": 0.1}, timeout=1, http_503=4)], False, True)
    assert verdict == "failed" and why == ["rate 8: error_rate_max: 0.2 misses the objective of at most 0.1 (4 http_503, 1 timeout; one of them: timeout)"]


def test_a_run_without_a_successful_request_fails():
    failed = [record(error="http_503", detail="answered 503")] * 3
    assert result.verdict([stage([]), stage(failed), stage(failed[:2])], False, False) == ("failed", ["none of 5 requests succeeded: answered 503"])
    assert result.verdict([stage([])], False, False) == ("failed", ["none of 0 requests succeeded: nothing was sent"])
    # the other stage is enough for a verdict
    assert result.verdict([stage(failed), in_time()], False, False)[0] == "passed"


def test_the_verdict_lists_every_failed_stage_but_only_the_lowest_of_a_ladder():
    """A ladder stops where the objectives are missed: it failed by the outcome of its first rate."""
    missed = [in_time(SLO, rate=rate, first=0.9) for rate in (4.0, 8.0)]
    for ladder, rates in ((False, ["rate 4", "rate 8"]), (True, ["rate 4"])):
        verdict, why = result.verdict(missed, ladder, True)
        assert verdict == "failed" and [line.split(":")[0] for line in why] == rates
    # of a late client: what is clear of it, then that it was late
    late_too = [blurred({**SLO, "ttft_from_schedule_p50_ms": 320}, rate=rate) for rate in (4.0, 8.0)]
    for ladder, rates in ((False, ["rate 4", "rate 8", "rate 4", "rate 8"]), (True, ["rate 4", "rate 4", "rate 8"])):
        verdict, why = result.verdict(late_too, ladder, True)
        assert verdict == "failed" and [line.split(":")[0] for line in why] == rates


def test_a_miss_counts_where_the_client_was_not_too_late():
    """The objective is missed by 3 of 100 ms, of which 5 may be the client's own delay: the most that is allowed."""
    entry = stage([record(number) for number in range(200)], {"ttft_from_schedule_p90_ms": 97}, behind=5.0)
    assert entry["valid"] and not entry["slo"][0]["clear"] and result.verdict([entry], False, True)[0] == "failed"


def test_the_verdict_is_inconclusive_with_too_few_requests_for_an_objective():
    few = stage([record(number) for number in range(9)], SLO)
    assert result.verdict([in_time(SLO), few], False, True) == (
        "inconclusive", ["rate 8: ttft_from_schedule_p90_ms: 100 meets the objective of at most 150 (too few requests for this percentile)"],
    )  # fmt: skip
    several = {"ttft_from_schedule_p90_ms": 150, "ttft_p99_ms": 150}
    assert result.verdict([stage([record()], several, rate=rate) for rate in (1.0, 2.0, 4.0)], False, True) == (
        "inconclusive",
        [f"{name}: too few requests for this percentile at rate 1, rate 2, rate 4" for name in several],
    )
    # of a ladder the highest rate that meets them is the claim, whatever the others had
    ladder = [few, in_time(SLO, 16.0)]
    assert result.verdict(ladder, True, True) == ("passed", []) and result.best(ladder) == 16.0
    assert result.verdict([in_time(SLO, 4.0), few], True, True)[0] == "inconclusive"


@pytest.mark.parametrize(
    ("stages", "rate"),
    [
        ([in_time(SLO, 4.0), in_time(SLO, 16.0), in_time(SLO, 8.0)], 16.0),
        ([in_time(SLO, 4.0), in_time(SLO, 16.0, first=0.9)], 4.0),
        ([in_time(SLO, 4.0), late(SLO, 16.0)], 4.0),
        ([in_time(SLO, 4.0), stage([], rate=16.0)], 4.0),
        ([in_time(SLO, 4.0), {**in_time(SLO, 8.0), "to_rate": 16.0}], 4.0),
        ([{**in_time(SLO, 8.0), "rate": None}], None),
        ([in_time(rate=4.0), {**in_time(rate=8.0), "keeps_up": False}], 4.0),
        ([{**in_time(rate=8.0), "keeps_up": False}], None),
        ([{**in_time(SLO, 8.0), "keeps_up": False}], 8.0),
    ],
)
def test_the_highest_rate_that_met_every_objective(stages, rate):
    assert result.best(stages) == rate


def hist(*values):
    made = Hist()
    for value in values:
        made.add(value)
    return made


def figures(lengths=(), **values):
    """The intervals of a stage of which only some distributions are known, of one independent request a second. lengths: gaps of each answer."""
    totals = Totals()
    totals.gap_squares = sum(length**2 for length in lengths)
    for name, each in values.items():
        totals.hist[name] = hist(*each)
    for second in range(len(each)):
        totals.series.add(Record(second, 0, float(second), end=float(second)))
    return {name: each for name, each in result.intervals(totals).items() if not name.endswith("_per_s")}


def test_an_interval_of_a_percentile_by_hand():
    intervals = figures(e2e_from_schedule=[10.0 * number for number in range(1, 11)])
    assert intervals["e2e_from_schedule_p50_ms"] == {
        "value": pytest.approx(50, rel=6e-4),
        "low": pytest.approx(20, rel=6e-4),
        "high": pytest.approx(90, rel=6e-4),
        "few": None,
    }
    assert intervals["e2e_from_schedule_p90_ms"] == {
        "value": pytest.approx(90, rel=6e-4),
        "low": None,
        "high": None,
        "few": "not enough requests (10 of 36 needed)",
    }
    assert intervals["e2e_from_schedule_p99_ms"]["few"] == "not enough requests (10 of 368 needed)" and len(intervals) == 3


def test_gaps_count_as_many_times_as_there_are_answers():
    """The 90th percentile of 300 gaps in 30 answers is as certain as that of 30 requests. Answers without gaps have no percentile."""
    intervals = figures([10] * 30, itl=[90.0, 110.0] * 150, tpot=[100.0] * 30)
    assert intervals["itl_p90_ms"]["few"] == "not enough requests (30 of 36 needed)" and intervals["itl_p50_ms"]["low"] is not None
    assert "itl_p50_ms" not in figures([1], itl=[90.0])


def test_gaps_of_a_few_long_answers_count_as_few():
    """Two answers with 135 gaps each have nine tenths of 300 gaps; the 28 other answers, with a gap or two, add little."""
    intervals = figures([135] * 2 + [1] * 26 + [2] * 2, itl=[90.0, 110.0] * 150, tpot=[100.0] * 30)
    assert intervals["itl_p50_ms"]["few"] == "not enough requests (2 of 6 needed)"


def test_a_mean_has_no_interval():
    """If one answer of a hundred takes thirty times as long, it is a quarter of the mean, and a third of the samples of 110 contain no such answer."""
    assert not any("mean" in name for name in figures(ttft_from_schedule=[90.0, 110.0] * 500))


def answers(counts):
    """This number of answers of 4 tokens in each second."""
    return [
        record(number, planned=second + 0.5, sent=second + 0.5, first=second + 0.6, last=second + 0.7)
        for second, count in enumerate(counts)
        for number in range(count)
    ]


def test_an_interval_of_a_rate_by_hand():
    """26 answers in 5.7 s; 2, 4, 4, 6 in the whole seconds: a variance of 8 / 3, and of 4 values 3.182 standard errors, as a share of their mean."""
    intervals = stage(answers([9, 2, 4, 4, 6, 1]))["intervals"]
    share = 3.182 * math.sqrt(8 / 3 / 4) / 4
    for name, tokens in (("requests_per_s", 1), ("output_tokens_per_s", 4)):
        value = tokens * 26 / 5.7
        ends = {"low": pytest.approx(value * (1 - share), rel=0.02), "high": pytest.approx(value * (1 + share), rel=0.01)}
        assert intervals[name] == {"value": pytest.approx(value), **ends, "few": None}
    varied = stage(answers([9, 1, 9, 1, 9, 1]))["intervals"]["requests_per_s"]
    assert varied == {"value": pytest.approx(30 / 5.7), "low": None, "high": None, "few": "it varies too much; send for longer"}
    assert "requests_per_s" not in stage(answers([9, 0, 0, 0, 0, 1]))["intervals"] and "requests_per_s" not in stage(answers([9, 3, 3, 3, 1]))["intervals"]


def figure(value, low, high, few=None):
    return {"value": value, "low": low, "high": high, "few": few}


def compared(earlier, current, name="tpot_p50_ms", valid=(True, True)):
    before, after = ({"label": "rate 8", "valid": kept, "intervals": {name: each}} for kept, each in zip(valid, (earlier, current), strict=True))
    return result.compare([before], [after])


@pytest.mark.parametrize(
    ("earlier", "current", "ratio", "low", "high", "latency", "rate"),
    [
        # 2 * exp(-hypot(ln(200 / 180), ln(120 / 100))), 2 * exp(hypot(ln(230 / 200), ln(100 / 90)))
        ((100, 90, 120), (200, 180, 230), 2.0, 1.6202, 2.3826, "worse", "better"),
        ((200, 180, 230), (100, 90, 120), 0.5, 0.4197, 0.6172, "better", "worse"),
        ((100, 90, 120), (100, 80, 110), 1.0, 0.7496, 1.1527, "same", "same"),
        ((300, 300, 300), (100, 100, 100), 0.3333, 0.3333, 0.3333, "better", "worse"),
        ((100, 100, 100), (100, 100, 100), 1.0, 1.0, 1.0, "same", "same"),
    ],
)
def test_a_ratio_and_its_interval_by_hand(earlier, current, ratio, low, high, latency, rate):
    for name, verdict in (("tpot_p50_ms", latency), ("requests_per_s", rate), ("output_tokens_per_s", rate)):
        (row,) = compared(figure(*earlier), figure(*current), name)
        assert row == {
            "label": "rate 8", "name": name, "baseline": earlier[0], "measured": current[0], "ratio": ratio, "low": low, "high": high, "verdict": verdict,
            "why": None,
        }  # fmt: skip


@pytest.mark.parametrize(
    ("earlier", "current", "valid", "why"),
    [
        (
            figure(1.23456, 1, 2),
            figure(2.34567, None, None, "not enough requests (5 of 6 needed)"),
            (True, True),
            "this run: not enough requests (5 of 6 needed)",
        ),
        (figure(1.23456, None, None, "few"), figure(2.34567, 1, 3), (True, True), "baseline: few"),
        (figure(1.23456, 0.0, 2), figure(2.34567, 1, 3), (True, True), "baseline: not more than the client can tell from 0"),
        (figure(1.23456, 1, 2), figure(2.34567, 1, 3), (False, False), "baseline: the client was late"),
        (figure(1.23456, 1, 2), figure(2.34567, 1, 3), (True, False), "this run: the client was late"),
    ],
)
def test_figures_that_cannot_be_compared_are_listed_with_the_reason(earlier, current, valid, why):
    (row,) = compared(earlier, current, valid=valid)
    nothing = {"ratio": None, "low": None, "high": None, "verdict": "unknown"}
    assert row == {"label": "rate 8", "name": "tpot_p50_ms", "baseline": 1.235, "measured": 2.346, **nothing, "why": why}
    few = "not compared with the baseline for too few independent requests in either run (p50 needs 6, p90 needs 36, p99 needs 368): rate 8 (p50, p90)"
    line = few if "not enough" in why else f"rate 8: tpot_p50_ms, tpot_p90_ms: not compared with the baseline; {why}"
    assert result.uncompared([row, {**row, "name": "tpot_p90_ms"}]) == [line]


def test_stages_with_too_few_requests_are_listed_in_one_line():
    rows = []
    for label in ("rate 1", "rate 2", "rate 4"):
        for name in ("ttft_from_schedule", "e2e_from_schedule", "tpot", "itl"):
            rows += [{"label": label, "name": f"{name}_p{percent}_ms", "why": f"baseline: {why}"} for percent, why in TOO_FEW]
    (line,) = result.uncompared([*rows, {"label": "rate 8", "name": "tpot_p50_ms", "why": None}])
    assert line.endswith(": rate 1 (p50, p90, p99), rate 2 (p50, p90, p99), rate 4 (p50, p90, p99)") and "rate 8" not in line


TOO_FEW = (
    (50, "not enough requests (5 of 6 needed)"),
    (90, "not enough requests (40 depend on each other and count as 9 of 36 needed)"),
    (99, "the stage is too short (3 of 10 slices of 1 s needed)"),
)


def test_repeated_rates_are_compared_in_the_order_of_their_stages():
    """The rates go up and down again; the figures of a repeated rate differ, equally in both runs."""
    stages = [{"label": label, "valid": True, "intervals": {"tpot_p50_ms": figure(value, value - 1, value + 1)}} for label, value in TWICE]
    assert [(row["label"], row["measured"], row["ratio"], row["verdict"]) for row in result.compare(stages, stages)] == [(*each, 1.0, "same") for each in TWICE]
    assert [row["ratio"] for row in result.compare(stages[:2], stages)] == [1.0, 1.0]


TWICE = (("rate 8", 100), ("rate 16", 300), ("rate 8", 200))


def test_a_figure_of_zero_is_not_compared():
    for earlier, current in ((0, 1), (1, 0)):
        assert compared(figure(earlier, earlier, 2), figure(current, current, 2)) == []
    assert len(compared(figure(0.5, 0.4, 2), figure(0.5, 0.4, 2))) == 1


@pytest.mark.parametrize(
    ("name", "low", "high", "allowed", "worse"),
    [
        ("tpot_p50_ms", 1.26, 1.5, 1.25, True),
        ("tpot_p50_ms", 1.25, 1.5, 1.25, False),
        ("tpot_p50_ms", 0.5, 0.6, 1.25, False),
        ("requests_per_s", 0.7, 0.79, 1.25, True),
        ("requests_per_s", 0.7, 0.8, 1.25, False),
        ("output_tokens_per_s", 1.3, 1.5, 1.25, False),
    ],
)
def test_a_figure_is_worse_where_its_whole_interval_is(name, low, high, allowed, worse):
    row = {"label": "rate 8", "name": name, "baseline": 100.0, "measured": 140.0, "ratio": 1.4, "low": low, "high": high, "verdict": "worse", "why": None}
    lines = [f"rate 8: {name} is 140, 1.4 times the baseline's 100 (95 %: {low:g} to {high:g}), 1.25 allowed"]
    others = [{**row, "why": "few", "low": None, "verdict": "unknown"}, {**row, "verdict": "better", "low": None}]
    assert result.worse_than([*others, row], allowed) == (lines if worse else [])


@pytest.mark.parametrize(
    ("earlier", "current", "ratio", "low", "high", "verdict", "message"),
    [
        # its upper end lies where requests failed: 2 * exp(-hypot(ln(200 / 180), ln(120 / 100)))
        ((100, 90, 120), (200, 180, None), 2.0, 1.6202, None, "worse", "200, 2 times the baseline's 100 (95 %: at least 1.6202)"),
        ((200, 180, None), (100, 90, 120), 0.5, None, 0.6172, "better", None),
        # the figure itself does, and its known end is longer than the baseline may be
        ((100, 90, 120), (None, 180, None), None, 1.5, None, "worse", "that of a request that failed, against the baseline's 100 (95 %: at least 1.5)"),
        ((None, 180, None), (100, 90, 120), None, None, 0.6667, "better", None),
        # all of it does
        ((100, 90, 120), (None, None, None), None, None, None, "worse", "that of a request that failed, against the baseline's 100 (95 %: beyond any)"),
        ((None, None, None), (100, 90, 120), None, None, None, "better", None),
        # unknown
        ((100, 90, 120), (110, 95, None), 1.1, 0.8705, None, "unknown", None),
        ((100, 90, None), (200, 180, None), 2.0, None, None, "unknown", None),
        ((None, None, None), (None, None, None), None, None, None, "unknown", None),
    ],
)
def test_an_interval_that_reaches_failed_requests_is_judged_by_its_other_end(earlier, current, ratio, low, high, verdict, message):
    entries = [
        {"label": "rate 8", "valid": True, "failed": int(None in each), "requests": 9, "intervals": {"tpot_p50_ms": figure(*each)}}
        for each in (earlier, current)
    ]
    (row,) = result.compare(entries[:1], entries[1:])
    assert (row["ratio"], row["low"], row["high"], row["verdict"]) == (ratio, low, high, verdict)
    assert result.worse_than([row], 1.25) == ([f"rate 8: tpot_p50_ms is {message}, 1.25 allowed"] if message else [])
    assert (row["why"] is not None) == (verdict == "unknown") and (not row["why"] or "this run: 1 of 9 requests failed" in row["why"])


def test_a_run_that_loses_many_requests_does_not_pass_its_baseline():
    """With one request in six lost, the 90th percentile is that of a lost request, whatever times the others have."""
    good, bad = (
        [record(0, second / 10, second / 10, second / 10 + 0.1, second / 10 + 0.4, error=None if number % every else "http_503")
         for number, second in enumerate(range(400))]
        for every in (1000, 6)
    )  # fmt: skip
    base, current = stage(good[1:]), stage(bad)
    assert current["intervals"]["ttft_from_schedule_p90_ms"] == {"value": None, "low": None, "high": None, "few": None}
    assert any("ttft_from_schedule_p90_ms is that of a request that failed" in line for line in result.worse_than(result.compare([base], [current]), 1.2))


def test_a_stage_that_loses_all_requests_does_not_pass_its_baseline():
    base, lost = (
        stage([record(0, each / 10, each / 10, each / 10 + 0.1, each / 10 + 0.4, error=error) for each in range(400)]) for error in (None, "http_503")
    )
    rows = result.compare([base], [lost])
    assert {row["name"]: row["verdict"] for row in rows} == {
        f"{name}_from_schedule_p{percent}_ms": "worse" for name in ("ttft", "e2e") for percent in (50, 90, 99)
    }
    assert len(result.worse_than(rows, 5)) == 6
    assert {row["verdict"] for row in result.compare([lost], [base])} == {"better"}
    assert [row["why"] for row in result.compare([lost], [lost])] == ["baseline: 400 of 400 requests failed; this run: 400 of 400 requests failed"] * 6
    assert stage([])["intervals"] == {}


ABOUT = {
    "url": "http://a",
    "models": ["m"],
    "weights": {"a": 0.99, "b": 0.01},
    "workload": {"kind": "random", "input_len": 4, "think_seconds": 0},
    "warmup": {"rate": 2.0, "requests": 9},
    "host_header": None,
    "headers": {"x-model": "1f"},
    "temperature": 0.0,
    "api": "completions",
    "stream": True,
    "ignore_eos": True,
    "extra_body": {"n": "2e"},
    "arrivals": "poisson",
}


@pytest.mark.parametrize(
    ("change", "load", "noted"),
    [
        ({}, "", ""),
        ({"workload": {"kind": "random", "input_len": 512}}, "workload.input_len 512 there and 4 here", ""),
        ({"workload": {"kind": "trace", "path": "x"}}, "workload.kind 'trace' there and 'random' here", ""),
        # what was left out, what the kind does not use, and what did not exist yet
        ({"workload": {"kind": "random", "input_len": 4, "input_len_max": 9}}, "workload.input_len_max 9 there and None here", ""),
        ({"workload": {"kind": "random", "input_len": 4, "think_seconds": 5, "turns": 3}}, "", ""),
        ({"workload": {"kind": "random"}}, "", ""),
        ({"extra_body": {"n": "3a"}}, "extra_body.n '3a' there and '2e' here", ""),
        ({"extra_body": {}}, "extra_body.n None there and '2e' here", ""),
        ({"temperature": 1.0, "host_header": "a"}, "", "host_header 'a' there and None here, temperature 1.0 there and 0.0 here"),
        ({"weights": {"a": 0.01, "b": 0.99}}, "", "weights.a 0.01 there and 0.99 here, weights.b 0.99 there and 0.01 here"),
        (
            {"headers": {}, "warmup": {}},
            "",
            "headers.x-model None there and '1f' here, warmup.rate None there and 2.0 here, warmup.requests None there and 9 here",
        ),
        ({"stream": False, "api": "chat_completions"}, "api 'chat_completions' there and 'completions' here, stream False there and True here", ""),
        ({"models": ["other"], "url": "http://b"}, "", "models ['other'] there and ['m'] here, url 'http://b' there and 'http://a' here"),
        ({"seed": 7}, "", ""),
    ],
)
def test_a_baseline_of_another_load_is_not_compared(change, load, noted):
    differences = result.differing({**ABOUT, **change}, ABOUT, result.SAME_LOAD), result.differing({**ABOUT, **change}, ABOUT, result.NOTED)
    assert differences[0].startswith(load) and bool(differences[0]) == bool(load) and differences[1] == noted
    (row,) = result.compare([{"label": "rate 8", "valid": True, "intervals": {"tpot_p50_ms": figure(9, 8, 10)}}] * 1,
                            [{"label": "rate 8", "valid": True, "intervals": {"tpot_p50_ms": figure(9, 8, 10)}}], differences[0])  # fmt: skip
    assert (row["verdict"], row["why"]) == (("unknown", f"another load: {differences[0]}") if load else ("same", None))


def test_models_have_no_order():
    assert result.differing({"models": ["b", "a"]}, {"models": ["a", "b"]}, result.NOTED) == ""


@pytest.mark.parametrize("baseline", [None, [], {}, {"workload": 7}])
def test_an_empty_or_malformed_baseline_raises_no_error(baseline):
    assert bool(result.differing(baseline, ABOUT, result.SAME_LOAD)) == (baseline == {"workload": 7})
