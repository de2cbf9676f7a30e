# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stage over time, in a bounded number of equal slices. Pure."""

from __future__ import annotations

import math
import typing as t

from ..loadgen.record import Record
from .confidence import student
from .histogram import Coarse

SLICES = 120  # at most; beyond that, pairs of slices are merged


class Slice:
    """The requests that ended in one slice of time, and what came of those that were due in it."""

    __slots__ = ("ok", "failed", "tokens", "due_ok", "due_tokens", "ttft")

    def __init__(self) -> None:
        self.ok = self.failed = self.tokens = self.due_ok = self.due_tokens = 0
        self.ttft = Coarse()

    def merge(self, other: Slice) -> None:
        """Add another slice."""
        for name in ("ok", "failed", "tokens", "due_ok", "due_tokens"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.ttft.merge(other.ttft)


class Series:
    """Slices of equal width in seconds. A request counts in the slice in which it ended, its time to first token in the one in which it was due."""

    def __init__(self, width: float = 1.0) -> None:
        self.width = width
        self.slices: list[Slice] = []

    def add(self, record: Record, ttft: float | None) -> None:
        """Add a request. `ttft`: seconds; None where it failed."""
        ended = self._slice(record.end)
        if record.error:
            ended.failed += 1
        else:
            due = self._slice(record.planned)
            ended.ok += 1
            ended.tokens += record.output_tokens or 0
            due.due_ok += 1
            due.due_tokens += record.output_tokens or 0
        if ttft is not None:
            self._slice(record.planned).ttft.add(ttft * 1000)

    def merge(self, other: Series) -> None:
        """Add the series of another client at the same time."""
        while self.width < other.width:
            self._halve()
        while other.width < self.width:
            other._halve()
        for index, each in enumerate(other.slices):
            self._slice((index + 0.5) * self.width).merge(each)

    def rows(self) -> list[dict[str, t.Any]]:
        """[{second, requests_per_s, output_tokens_per_s, failed, ttft_p50_ms, ttft_p90_ms}]; `second` is where a slice begins."""
        return [
            {
                "second": round(index * self.width, 3),
                "requests_per_s": round(each.ok / self.width, 3),
                "output_tokens_per_s": round(each.tokens / self.width, 3),
                "failed": each.failed,
                "ttft_p50_ms": _rounded(each.ttft.percentile(50)),
                "ttft_p90_ms": _rounded(each.ttft.percentile(90)),
            }
            for index, each in enumerate(self.slices)
        ]

    def spread(self, of: str, begin: float, end: float) -> float | None:
        """Half the width of the interval of 95 % confidence of a rate, as a share of it; None with fewer than 4 whole slices between two seconds.

        of: the count of a slice.
        """
        # the load builds up in the first slice, and may drain in the last
        first, last = max(1, math.ceil(begin / self.width)), min(len(self.slices) - 1, math.floor(end / self.width))
        counts = [getattr(each, of) for each in self.slices[first:last]]
        if len(counts) < 4 or not any(counts):
            return None
        mean = math.fsum(counts) / len(counts)
        variance = math.fsum((count - mean) ** 2 for count in counts) / (len(counts) - 1)
        return student(len(counts)) * math.sqrt(variance / len(counts)) / mean

    def _slice(self, moment: float) -> Slice:
        index = int(max(0.0, moment) / self.width)
        while index >= SLICES:
            self._halve()
            index = int(max(0.0, moment) / self.width)
        while len(self.slices) <= index:
            self.slices.append(Slice())
        return self.slices[index]

    def _halve(self) -> None:
        self.width *= 2
        halved = self.slices[::2]
        for left, right in zip(halved, self.slices[1::2], strict=False):  # the last may stand alone
            left.merge(right)
        self.slices = halved


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
