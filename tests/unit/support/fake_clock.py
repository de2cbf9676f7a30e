"""A clock that stands still but for the sleeps that it is asked for: what waits is tested by its looks and sleeps, however fast the machine is."""

from __future__ import annotations

import typing as t


class FakeClock:
    """See common.clock.Clock. sleeps: those asked for, in seconds; each: called at every sleep, with the time after it."""

    def __init__(self, each: t.Callable[[float], object] = lambda _now: None) -> None:
        self.time, self.sleeps, self._each = 1000.0, list[float](), each

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time += seconds
        self._each(self.time)
