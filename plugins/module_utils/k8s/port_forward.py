# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP to a port of a Pod by port-forward. Each exchange opens a forward and closes it. A transport, see http.transport.Transport."""

from __future__ import annotations

import collections.abc as c
import contextlib
import http.client
import socket
import threading
import typing as t
import urllib.request

from ..http.answer import Answer
from ..http.errors import ExchangeError
from ..http.exchange import exchange
from ..http.transport import NoRedirect, tls_context
from ..http.urls import AGENT, excerpt
from .errors import GRANT, REFUSED_KINDS, ApiError

PROTOCOL = "v4.channel.k8s.io"  # each message begins with its channel: 0 for data of the port, 1 for errors
READ = 64 << 10  # bytes
CLOSING = 1.0  # seconds to wait for a thread after its socket is shut down
REMEDIES = {
    403: f"{GRANT}pods/portforward in that namespace",
    404: "the pod is gone: look at its Deployment",
}
OTHER = "the API server, or a proxy before it, does not forward ports: reach the server through the API server's proxy, or by url"


class Upgrader(t.Protocol):
    """The part of client.Cluster that is used here."""

    def websocket(self, path: str, protocol: str) -> t.Any:
        """An open WebSocket of websocket-client. Raises ApiError and ClusterError."""


class Forward:
    """A forwarded port over a WebSocket: a socket pair whose `near` end reads and writes the port, until `close`.

    The one of kubernetes.stream leaks its connection when the near end is closed while data is in flight.
    """

    def __init__(self, websocket: t.Any) -> None:
        self.near, self._far = socket.socketpair()
        self.refusal = ""  # the message of the API server when nothing is forwarded
        self._websocket = websocket
        self._threads = [threading.Thread(target=self._quietly, args=(carry,), daemon=True) for carry in (self._up, self._down)]
        for thread in self._threads:
            thread.start()

    def _quietly(self, carry: c.Callable[[], None]) -> None:
        # Whatever ends it, such as `close`, ends this direction; the near end reads end of file.
        with contextlib.suppress(Exception):
            carry()

    def _up(self) -> None:
        while data := self._far.recv(READ):
            self._websocket.send_binary(b"\0" + data)

    def _down(self) -> None:
        begun: set[int] = set()
        try:
            while data := self._websocket.recv():
                channel, data = data[0], data[1:]
                if channel not in begun:
                    begun.add(channel)  # the first message of each channel is the port number
                elif channel:
                    self.refusal += data.decode("utf-8", "replace")
                else:
                    self._far.sendall(data)
        finally:
            self._far.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End both directions and their threads."""
        for each in (self._websocket.sock, self.near, self._far):
            with contextlib.suppress(OSError, AttributeError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(CLOSING)
        with contextlib.suppress(OSError):
            self._websocket.shutdown()
        self._far.close()
        self.near.close()


class ForwardTransport:
    """Requests to a port of a Pod. host: the Host header, and the name its certificate must have. prefix: the start of each path.

    Raises ValueError for unreadable files.
    """

    def __init__(
        self,
        cluster: Upgrader,
        namespace: str,
        pod: str,
        port: int,
        host: str,
        scheme: str = "http",
        ca_path: str | None = None,
        validate_certs: bool = True,
        client_cert: str | None = None,
        client_key: str | None = None,
        prefix: str = "",
    ) -> None:
        self._cluster, self._path = cluster, f"/api/v1/namespaces/{namespace}/pods/{pod}/portforward?ports={port}"
        self.where = f"Pod {namespace}/{pod}:{port} (port-forward)"
        self._url = f"{scheme}://{host}:{port}{prefix}"
        self._tls = tls_context(ca_path, validate_certs, client_cert, client_key) if scheme == "https" else None

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: c.Mapping[str, str] | None = None, timeout: float = 10.0, until: bytes | None = None
    ) -> Answer:
        """See Transport."""
        what = f"{method} {path} of {self.where}"
        request = urllib.request.Request(self._url + path, data=body, method=method, headers={"User-Agent": AGENT, **(headers or {})})
        with contextlib.closing(_Held(lambda: self._open(what))) as held:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect(), _Handler(held, self._tls))
            try:
                return exchange(what, opener, request, timeout, until)
            except ExchangeError as failure:
                if held.refusal and failure.kind in ("closed", "truncated", "network", "tls"):
                    raise ExchangeError(
                        "refused",
                        f"{what}: the port is not answered ({excerpt(held.refusal)})",
                        "nothing listens there yet: a vLLM listens only once its model is loaded; else check the port",
                    ) from failure
                raise

    def _open(self, what: str) -> Forward:
        try:
            return Forward(self._cluster.websocket(self._path, PROTOCOL))
        except ApiError as error:
            kind = REFUSED_KINDS.get(error.status, "cluster")
            raise ExchangeError(kind, f"{what}: {excerpt(str(error))}", REMEDIES.get(error.status, OTHER), error.status) from error
        except Exception as error:  # the client library raises many unrelated classes
            raise ExchangeError("cluster", f"{what}: {excerpt(str(error))}", "check the connection to the API server") from error


class _Held:
    """The forward of one exchange: opened by its thread, closed by the caller, even while the thread still waits for it."""

    def __init__(self, open_: c.Callable[[], Forward]) -> None:
        self._open = open_
        self._lock = threading.Lock()
        self._forward: Forward | None = None
        self._closed = False

    def socket(self) -> socket.socket:
        """The near end of the forwarded port."""
        forward = self._open()
        with self._lock:
            self._forward, late = forward, self._closed
        if late:
            forward.close()
            raise TimeoutError
        return forward.near

    @property
    def refusal(self) -> str:
        """Why nothing is forwarded; empty when the port is."""
        return self._forward.refusal if self._forward else ""

    def close(self) -> None:
        """Close the forward, which ends a thread that waits for bytes from it."""
        with self._lock:
            self._closed, forward = True, self._forward
        if forward:
            forward.close()


class _Connection(http.client.HTTPConnection):
    """A connection whose socket is the near end of a forward."""

    def __init__(self, host: str, held: _Held, tls: t.Any, timeout: float) -> None:
        super().__init__(host, timeout=timeout)
        self._held, self._tls = held, tls

    def connect(self) -> None:
        near = self._held.socket()
        near.settimeout(self.timeout)
        self.sock = self._tls.wrap_socket(near, server_hostname=self.host) if self._tls else near


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens http and https URLs over a forward; as a subclass of both default handlers it replaces both."""

    def __init__(self, held: _Held, tls: t.Any) -> None:
        super().__init__()
        self._held, self._tls = held, tls

    def http_open(self, req: urllib.request.Request) -> t.Any:
        def connection(host: str, /, *, timeout: t.Any = None, **_options: t.Any) -> _Connection:
            return _Connection(host, self._held, self._tls, timeout)

        return self.do_open(connection, req)

    https_open = http_open
