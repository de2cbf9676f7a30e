# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses responses of OpenAI-compatible servers into completions and models, or raises an ExchangeError with a remedy. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import json
import typing as t
from http import HTTPStatus

from ..common import sse
from ..common.objects import dicts
from ..common.text import legible
from ..http.answer import Answer
from ..http.errors import ExchangeError
from ..http.urls import excerpt
from ..k8s.answer_messages import DROPPED
from ..k8s.pod_failures import gateway_failure

# (fragment of an error body in lower case, remedy). The first match wins.
_SIGNATURES = (
    ("maximum context length", "the prompt is longer than the server's max_model_len: shorten it or raise max_model_len"),
    ("is too long", "the prompt is longer than the server's max_model_len: shorten it or raise max_model_len"),
    ("kv cache does not have sufficient capacity", "the KV cache is too small for this request: raise the number of blocks or lower max_model_len"),
    ("enginedead", "the engine crashed: read the first error in the server's log, then restart it"),
    ("does not exist", "ask for a model that /v1/models lists, or load this one"),
    ("model not found in request body", "the endpoint picker found no model in the request body: send `model` and a prompt"),
)
_STATUS = {
    400: "the server rejected the request: its answer says why",
    401: "the server requires an API key, or another one: name it in your file (llm_d_api_key or model.api_key), or as api_key of a task of your own",
    403: "the server or a proxy in front of it rejects this client: check the API key and the proxy's rules",
    404: "nothing serves this path here: check the address, the route's path and host names",
    405: "this is not an OpenAI-compatible server, or the path is wrong: check the address",
    412: "the precondition in the request was not met",
    413: "a proxy in the path limits the size of requests: raise its limit",
    431: "a proxy in the path limits the size of headers: raise its limit, or send fewer",
    429: "the server's queue is full or the endpoint picker sheds load: wait, add replicas or raise the limit",
    500: "the server failed: check its log",
    502: "the gateway could not reach the server: check the server's log and restarts",
    503: "no server is ready yet, or the engine has died: check the pods and the endpoint picker's log",
    504: "the gateway timed out: check the server's load, or raise the route's timeout",
}


@dataclasses.dataclass(frozen=True)
class Completion:
    """One completion. Token counts are None where the server does not report them; `events` is the number of stream events, 0 when not streamed."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str = ""
    events: int = 0


@dataclasses.dataclass(frozen=True)
class Model:
    """One model of a server. `max_model_len` is None where the server does not report it; `owner` is its `owned_by`."""

    id: str
    max_model_len: int | None = None
    owner: str = dataclasses.field(default="", compare=False)


def require_ok(answer: Answer, secrets: c.Iterable[str] = ()) -> None:
    """Raises ExchangeError unless the status is 200."""
    if answer.status == 200:
        return
    message = error_message(answer) or excerpt(answer.text, secrets)
    try:
        phrase = " " + HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = ""
    kind = {401: "unauthorized", 403: "forbidden", 404: "not_found", 429: "overloaded"}.get(answer.status, "status")
    text = f"{answer.request}: {answer.status}{phrase}"
    if 300 <= answer.status < 400:
        location = excerpt(answer.headers.get("location", ""), secrets)
        raise ExchangeError("redirect", f"{text} to {location or 'nowhere'}", "give the address it redirects to, if that is the server", answer.status)
    if message:
        text += f" ({answer.content_type or 'no content type'}): {excerpt(message, secrets)!r}"
    raise ExchangeError(kind, text, _remedy(answer.status, answer.text, answer.headers.get(DROPPED, "")), answer.status)


def _remedy(status: int, text: str, dropped: str = "") -> str:
    """What to do about a response with this status and this text in its body. dropped: the value of the header DROPPED."""
    if gateway := gateway_failure(text, dropped):
        return f"{gateway.what}: {gateway.remedy}"
    lower = text.lower()
    for fragment, remedy in _SIGNATURES:
        if fragment in lower:
            return remedy
    return _STATUS.get(status, "check the server's log" if status >= 500 else "check the address")


def error_message(answer: Answer) -> str:
    """The message of an OpenAI or vLLM error object; empty when the body is not one."""
    try:
        return sse.error_of(json.loads(answer.body))
    except (ValueError, RecursionError):
        return ""


def json_object(answer: Answer, secrets: c.Iterable[str] = ()) -> dict[str, t.Any]:
    """The body as a JSON object. Raises ExchangeError."""
    require_ok(answer, secrets)
    shown = f"({answer.content_type or 'no content type'}): {excerpt(answer.text, secrets)!r}"
    if answer.content_type == "text/html" or answer.body[:64].lstrip().lower().startswith((b"<!doctype", b"<html")):
        raise ExchangeError(
            "html", f"{answer.request}: answered with a web page {shown}", "a proxy or another server answers at this address: check the address and no_proxy"
        )
    try:
        data = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise ExchangeError("bad_json", f"{answer.request}: the answer is not valid JSON {shown}", "check that this is an OpenAI-compatible server") from None
    if not isinstance(data, dict):
        raise ExchangeError("bad_json", f"{answer.request}: the answer is not a JSON object {shown}", "check that this is an OpenAI-compatible server")
    return data


def models(answer: Answer, secrets: c.Iterable[str] = ()) -> list[Model]:
    """The list of `/v1/models`. Raises ExchangeError."""
    data = json_object(answer, secrets).get("data")
    if not isinstance(data, list):
        raise ExchangeError(
            "bad_json", f"{answer.request}: the answer has no list `data`: {excerpt(answer.text, secrets)!r}", "check that this is an OpenAI-compatible server"
        )
    entries = [entry for entry in data if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    return [Model(entry["id"], _count(entry.get("max_model_len")), str(entry.get("owned_by") or "")) for entry in entries]


def completion(answer: Answer, secrets: c.Iterable[str] = (), api: str = "") -> Completion:
    """The completion in an unstreamed response. Raises ExchangeError, also where a client of the API could not read the response.

    api: completions or chat_completions; empty where either will do.

    A response without text is valid if it has a finish_reason: one token may be no character, or half of one. Callers that require text check `text`.
    """
    data = json_object(answer, secrets)
    if message := sse.error_of(data):
        raise ExchangeError("error_in_answer", f"{answer.request}: answered 200 with an error: {excerpt(message, secrets)!r}", _remedy(500, message))
    if not (choices := _choices(data)):
        raise ExchangeError(
            "bad_answer", f"{answer.request}: the answer has no choices: {excerpt(answer.text, secrets)!r}", "check that this is an OpenAI-compatible server"
        )
    has_field = _has_field(choices[0], api, _WHOLE)
    return _usable(answer, secrets, _completion_of(_text_of(choices[0]), data.get("usage"), choices[0].get("finish_reason"), 0), has_field, api)


def streamed(answer: Answer, secrets: c.Iterable[str] = (), api: str = "") -> Completion:
    """The completion in a streamed response. Raises ExchangeError, also for status 200 with an error event, an invalid event or a missing end."""
    require_ok(answer, secrets)
    if answer.content_type not in ("text/event-stream", ""):
        json_object(answer, secrets)
        raise ExchangeError(
            "not_streamed", f"{answer.request}: requested a stream, received {answer.content_type}", "a proxy in the path may buffer or rewrite answers"
        )
    text, usage, finish, count, done, has_field = "", None, None, 0, False, False
    for event in sse.parse(answer.body):
        if event.data.strip() == "[DONE]":
            done = True
            break
        count += 1
        data = _event_object(answer, event, count, secrets)
        usage = data.get("usage") or usage
        for choice in _choices(data):
            text += _text_of(choice)
            has_field = has_field or _has_field(choice, api, _PART)
            finish = choice.get("finish_reason") or finish
    if not count or not (done or finish):
        raise ExchangeError(
            "truncated",
            f"{answer.request}: the stream ended after {count} events without its end: {excerpt(answer.text[-400:], secrets)!r}",
            "the server or a proxy stopped during the answer: check its log and restarts",
            200,
        )
    return _usable(answer, secrets, _completion_of(text, usage, finish, count), has_field, api)


# {API: (field of a choice, its type)}, in an unstreamed response and in an event of a stream
_WHOLE: dict[str, tuple[str, type]] = {"completions": ("text", str), "chat_completions": ("message", dict)}
_PART: dict[str, tuple[str, type]] = {"completions": ("text", str), "chat_completions": ("delta", dict)}


def _has_field(choice: dict[str, t.Any], api: str, fields: c.Mapping[str, tuple[str, type]]) -> bool:
    """Whether a choice has the field that clients of the API read. fields: _WHOLE or _PART."""
    return any(isinstance(choice.get(field), kind) for name, (field, kind) in fields.items() if api in ("", name))


def _usable(answer: Answer, secrets: c.Iterable[str], result: Completion, has_field: bool, api: str) -> Completion:
    """`result`, if a client can use it. Raises ExchangeError if no choice has the field of the API, if there is neither text nor finish_reason, or if the
    server aborted."""
    quote = f"{excerpt(answer.text[-400:] if result.events else answer.text, secrets)!r}"
    if not has_field:
        want = {"completions": "text", "chat_completions": "message or delta"}.get(api, "text, message or delta")
        raise ExchangeError(
            "bad_answer",
            f"{answer.request}: no choice of the answer has {want}: {quote}",
            "check that this is an OpenAI-compatible server, and which API it serves",
        )
    if sse.gave_up(result.finish_reason):
        raise ExchangeError(
            "error_in_answer", f"{answer.request}: answered 200, and ended by finish_reason {result.finish_reason!r}: {quote}", _remedy(500, quote), 200
        )
    if not result.text and not result.finish_reason:
        raise ExchangeError("bad_answer", f"{answer.request}: the answer has neither text nor a finish_reason: {quote}", "check the server's log", 200)
    return result


def _event_object(answer: Answer, event: sse.Event, number: int, secrets: c.Iterable[str]) -> dict[str, t.Any]:
    try:
        data = json.loads(event.data) if event.valid else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        fault = "is not a JSON object" if event.valid else "is not valid UTF-8"
        raise ExchangeError(
            "bad_event",
            f"{answer.request}: event {number} of the stream {fault}: {excerpt(event.data, secrets)!r}",
            "check the server's log, and proxies that rewrite answers",
            200,
        )
    message = sse.error_of(data) or (excerpt(event.data) if event.type == "error" else "")
    if message:
        what = f"{answer.request}: answered 200, then an error in event {number}: {excerpt(message, secrets)!r}"
        raise ExchangeError("error_in_stream", what, _remedy(500, message), 200)
    return data


def _choices(data: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    choices = data.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _text_of(choice: dict[str, t.Any]) -> str:
    """The text of a choice: the first legible one of its content, reasoning_content, reasoning, refusal and text, and the names and arguments of its tool
    calls. If none is legible, such as a mere line feed, the first one."""
    texts = [text for part in (choice.get("message"), choice.get("delta"), choice) if isinstance(part, dict) for text in _texts_of(part) if text]
    return next((text for text in texts if legible(text)), texts[0] if texts else "")


def _texts_of(part: dict[str, t.Any]) -> c.Iterator[str]:
    for key in ("content", "reasoning_content", "reasoning", "refusal", "text"):
        if isinstance(value := part.get(key), str):
            yield value
    calls = [call.get("function") for call in dicts(part.get("tool_calls"))]
    yield "".join(str(call.get(key) or "") for call in dicts(calls) for key in ("name", "arguments"))


def _completion_of(text: str, usage: t.Any, finish: t.Any, events: int) -> Completion:
    usage = usage if isinstance(usage, dict) else {}
    finish = finish.get("type") if isinstance(finish, dict) else finish
    details = usage.get("prompt_tokens_details")
    counts = [_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))]
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    return Completion(text, counts[0], counts[1], cached, str(finish or ""), events)


def _count(value: t.Any) -> int | None:
    """The value if it is an integer from 0 on."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
