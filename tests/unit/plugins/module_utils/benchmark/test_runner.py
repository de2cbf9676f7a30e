# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a sweep calls a server saturated, of servers that are computed instead of run."""

from __future__ import annotations

import math
import random

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.plan import Measured
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.runner import saturated
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import Totals
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import schedule
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step


def idle(takes):
    """A server that answers each request on its own; `takes` gives the seconds."""

    def serve(due):
        return [moment + takes(number) for number, moment in enumerate(due)]

    return serve


def queue(rate, takes=0.0):
    """A server that answers `rate` requests in a second, one after the other, each some more seconds later."""

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
    assert not saturated(stage(idle(lambda _number: takes), rate, seconds, arrivals))


def test_an_idle_server_whose_answers_are_long_and_short_is_called_saturated_by_no_more_than_chance():
    """Exponential times of 8 s on average, in 30 s: three standard errors are exceeded in one of 700 cases."""
    assert sum(saturated(stage(idle(dice(seed, 8.0)), seed=seed)) for seed in range(300)) <= 3


def test_conversations_with_time_to_think_go_on_behind_the_stage():
    """Five turns, 20 s from one to the next: the last ends 80 s behind a stage of 30 s."""
    assert not saturated(stage(idle(lambda _number: 2.0), turns=(0, 20, 40, 60, 80)))


@pytest.mark.parametrize("arrivals", ["poisson", "constant"])
@pytest.mark.parametrize("server", [queue, lambda rate: queue(rate, takes=8.0), shared], ids=["queue", "long answers", "shared"])
@pytest.mark.parametrize("more", [1.35, 2.0, 10.0])
def test_a_server_that_is_asked_for_more_than_it_can_serve_is_saturated(server, more, arrivals):
    assert saturated(stage(server(8 / more), 8, 20, arrivals))
    assert saturated(stage(server(8 / more), 8, 20, arrivals, halves=True))


@pytest.mark.parametrize("server", [queue, lambda rate: queue(rate, takes=8.0), shared], ids=["queue", "long answers", "shared"])
def test_a_server_that_keeps_up_is_not(server):
    assert not any(saturated(stage(server(8 / 0.7), 8, 30, seed=seed)) for seed in range(8))


def test_failures_are_saturation_and_few_requests_say_nothing():
    assert saturated(stage(idle(lambda _number: 1.0), 10, 10, "constant", fail=6)) and not saturated(
        stage(idle(lambda _number: 1.0), 10, 10, "constant", fail=5)
    )
    assert not saturated(stage(queue(0.1), 1, 2, "constant")) and not saturated(Measured(Step(rate=1, seconds=1), Totals()))
