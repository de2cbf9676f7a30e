# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is sent and when."""

from __future__ import annotations

import dataclasses
import json
import statistics

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import request, shared_prefix
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.shared_prefix import Stage, Workload
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

SMALL = Workload(groups=3, prompts_per_group=2, system_prompt_len=20, question_len=5, nonce="n1")


def test_every_prompt_comes_once_before_any_comes_again():
    prompts = [SMALL.prompt(number) for number in range(12)]
    assert {(prompt.group, prompt.question) for prompt in prompts[:6]} == {(group, question) for group in range(3) for question in range(2)}
    assert prompts[6:] == prompts[:6]


def test_the_order_is_shuffled_and_the_seed_decides():
    big = Workload(groups=10, prompts_per_group=10)
    assert big.order() != sorted(big.order()) and big.order() == Workload(groups=10, prompts_per_group=10).order()
    assert big.order() != dataclasses.replace(big, seed=7).order()


def test_a_group_shares_its_prefix_and_no_other():
    by_group: dict[int, set[str]] = {}
    for number in range(6):
        by_group.setdefault(SMALL.prompt(number).group, set()).add(SMALL.prompt(number).system)
    assert [len(found) for found in by_group.values()] == [1, 1, 1]
    assert len({next(iter(found)) for found in by_group.values()}) == 3
    assert len({SMALL.prompt(number).user for number in range(6)}) == 6


def test_another_nonce_changes_the_first_word_and_nothing_else():
    other = dataclasses.replace(SMALL, nonce="n2")
    for number in range(6):
        ours, theirs = SMALL.prompt(number), other.prompt(number)
        assert ours.system.split()[0] != theirs.system.split()[0] and ours.system.split()[1:] == theirs.system.split()[1:] and ours.user == theirs.user


def test_lengths_are_words():
    prompt = SMALL.prompt(0)
    assert len(prompt.system.split()) == 20 + len("n1 group 0".split()) and len(prompt.user.split()) == 5 + len("question 0".split())
    assert len(shared_prefix.WORDS) == len(set(shared_prefix.WORDS))


def test_bodies_of_both_apis():
    prompt = SMALL.prompt(0)
    plain, chat = (json.loads(request.Shape(api).body("acme/tiny", prompt.messages, 16)) for api in shared_prefix.APIS)
    assert plain["prompt"] == f"{prompt.system}\n{prompt.user}" and plain["max_tokens"] == 16 and plain["ignore_eos"] and plain["stream"]
    assert chat["messages"] == [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}] and "prompt" not in chat


def test_poisson_arrivals_have_the_rate_and_the_spread_of_a_poisson_process():
    planned = shared_prefix.schedule(Stage(8.0, 4000), first=100)
    gaps = [later.at - sooner.at for sooner, later in zip(planned, planned[1:])]
    assert [entry.number for entry in planned] == list(range(100, 4100))
    # of an exponential distribution, the standard deviation is the mean; 4,000 gaps have a standard error of 1.6 %
    assert statistics.mean(gaps) == pytest.approx(1 / 8, rel=0.06) and statistics.stdev(gaps) == pytest.approx(1 / 8, rel=0.08)


def test_constant_arrivals_are_evenly_spaced():
    assert [entry.at for entry in shared_prefix.schedule(Stage(4.0, 4), arrivals="constant")] == [0.0, 0.25, 0.5, 0.75]


@given(st.floats(0.1, 1000), st.integers(1, 200), st.integers(0, 10**9))
@examples(60)
def test_schedules_repeat_and_never_run_backwards(rate, requests, seed):
    ours = shared_prefix.schedule(Stage(rate, requests), 0, seed)
    assert ours == shared_prefix.schedule(Stage(rate, requests), 0, seed) and len(ours) == requests
    assert all(sooner.at <= later.at for sooner, later in zip(ours, ours[1:])) and ours[0].at > 0


def test_stages_of_options():
    assert shared_prefix.stages([{"rate": 2, "seconds": 20}, {"rate": 8, "requests": 240}], {"rate": 8, "requests": 120}) == [
        Stage(8.0, 120, True),
        Stage(2.0, 40),
        Stage(8.0, 240),
    ]


def test_all_mistakes_in_stages_at_once():
    with pytest.raises(ValueError) as error:
        shared_prefix.stages([{"rate": 0, "seconds": 3}, {"rate": 2}, {"rate": 2, "seconds": 3, "requests": 6}, {"rate": 1, "requests": -4}])
    for said in ("stages[0].rate: 0 must", "stages[1]: give either", "stages[2]: give either", "stages[3].requests: must"):
        assert said in str(error.value)


@pytest.mark.parametrize(("ladder", "said"), [([], "give at least one"), ([{"rate": 5000, "seconds": 60}], "300000 requests in all")])
def test_too_little_and_too_much(ladder, said):
    with pytest.raises(ValueError, match=said):
        shared_prefix.stages(ladder)
