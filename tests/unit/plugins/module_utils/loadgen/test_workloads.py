# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts of shared prefixes."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import request
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.workloads import WORDS, PrefixedPrompts, source

SMALL = PrefixedPrompts(groups=3, prompts_per_group=2, system_prompt_len=20, question_len=5, nonce="n1")


def test_every_prompt_is_used_once_before_any_is_repeated():
    prompts = [SMALL.prompt(number) for number in range(12)]
    assert {(prompt.group, prompt.question) for prompt in prompts[:6]} == {(group, question) for group in range(3) for question in range(2)}
    assert prompts[6:] == prompts[:6]


def test_the_order_is_shuffled_and_the_seed_decides():
    big = PrefixedPrompts(groups=10, prompts_per_group=10)
    assert big.order() != sorted(big.order()) and big.order() == PrefixedPrompts(groups=10, prompts_per_group=10).order()
    assert big.order() != dataclasses.replace(big, seed=7).order()


def test_a_group_shares_its_prefix_and_no_other():
    by_group: dict[int, set[str]] = {}
    for number in range(6):
        by_group.setdefault(SMALL.prompt(number).group, set()).add(SMALL.prompt(number).system)
    assert [len(prefixes) for prefixes in by_group.values()] == [1, 1, 1]
    assert len({next(iter(prefixes)) for prefixes in by_group.values()}) == 3
    assert len({SMALL.prompt(number).user for number in range(6)}) == 6


def test_another_nonce_changes_only_the_first_word_of_a_prompt():
    other = dataclasses.replace(SMALL, nonce="n2")
    for number in range(6):
        ours, theirs = SMALL.prompt(number), other.prompt(number)
        assert ours.system.split()[0] != theirs.system.split()[0] and ours.system.split()[1:] == theirs.system.split()[1:] and ours.user == theirs.user


def test_lengths_are_words():
    prompt = SMALL.prompt(0)
    assert len(prompt.system.split()) == 20 + len(["n1", "group", "0"]) and len(prompt.user.split()) == 5 + len(["question", "0"])
    assert len(WORDS) == len(set(WORDS))


def test_bodies_of_both_apis():
    prompt = SMALL.prompt(0)
    plain, chat = (json.loads(request.Shape(api).body("acme/tiny", prompt.messages, 16)) for api in request.PATHS)
    assert plain["prompt"] == f"{prompt.system}\n{prompt.user}" and plain["max_tokens"] == 16 and plain["ignore_eos"] and plain["stream"]
    assert chat["messages"] == [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}] and "prompt" not in chat


OPTIONS: dict[str, dict[str, t.Any]] = {
    "random": {"input_len": 8, "input_len_max": 300, "output_len": 1, "output_len_max": 90},
    "shared_prefix": {"groups": 3, "prompts_per_group": 2, "system_prompt_len": 20, "question_len": 5, "output_len": 7},
    "chats": {"groups": 3, "system_prompt_len": 20, "turns": 1, "turns_max": 4, "question_len": 5, "output_len": 7, "think_seconds": 0},
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_runs_with_one_seed_have_equal_prompt_sizes_and_no_common_prefix(kind: str) -> None:
    """Two runs could not be compared if one had longer prompts."""

    def sizes(seed: int, nonce: str) -> list[tuple[int, int, str]]:
        made = source({"kind": kind, **OPTIONS[kind]}, request.Shape("completions"), [{"name": "m", "weight": 1}], seed, nonce)
        bodies = [json.loads(made.call(number).body) for number in range(40)]
        return [(len(body["prompt"].split()), body["max_tokens"], body["prompt"].split()[0]) for body in bodies]

    one, two, other = sizes(1, "first"), sizes(1, "second"), sizes(2, "first")
    assert [entry[:2] for entry in one] == [entry[:2] for entry in two]
    assert all(entry[2] == "first" for entry in one) and all(entry[2] == "second" for entry in two)
    if kind == "random":
        assert len({entry[:2] for entry in one}) > 20 and [entry[:2] for entry in one] != [entry[:2] for entry in other]
