"""The statistic with which live tests check the random picker: its rate of false alarms, and the deviations that it detects."""

from __future__ import annotations

import collections
import itertools
import random

import pytest
import random_picks

SERVERS = ("a", "b", "c", "d")
SENT = 400  # as in molecule/scorers/live/test_2_policy.py


def counted(picks: list[str]) -> list[int]:
    counts = collections.Counter(picks)
    return [counts[name] for name in SERVERS]


@pytest.mark.parametrize(("counts", "chance"), [([100] * 4, 1.0), ([110, 90, 105, 95], 0.4753), ([130, 70, 100, 100], 4.40e-4)])
def test_the_chance_is_that_of_the_tables(counts: list[int], chance: float) -> None:
    assert random_picks.chance_of(counts) == pytest.approx(chance, rel=1e-2)


def test_false_alarms_are_as_frequent_as_the_significance_level() -> None:
    dice = random.Random(14)
    chances = [random_picks.chance_of(counted(dice.choices(SERVERS, k=SENT))) for _run in range(5000)]
    for level in (0.5, 0.1, 0.01):
        share = sum(chance < level for chance in chances) / len(chances)
        assert share == pytest.approx(level, abs=4 * (level * (1 - level) / len(chances)) ** 0.5)
    assert min(chances) > random_picks.FALSE_ALARM


@pytest.mark.parametrize("weights", [(1, 1, 1, 0), (2, 1, 1, 1), (1, 1, 1, 0.4)])
def test_a_picker_that_prefers_or_avoids_a_server_is_noticed(weights: tuple[float, ...]) -> None:
    dice = random.Random(14)
    noticed = [random_picks.chance_of(counted(dice.choices(SERVERS, weights, k=SENT))) < random_picks.FALSE_ALARM for _run in range(200)]
    assert sum(noticed) > 150


def test_servers_that_take_turns_are_no_random_picks() -> None:
    dice = random.Random(14)
    assert random_picks.repeats(list(itertools.islice(itertools.cycle(SERVERS), SENT))) == 0
    assert min(random_picks.repeats(dice.choices(SERVERS, k=SENT)) for _run in range(2000)) > 50  # 100 are expected; none: once in 10^50
