# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Intervals of 95 % confidence, and how many requests they take. Pure.

A percentile lies between two values of a sample by the binomial distribution alone, whatever the values are. In a small sample no value may lie above the
percentile: then its interval has no upper end, and is unknown. This holds for independent values. Consecutive values of one server are not independent:
behind a queue they are slow together, and carry as much information as fewer independent ones.
"""

from __future__ import annotations

import collections.abc as c
import functools
import math
import operator

MISS = 0.025  # share of the intervals that may lie above the true value, and below it
Z95 = 1.959964  # standard deviations of a normal distribution around an interval of 95 %


@functools.lru_cache(maxsize=256)
def ranks(count: int, percent: float) -> tuple[int, int] | None:
    """The ranks, counted from 1, of the two of `count` independent values between which the percentile lies; None where they are too few."""
    share = percent / 100
    low, high = below(count, share), count + 1 - below(count, 1 - share)
    return None if low < 1 or high > count else (low, high)


def needed(percent: float) -> int:
    """The least number of independent values of which the interval of a percentile has two ends."""
    return math.ceil(math.log(MISS) / math.log(max(percent, 100 - percent) / 100))


def variance_of_sum(values: c.Sequence[float]) -> tuple[float, float]:
    """(the variance of the sum of consecutive values, how many of them carry as much information as one independent value, at least 1).

    By Geyer's initial monotone sequence: correlations are added in pairs, at growing distance, until a pair has none.
    """
    count = len(values)
    mean = math.fsum(values) / count
    rest = [value - mean for value in values]
    own = math.fsum(value * value for value in rest)
    if own <= 0:
        return 0.0, 1.0
    tied, last = -1.0, math.inf
    for apart in range(0, count - 1, 2):
        last = min(last, math.fsum(math.fsum(map(operator.mul, rest, rest[each:])) for each in (apart, apart + 1)) / own)
        if last <= 0:
            break
        tied += 2 * last
    return own * count / (count - 1) * max(1.0, tied), max(1.0, tied)


def student(count: float) -> float:
    """Standard errors around the mean of `count` values from 4 on, by Student's distribution: within 1 % (Cornish and Fisher's expansion)."""
    freedom, z = count - 1, Z95
    return (
        z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2) + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def below(count: int, share: float) -> int:
    """The largest rank that fewer than this many of `count` values reach with a probability of at most MISS, each with probability `share`; 0 for none."""
    spread = math.sqrt(count * share * (1 - share))
    rank = max(0, math.floor(count * share - Z95 * spread))
    total, number = 0.0, rank - 1  # the probability of fewer than `rank`
    while number >= 0 and (each := _exactly(count, share, number)) > total * 1e-12:
        total, number = total + each, number - 1
    while total > MISS:
        rank -= 1
        total -= _exactly(count, share, rank)
    while (next_total := total + _exactly(count, share, rank)) <= MISS:
        rank, total = rank + 1, next_total
    return rank


def _exactly(count: int, share: float, number: int) -> float:
    """The probability of `number` of `count`."""
    ways = math.lgamma(count + 1) - math.lgamma(number + 1) - math.lgamma(count - number + 1)
    return math.exp(ways + number * math.log(share) + (count - number) * math.log1p(-share))
