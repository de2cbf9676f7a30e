# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP to a Service or a Pod through the proxy of the API server. A transport, see http.transport.Transport."""

from __future__ import annotations

import collections.abc as c
import json
import threading
import typing as t

from ..common.clock import Clock
from ..common.objects import Facts
from ..http.answer import Answer
from ..http.errors import ExchangeError
from ..http.exchange import MAX_BODY
from ..http.urls import excerpt
from .errors import GRANT, REFUSED_KINDS, CutError, LateError, UnendingError

CUT_PAUSES = (0.0, 0.1, 0.5)  # seconds


class Sender(t.Protocol):
    """The part of client.Cluster that is used here."""

    clock: Clock

    def send(self, method: str, path: str, query: Facts | None, body: bytes | None, options: Facts) -> t.Any:
        """A response of any status, with attributes status, headers and data. options: timeout (seconds), accept, content_type. Raises without a response."""


class ServiceTransport:
    """Requests to a Service, or to a Pod, through the API server's proxy.

    The API server does not forward the Authorization header, so a server that requires an API key cannot be reached this way.
    """

    def __init__(self, cluster: Sender, namespace: str, name: str, port: int | str, scheme: str = "", kind: str = "Service") -> None:
        self._cluster = cluster
        self.where = f"{kind} {namespace}/{name}:{port}"
        self._prefix = f"/api/v1/namespaces/{namespace}/{kind.lower()}s/{scheme + ':' if scheme else ''}{name}:{port}/proxy"

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: c.Mapping[str, str] | None = None, timeout: float = 10.0, until: bytes | None = None
    ) -> Answer:
        """See Transport."""
        start, what = self._cluster.clock.now(), f"{method} {path} of {self.where} (through the API server)"
        options = {"timeout": timeout, "limit": MAX_BODY, "until": until, "accept": "*/*", "content_type": (headers or {}).get("Content-Type")}
        results: list[t.Any] = []
        # In a thread, since nothing bounds the resolution of a name. The client closes the connection at the end of the time, which ends the thread.
        thread = threading.Thread(target=self._send, args=(results, method, self._prefix + path, body, options), daemon=True)
        thread.start()
        thread.join(timeout)
        if not results:
            raise self._late(what, timeout)
        if isinstance(results[0], UnendingError):
            if results[0].large:
                raise ExchangeError("too_large", f"{what}: the answer is longer than {MAX_BODY >> 20} MiB", "check what listens there") from results[0]
            raise self._late(what, timeout) from results[0]
        if isinstance(results[0], LateError):  # the server behind the API server is late; the API server itself answers in time
            raise self._late(what, timeout) from results[0]
        if isinstance(results[0], Exception):
            raise ExchangeError("cluster", f"{what}: {excerpt(str(results[0]))}", "check the connection to the API server") from results[0]
        answer_headers = {name.lower(): value for name, value in results[0].headers.items()}
        answer = Answer(what, results[0].status, answer_headers, results[0].data or b"", self._cluster.clock.now() - start)
        raise_if_cluster_refused(answer)
        return answer

    def _late(self, what: str, timeout: float) -> ExchangeError:
        return ExchangeError("timeout", f"{what}: no answer within {timeout:g} s", "look at the server's log and load; raise the timeout if it is only slow")

    def _send(self, results: list[t.Any], *args: t.Any) -> None:
        try:
            results.append(self._uncut(*args))
        except Exception as error:  # pylint: disable=broad-except  # request() makes an ExchangeError of it
            results.append(error)

    def _uncut(self, method: str, path: str, body: bytes | None, options: Facts) -> t.Any:
        # A server may close an idle connection just when the API server reuses it for this request. The API server itself retries a GET but not a POST,
        # and when several were closed at once, a retry may get another closed one.
        end = self._cluster.clock.now() + options["timeout"]
        for pause in (*CUT_PAUSES, None):
            try:
                return self._cluster.send(method, path, None, body, {**options, "within": max(0.1, end - self._cluster.clock.now())})
            except CutError:
                if pause is None or self._cluster.clock.now() + pause >= end:
                    raise
                self._cluster.clock.sleep(pause)
        raise AssertionError


def raise_if_cluster_refused(answer: Answer) -> None:
    """Raise ExchangeError for a refusal of the API server itself, which is a `Status` object; other responses are of the server behind it."""
    if answer.status < 400 or b'"Status"' not in answer.body:
        return
    try:
        status = json.loads(answer.body)
    except ValueError:
        return
    if not isinstance(status, dict) or status.get("kind") != "Status":
        return
    remedy = {
        403: f"{GRANT}services/proxy in that namespace",
        404: "check the Service's namespace, name and port",
        503: "no pod behind the Service is ready, or the port is wrong: look at its EndpointSlices",
    }.get(answer.status, "look at the API server's log")
    raise ExchangeError(
        REFUSED_KINDS.get(answer.status, "cluster"), f"{answer.request}: {answer.status} {excerpt(str(status.get('message')))}", remedy, answer.status
    )
