"""The stack of this scenario: one gateway with the service `chat`."""

from __future__ import annotations

import json
import typing as t

from live_stack import Stack, call

INVENTORY = "inventories/local-vllm"
MODEL = "smollm2-135m-instruct"


def of_this_scenario() -> Stack:
    """The running stack."""
    return Stack(INVENTORY, {"chat": MODEL})


def asked(stack: Stack, question: str, **more: t.Any) -> dict[str, t.Any]:
    """The answer of the gateway to one question. Tokens are drawn as the server does it unless it is told otherwise."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": question}], "max_tokens": 64, **more}
    status, _headers, content = call(f"{stack.url('chat')}/v1/chat/completions", body, timeout=120)
    assert status == 200, content
    return t.cast("dict[str, t.Any]", json.loads(content))
