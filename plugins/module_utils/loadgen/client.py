# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Send requests to one server or gateway, and record what comes of each. The one load client of the collection.

One thread, asyncio over plain sockets, connections kept; each piece of an answer bears the kernel's stamp of its coming, where there is one, else
the loop's time. Bounded in requests in flight and in the time of each request. What is sent when is the caller's: load_drive.
"""

from __future__ import annotations

import asyncio
import collections
import collections.abc as c
import socket
import ssl
import time
import typing as t
import urllib.parse

from ..http.tls import refusal
from ..http.urls import AGENT, base_url
from . import http11
from .connection import Connection, Exchange
from .destination import Destination, LoadLimits
from .record import Record
from .request import Call
from .socket_stamps import Place, connect, resolve

_PORTS = {"http": 80, "https": 443}
Seen = c.Callable[[Record, Call], None]


class LoadClient:
    """Sends calls. Connections are kept; leave it with `close`. `seen` hears of each record once, when it is complete."""

    def __init__(self, destination: Destination, limits: LoadLimits, seen: Seen, tls: ssl.SSLContext | None = None) -> None:
        parts = urllib.parse.urlsplit(base_url(destination.url))
        self._limits, self._seen = limits, seen
        self._where = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._prefix = parts.path
        headers = {
            "Host": destination.host_header or parts.netloc,
            "User-Agent": AGENT,
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            **dict(destination.headers),
        }
        if destination.api_key:
            headers["Authorization"] = f"Bearer {destination.api_key}"
        self._head = http11.head(headers)
        self._idle: list[Connection] = []
        self._under_way: collections.deque[Exchange] = collections.deque()  # in the order of their deadlines
        self._opening: set[asyncio.Task[None]] = set()
        self._lookup: asyncio.Task[list[Place]] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._start = time.monotonic()
        self.running = 0

    def begin(self) -> None:
        """Count time from now on. Only while nothing is under way."""
        self._start = time.monotonic()
        self._under_way.clear()

    def now(self) -> float:
        """Seconds since `begin`."""
        return time.monotonic() - self._start

    def send(self, call: Call, planned: float) -> None:
        """Send a request that was due at `planned`; one more than may be in flight is not sent, and counts as failed."""
        record = Record(call.number, call.group, planned, model=call.model, turn=call.turn)
        if self.running >= self._limits.in_flight:
            record.fail("in_flight", f"{self.running} requests were in flight already, so it was not sent")
            record.end = self.now()
            self._seen(record, call)
            return
        self.running += 1
        request = http11.post(self._prefix + call.path, self._head, call.body)
        record.sent = now = self.now()
        exchange = Exchange(call, record, request, now + self._limits.request_timeout)
        while self._under_way and self._under_way[0].done:
            self._under_way.popleft()
        self._under_way.append(exchange)
        if self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(self._limits.request_timeout, self._look)
        self._carry(exchange)

    def stop(self) -> None:
        """Give up what is under way; it counts as failed."""
        for exchange in list(self._under_way):
            if not exchange.done:
                self._give_up(exchange, "cancelled", "the run was stopped before it ended")

    def close(self) -> None:
        """Close what is open."""
        for exchange in list(self._under_way):
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
            connection = self._idle.pop()  # the one used last is the likeliest to be open still
            if connection.reusable:
                connection.begin(exchange)
                return
        task = asyncio.get_running_loop().create_task(self._open(exchange))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, exchange: Exchange) -> None:
        """A new connection for it. Its time counts: a server that is slow to accept is slow, not the client."""
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
        except socket.gaierror as error:
            self._give_up(exchange, "dns", f"the name {self._where[0]} has no address: {error.strerror or error}")
        except (OSError, UnicodeError) as error:
            self._give_up(exchange, "network", getattr(error, "strerror", None) or str(error))
        else:
            if exchange.done:
                self._idle.append(connection)  # it took too long, but it is open now
            else:
                connection.begin(exchange)

    async def _places(self) -> list[Place]:
        """The server's addresses. Whoever asks while they are looked up waits for the same answer: a resolver that hangs keeps one thread, not a thousand."""
        if self._lookup is None or self._lookup.done():
            self._lookup = asyncio.get_running_loop().create_task(resolve(*self._where))
        return await asyncio.shield(self._lookup)

    def _ended(self, connection: Connection, exchange: Exchange) -> None:
        record, reader = t.cast(Record, exchange.record), exchange.reader
        if reader is not None and reader.done and reader.http.keep_alive and not connection.closed:
            self._idle.append(connection)
        else:
            connection.close()
        if not connection.unused and record.error == "closed":
            # a kept connection turned out to have been closed by the server meanwhile: once more, on another one
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
        # it may stay in the queue of deadlines for a while, and its prompt and answer shall not
        exchange.call = exchange.record = exchange.reader = exchange.connection = None
        exchange.request = b""
        self.running -= 1
        self._seen(record, call)

    def _look(self) -> None:
        """Ends what has taken too long."""
        self._watch = None
        now, queue = self.now(), self._under_way
        while queue and (queue[0].done or queue[0].deadline <= now):
            exchange = queue.popleft()
            if not exchange.done:
                self._give_up(exchange, *self._unfinished(exchange))
        if queue and self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(max(0.001, queue[0].deadline - now), self._look)

    def _unfinished(self, exchange: Exchange) -> tuple[str, str]:
        """Kind and words of a failure: what had not happened when the time of a request was over."""
        status, within = t.cast(Record, exchange.record).status, f"within {self._limits.request_timeout:g} s"
        if not exchange.resolved:
            return "dns", f"the name {self._where[0]} was not looked up {within}"
        if exchange.connection is None:
            return "timeout", f"took no connection {within}"
        return "timeout", f"answered {status}, then did not end {within}" if status else f"did not answer {within}"
