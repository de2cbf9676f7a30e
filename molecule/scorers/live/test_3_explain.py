"""`explain` predicts the endpoint picker: each of 240 requests in 120 states goes to a predicted winner."""

from __future__ import annotations

import typing as t

import pytest
from agreement import BLOCKS, measure
from stack import Stack


@pytest.mark.parametrize(
    "block",
    [*(pytest.param(block, marks=pytest.mark.rest) for block in BLOCKS[:-1]), BLOCKS[-1]],
    ids=lambda block: "+".join([*block.get("scorers", {}), block.get("preset", "")]).strip("+"),
)
def test_explain_agrees_with_the_endpoint_picker(stack: Stack, block: dict[str, t.Any]) -> None:
    assert len(stack.servers("table")) == 4
    result = measure(stack, block, 30)
    print(f"explain: {result.agreed} of {result.requests} agree, {result.clear} of them with one possible winner; {result.repeated} states were set up twice")
    assert result.mismatches == []
    assert result.clear > result.requests / 3
