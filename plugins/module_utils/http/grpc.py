# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Streams of gRPC messages over one HTTP/2 connection, each message as its bytes. Whatever the server does, an operation ends in time, or raises GrpcError."""

from __future__ import annotations

import collections
import collections.abc as c
import contextlib
import socket
import ssl
import time
import typing as t

from .transport import tls_context

try:
    import h2.config
    import h2.connection
    import h2.errors
    import h2.events
    import h2.exceptions
    import h2.settings

    LIBRARY = True
except ImportError:
    LIBRARY = False

MISSING = "the Python library h2 is missing on the host of the task: pip install h2"
WINDOW = 16 << 20  # bytes that the server may send before they are acknowledged
MAX_MESSAGE, MAX_STREAM = 32 << 20, 64 << 20  # bytes of a message, and of all that a stream brings
READ = 64 << 10  # bytes
SEND = 16 << 10  # bytes
HANDSHAKE = 10.0  # seconds for TLS, and for the server to take what is sent


class GrpcError(Exception):
    """Why a connection or a stream failed, in one line."""


class GrpcStream:
    """One call in both directions. status: that of gRPC once it has ended, None before; reason: the server's message about it."""

    def __init__(self, connection: GrpcConnection, number: int) -> None:
        self._connection, self.number = connection, number
        self._waiting: collections.deque[bytes] = collections.deque()
        self._partial, self._received = bytearray(), 0
        self.status: int | None = None
        self.reason = ""
        self._closed = False

    def send(self, message: bytes, end: bool = False) -> None:
        """Send one message. end: the last one. Nothing is sent on a stream that has ended. Raises GrpcError."""
        self._connection.write(self, b"\0" + len(message).to_bytes(4, "big") + message, end)

    def end(self) -> None:
        """Tell the server that no more messages follow. Raises GrpcError."""
        self._connection.write(self, b"", True)

    def cancel(self) -> None:
        """Cancel the call."""
        self._connection.reset(self)
        self._closed = True

    def receive(self, timeout: float) -> bytes | None:
        """The next message; None where the stream has ended. Raises GrpcError, also when there is none within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not self._waiting and self.status is None:
            self._connection.pump(deadline)
        return self._waiting.popleft() if self._waiting else None

    def take(self, data: bytes) -> None:
        """Bytes from the connection. Raises GrpcError."""
        if self._closed:
            return
        self._partial += data
        self._received += len(data)
        if self._received > MAX_STREAM:
            raise GrpcError(f"the server sends more than {MAX_STREAM >> 20} MiB on one stream")
        while len(self._partial) >= 5:
            size = int.from_bytes(self._partial[1:5], "big")
            if self._partial[0] or size > MAX_MESSAGE:
                raise GrpcError(f"the server sends a message of {size} bytes, or a compressed one")
            if len(self._partial) < 5 + size:
                return
            self._waiting.append(bytes(self._partial[5 : 5 + size]))
            del self._partial[: 5 + size]

    def finish(self, status: int, reason: str) -> None:
        """The end of the stream; the first one counts."""
        if self.status is None:
            self.status, self.reason = status, reason


class GrpcConnection:
    """One HTTP/2 connection of a connected socket, for one thread. on_close: called after the socket is closed."""

    def __init__(self, sock: socket.socket, authority: str, on_close: c.Callable[[], None] = lambda: None) -> None:
        self._socket, self._authority, self._on_close = sock, authority, on_close
        self._scheme = "https" if isinstance(sock, ssl.SSLSocket) else "http"
        self._streams: dict[int, GrpcStream] = {}
        self.broken = ""
        self._protocol: t.Any = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self._protocol.local_settings = h2.settings.Settings(
            client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: WINDOW, h2.settings.SettingCodes.ENABLE_PUSH: 0}
        )
        self._protocol.initiate_connection()
        self._protocol.increment_flow_control_window(WINDOW)
        self._flush()

    @property
    def encrypted(self) -> bool:
        """Whether it is TLS."""
        return self._scheme == "https"

    def call(self, method: str) -> GrpcStream:
        """Begin a call, such as of /grpc.health.v1.Health/Check. Raises GrpcError."""
        headers = [
            (":method", "POST"),
            (":scheme", self._scheme),
            (":path", method),
            (":authority", self._authority),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
        ]
        with self._guarded():
            number = self._protocol.get_next_available_stream_id()
            self._protocol.send_headers(number, headers)
        self._flush()
        self._streams[number] = GrpcStream(self, number)
        return self._streams[number]

    def write(self, stream: GrpcStream, data: bytes, end: bool) -> None:
        """Send bytes as fast as the server takes them."""
        view, deadline = memoryview(data), time.monotonic() + HANDSHAKE
        while stream.status is None:
            with self._guarded():
                room = min(self._protocol.local_flow_control_window(stream.number), self._protocol.max_outbound_frame_size, SEND)
                piece = view[: max(room, 0)]
                last = len(piece) == len(view)
                if piece or last:
                    self._protocol.send_data(stream.number, bytes(piece), end_stream=end and last)
            if not piece and not last:
                self.pump(deadline)
                continue
            self._flush()
            view = view[len(piece) :]
            deadline = time.monotonic() + HANDSHAKE
            if last:
                return

    def reset(self, stream: GrpcStream) -> None:
        """Reset a stream that has not ended."""
        with contextlib.suppress(GrpcError):
            if stream.status is None:
                with self._guarded():
                    self._protocol.reset_stream(stream.number, h2.errors.ErrorCodes.CANCEL)
                self._flush()

    def pump(self, deadline: float) -> None:
        """Read what the server has sent, waiting for it until `deadline` (monotonic). Raises GrpcError."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise GrpcError("no answer in time")
        if self.broken:
            raise GrpcError(self.broken)
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(READ)
        except TimeoutError as error:
            raise GrpcError("no answer in time") from error
        except OSError as error:
            self._break(f"the connection broke: {error}")
            return
        if not data:
            self._break("the server closed the connection")
            return
        events: list[t.Any] = []
        with self._guarded():
            events = self._protocol.receive_data(data)
        for event in events:
            with self._guarded():  # events of a stream that we have reset are ignored
                self._take(event)
        self._flush()

    def close(self) -> None:
        """Close the socket."""
        with contextlib.suppress(OSError):
            self._socket.close()
        self._on_close()

    def _take(self, event: t.Any) -> None:
        stream = self._streams.get(getattr(event, "stream_id", None) or 0)
        if isinstance(event, h2.events.ConnectionTerminated):
            self._break(f"the server ended the connection ({event.error_code})")
        if stream is None:
            return
        if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
            self._head(stream, dict(event.headers or []))
        elif isinstance(event, h2.events.DataReceived):
            self._protocol.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            stream.take(event.data or b"")
        elif isinstance(event, h2.events.StreamReset):
            stream.finish(1, f"the server reset the stream ({event.error_code})")
        elif isinstance(event, h2.events.StreamEnded):
            stream.finish(2, "the stream ended without a gRPC status")

    def _head(self, stream: GrpcStream, headers: c.Mapping[str, str]) -> None:
        if headers.get(":status", "200") != "200":
            stream.finish(2, f"it answers HTTP {headers[':status']}")
        given = headers.get("grpc-status")
        if given is not None:
            stream.finish(int(given) if given.isdecimal() and len(given) < 4 else 2, headers.get("grpc-message", ""))

    def _break(self, why: str) -> None:
        self.broken = self.broken or why
        for stream in self._streams.values():
            stream.finish(14, why)

    def _flush(self) -> None:
        data = self._protocol.data_to_send()
        try:
            self._socket.settimeout(HANDSHAKE)
            self._socket.sendall(data)
        except OSError as error:
            self._break(f"the connection broke: {error}")

    @contextlib.contextmanager
    def _guarded(self) -> c.Iterator[None]:
        try:
            yield
        except h2.exceptions.StreamClosedError as error:
            if stream := self._streams.get(error.stream_id):
                stream.finish(1, "the server closed the stream")
        except h2.exceptions.H2Error as error:
            raise GrpcError(f"it does not speak HTTP/2 as agreed: {str(error) or type(error).__name__}") from error


def connect(dial: c.Callable[[], tuple[socket.socket, c.Callable[[], None]]], authority: str) -> GrpcConnection:
    """A connection by TLS, or without where the server does not speak it. Certificates are not verified, as gateways do not verify those of endpoint pickers.

    dial: a connected socket, and what closes whatever is behind it. Raises GrpcError.
    """
    if not LIBRARY:
        raise GrpcError(MISSING)
    try:
        plain, close = dial()
        plain.settimeout(HANDSHAKE)
        context = tls_context(None, False)
        context.set_alpn_protocols(["h2"])
        try:
            return GrpcConnection(context.wrap_socket(plain, server_hostname="localhost"), authority, close)
        except OSError:  # ssl.SSLError among them
            plain.close()
            close()
        plain, close = dial()
        return GrpcConnection(plain, authority, close)
    except OSError as error:
        raise GrpcError(f"{authority} cannot be reached: {error}") from error
