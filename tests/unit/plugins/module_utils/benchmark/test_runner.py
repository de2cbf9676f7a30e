# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests of a measurement, their times and its end: in virtual time, with computed servers. When a sweep calls a server saturated."""

from __future__ import annotations

import json
import math
import random

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import argument_spec, result, runner
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import options as perf_options
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.plan import Measured, Plan
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.runner import Runner, Unusable
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import Totals
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import schedule
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Shape
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step
from virtual_time import Server, VirtualLoop

WORKLOAD = {"input_len": 4, "output_len": 2}
CHATS = {"kind": "chats", "groups": 1, "turns": 3, "system_prompt_len": 4, "question_len": 2, "output_len": 2, "think_seconds": 5}
TRACE = "".join(json.dumps({"timestamp": at, "input_length": 4, "output_length": 2, "hash_ids": [1]}) + "\n" for at in (7000, 7500, 9000))


@pytest.fixture(name="measure")
def measurement(monkeypatch):
    """measure(server, **options of vllm_perf): the runner after its end, and the seconds at which each request was sent, from the first measured one on."""

    def measure(server, text=None, **given):
        options = {"url": "http://127.0.0.1:1", "model": "acme/tiny", "arrivals": "constant", "workload": WORKLOAD, **given}
        monkeypatch.setattr(runner, "LoadClient", server.client)
        made = Runner(perf_options.plan(argument_spec.complete(options), text), say=lines.append)
        loop = VirtualLoop()
        try:
            loop.run_until_complete(made.run())
        finally:
            loop.close()
        # The first request is the one beforehand.
        return made, [round(moment - server.sent[1][0], 6) for moment, _call in server.sent[1:]]

    lines = measure.lines = []
    return measure


def test_an_open_loop_keeps_its_schedule_regardless_of_the_server(measure):
    for server in (Server(), Server(takes=40.0), Server(rate=0.5)):
        made, sent = measure(server, stages=[{"rate": 4, "seconds": 2}])
        assert sent == [0.25 * number for number in range(8)]
        (measured,) = made.measured
        assert measured.totals.ok == 8 and measured.totals.hist["ttft_from_schedule"].percentile(100) == pytest.approx(
            1000 * max(server.takes, 8 / server.rate - 1.75 if server.rate < 4 else 0), abs=1
        )


def test_a_closed_loop_keeps_so_many_in_flight_until_all_are_sent(measure):
    server = Server(takes=0.5)
    made, sent = measure(server, stages=[{"concurrency": 4, "requests": 10}])
    assert sent == [0.0] * 4 + [0.5] * 4 + [1.0] * 2 and server.most == 4
    assert made.measured[0].totals.ok == 10


def test_a_closed_loop_ends_when_its_time_is_over(measure):
    _made, sent = measure(Server(takes=0.75), stages=[{"concurrency": 2, "seconds": 2}])
    assert sent == [0.0, 0.0, 0.75, 0.75, 1.5, 1.5]


@pytest.mark.parametrize(
    ("server", "load", "rate"),
    [
        (Server(takes=5.0), {"rate": 2, "seconds": 10}, 2.0),  # idle
        (Server(takes=60.0), {"rate": 2, "seconds": 10}, 2.0),
        (Server(rate=3.0, takes=5.0), {"rate": 8, "seconds": 10}, 3.0),  # saturated
        (Server(takes=0.5), {"concurrency": 4, "requests": 10}, 8.0),
        (Server(takes=0.75), {"concurrency": 2, "seconds": 2}, 2 / 0.75),
    ],
)
def test_rates_are_those_of_the_load_and_not_of_the_drain(measure, server, load, rate):
    (measured,) = measure(server, stages=[load], slo={"requests_per_s_min": 0.95 * rate})[0].measured
    assert measured.totals.rates.per_second("ok") == pytest.approx(rate, rel=1e-6)


def test_a_closed_loop_with_more_places_than_requests_lasts_until_the_first_answer(measure):
    """Each request takes 0.1 ms to send: when the last one is sent, none has been in flight for long enough to count."""
    server = Server(takes=0.5, stalls=dict.fromkeys(range(4), 1e-4))
    (measured,) = measure(server, stages=[{"concurrency": 64, "requests": 4}])[0].measured
    assert measured.totals.rates.until == pytest.approx(0.5, rel=0.01) and measured.totals.rates.per_second("ok") == pytest.approx(8.0, rel=0.01)


def test_a_server_that_refuses_connections_is_not_retried_in_a_busy_loop(measure):
    """A server that answers gets the next request at once, whatever it answers."""
    _made, sent = measure(Server(error="refused", begins=2), stages=[{"concurrency": 2, "seconds": 1}])
    assert 2 + 2 * 9 <= len(sent) <= 2 + 2 * 11
    _made, sent = measure(Server(error="http_503", takes=0.01), stages=[{"concurrency": 2, "seconds": 1}])
    assert 2 * 99 <= len(sent) <= 2 * 101


@pytest.mark.parametrize("load", [{"concurrency": 4, "seconds": 60}, {"concurrency": 4, "requests": 1000}, {"rate": 4, "seconds": 60}])
def test_a_client_without_connections_ends_its_stage_and_does_not_blame_the_server(measure, load):
    made, sent = measure(Server(error="client", begins=6, takes=0.1), stages=[load], slo={"error_rate_max": 0})
    (measured,) = made.measured
    assert measured.totals.ok == 6 and 1 <= measured.totals.failed <= 4 and len(sent) <= 10
    verdict, why = result.verdict([result.stage(measured, made._plan)], False, True)
    assert verdict == "invalid" and "the client's own host" in why[0]


def test_stages_follow_one_another_with_a_pause_and_the_warm_up_does_not_count(measure):
    server, stages = Server(takes=0.5), [{"concurrency": 1, "requests": 2}, {"rate": 1, "requests": 1}]
    made, sent = measure(server, pause=3, warmup={"concurrency": 1, "requests": 1}, stages=stages)
    assert sent == [0.0, 3.5, 4.0, 7.5] and [call.number for _moment, call in server.sent] == [-1, 0, 1, 2, 3]
    assert [(measured.step.label, measured.totals.ok) for measured in made.measured] == [("concurrency 1", 2), ("rate 1", 1)]


def test_each_chat_turn_is_sent_after_the_previous_answer_and_think_time(measure):
    server = Server(takes=1.0)
    made, sent = measure(server, workload=CHATS, api="chat_completions", stages=[{"concurrency": 1, "requests": 2}])
    assert sent == [0.0, 6.0, 12.0, 13.0, 19.0, 25.0] and [call.turn for _moment, call in server.sent[1:]] == [0, 1, 2] * 2
    assert made.measured[0].totals.requests == 6


def test_the_time_of_a_closed_loop_ends_its_chats(measure):
    assert measure(Server(takes=1.0), workload=CHATS, stages=[{"concurrency": 1, "seconds": 6.5}])[1] == [0.0, 6.0]


def test_a_trace_is_sent_at_its_times_and_speed_even_after_a_warm_up(measure):
    options = {"text": TRACE, "workload": {"kind": "trace", "speed": 2, "block_len": 4, "path": "trace.jsonl"}}
    assert measure(Server(), **options)[1] == [0.0, 0.25, 1.0]
    server = Server()
    made, sent = measure(server, warmup={"rate": 10, "requests": 2}, pause=1, **options)
    assert [round(moment - sent[2], 6) for moment in sent[2:]] == [0.0, 0.25, 1.0] and made.measured[0].totals.requests == 3
    assert [call.number % 3 for _moment, call in server.sent[3:]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("server", "sweep", "rates", "limited"),
    [
        ({"rate": 50}, {"rate": 20, "factor": 3, "seconds": 5}, [20, 60], None),
        ({"rate": 50, "takes": 8.0}, {"rate": 20, "factor": 3, "seconds": 5}, [20, 60], None),
        ({"takes": 8.0}, {"rate": 10, "seconds": 5, "most": 2}, [10, 20], "not saturated at 20 requests/s"),
        ({"rate": 500}, {"rate": 30, "factor": 4, "rate_max": 100, "seconds": 5}, [30, 100], "not saturated at 100 requests/s"),
        ({"error": "http_503"}, {"rate": 20, "seconds": 5}, [20], "saturated at 20 requests/s already"),
        ({"rate": 50}, {"rate": 90, "factor": 3, "seconds": 5}, [90], "saturated at 90 requests/s already"),
    ],
    ids=["a queue", "a queue and long answers", "idle with long answers", "up to rate_max", "failures", "too high from the first"],
)
def test_a_sweep_ends_at_saturation(measure, server, sweep, rates, limited):
    made, _sent = measure(Server(**server), sweep=sweep)
    assert [measured.step.rate for measured in made.measured] == rates
    assert made.limited is None if limited is None else limited in made.limited


@pytest.mark.parametrize(
    ("rate", "sweep", "best"),
    [
        (50, {"rate": 28.5, "factor": 2, "seconds": 30}, 28.5),  # 57 is not so much more that the sweep ends there
        (50, {"rate": 24, "factor": 2, "seconds": 10}, 48),
        (10, {"rate": 20, "factor": 2, "seconds": 10}, None),
        (0.2, {"rate": 1, "factor": 2, "seconds": 2}, None),  # two requests are too few to know
    ],
)
def test_the_best_rate_of_a_sweep_is_the_highest_one_the_server_sustains(measure, rate, sweep, best):
    made, _sent = measure(Server(rate=rate), sweep=sweep)
    plan = Plan(None, None, Shape(), (), None)
    assert result.best([result.stage(each, plan) for each in made.measured]) == best


@pytest.mark.parametrize("rate", [17.0, 95.0, pytest.param(400.0, marks=pytest.mark.rest)])
def test_a_search_finds_the_highest_rate_that_meets_the_objective(measure, rate):
    """From 1.06 times `rate` on, the queue takes more than half a second at the end of ten seconds."""
    made, _sent = measure(Server(rate=rate), search={"rate": 10, "seconds": 10, "tolerance": 0.02, "most": 20}, slo={"ttft_from_schedule_p90_ms": 500})
    rates = [measured.step.rate for measured in made.measured]
    best = result.best([result.stage(each, Plan(None, None, Shape(), (), None, rules=made._plan.rules)) for each in made.measured])
    assert rate <= best * 1.02 and best <= 1.06 * rate and made.limited is None
    assert rates[1] == 20 and max(rates) <= 2 * 1.06 * rate and len(rates) <= 14


class OnceSlow(Server):
    """One answer of 150 takes two seconds more, so that the 99th percentile is not slow."""

    def answered(self, now):
        return super().answered(now) + (2.0 if len(self.sent) % 150 == 30 else 0)


@pytest.mark.parametrize("rate", [2, 8])
def test_a_search_does_not_turn_at_a_rate_that_sends_too_few_requests_to_know(measure, rate):
    """The first rate sends 40 requests, one of which is slow."""
    search = {"rate": rate, "factor": 2, "seconds": 20, "most": 12, "tolerance": 0.1}
    made, _sent = measure(OnceSlow(rate=20, takes=0.05), search=search, slo={"ttft_from_schedule_p99_ms": 500})
    rates = [each.step.rate for each in made.measured]
    stages = [result.stage(each, Plan(None, None, Shape(), (), None, rules=made._plan.rules)) for each in made.measured]
    assert rates[1] == 2 * rate and result.best(stages) == pytest.approx(20, rel=0.1) and result.verdict(stages, True, True) == ("passed", [])


def test_a_search_turns_at_a_rate_of_which_all_requests_are_too_slow(measure):
    """Even a few requests suffice if all are too slow, since that cannot be chance."""
    made, _sent = measure(Server(takes=2.0), search={"rate": 2, "seconds": 20, "most": 3}, slo={"ttft_from_schedule_p99_ms": 500})
    assert [each.step.rate for each in made.measured] == [2, 1, 0.5]


def test_a_search_reports_that_its_highest_rate_sends_too_few_requests(measure):
    made, _sent = measure(OnceSlow(), search={"rate": 2, "rate_max": 2, "seconds": 20}, slo={"ttft_from_schedule_p99_ms": 500})
    assert made.limited == "20 s at 2 requests/s are too few requests for the percentiles of the SLO; send for longer"


def test_a_search_reports_that_it_reached_its_highest_rate_or_last_try(measure):
    options = {"slo": {"ttft_p90_ms": 500}}
    assert "met at 40 requests/s, the highest rate" in measure(Server(), search={"rate": 10, "rate_max": 40, "seconds": 1}, **options)[0].limited
    assert "2 rates were tried; the answer lies between 20 and inf" in measure(Server(), search={"rate": 10, "seconds": 1, "most": 2}, **options)[0].limited


def test_progress_is_reported_every_two_seconds_and_at_the_end(measure):
    measure(Server(takes=0.25), stages=[{"rate": 2, "seconds": 5}])
    assert [line.partition(" in flight")[0] for line in measure.lines] == [
        "rate 2: 2 s, 4 ended (2.0/s), 0",
        "rate 2: 4 s, 8 ended (2.0/s), 0",
        "rate 2: 5 s, 10 ended (2.1/s), 0",
    ]


def test_a_stalled_client_measures_from_the_schedule_and_reports_its_lateness(measure):
    """Coordinated omission: requests that were due during the stall left late and were answered at once, but their users waited all the same."""
    made, sent = measure(Server(stalls={5: 2.0}), stages=[{"rate": 10, "seconds": 3}], goodput={"ttft_ms": 1000})
    (measured,) = made.measured
    totals = measured.totals
    assert sent[4:8] == [0.4, 2.5, 2.5, 2.5] and totals.ok == 30
    assert totals.hist["ttft"].percentile(100) < 1 and totals.hist["ttft_from_schedule"].percentile(100) == pytest.approx(2000, rel=0.01)
    assert totals.client_lag.n == pytest.approx(3 / 0.02, abs=5), "a stall counts for each look at the loop that it made impossible"
    assert totals.good == 30 - 10 and totals.client_lag.percentile(100) == pytest.approx(2000, rel=0.02)
    assert totals.lateness(perf_options.allowed(argument_spec.complete({"url": "http://x", "model": "x"}), ())) is not None


def test_a_loop_that_is_never_late_is_not_called_late(measure):
    made, _sent = measure(Server(), stages=[{"rate": 10, "seconds": 3}])
    lag = made.measured[0].totals.client_lag
    assert lag.n == pytest.approx(3 / 0.02, abs=20) and lag.percentile(100) < 1


@pytest.mark.parametrize(("error", "tried"), [("refused", 1), ("http_404", 1), ("http_503", 5)])
def test_the_measurement_ends_if_the_first_request_fails_permanently(measure, error, tried):
    server = Server(error=error)
    if tried == 1:
        with pytest.raises(Unusable, match="acme/tiny: it failed"):
            measure(server, stages=[{"rate": 2, "seconds": 2}])
    else:
        measure(server, stages=[{"rate": 2, "seconds": 2}])
    assert len(server.sent) == tried


def idle(takes):
    """A server that answers each request on its own; `takes` gives the seconds."""

    def serve(due):
        return [moment + takes(number) for number, moment in enumerate(due)]

    return serve


def queue(rate, takes=0.0):
    """A server that serves `rate` requests in a second, one after the other; each answer takes `takes` more seconds."""

    def serve(due):
        ends, free = [], 0.0
        for moment in due:
            free = max(free, moment) + 1 / rate
            ends.append(free + takes)
        return ends

    return serve


def shared(rate):
    """A server whose `rate` is shared by all requests in flight, as processors share their time."""

    def serve(due):
        ends, left, now, coming = [math.inf] * len(due), {}, 0.0, list(enumerate(due))
        while left or coming:
            first = min(left.values()) * len(left) / rate if left else math.inf
            wait = min(first, coming[0][1] - now if coming else math.inf)
            left = {number: rest - wait * rate / len(left) for number, rest in left.items()}
            now += wait
            for number in [number for number, rest in left.items() if rest <= 1e-9]:
                ends[number] = now
                del left[number]
            while coming and coming[0][1] <= now + 1e-12:
                left[coming.pop(0)[0]] = 1.0
        return ends

    return serve


def stage(serve, rate=1.0, seconds=30.0, arrivals="poisson", seed=42, fail=0, turns=(0,), halves=False):
    """A stage against such a server. `turns`: seconds from the first turn of a conversation to each other one."""
    step = Step(rate=rate, seconds=seconds)
    due = list(schedule.times(step, seed, arrivals))
    parts = [Totals(), Totals()]
    for number, (moment, end) in enumerate(zip(due, serve(due), strict=True)):
        for turn, after in enumerate(turns):
            made = Record(number, 0, moment + after, moment + after, end + after - 0.01, end + after, end + after, 200, 9, 4, turn=turn)
            if number < fail:
                made.fail("http_503", "busy")
            parts[number % 2 if halves else 0].add(made)
    parts[0].merge(parts[1])
    return Measured(step, parts[0])


def dice(seed, mean):
    made = random.Random(seed)
    return lambda _number: -mean * math.log(1 - made.random())


@pytest.mark.parametrize("arrivals", ["poisson", "constant"])
@pytest.mark.parametrize(("rate", "seconds", "takes"), [(1, 30, 8.0), (1, 30, 29.0), (4, 5, 40.0), (100, 1, 0.05)])
def test_an_idle_server_may_take_its_time(rate, seconds, takes, arrivals):
    assert not stage(idle(lambda _number: takes), rate, seconds, arrivals).totals.saturated


def test_an_idle_server_with_unequal_answers_is_rarely_called_saturated():
    """Exponential times of 8 s on average, in 30 s: three standard errors are exceeded in one of 700 cases."""
    assert sum(stage(idle(dice(seed, 8.0)), seed=seed).totals.saturated for seed in range(300)) <= 3


def test_conversations_that_outlast_their_stage_are_not_saturation():
    """Five turns, 20 s from one to the next: the last ends 80 s behind a stage of 30 s."""
    assert not stage(idle(lambda _number: 2.0), turns=(0, 20, 40, 60, 80)).totals.saturated


@pytest.mark.parametrize("arrivals", ["poisson", "constant"])
@pytest.mark.parametrize("server", [queue, lambda rate: queue(rate, takes=8.0), shared], ids=["queue", "long answers", "shared"])
@pytest.mark.parametrize("factor", [1.35, 2.0, 10.0])
def test_a_server_with_capacity_far_below_the_offered_rate_is_saturated(server, factor, arrivals):
    assert stage(server(8 / factor), 8, 20, arrivals).totals.saturated
    assert stage(server(8 / factor), 8, 20, arrivals, halves=True).totals.saturated


@pytest.mark.parametrize("server", [queue, lambda rate: queue(rate, takes=8.0), shared], ids=["queue", "long answers", "shared"])
def test_a_server_that_keeps_up_is_not(server):
    totals = [stage(server(8 / 0.7), 8, 30, seed=seed).totals for seed in range(8)]
    assert not any(each.saturated for each in totals) and all(each.keeps_up for each in totals)


@pytest.mark.parametrize("factor", [1.08, 1.17])
def test_a_server_with_capacity_slightly_below_the_rate_does_not_keep_up(factor):
    assert not stage(queue(8 / factor), 8, 60, "constant").totals.keeps_up
    assert not stage(queue(50 / factor), 50, 60).totals.keeps_up


def test_failures_count_as_saturation_but_too_few_requests_do_not():
    assert stage(idle(lambda _number: 1.0), 10, 10, "constant", fail=6).totals.saturated
    assert not stage(idle(lambda _number: 1.0), 10, 10, "constant", fail=5).totals.saturated
    assert not stage(queue(0.1), 1, 2, "constant").totals.saturated and not Measured(Step(rate=1, seconds=1), Totals()).totals.saturated
