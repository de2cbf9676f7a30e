# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The health levels: each check that passes and each that fails, and waiting for a server."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http.errors import ExchangeError
from ansible_collections.llm_d.inference.plugins.module_utils.http.transport import UrlTransport
from ansible_collections.llm_d.inference.plugins.module_utils.inference import health
from ansible_collections.llm_d.inference.plugins.module_utils.inference.client import OpenAIClient
from fake_clock import FakeClock
from local_servers import JSON, SSE, InferenceGateway, chunk, closed_port, drip, models, raw, serve, stream, whole

WANTED = health.Requirements(model="acme/tiny", request_timeout=60.0)


def checked(url, wanted=WANTED, **options):
    return health.check_once(OpenAIClient(UrlTransport(url)), wanted, **options)


def server(**pages):
    """A server with these pages, {name: (status, content type, body)}; its other pages are valid."""

    def answer(handler, method, path, body):
        streamed = bool(body) and json.loads(body).get("stream")
        name = {"/health": "health", "/v1/models": "models", "/v1/completions": "streamed" if streamed else "completions"}.get(path, "other")
        well = {
            "health": (200, "", ""),
            "models": (200, JSON, models("acme/tiny")),
            "completions": (200, JSON, whole()),
            "streamed": (200, SSE, stream(chunk("a"), chunk("", "stop"))),
            "other": (404, "text/plain", ""),
        }
        status, kind, content = {**well, **pages}[name]
        return status, {"Content-Type": kind}, content

    return serve(answer)


def test_a_healthy_server():
    with serve(InferenceGateway()) as url:
        result = checked(url)
    assert result.healthy and result.reached == "serving" and result.looks == 1 and result.failed is None
    assert [(check.name, check.ok) for check in result.checks] == [("health", True), ("models", True), ("completions", True), ("completions_streamed", True)]
    assert [model.id for model in result.models] == ["acme/tiny"]
    assert "from pod-a" in result.checks[2].evidence and all(check.ms >= 0 for check in result.checks)


def test_a_server_that_cannot_draw_a_token_is_not_healthy():
    """A vLLM without a compiler answers only requests that take the most probable token."""

    def answer(_handler, _method, path, body):
        payload = json.loads(body or "{}")
        if payload.get("temperature"):
            return 500, {"Content-Type": JSON}, json.dumps({"error": {"message": "EngineCore encountered an issue."}})
        if path.endswith("/completions"):
            return 200, {"Content-Type": SSE if payload.get("stream") else JSON}, stream(chunk("a"), chunk("", "stop")) if payload.get("stream") else whole()
        return 200, {"Content-Type": JSON}, models("acme/tiny") if path == "/v1/models" else ""

    with serve(answer) as url:
        result = checked(url)
    assert not result.healthy and result.failed.name == "completions_streamed" and "EngineCore encountered an issue" in result.failed.evidence


def test_a_lower_level_sends_no_completion():
    gateway = InferenceGateway()
    with serve(gateway) as url:
        assert checked(url, level="ready").reached == "ready"
        assert checked(url, level="alive").reached == "alive"
    assert gateway.prompts == []


@pytest.mark.parametrize(
    "page, reached, rung, kind, evidence",
    [
        ({"health": (503, "", "")}, "", "health", "status", "503"),
        ({"health": (200, "", ""), "models": (401, JSON, '{"error": "Unauthorized"}')}, "alive", "models", "unauthorized", "401"),
        ({"models": (200, "text/html", "<html>Sign in</html>")}, "alive", "models", "html", "Sign in"),
        ({"models": (200, JSON, "{")}, "alive", "models", "bad_json", "JSON"),
        ({"models": (200, JSON, models("acme/other"))}, "alive", "models", "model", "acme/other, not acme/tiny"),
        ({"models": (200, JSON, models())}, "alive", "models", "model", "no model"),
        ({"completions": (500, "text/plain", "oops")}, "ready", "completions", "status", "oops"),
        ({"completions": (404, JSON, '{"error": {"message": "The model does not exist."}}')}, "ready", "completions", "not_found", "does not exist"),
        ({"streamed": (200, SSE, stream({"error": {"message": "EngineDeadError"}}))}, "ready", "completions_streamed", "error_in_stream", "EngineDead"),
        ({"streamed": (200, SSE, stream(chunk("a"), done=False))}, "ready", "completions_streamed", "truncated", "without its end"),
    ],
)
def test_the_rung_that_does_not_hold_is_named(page, reached, rung, kind, evidence):
    with server(**page) as url:
        result = checked(url)
    assert not result.healthy and result.reached == reached
    assert (result.failed.name, result.failed.kind) == (rung, kind)
    assert evidence in result.failed.evidence and result.failed.remedy
    assert result.checks[-1] is result.failed


def chat(**message):
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]}


def delta(finish="stop", **part):
    return {"choices": [{"delta": part, "finish_reason": finish}]}


USAGE = {"choices": [], "usage": {"completion_tokens": 4}}
EMPTY = [
    {"choices": [{"text": ""}]},
    {"choices": [{}]},
    {"choices": [{"text": None, "finish_reason": "stop"}]},
    {"choices": [{"text": "", "finish_reason": "stop"}], "usage": {"completion_tokens": 4}},
    *({"choices": [{"text": "half", "finish_reason": reason}]} for reason in ("abort", "timeout", "Cancelled", {"type": "abort"})),
    {"choices": [{"text": " \n\t\u3000", "finish_reason": "length"}]},
    {"choices": [{"text": "\x00\x00\u200b", "finish_reason": "length"}]},
    chat(content="\ufffd \ufffd"),
    chat(content="of another API"),
]
EMPTY_STREAMS = [
    stream(USAGE),
    stream({"choices": []}),
    stream({"choices": [{}]}),
    stream({"choices": [{"text": ""}]}, USAGE),
    stream(chunk(""), chunk("", "stop"), USAGE),
    stream(chunk("half"), chunk("", "error")),
    stream(chunk(" "), chunk("\n"), chunk("\ufffd", "length"), USAGE),
    stream(delta(content="of another API")),
]


@pytest.mark.parametrize("body", EMPTY)
def test_an_answer_that_no_client_can_use_is_not_healthy(body):
    with server(completions=(200, JSON, json.dumps(body))) as url:
        result = checked(url)
    assert not result.healthy and result.failed.name == "completions" and result.failed.kind in ("bad_answer", "no_output", "error_in_answer")
    assert result.failed.remedy and "/v1/completions: " in result.failed.evidence


@pytest.mark.parametrize("body", EMPTY_STREAMS)
def test_a_stream_that_no_client_can_use_is_not_healthy(body):
    with server(streamed=(200, SSE, body)) as url:
        result = checked(url)
    assert not result.healthy and result.failed.name == "completions_streamed" and result.failed.kind in ("bad_answer", "no_output", "error_in_answer")


CALL = {"tool_calls": [{"index": 0, "function": {"name": "count", "arguments": "{}"}}]}


@pytest.mark.parametrize(
    ("whole_", "parts", "healthy"),
    [
        (chat(content="four"), [delta(None, role="assistant", content=""), delta(None, content="four"), delta()], True),
        (chat(content=None, reasoning_content="Hm"), [delta(None, reasoning_content="Hm"), delta("length")], True),
        (chat(content=None, reasoning="Hm"), [delta(None, reasoning="Hm"), delta("length")], True),
        (chat(content=None, **CALL), [delta(None, **CALL), delta("tool_calls")], True),
        (chat(content=None, refusal="No."), [delta(None, refusal="No."), delta()], True),
        (chat(content="\n"), [delta(None, content="\n"), delta("length")], False),
        (chat(content=None), [delta()], False),
        (chat(content=""), [delta(None, role="assistant", content=""), delta()], False),
        (chat(content=None, tool_calls=[]), [delta(None, tool_calls=[]), delta()], False),
        ({"choices": [{"text": "of another API", "finish_reason": "stop"}]}, [chunk("of another API", "stop")], False),
    ],
)
def test_a_server_is_healthy_only_if_its_chat_answers_have_usable_content(whole_, parts, healthy):
    payloads = []

    def answer(handler, method, path, body):
        if path != "/v1/chat/completions":
            return 200, {"Content-Type": JSON}, models("acme/tiny")
        payloads.append(json.loads(body))
        broken = variant == ("streamed" if payloads[-1].get("stream") else "whole")
        if payloads[-1].get("stream"):
            return 200, {"Content-Type": SSE}, stream(*(parts if broken or healthy else GOOD_PARTS))
        return 200, {"Content-Type": JSON}, json.dumps(whole_ if broken or healthy else chat(content="four"))

    with serve(answer) as url:
        for variant in ("whole", "streamed"):
            result = checked(url, health.Requirements(model="acme/tiny", apis=("chat_completions",)))
            assert result.healthy is healthy, result.failed
            assert healthy or result.failed.name == {"whole": "chat_completions", "streamed": "chat_completions_streamed"}[variant]
    assert all(request["max_tokens"] >= 16 for request in payloads)


GOOD_PARTS = [delta(None, content="four"), delta()]


def test_a_server_without_health_page():
    with server(health=(404, "text/plain", "")) as url:
        assert checked(url).healthy


def test_a_model_below_min_model_len_fails_the_health_check():
    with server() as url:
        result = checked(url, health.Requirements(model="acme/tiny", min_model_len=4096))
    assert result.failed.kind == "model_len" and "1024" in result.failed.evidence and "4096" in result.failed.remedy


def test_any_model_will_do():
    with server() as url:
        assert checked(url, health.Requirements()).healthy


def test_a_chat_is_requested_when_the_options_name_it():
    with server() as url:
        result = checked(url, health.Requirements(model="acme/tiny", apis=("chat_completions",)))
    assert result.failed.name == "chat_completions" and result.reached == "ready"


@pytest.mark.timing
def test_a_server_that_hangs_is_checked_for_no_longer_than_the_timeout():
    start = time.monotonic()
    with raw(drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x")) as url:
        result = checked(url, health.Requirements(request_timeout=0.3))
    assert result.failed.kind == "timeout" and time.monotonic() - start < 2


def test_waiting_until_the_model_is_loaded():
    clock = FakeClock()

    def answer(handler, method, path, body):
        if len(clock.sleeps) < 3:
            return 503, {"Content-Type": "text/plain"}, "loading"
        return InferenceGateway()(handler, method, path, body)

    with serve(answer) as url:
        result = health.wait_until_healthy(OpenAIClient(UrlTransport(url)), WANTED, timeout=60, interval=10, clock=clock)
    assert result.healthy and result.looks == 4 and result.waited == 30 and clock.sleeps == [10, 10, 10]


def test_waiting_for_health_ends_at_the_timeout_with_a_last_check():
    clock = FakeClock()
    client = OpenAIClient(UrlTransport(f"http://127.0.0.1:{closed_port()}"))
    result = health.wait_until_healthy(client, WANTED, timeout=50, interval=20, clock=clock)
    assert not result.healthy and result.failed.kind == "refused"
    assert result.waited == 50 and result.looks == 4 and clock.sleeps == [20, 20, 10]


def test_a_health_failure_that_waiting_cannot_fix_is_not_retried():
    clock = FakeClock()
    with server(models=(401, JSON, "{}")) as url:
        result = health.wait_until_healthy(OpenAIClient(UrlTransport(url)), WANTED, timeout=30, interval=1, clock=clock)
    assert result.looks == 1 and clock.sleeps == []


def test_request_timeouts_are_limited_to_the_remaining_wait_or_one_second():
    clock, timeouts = FakeClock(), []

    class Recorder(UrlTransport):
        def request(self, *arguments, **options):
            timeouts.append(options.get("timeout", arguments[-1] if len(arguments) > 4 else None))
            raise ExchangeError("refused", "refused", "wait")

    health.wait_until_healthy(OpenAIClient(Recorder("http://127.0.0.1:9")), WANTED, timeout=50, interval=20, clock=clock)
    assert timeouts == [50, 30, 10, 1]
