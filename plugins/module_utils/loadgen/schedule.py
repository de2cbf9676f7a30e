# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages, and when each of their requests is due. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import math
import random
import typing as t

MAX_REQUESTS = 100_000_000
TINY = 1e-9  # by which rounding may lift a rate times seconds above a whole number


@dataclasses.dataclass(frozen=True)
class Step:
    """One stage: an open loop at `rate`, or from `rate` to `to_rate`; a closed loop with `concurrency` requests in flight; or the times of a trace.

    It ends after `seconds` or `requests`, which are conversations for chats.
    """

    rate: float | None = None
    to_rate: float | None = None
    concurrency: int | None = None
    seconds: float | None = None
    requests: int | None = None
    warmup: bool = False
    trace: bool = False

    @property
    def label(self) -> str:
        """Its load as text, which identifies the same stage in another run."""
        if self.trace:
            return "trace"
        if self.concurrency is not None:
            return f"concurrency {self.concurrency}"
        return f"rate {self.rate:g}" + (f" to {self.to_rate:g}" if self.to_rate is not None else "")

    def share(self, index: int, count: int) -> Step:
        """The part of worker `index` of `count` workers that send this stage together."""

        def part(whole: int) -> int:
            return whole // count + (index < whole % count)

        return dataclasses.replace(
            self,
            rate=None if self.rate is None else self.rate / count,
            to_rate=None if self.to_rate is None else self.to_rate / count,
            concurrency=None if self.concurrency is None else part(self.concurrency),
            requests=None if self.requests is None else part(self.requests),
        )


def steps(stages: c.Iterable[c.Mapping[str, t.Any]], warmup: c.Mapping[str, t.Any] | None = None) -> list[Step]:
    """The stages of options such as {rate: 8, seconds: 30} or {concurrency: 64, requests: 1000}, the warm-up first. Raises ValueError: all problems."""
    parsed, problems = [], []
    for path, entry in ([("warmup", warmup)] if warmup else []) + [(f"stages[{index}]", entry) for index, entry in enumerate(stages)]:
        given = {name: entry.get(name) for name in ("rate", "to_rate", "concurrency", "seconds", "requests")}
        mistakes = step_problems(given)
        problems += [f"{path}{problem}" for problem in mistakes]
        if not mistakes:
            parsed.append(Step(**t.cast(t.Any, given), warmup=path == "warmup"))
    if problems:
        raise ValueError("; ".join(problems))
    return parsed


def step_problems(given: c.Mapping[str, t.Any]) -> list[str]:
    """Mistakes in one stage, each to be appended to its path."""
    problems = [f".{name}: {value:g} must be more than 0" for name, value in given.items() if value is not None and not (value > 0 and math.isfinite(value))]
    if (given["rate"] is None) == (given["concurrency"] is None):
        problems.append(": give either rate or concurrency")
    if (given["seconds"] is None) == (given["requests"] is None):
        problems.append(": give either seconds or requests")
    if given["to_rate"] is not None and (given["rate"] is None or given["seconds"] is None):
        problems.append(".to_rate: a ramp goes from rate to to_rate within seconds; give rate and seconds")
    if not problems and given["requests"] is not None and given["requests"] > MAX_REQUESTS:
        problems.append(f".requests: {given['requests']} is more than {MAX_REQUESTS}")
    return problems


def times(step: Step, seed: int, arrivals: str) -> c.Iterator[float]:
    """When each request of an open loop is due, in seconds from the start of the stage.

    A stage of seconds has rate * seconds requests, rounded up, whatever the seed, and the last is due (requests - 1) / rate after the first: short stages keep
    their rate. poisson: between these two, as if arrivals were independent: exponential gaps, rescaled. constant: equal gaps.
    In a ramp the rate grows or falls linearly: request n is due when the integral of the rate reaches the n-th time of a process of rate 1.
    """
    dice = random.Random(f"{seed} arrivals {step.label}")
    whole = _area(step) if step.requests is None else float(step.requests)
    count = max(1, math.ceil(whole - TINY))
    places = map(float, range(count)) if arrivals == "constant" else _poisson(count, whole - count + 1, dice)
    return (_bent(step, place) for place in places)


def _poisson(count: int, room: float, dice: random.Random) -> c.Iterator[float]:
    """Times of a Poisson process of rate 1 of which it is known that the first comes within `room`, and the last `count` - 1 later."""
    first, left = dice.random() * room, float(count - 1)
    end = first + left
    for remaining in range(count - 1, 0, -1):
        yield end - left
        # the first of the gaps that share what is left: as far as the nearest of `remaining` - 1 times that may be anywhere there
        left = left * (1.0 - dice.random()) ** (1 / (remaining - 1)) if remaining > 1 else 0.0
    yield end


def _area(step: Step) -> float:
    """The integral of the rate over the stage."""
    rate = t.cast(float, step.rate)
    return (rate + (rate if step.to_rate is None else step.to_rate)) / 2 * t.cast(float, step.seconds)


def _bent(step: Step, place: float) -> float:
    """The second at which the integral of the rate reaches `place`."""
    rate = t.cast(float, step.rate)
    if step.to_rate is None or step.to_rate == rate:
        return place / rate
    slope = (step.to_rate - rate) / t.cast(float, step.seconds)
    return (math.sqrt(max(0.0, rate * rate + 2 * slope * place)) - rate) / slope
