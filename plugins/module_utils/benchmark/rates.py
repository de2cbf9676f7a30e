# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rates per second of a stage while its load lasts, and not while it drains. Pure.

A closed loop is full from its start until its last request is sent. Each request counts by the share of its own time in that period, since the last requests,
as many as are in flight, end after it. An open loop that the server keeps up with has the rate at which its requests are due, however long and unequal their
answers take. Where the server does not keep up, a queue grows, and drains after the last request: answers count that end after the first one and before the
last request is sent. Where answers take so long that hardly any ends in that period, all answers after the first one count: they come as fast as the server
can answer.
"""

from __future__ import annotations

import collections
import collections.abc as c
import math

from .pace import Pace

LEAST = 10  # requests that must succeed while an open loop lasts that the server does not keep up with

Counts = c.Mapping[str, float]


class Span:
    """Requests that ended: how many succeeded, when the last one ended, failed ones included, and sums of their counts. Some count only by a share."""

    __slots__ = ("n", "last", "sums")

    def __init__(self) -> None:
        self.n = self.last = 0.0
        self.sums: collections.defaultdict[str, float] = collections.defaultdict(float)

    def add(self, end: float, counts: Counts, share: float = 1.0, n: float = 1.0) -> None:
        """Add a share of requests, of which `n` succeeded and the last ended at second `end`, and of their counts."""
        self.n += n * share
        self.last = max(self.last, end)
        for name, count in counts.items():
            self.sums[name] += count * share


class Due:
    """The requests of the schedule: how many, and when the first and the last were due."""

    __slots__ = ("n", "first", "last")

    def __init__(self) -> None:
        self.n, self.first, self.last = 0, float("inf"), 0.0

    def add(self, first: float, last: float, n: int = 1) -> None:
        """Add `n` of them, due between two moments."""
        self.n, self.first, self.last = self.n + n, min(self.first, first), max(self.last, last)


class Rates:
    """The rates of one stage. open_loop: whether its requests are due at given times; pace: of its answers. `until`: when its last request was sent, None
    while it lasts."""

    __slots__ = ("open_loop", "until", "pace", "due", "first", "inside", "whole")

    def __init__(self, open_loop: bool = False, pace: Pace | None = None) -> None:
        self.open_loop, self.pace = open_loop, pace or Pace()
        self.until: float | None = None
        self.due = Due()
        self.first: tuple[float, Counts] | None = None  # the one that ended first
        self.inside, self.whole = Span(), Span()

    def add(self, sent: float, end: float, counts: Counts, due: float | None = None) -> None:
        """Add a request that ended at second `end`. due: its time in the schedule; None for a request that follows another one."""
        good = counts.get("ok", 0.0)
        self.whole.add(end, counts, n=good)
        if share := self._inside(sent, end):
            self.inside.add(end, counts, share, good)
        if due is not None:
            self.due.add(due, due)
        if self.first is None or end < self.first[0]:
            self.first = (end, counts)

    def merge(self, other: Rates) -> None:
        """Add the rates of another client of the same stage. The caller merges the paces."""
        until = max((each.until for each in (self, other) if each.until is not None), default=None)
        inside = Span()
        for each in (self, other):
            # clients end apart, and each was full until its own end
            longer = until / each.until if not self.open_loop and until and each.until else 1.0
            inside.add(each.inside.last, each.inside.sums, longer, each.inside.n)
        self.inside, self.until = inside, until
        self.whole.add(other.whole.last, other.whole.sums, n=other.whole.n)
        self.due.add(other.due.first, other.due.last, other.due.n)
        self.first = min((each for each in (self.first, other.first) if each), key=lambda each: each[0], default=None)

    @property
    def as_due(self) -> bool:
        """Whether requests count when they are due, since the server keeps up with them."""
        return self.open_loop and self.pace.keeps_up and self.due.last > self.due.first

    def window(self) -> tuple[float, float]:
        """The seconds from which and until which requests count, those in which they are due or in which they ended."""
        if self.as_due:
            return self.due.first, self.due.last
        if not self.open_loop:
            return 0.0, self.until if self.until and self.inside.n else self.whole.last
        return self.first[0] if self.first else 0.0, self._span().last

    def per_second(self, *names: str) -> float:
        """The sums of these names per second; 0 where nothing ended."""
        begin, end = self.window()
        due_rate = self._due_rate(*names)
        if self.as_due:
            return due_rate * self.pace.share
        span, before = self._span(), self.first[1] if self.first and self.open_loop else {}
        if self.open_loop and (span.n < 2 or end <= begin):  # a single one: nothing ended after the first
            span, before, begin, end = self.whole, {}, 0.0, self.whole.last
        # a few answers that happen to end together are no faster than the schedule
        return min(due_rate, sum(span.sums[name] - before.get(name, 0) for name in names) / (end - begin)) if end > begin else 0.0

    def _due_rate(self, *names: str) -> float:
        """The sums of these names per second in which their requests were due; infinite where these have no times, or a single one."""
        if not self.open_loop or self.due.last <= self.due.first:
            return math.inf
        return sum(self.whole.sums[name] for name in names) / self.due.n * (self.due.n - 1) / (self.due.last - self.due.first)

    def _inside(self, sent: float, end: float) -> float:
        """The share of a request that counts while the load lasts: of a closed loop, of its own time."""
        if self.until is None or end <= self.until:
            return 1.0
        return 0.0 if self.open_loop or sent >= self.until else (self.until - sent) / (end - sent)

    def _span(self) -> Span:
        return self.inside if self.inside.n > (LEAST if self.open_loop else 0) else self.whole
