# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One bounded HTTP exchange, to a URL or to a Service through the API server. Every trouble is a Trouble that names what answered what."""

from __future__ import annotations

import collections.abc as c
import http.client
import re
import socket
import ssl
import threading
import time
import typing as t
import urllib.error
import urllib.parse
import urllib.request

from ansible.module_utils.urls import make_context

from . import tls as tls_options
from .answer import Answer
from .errors import ExchangeError
from .urls import AGENT, base_url, excerpt

MAX_BODY = 32 << 20  # bytes that are read of one answer


class Transport(t.Protocol):
    """Where requests go. `until` ends the reading of a body early, when these bytes have come."""

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: c.Mapping[str, str] | None = None, timeout: float = 10.0, until: bytes | None = None
    ) -> Answer:
        """Raises Trouble."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the prompt and perhaps the key elsewhere: it is an answer like any other, and a wrong one."""

    def redirect_request(self, *args: t.Any, **kwargs: t.Any) -> None:
        return None


class UrlTransport:
    """Requests to a base URL. Honours the environment's proxies unless told otherwise. Raises ValueError for options that cannot be."""

    def __init__(
        self,
        url: str,
        headers: c.Mapping[str, str] | None = None,
        validate_certs: bool = True,
        ca_path: str | None = None,
        use_proxy: bool = True,
        client_cert: str | None = None,
        client_key: str | None = None,
    ) -> None:
        self.url = base_url(url)
        self._headers = {"User-Agent": AGENT, **(headers or {})}
        handlers: list[urllib.request.BaseHandler] = [NoRedirect()]
        if self.url.startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=tls(ca_path, validate_certs, client_cert, client_key)))
        if not use_proxy:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: c.Mapping[str, str] | None = None, timeout: float = 10.0, until: bytes | None = None
    ) -> Answer:
        """One exchange that takes `timeout` seconds at most, whatever the server does."""
        request = urllib.request.Request(self.url + path, data=body, method=method, headers={**self._headers, **(headers or {})})
        return exchange(f"{method} {self.url}{path}", self._opener, request, timeout, until)


def exchange(what: str, opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float, until: bytes | None = None) -> Answer:
    """One request that takes `timeout` seconds at most, whatever the server does; `what` names it. Raises Trouble."""
    under_way = _Exchange(what, until)
    # a thread, because neither name resolution nor a server that sends one byte a second heeds a socket's timeout
    thread = threading.Thread(target=under_way.run, args=(opener, request, timeout), daemon=True)
    thread.start()
    thread.join(timeout)
    return under_way.result(timeout)


def tls(ca_path: str | None, validate_certs: bool, client_cert: str | None = None, client_key: str | None = None) -> ssl.SSLContext:
    try:
        context = make_context(cafile=ca_path, validate_certs=validate_certs)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"ca_path {ca_path}: {error.strerror or error}; give a readable PEM file with certificates") from error
    tls_options.show_certificate(context, client_cert, client_key)
    return context


class _Exchange:
    """The state of one exchange, written by its thread and read by the caller, also when the time is over."""

    def __init__(self, what: str, until: bytes | None) -> None:
        self._what, self._until = what, until
        self._start = time.monotonic()
        self._status, self._headers, self._body = 0, {}, bytearray()
        self._end = 0.0
        self._error: Exception | None = None
        self._done = threading.Event()

    def run(self, opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float) -> None:
        try:
            self._run(opener, request, timeout)
        except Exception as error:  # pylint: disable=broad-except  # the caller turns it into a Trouble
            self._error = error
        self._end = time.monotonic()
        self._done.set()

    def _run(self, opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float) -> None:
        try:
            response = opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            self._headers = {name.lower(): value for name, value in response.headers.items()}
            self._status = response.status
            source = response.fp if isinstance(response, urllib.error.HTTPError) else response
            while chunk := source.read1(65536):
                self._body += chunk
                if self._until is not None and self._until in self._body[-len(chunk) - len(self._until) :]:
                    return
                if len(self._body) > MAX_BODY or time.monotonic() > self._start + timeout:
                    raise TimeoutError
            if getattr(source, "length", None):
                raise http.client.IncompleteRead(bytes(), source.length)

    def result(self, timeout: float) -> Answer:
        if not self._done.is_set() or isinstance(_root(self._error), TimeoutError):
            raise self._timeout(timeout)
        if isinstance(self._error, ExchangeError):
            raise self._error
        if self._error is not None:
            raise _trouble(self._what, self._error, self._status, len(self._body))
        return Answer(self._what, self._status, self._headers, bytes(self._body), self._end - self._start)

    def _timeout(self, timeout: float) -> ExchangeError:
        if len(self._body) > MAX_BODY:
            return ExchangeError("too_large", f"{self._what}: the answer is longer than {MAX_BODY >> 20} MiB", "check what listens there")
        got = f"answered {self._status} and {len(self._body)} bytes, then did not end" if self._status else "did not answer"
        return ExchangeError(
            "timeout",
            f"{self._what}: {got} within {timeout:g} s",
            "look at the server's log and load; raise the timeout if it is only slow",
            self._status or None,
        )


# what another try may heal, of the troubles that carry no status, and of statuses
RETRY_KINDS = frozenset({"refused", "closed", "dns", "network", "truncated"})
RETRY_STATUSES = frozenset({429, 502, 503, 504})
MAX_PAUSE = 8.0  # seconds


class RetryTransport:
    """Another transport, tried again with growing pauses when no server answered or the server was busy. All tries share one timeout."""

    def __init__(self, inner: Transport, retries: int, pause: float = 0.25, sleep: c.Callable[[float], None] = time.sleep) -> None:
        self._inner, self._retries, self._pause, self._sleep = inner, retries, pause, sleep

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: c.Mapping[str, str] | None = None, timeout: float = 10.0, until: bytes | None = None
    ) -> Answer:
        """As the inner one; the last trouble or answer counts."""
        end, pause = time.monotonic() + timeout, self._pause
        for left in range(self._retries, -1, -1):
            trouble, answer = None, None
            try:
                answer = self._inner.request(method, path, body, headers, max(0.1, end - time.monotonic()), until)
                again = answer.status in RETRY_STATUSES
            except ExchangeError as error:
                trouble, again = error, error.kind in RETRY_KINDS
            wait = max(pause, _asked(answer))
            if not again or not left or time.monotonic() + wait >= end:
                break
            self._sleep(wait)
            pause = min(2 * pause, MAX_PAUSE)
        if trouble:
            raise trouble
        return answer


def _asked(answer: Answer | None) -> float:
    """Seconds that a busy server asks to wait."""
    asked = answer.headers.get("retry-after", "") if answer else ""
    return min(float(asked), MAX_PAUSE) if re.fullmatch(r"[0-9]{1,9}", asked) else 0.0


def _root(error: BaseException | None) -> BaseException | None:
    """What lies under urllib's wrapping."""
    while isinstance(error, urllib.error.URLError) and isinstance(error.reason, BaseException):
        error = error.reason
    return error


def _trouble(what: str, error: Exception, status: int, received: int) -> ExchangeError:
    root = _root(error)
    if isinstance(root, ConnectionRefusedError):
        return ExchangeError(
            "refused", f"{what}: connection refused", "nothing listens there yet: a vLLM listens only once its model is loaded; else check host and port"
        )
    if isinstance(root, socket.gaierror):
        return ExchangeError("dns", f"{what}: the host name does not resolve ({root.strerror})", "check the host name and this host's DNS")
    if isinstance(root, ssl.SSLCertVerificationError):
        return ExchangeError(
            "tls_untrusted",
            f"{what}: the certificate is not trusted ({root.verify_message})",
            "give the issuer's certificate in ca_path, or use the name in the certificate",
        )
    if isinstance(root, ssl.SSLError):
        why, remedy = tls_options.refusal(root)
        return ExchangeError("tls", f"{what}: {why}", remedy)
    if isinstance(root, (http.client.IncompleteRead, ConnectionError)) and status:
        return ExchangeError(
            "truncated",
            f"{what}: answered {status}, then the connection broke after {received} bytes",
            "the server or a proxy died in mid-answer: look at its log and restarts",
            status,
        )
    if isinstance(root, (http.client.RemoteDisconnected, ConnectionError)):
        return ExchangeError("closed", f"{what}: the connection was closed without an answer", "look at the server's log; is it https there?")
    if isinstance(root, http.client.HTTPException):
        return ExchangeError("not_http", f"{what}: the answer is not HTTP ({excerpt(str(root))})", "check the port; is it https there?")
    return ExchangeError("network", f"{what}: {excerpt(str(root) or type(root).__name__)}", "check that this host can reach that address")
