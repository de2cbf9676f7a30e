# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Models and completions of Triton without an OpenAI front end, in the form that the health check uses."""

from __future__ import annotations

import json
import typing as t

from ..common import sse
from ..http.answer import Answer
from ..http.errors import ExchangeError
from ..http.urls import excerpt
from . import responses as answers
from .client import OpenAIClient, Reply


def speaks(client: OpenAIClient, timeout: float) -> bool:
    """True when `/v2` reports the name triton."""
    try:
        return client.json("/v2", timeout).get("name") == "triton"
    except ExchangeError:
        return False


def models(client: OpenAIClient, timeout: float) -> list[answers.Model]:
    """The models that are ready, from the repository's index. Raises ExchangeError."""
    answer = client.post("/v2/repository/index", {"ready": True}, timeout)
    answers.require_ok(answer)
    try:
        data = json.loads(answer.body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, list):
        raise ExchangeError("bad_json", f"{answer.request}: the answer is not a JSON list: {excerpt(answer.text)!r}", "check that this is Triton")
    ready = [entry for entry in data if isinstance(entry, dict) and entry.get("state", "READY") == "READY" and isinstance(entry.get("name"), str)]
    return [answers.Model(entry["name"], None, "triton") for entry in ready]


def complete(client: OpenAIClient, model: str, prompt: str, max_tokens: int, stream: bool, timeout: float) -> Reply:
    """One completion by the generate extension. Raises ExchangeError."""
    payload = {"text_input": prompt, "max_tokens": max_tokens, "bad_words": "", "stop_words": "", "stream": stream}
    answer = client.post(f"/v2/models/{model}/{'generate_stream' if stream else 'generate'}", payload, timeout)
    answers.require_ok(answer)
    texts = [_text(answer, event.data, number) for number, event in enumerate(sse.parse(answer.body), 1)] if stream else [_text(answer, answer.text, 0)]
    if not texts:
        raise ExchangeError("truncated", f"{answer.request}: the stream ended without an event", "check the server's log and restarts", 200)
    return Reply(answers.Completion("".join(texts), events=len(texts) if stream else 0), answer)


def _text(answer: Answer, content: str, number: int) -> str:
    """The text of an answer (number 0) or of an event of a stream (from 1). Raises ExchangeError."""
    try:
        data: t.Any = json.loads(content)
    except (ValueError, RecursionError):
        data = None
    where = f"event {number} of the stream" if number else "the answer"
    if not isinstance(data, dict) or "text_output" not in data and "error" not in data:
        raise ExchangeError(
            "bad_event" if number else "bad_json", f"{answer.request}: {where} has no text_output: {excerpt(content)!r}", "check that this is Triton"
        )
    if data.get("error"):
        raise ExchangeError(
            "error_in_stream" if number else "error_in_answer",
            f"{answer.request}: answered 200, then an error in {where}: {excerpt(str(data['error']))!r}",
            "the server failed: check its log",
            200,
        )
    return str(data["text_output"])
