# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is sent, and when: prompts in groups that share a prefix, and arrivals at a rate. Pure; the same seed gives the same requests.

The order of prompts is that of inference-perf's `shared_prefix`: all prompts are shuffled once, request i takes prompt i modulo their
number, and the order goes on from stage to stage.
"""

from __future__ import annotations

import collections.abc as c
import dataclasses
import functools
import itertools
import random
import typing as t

# Short common words: one token each for nearly every tokenizer, so that lengths in words are lengths in tokens, or a little less.
WORDS = (
    "river",
    "stone",
    "green",
    "light",
    "table",
    "music",
    "seven",
    "cloud",
    "paper",
    "north",
    "quiet",
    "apple",
    "storm",
    "glass",
    "field",
    "early",
    "house",
    "water",
    "money",
    "story",
    "world",
    "night",
    "small",
    "large",
    "young",
    "metal",
    "horse",
    "train",
    "bread",
    "chair",
    "earth",
    "heart",
)
APIS = ("completions", "chat_completions")
ARRIVALS = ("poisson", "constant")
MAX_REQUESTS = 100_000


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


@dataclasses.dataclass(frozen=True)
class Stage:
    """A number of requests at a mean rate (requests per second)."""

    rate: float
    requests: int
    warmup: bool = False

    @property
    def seconds(self) -> float:
        """The mean time it takes to send them."""
        return self.requests / self.rate


@dataclasses.dataclass(frozen=True)
class Planned:
    """One request of a stage: its number through all stages, and when it is due, in seconds from the start of the stage."""

    number: int
    at: float


def stages(ladder: c.Iterable[c.Mapping[str, t.Any]], warmup: c.Mapping[str, t.Any] | None = None) -> list[Stage]:
    """The stages of options such as {rate: 8, seconds: 30} or {rate: 8, requests: 240}, the warm-up first. Raises ValueError with all problems."""
    listed = ([("warmup", warmup)] if warmup else []) + [(f"stages[{index}]", entry) for index, entry in enumerate(ladder)]
    found, problems = [], []
    for path, entry in listed:
        rate, seconds, requests = entry.get("rate") or 0, entry.get("seconds"), entry.get("requests")
        if rate <= 0:
            problems.append(f"{path}.rate: {rate:g} must be more than 0 requests per second")
        elif (seconds is None) == (requests is None):
            problems.append(f"{path}: give either seconds or requests")
        elif (requests if seconds is None else seconds) <= 0:
            problems.append(f"{path}.{'requests' if seconds is None else 'seconds'}: must be more than 0")
        else:
            found.append(Stage(float(rate), requests or max(1, round(rate * seconds)), path == "warmup"))
    if not any(not stage.warmup for stage in found) and not problems:
        problems.append("stages: give at least one, such as {rate: 8, seconds: 30}")
    if (total := sum(stage.requests for stage in found)) > MAX_REQUESTS:
        problems.append(f"stages: {total} requests in all are more than {MAX_REQUESTS}; shorten the stages")
    if problems:
        raise ValueError("; ".join(problems))
    return found


def schedule(stage: Stage, first: int = 0, seed: int = 42, arrivals: str = "poisson") -> list[Planned]:
    """When each request of a stage is due; `first` is the number of the first one.

    poisson: independent exponential gaps, not rescaled, so the sent rate differs a little from the wanted one. constant: equal gaps.
    """
    if arrivals == "constant":
        return [Planned(first + index, index / stage.rate) for index in range(stage.requests)]
    dice = random.Random(f"{seed} arrivals {stage.rate:g} {stage.requests}")
    at = itertools.accumulate(dice.expovariate(stage.rate) for dummy in range(stage.requests))
    return [Planned(first + index, moment) for index, moment in enumerate(at)]


@functools.lru_cache(maxsize=64)
def _order(groups: int, prompts: int, seed: int) -> list[tuple[int, int]]:
    order = [(group, question) for group in range(groups) for question in range(prompts)]
    random.Random(f"{seed} order").shuffle(order)
    return order


@functools.lru_cache(maxsize=4096)
def _words(seed: str, count: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=count))
