# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kept connection of the load client, and an exchange on it. Callbacks only: a task for each request would cost more than the request."""

from __future__ import annotations

import asyncio
import collections.abc as c
import errno
import socket
import ssl
import typing as t

from ..http.tls import refusal
from . import http11
from .answer_reader import AnswerReader
from .record import Record
from .request import Call
from .socket_stamps import StampedSocket, tcp_state

READ = 256 << 10  # bytes of one read


class Exchange:
    """One request in flight. Once its record is complete it is `done`, and holds neither request nor answer."""

    __slots__ = ("call", "record", "request", "reader", "connection", "deadline", "resolved", "done")

    def __init__(self, call: Call, record: Record, request: bytes, deadline: float) -> None:
        self.call: Call | None = call
        self.record: Record | None = record
        self.request = request
        self.deadline = deadline
        self.reader: AnswerReader | None = None
        self.connection: Connection | None = None
        self.resolved = False  # whether the server's address is known
        self.done = False


class Connection(asyncio.BufferedProtocol):
    """One connection, used by one exchange at a time. `ended` is called with each exchange whose answer has ended or failed."""

    # One buffer for all connections: what was read is taken out before anything else is read.
    _buffer = bytearray(READ)
    _view = memoryview(_buffer)

    def __init__(self, clock: c.Callable[[], float], ended: c.Callable[[Connection, Exchange], None], sock: socket.socket) -> None:
        self.transport: asyncio.Transport | None = None
        self.closed = False
        self.unreceived = False  # whether the server closed it, after an earlier answer, before it received anything of the request
        self._clock = clock
        self._ended = ended
        self._sock = sock
        self._acknowledged: int | None = None  # when the request was sent
        self._answered = False  # whether it has carried an answer: what closes at once will do so again
        self._stamped = sock if isinstance(sock, StampedSocket) else None
        self._exchange: Exchange | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = t.cast(asyncio.Transport, transport)

    def begin(self, exchange: Exchange) -> None:
        """Send a request."""
        call, record = t.cast(Call, exchange.call), t.cast(Record, exchange.record)
        exchange.reader = AnswerReader(record, call.output_len, stream=call.stream, keep_text=call.keep_text)
        exchange.connection, exchange.resolved, self._exchange = self, True, exchange
        self._acknowledged = (tcp_state(self._sock) or (True, None))[1]
        t.cast(asyncio.Transport, self.transport).write(exchange.request)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        now = self._clock()
        exchange = self._exchange
        if exchange is None:
            self.close()  # bytes without a request
            return
        reader = t.cast(AnswerReader, exchange.reader)
        if self._stamped is not None:
            # never before the piece before it: the clock of the stamps may be set back
            now = max(now - self._stamped.behind, reader.record.last or reader.record.sent or 0.0)
        try:
            reader.feed(bytes(self._view[:nbytes]), now)
        except http11.WireError as error:
            reader.record.fail("not_http", str(error))
            self._end(exchange)
            return
        if reader.done:
            self._end(exchange)

    def eof_received(self) -> None:
        self._note()  # with TLS the socket is closed when connection_lost is called

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        exchange = self._exchange
        if exc is None or getattr(exc, "errno", None) == errno.EPIPE:
            self._note()  # a reset without an end before it (ECONNRESET) does not show what the server has read
        if exchange is not None:
            reader = t.cast(AnswerReader, exchange.reader)
            if isinstance(exc, ssl.SSLError) and not reader.record.status:
                # a missing or untrusted client certificate is refused after the handshake
                reader.record.fail("tls", "; ".join(refusal(exc)))
            else:
                reader.eof(self._clock())
            self._end(exchange)

    @property
    def reusable(self) -> bool:
        """Whether another request may use it: also the loop may not know yet that the server has closed it."""
        return not self.closed and self._exchange is None and (tcp_state(self._sock) or (True, 0))[0]

    def close(self) -> None:
        """Close at once, without waiting for data in flight."""
        self.closed, self._exchange = True, None
        if self.transport is not None:
            self.transport.abort()

    def _note(self) -> None:
        """Note whether the server, which has closed the connection, received anything of the request."""
        now = tcp_state(self._sock)
        if self._exchange is not None and now is not None and self._answered:
            self.unreceived = now[1] is not None and now[1] == self._acknowledged

    def _end(self, exchange: Exchange) -> None:
        self._exchange, self._answered = None, True
        self._ended(self, exchange)
