# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is sent: workloads as sources of requests. Pure; the same seed gives the same requests.

Lengths of prompts are in common English words, a token each or a little more, since no tokenizer is at hand where this runs.
"""

from __future__ import annotations

import collections.abc as c
import random
import typing as t

from . import traces
from .record import Record
from .request import Call, Shape
from .shared_prefix import WORDS, Workload

Options = c.Mapping[str, t.Any]
KINDS = ("random", "shared_prefix", "chats", "trace", "prompts")
MESSAGES = list[dict[str, str]]


class Mix:
    """Which model each request asks for: names with weights, drawn with a seed. LoRA adapters are models here, as they are to servers."""

    def __init__(self, models: c.Sequence[Options], seed: int) -> None:
        self._names = [str(entry["name"]) for entry in models]
        self._weights = [float(entry.get("weight") or 1.0) for entry in models]
        self._seed = seed

    def __call__(self, number: int) -> str:
        if len(self._names) == 1:
            return self._names[0]
        return random.Random(f"{self._seed} model {number}").choices(self._names, self._weights)[0]


class Random:
    """Prompts of random words that share nothing, of fixed or of uniformly random lengths."""

    def __init__(self, options: Options, shape: Shape, mix: Mix, seed: int, nonce: str) -> None:
        self._lengths = [(options[name], options.get(f"{name}_max") or options[name]) for name in ("input_len", "output_len")]
        self._shape, self._mix, self._seed, self._nonce = shape, mix, seed, nonce

    def call(self, number: int) -> Call:
        """The request with this number."""
        dice = random.Random(f"{self._seed} {self._nonce} {number}")
        count, output = (dice.randint(low, high) for low, high in self._lengths)
        model = self._mix(number)
        return _call(self._shape, number, number, model, words(dice, count), output)

    def follow(self, call: Call, record: Record) -> None:
        """Each stands for itself."""


class SharedPrefix:
    """Groups of prompts that share a long prefix, in the order of inference-perf's `shared_prefix`."""

    def __init__(self, options: Options, shape: Shape, mix: Mix, seed: int, nonce: str) -> None:
        names = ("groups", "prompts_per_group", "system_prompt_len", "question_len", "output_len")
        self._workload = Workload(**{name: options[name] for name in names}, seed=seed, nonce=nonce)
        self._shape, self._mix = shape, mix

    def call(self, number: int) -> Call:
        """The request with this number."""
        prompt = self._workload.prompt(number)
        return _call(self._shape, number, prompt.group, self._mix(number), prompt.messages, self._workload.output_len)

    def follow(self, call: Call, record: Record) -> None:
        """Each stands for itself."""


class Chats:
    """Conversations under a shared system prompt: each turn carries all that was said before it, the server's answers included."""

    def __init__(self, options: Options, shape: Shape, mix: Mix, seed: int, nonce: str) -> None:
        self._options, self._shape, self._mix, self._seed, self._nonce = options, shape, mix, seed, nonce
        self._turns = (options["turns"], options.get("turns_max") or options["turns"])

    def call(self, number: int) -> Call:
        """The first turn of the conversation with this number."""
        group = number % self._options["groups"]
        said = f"{self._nonce} group {group} " + words(random.Random(f"{self._seed} {self._nonce} system {group}"), self._options["system_prompt_len"])
        turns = random.Random(f"{self._seed} turns {number}").randint(*self._turns)
        return self._turn(number, 0, turns, [{"role": "system", "content": said.strip()}], self._mix(number))

    def follow(self, call: Call, record: Record) -> tuple[float, Call] | None:
        """The next turn, once its user has thought."""
        messages, turns = call.follow
        if record.error or call.turn + 1 >= turns:
            return None
        answered = [*messages, {"role": "assistant", "content": record.text or ""}]
        return self._options["think_seconds"], self._turn(call.number, call.turn + 1, turns, answered, call.model)

    def _turn(self, number: int, turn: int, turns: int, before: MESSAGES, model: str) -> Call:
        question = words(random.Random(f"{self._seed} {self._nonce} question {number} {turn}"), self._options["question_len"])
        messages = [*before, {"role": "user", "content": question}]
        made = _call(self._shape, number, number, model, messages, self._options["output_len"])
        made.turn, made.follow, made.keep_text = turn, (messages, turns), turn + 1 < turns
        return made


class Trace:
    """A recorded trace again: lengths of prompts and answers, and which blocks prompts share where it says so (Mooncake)."""

    def __init__(self, options: Options, shape: Shape, mix: Mix, seed: int, nonce: str) -> None:
        self.entries = traces.trace(options["text"], options["format"])
        self._block, self._speed = options["block_len"], options["speed"]
        self._shape, self._mix, self._seed, self._nonce = shape, mix, seed, nonce

    def times(self, limit: int | None = None) -> list[float]:
        """When each request is due, in seconds from the first, at the speed asked for."""
        first = self.entries[0].at
        return [(entry.at - first) / self._speed for entry in self.entries[:limit]]

    def call(self, number: int) -> Call | None:
        """The request with this number; after the last comes the first again."""
        entry = self.entries[number % len(self.entries)]
        parts = [words(random.Random(f"{self._seed} {self._nonce} block {block}"), self._block) for block in entry.blocks]
        said = " ".join(parts).split(" ")[: entry.input_len] if parts else []
        said += words(random.Random(f"{self._seed} {self._nonce} own {number}"), entry.input_len - len(said)).split() if len(said) < entry.input_len else []
        return _call(self._shape, number, entry.blocks[0] if entry.blocks else number, self._mix(number), " ".join(said), entry.output_len)

    def follow(self, call: Call, record: Record) -> None:
        """The trace says when the next one comes."""


class Prompts:
    """The user's own prompts, one after the other and again."""

    def __init__(self, options: Options, shape: Shape, mix: Mix, seed: int, nonce: str) -> None:
        self._prompts = traces.prompts(options["text"])
        self._output_len = options["output_len"]
        self._shape, self._mix = shape, mix

    def call(self, number: int) -> Call:
        """The request with this number."""
        place = number % len(self._prompts)
        own = self._prompts[place]
        return _call(self._shape, number, place, own.model or self._mix(number), own.prompt, own.output_len or self._output_len)

    def follow(self, call: Call, record: Record) -> None:
        """Each stands for itself."""


def source(options: Options, shape: Shape, models: c.Sequence[Options], seed: int, nonce: str) -> Random | SharedPrefix | Chats | Trace | Prompts:
    """The workload of these options. Raises ValueError for files that cannot be read as what they shall be."""
    kinds = {"random": Random, "shared_prefix": SharedPrefix, "chats": Chats, "trace": Trace, "prompts": Prompts}
    return kinds[options["kind"]](options, shape, Mix(models, seed), seed, nonce)


def words(dice: random.Random, count: int) -> str:
    """So many random words."""
    return " ".join(dice.choices(WORDS, k=count)) if count > 0 else ""


def _call(shape: Shape, number: int, group: int, model: str, prompt: str | MESSAGES, output_len: int) -> Call:
    body = shape.body(model, prompt, output_len)
    return Call(number, group, model, shape.path, body, output_len if shape.ignore_eos else 0, shape.stream)
