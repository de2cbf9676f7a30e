# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The load client: sends requests to one server or gateway and records each.

One thread, asyncio over plain sockets, connections kept. The time of each piece of an answer is the kernel's stamp of its arrival, else the loop's time.
Requests in flight and the time of each request are bounded. The `dispatcher` says what is sent and when.
"""

from __future__ import annotations

import asyncio
import collections
import collections.abc as c
import os
import socket
import ssl
import time
import typing as t
import urllib.parse

from ..http import headers as http_headers
from ..http.tls import refusal
from ..http.urls import AGENT, base_url
from . import http11
from .connection import Connection, Exchange
from .destination import Destination, LoadLimits, hidden_values
from .record import CLIENT, Record
from .request import Call
from .socket_stamps import OWN, Place, connect, resolve

_PORTS = {"http": 80, "https": 443}
RecordHandler = c.Callable[[Record, Call], None]


class LoadClient:
    """Sends calls over kept connections. `handler` is called once with each record, when it is complete. End it with `close`.

    `tls`: the TLS settings; None for the defaults.
    """

    def __init__(self, destination: Destination, limits: LoadLimits, handler: RecordHandler, tls: ssl.SSLContext | None = None) -> None:
        parts = urllib.parse.urlsplit(base_url(destination.url))
        self._limits, self._handler = limits, handler
        self._where = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._prefix = parts.path
        headers = {
            "Host": destination.host_header or parts.netloc,
            "User-Agent": AGENT,
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            **({"Authorization": f"Bearer {destination.api_key}"} if destination.api_key else {}),
        }
        self._head = http_headers.head(http_headers.merged(headers, destination.headers))
        # The longest first, so that no part of one stays unmasked.
        self._hidden = sorted(hidden_values(destination.api_key, destination.headers), key=len, reverse=True)
        self._idle: list[Connection] = []
        self._in_flight: collections.deque[Exchange] = collections.deque()  # in the order of their deadlines
        self._opening: set[asyncio.Task[None]] = set()
        self._lookup: asyncio.Task[list[Place]] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._start = time.monotonic()
        self.running = 0

    def begin(self) -> None:
        """Count time from now on. Only while nothing is in flight."""
        self._start = time.monotonic()
        self._in_flight.clear()

    def now(self) -> float:
        """Seconds since `begin`."""
        return time.monotonic() - self._start

    def send(self, call: Call, planned: float, bounded: bool = True) -> None:
        """Send a request that was due at second `planned`. Where too many are in flight, a `bounded` one is not sent and counts as failed."""
        record = Record(call.number, call.group, planned, model=call.model, turn=call.turn)
        if bounded and self.running >= self._limits.in_flight:
            record.fail("in_flight", f"{self.running} requests were in flight already, so it was not sent")
            record.end = self.now()
            self._handler(record, call)
            return
        self.running += 1
        request = http11.post(self._prefix + call.path, self._head, call.body)
        record.sent = now = self.now()
        exchange = Exchange(call, record, request, now + self._limits.request_timeout)
        while self._in_flight and self._in_flight[0].done:
            self._in_flight.popleft()
        self._in_flight.append(exchange)
        if self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(self._limits.request_timeout, self._expire)
        self._carry(exchange)

    def close(self) -> None:
        """Close all connections."""
        for exchange in list(self._in_flight):
            if exchange.connection is not None and not exchange.done:
                exchange.connection.close()
        for task in self._opening:
            task.cancel()
        if self._lookup is not None:
            self._lookup.cancel()
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        if self._watch is not None:
            self._watch.cancel()

    def _carry(self, exchange: Exchange) -> None:
        while self._idle:
            connection = self._idle.pop()  # the one used last is the most likely to be open still
            if connection.reusable:
                connection.begin(exchange)
                return
        task = asyncio.get_running_loop().create_task(self._open(exchange))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, exchange: Exchange) -> None:
        """Send it on a new connection. The time to connect counts: a server that is slow to accept is slow."""
        try:
            loop = asyncio.get_running_loop()
            places = await self._places()
            exchange.resolved = True
            sock = await connect(places)
            dummy, connection = await loop.create_connection(
                lambda: Connection(self.now, self._ended, sock), sock=sock, ssl=self._tls, server_hostname=self._where[0] if self._tls else None
            )
        except ssl.SSLError as error:
            self._give_up(exchange, "tls", "; ".join(refusal(error)))
        except ConnectionRefusedError:
            self._give_up(exchange, "refused", "connection refused")
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            if lacking := _lacking(error):
                self._give_up(exchange, CLIENT, f"the host of the client opens no more connections: {lacking}")
            elif isinstance(error, socket.gaierror):
                self._give_up(exchange, "dns", f"the name {self._where[0]} has no address: {reason}")
            else:
                self._give_up(exchange, "network", reason)
        else:
            if exchange.done:
                self._idle.append(connection)  # too late for this request, but open for the next
            else:
                connection.begin(exchange)

    async def _places(self) -> list[Place]:
        """The server's addresses. All callers wait for the same look-up: a resolver that hangs keeps one thread, not a thousand."""
        if self._lookup is None or self._lookup.done():
            self._lookup = asyncio.get_running_loop().create_task(resolve(*self._where))
        return await asyncio.shield(self._lookup)

    def _ended(self, connection: Connection, exchange: Exchange) -> None:
        record, reader = t.cast(Record, exchange.record), exchange.reader
        if reader is not None and reader.done and reader.http.keep_alive and not connection.closed:
            self._idle.append(connection)
        else:
            connection.close()
        if connection.unreceived and record.error == "closed":
            # the server closed the kept connection before it received the request: send it again, on another one
            record.error = record.detail = None
            self._carry(exchange)
            return
        record.end = record.end or self.now()
        self._finish(exchange)

    def _give_up(self, exchange: Exchange, kind: str, detail: str) -> None:
        if exchange.done:
            return
        if exchange.connection is not None:
            exchange.connection.close()
        record = t.cast(Record, exchange.record)
        record.fail(kind, detail)
        record.end = self.now()
        self._finish(exchange)

    def _finish(self, exchange: Exchange) -> None:
        record, call = t.cast(Record, exchange.record), t.cast(Call, exchange.call)
        exchange.done = True
        # it stays in the queue of deadlines for a while, without its prompt and answer
        exchange.call = exchange.record = exchange.reader = exchange.connection = None
        exchange.request = b""
        self.running -= 1
        for value in self._hidden if record.detail else ():
            record.detail = str(record.detail).replace(value, "***")  # a server may repeat what it was sent
        self._handler(record, call)

    def _expire(self) -> None:
        """End requests that have taken too long."""
        self._watch = None
        now, queue = self.now(), self._in_flight
        while queue and (queue[0].done or queue[0].deadline <= now):
            exchange = queue.popleft()
            if not exchange.done:
                self._give_up(exchange, *self._unfinished(exchange))
        if queue and self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(max(0.001, queue[0].deadline - now), self._expire)

    def _unfinished(self, exchange: Exchange) -> tuple[str, str]:
        """(kind, text) of the failure of a request that ran out of time."""
        status, within = t.cast(Record, exchange.record).status, f"within {self._limits.request_timeout:g} s"
        if not exchange.resolved:
            return "dns", f"the name {self._where[0]} was not looked up {within}"
        if exchange.connection is None:
            return "timeout", f"took no connection {within}"
        return "timeout", f"answered {status}, then did not end {within}" if status else f"did not answer {within}"


def _lacking(error: Exception) -> str | None:
    """What this host lacks for a connection; None where the failure is not its own."""
    if isinstance(error, socket.gaierror):  # it does not show that no socket could be opened
        try:
            os.close(os.dup(0))
        except OSError as own:
            error = own
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno in OWN else None
