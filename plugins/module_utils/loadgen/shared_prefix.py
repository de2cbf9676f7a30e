# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts in groups that share a prefix. Pure; the same seed gives the same prompts.

The order of prompts is that of inference-perf's `shared_prefix`: all prompts are shuffled once, request i takes prompt i modulo their
number, and the order goes on from stage to stage.
"""

from __future__ import annotations

import dataclasses
import functools
import random

# Short common words: one token each for nearly every tokenizer, so that lengths in words are lengths in tokens, or a little less.
WORDS = (
    "river stone green light table music seven cloud paper north quiet apple storm glass field early "
    "house water money story world night small large young metal horse train bread chair earth heart"
).split()


@dataclasses.dataclass(frozen=True)
class Workload:
    """Prompts that share prefixes. Lengths of prompts are words, the length of an answer is tokens.

    `nonce` stands before every prompt, so that another nonce means prefixes of the same lengths that no cache knows.
    """

    groups: int = 24
    prompts_per_group: int = 5
    system_prompt_len: int = 1500
    question_len: int = 40
    output_len: int = 16
    seed: int = 42
    nonce: str = ""

    def order(self) -> list[tuple[int, int]]:
        """(group, question) of every distinct prompt, shuffled once."""
        return _order(self.groups, self.prompts_per_group, self.seed)

    def system(self, group: int) -> str:
        """The prefix that the prompts of a group share. Its first words differ, so no block of one group is a block of another."""
        return " ".join([*([self.nonce] if self.nonce else []), f"group {group}", _words(f"{self.seed} system {group}", self.system_prompt_len)])

    def question(self, group: int, question: int) -> str:
        """What follows the prefix."""
        return f"question {question} {_words(f'{self.seed} question {group} {question}', self.question_len)}"

    def prompt(self, number: int) -> Prompt:
        """The prompt of the request with this number, counted from 0 through all stages."""
        order = self.order()
        group, question = order[number % len(order)]
        return Prompt(group, question, self.system(group), self.question(group, question))


@dataclasses.dataclass(frozen=True)
class Prompt:
    """One prompt of a workload."""

    group: int
    question: int
    system: str
    user: str

    @property
    def messages(self) -> list[dict[str, str]]:
        """It as a chat."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}]


@functools.lru_cache(maxsize=64)
def _order(groups: int, prompts: int, seed: int) -> list[tuple[int, int]]:
    order = [(group, question) for group in range(groups) for question in range(prompts)]
    random.Random(f"{seed} order").shuffle(order)
    return order


@functools.lru_cache(maxsize=4096)
def _words(seed: str, count: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=count))
