# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stage over time, in a bounded number of equal slices. Pure."""

from __future__ import annotations

import collections.abc as c
import math
import typing as t

from ..loadgen.record import Record
from .confidence import student, variance_of_sum
from .histogram import Coarse

SLICES = 120  # at most; beyond that, pairs of slices are merged
LEAST = 10  # slices at least, to determine how much consecutive requests depend on each other
CHANCE = 2.0  # standard errors of a variance that may be chance
TIMES = ("ttft_from_schedule", "e2e_from_schedule", "tpot")  # latencies whose distribution each slice has
COUNTS = ("ok", "failed", "tokens", "due_ok", "due_failed", "due_tokens")


class Slice:
    """The requests that ended in one slice of time, and the outcome of those that were due in it."""

    __slots__ = (*COUNTS, "times")

    def __init__(self) -> None:
        self.ok = self.failed = self.tokens = self.due_ok = self.due_failed = self.due_tokens = 0
        self.times = {name: Coarse() for name in TIMES}

    def merge(self, other: Slice) -> None:
        """Add another slice."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, hist in self.times.items():
            hist.merge(other.times[name])

    @property
    def due(self) -> int:
        """How many requests were due."""
        return self.due_ok + self.due_failed


class Series:
    """Slices of equal width in seconds. A request counts in the slice in which it ended, and, with its times, in the one in which it was due."""

    def __init__(self, width: float = 1 / 1024) -> None:
        self.width = width
        self.slices: list[Slice] = []

    def add(self, record: Record) -> None:
        """Add a request."""
        ended = self._slice(record.end)
        due = self._slice(record.planned)
        if record.error:
            ended.failed += 1
            due.due_failed += 1
            return
        ended.ok += 1
        ended.tokens += record.output_tokens or 0
        due.due_ok += 1
        due.due_tokens += record.output_tokens or 0
        for name, hist in due.times.items():
            if (value := getattr(record, name)) is not None:
                hist.add(value * 1000)

    def merge(self, other: Series) -> None:
        """Add the series of another client at the same time."""
        while self.width < other.width:
            self._halve()
        while other.width < self.width:
            other._halve()
        for index, each in enumerate(other.slices):
            self._slice((index + 0.5) * self.width).merge(each)

    def rows(self) -> list[dict[str, t.Any]]:
        """[{second, requests_per_s, output_tokens_per_s, failed, ttft_p50_ms, ttft_p90_ms}]; `second` is where a slice of a second or more begins."""
        width, slices = self._seconds()
        return [
            {
                "second": round(index * width, 3),
                "requests_per_s": round(each.ok / width, 3),
                "output_tokens_per_s": round(each.tokens / width, 3),
                "failed": each.failed,
                "ttft_p50_ms": _rounded(each.times["ttft_from_schedule"].percentile(50)),
                "ttft_p90_ms": _rounded(each.times["ttft_from_schedule"].percentile(90)),
            }
            for index, each in enumerate(slices)
        ]

    def spread(self, of: str, begin: float, end: float) -> float | None:
        """Half the width of the interval of 95 % confidence of a rate, as a share of it; None with fewer than 4 whole slices, of a second or more, between
        two seconds.

        of: the count of a slice.
        """
        width, slices = self._seconds()
        # the load builds up in the first slice, and may drain in the last
        first, last = max(1, math.ceil(begin / width)), min(len(slices) - 1, math.floor(end / width))
        counts: list[float] = [getattr(each, of) for each in slices[first:last]]
        if len(counts) < 4 or not any(counts):
            return None
        variance, tied = variance_of_sum(counts)
        return student(max(4.0, len(counts) / tied)) * math.sqrt(variance) / sum(counts)

    def worth(self, name: str, bounds: c.Iterable[float]) -> float | None:
        """How many requests carry as much information as one independent request on the share that takes longer than a bound, or fails; at least 1. None with
        too few slices.

        name: the latency; bounds: times in milliseconds, of which the one with the largest result counts.
        """
        slices = self.slices[: self.parts]
        if len(slices) < LEAST:
            return None
        count, most = sum(each.due for each in slices), 1.0
        for bound in bounds:
            above = [each.times[name].above(bound) + each.due_failed for each in slices]
            share = sum(above) / count
            if 0 < share < 1:
                rest = [long - share * each.due for long, each in zip(above, slices, strict=True)]
                most = max(most, variance_of_sum(rest)[0] / (count * share * (1 - share)))
        # a smaller excess is chance in independent requests
        return most if most > 1 + CHANCE * math.sqrt(2 / len(slices)) else 1.0

    @property
    def parts(self) -> int:
        """The number of slices until the last one in which a request was due."""
        return max((index for index, each in enumerate(self.slices, 1) if each.due), default=0)

    def _seconds(self) -> tuple[float, list[Slice]]:
        """(width, slices) with slices of a second or more: answers that come in waves fill some shorter slices and leave others empty."""
        each, merged = max(1, round(1 / self.width)), []
        for index in range(0, len(self.slices), each):
            merged.append(Slice())
            for part in self.slices[index : index + each]:
                merged[-1].merge(part)
        return self.width * each, merged

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
