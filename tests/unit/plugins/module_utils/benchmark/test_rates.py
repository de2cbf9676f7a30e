# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rates of servers whose rates are known, idle and saturated, with answers of any length."""

from __future__ import annotations

import heapq
import math
import random
import statistics
import types

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.rates import Rates

ONE = types.MappingProxyType({"ok": 1, "output": 4})


def rates(requests, until, open_loop=True, counts=ONE):
    """The rates of requests: (second at which it was due and sent, second at which it ended)."""
    made = Rates(open_loop)
    for due, end in sorted(requests, key=lambda each: each[1]):
        made.until = until if end > until else None  # as a stage sets it
        made.add(due, end, counts, due)
        if counts:
            made.pace.add(due, end - due)
    made.until = until
    return made


def at(rate, seconds):
    """When requests are due that come at this rate."""
    return [number / rate for number in range(int(rate * seconds))]


def queue(due, rate, takes=0.0):
    """(due, end) of requests of which a server answers `rate` per second."""
    free, ends = 0.0, []
    for moment in due:
        free = max(free, moment) + 1 / rate
        ends.append(free + takes)
    return list(zip(due, ends, strict=True))


def loop(places, takes, seconds=math.inf, requests=10**9):
    """(sent, end) of the requests of a closed loop, and the time at which its load ended: when a place became free that got no request."""
    free, sent = [0.0] * places, []
    while (now := heapq.heappop(free)) < seconds and len(sent) < requests:
        sent.append((now, now + takes()))
        heapq.heappush(free, sent[-1][1])
    return sent, now


@pytest.mark.parametrize("takes", [0.01, 1.0, 5.0, 9.0, 60.0])
@pytest.mark.parametrize("rate", [2.0, 20.0])
def test_an_idle_server_has_the_rate_of_its_requests_however_long_its_answers_take(takes, rate):
    due = at(rate, 10)
    computed = rates([(moment, moment + takes) for moment in due], due[-1])
    assert computed.per_second("ok") == pytest.approx(rate) and computed.per_second("output") == pytest.approx(4 * rate)
    assert computed.window() == (0.0, due[-1])


@pytest.mark.parametrize(
    ("rate", "seconds", "takes"),
    [
        (4, 10, lambda dice, _number: dice.choice((0.2, 6.0))),
        (2, 30, lambda dice, _number: dice.uniform(1, 20)),
        (8, 60, lambda dice, _number: dice.uniform(2, 30)),
        (2, 60, lambda dice, _number: 8 * math.exp(0.8 * dice.gauss(0, 1))),
        (2, 10, lambda _dice, number: 60.0 if number == 7 else 5.0),
    ],
)
def test_an_idle_server_has_the_rate_of_its_requests_however_unequal_its_answers_are(rate, seconds, takes):
    dice, due = random.Random("unequal"), at(rate, seconds)
    for _dummy in range(30):
        assert rates([(moment, moment + takes(dice, number)) for number, moment in enumerate(due)], due[-1]).per_second("ok") == pytest.approx(rate)


@pytest.mark.parametrize("takes", [0.0, 3.0, 40.0])
@pytest.mark.parametrize("factor", [1.02, 1.5, 4.0])
def test_a_saturated_server_has_its_own_rate(takes, factor):
    due = at(8 * factor, 20)
    assert rates(queue(due, 8.0, takes), due[-1]).per_second("ok") == pytest.approx(8.0, rel=0.01)


def test_a_drain_on_which_fewer_and_fewer_are_left_does_not_count():
    """Eight places that answer in a second each, 12 requests/s, and one request of a hundred seconds."""
    ends = [second + place / 8 for second in range(1, 31) for place in range(8)]
    requests = list(zip(at(12, 20), ends, strict=True))
    assert rates([*requests, (19.0, 120.0)], 20.0).per_second("ok") == pytest.approx(8.0, rel=0.05)


@pytest.mark.parametrize("batches", [2, 4, 20])
def test_a_closed_loop_counts_from_its_beginning(batches):
    """64 requests are in flight, and all are answered together after half a second; the last 64 were sent when the previous 64 had ended."""
    requests = [(0.5 * batch - 0.5, 0.5 * batch) for batch in range(1, batches + 1) for _number in range(64)]
    assert rates(requests, 0.5 * (batches - 1), open_loop=False).per_second("ok") == 128.0


@pytest.mark.parametrize(
    ("places", "seconds", "load", "rate"),
    [
        (8, 1.0, {"seconds": 3.5}, 8.0),
        (12, 3.0, {"seconds": 5}, 4.0),
        (12, 1.0, {"requests": 18}, 12.0),
        (64, 40.0, {"seconds": 60}, 1.6),
        (64, 10.0, {"seconds": 60}, 6.4),
    ],
)
def test_the_last_requests_of_a_closed_loop_count_by_their_share_in_it(places, seconds, load, rate):
    """Answers take different times, so that the last requests of a wave end later than the time at which the load ended."""
    dice = random.Random("jitter")
    computed = [rates(*loop(places, lambda: seconds * dice.uniform(0.99, 1.01), **load), open_loop=False).per_second("ok") for _dummy in range(20)]
    assert computed == [pytest.approx(rate, rel=0.03)] * 20 and statistics.mean(computed) == pytest.approx(rate, rel=0.01)


def test_a_turn_after_a_closed_loop_is_not_counted_even_if_it_takes_no_time():
    """An answer has never an earlier time than its request, but may have the same time if the clock of the host is set meanwhile."""
    assert rates([(0.0, 1.0), (0.0, 2.0), (2.0, 2.0), (2.5, 3.0)], 1.0, open_loop=False).per_second("ok") == 1.5


def test_a_closed_loop_that_sends_all_at_once_has_no_other_time_than_its_own():
    assert rates([(0.0, 0.5)] * 40, 0.0, open_loop=False).per_second("ok") == 80.0


def test_failed_requests_use_time_but_are_not_counted_in_the_rate():
    made = Rates(True)
    for second in range(1, 22):
        made.add(0.0, float(second), ONE if second % 2 else {}, 0.0)
    made.until = 21.0
    assert made.per_second("ok") == 0.5


def test_failures_do_not_hide_answers_that_take_longer_than_the_load():
    """Four places, 90 s for an answer: from 10 s on, 40 requests are in flight, and the others of a minute fail at once. All answers come in the drain."""
    made = Rates(True)
    for number in range(40, 240):
        made.add(number / 4, number / 4, {}, number / 4)
    made.until = 59.75
    for number in range(40):
        end = 90.0 * (number // 4 + 1)
        made.add(number / 4, end, ONE, number / 4)
        made.pace.add(number / 4, end - number / 4)
    assert made.per_second("ok") == pytest.approx(4 / 90, rel=0.02)


def test_failed_requests_of_a_server_that_keeps_up_are_none_of_its_rate():
    made = Rates(True)
    for number in range(101):
        due = number / 10
        made.add(due, due + 2.0, ONE if number % 4 else {}, due)
        if number % 4:
            made.pace.add(due, 2.0)
    made.until = 10.0
    assert made.per_second("ok") == pytest.approx(10 * 75 / 101)


def test_turns_that_follow_count_with_the_conversation_that_was_due():
    """Two conversations a second, of three turns, the last of which come when the schedule is over."""
    made = Rates(True)
    for due in at(2, 10):
        for turn in range(3):
            made.add(due + 4 * turn, due + 4 * turn + 1, ONE, None if turn else due)
        made.pace.add(due, 1.0)
    made.until = 9.5
    assert made.per_second("ok") == pytest.approx(6.0)


def test_few_requests_have_a_rate():
    assert Rates(True).per_second("ok") == Rates().per_second("ok") == 0.0
    assert rates([(0.0, 0.25)], 0.0).per_second("ok") == 4.0
    assert rates([(0.0, 0.25)] * 2, 0.0).per_second("ok") == 8.0
    assert rates([(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)], 2.0).per_second("ok", "output") == 5.0
    # two do not show whether a server keeps up: both may have been in a queue
    assert rates([(0.0, 5.0), (1.0, 10.0)], 1.0).per_second("ok") == pytest.approx(0.2)


@pytest.mark.parametrize("apart", [0.0, 0.001, 0.01])
def test_two_answers_that_end_together_do_not_exceed_the_offered_rate(apart):
    """The limit holds for any time between the ends; the first answer took a second longer."""
    assert rates([(0.0, 1.5), (1.0, 1.5 + apart)], 1.0).per_second("ok", "output") <= 5.0


@pytest.mark.parametrize("rate", [8.0, 10.0, 20.0])
def test_merged_rates_of_two_clients_equal_those_of_one(rate):
    requests = queue(at(rate, 20), 10.0, takes=2.0)
    left, right = rates(requests[::2], 19.9), rates(requests[1::2], 20.0)
    left.merge(right)
    left.merge(Rates(True))
    left.pace.merge(right.pace)
    whole = rates(requests, 20.0)
    assert left.per_second("ok") == pytest.approx(whole.per_second("ok"), rel=0.02) and left.window() == whole.window()


def test_closed_loops_of_two_clients_have_the_sum_of_their_rates():
    """One client ends its share long before the other."""
    left, right = (rates(*loop(places, lambda: 1.0, requests=200), open_loop=False) for places in (4, 8))
    left.merge(right)
    left.merge(Rates())
    assert left.per_second("ok") == pytest.approx(12.0) and left.window() == (0.0, 50.0)
