# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsing of responses: recorded ones of vLLM, the simulator, Envoy and proxies, and random bytes."""

from __future__ import annotations

import contextlib
import dataclasses
import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http.answer import Answer
from ansible_collections.llm_d.inference.plugins.module_utils.http.errors import ExchangeError
from ansible_collections.llm_d.inference.plugins.module_utils.inference import responses as answers
from hypothesis import given
from hypothesis import strategies as st
from local_servers import JSON, SSE, chunk, models, stream, whole

NOT_FOUND = {"error": {"message": "The model `x` does not exist.", "type": "NotFoundError", "param": None, "code": 404}}
OLD_VLLM = {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "param": None, "code": 404}
USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "prompt_tokens_details": {"cached_tokens": 8}}, "choices": []}


def answer(status=200, body=b"", content_type=JSON, **headers):
    body = json.dumps(body) if isinstance(body, (dict, list)) else body
    body = body.encode() if isinstance(body, str) else body
    return Answer("POST http://h/v1/completions", status, {"content-type": content_type, **headers}, body, 0.1)


def trouble(read, response, **options):
    with pytest.raises(ExchangeError) as caught:
        read(response, **options)
    assert caught.value.remedy and "http://h/" in str(caught.value)
    return caught.value


def test_an_unstreamed_completion():
    assert answers.completion(answer(body=whole(text="Hi"))) == answers.Completion("Hi", 2, 1, 0, "stop", 0)


def test_an_unstreamed_chat_and_one_that_only_reasons():
    chat = {"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "length"}]}
    assert answers.completion(answer(body=chat)) == answers.Completion("Hi", finish_reason="length")
    chat["choices"][0]["message"] = {"content": None, "reasoning_content": "Hm"}
    assert answers.completion(answer(body=chat)).text == "Hm"


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "\n\n", "reasoning_content": "Okay"}, "Okay"),
        ({"content": " ", "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}, "look{}"),
        ({"content": "Hi", "reasoning_content": "Okay"}, "Hi"),
        ({"content": "", "reasoning": "\n"}, "\n"),
        ({"content": "\n", "reasoning": " "}, "\n"),
        ({"content": None}, ""),
    ],
)
def test_the_text_is_the_first_that_can_be_read(message, text):
    assert answers.completion(answer(body={"choices": [{"message": message, "finish_reason": "length"}]})).text == text
    body = stream({"choices": [{"delta": message}]}, {"choices": [{"delta": {}, "finish_reason": "length"}]})
    assert answers.streamed(answer(body=body, content_type=SSE)).text == text


def test_a_streamed_completion():
    body = stream(chunk("To "), chunk("day "), chunk("", "stop"), USAGE)
    assert answers.streamed(answer(body=body, content_type=SSE)) == answers.Completion("To day ", 9, 2, 8, "stop", 4)


def test_a_streamed_chat_without_usage():
    body = stream({"choices": [{"delta": {"role": "assistant"}}]}, {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}, done=False)
    assert answers.streamed(answer(body=body, content_type=SSE)) == answers.Completion("Hi", None, None, None, "stop", 2)


@pytest.mark.parametrize(
    "body",
    [
        stream({"error": {"message": "prompt is too long", "code": 400}}),
        stream(chunk("To "), {"object": "error", "message": "prompt is too long", "code": 400}),
        stream(chunk("To "), {"error": "prompt is too long"}),
        b'event: error\ndata: {"reason": "prompt is too long"}\n\n',
    ],
)
def test_an_error_inside_the_stream_is_a_failure(body):
    error = trouble(answers.streamed, answer(body=body, content_type=SSE))
    assert error.kind == "error_in_stream" and "too long" in str(error) and "max_model_len" in error.remedy


@pytest.mark.parametrize(
    "body, kind",
    [
        (b"", "truncated"),
        (stream(chunk("To "), done=False), "truncated"),
        (b'data: {"choices": [\n\n', "bad_event"),
        (b"data: 7\n\n", "bad_event"),
        (b"data: \xff\xfe\n\n", "bad_event"),
        (b"data: [DONE]\n\n", "truncated"),
    ],
)
def test_a_stream_that_is_broken(body, kind):
    assert trouble(answers.streamed, answer(body=body, content_type=SSE)).kind == kind


@pytest.mark.parametrize(("body", "fault"), [(b"data: 7\n\n", "is not a JSON object: '7'"), (b"data: \xff\xfe\n\n", "is not valid UTF-8")])
def test_the_fault_of_an_event_is_named(body, fault):
    assert f"event 1 of the stream {fault}" in str(trouble(answers.streamed, answer(body=body, content_type=SSE)))


def test_a_stream_ends_by_its_last_word_or_by_the_reason_of_its_choice():
    assert answers.streamed(answer(body=stream(chunk("To ")), content_type=SSE)).text == "To "
    assert answers.streamed(answer(body=stream(chunk("To "), done=False) + b"data: [DONE] \n\n", content_type=SSE)).text == "To "
    assert answers.streamed(answer(body=stream(chunk("To ", "length"), done=False), content_type=SSE)).text == "To "


def test_an_answer_that_is_not_streamed_is_refused_as_a_stream():
    assert trouble(answers.streamed, answer(body=whole())).kind == "not_streamed"
    assert trouble(answers.streamed, answer(body="<html>", content_type="text/html")).kind == "html"


@pytest.mark.parametrize(
    "body, kind",
    [
        ("<!DOCTYPE html><title>Sign in</title>", "html"),
        ("not json", "bad_json"),
        ("[1]", "bad_json"),
        ("[" * 100_000, "bad_json"),
        ("\x00\xff", "bad_json"),
        ({"choices": []}, "bad_answer"),
        ({"choices": "x"}, "bad_answer"),
        ({"error": {"message": "boom"}}, "error_in_answer"),
    ],
)
def test_an_answer_that_is_no_completion(body, kind):
    assert trouble(answers.completion, answer(body=body, content_type="text/html" if kind == "html" else JSON)).kind == kind


@pytest.mark.parametrize(
    "status, body, kind, message, remedy",
    [
        (401, {"error": "Unauthorized"}, "unauthorized", "Unauthorized", "api_key"),
        (403, "RBAC: access denied", "forbidden", "RBAC", "key"),
        (404, NOT_FOUND, "not_found", "does not exist", "/v1/models"),
        (404, OLD_VLLM, "not_found", "does not exist", "/v1/models"),
        (429, {"error": {"message": "too many requests"}}, "overloaded", "too many", "replicas"),
        (400, {"error": {"message": "This model's maximum context length is 1024 tokens"}}, "status", "maximum context", "max_model_len"),
        (500, "Internal Server Error", "status", "Internal", "log"),
        (503, "no healthy upstream", "status", "no healthy upstream", "selector"),
        (503, "upstream connect error or disconnect/reset before headers", "status", "upstream connect", "targetPorts"),
        (500, "ext_proc_error_gRPC_error_14", "status", "ext_proc", "TLS"),
        (503, "upstream connect error or disconnect/reset before headers. reset reason: overflow", "status", "overflow", "circuit breaker"),
        (500, "no valid backends", "status", "no valid backends", "ResolvedRefs"),
        (431, "", "status", "431", "size of headers"),
        (504, "", "status", "504 Gateway Timeout", "timeout"),
        (599, "", "status", "599", "log"),
        (299, "", "status", "299", "address"),
        (300, "", "redirect", "300 Multiple Choices to nowhere", "address"),
        (302, "", "redirect", "302 Found to nowhere", "address"),
        (204, "", "status", "204", "address"),
    ],
)
def test_statuses(status, body, kind, message, remedy):
    error = trouble(answers.completion, answer(status, body))
    assert (error.kind, error.status) == (kind, status)
    assert message in str(error) and str(status) in str(error) and remedy in error.remedy


def test_an_error_names_why_an_endpoint_picker_dropped_the_request():
    plain = answer(503, "")
    dropped = dataclasses.replace(plain, headers={**plain.headers, "x-llm-d-request-dropped-reason": "rejected-ttl-expired"})
    assert "defaultRequestTTL" in trouble(answers.completion, dropped).remedy and "defaultRequestTTL" not in trouble(answers.completion, plain).remedy


def test_an_error_names_what_answered_what_and_is_short():
    error = trouble(answers.completion, answer(502, "<html>" + "x" * 1000, "text/html"))
    assert str(error).startswith("POST http://h/v1/completions: 502 Bad Gateway (text/html): '<html>xxx")
    assert len(str(error)) < 350


def test_a_key_in_an_answer_is_not_shown():
    for body, status in (("bad key sk-123", 401), ({"error": {"message": "bad key sk-123"}}, 401), ("sk-123", 200), ({"error": "sk-123"}, 200)):
        assert "sk-123" not in str(trouble(answers.completion, answer(status, body), secrets=["sk-123"]))


def test_models():
    assert answers.models(answer(body=models("a", "b", length=None))) == [answers.Model("a"), answers.Model("b")]
    assert answers.models(answer(body=models("a"))) == [answers.Model("a", 1024)]
    assert answers.models(answer(body={"data": [{"id": 7}, "x", None, {"id": "a", "max_model_len": "many"}]})) == [answers.Model("a")]
    assert trouble(answers.models, answer(body={"models": []})).kind == "bad_json"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "error", "usage", "data", "id", "message", "delta", "content", "object", "prompt_tokens_details"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.lists(_JSON, max_size=3), st.binary(max_size=30), st.sampled_from([200, 404, 503]), st.sampled_from([JSON, SSE, "", "text/html"]))
def test_any_answer_yields_a_result_or_an_exchange_error(values, tail, status, content_type):
    whole_body = json.dumps(values[0] if values else None).encode()
    streamed = stream(*values, done=False) + tail
    for read, body in ((answers.streamed, streamed), (answers.completion, whole_body), (answers.models, whole_body), (answers.models, tail)):
        with contextlib.suppress(ExchangeError):
            read(answer(status, body, content_type))


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "its answer says why"),
        (401, "requires an API key"),
        (403, "rejects this client"),
        (404, "nothing serves this path"),
        (405, "not an OpenAI-compatible server"),
        (412, "precondition"),
        (413, "limits the size of requests"),
        (429, "queue is full"),
        (500, "the server failed"),
        (502, "could not reach the server"),
        (503, "no server is ready yet"),
        (504, "the gateway timed out"),
    ],
)
def test_each_http_error_status_has_its_remedy(status, words):
    assert words in trouble(answers.json_object, answer(status, b"{}")).remedy


@pytest.mark.parametrize(
    ("content_type", "body"), [("text/html", b"Sign in"), ("application/json", b" <!DOCTYPE html><p>Sign in"), ("text/plain", b"<HTML>Sign in</HTML>")]
)
def test_a_web_page_is_recognized_by_its_content_type_or_text(content_type, body):
    error = trouble(answers.json_object, answer(200, body, content_type))
    assert error.kind == "html" and "no_proxy" in error.remedy
