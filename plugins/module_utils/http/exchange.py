# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One HTTP exchange that ends within its timeout, whatever the server does. Each failure is an ExchangeError that names the request."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import typing as t
import urllib.error
import urllib.request

from ..common.clock import SYSTEM, Clock
from . import tls as tls_options
from .answer import Answer
from .errors import ExchangeError
from .urls import excerpt

MAX_BODY = 32 << 20  # bytes of a body


def exchange(
    what: str, opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float, until: bytes | None = None, clock: Clock = SYSTEM
) -> Answer:
    """The response to one request, whatever its status. Raises ExchangeError, also when `timeout` seconds have passed.

    what: names the request in errors; until: stop reading the body when it contains these bytes; clock: measures the duration of the exchange.
    """
    pending = _Exchange(what, until, clock)
    # A thread, because a socket timeout bounds neither name resolution nor a server that sends one byte a second.
    thread = threading.Thread(target=pending.run, args=(opener, request, timeout), daemon=True)
    thread.start()
    thread.join(timeout)
    return pending.result(timeout)


class _Exchange:
    """The state of one exchange, written by its thread and read by the caller, also after the timeout."""

    def __init__(self, what: str, until: bytes | None, clock: Clock) -> None:
        self._what, self._until = what, until
        self._clock = clock
        self._start = clock.now()
        self._status, self._body = 0, bytearray()
        self._headers: dict[str, str] = {}
        self._end = 0.0
        self._error: Exception | None = None
        self._done = threading.Event()

    def run(self, opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float) -> None:
        try:
            self._run(opener, request, timeout)
        except Exception as error:  # pylint: disable=broad-except  # result() makes an ExchangeError of it
            self._error = error
        self._end = self._clock.now()
        self._done.set()

    def _run(self, opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float) -> None:
        response: t.Any  # an HTTPResponse, or an HTTPError around one: both lack types for read1 and length
        try:
            response = opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            self._headers = {name.lower(): value for name, value in response.headers.items()}
            self._status = response.status
            source: t.Any = response.fp if isinstance(response, urllib.error.HTTPError) else response
            while chunk := source.read1(65536):
                self._body += chunk
                if self._until is not None and self._until in self._body[-len(chunk) - len(self._until) :]:
                    return
                if len(self._body) > MAX_BODY or self._clock.now() > self._start + timeout:
                    raise TimeoutError
            if getattr(source, "length", None):
                raise http.client.IncompleteRead(b"", source.length)

    def result(self, timeout: float) -> Answer:
        """The response; raises ExchangeError."""
        if not self._done.is_set() or isinstance(_root(self._error), TimeoutError):
            raise self._cut_off(timeout)
        if isinstance(self._error, ExchangeError):
            raise self._error
        if self._error is not None:
            raise _error(self._what, self._error, self._status, len(self._body))
        return Answer(self._what, self._status, self._headers, bytes(self._body), self._end - self._start)

    def _cut_off(self, timeout: float) -> ExchangeError:
        """The error of an exchange that was stopped here: its body is too long, or it takes too long."""
        if len(self._body) > MAX_BODY:
            return ExchangeError("too_large", f"{self._what}: the answer is longer than {MAX_BODY >> 20} MiB", "check what listens there")
        got = f"answered {self._status} and {len(self._body)} bytes, then did not end" if self._status else "did not answer"
        return ExchangeError(
            "timeout",
            f"{self._what}: {got} within {timeout:g} s",
            "look at the server's log and load; raise the timeout if it is only slow",
            self._status or None,
        )


def _root(error: BaseException | None) -> BaseException | None:
    """The exception inside of nested URLErrors, or the exception itself."""
    while isinstance(error, urllib.error.URLError) and isinstance(error.reason, BaseException):
        error = error.reason
    return error


def _error(what: str, error: Exception, status: int, received: int) -> ExchangeError:
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
            "the server or a proxy stopped during the answer: check its log and restarts",
            status,
        )
    if isinstance(root, (http.client.RemoteDisconnected, ConnectionError)):
        return ExchangeError("closed", f"{what}: the connection was closed without an answer", "check the server's log, and whether the port expects https")
    if isinstance(root, http.client.HTTPException):
        return ExchangeError("not_http", f"{what}: the answer is not HTTP ({excerpt(str(root))})", "check the port, and whether it expects https")
    return ExchangeError("network", f"{what}: {excerpt(str(root) or type(root).__name__)}", "check that this host can reach that address")
