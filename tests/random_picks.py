"""Whether servers were picked at random, each as likely as the others: how often chance alone makes counts as uneven as those that were found."""

from __future__ import annotations

import collections.abc as c
import math

# A live test that draws from a correct picker fails by chance once in a million runs.
FALSE_ALARM = 1e-6


def chance_of(counts: c.Sequence[int]) -> float:
    """The probability that picks with equal chances are at least as uneven as these counts of four servers: Pearson's chi-square, 3 degrees of freedom."""
    assert len(counts) == 4, "the closed form below is that of 3 degrees of freedom"
    expected = sum(counts) / 4
    found = sum((count - expected) ** 2 for count in counts) / expected
    return math.erfc(math.sqrt(found / 2)) + math.sqrt(2 * found / math.pi) * math.exp(-found / 2)


def repeats(picks: c.Sequence[str]) -> int:
    """How often a server was picked twice in a row: of random picks among four servers a quarter, of servers that take turns none."""
    return sum(before == after for before, after in zip(picks, picks[1:], strict=False))
