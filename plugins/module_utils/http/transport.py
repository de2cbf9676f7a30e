# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP transports: requests to a base URL, and retries around any transport. Transports to a Service or a Pod are in package k8s."""

from __future__ import annotations

import collections.abc as c
import socket
import ssl
import typing as t
import urllib.error
import urllib.parse
import urllib.request

from ..common.clock import SYSTEM, Clock, retry_after
from . import tls as tls_options
from .answer import Answer
from .errors import ExchangeError
from .exchange import exchange
from .urls import AGENT, base_url


class Transport(t.Protocol):
    """Sends requests to one server."""

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: c.Mapping[str, str] | None = None, timeout: float = 10.0, until: bytes | None = None
    ) -> Answer:
        """Returns the response, whatever its status; raises ExchangeError when there is none within `timeout` seconds.

        until: stop reading the body when it contains these bytes.
        """


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Returns a redirect as the response: following it would send the prompt, and perhaps the key, to another server."""

    def redirect_request(self, *args: t.Any, **kwargs: t.Any) -> None:
        return None


class UrlTransport:
    """Requests to a base URL, through the proxies of the environment unless use_proxy is false. Raises ValueError for a bad URL or unreadable files."""

    def __init__(
        self,
        url: str,
        headers: c.Mapping[str, str] | None = None,
        validate_certs: bool = True,
        ca_path: str | None = None,
        use_proxy: bool = True,
        client_cert: str | None = None,
        client_key: str | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self.url, self._clock = base_url(url), clock
        self._headers = {"User-Agent": AGENT, **(headers or {})}
        handlers: list[urllib.request.BaseHandler] = [NoRedirect()]
        if self.url.startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=tls_context(ca_path, validate_certs, client_cert, client_key)))
        if not use_proxy:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: c.Mapping[str, str] | None = None, timeout: float = 10.0, until: bytes | None = None
    ) -> Answer:
        """See Transport. The exchange ends within `timeout` seconds, whatever the server does."""
        request = urllib.request.Request(self.url + path, data=body, method=method, headers={**self._headers, **(headers or {})})
        return exchange(f"{method} {self.url}{path}", self._opener, request, timeout, until, self._clock)


def unanswered(url: str, use_proxy: bool = True, timeout: float = 3.0) -> bool:
    """Whether nothing at the address of a URL answers a TCP connection at all, as without a route there. A refusal is an answer; a proxy may have a route."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    if use_proxy and parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host):
        return False
    try:
        socket.create_connection((host, parts.port or (443 if parts.scheme == "https" else 80)), timeout).close()
    except ConnectionError:
        return False
    except OSError:
        return True
    return False


def tls_context(ca_path: str | None, validate_certs: bool, client_cert: str | None = None, client_key: str | None = None) -> ssl.SSLContext:
    """The TLS settings of a client, by Ansible's own rules for CAs. Raises ValueError for files that cannot be read."""
    # imported here because a program in a pod has no Ansible, and talks to servers without TLS
    from ansible.module_utils.urls import make_context

    try:
        context: ssl.SSLContext = make_context(cafile=ca_path, validate_certs=validate_certs)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"ca_path {ca_path}: {error.strerror or error}; give a readable PEM file with certificates") from error
    tls_options.show_certificate(context, client_cert, client_key)
    return context


# Kinds of ExchangeError and statuses that a retry may heal.
RETRY_KINDS = frozenset({"refused", "closed", "dns", "network", "truncated"})
RETRY_STATUSES = frozenset({429, 502, 503, 504})
MAX_PAUSE = 8.0  # seconds


class RetryTransport:
    """Retries another transport, with growing pauses, when no server answered or the server was busy. All tries share one timeout."""

    def __init__(self, inner: Transport, retries: int, pause: float = 0.25, clock: Clock = SYSTEM) -> None:
        self._inner, self._retries, self._pause, self._clock = inner, retries, pause, clock

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: c.Mapping[str, str] | None = None, timeout: float = 10.0, until: bytes | None = None
    ) -> Answer:
        """See Transport. The last response or error counts."""
        end, pause = self._clock.now() + timeout, self._pause
        for left in range(self._retries, -1, -1):
            failure: ExchangeError | None = None
            answer: Answer | None = None
            try:
                answer = self._inner.request(method, path, body, headers, max(0.1, end - self._clock.now()), until)
                again = answer.status in RETRY_STATUSES
            except ExchangeError as error:
                failure, again = error, error.kind in RETRY_KINDS
            wait = max(pause, _requested_pause(answer))
            if not again or not left or self._clock.now() + wait >= end:
                break
            self._clock.sleep(wait)
            pause = min(2 * pause, MAX_PAUSE)
        if answer is None:
            raise failure or ValueError(f"retries is {self._retries}; give 0 or more")
        return answer


def _requested_pause(answer: Answer | None) -> float:
    """Seconds to wait by Retry-After of a busy server, at most MAX_PAUSE; 0 without the header."""
    return min(retry_after(answer.headers.get("retry-after", "")), MAX_PAUSE) if answer else 0.0
