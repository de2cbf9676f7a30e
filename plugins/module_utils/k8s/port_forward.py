# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP to a port of a Pod that the API server forwards. A forward is opened for each exchange and closed with it, however that ends."""

from __future__ import annotations

import collections.abc as c
import contextlib
import http.client
import socket
import threading
import typing as t
import urllib.request

from ..http import transport
from ..http.answer import Answer
from ..http.errors import ExchangeError
from .errors import ApiError

PROTOCOL = "v4.channel.k8s.io"  # bytes behind the number of their channel: 0 for the port's, 1 for what goes wrong
READ = 64 << 10  # bytes that are sent on at once
CLOSING = 1.0  # seconds for a thread to see that its socket is shut
REMEDIES = {
    403: "grant get and create on pods/portforward in that namespace",
    404: "the pod is gone: look at its Deployment",
}
OTHER = "the API server, or a proxy before it, does not forward ports: reach the server through the API server's proxy, or by url"


class Upgrader(t.Protocol):
    """What cluster.Cluster offers."""

    def websocket(self, path: str, protocol: str) -> t.Any:
        """An open WebSocket, of websocket-client. Raises ApiError and ClusterError."""


class Forward:
    """A forwarded port over a WebSocket: bytes written to `near` come out there, and the other way round, until `close`.

    kubernetes.stream has one too, whose thread dies and leaves its connection open when the near end is closed while something is on its way.
    """

    def __init__(self, websocket: t.Any) -> None:
        self.near, self._far = socket.socketpair()
        self.refusal = ""  # what the other end says of why nothing is forwarded
        self._websocket = websocket
        self._threads = [threading.Thread(target=self._quietly, args=(carry,), daemon=True) for carry in (self._up, self._down)]
        for thread in self._threads:
            thread.start()

    def _quietly(self, carry: c.Callable[[], None]) -> None:
        # whatever ends it, such as `close`, is the end of this direction, and the near end sees it as such
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
                    begun.add(channel)  # the first message of each channel is the number of the port
                elif channel:
                    self.refusal += data.decode("utf-8", "replace")
                else:
                    self._far.sendall(data)
        finally:
            self._far.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """The end of both directions and of their threads."""
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
    """Requests to a port of a Pod. `host` is the name that the server is asked for, and that its certificate must bear. Raises ValueError for bad files."""

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
    ) -> None:
        self._cluster, self._path = cluster, f"/api/v1/namespaces/{namespace}/pods/{pod}/portforward?ports={port}"
        self.where = f"Pod {namespace}/{pod}:{port} (port-forward)"
        self._url = f"{scheme}://{host}:{port}"
        self._tls = transport.tls(ca_path, validate_certs, client_cert, client_key) if scheme == "https" else None

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: c.Mapping[str, str] | None = None, timeout: float = 10.0, until: bytes | None = None
    ) -> Answer:
        """One exchange that takes `timeout` seconds at most."""
        what = f"{method} {path} of {self.where}"
        request = urllib.request.Request(self._url + path, data=body, method=method, headers={"User-Agent": transport.AGENT, **(headers or {})})
        with contextlib.closing(_Held(lambda: self._open(what))) as held:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), transport.NoRedirect(), _Handler(held, self._tls))
            try:
                return transport.exchange(what, opener, request, timeout, until)
            except ExchangeError as trouble:
                if held.refusal and trouble.kind in ("closed", "truncated", "network", "tls"):
                    raise ExchangeError(
                        "refused",
                        f"{what}: the port is not answered ({transport.excerpt(held.refusal)})",
                        "nothing listens there yet: a vLLM listens only once its model is loaded; else check the port",
                    ) from trouble
                raise

    def _open(self, what: str) -> Forward:
        try:
            return Forward(self._cluster.websocket(self._path, PROTOCOL))
        except ApiError as error:
            raise ExchangeError("cluster", f"{what}: {transport.excerpt(str(error))}", REMEDIES.get(error.status, OTHER), error.status) from error
        except Exception as error:  # whatever the client library throws is one clear error
            raise ExchangeError("cluster", f"{what}: {transport.excerpt(str(error))}", "check the connection to the API server") from error


class _Held:
    """The forward of one exchange: opened by its thread, closed by the caller, also while the thread still waits for it."""

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
        """Why nothing is forwarded; empty when all is well."""
        return self._forward.refusal if self._forward else ""

    def close(self) -> None:
        """The end of the forward, and of a thread that waits for bytes from it."""
        with self._lock:
            self._closed, forward = True, self._forward
        if forward:
            forward.close()


class _Connection(http.client.HTTPConnection):
    """Its socket is the near end of a forward."""

    def __init__(self, host: str, held: _Held, tls: t.Any, timeout: float) -> None:
        super().__init__(host, timeout=timeout)
        self._held, self._tls = held, tls

    def connect(self) -> None:
        near = self._held.socket()
        near.settimeout(self.timeout)
        self.sock = self._tls.wrap_socket(near, server_hostname=self.host) if self._tls else near


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Both schemes, by way of a forward; being both handlers, it stands in for both."""

    def __init__(self, held: _Held, tls: t.Any) -> None:
        super().__init__()
        self._held, self._tls = held, tls

    def http_open(self, req: urllib.request.Request) -> t.Any:
        return self.do_open(lambda host, timeout, **_options: _Connection(host, self._held, self._tls, timeout), req)

    https_open = http_open
