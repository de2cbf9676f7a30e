# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Intervals of 95 % confidence contain the true value in 95 % of samples, and equal runs are judged equal. The samples are computed, with a seed."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import confidence, page, result
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.histogram import Hist
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.plan import Measured, Plan
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import Allowed, Totals
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Shape
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step

NORMAL = statistics.NormalDist()
# The value, in milliseconds, below which a share of the requests lies.
SERVERS = {
    "exponential": lambda share: -100 * math.log1p(-share),
    "heavy tail": lambda share: 100 * math.exp(NORMAL.inv_cdf(share)),
    "cache misses": lambda share: 30 + 5 * share / 0.8 if share < 0.8 else 800 + 400 * (share - 0.8),
}
SIZES = (20, 30, 36, 100, 200, 368, 700, 2000)


def tolerated(count):
    """The largest number of `count` intervals that may miss if 5 % miss on average: chance exceeds it once in 30,000 cases, and never with these seeds."""
    return 0.05 * count + 4 * math.sqrt(count * 0.05 * 0.95)


def shares(dice, count):
    return [dice.random() or 0.5 for _dummy in range(count)]


def hist(values):
    made = Hist()
    for value in values:
        made.add(value)
    return made


@pytest.mark.parametrize("count", SIZES)
def test_percentiles_are_in_their_intervals(count):
    """One distribution is enough, since only ranks count."""
    dice, tries, missed = random.Random(f"coverage {count}"), 10_000 // count + 60, dict.fromkeys((50, 90, 99), 0)
    for _dummy in range(tries):
        sample = hist(SERVERS["exponential"](share) for share in shares(dice, count))
        for percent in missed:
            ends = sample.interval(percent)
            assert (ends is None) == (count < confidence.needed(percent))
            if ends:
                missed[percent] += not ends[0] * 0.9995 <= SERVERS["exponential"](percent / 100) <= ends[1] * 1.0005
    assert all(each <= tolerated(tries) for each in missed.values())


def test_intervals_are_no_wider_than_they_must_be():
    """With one rank less on either side, the true value would lie outside on that side in more than 2.5 % of samples."""
    for count, percent in itertools.product((6, 20, 37, 400, 5000, 1_000_000), (50, 90, 99)):
        ranks = confidence.ranks(count, percent)
        assert (ranks is None) == (count < confidence.needed(percent))
        if ranks and count <= 5000:
            low, high = ranks
            share = percent / 100
            chance = [math.comb(count, number) * share**number * (1 - share) ** (count - number) if count < 1000 else None for number in range(count + 1)]
            if chance[0] is not None:
                assert math.fsum(chance[:low]) <= confidence.MISS < math.fsum(chance[: low + 1])
                assert math.fsum(chance[high:]) <= confidence.MISS < math.fsum(chance[high - 1 :])
        if ranks and count == 1_000_000:
            spread = 1.96 * math.sqrt(count * percent / 100 * (1 - percent / 100))
            assert ranks == pytest.approx((count * percent / 100 - spread, count * percent / 100 + spread), abs=2)
    assert [confidence.needed(percent) for percent in (50, 90, 99)] == [6, 36, 368]


@pytest.mark.parametrize(("count", "percent"), [(20, 90), (36, 90), (100, 90), (367, 99), (368, 99), (30, 75)])
def test_low_percentiles_mirror_high_ones(count, percent):
    ranks, mirrored = confidence.ranks(count, percent), confidence.ranks(count, 100 - percent)
    assert mirrored == (ranks and (count + 1 - ranks[1], count + 1 - ranks[0]))


@pytest.mark.parametrize(
    ("count", "factor", "near"),
    [
        (4, 3.182446, 8e-3),
        (5, 2.776445, 3e-3),
        (6, 2.570582, 1.3e-3),
        (10, 2.262157, 1.5e-4),
        (20, 2.093024, 1e-5),
        (30, 2.045230, 2e-6),
        (1000, 1.962341, 1e-6),
    ],
)
def test_student_s_factors(count, factor, near):
    """The factors approximate those of published tables, the more values, the closer."""
    assert confidence.student(count) == pytest.approx(factor, rel=near)


@pytest.mark.parametrize(("percent", "least"), [(50, 6), (75, 13), (25, 13), (90, 36), (10, 36), (99, 368), (1, 368), (99.9, 3688)])
def test_the_least_sample_size_of_an_interval_follows_from_its_percentile(percent, least):
    """The sample size at which all values lie on one side of the percentile with a probability of at most 2.5 %."""
    share = max(percent, 100 - percent) / 100
    assert confidence.needed(percent) == least and share**least <= 0.025 < share ** (least - 1)


SECONDS = 30  # of a stage


def stage(values, label=8.0, gaps=1, sent=0.0):
    """A stage whose requests have these times to the first token, in milliseconds, and the same times between pieces."""
    totals = Totals()
    for number, value in enumerate(values):
        due, first = number * SECONDS / len(values), value / 1000
        last = due + first * (1 + gaps)
        totals.add(Record(number, 0, due, due + sent, due + first, last, last, 200, 9, gaps + 1, gaps=[first] * gaps, chunks=gaps + 1))
    plan = Plan(None, None, Shape(), (), None, allowed=Allowed(0.1, 0))
    return result.stage(Measured(Step(rate=label, seconds=10), totals), plan)


def figures(values):
    """The label, validity and intervals of a stage, whose requests have only a time to first token."""
    return figures_of([(number * SECONDS / len(values), value) for number, value in enumerate(values)])


def figures_of(requests):
    """The label, validity and intervals of requests, each (due in seconds, milliseconds to the first token)."""
    totals = Totals()
    totals.hist["ttft_from_schedule"] = hist(value for _due, value in requests)
    for due, value in requests:
        totals.series.add(Record(0, 0, due, due, due + value / 1000, end=due))
    return {"label": "rate 8", "valid": True, "intervals": result.intervals(totals)}


def queue(dice, load, count):
    """`count` requests that come at random times and wait for one server, which takes 100 ms on average: when they were due, and how long they took."""
    now = free = 0.0
    requests = []
    for _number in range(1000 + count):
        now += dice.expovariate(10 * load)
        free = max(now, free) + dice.expovariate(10)
        requests.append((now, (free - now) * 1000))
    return [(due - requests[1000][0], value) for due, value in requests[1000:]]


@pytest.mark.rest
@pytest.mark.parametrize(("load", "percent", "held", "known"), [(0.5, 50, 0.95, 40), (0.5, 90, 0.9, 36), (0.7, 50, 0.9, 40), (0.7, 90, 0.85, 28)])
def test_intervals_hold_the_true_percentiles_of_requests_in_a_queue(load, percent, held, known):
    """Requests in a queue are slow together: the sample carries as much information as a smaller one, which may be too small for an interval.

    The time in such a queue is exponential. Intervals of independent requests held 54 and 36 % at 70 % load.
    """
    dice, truth = random.Random(f"queue {load}"), -100 / (1 - load) * math.log(1 - percent / 100)
    intervals = [figures_of(queue(dice, load, 1000))["intervals"][f"ttft_from_schedule_p{percent}_ms"] for _dummy in range(40)]
    complete = [each for each in intervals if not each["few"]]
    assert len(complete) >= known and sum(each["low"] <= truth <= each["high"] for each in complete) >= held * len(complete)
    assert all("depend on each other and count as" in each["few"] for each in intervals if each["few"])


@pytest.mark.rest
def test_equal_runs_with_queueing_are_rarely_judged_better_or_worse():
    """Figures that are unknown at 90 % load are not compared."""
    for load in (0.7, 0.9):
        dice, called, tries = random.Random(f"equal {load}"), 0, 25
        for _dummy in range(tries):
            rows = result.compare([figures_of(queue(dice, load, 1000))], [figures_of(queue(dice, load, 1000))])
            called += any(row["verdict"] in ("better", "worse") for row in rows)
        assert called <= tolerated(tries)


def test_correlated_values_count_as_fewer_independent_values():
    """Pairs of equal values carry as much information as half of them; values that alternate count as independent ones."""
    dice = random.Random("tied")
    values = [dice.gauss(0, 1) for _number in range(400)]
    alone, tied = confidence.variance_of_sum(values)
    assert tied == pytest.approx(1.0, abs=0.3) and alone == pytest.approx(400 * tied, rel=0.15)
    variance, twice = confidence.variance_of_sum([value for value in values for _dummy in range(2)])
    assert twice / tied == pytest.approx(2.0, rel=0.2) and variance / alone == pytest.approx(4.0, rel=0.2)
    assert confidence.variance_of_sum([1.0, -1.0] * 20)[1] == 1.0 and confidence.variance_of_sum([3.0] * 20) == (0.0, 1.0)


@pytest.mark.parametrize("count", SIZES)
def test_equal_runs_are_not_called_better_or_worse(count):
    """Equal runs are rarely judged different, and each figure that is unknown has a reason."""
    tries = 2_000 // count + 16
    called: dict[str, int] = {}
    for name, server in SERVERS.items():
        dice = random.Random(f"equal {name} {count}")
        for _dummy in range(tries):
            base, again = (figures([server(share) for share in shares(dice, count)]) for _dummy in range(2))
            for row in result.compare([base], [again]):
                key = f"{name} {row['name']}"
                called[key] = called.get(key, 0) + (row["verdict"] in ("better", "worse"))
                assert (row["verdict"] == "unknown") == bool(row["why"]) == (row["ratio"] is None)
                if row["name"].endswith("_p99_ms") and count < 368:
                    assert row["why"] == f"baseline: not enough requests ({count} of 368 needed)"
    assert len(called) == 3 * 3 and not {key: times for key, times in called.items() if times > tolerated(tries)}


def test_a_slower_run_is_called_worse():
    dice = random.Random("slower")
    base, slow = ([scale * SERVERS["exponential"](share) for share in shares(dice, 1000)] for scale in (1.0, 1.5))
    rows = {row["name"]: row for row in result.compare([stage(base)], [stage(slow)])}
    for name in ("p50", "p90", "p99"):
        assert rows[f"ttft_from_schedule_{name}_ms"]["verdict"] == "worse" and 1.2 < rows[f"ttft_from_schedule_{name}_ms"]["ratio"] < 1.9


def test_gaps_of_one_answer_are_no_requests():
    """All gaps of an answer count as one value, since a server is slow for a whole answer."""
    dice = random.Random("gaps")
    tries, called = 12, 0
    for _dummy in range(tries):
        base, again = (stage([SERVERS["exponential"](share) for share in shares(dice, 40)], gaps=100) for _dummy in range(2))
        rows = {row["name"]: row for row in result.compare([base], [again])}
        called += rows["itl_p50_ms"]["verdict"] in ("better", "worse")
        assert rows["itl_p99_ms"]["why"] == "baseline: not enough requests (40 of 368 needed)"
    assert called <= tolerated(tries)


@pytest.mark.rest
def test_inter_token_intervals_are_correct_for_answers_of_unequal_length():
    """Each answer has its own time between tokens, and one in ten has most of the tokens."""
    dice = random.Random("lengths")
    tries, held = 60, {50: 0, 90: 0}
    for _dummy in range(tries):
        totals = Totals({}, open_loop=True)
        for second in range(300):
            each, tokens = math.exp(0.5 * dice.gauss(0, 1)) / 100, 400 if dice.random() < 0.1 else 3
            ends = [second + each * number for number in range(1, tokens + 1)]
            record = Record(second, 0, float(second), float(second), ends[0], ends[-1], ends[-1], 200, output_tokens=tokens, gaps=[each] * (tokens - 1))
            totals.add(record)
        intervals = result.intervals(totals)
        for percent in held:
            truth = 10 * math.exp(0.5 * statistics.NormalDist().inv_cdf(percent / 100))
            figure = intervals[f"itl_p{percent}_ms"]
            held[percent] += bool(figure["few"]) or figure["low"] <= truth <= (math.inf if figure["high"] is None else figure["high"])
    assert all(times >= 0.9 * tries for times in held.values()), held


def test_a_stage_with_a_late_client_is_not_compared_with_the_baseline():
    good, late = stage([100.0] * 50), stage([200.0] * 50, sent=0.15)
    for base, current, run in ((good, late, "this run"), (late, good, "baseline")):
        rows = result.compare([base], [current])
        assert rows and {row["why"] for row in rows if "p99" not in row["name"]} == {f"{run}: the client was late"}
        assert result.worse_than(rows, 1.01) == [] and any("ttft_from_schedule_p50_ms" in line for line in result.uncompared(rows))


def test_the_page_lists_the_figures_that_are_not_compared():
    rows = result.compare([stage([100.0] * 50)], [stage([300.0] * 50)])
    text = page._comparison(rows, "models <a> there")
    assert (
        text.count("too few independent requests") == 1
        and "rate 8 (p99)" in text
        and "worse" in text
        and "None" not in text
        and "Models &lt;a&gt; there." in text
    )


@pytest.mark.parametrize("failed", [1, 30, 99])
def test_failed_requests_are_the_slowest_of_all(failed):
    """Percentiles and intervals of 1,000 requests, some of which failed, are the same as if the failed ones had taken very long."""
    values = [SERVERS["exponential"](share) for share in shares(random.Random(f"failed {failed}"), 1000 - failed)]
    whole, ends = hist([*values, *[1e9] * failed]), hist(values)
    for percent in (50, 90, 99):
        assert ends.percentile(percent, failed) == (value if (value := whole.percentile(percent)) < 1e8 else math.inf)
        low, high = whole.interval(percent)
        assert ends.interval(percent, lost=failed) == tuple(end if end < 1e8 else math.inf for end in (low, high))


def test_percentiles_that_depend_on_failures_are_reported_as_not_compared():
    good, bad = stage([100.0] * 400), Totals()
    for number in range(400):
        due = number * SECONDS / 400
        made = Record(number, 0, due, due, due + 0.1, due + 0.2, due + 0.2, 200, 9, 2)
        if number % 11 == 0:
            made.fail("http_503", "busy")
        bad.add(made)
    plan = Plan(None, None, Shape(), (), None, allowed=Allowed(0.1, 0))
    rows = {row["name"]: row for row in result.compare([good], [result.stage(Measured(Step(rate=8.0, seconds=10), bad), plan)])}
    assert rows["ttft_from_schedule_p50_ms"]["verdict"] == "same"
    assert rows["ttft_from_schedule_p90_ms"]["measured"] == 100.0 and rows["ttft_from_schedule_p90_ms"]["why"] == "this run: 37 of 400 requests failed"
    assert "-" in page._comparison(list(rows.values()), None)
