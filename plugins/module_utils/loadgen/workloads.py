# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workloads: sources of the requests that a measurement sends. Pure.

The same seed and nonce give the same requests. Lengths of prompts are in common English words, a token each or a little more, since there is no
tokenizer where this runs. Lengths of answers are in tokens.
"""

from __future__ import annotations

import collections.abc as c
import dataclasses
import functools
import random
import typing as t

from . import traces
from .record import Record
from .request import Call, Shape

Options = c.Mapping[str, t.Any]
Messages = list[dict[str, str]]
# One token each for nearly every tokenizer.
WORDS = (
    "river", "stone", "green", "light", "table", "music", "seven", "cloud", "paper", "north", "quiet", "apple", "storm", "glass", "field", "early",
    "house", "water", "money", "story", "world", "night", "small", "large", "young", "metal", "horse", "train", "bread", "chair", "earth", "heart",
)  # fmt: skip


class RequestSource(t.Protocol):
    """Where requests come from."""

    def call(self, number: int) -> Call | None:
        """The request with this number, counted from 0; None after the last one."""

    def follow(self, call: Call, record: Record) -> tuple[float, Call] | None:
        """The request that follows an answered one, and the seconds until it is due; None if there is none."""


class ModelMix:
    """Models, drawn by their weights with a seed. A LoRA adapter is a model here, as it is to servers."""

    def __init__(self, models: c.Sequence[Options], seed: int) -> None:
        self._names = [str(entry["name"]) for entry in models]
        self._weights = [float(entry.get("weight") or 1.0) for entry in models]
        self._seed = seed

    def __call__(self, number: int) -> str:
        if len(self._names) == 1:
            return self._names[0]
        return random.Random(f"{self._seed} model {number}").choices(self._names, self._weights)[0]


class Workload:
    """What all workloads share. By default no request follows another."""

    def __init__(self, options: Options, shape: Shape, mix: ModelMix, seed: int, nonce: str) -> None:
        self._options, self._shape, self._mix, self._seed, self._nonce = options, shape, mix, seed, nonce

    def call(self, number: int) -> Call:
        """The request with this number."""
        raise NotImplementedError

    def follow(self, call: Call, record: Record) -> tuple[float, Call] | None:
        """The request that follows an answered one, and the seconds until it is due; None if there is none."""
        return None

    def _call(self, number: int, group: int, prompt: str | Messages, output_len: int, model: str | None = None) -> Call:
        shape, name = self._shape, model or self._mix(number)
        return Call(number, group, name, shape.path, shape.body(name, prompt, output_len), output_len if shape.ignore_eos else 0, shape.stream)


class RandomPrompts(Workload):
    """Prompts of random words that share nothing, of fixed or of uniformly random lengths."""

    def call(self, number: int) -> Call:
        dice = random.Random(f"{self._seed} {number}")
        count, output = (dice.randint(self._options[name], self._options.get(f"{name}_max") or self._options[name]) for name in ("input_len", "output_len"))
        # Another nonce changes the first word and nothing else, so that runs with the same seed send the same number of tokens.
        return self._call(number, number, " ".join([*([self._nonce] if self._nonce else []), *words(dice, count).split()][:count]), output)


class SharedPrefix(Workload):
    """Groups of prompts that share a long prefix."""

    def __init__(self, options: Options, shape: Shape, mix: ModelMix, seed: int, nonce: str) -> None:
        super().__init__(options, shape, mix, seed, nonce)
        names = ("groups", "prompts_per_group", "system_prompt_len", "question_len")
        self._prompts = PrefixedPrompts(**{name: options[name] for name in names}, seed=seed, nonce=nonce)

    def call(self, number: int) -> Call:
        prompt = self._prompts.prompt(number)
        return self._call(number, prompt.group, prompt.messages, self._options["output_len"])


class Chats(Workload):
    """Conversations under a shared system prompt. Each turn carries all earlier turns, the server's answers included."""

    def call(self, number: int) -> Call:
        """The first turn of the conversation with this number."""
        options = self._options
        group = number % options["groups"]
        system = f"{self._nonce} group {group} " + words(random.Random(f"{self._seed} {self._nonce} system {group}"), options["system_prompt_len"])
        turns = random.Random(f"{self._seed} turns {number}").randint(options["turns"], options.get("turns_max") or options["turns"])
        return self._turn(number, 0, turns, [{"role": "system", "content": system.strip()}], self._mix(number))

    def follow(self, call: Call, record: Record) -> tuple[float, Call] | None:
        """The next turn, after the user's time to think."""
        messages, turns = call.follow
        if record.error or call.turn + 1 >= turns:
            return None
        answered = [*messages, {"role": "assistant", "content": record.text or ""}]
        return self._options["think_seconds"], self._turn(call.number, call.turn + 1, turns, answered, call.model)

    def _turn(self, number: int, turn: int, turns: int, before: Messages, model: str) -> Call:
        question = words(random.Random(f"{self._seed} {self._nonce} question {number} {turn}"), self._options["question_len"])
        messages = [*before, {"role": "user", "content": question}]
        made = self._call(number, number, messages, self._options["output_len"], model)
        made.turn, made.follow, made.keep_text = turn, (messages, turns), turn + 1 < turns
        return made


class Trace(Workload):
    """A recorded trace: its times, the lengths of its prompts and answers, and in Mooncake's format the blocks that prompts share.

    With `requests` in the options the trace ends after that number of requests: no later entry is sent, in a warm-up or at a rate either.
    """

    def __init__(self, options: Options, shape: Shape, mix: ModelMix, seed: int, nonce: str) -> None:
        super().__init__(options, shape, mix, seed, nonce)
        self.entries = traces.trace(options["text"], options["format"])[: options.get("requests")]

    def times(self) -> list[float]:
        """When each request is due, in seconds from the first one, with the recorded times divided by the option `speed`."""
        first = self.entries[0].at
        return [(entry.at - first) / self._options["speed"] for entry in self.entries]

    def again(self, number: int) -> int:
        """The lowest number, `number` or above, whose request is that of the first entry: where a stage that replays the trace's times begins."""
        return -(-number // len(self.entries)) * len(self.entries)

    def call(self, number: int) -> Call:
        """The request with this number; after the last comes the first again."""
        entry = self.entries[number % len(self.entries)]
        blocks = [words(random.Random(f"{self._seed} {self._nonce} block {block}"), self._options["block_len"]) for block in entry.blocks]
        prompt_words = " ".join(blocks).split(" ")[: entry.input_len] if blocks else []
        if len(prompt_words) < entry.input_len:
            prompt_words += words(random.Random(f"{self._seed} {self._nonce} own {number}"), entry.input_len - len(prompt_words)).split()
        return self._call(number, entry.blocks[0] if entry.blocks else number, " ".join(prompt_words), entry.output_len)


class Prompts(Workload):
    """The user's own prompts in their order, from the first again after the last."""

    def __init__(self, options: Options, shape: Shape, mix: ModelMix, seed: int, nonce: str) -> None:
        super().__init__(options, shape, mix, seed, nonce)
        self._prompts = traces.prompts(options["text"])

    def call(self, number: int) -> Call:
        index = number % len(self._prompts)
        own = self._prompts[index]
        return self._call(number, index, own.prompt, own.output_len or self._options["output_len"], own.model)


KINDS: dict[str, type[Workload]] = {"random": RandomPrompts, "shared_prefix": SharedPrefix, "chats": Chats, "trace": Trace, "prompts": Prompts}


def source(options: Options, shape: Shape, models: c.Sequence[Options], seed: int, nonce: str) -> Workload:
    """The workload of these options; `text` in them is the text of its file, if it has one. Raises ValueError if the file has another format."""
    return KINDS[options["kind"]](options, shape, ModelMix(models, seed), seed, nonce)


def words(dice: random.Random, count: int) -> str:
    """`count` random words."""
    return " ".join(dice.choices(WORDS, k=count)) if count > 0 else ""


@dataclasses.dataclass(frozen=True)
class PrefixedPrompts:
    """Prompts in groups that share a prefix.

    The order is that of inference-perf's `shared_prefix`: all prompts are shuffled once, request i takes prompt i modulo their number, and the
    order goes on from stage to stage. Every prompt begins with `nonce`: another nonce gives prefixes of the same lengths that no cache holds.
    """

    groups: int = 24
    prompts_per_group: int = 5
    system_prompt_len: int = 1500
    question_len: int = 40
    seed: int = 42
    nonce: str = ""

    def order(self) -> list[tuple[int, int]]:
        """(group, question) of every distinct prompt, shuffled once."""
        return _order(self.groups, self.prompts_per_group, self.seed)

    def system(self, group: int) -> str:
        """The prefix of a group. Its first words differ from those of other groups, so groups share no block of a cache."""
        return " ".join([*([self.nonce] if self.nonce else []), f"group {group}", _prompt_words(f"{self.seed} system {group}", self.system_prompt_len)])

    def question(self, group: int, question: int) -> str:
        """The text after the prefix."""
        return f"question {question} {_prompt_words(f'{self.seed} question {group} {question}', self.question_len)}"

    def prompt(self, number: int) -> PrefixedPrompt:
        """The prompt of the request with this number, counted from 0 through all stages."""
        order = self.order()
        group, question = order[number % len(order)]
        return PrefixedPrompt(group, question, self.system(group), self.question(group, question))


@dataclasses.dataclass(frozen=True)
class PrefixedPrompt:
    """One prompt of a group: the prefix is the system message, the question the user's."""

    group: int
    question: int
    system: str
    user: str

    @property
    def messages(self) -> Messages:
        """The prompt as a chat."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}]


@functools.lru_cache(maxsize=64)
def _order(groups: int, prompts: int, seed: int) -> list[tuple[int, int]]:
    order = [(group, question) for group in range(groups) for question in range(prompts)]
    random.Random(f"{seed} order").shuffle(order)
    return order


@functools.lru_cache(maxsize=4096)
def _prompt_words(seed: str, count: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=count))
