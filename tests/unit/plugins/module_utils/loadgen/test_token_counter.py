"""The counting of tokens beside the load never makes a run wait forever."""

from __future__ import annotations

import asyncio

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.destination import Destination
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.token_counter import TokenCounter


def test_draining_raises_the_error_that_stopped_the_counting() -> None:
    def refused(_record: object, _call: object) -> None:
        raise ArithmeticError("cannot be added up")

    async def run() -> None:
        counter = TokenCounter(Destination("http://127.0.0.1:9"), refused)
        answer = type("Answer", (), {"text": "a b", "chunks": 2})
        for _each in range(3):
            counter.put(answer(), type("Call", (), {"model": "m", "body": "{}", "stream": True})())
        try:
            await asyncio.wait_for(counter.drain(), 20)
        finally:
            await counter.close()

    with pytest.raises(ArithmeticError, match="added up"):
        asyncio.run(run())
