"""The client that counts losses counts every kind of loss, as tests of zero loss depend on it."""

from __future__ import annotations

import json
import re
import time

import pytest
from local_servers import JSON, SSE, chunk, raw, serve, stream, whole
from steady_load import SteadyLoad

pytestmark = pytest.mark.timing

HEADERS = {"x-inference-pod": "pod-a"}


def answers(unary, streamed):
    def answer(_handler, _method, _path, body):
        return streamed if json.loads(body)["stream"] else unary

    return answer


def good():
    return answers((200, {"Content-Type": JSON, **HEADERS}, whole()), (200, {"Content-Type": SSE, **HEADERS}, stream(chunk("a"), chunk("b", "stop"))))


def run(url, rate=100.0, seconds=0.3, timeout=2.0):
    with SteadyLoad(url, "acme/tiny", rate, timeout=timeout) as load:
        time.sleep(seconds)
    return load.report


def test_whole_answers_are_no_loss():
    with serve(good()) as url:
        report = run(url, seconds=0.5)
    assert report.lost == [] and report.sent > 40 and set(report.statuses) == {200} and report.pods["pod-a"] == report.sent == len(report.latencies)


OK = (200, {"Content-Type": JSON}, whole())
OK_STREAM = (200, {"Content-Type": SSE}, stream(chunk("b", "stop")))


@pytest.mark.parametrize(
    ("unary", "streamed", "words"),
    [
        ((503, {}, "no healthy upstream"), OK_STREAM, "status 503: no healthy upstream"),
        ((429, {}, ""), OK_STREAM, "status 429"),
        ((200, {"Content-Type": JSON}, json.dumps({"error": {"message": "late"}})), OK_STREAM, "an error in the answer"),
        ((200, {"Content-Type": JSON}, json.dumps({"choices": [{"text": "a", "finish_reason": None}]})), OK_STREAM, "no finish_reason"),
        ((200, {"Content-Type": JSON, "Content-Length": "9999"}, whole()), OK_STREAM, "IncompleteReadError|TimeoutError"),
        ((200, {"Content-Type": JSON}, "half of a"), OK_STREAM, "JSONDecodeError"),
        (None, OK_STREAM, "IncompleteReadError"),
        (OK, (200, {"Content-Type": SSE}, stream(chunk("a"), done=False)), r"without \[DONE\]"),
        (OK, (200, {"Content-Type": SSE}, stream({"error": {"code": 503}}, chunk("b", "stop"))), "an error in the answer"),
        (OK, (200, {"Content-Type": SSE}, stream(chunk("a"))), "no finish_reason"),
        (OK, (200, {"Content-Type": SSE}, b""), r"without \[DONE\]"),
    ],
)
def test_every_kind_of_loss_is_counted(unary, streamed, words):
    with serve(answers(unary, streamed)) as url:
        report = run(url)
    assert len(report.lost) + len(report.latencies) == report.sent
    assert report.lost and abs(len(report.lost) - report.sent / 2) <= 1
    assert all(re.search(words, why) for _when, why in report.lost), report.lost[:2]


def test_a_refused_or_silent_server_loses_all():
    with raw(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")) as url:
        report = run(url)
    assert len(report.lost) == report.sent > 0
    report = run(url)
    assert len(report.lost) == report.sent > 0 and "ConnectionRefusedError" in report.lost[0][1]
    with raw(lambda connection: time.sleep(3)) as url:
        report = run(url, timeout=0.5)
    assert len(report.lost) == report.sent > 0 and "TimeoutError" in report.lost[0][1]


def test_requests_are_sent_on_schedule_even_if_answers_are_slow():
    def slow(handler, method, path, body):
        time.sleep(0.3)
        return good()(handler, method, path, body)

    with serve(slow) as url:
        report = run(url, rate=50, seconds=1.0)
    assert report.lost == [] and report.sent >= 45
