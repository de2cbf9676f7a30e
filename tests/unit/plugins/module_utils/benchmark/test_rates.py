# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rates of servers whose rates are known, idle and saturated, with answers of any length."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.rates import Rates

ONE = {"ok": 1, "output": 4}


def rates(ends, until, open_loop=True, counts=ONE):
    made = Rates(open_loop)
    for end in sorted(ends):
        made.until = until if end > until else None  # as a stage says it
        made.add(end, counts)
    made.until = until
    return made


def queue(due, rate, takes=0.0):
    """When a server that answers `rate` requests per second ends those that are due at these seconds."""
    free, ends = 0.0, []
    for moment in due:
        free = max(free, moment) + 1 / rate
        ends.append(free + takes)
    return ends


@pytest.mark.parametrize("takes", [0.01, 1.0, 5.0, 9.0, 60.0])
@pytest.mark.parametrize("rate", [2.0, 20.0])
def test_an_idle_server_has_the_rate_of_its_requests_however_long_its_answers_take(takes, rate):
    due = [number / rate for number in range(int(10 * rate))]
    found = rates([moment + takes for moment in due], due[-1])
    assert found.per_second("ok") == pytest.approx(rate) and found.per_second("output") == pytest.approx(4 * rate)


@pytest.mark.parametrize("takes", [0.0, 3.0, 40.0])
@pytest.mark.parametrize("more", [1.5, 4.0])
def test_a_saturated_server_has_its_own_rate(takes, more):
    due = [number / (8 * more) for number in range(int(8 * more * 20))]
    assert rates(queue(due, 8.0, takes), due[-1]).per_second("ok") == pytest.approx(8.0, rel=0.01)


def test_a_drain_on_which_fewer_and_fewer_are_left_does_not_count():
    """Eight places that answer in a second each, and one request of a hundred seconds."""
    ends = [second + place / 8 for second in range(1, 21) for place in range(8)]
    assert rates([*ends, 120.0], 20.0).per_second("ok") == pytest.approx(8.0, rel=0.05)
    assert rates([*ends, 120.0], 20.0, open_loop=False).per_second("ok") == pytest.approx(8.0, rel=0.1)


@pytest.mark.parametrize("batches", [2, 4, 20])
def test_a_closed_loop_counts_from_its_beginning(batches):
    """64 in flight, all answered at once, half a second each; the last of them were sent when the last but one had ended."""
    ends = [0.5 * batch for batch in range(1, batches + 1) for _number in range(64)]
    assert rates(ends, 0.5 * (batches - 1), open_loop=False).per_second("ok") == 128.0


def test_a_closed_loop_that_sends_all_at_once_has_no_other_time_than_its_own():
    assert rates([0.5] * 40, 0.0, open_loop=False).per_second("ok") == 80.0


def test_failed_requests_take_time_and_count_for_nothing():
    made = Rates(True)
    for second in range(1, 22):
        made.add(float(second), ONE if second % 2 else {})
    made.until = 21.0
    assert made.per_second("ok") == 0.5


def test_few_requests_have_a_rate():
    assert Rates(True).per_second("ok") == Rates().per_second("ok") == 0.0
    assert rates([0.25], 0.0).per_second("ok") == 4.0
    assert rates([0.25, 0.25], 0.0).per_second("ok") == 8.0
    assert rates([1.0, 2.0, 3.0], 2.0).per_second("ok", "output") == 5.0


@pytest.mark.parametrize("open_loop", [True, False])
def test_two_clients_together_are_one(open_loop):
    ends = [1.0 + number / 10 for number in range(200)]
    left, right = rates(ends[::2], 15.0, open_loop), rates(ends[1::2], 15.1, open_loop)
    left.merge(right)
    left.merge(Rates(open_loop))
    assert left.per_second("ok") == pytest.approx(rates(ends, 15.1, open_loop).per_second("ok"), rel=0.02)
    assert left.window() == rates(ends, 15.1, open_loop).window()
