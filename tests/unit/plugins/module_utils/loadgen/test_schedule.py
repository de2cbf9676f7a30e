# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When requests of an open loop leave. test_options.py has ramps and mistakes in stages."""

from __future__ import annotations

import itertools
import statistics

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step, steps, times
from hypothesis import given, settings
from hypothesis import strategies as st


def test_poisson_arrivals_have_the_rate_and_the_spread_of_a_poisson_process():
    due = list(times(Step(rate=8.0, requests=4000), 42, "poisson"))
    gaps = [later - sooner for sooner, later in itertools.pairwise(due)]
    assert len(due) == 4000
    # of an exponential distribution, the standard deviation is the mean; 4,000 gaps have a standard error of 1.6 %
    assert statistics.mean(gaps) == pytest.approx(1 / 8, rel=0.06) and statistics.stdev(gaps) == pytest.approx(1 / 8, rel=0.08)


def test_constant_arrivals_are_evenly_spaced():
    assert list(times(Step(rate=4.0, requests=4), 42, "constant")) == [0.0, 0.25, 0.5, 0.75]


@given(st.floats(0.1, 1000), st.integers(1, 200), st.integers(0, 10**9))
@settings(max_examples=60, deadline=None)
def test_schedules_repeat_and_never_run_backwards(rate, requests, seed):
    step = Step(rate=rate, requests=requests)
    due = list(times(step, seed, "poisson"))
    assert due == list(times(step, seed, "poisson")) and len(due) == requests
    assert all(sooner <= later for sooner, later in itertools.pairwise(due)) and due[0] > 0


@pytest.mark.parametrize("arrivals", ["poisson", "constant"])
@pytest.mark.parametrize(
    ("rate", "seconds", "requests"), [(2, 5, 10), (4, 3, 12), (0.3, 10, 3), (2.5, 1, 3), (0.1, 1, 1), (8, 0.5, 4), (1 / 3, 3, 1), (0.1, 30, 3)]
)
def test_a_short_stage_keeps_its_rate_with_every_seed(rate, seconds, requests, arrivals):
    """The stage has rate * seconds requests, rounded up, all within its time, and as far apart as its rate requires."""
    for seed in range(50):
        due = list(times(Step(rate=rate, seconds=seconds), seed, arrivals))
        assert len(due) == requests and due[0] >= 0 and due[-1] < seconds
        assert due[-1] - due[0] == pytest.approx((requests - 1) / rate)


def test_poisson_arrivals_in_a_short_stage_are_random_and_differ_by_seed():
    """Each of 20 requests in 10 s is in the first half with a probability of a half, but for the first and the last; seeds differ."""
    halves = [sum(moment < 5 for moment in times(Step(rate=2, seconds=10), seed, "poisson")) for seed in range(400)]
    assert statistics.mean(halves) == pytest.approx(10, abs=0.5) and statistics.stdev(halves) == pytest.approx(18**0.5 / 2, rel=0.15)


@pytest.mark.parametrize(("rate", "to_rate"), [(1, 9), (9, 1)])
def test_a_short_ramp_has_its_requests(rate, to_rate):
    for seed in range(50):
        due = list(times(Step(rate=rate, to_rate=to_rate, seconds=4), seed, "poisson"))
        assert len(due) == 20 and due == sorted(due) and due[-1] < 4


def test_stages_of_options():
    assert steps([{"rate": 2.0, "seconds": 20.0}, {"rate": 8.0, "requests": 240}], {"rate": 8.0, "requests": 120}) == [
        Step(rate=8.0, requests=120, warmup=True),
        Step(rate=2.0, seconds=20.0),
        Step(rate=8.0, requests=240),
    ]


def test_all_mistakes_in_stages_at_once():
    with pytest.raises(ValueError) as error:
        steps([{"rate": 0, "seconds": 3}, {"rate": 2}, {"rate": 2, "seconds": 3, "requests": 6}, {"rate": 1, "requests": -4}])
    for message in ("stages[0].rate: 0 must", "stages[1]: give either", "stages[2]: give either", "stages[3].requests: -4 must"):
        assert message in str(error.value)
