# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One bounded exchange, against real servers that misbehave in each way a socket allows."""

from __future__ import annotations

import json
import threading
import time
import types

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http import exchange, transport, urls
from ansible_collections.llm_d.inference.plugins.module_utils.http.errors import ExchangeError
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import errors
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.service_proxy import ServiceTransport
from fake_clock import FakeClock
from local_servers import closed_port, drip, raw, serve

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def get(url, timeout=60.0, **options):
    return transport.UrlTransport(url, **options).request("GET", "/x", timeout=timeout)


def trouble(url, timeout=60.0, **options):
    with pytest.raises(ExchangeError) as caught:
        get(url, timeout, **options)
    assert caught.value.remedy
    return caught.value


def test_an_answer_carries_status_headers_body_and_time():
    with serve(lambda handler, method, path, body: (404, {"X-Odd": "Yes", "Content-Type": "text/plain; charset=utf-8"}, f"{method} {path}")) as url:
        answer = get(url + "/v1/")
    assert (answer.status, answer.text, answer.headers["x-odd"], answer.content_type) == (404, "GET /x", "Yes", "text/plain")
    assert answer.seconds > 0
    assert answer.request == f"GET {url}/x"


def test_the_host_header_can_be_set():
    with serve(lambda handler, *rest: (200, {}, handler.headers["Host"])) as url:
        assert transport.UrlTransport(url).request("GET", "/", headers={"Host": "llama.example.com"}).text == "llama.example.com"


@pytest.mark.parametrize(
    "url, base",
    [
        ("http://a", "http://a"),
        ("http://a/", "http://a"),
        ("https://a:1/v1", "https://a:1"),
        ("http://a/llama/v1/", "http://a/llama"),
        ("http://a/v1/chat/completions", "http://a"),
        ("http://[::1]:80/", "http://[::1]:80"),
        (" http://a ", "http://a"),
    ],
)
def test_base_url(url, base):
    assert urls.base_url(url) == base


@pytest.mark.parametrize("url", ["", "a", "a:80", "ftp://a", "http://", "http://a:x", "http://a:99999", "http://a?b", "http://a#b", "http://[::1"])
def test_an_invalid_base_url_is_refused(url):
    with pytest.raises(ValueError):
        urls.base_url(url)


def test_a_password_in_the_url_is_refused_and_not_repeated():
    with pytest.raises(ValueError) as caught:
        urls.base_url("http://me:hunter2@a")
    assert "hunter2" not in str(caught.value)


def test_refused():
    port = closed_port()
    failure = trouble(f"http://127.0.0.1:{port}")
    assert failure.kind == "refused"
    assert str(failure) == f"GET http://127.0.0.1:{port}/x: connection refused"


def test_a_name_that_does_not_resolve():
    failure = trouble("http://nowhere.invalid")
    assert failure.kind in ("dns", "timeout")
    assert "nowhere.invalid" in str(failure)


@pytest.mark.parametrize(
    "talk, kind",
    [
        (lambda s: None, "closed"),
        (lambda s: s.sendall(b"SSH-2.0-OpenSSH_9.2\r\n"), "not_http"),
        (lambda s: s.sendall(HEAD + b"Content-Length: 100\r\n\r\nshort"), "truncated"),
        (lambda s: s.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), "truncated"),
        (lambda s: s.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n"), "truncated"),
    ],
)
def test_broken_talk(talk, kind):
    with raw(talk) as url:
        assert trouble(url).kind == kind


def test_a_response_sent_in_slow_pieces_is_cut_off_at_the_timeout():
    """The clock moves with each piece. Pieces arrive all the time, so that no timeout of a socket expires; that of the whole request does."""
    clock = FakeClock()

    def talk(connection):
        connection.sendall(HEAD + b"\r\n")
        while True:
            clock.sleep(1)
            connection.sendall(b"data: {}\n\n")
            time.sleep(0.001)

    with raw(talk) as url, pytest.raises(ExchangeError, match="did not end within 60 s") as caught:
        transport.UrlTransport(url, clock=clock).request("GET", "/x", timeout=60.0)
    assert caught.value.kind == "timeout" and len(clock.sleeps) >= 60


@pytest.mark.timing
@pytest.mark.parametrize(
    "talk, words",
    [
        (lambda s: time.sleep(3), "did not answer"),
        (drip(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"), "did not answer"),
        (drip(HEAD + b"\r\n", b"data: {}\n\n"), "did not end"),
        (drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1"), "did not end"),
    ],
)
def test_no_server_holds_us_longer_than_the_timeout(talk, words):
    start = time.monotonic()
    with raw(talk) as url:
        failure = trouble(url, timeout=0.4)
    assert failure.kind == "timeout" and time.monotonic() - start < 2
    assert words in str(failure) and "0.4 s" in str(failure)


def test_an_endless_answer_is_cut(monkeypatch):
    monkeypatch.setattr(exchange, "MAX_BODY", 100_000)
    with raw(drip(HEAD + b"\r\n", b"x" * 65536, 0)) as url:
        assert trouble(url).kind == "too_large"


def test_reading_ends_at_the_wanted_bytes_even_across_packets():
    def talk(connection):
        connection.sendall(HEAD + b"\r\ndata: 1\n\ndata: [DO")
        time.sleep(0.1)
        connection.sendall(b"NE]\n\n")
        over.wait()

    over = threading.Event()
    with raw(talk) as url:
        answer = transport.UrlTransport(url).request("GET", "/", timeout=60.0, until=b"data: [DONE]")
    assert b"[DONE]" in answer.body and not over.is_set()
    over.set()


def test_a_redirect_is_not_followed():
    with serve(lambda *rest: (302, {"Location": "http://192.0.2.1/login"}, "")) as url:
        assert get(url).status == 302


@pytest.fixture(name="https")
def serve_https(certificate):
    """A TLS server; gives its URL."""
    with serve(lambda *rest: (200, {}, "safe"), certificate) as url:
        yield url


def test_untrusted_tls_is_refused_unless_its_ca_is_given_or_validation_is_off(https, certificate):
    failure = trouble(https)
    assert failure.kind == "tls_untrusted" and "ca_path" in failure.remedy
    assert get(https, ca_path=certificate[0]).text == "safe"
    assert get(https, validate_certs=False).text == "safe"


def test_a_tls_mismatch_between_url_and_server_is_reported(https):
    with serve(lambda *rest: (200, {}, "")) as url:
        failure = trouble(url.replace("http:", "https:"))
        assert failure.kind == "tls" and "http://" in failure.remedy
    assert trouble(https.replace("https:", "http:")).kind in ("closed", "not_http")


def test_excerpt_is_short_one_line_and_without_secrets():
    shown = urls.excerpt("a\n\tb\x00 sk-123 " + "x" * 500, ["sk-123", ""])
    assert shown.startswith("a b *** xxx") and len(shown) == urls.EXCERPT + 3 and "\n" not in shown


class Api:
    """An API server's connection that answers from a list."""

    def __init__(self, reply):
        self.reply, self.sent, self.clock = reply, [], FakeClock()

    def send(self, method, path, query, body, options):
        self.sent.append((method, path, query, body, options))
        if isinstance(self.reply, Exception):
            raise self.reply
        time.sleep(self.reply.pop("sleep", 0))
        return types.SimpleNamespace(**self.reply)


def ask(reply, timeout=60.0):
    api = Api(reply)
    service = ServiceTransport(api, "llm-d", "llama", 8000)
    return service.request("POST", "/v1/completions", b"{}", {"Content-Type": "application/json"}, timeout=timeout), api


def test_a_service_through_the_api_server():
    answer, api = ask({"status": 200, "headers": {"X-Inference-Pod": "p"}, "data": b"ok"})
    method, path, query, body, options = api.sent[0]
    assert path == "/api/v1/namespaces/llm-d/services/llama:8000/proxy/v1/completions"
    assert (method, query, body, options["content_type"], options["timeout"]) == ("POST", None, b"{}", "application/json", 60.0)
    assert (answer.status, answer.text, answer.headers) == (200, "ok", {"x-inference-pod": "p"})


@pytest.mark.parametrize(
    "code, kind, remedy",
    [(401, "unauthorized", "log"), (403, "forbidden", "services/proxy"), (404, "cluster", "namespace"), (503, "cluster", "EndpointSlices")],
)
def test_a_refusal_of_the_api_server_itself(code, kind, remedy):
    status = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no endpoints available for service", "code": code})
    with pytest.raises(ExchangeError) as caught:
        ask({"status": code, "headers": {}, "data": status.encode()})
    assert caught.value.kind == kind and remedy in caught.value.remedy
    assert "Service llm-d/llama:8000 (through the API server)" in str(caught.value)


@pytest.mark.parametrize("body", [b'{"Status"', b'["Status"]', b'{"error": "Status"}'])
def test_an_error_of_the_proxied_server_is_returned_as_an_answer(body):
    assert ask({"status": 503, "headers": {}, "data": body})[0].status == 503


def test_no_connection_to_the_api_server():
    with pytest.raises(ExchangeError, match="the API server does not answer"):
        ask(OSError("the API server does not answer"))


@pytest.mark.timing
def test_a_slow_api_server_is_not_waited_for():
    with pytest.raises(ExchangeError) as caught:
        ask({"status": 200, "headers": {}, "data": b"", "sleep": 1}, timeout=0.1)
    assert caught.value.kind == "timeout"


def test_a_server_with_mutual_tls_requires_a_client_certificate(certificate):
    cert, key = certificate
    with serve(lambda *rest: (200, {}, "known"), certificate, mutual=True) as url:
        assert get(url, ca_path=cert, client_cert=cert, client_key=key).text == "known"
        failure = trouble(url, ca_path=cert)
    assert failure.kind in ("tls", "closed", "network") and (failure.kind != "tls" or failure.remedy.endswith("give client_cert and client_key"))


@pytest.mark.parametrize("cert, key", [("/nowhere/c.pem", None), ("cert", None), ("cert", "/nowhere/k.pem"), ("key", "cert")])
def test_client_certificates_that_cannot_be(certificate, cert, key):
    names = {"cert": certificate[0], "key": certificate[1]}
    with pytest.raises(ValueError, match="client_cert .*give readable PEM files") as caught:
        transport.UrlTransport("https://a", client_cert=names.get(cert, cert), client_key=names.get(key, key))
    assert "\n" not in str(caught.value)


def test_requests_use_the_proxy_of_the_environment_unless_use_proxy_is_false(monkeypatch):
    with serve(lambda handler, method, path, body: (200, {}, f"proxied {path}")) as proxy, serve(lambda *rest: (200, {}, "direct")) as url:
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        assert get(url).text == f"proxied {url}/x"
        assert get(url, use_proxy=False).text == "direct"
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert get(url).text == "direct"


def retried(url, retries, timeout=60.0):
    """(answer or failure, pauses) of a request with retries."""
    clock = FakeClock()
    retrying = transport.RetryTransport(transport.UrlTransport(url), retries, clock=clock)
    try:
        return retrying.request("GET", "/x", timeout=timeout), clock.sleeps
    except ExchangeError as error:
        return error, clock.sleeps


@pytest.mark.parametrize(
    "status, headers, expected",
    [
        (503, {}, [0.25, 0.5]),
        (429, {"Retry-After": "2"}, [2.0, 2.0]),
        (502, {"Retry-After": "soon"}, [0.25, 0.5]),
        (504, {}, [0.25, 0.5]),
        (500, {}, []),
        (401, {}, []),
    ],
)
def test_a_request_is_retried_with_pauses_on_429_502_503_and_504(status, headers, expected):
    calls = []

    def answer(*request):
        calls.append(1)
        return (200, {}, "at last") if len(calls) > 2 else (status, headers, "busy")

    with serve(answer) as url:
        result, pauses = retried(url, 5)
    assert pauses == expected and result.status == (200 if expected else status)


def test_a_refused_connection_is_retried_and_the_last_failure_is_raised():
    failure, pauses = retried(f"http://127.0.0.1:{closed_port()}", 3)
    assert failure.kind == "refused" and pauses == [0.25, 0.5, 1.0]
    assert retried(f"http://127.0.0.1:{closed_port()}", 0)[1] == []


def test_retries_end_with_the_timeout():
    failure, pauses = retried(f"http://127.0.0.1:{closed_port()}", 50, timeout=40.0)
    assert failure.kind == "refused" and pauses == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0]


@pytest.mark.timing
def test_a_timeout_is_not_retried():
    with raw(drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x")) as url:
        failure, pauses = retried(url, 5, timeout=0.3)
    assert failure.kind == "timeout" and pauses == []


def test_a_pod_through_the_api_server():
    api = Api({"status": 200, "headers": {}, "data": b"ok"})
    answer = ServiceTransport(api, "llm-d", "pod-a", 8000, "https", "Pod").request("GET", "/health")
    assert api.sent[0][1] == "/api/v1/namespaces/llm-d/pods/https:pod-a:8000/proxy/health" and "Pod llm-d/pod-a:8000" in answer.request


@pytest.mark.parametrize("cuts", [1, 3, 4])
def test_a_request_on_a_cut_connection_is_retried_up_to_three_times(cuts):
    """A server may close idle connections just when the API server takes one of them, and then another."""
    bodies = []

    def send(method, path, query, body, options):
        bodies.append(body)
        if len(bodies) <= cuts:
            raise errors.CutError("the connection was cut")
        return types.SimpleNamespace(status=200, headers={}, data=b"{}")

    clock = FakeClock()
    service = ServiceTransport(types.SimpleNamespace(clock=clock, send=send), "llm-d", "pod-a", 8000, kind="Pod")
    if cuts < 4:
        assert service.request("POST", "/v1/completions", b"again").status == 200
    else:
        with pytest.raises(ExchangeError, match="was cut"):
            service.request("POST", "/v1/completions", b"again")
    assert bodies == [b"again"] * min(cuts + 1, 4) and clock.sleeps == [0.0, 0.1, 0.5][:cuts]
