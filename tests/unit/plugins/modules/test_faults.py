# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fault of the wire against vllm_health, vllm_health_info and vllm_perf: one clear line or counted failures, in bounded time, and no traceback."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest
from ansible_collections.llm_d.inference.plugins.modules import vllm_health, vllm_health_info, vllm_perf
from engine_servers import TEXT, VLLM, engine
from local_servers import JSON, SSE, chunk, closed_port, port_for_a_program, raw, serve, stream

pytestmark = pytest.mark.rest

USAGE = {"choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 2}}
LOAD = {
    "workload": {"input_len": 4, "output_len": 2},
    "max_lag": 5,
    "max_lag_share": 0,
    "pause": 0,
    "stages": [{"concurrency": 2, "requests": 6}],
    "request_timeout": 0.6,
    "slo": {"error_rate_max": 0},
}
HTML = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>"
ENDLESS = b'data: {"choices":[{"index":0,"text":"a","finish_reason":null}]}\n\n'


def completions(status, kind, body):
    """A vLLM that answers so to every completion."""
    return engine("vllm", **{"/v1/completions": (status, kind, body)})


def everything(status, kind, body):
    """A server that answers so to every request."""
    return lambda *_request: (status, {"Content-Type": kind}, body)


def endless(handler, method, path, body):
    """A vLLM whose streams do not end."""
    if path == "/v1/completions":
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(OSError):
            while True:
                handler.wfile.write(b"%x\r\n%b\r\n" % (len(ENDLESS), ENDLESS))
                time.sleep(0.02)
        return None
    return engine("vllm")(handler, method, path, body)


def silent(handler, method, path, body):
    """A vLLM that accepts completions and does not answer: hung, but listening."""
    return time.sleep(3) if path == "/v1/completions" else engine("vllm")(handler, method, path, body)


# (name, answer function, kind of the failed health check, the failures that perf counts or, where the check before the run fails, part of its message)
FAULTS = [
    ("401", completions(401, JSON, '{"error":"Unauthorized"}'), "unauthorized", "answered 401"),
    ("403", completions(403, JSON, '{"error":"Forbidden"}'), "forbidden", "answered 403"),
    ("404 model", completions(404, JSON, '{"error":{"message":"The model `acme/tiny` does not exist."}}'), "not_found", "does not exist"),
    ("429", completions(429, "text/plain", "too many requests"), "overloaded", {"http_429": 6}),
    ("500", completions(500, "text/plain", "Internal Server Error"), "status", {"http_500": 6}),
    ("503", completions(503, "text/plain", "no healthy upstream"), "status", {"http_503": 6}),
    ("truncated stream", completions(200, SSE, stream(chunk("a"), done=False)), None, {"truncated": 6}),
    ("error in stream", completions(200, SSE, stream(chunk("a"), {"error": {"message": "EngineDeadError"}})), None, {"error_in_stream": 6}),
    ("invalid UTF-8", completions(200, SSE, b'data: {"choices":[{"text":"\xff\xfe"}]}\n\n'), None, {"bad_event": 6}),
    ("invalid JSON", completions(200, SSE, b"data: {choices}\n\n"), None, {"bad_event": 6}),
    ("never-ending stream", endless, "timeout", {"timeout": 6}),
    ("silence", silent, "timeout", {"timeout": 6}),
    ("a proxy's page", everything(200, "text/html", HTML), "html", "requested a stream, received text/html"),
    ("a proxy's page with 503", everything(503, "text/html", HTML), "status", {"http_503": 6}),
]


@pytest.mark.parametrize(("answer", "kind", "counted"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_server_that_fails(call, answer, kind, counted):
    start = time.monotonic()
    with serve(answer) as url:
        info = call(vllm_health_info, url=url, model="acme/tiny", request_timeout=0.6, retries=0)
        waited = call(vllm_health, url=url, model="acme/tiny", request_timeout=0.6, timeout=0.7, interval=0.1)
        measured = call(vllm_perf, url=url, model="acme/tiny", **LOAD)
    assert time.monotonic() - start < 12
    check = info["checks"][-1]
    assert not info["healthy"] and "failed" not in info and check["evidence"] and check["remedy"] and "\n" not in check["evidence"]
    assert kind in (None, check["kind"])
    assert waited["failed"] and "Remedy: " in waited["msg"] and "\n" not in waited["msg"]
    assert measured["failed"] and "\n" not in measured["msg"] and "Traceback" not in json.dumps([info, waited, measured])
    if isinstance(counted, str):
        assert counted in measured["msg"]
    else:
        assert measured["stages"][0]["errors"] == counted and measured["verdict"] == "failed"


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        (stream(chunk("a"), done=False), "truncated"),
        (stream(chunk("a"), {"error": {"message": "EngineDeadError"}}), "error_in_stream"),
        (b'data: {"choices":[{"text":"\xff\xfe"}]}\n\n', "bad_event"),
        (b"data: {choices}\n\n", "bad_event"),
    ],
)
def test_a_stream_that_fails_although_the_whole_answer_was_good(call, events, kind):
    def answer(handler, method, path, body):
        if path == "/v1/completions" and json.loads(body).get("stream"):
            return 200, {"Content-Type": SSE}, events
        return engine("vllm")(handler, method, path, body)

    with serve(answer) as url:
        check = call(vllm_health_info, url=url, request_timeout=2, retries=0)["checks"][-1]
    assert check["name"] == "completions_streamed" and check["kind"] == kind and check["remedy"]


@pytest.mark.parametrize(
    ("place", "kind", "message"),
    [
        (lambda: f"http://127.0.0.1:{closed_port()}", "refused", "connection refused"),
        (lambda: "http://no-such-host.invalid:8000", "dns", "no-such-host.invalid"),
    ],
)
def test_a_refused_connection_or_unknown_host_is_reported_in_one_line(call, place, kind, message):
    url = place()
    info = call(vllm_health_info, url=url, request_timeout=5, retries=0, use_proxy=False)
    measured = call(vllm_perf, url=url, model="acme/tiny", **LOAD)
    assert info["checks"][0]["kind"] == kind and measured["failed"] and message in measured["msg"] and "\n" not in measured["msg"]


def test_a_host_that_drops_packets_ends_in_a_timeout(call):
    """A listener whose queue is full: the kernel drops what would connect."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as stack:
        for _dummy in range(4):
            full = stack.enter_context(contextlib.closing(socket.socket()))
            full.setblocking(False)
            full.connect_ex(listener.getsockname())
        url, start = f"http://127.0.0.1:{listener.getsockname()[1]}", time.monotonic()
        info = call(vllm_health_info, url=url, request_timeout=0.6, retries=0)
        measured = call(vllm_perf, url=url, model="acme/tiny", **LOAD)
    assert info["checks"][0]["kind"] == "timeout" and measured["failed"] and time.monotonic() - start < 6


@pytest.mark.parametrize(
    ("secure", "scheme", "kinds", "message"),
    [
        (True, "https", {"tls_untrusted"}, "certificate verify failed|CERTIFICATE_VERIFY_FAILED"),
        (False, "https", {"tls"}, "TLS failed"),
        (True, "http", {"closed", "not_http", "network", "truncated"}, "closed|not HTTP|reset"),
    ],
)
def test_tls_that_cannot_be(call, certificate, secure, scheme, kinds, message):
    with serve(engine("vllm"), certificate if secure else None) as url:
        url = f"{scheme}://{url.partition('://')[2]}"
        info = call(vllm_health_info, url=url, request_timeout=2, retries=0)
        measured = call(vllm_perf, url=url, model="acme/tiny", **LOAD)
    assert info["checks"][0]["kind"] in kinds and measured["failed"] and any(part in measured["msg"] for part in message.split("|"))


@pytest.mark.parametrize(
    ("page", "kind", "message"),
    [
        ("", "metrics", "no metrics"),
        ("# HELP nothing\n", "metrics", "no metrics"),
        (HTML, "metrics", ""),
        (VLLM.replace("} 0.125", "} NaN"), "metrics", "kv_cache"),
        (VLLM.replace("} 0.125", "} +Inf"), "metrics", "kv_cache"),
        (VLLM.replace("vllm:kv_cache_usage_perc", "vllm:other"), "metrics", "kv_cache"),
        ("\x00\x01{}{}}\n" * 50, "metrics", ""),
    ],
)
def test_metrics_without_usable_values_fail_the_metrics_check(call, page, kind, message):
    with serve(engine("vllm", **{"/metrics": (200, TEXT, page)})) as url:
        check = call(vllm_health_info, url=url, level="metrics", retries=0)["checks"][-1]
    assert check["name"] == "metrics" and not check["ok"] and message in check["evidence"] and check["remedy"] and "\n" not in check["evidence"]


SERVER = """
import sys
sys.path[:0] = {paths!r}
from http.server import ThreadingHTTPServer
from engine_servers import engine
from local_servers import Server, Handler
server = Server(("127.0.0.1", {port}), Handler)
server.answer = engine("vllm", **{{"/v1/completions": (200, "text/event-stream", {body!r})}})
server.serve_forever()
"""


@contextlib.contextmanager
def process(port):
    """A server in a process of its own, to be killed."""
    code = SERVER.format(paths=sys.path, port=port, body=stream(chunk("To "), chunk("day", "length"), USAGE))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            yield running
        finally:
            running.kill()


def test_a_server_that_restarts_in_the_middle_of_a_run(call):
    port = port_for_a_program()
    up, url = threading.Event(), f"http://127.0.0.1:{port}"

    def restart():
        with process(port):
            assert call_until_up(url)
            up.set()
            time.sleep(3)  # of which the client may take two to start
        time.sleep(0.8)
        with process(port):
            time.sleep(6)

    def call_until_up(url):
        for _dummy in range(200):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(url + "/health", timeout=1).close()
                return True
            time.sleep(0.05)
        return False

    thread = threading.Thread(target=restart, daemon=True)
    thread.start()
    assert up.wait(20)
    start = time.monotonic()
    result = call(vllm_perf, url=url, model="acme/tiny", **{**LOAD, "stages": [{"rate": 30, "seconds": 5}], "arrivals": "constant"})
    stage = result["stages"][0]
    assert result["failed"] and result["verdict"] == "failed" and time.monotonic() - start < 9
    assert stage["requests"] == 150 and stage["failed"] >= 15 and set(stage["errors"]) <= {"refused", "closed", "truncated", "network", "timeout"}
    # before and after it served
    assert stage["ok"] >= 40 and "error_rate_max" in result["msg"]
    thread.join(15)


def test_waiting_for_a_server_that_restarts(call):
    port = port_for_a_program()
    later = threading.Timer(1.0, lambda: started.append(stack.enter_context(process(port))))
    started = []
    with contextlib.ExitStack() as stack:
        later.start()
        result = call(vllm_health, url=f"http://127.0.0.1:{port}", level="ready", timeout=30, interval=0.1)
        later.join()
    assert result["healthy"] and result["looks"] > 1 and result["waited"] >= 0.9


def test_an_answer_that_never_begins_to_be_http(call):
    with raw(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")) as url:
        info = call(vllm_health_info, url=url, request_timeout=1, retries=0)
        measured = call(vllm_perf, url=url, model="acme/tiny", **LOAD)
    assert info["checks"][0]["kind"] == "not_http" and measured["failed"] and "not HTTP" in measured["msg"]
