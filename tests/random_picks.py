"""Whether servers were picked at random with equal probability: how often chance alone makes counts as uneven as the observed ones."""

from __future__ import annotations

import collections.abc as c
import math

# A live test that draws from a correct picker fails by chance once in a million runs.
FALSE_ALARM = 1e-6


def chance_of(counts: c.Sequence[int]) -> float:
    """The probability that picks with equal chances are at least as uneven as these counts of four servers: Pearson's chi-square, 3 degrees of freedom."""
    assert len(counts) == 4, "the closed form below is that of 3 degrees of freedom"
    expected = sum(counts) / 4
    statistic = sum((count - expected) ** 2 for count in counts) / expected
    return math.erfc(math.sqrt(statistic / 2)) + math.sqrt(2 * statistic / math.pi) * math.exp(-statistic / 2)


def repeats(picks: c.Sequence[str]) -> int:
    """How often a server was picked twice in a row: a quarter of random picks among four servers, none if servers take turns."""
    return sum(before == after for before, after in zip(picks, picks[1:], strict=False))
