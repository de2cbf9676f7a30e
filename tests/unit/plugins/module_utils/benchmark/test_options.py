# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a measurement computes: distributions, times of requests, workloads, objectives, comparisons."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import random
import statistics
import sys

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import argument_spec, execute, result
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import options as perf_options
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import slo as perf_slo
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.histogram import Coarse, Hist
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.input_files import Files
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.output import COLUMNS, row
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.pace import Pace
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.plan import Ladder, Measured, Plan
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.rates import Rates
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.series import SLICES, Series
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import Allowed, Totals
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import schedule, traces, workloads
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.destination import LoadLimits
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Shape
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

# json names the value from Python 3.12 on.
NAMED = ": nan" if sys.version_info >= (3, 12) else ""
MIX = [{"name": "acme/tiny", "weight": 1.0}]
PREFIX = {"kind": "shared_prefix", "groups": 3, "prompts_per_group": 2, "system_prompt_len": 20, "question_len": 5, "output_len": 4}
CHATS = {"kind": "chats", "groups": 2, "turns": 3, "system_prompt_len": 20, "question_len": 5, "output_len": 4, "think_seconds": 0.5}


def filled(values, kind=Hist):
    made = kind()
    for value in values:
        made.add(value)
    return made


def record(number=0, planned=0.0, sent=0.0, first=0.1, last=0.4, tokens=4, **more):
    given = {"end": last, "status": 200, "prompt_tokens": 64, "output_tokens": tokens, "model": "acme/tiny", "chunks": tokens, **more}
    return Record(number, 0, planned, sent, first, last, **given)


def failure(number=0, kind="http_503", end=1.0, planned=0.0):
    return Record(number, 0, planned, planned, end=end, status=503, error=kind, detail="answered 503", model="acme/tiny")


def totals(*records, **good):
    made = Totals(good)
    for each in records:
        made.add(each)
    return made


@given(st.lists(st.floats(0.001, 1e7), min_size=1, max_size=300), st.floats(0.1, 100))
def test_percentiles_are_those_of_the_values(values, percent):
    rank = max(0, math.ceil(len(values) * percent / 100) - 1)
    assert filled(values).percentile(percent) == pytest.approx(sorted(values)[rank], rel=0.001)
    assert filled(values, Coarse).percentile(percent) == pytest.approx(sorted(values)[rank], rel=0.005)


@given(st.lists(st.floats(0, 1e6), max_size=50), st.lists(st.floats(0, 1e6), max_size=50))
def test_two_halves_are_the_whole_and_data_carries_it(left, right):
    whole, merged = filled(left + right), filled(left)
    merged.merge(pickle.loads(pickle.dumps(filled(right))))
    assert merged.counts == whole.counts and merged.n == whole.n and merged.low == whole.low and merged.high == whole.high
    assert merged.total == pytest.approx(whole.total)


def test_mean_and_ends_are_exact_and_an_empty_one_has_none():
    made = filled([1.0, 2.0, 4.5])
    assert (made.mean, made.low, made.high, made.deviation) == (2.5, 1.0, 4.5, pytest.approx(statistics.stdev([1.0, 2.0, 4.5])))
    assert Hist().summary()["p99"] is None and Hist().summary()["n"] == 0 and Hist().cdf() == []


def test_lost_requests_are_longer_than_any():
    made = filled([10.0] * 90)
    assert made.percentile(90, lost=10) == pytest.approx(10, rel=0.001) and made.percentile(91, lost=10) == math.inf
    assert Hist().percentile(50, lost=1) == math.inf


def test_memory_does_not_grow_with_the_values():
    dice = random.Random(1)
    made = filled(dice.lognormvariate(3, 1) for dummy in range(200_000))
    assert len(made.counts) < 12_000 and len(made.cdf()) <= 101


@examples(30)
@given(st.integers(0, 10_000))
def test_the_interval_of_the_median_lies_near_the_true_median(seed):
    dice = random.Random(seed)
    low, high = filled(dice.expovariate(1) for dummy in range(400)).interval(50)
    assert low <= high and low < math.log(2) * 1.35 and high > math.log(2) * 0.7


def test_the_number_of_time_slices_is_bounded_without_losing_requests():
    series = Series()
    for number in range(5000):
        series.add(record(number, planned=number, first=number + 0.1, last=float(number)))
    assert len(series.slices) <= SLICES and series.width == 64 and sum(each.ok for each in series.slices) == 5000
    assert series.rows()[3]["requests_per_s"] == 1.0 and series.rows()[3]["ttft_p50_ms"] == pytest.approx(100, rel=0.001)


def test_a_stage_by_hand():
    late = record(1, planned=0.1, sent=0.2, first=0.5, last=0.8, gaps=[0.1, 0.2])
    figures = totals(record(0), late, failure(), ttft_ms=200.0, tpot_ms=110.0).summary(Allowed(0.2, 0))
    assert (figures["requests"], figures["ok"], figures["failed"], figures["errors"]) == (3, 2, 1, {"http_503": 1}) and figures["error_rate"] == 0.33333
    assert figures["ttft_ms"]["max"] == pytest.approx(300) and figures["ttft_from_schedule_ms"]["max"] == pytest.approx(400)
    assert figures["tpot_ms"]["mean"] == pytest.approx(100) and figures["itl_ms"]["n"] == 2 and figures["ntpot_ms"]["min"] == pytest.approx(100)
    assert figures["send_lag_ms"]["max"] == pytest.approx(100) and figures["seconds"] == 1.0 and figures["output_tokens_per_s"] == 8.0
    # the second one's first token came 400 ms after it was due
    assert figures["goodput_per_s"] == 1.0 and figures["goodput_share"] == 0.33333 and figures["goodput_tokens_per_s"] == 4.0
    assert figures["late"] is None and figures["token_source"] == {"usage": 2}


def vars_of(span):
    return {name: getattr(span, name) for name in span.__slots__}


def test_merged_totals_of_two_clients_equal_those_of_one():
    """Every number of the merged totals equals that of one client with all requests; `client_lag` does not depend on a request."""
    records = [
        record(number, planned=number / 10, last=0.4 + number / 50, tokens=3 + number, prompt_tokens=20 + number, cached_tokens=number) for number in range(9)
    ]
    records.append(failure(9))
    left, right, whole = totals(*records[:4], ttft_ms=150), totals(*records[4:], ttft_ms=150), totals(*records, ttft_ms=150)
    for lag, stage in ((1.0, left), (7.0, right)):
        stage.client_lag.add(lag)
        whole.client_lag.add(lag)
    left.merge(right)
    for name, value in vars(whole).items():
        mine = getattr(left, name)
        if isinstance(value, Hist):
            assert value.n and mine.counts == value.counts, name
        elif isinstance(value, Pace):
            sums = [[getattr(each, part) for part in Pace.__slots__] for each in (mine, value)]
            assert value.n and sums[0] == pytest.approx(sums[1]), name
        elif isinstance(value, Rates):
            assert [vars_of(part) for part in (mine.inside, mine.whole)] == [
                vars_of(part) for part in (value.inside, value.whole)
            ] and mine.first == value.first
        elif name == "hist":
            assert {key: hist.counts for key, hist in mine.items()} == {key: hist.counts for key, hist in value.items()}
        elif name != "series":
            assert mine == value, name


def test_merged_clients_have_the_summary_and_series_of_a_single_client():
    records = [record(number, planned=number * 0.1, last=0.4 + number * 0.2) for number in range(20)] + [failure()]
    whole, left, right = totals(*records), totals(*records[:7]), totals(*records[7:])
    left.merge(right)
    assert left.summary(Allowed()) == whole.summary(Allowed()) and left.series.rows() == whole.series.rows()


def test_a_late_client_makes_a_run_invalid_and_not_slow():
    late = totals(*(record(number, planned=0.0, sent=0.3, first=0.4) for number in range(10))).summary(Allowed(0.1))
    assert "sent late" in late["late"] and late["ttft_ms"]["p50"] == pytest.approx(100, rel=0.001)
    stalled = totals(record())
    for lag in (0.5, 2000.0, 1980.0):
        stalled.client_lag.add(lag)
    assert "stalled" in stalled.lateness(Allowed(0.1)) and stalled.lateness(Allowed(3, 0)) is None


def lagged(lag, ttft=0.2, first=300, gap=0.01):
    """A stage of requests with this time to first token, in seconds, whose client was late by `lag` milliseconds in every 30th sample."""
    made = totals(*(record(number, first=ttft, last=ttft + 3 * gap, gaps=[gap] * 3) for number in range(first)))
    for number in range(900):
        made.client_lag.add(0.0 if number % 30 else lag)
    return made


@pytest.mark.parametrize(
    ("lag", "ttft", "allowed", "reason"),
    [
        (28.0, 0.2, Allowed(), "28.0 ms late at p99, where ttft_from_schedule_ms is 200.0, so that 14% of it may be its own, 10% allowed"),
        (28.0, 0.2, Allowed(share=0.2), None),
        (28.0, 0.2, Allowed(share=0), None),
        (18.0, 0.2, Allowed(), None),
        (28.0, 2.0, Allowed(), None),  # what is slow can be measured by a slow client
        (1.9, 0.004, Allowed(), None),
        (2.5, 0.004, Allowed(), "may be its own"),  # no host's timers are better than that
        (2.5, 0.2, Allowed(), None),
        (2.5, 0.2, Allowed(metrics=("ttft_from_schedule", "itl")), "p99, where itl_ms is 10.0, so that 25%"),
    ],
)
def test_a_client_may_be_late_by_a_share_of_what_it_measures(lag, ttft, allowed, reason):
    why = lagged(lag, ttft).lateness(allowed)
    assert why is None if reason is None else reason in why


def test_late_sends_are_a_share_of_the_time_from_the_schedule():
    """Late sends count only where they change the percentile: with one of 200 late, the 99th is valid."""

    def sent(late):
        return totals(*(record(number, sent=0.05 if late(number) else 0.0, first=0.25 if late(number) else 0.2) for number in range(200)))

    assert "50.0 ms late" in sent(lambda number: number % 5 == 0).lateness(Allowed()) and sent(lambda number: number == 7).lateness(Allowed()) is None
    assert sent(lambda number: number % 5 == 0).summary(Allowed())["client_share"] == pytest.approx(0.2, rel=0.01)


def test_every_option_of_a_body_reaches_the_requests():
    step = {"url": "http://a", "model": "m", "stages": [{"rate": 1, "seconds": 1}]}
    given = {"api": "chat_completions", "stream": False, "ignore_eos": False, "temperature": 0.5, "extra_body": {"top_p": 0.5}}
    assert perf_options.plan(argument_spec.complete({**step, **given})).shape == Shape("chat_completions", False, False, 0.5, (("top_p", 0.5),))
    assert perf_options.plan(argument_spec.complete(step)).shape == Shape()


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({"x-count": 10}, "headers.x-count: 10 is no text; write it in quotes"),
        ({"Content-Length": "1"}, "headers.Content-Length: this client writes it itself; take it out"),
        ({"x-two": "a\nb: c"}, "headers.x-two: "),
        ({"x two": "a"}, "headers.x two: 'x two' is no name of a header"),
        ({"": "a"}, "headers.: '' is no name of a header"),
        ({"x-two": "\u0142"}, "headers.x-two: the header 'x-two' holds a character"),
        ({"HOST": "a"}, "headers.HOST: this client writes it itself; write host_header instead"),
        ({"X-A": "a", "x-a": "b"}, "headers.x-a: is the same header as headers.X-A"),
        ({"authorization": "Basic x", "api_key": True}, "headers.authorization: api_key is sent in it; give one of them"),
    ],
)
def test_headers_that_cannot_be_sent_as_they_are_written(headers, problem):
    key = {"api_key": "sk-secret"} if headers.pop("api_key", None) else {}
    given = argument_spec.complete({"url": "http://a", "model": "m", "stages": [{"rate": 1, "seconds": 1}], "headers": headers, **key})
    problems = perf_options.problems(given)
    assert len(problems) == 1 and problems[0].startswith(problem)


@pytest.mark.parametrize(
    ("options", "metrics"),
    [
        ({}, ("ttft_from_schedule",)),
        ({"slo": {"error_rate_max": 0, "tpot_p90_ms": 9}}, ()),
        ({"slo": {"itl_p90_ms": 9}}, ("itl",)),
        ({"slo": {"error_rate_max": 0}, "baseline": "x"}, ("ttft_from_schedule",)),
        ({"goodput": {"itl_ms": 9, "e2e_ms": 9}, "slo": {"ttft_p50_ms": 1}}, ("ttft", "e2e_from_schedule", "itl")),
    ],
)
def test_objectives_select_the_latencies_checked_for_client_lateness(options, metrics):
    given = argument_spec.complete({"url": "http://a", "model": "m", "stages": [{"rate": 1, "seconds": 1}], **options})
    assert perf_options.plan(given).allowed == Allowed(0.1, 0.1, metrics)


@pytest.mark.parametrize(
    ("bound", "verdict"), [(150, "failed"), (171, "failed"), (173, "invalid"), (190, "invalid"), (210, "invalid"), (227, "invalid"), (229, "passed")]
)
def test_a_late_client_decides_only_what_it_could_change(bound, verdict):
    """200 ms were measured, of which 28 may be the client's."""
    rules = tuple(perf_slo.rules({"ttft_p99_ms": bound}))
    plan = Plan(None, None, Shape(), (), None, rules=rules, allowed=Allowed(metrics=("ttft",)))
    entry = result.stage(Measured(Step(rate=8, seconds=10), lagged(28.0)), plan)
    assert entry["late"] and entry["valid"] is (verdict != "invalid") and result.verdict([entry], False, True)[0] == verdict


def test_poisson_arrivals_are_independent_and_ramps_follow_their_rate():
    counts = [sum(moment < 5 for moment in schedule.times(Step(rate=100, seconds=10), seed, "poisson")) for seed in range(60)]
    # of 1000 requests, each in either half as it likes: a standard deviation of 15.8
    assert statistics.mean(counts) == pytest.approx(500, abs=8) and 11 < statistics.stdev(counts) < 21
    ramp = list(schedule.times(Step(rate=10, to_rate=90, seconds=10), 1, "constant"))
    assert len(ramp) == 500 and sum(moment < 5 for moment in ramp) == pytest.approx(150, abs=1)
    down = list(schedule.times(Step(rate=90, to_rate=10, seconds=10), 1, "constant"))
    assert len(down) == 500 and down == sorted(down)
    assert list(schedule.times(Step(rate=4, requests=3), 1, "constant")) == [0.0, 0.25, 0.5]


def test_equal_seeds_give_equal_request_times():
    def first(count):
        return list(itertools.islice(schedule.times(Step(rate=5, seconds=1000), 7, "poisson"), count))

    assert first(10) == first(20)[:10]


def test_stages_share_out_among_clients_without_loss():
    parts = [Step(concurrency=10, requests=101).share(index, 4) for index in range(4)]
    assert sum(part.concurrency for part in parts) == 10 and sum(part.requests for part in parts) == 101


def test_all_mistakes_of_stages_at_once():
    with pytest.raises(ValueError) as caught:
        schedule.steps([{"rate": 1}, {"concurrency": 0, "seconds": 1}, {"rate": 1, "concurrency": 1, "requests": 1}, {"rate": 1, "to_rate": 2, "requests": 3}])
    for message in ("stages[0]: give either seconds", "stages[1].concurrency: 0", "stages[2]: give either rate", "stages[3].to_rate"):
        assert message in str(caught.value)


def test_random_prompts_repeat_with_the_seed_and_differ_from_each_other():
    options = {"kind": "random", "input_len": 8, "input_len_max": 12, "output_len": 4}
    one, two = (workloads.source(options, Shape(), MIX, 1, "n") for dummy in range(2))
    bodies = [one.call(number).body for number in range(200)]
    assert bodies == [two.call(number).body for number in range(200)] and len(set(bodies)) == 200
    assert {len(json.loads(body)["prompt"].split()) for body in bodies} == {8, 9, 10, 11, 12}
    assert workloads.source(options, Shape(), MIX, 1, "other").call(0).body != bodies[0]


def test_groups_share_a_prefix():
    source = workloads.source(PREFIX, Shape(), MIX, 1, "n")
    calls = [source.call(number) for number in range(6)]
    by_group = {}
    for call in calls:
        by_group.setdefault(call.group, []).append(json.loads(call.body)["prompt"].split("\n"))
    assert len(by_group) == 3 and all(left[0] == right[0] and left[1] != right[1] for left, right in by_group.values())


def test_each_chat_turn_carries_the_previous_messages_and_answers():
    source = workloads.source(CHATS, Shape("chat_completions"), MIX, 1, "n")
    call, sent = source.call(0), []
    for turn in range(3):
        sent.append(json.loads(call.body)["messages"])
        answered = record(text=f"answer {turn}")
        after = source.follow(call, answered)
        assert call.turn == turn and call.keep_text == (turn < 2)
        if turn < 2:
            wait, call = after
            assert wait == 0.5
    assert after is None and [len(messages) for messages in sent] == [2, 4, 6] and sent[2][:2] == sent[0] and sent[2][4]["content"] == "answer 1"
    assert source.follow(source.call(1), failure()) is None


def test_models_are_drawn_by_weight():
    source = workloads.source({"kind": "random", "input_len": 1, "output_len": 1}, Shape(), [*MIX, {"name": "lora-a", "weight": 3.0}], 1, "n")
    drawn = [source.call(number).model for number in range(1000)]
    assert drawn.count("lora-a") == pytest.approx(750, abs=45) and json.loads(source.call(0).body)["model"] == drawn[0]


MOONCAKE = "\n".join(
    json.dumps(entry)
    for entry in (
        {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59]},
        {"timestamp": 30535, "input_length": 6472, "output_length": 26, "hash_ids": [46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 2366]},
    )
)
BURST = (
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n"
    "45,ChatGPT,1087,230,1317,Conversation log\n118,GPT-4,417,0,417,API log\n"
)


def test_a_trace_of_mooncake_shares_blocks_and_keeps_times():
    options = {"kind": "trace", "format": "mooncake", "block_len": 512, "speed": 2.0, "text": MOONCAKE}
    source = workloads.source(options, Shape(), MIX, 1, "n")
    first, second = (json.loads(source.call(number).body)["prompt"].split() for number in range(2))
    assert source.times() == [0.0, pytest.approx(1.5265)] and (len(first), len(second)) == (6955, 6472)
    assert first[: 12 * 512] == second[: 12 * 512] and first[12 * 512 : 6400] != second[12 * 512 : 6400] and source.call(1).output_len == 26


def test_a_trace_of_burstgpt_leaves_failed_requests_out():
    assert traces.trace(BURST, "burstgpt") == [traces.TraceEntry(5, 472, 18), traces.TraceEntry(45, 1087, 230)]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", "mooncake", "holds no request"),
        ("{", "mooncake", "line 1: no JSON"),
        ('{"timestamp": 1, "input_length": 0, "output_length": 2}', "mooncake", "input_length 0"),
        ('{"timestamp": "x", "input_length": 3, "output_length": 2}', "mooncake", "timestamp 'x'"),
        ('{"timestamp": 1, "input_length": 3, "output_length": 2, "hash_ids": 7}', "mooncake", "hash_ids"),
        ("a,b\n1,2\n", "burstgpt", "columns Timestamp, Request tokens, Response tokens are missing"),
        ("Timestamp,Request tokens,Response tokens\nnan,1,2\n", "burstgpt", "line 2: Timestamp 'nan'"),
    ],
)
def test_traces_that_are_none(text, kind, message):
    with pytest.raises(ValueError, match=message):
        traces.trace(text, kind)


def test_own_prompts_as_lines_or_json():
    chat = [{"role": "user", "content": "Why?"}]
    text = "Say hello.\n\n" + json.dumps({"prompt": "Count.", "output_len": 7}) + "\n" + json.dumps({"messages": chat, "model": "lora-a"})
    assert traces.prompts(text) == [("Say hello.", None, None), ("Count.", 7, None), (chat, None, "lora-a")]
    for bad in ('{"prompt": 1}', '{"messages": [1]}', "{", '{"prompt": "a", "output_len": 0}', ""):
        with pytest.raises(ValueError, match="line 1|no prompt"):
            traces.prompts(bad)


@given(st.text(max_size=200), st.sampled_from(["mooncake", "burstgpt", "prompts"]))
def test_any_text_is_read_or_refused(text, kind):
    try:
        entries = traces.prompts(text) if kind == "prompts" else traces.trace(text, kind)
    except ValueError as error:
        assert str(error)
    else:
        assert entries


def judged(slo, made):
    return {entry["name"]: entry for entry in perf_slo.judge(perf_slo.rules(slo), made, Allowed())}


def test_failures_count_against_objectives():
    good = [record(number) for number in range(95)]
    slo = {"ttft_p90_ms": 150, "ttft_p99_ms": 150, "error_rate_max": 0.01, "requests_per_s_min": 50, "itl_p99_ms": 10}
    alone, failing = judged(slo, totals(*good)), judged(slo, totals(*good, *(failure(number) for number in range(5))))
    assert alone["ttft_p99_ms"]["met"] and alone["error_rate_max"]["met"] and not alone["ttft_p99_ms"]["enough"]
    assert (
        failing["ttft_p90_ms"]["met"]
        and not failing["ttft_p99_ms"]["met"]
        and failing["ttft_p99_ms"]["measured"] is None
        and not failing["error_rate_max"]["met"]
    )
    assert failing["requests_per_s_min"]["met"] and not failing["itl_p99_ms"]["met"] and failing["ttft_p99_ms"]["enough"]
    assert "misses the objective of at most 150" in perf_slo.objective_line(failing["ttft_p99_ms"])


def test_an_objective_is_met_at_its_bound():
    made = totals(*(record(number) for number in range(95)), *(failure(number) for number in range(5)))
    rate = made.summary(Allowed())["requests_per_s"]
    assert judged({"requests_per_s_min": rate}, made)["requests_per_s_min"]["met"] and judged({"error_rate_max": 0.05}, made)["error_rate_max"]["met"]
    assert not judged({"requests_per_s_min": rate + 0.01}, made)["requests_per_s_min"]["met"]
    assert not judged({"error_rate_max": 0.0499}, made)["error_rate_max"]["met"]


def test_a_failed_request_counts_once_where_few_have_the_value():
    """Half of the answers have one token, and so no time per token: 10 failures are 10 of 60 values, and the 90th percentile is a failure."""
    some = [record(number, tokens=1 + 3 * (number % 2), last=0.4 if number % 2 else 0.1) for number in range(100)]
    made = totals(*some, *(failure(number) for number in range(10)))
    assert made.hist["tpot"].n == 50
    assert not judged({"tpot_p90_ms": 1000}, made)["tpot_p90_ms"]["met"] and judged({"tpot_p80_ms": 1000}, made)["tpot_p80_ms"]["met"]


def test_a_steady_rate_has_an_interval_and_one_that_jumps_has_none():
    def at(moments):
        return totals(*(record(number, planned=at, sent=at, first=at + 0.1, last=at + 0.4) for number, at in enumerate(moments)))

    dice = random.Random(1)
    steady = result.intervals(at(dice.uniform(0, 30) for _number in range(300)))["requests_per_s"]
    assert steady["low"] < steady["value"] < steady["high"] and steady["few"] is None
    jumps = result.intervals(at([*(number / 100 for number in range(300)), *range(4, 30)]))["requests_per_s"]
    assert jumps["low"] is None and jumps["few"] == "it varies too much; send for longer"


def test_all_mistakes_of_objectives_at_once():
    with pytest.raises(ValueError) as caught:
        perf_slo.rules({"ttft_p90": 1, "ttft_p99_9_ms": 5, "tpot_p50_ms": "soon", "goodput_min": 1, "error_rate_max": -1})
    assert all(f"slo.{name}" in str(caught.value) for name in ("ttft_p90", "tpot_p50_ms", "goodput_min", "error_rate_max"))
    assert "ttft_p99_9_ms" not in str(caught.value).split(";")[1]
    for name, value in (("error_rate_max", 5), ("goodput_share_min", 99)):
        with pytest.raises(ValueError, match=f"slo.{name}: {value} is not a share from 0 to 1; for {value} % write {value / 100:g}"):
            perf_slo.rules({name: value})
    with pytest.raises(ValueError, match="slo.error_rate_max: 1 always holds; for 1 % write 0.01"):
        perf_slo.rules({"error_rate_max": 1})
    assert perf_slo.rules({"error_rate_max": 0.99, "goodput_share_min": 1, "goodput_per_s_min": 99})
    assert perf_slo.rules({"ttft_p99_9_ms": 5})[0].percent == 99.9 and perf_slo.good_problems({"ttft": 1, "e2e_ms": 0, "tpot_ms": 5}) != []


def stage(*records, slo=None, label=8.0):
    plan = Plan(None, None, Shape(), (), None, rules=tuple(perf_slo.rules(slo or {})), allowed=Allowed(0.1, 0.5))
    return result.stage(Measured(Step(rate=label, seconds=10), totals(*records)), plan)


def test_verdicts():
    good = [record(number) for number in range(200)]
    slo = {"ttft_p90_ms": 150}
    late = stage(*(record(number, sent=0.3, first=0.35) for number in range(200)), slo=slo)
    assert result.verdict([stage(*good, slo=slo)], False, True) == ("passed", [])
    assert result.verdict([stage(*good, slo={"ttft_p90_ms": 50})], False, True)[0] == "failed"
    assert result.verdict([late], False, True)[0] == "invalid"
    assert result.verdict([stage(*good[:20], slo={"ttft_p99_ms": 150})], False, True)[0] == "inconclusive"
    assert result.verdict([stage(failure())], False, False) == ("failed", ["none of 1 requests succeeded: answered 503"])
    ladder = [stage(*good, slo=slo), stage(failure(), slo=slo, label=16.0)]
    assert result.verdict(ladder, True, True) == ("passed", []) and result.best(ladder) == 8.0


def drawn(seed, scale, count=800):
    dice = random.Random(seed)
    sent = [number / 40 for number in range(count)]
    return [record(0, due, due, due + 0.05 + dice.expovariate(10) * scale, due + 2.0 + dice.random() * 8) for due in sent]


def test_a_comparison_distinguishes_a_slowdown_from_chance():
    base, same, slower = stage(*drawn(1, 1.0)), stage(*drawn(2, 1.0)), stage(*drawn(3, 1.6))
    rows = {row["name"]: row for row in result.compare([base], [same])}
    assert rows["ttft_from_schedule_p50_ms"]["verdict"] == "same" and rows["ttft_from_schedule_p50_ms"]["low"] < 1 < rows["ttft_from_schedule_p50_ms"]["high"]
    compared = result.compare([base], [slower])
    rows = {row["name"]: row for row in compared}
    assert rows["ttft_from_schedule_p90_ms"]["verdict"] == "worse" and rows["ttft_from_schedule_p90_ms"]["ratio"] == pytest.approx(1.5, abs=0.25)
    assert any("ttft_from_schedule_p50_ms" in line for line in result.worse_than(compared, 1.1)) and result.worse_than(compared, 3.0) == []
    assert result.compare([], [slower]) == [] and result.compare([{**base, "label": "rate 9"}], [slower]) == []


def test_the_result_records_the_options_of_the_load_without_secrets():
    given = {
        "url": "http://a",
        "models": [{"name": "m", "weight": 3}, {"name": "n"}],
        "workload": {"kind": "prompts", "path": "/home/me/p.txt"},
        "headers": {"X-Key": "sesame", "Authorization": "Bearer sesame"},
        "extra_body": {"secret": "sesame", "n": 8},
        "warmup": {"rate": 2, "requests": 4},
        "stages": [{"rate": 1, "seconds": 1}],
    }

    def about(text="hi\n", **other):
        params = argument_spec.complete({**given, **other})
        return execute.about(perf_options.plan(params, text), params)

    recorded = about()
    assert "sesame" not in json.dumps(recorded) and list(recorded["headers"]) == ["x-key"] and sorted(recorded["extra_body"]) == ["n", "secret"]
    assert recorded["weights"] == {"m": 0.75, "n": 0.25} and recorded["warmup"] == {"rate": 2.0, "requests": 4} and len(recorded["workload"]["content"]) == 16
    here = {"workload": {"kind": "prompts", "path": "/home/you/p.txt"}, "api_key": "k", "headers": {"x-key": "sesame"}}
    assert result.differing(recorded, about(**here), (*result.SAME_LOAD, *result.NOTED)) == ""
    assert result.differing(recorded, about("ho\n"), result.SAME_LOAD).startswith("workload.content ")
    assert result.differing(recorded, about(headers={"X-Key": "open"}), result.NOTED).startswith("headers.x-key ")
    assert result.differing(recorded, about(extra_body={"n": 1}), result.SAME_LOAD).startswith("extra_body.n ")


def test_a_row_of_the_file_of_requests_holds_no_formula():
    cells = row(record(server="=cmd()", gaps=[0.1, 0.25]), Step(rate=2, seconds=1))
    values = dict(zip(COLUMNS, cells, strict=True))
    assert values["server"] == "'=cmd()" and values["ttft_ms"] == 100.0 and values["itl_max_ms"] == 250.0 and values["error"] is None


USUAL = {"url": "http://a", "model": "m", "stages": [{"rate": 1, "seconds": 1}]}
SWEEP = {"url": "http://a", "model": "m", "sweep": {"rate": 4}}
SEARCH = {"url": "http://a", "model": "m", "search": {"rate": 4}, "slo": {"ttft_p90_ms": 500}}


@pytest.mark.parametrize(
    ("about", "verdict", "message"),
    [
        ({"workload": {"kind": "random", "input_len": 7}}, "inconclusive", "another load: workload."),
        ({"models": ["other"]}, "passed", "the baseline differs in more than its time: models ['other'] there and ['m'] here"),
        (None, "passed", "it does not record what was measured"),
        ({}, "passed", ""),
    ],
)
def test_a_baseline_of_another_load_or_model_is_not_compared_without_a_word(about, verdict, message):
    params = argument_spec.complete({**USUAL, "baseline": "old.json", "baseline_max_ratio": 1.5})
    here = {"verdict": "passed", "why": [], "stages": [stage(*drawn(1, 1.0))], "about": execute.about(perf_options.plan(params), params)}
    old = {**here, "about": None if about is None else {**here["about"], **about}}
    settled, warnings = execute.brief(execute.settle(here, params, Files(baseline=old)))
    assert settled["verdict"] == verdict and message in " ".join(warnings)
    assert ("differs" in " ".join(warnings)) == (about is None or "models" in about)
    assert {row["verdict"] for row in settled["comparison"]} == ({"unknown"} if verdict == "inconclusive" else {"same"})


def problems_of(options):
    """The message for options with problems; None where they can be planned."""
    try:
        perf_options.plan(argument_spec.complete(options))
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**USUAL, "max_lag": 0.001, "pause": 0, "max_lag_share": 0, "temperature": 0, "in_flight": 1, "processes": 1, "wait": 0}, None),
        ({**USUAL, "max_lag": 0}, "max_lag: 0 must be more than 0"),
        ({**USUAL, "max_lag_share": 1, "baseline": "a", "baseline_max_ratio": 1}, None),
        ({**USUAL, "max_lag_share": 10}, "max_lag_share: 10 must be 1 or less, since it is a share; for 5 % write 0.05"),
        ({**USUAL, "baseline": "a", "baseline_max_ratio": 0.5}, "baseline_max_ratio: 0.5 must be 1 or more, as many times as worse is allowed"),
        ({**USUAL, "max_lag": math.inf}, "max_lag: inf must be more than 0"),
        ({**USUAL, "processes": 0}, "processes: 0 must be more than 0"),
        ({**USUAL, "request_timeout": -1.5}, "request_timeout: -1.5 must be more than 0"),
        ({**USUAL, "temperature": -0.1}, "temperature: -0.1 must be 0 or more"),
        ({**USUAL, "pause": math.nan}, "pause: nan must be 0 or more"),
        ({**USUAL, "workload": {"think_seconds": -1}}, "workload.think_seconds: -1 must be 0 or more"),
        ({**USUAL, "workload": {"speed": 0}}, "workload.speed: 0 must be more than 0"),
        ({**USUAL, "job": {"namespace": "a", "image": "b", "timeout": 0}}, "job.timeout: 0 must be more than 0"),
        ({**USUAL, "workload": {"input_len": 1, "output_len": 1}}, None),
        ({**USUAL, "workload": {"output_len": 0}}, "workload.output_len: 0 must be 1 or more"),
        ({**USUAL, "workload": {"kind": "chats", "turns": 0, "groups": -1}}, "workload.groups: -1 must be 1 or more; workload.turns: 0 must be 1 or more"),
        ({**USUAL, "workload": {"kind": "random", "turns": 0}}, None),  # it has no effect there
        ({**USUAL, "workload": {"input_len": 8, "input_len_max": 8}}, None),
        ({**USUAL, "workload": {"input_len": 8, "input_len_max": 7}}, "workload.input_len_max: 7 is less than input_len, 8"),
        ({**USUAL, "workload": {"kind": "prompts"}}, "workload.path: the file is missing; prompts are read from one"),
        ({**USUAL, "path": "/team"}, None),
        ({**USUAL, "path": "team"}, "path: 'team' must begin with '/'"),
        ({**USUAL, "url": "ftp://a"}, "url: 'ftp://a' is no address of a server; write http://HOST[:PORT] or https://HOST[:PORT]"),
        ({**USUAL, "path": "/a b"}, "path: '/a b' has a blank or another character that no path has; write it percent-encoded: /a%20b"),
        (
            {**USUAL, "path": "/\u017c\u00f3\u0142w"},
            "path: '/\u017c\u00f3\u0142w' has a blank or another character that no path has; write it percent-encoded: /%C5%BC%C3%B3%C5%82w",
        ),
        ({**USUAL, "url": "http://a/b c"}, "url: 'http://a/b c' has a blank or another character that no path has; write it percent-encoded: /b%20c"),
        ({**USUAL, "api_key": "a\nb"}, "host_header, api_key: the header 'Authorization' holds a character that headers cannot hold"),
        ({**USUAL, "host_header": "a\nb"}, "host_header, api_key: the header 'Host' holds a character that headers cannot hold"),
        *(
            ({**USUAL, "host_header": host}, f"host_header: {host!r} is no name of a host; write HOST or HOST:PORT, without a blank, a scheme or a path")
            for host in ("a b", "http://a", "a/b", "u@a", "a.example ")
        ),
        *(({**USUAL, "host_header": host}, None) for host in ("a_b.example:80", "[::1]:80", "")),
        ({**USUAL, "model": ""}, "model: the name is missing; write the one under which the server serves its model"),
        ({**USUAL, "extra_body": {"x": math.nan}}, f"extra_body: Out of range float values are not JSON compliant{NAMED}"),
        ({**USUAL, "extra_body": {"x": {1}}}, "extra_body: Object of type set is not JSON serializable"),
        ({**USUAL, "goodput": {"e2e_ms": 0}}, "goodput.e2e_ms: 0 is not a number above 0"),
        ({**USUAL, "slo": {"ttft_p90_ms": -1}}, "slo.ttft_p90_ms: -1 is not a number of at least 0"),
        ({**USUAL, "stages": [{"rate": 0, "seconds": 1}]}, "stages[0].rate: 0 must be more than 0"),
        ({"url": "http://a", "model": "m"}, "stages: give at least one, such as {concurrency: 64, seconds: 60}, or sweep, or search"),
        ({**SWEEP, "sweep": {"factor": 1.001, "rate": 4, "rate_max": 4}}, None),
        ({**SWEEP, "sweep": {"factor": 1}}, "sweep.factor: 1 must be more than 1"),
        ({**SWEEP, "sweep": {"rate": 4, "rate_max": 3.5}}, "sweep.rate_max: 3.5 is less than rate, 4; write a rate that is allowed"),
        ({**SWEEP, "sweep": {"rate": 4, "rate_max": 0.5}}, "sweep.rate_max: 0.5 is less than rate, 4; write a rate that is allowed"),
        ({**SWEEP, "sweep": {"rate": 4, "rate_max": 0}}, "sweep.rate_max: 0 must be more than 0"),
        ({**SWEEP, "sweep": {"most": 0}}, "sweep.most: 0 must be more than 0"),
        (SEARCH, None),
        ({**SEARCH, "slo": {}}, "slo: a search needs objectives to meet, such as {ttft_p90_ms: 500}"),
        ({**SEARCH, "search": {"tolerance": 0}}, "search.tolerance: 0 must be more than 0"),
        ({**SEARCH, "search": {"tolerance": 1}}, None),
        ({**SEARCH, "search": {"tolerance": 5}}, "search.tolerance: 5 must be 1 or less, since it is a share; for 5 % write 0.05"),
    ],
)
def test_a_mistake_in_the_options(options, message):
    assert problems_of(options) == message


def test_all_mistakes_in_the_options_at_once():
    message = problems_of({**USUAL, "max_lag": 0, "stages": [{"rate": 0, "seconds": 1}], "slo": {"x": 1}})
    assert message.startswith("max_lag: 0 must be more than 0; stages[0].rate: 0 must be more than 0; slo.x: no such objective")


@pytest.mark.parametrize(("weight", "good"), [(0.5, True), (0, False), (-1, False), (math.inf, False)])
def test_the_weight_of_a_model_is_more_than_0(weight, good):
    options = {"url": "http://a", "models": [{"name": "a", "weight": 1}, {"name": "b", "weight": weight}], "stages": [{"rate": 1, "seconds": 1}]}
    assert problems_of(options) == (None if good else f"models[1].weight: {float(weight)} must be more than 0")


def test_a_single_model_has_all_requests():
    assert perf_options.models(argument_spec.complete(USUAL)) == [{"name": "m", "weight": 1.0}] and perf_options.models({"model": "", "models": None}) == []


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"sweep": {}}, ("sweep", 1.0, 2.0, math.inf, 30.0, 12, 0.05)),
        ({"sweep": {"rate": 4, "factor": 1.5, "rate_max": 64, "seconds": 10, "most": 5}}, ("sweep", 4.0, 1.5, 64.0, 10.0, 5, 0.05)),
        ({"search": {"rate": 4, "tolerance": 0.2}, "slo": {"ttft_p90_ms": 500}}, ("search", 4.0, 2.0, math.inf, 30.0, 12, 0.2)),
    ],
)
def test_sweep_and_search_options_become_a_ladder_of_rates(given, wanted):
    made = perf_options.plan(argument_spec.complete({"url": "http://a", "model": "m", **given}))
    assert made.ladder == Ladder(*wanted) and made.steps == () and perf_options.plan(argument_spec.complete(USUAL)).ladder is None


def test_the_usual_options_become_a_plan_with_defaults():
    made = perf_options.plan(argument_spec.complete({**USUAL, "url": "http://a/v1/", "warmup": {"rate": 2, "requests": 3}, "headers": {"x-a": "b"}}))
    assert (made.destination.url, made.models, made.seed, made.arrivals, made.pause, made.rules, made.good) == ("http://a", ("m",), 42, "poisson", 1.0, (), ())
    assert made.steps == (Step(rate=1.0, seconds=1.0),) and made.warmup == Step(rate=2.0, requests=3, warmup=True)
    assert made.limits == LoadLimits(300.0, 10000)


@pytest.mark.parametrize(
    ("extra", "steps"),
    [
        ({}, (Step(trace=True, requests=2),)),
        ({"warmup": {"rate": 2, "requests": 3}}, (Step(trace=True, requests=2),)),
        ({"stages": [{"rate": 1, "seconds": 1}]}, (Step(rate=1.0, seconds=1.0),)),
        ({"sweep": {}}, ()),
        ({"search": {}, "slo": {"ttft_p90_ms": 500}}, ()),
    ],
)
def test_a_trace_is_sent_at_its_recorded_times_unless_a_load_is_given(extra, steps):
    options = {"url": "http://a", "model": "m", "workload": {"kind": "trace", "path": "trace.jsonl"}, **extra}
    assert perf_options.plan(argument_spec.complete(options), MOONCAKE).steps == steps


def test_a_mistake_in_a_file_names_the_file():
    options = {**USUAL, "workload": {"kind": "trace", "path": "trace.jsonl"}}
    with pytest.raises(ValueError, match="^workload.path trace.jsonl: .*line 1: no JSON"):
        perf_options.plan(argument_spec.complete(options), "{")
