# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP to a Service or a Pod through the proxy of the API server."""

from __future__ import annotations

import collections.abc as c
import json
import threading
import time
import typing as t

from ..http.answer import Answer
from ..http.errors import ExchangeError
from ..http.urls import excerpt
from .errors import CutError

CUT_PAUSES = (0.0, 0.1, 0.5)  # seconds


class Sender(t.Protocol):
    """What cluster.Cluster offers: an answer of any status, as an object with status, headers and data."""

    def send(self, method: str, path: str, query: dict | None, body: bytes | None, options: dict) -> t.Any:
        """options: timeout (seconds), accept, content_type. Raises when no answer came."""


class ServiceTransport:
    """Requests to a Service, or to a Pod, through the API server's proxy.

    The API server keeps the Authorization header for itself, so a server that asks for a key cannot be reached this way.
    """

    def __init__(self, cluster: Sender, namespace: str, name: str, port: int | str, scheme: str = "", kind: str = "Service") -> None:
        self._cluster = cluster
        self.where = f"{kind} {namespace}/{name}:{port}"
        self._prefix = f"/api/v1/namespaces/{namespace}/{kind.lower()}s/{scheme + ':' if scheme else ''}{name}:{port}/proxy"

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: c.Mapping[str, str] | None = None, timeout: float = 10.0, until: bytes | None = None
    ) -> Answer:
        """One exchange. `until` has no use here: the API server's client reads whole answers."""
        start, what = time.monotonic(), f"{method} {path} of {self.where} (through the API server)"
        options = {"timeout": timeout, "accept": "*/*", "content_type": (headers or {}).get("Content-Type")}
        got: list[t.Any] = []
        # In a thread, since the client's timeout is for each read: a server that sends a byte now and then would hold the caller for ever.
        thread = threading.Thread(target=self._send, args=(got, method, self._prefix + path, body, options), daemon=True)
        thread.start()
        thread.join(timeout)
        if not got:
            raise ExchangeError("timeout", f"{what}: no answer within {timeout:g} s", "look at the server's log and load; raise the timeout if it is only slow")
        if isinstance(got[0], Exception):
            raise ExchangeError("cluster", f"{what}: {excerpt(str(got[0]))}", "check the connection to the API server") from got[0]
        answer_headers = {name.lower(): value for name, value in got[0].headers.items()}
        answer = Answer(what, got[0].status, answer_headers, got[0].data or b"", time.monotonic() - start)
        raise_if_cluster_refused(answer)
        return answer

    def _send(self, got: list, *args: t.Any) -> None:
        try:
            got.append(self._uncut(*args))
        except Exception as error:  # pylint: disable=broad-except  # whatever the client library throws is one clear error
            got.append(error)

    def _uncut(self, method: str, path: str, body: bytes | None, options: dict) -> t.Any:
        # A server may close idle connections just when the API server takes one of them for this request. It repeats a GET by itself, and no POST; and
        # where several were closed at once, the next try may get another of them until it has noticed.
        for pause in CUT_PAUSES:
            try:
                return self._cluster.send(method, path, None, body, options)
            except CutError:
                time.sleep(pause)
        return self._cluster.send(method, path, None, body, options)


def raise_if_cluster_refused(answer: Answer) -> None:
    """The API server's own refusals are `Status` objects; the rest comes from the server behind it."""
    if answer.status < 400 or b'"Status"' not in answer.body:
        return
    try:
        status = json.loads(answer.body)
    except ValueError:
        return
    if not isinstance(status, dict) or status.get("kind") != "Status":
        return
    remedy = {
        403: "grant get and create on services/proxy in that namespace",
        404: "check the Service's namespace, name and port",
        503: "no pod behind the Service is ready, or the port is wrong: look at its EndpointSlices",
    }.get(answer.status, "look at the API server's log")
    raise ExchangeError("cluster", f"{answer.request}: {answer.status} {excerpt(str(status.get('message')))}", remedy, answer.status)
