# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The load client against real servers on loopback, some of which misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import client, dispatcher, workloads
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.destination import Destination, LoadLimits
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Shape
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.workloads import PrefixedPrompts
from local_servers import SSE, chunk, closed_port, drip, raw, serve, stream

pytestmark = pytest.mark.timing

TINY = {"kind": "shared_prefix", "groups": 2, "prompts_per_group": 2, "system_prompt_len": 8, "question_len": 4, "output_len": 2}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
USAGE = {"choices": [], "usage": {"prompt_tokens": 14, "completion_tokens": 2, "total_tokens": 16, "prompt_tokens_details": {"cached_tokens": 8}}}
GOOD = stream(chunk("To"), chunk("day", "length"), USAGE)


def source(api="completions"):
    return workloads.source(TINY, Shape(api), [{"name": "acme/tiny"}], 42, "n")


async def run(target, plans, limits, first=0, api="completions"):
    """Records of each stage, whose requests are due at the times of its plan."""
    by_stage, stages = [], []

    def handle(record, call):
        stages[-1].request_ended(record, call)

    with contextlib.closing(client.LoadClient(target, limits, handle)) as sender:
        for plan in plans:
            records = []
            sender.begin()
            stages.append(dispatcher.Stage(sender, source(api), stages[-1].next if stages else first, records.append))
            await stages[-1].at(plan)
            by_stage.append(sorted(records, key=lambda record: record.number))
    return by_stage


def send(url, count=1, gap=0.0, **limits):
    bounds = LoadLimits(**{"request_timeout": 5.0, **limits})
    return asyncio.run(run(Destination(url), [[number * gap for number in range(count)]], bounds))[0]


def wrapped(data: bytes) -> bytes:
    """Bytes as one chunk of a body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_a_complete_answer_is_recorded_with_times_tokens_and_server():
    with serve(lambda *_args: (200, {"Content-Type": SSE, "x-inference-pod": "pod-a"}, GOOD)) as url:
        record = send(url + "/v1")[0]
    assert (record.error, record.status, record.prompt_tokens, record.output_tokens, record.cached_tokens, record.server) == (None, 200, 14, 2, 8, "pod-a")
    assert record.planned <= record.sent <= record.first <= record.last <= record.end and record.ttft < 1


def test_the_request_carries_the_path_host_header_key_and_prompt():
    heard = []

    def answer(handler, method, path, body):
        heard.append((method, path, handler.headers["Host"], handler.headers["Authorization"], json.loads(body)))
        return 200, {"Content-Type": SSE}, GOOD

    with serve(answer) as url:
        target = Destination(url + "/llama", "llama.example.com", "sk-secret")
        asyncio.run(run(target, [[0.0]], LoadLimits(), first=3, api="chat_completions"))
    method, path, host, key, body = heard[0]
    prompt = PrefixedPrompts(**{name: TINY[name] for name in TINY if name not in ("kind", "output_len")}, seed=42, nonce="n").prompt(3)
    assert (method, path, host, key) == ("POST", "/llama/v1/chat/completions", "llama.example.com", "Bearer sk-secret")
    assert body["messages"][0]["content"] == prompt.system and body["stream"] and body["max_tokens"] == 2 and "sk-secret" not in repr(target)


def test_stamps_are_those_of_the_chunks():
    def talk(connection):
        connection.sendall(CHUNKED)
        for delay, data in ((0.2, stream(chunk("To"), done=False)), (0.1, stream(chunk("day", "length"), done=False)), (0.15, stream(USAGE))):
            time.sleep(delay)
            connection.sendall(wrapped(data))
        connection.sendall(b"0\r\n\r\n")

    with raw(talk) as url:
        record = send(url)[0]
    assert record.error is None
    assert record.ttft == pytest.approx(0.2, abs=0.05) and record.gaps == [pytest.approx(0.1, abs=0.05)] and record.tpot == pytest.approx(0.1, abs=0.05)
    # the usage chunk and the end come later and are not content
    assert record.e2e == pytest.approx(0.3, abs=0.06) and record.end - record.sent == pytest.approx(0.45, abs=0.08)


def test_requests_are_sent_on_schedule_while_others_are_in_flight():
    arrived = []

    def slow(*_args):
        arrived.append(time.monotonic())
        time.sleep(0.6)
        return 200, {"Content-Type": SSE}, GOOD

    with serve(slow) as url:
        records = send(url, count=4, gap=0.1)
    assert [record.error for record in records] == [None] * 4 and [round(record.sent, 1) for record in records] == [0.0, 0.1, 0.2, 0.3]
    assert arrived[3] - arrived[0] == pytest.approx(0.3, abs=0.08)


def test_connections_are_kept_and_one_that_was_closed_meanwhile_is_replaced():
    ports = []

    def answer(handler, *_args):
        ports.append(handler.client_address[1])
        handler.close_connection = len(ports) == 2
        return 200, {"Content-Type": SSE}, GOOD

    with serve(answer) as url:
        records = send(url, count=4, gap=0.1)
    assert [record.error for record in records] == [None] * 4
    assert ports[0] == ports[1] != ports[2] == ports[3]


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (503, "no healthy upstream", "http_503", "no healthy upstream"),
        (404, '{"error": {"message": "The model `x` does not exist."}}', "http_404", "does not exist"),
        (200, stream(chunk("To"), {"error": {"message": "engine died"}}), "error_in_stream", "engine died"),
        (200, stream(chunk("To"), done=False), "truncated", "without its end"),
        (200, stream(chunk("", "stop"), USAGE), "empty", "without any content"),
        (200, stream(chunk("To", "stop"), {**USAGE, "usage": {"prompt_tokens": 3, "completion_tokens": 1}}), "short", "1 tokens came of 2"),
        (200, b"data: {\n\n", "bad_event", "no JSON object"),
        (200, b"data: \xff\xfe\n\n", "bad_event", "no JSON object"),
        (200, b"", "truncated", "after 0 events"),
    ],
)
def test_answers_that_are_failures(status, body, kind, words):
    with serve(lambda *_args: (status, {"Content-Type": SSE}, body)) as url:
        record = send(url)[0]
    assert record.error == kind and words in record.detail


def test_a_proxys_web_page_is_a_failure():
    with serve(lambda *_args: (200, {"Content-Type": "text/html"}, "<html>Welcome</html>")) as url:
        record = send(url)[0]
    assert record.error == "not_streamed" and "text/html" in record.detail


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "closed"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not_http"),
        (b"HTTP/1.1 abc\r\n\r\n", "not_http"),
        (HEAD + b"Content-Length: many\r\n\r\n", "not_http"),
        (HEAD + b"Content-Length: 100\r\n\r\ndata: ", "truncated"),
        (CHUNKED + b"zz\r\n", "not_http"),
        (CHUNKED + wrapped(stream(chunk("To"), done=False)), "truncated"),
        (CHUNKED + b"-5\r\n", "not_http"),
    ],
)
def test_malformed_or_truncated_answers_are_recorded_with_their_error(data, kind):
    with raw(lambda connection: connection.sendall(data)) as url:
        record = send(url)[0]
    assert record.error == kind and record.detail


def test_a_stream_without_length_ends_with_the_connection():
    with raw(lambda connection: connection.sendall(HEAD + b"\r\n" + GOOD)) as url:
        record = send(url)[0]
    assert record.error is None and record.output_tokens == 2


@pytest.mark.parametrize(
    "talk",
    [
        lambda connection: time.sleep(3),
        drip(CHUNKED, wrapped(b": keep-alive\n\n")),
        drip(HEAD, b"X-Filler: 1\r\n"),
    ],
    ids=["silent", "never ends", "endless headers"],
)
def test_a_silent_or_endless_answer_ends_at_the_request_timeout(talk):
    start = time.monotonic()
    with raw(talk) as url:
        record = send(url, request_timeout=0.5)[0]
    assert record.error == "timeout" and "0.5 s" in record.detail and time.monotonic() - start < 2


def test_a_refused_connection_is_recorded_as_refused():
    record = send(f"http://127.0.0.1:{closed_port()}")[0]
    assert record.error == "refused" and record.first is None


def test_plain_http_at_an_https_url_is_reported_as_a_tls_error():
    with serve(lambda *_args: (200, {}, "")) as url:
        record = send(url.replace("http:", "https:"))[0]
    assert record.error == "tls"


def test_no_more_in_flight_than_allowed():
    release = threading.Event()

    def answer(*_args):
        release.wait(2)
        return 200, {"Content-Type": SSE}, GOOD

    threading.Timer(0.4, release.set).start()
    with serve(answer) as url:
        records = send(url, count=3, in_flight=2)
    assert sorted(str(record.error) for record in records) == ["None", "None", "in_flight"]


def test_prompt_numbers_continue_from_stage_to_stage():
    with serve(lambda *_args: (200, {"Content-Type": SSE}, GOOD)) as url:
        by_stage = asyncio.run(run(Destination(url), [[0.0], [0.05, 0.1]], LoadLimits()))
    assert [[record.number for record in records] for records in by_stage] == [[0], [1, 2]]
