"""A clock that advances only by sleeps: tests of waiting count checks and sleeps, independent of the speed of the machine."""

from __future__ import annotations

import typing as t


class FakeClock:
    """See common.clock.Clock. sleeps: the requested ones, in seconds; each: called after every sleep, with the new time."""

    def __init__(self, each: t.Callable[[float], object] = lambda _now: None) -> None:
        self.time, self.sleeps, self._each = 1000.0, list[float](), each

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time += seconds
        self._each(self.time)
