# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client, against servers with valid and with invalid responses."""

from __future__ import annotations

import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http.errors import ExchangeError
from ansible_collections.llm_d.inference.plugins.module_utils.http.transport import UrlTransport
from ansible_collections.llm_d.inference.plugins.module_utils.inference.client import OpenAIClient
from engine_servers import chatted
from local_servers import JSON, SSE, InferenceGateway, chunk, models, serve, stream, whole


def client(url, **options):
    return OpenAIClient(UrlTransport(url), **options)


def test_all_pages_of_a_server_that_behaves():
    with serve(InferenceGateway()) as url:
        server = client(url)
        assert server.health(2).status == 200
        assert [model.id for model in server.models(2)] == ["acme/tiny"]
        assert server.version(2) is None
        assert server.complete("acme/tiny", "hi").completion.text == "Today "
        reply = server.complete("acme/tiny", "hi", stream=True)
    assert (reply.completion.text, reply.completion.events) == ("To ", 2)
    assert reply.answer.headers["x-inference-pod"] == "pod-a"


def test_the_path_the_payload_and_the_headers_of_a_completion():
    requests = []

    def answer(handler, method, path, body):
        requests.append((path, json.loads(body), handler.headers["Authorization"], handler.headers["Content-Type"]))
        return 200, {"Content-Type": JSON}, chatted(False) if "chat" in path else whole()

    with serve(answer) as url:
        client(url, api_key="sk-1").complete("m", "hello", max_tokens=3)
        client(url).complete("m", "hello", api="chat_completions")
    assert requests[0] == ("/v1/completions", {"model": "m", "max_tokens": 3, "temperature": 0, "prompt": "hello"}, "Bearer sk-1", JSON)
    assert requests[1][0] == "/v1/chat/completions" and requests[1][1]["messages"] == [{"role": "user", "content": "hello"}] and requests[1][2] is None


def test_a_streamed_completion_requests_usage():
    payloads = []
    with serve(lambda handler, method, path, body: payloads.append(json.loads(body)) or (200, {"Content-Type": SSE}, stream(chunk("", "stop")))) as url:
        client(url).complete("m", "hello", stream=True)
    assert payloads[0]["stream"] is True and payloads[0]["stream_options"] == {"include_usage": True}


def test_an_unknown_model_error_lists_the_served_models():
    def answer(handler, method, path, body):
        if path == "/v1/models":
            return 200, {"Content-Type": JSON}, models("acme/tiny", "acme/lora")
        return 404, {"Content-Type": JSON}, json.dumps({"error": {"message": "The model `x` does not exist.", "code": 404}})

    with serve(answer) as url, pytest.raises(ExchangeError) as caught:
        client(url).complete("x", "hi")
    assert caught.value.kind == "model"
    assert "does not exist" in str(caught.value) and str(caught.value).endswith("the server lists acme/tiny, acme/lora")


def test_a_404_without_a_list_of_served_models_has_the_kind_not_found():
    with serve(lambda *rest: (404, {"Content-Type": "text/plain"}, "")) as url, pytest.raises(ExchangeError) as caught:
        client(url).complete("x", "hi")
    assert caught.value.kind == "not_found"


def test_a_key_that_is_echoed_is_never_shown():
    def echo(handler, *rest):
        return 401, {"Content-Type": "text/plain"}, "no: " + handler.headers["Authorization"]

    with serve(echo) as url, pytest.raises(ExchangeError) as caught:
        client(url, api_key="sk-secret").models()
    assert "no: Bearer ***" in str(caught.value) and "sk-secret" not in str(caught.value) + caught.value.remedy


@pytest.mark.parametrize("body, version", [('{"version": "0.11.0"}', "0.11.0"), ('{"version": 7}', None), ("<html>", None)])
def test_version(body, version):
    with serve(lambda *rest: (200, {"Content-Type": JSON}, body)) as url:
        assert client(url).version() == version
