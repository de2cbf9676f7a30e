# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ended per second while the load lasted, and not while it drained. Pure.

A closed loop is full from its first moment on: what ended until its last request was sent counts. An open loop fills while its first answers are under way and
drains behind its last request for as long as an answer takes: what ended behind the first answer, until the last request was sent, counts. Where answers take
so long that hardly any ends in that time, all that ended behind the first one count: they come at the pace of their requests, or as fast as the server can.
"""

from __future__ import annotations

import collections

LEAST = 10  # requests that have to end while an open loop lasts

Counts = dict[str, int]


class Span:
    """Requests that ended, failed ones too: how many, when the last of them did, and sums of what came of them."""

    __slots__ = ("n", "last", "sums")

    def __init__(self) -> None:
        self.n, self.last, self.sums = 0, 0.0, collections.Counter[str]()

    def add(self, end: float, counts: Counts) -> None:
        self.n += 1
        self.last = max(self.last, end)
        for name, count in counts.items():
            self.sums[name] += count

    def merge(self, other: Span) -> None:
        self.n += other.n
        self.last = max(self.last, other.last)
        self.sums.update(other.sums)


class Rates:
    """Of one stage. open_loop: whether its requests are due at given times; until: when its last request was sent, None while it lasts."""

    __slots__ = ("open_loop", "until", "first", "inside", "whole")

    def __init__(self, open_loop: bool = False) -> None:
        self.open_loop, self.until = open_loop, None  # type: bool, float | None
        self.first: tuple[float, Counts] | None = None  # the one that ended first
        self.inside, self.whole = Span(), Span()

    def add(self, end: float, counts: Counts) -> None:
        """Add a request that ended at second `end`."""
        self.whole.add(end, counts)
        if self.until is None or end <= self.until:
            self.inside.add(end, counts)
        if self.first is None or end < self.first[0]:
            self.first = (end, counts)

    def merge(self, other: Rates) -> None:
        """Add those of another client of the same stage."""
        self.whole.merge(other.whole)
        self.inside.merge(other.inside)
        self.first = min((each for each in (self.first, other.first) if each), key=lambda each: each[0], default=None)
        self.until = max((each for each in (self.until, other.until) if each is not None), default=None)

    def window(self) -> tuple[float, float]:
        """The seconds from which and until which ends count."""
        if not self.open_loop:
            return 0.0, self.until if self.until and self.inside.n else self.whole.last
        return self.first[0] if self.first else 0.0, self._span().last

    def per_second(self, *names: str) -> float:
        """The sums of these names per second; 0 where nothing ended."""
        begin, end = self.window()
        span, before = self._span(), self.first[1] if self.first and self.open_loop else {}
        if self.open_loop and (span.n < 2 or end <= begin):  # a single one: nothing ended behind the first
            span, before, begin, end = self.whole, {}, 0.0, self.whole.last
        return sum(span.sums[name] - before.get(name, 0) for name in names) / (end - begin) if end > begin else 0.0

    def _span(self) -> Span:
        return self.inside if self.inside.n > (LEAST if self.open_loop else 0) else self.whole
