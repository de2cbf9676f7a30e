# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers through the API server that do not end: they cost a bounded time and memory, and nothing of ours goes on afterwards."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import tracemalloc
import types

import kubernetes
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.clock import SYSTEM
from ansible_collections.llm_d.inference.plugins.module_utils.http.errors import ExchangeError
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import client, service_proxy
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import LateError, UnendingError
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.service_proxy import ServiceTransport
from local_servers import JSON, SSE, serve
from waiting import until

MIB = 1 << 20
EVENT = b'data: {"choices":[{"index":0,"text":"a"}]}\n\n'


class Unending:
    """An API server behind whose proxy a pod sends `piece` forever, with pauses. `chunked`: in chunks, else until the connection is closed."""

    def __init__(self, piece: bytes, pause: float = 0.0, chunked: bool = True, first: bytes = b"") -> None:
        self.piece, self.pause, self.chunked, self.first = piece, pause, chunked, first
        self.sent, self.open, self.connections = 0, 0, 0

    def __call__(self, handler, method, path, body):
        if path.endswith("/health"):
            return 200, {"Content-Type": JSON}, "{}"
        self.open += 1
        self.connections += 1
        coding = "Transfer-Encoding: chunked" if self.chunked else "Connection: close"
        handler.close_connection = True
        try:
            handler.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: {SSE}\r\n{coding}\r\n\r\n".encode())
            self.say(handler, self.first)
            while True:
                self.say(handler, self.piece)
                time.sleep(self.pause)
                with contextlib.suppress(BlockingIOError):
                    if not handler.connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK):
                        raise ConnectionResetError  # a silent one notices only by this
        except OSError:
            self.open -= 1
        return None

    def say(self, handler, data):
        if data:
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if self.chunked else data)
            self.sent += len(data)


@pytest.fixture(autouse=True)
def own_configuration(monkeypatch):
    monkeypatch.setattr(kubernetes.client.Configuration, "_default", None)


def cluster(url):
    return connect(types.SimpleNamespace(params={"host": url, "api_key": "x-token-12345678"}))


@contextlib.contextmanager
def nothing_goes_on(api, memory):
    """Afterwards the server has no open answer, sends nothing more, no thread of ours is left, and no more than `memory` bytes were held at once."""
    before = set(threading.enumerate())
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < memory
    until(lambda: not api.open and not ours(before))
    sent = api.sent
    time.sleep(0.2)
    assert (api.open, ours(before), api.sent) == (0, [], sent)


def ours(before):
    """Threads of this program that began since, without those of the server."""
    return [each for each in set(threading.enumerate()) - before if "process_request_thread" not in each.name and "serve_forever" not in each.name]


@pytest.mark.timing
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize(
    ("piece", "pause", "kind"),
    [(EVENT * 1000, 0.0, "too_large"), (EVENT, 0.02, "timeout"), (b"x", 0.05, "timeout"), (b"", 0.05, "timeout")],
    ids=["a flood", "events", "drops", "silence"],
)
def test_a_pod_that_answers_for_ever(monkeypatch, piece, pause, kind, chunked):
    monkeypatch.setattr(service_proxy, "MAX_BODY", MIB)
    api = Unending(piece, pause, chunked)
    with serve(api) as url:
        transport = ServiceTransport(cluster(url), "llm-d", "pod-a", 8000, kind="Pod")
        seconds = 30 if kind == "too_large" else 1
        with nothing_goes_on(api, 16 * MIB):
            begin = time.monotonic()
            with pytest.raises(ExchangeError) as caught:
                transport.request("POST", "/v1/completions", b"{}", timeout=seconds)
            took = time.monotonic() - begin
        assert transport.request("GET", "/health", timeout=10).status == 200
    assert caught.value.kind == kind and took < seconds + 5 and api.connections == 1 and "Pod llm-d/pod-a:8000" in str(caught.value)


def test_a_late_answer_is_a_timeout_whichever_timer_expires_first():
    late = types.SimpleNamespace(clock=SYSTEM, send=lambda *_request: (never for never in ()).throw(LateError("no answer in time")))
    with pytest.raises(ExchangeError, match="no answer within 30 s") as caught:
        ServiceTransport(late, "llm-d", "pod-a", 8000, kind="Pod").request("GET", "/metrics", timeout=30)
    assert caught.value.kind == "timeout"


def test_reading_ends_with_what_was_waited_for():
    api = Unending(b"", 0.05, first=EVENT + b"data: [DONE]\n\n")
    with serve(api) as url:
        transport = ServiceTransport(cluster(url), "llm-d", "pod-a", 8000, kind="Pod")
        with nothing_goes_on(api, 16 * MIB):
            answer = transport.request("POST", "/v1/completions", b"{}", timeout=60, until=b"data: [DONE]")
    assert answer.status == 200 and answer.body.startswith(EVENT)


@pytest.mark.timing
def test_a_request_to_the_api_server_itself_is_bounded_too(monkeypatch):
    monkeypatch.setattr(client, "MAX_BODY", MIB)
    monkeypatch.setattr(client, "WHOLE_TIMEOUT", 1.0)
    flood, drops = Unending(EVENT * 1000), Unending(b"x", 0.02)
    for api, words in ((flood, "longer than 1 MiB"), (drops, "did not end within 1 s")):
        with serve(api) as url, nothing_goes_on(api, 16 * MIB), pytest.raises(UnendingError, match=words):
            cluster(url).read_text("/api/v1/namespaces/llm-d/pods/pod-a/log")
