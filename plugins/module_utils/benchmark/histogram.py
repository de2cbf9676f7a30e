# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Distributions of measured values in bounded memory. Pure.

Each bucket is 0.1 % wider than the one before it, so a percentile is within 0.05 % of the value at its rank. Mean, minimum and maximum are exact.
"""

from __future__ import annotations

import math

from . import confidence

SMALLEST = 1e-3  # smaller values share one bucket: a microsecond where values are milliseconds
PERCENTILES = (50, 90, 95, 99)

_log = math.log


class Hist:
    """Values by bucket. At most 30,000 buckets, of which only those with values take memory."""

    __slots__ = ("counts", "n", "total", "squares", "low", "high")
    growth = 1.001  # the upper end of a bucket divided by its lower end
    per_log = 1 / math.log(growth)

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.n = 0
        self.total = self.squares = 0.0
        self.low, self.high = math.inf, -math.inf

    def add(self, value: float) -> None:
        """Add a value. A value below 0 counts as 0: a difference of two times of one clock may round to less."""
        index = int(_log(value / SMALLEST) * self.per_log) + 1 if value > SMALLEST else 0
        self.counts[index] = self.counts.get(index, 0) + 1
        self.n += 1
        self.total += value
        self.squares += value * value
        if value < self.low:
            self.low = value
        if value > self.high:
            self.high = value

    def merge(self, other: Hist) -> None:
        """Add all values of another histogram."""
        for index, count in other.counts.items():
            self.counts[index] = self.counts.get(index, 0) + count
        self.n += other.n
        self.total += other.total
        self.squares += other.squares
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    @property
    def mean(self) -> float | None:
        """The mean; None without values."""
        return self.total / self.n if self.n else None

    @property
    def deviation(self) -> float:
        """The standard deviation of the sample."""
        return math.sqrt(max(0.0, self.squares - self.total * self.total / self.n) / (self.n - 1)) if self.n > 1 else 0.0

    def at_rank(self, rank: int) -> float:
        """The value at a rank, counted from 0."""
        count, value = 0, self.high
        for index in sorted(self.counts):
            count += self.counts[index]
            if count > rank:
                value = SMALLEST * self.growth ** (index - 0.5) if index else 0.0
                break
        return min(max(value, self.low), self.high)

    def percentile(self, percent: float, lost: int = 0) -> float | None:
        """The value below which `percent` of the values lie. `lost` further values count as infinite. None without values."""
        count = self.n + lost
        if not count:
            return None
        return self._or_lost(max(0, math.ceil(count * percent / 100) - 1))

    def interval(self, percent: float, requests: int | None = None, lost: int = 0) -> tuple[float, float] | None:
        """The interval of 95 % confidence of a percentile; None with too few values. `requests`: the number of independent values where not all
        are: values of one request depend on each other. `lost` further values count as infinite, and so do ends of the interval that reach them."""
        whole = self.n + lost
        count = whole if requests is None else min(requests, whole)
        bounds = confidence.ranks(count, percent)
        if bounds is None:
            return None
        low, high = ((bounds[0] - 1) * whole // count), math.ceil(bounds[1] * whole / count) - 1
        return self._or_lost(low), self._or_lost(high)

    def least(self, percent: float, requests: int, lost: int = 0) -> float | None:
        """The lower end of `interval`, also where values are too few for the upper one; None with too few for either."""
        rank = confidence.below(requests, percent / 100)
        return self._or_lost((rank - 1) * (self.n + lost) // requests) if rank else None

    def above(self, value: float) -> int:
        """How many values are larger, but for those in the bucket of this one."""
        if math.isinf(value):
            return 0
        bucket = int(_log(value / SMALLEST) * self.per_log) + 1 if value > SMALLEST else 0
        return sum(count for index, count in self.counts.items() if index > bucket)

    def _or_lost(self, rank: int) -> float:
        return self.at_rank(rank) if rank < self.n else math.inf

    def summary(self) -> dict[str, float | int | None]:
        """{n, mean, min, p50, p90, p95, p99, max}; all but n are None without values."""
        figures: dict[str, float | None] = {"mean": self.mean, "min": self.low if self.n else None}
        figures |= {f"p{percent}": self.percentile(percent) for percent in PERCENTILES}
        figures["max"] = self.high if self.n else None
        return {"n": self.n, **{name: None if value is None else round(value, 3) for name, value in figures.items()}}

    def cdf(self, points: int = 100) -> list[list[float]]:
        """At most `points` + 1 pairs [value, share of values not above it]."""
        if not self.n:
            return []
        ranks = sorted({round(index * (self.n - 1) / points) for index in range(points + 1)})
        pairs, count, place = [], 0, 0
        for index in sorted(self.counts):
            count += self.counts[index]
            value = SMALLEST * self.growth ** (index - 0.5) if index else 0.0
            while place < len(ranks) and ranks[place] < count:
                pairs.append([round(min(max(value, self.low), self.high), 3), round((ranks[place] + 1) / self.n, 5)])
                place += 1
        return pairs


class Coarse(Hist):
    """A tenth of the buckets, for plots, which need many histograms: percentiles are within 0.5 %."""

    __slots__ = ()
    growth = 1.01
    per_log = 1 / math.log(growth)
