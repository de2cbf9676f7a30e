"""Each break is named first or second within half a minute of looking, and is gone from the findings when it is mended."""

from __future__ import annotations

import pytest
from breaks import BREAKS
from stack import Stack


@pytest.mark.parametrize("name", sorted(BREAKS))
def test_the_break_is_named_and_then_gone(stack: Stack, name: str) -> None:
    codes, apply = BREAKS[name]
    undo = apply(stack)
    try:
        found = stack.until_named(codes)
        named = next(entry for entry in found["findings"] if entry["code"] in codes)
        print(f"{name}: rank {named['rank']} of {len(found['findings'])} in {found['seconds']} s: {named['what']} ({named['where']})")
        assert named["evidence"] and named["remedy"] and not found["ok"]
    finally:
        undo()
    stack.until_well()


def test_there_are_twenty_ways_at_least() -> None:
    assert len(BREAKS) >= 20
