# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Send a schedule of streamed completions to one server or gateway, open loop: each request leaves at its time, whatever the others do.

One thread, asyncio over plain sockets; each piece of an answer is stamped when the loop hands it over. Bounded in requests in flight, in the
time of each request and in the time of the whole stage.
"""

from __future__ import annotations

import asyncio
import collections.abc as c
import contextlib
import dataclasses
import json
import ssl
import time
import typing as t
import urllib.parse

from ansible_collections.llm_d.inference.plugins.module_utils import load_wire
from ansible_collections.llm_d.inference.plugins.module_utils.http_transport import AGENT, base_url
from ansible_collections.llm_d.inference.plugins.module_utils.load_record import AnswerReader, Record
from ansible_collections.llm_d.inference.plugins.module_utils.workload import PATHS, Planned, Workload

_PORTS = {"http": 80, "https": 443}


@dataclasses.dataclass(frozen=True)
class Target:
    """Where requests go. `url` as base_url accepts it; a `host_header` where the gateway routes by host name."""

    url: str
    model: str
    api: str = "completions"
    host_header: str | None = None
    api_key: str | None = dataclasses.field(default=None, repr=False)
    tls: ssl.SSLContext | None = None


@dataclasses.dataclass(frozen=True)
class Limits:
    """Bounds of one stage: seconds for one request, requests in flight."""

    request_timeout: float = 60.0
    in_flight: int = 1000


class Connection(asyncio.Protocol):
    """One connection, used by one request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.closed = False
        self.unused = True  # whether it has not carried an answer yet
        self._reader: AnswerReader | None = None
        self._clock: c.Callable[[], float] = time.monotonic
        self._ended: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = t.cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        now = self._clock()
        if self._reader is None or self._reader.done:
            self.close()
            return
        try:
            self._reader.feed(data, now)
        except load_wire.WireError as error:
            self._reader.record.fail("not_http", str(error))
            self._end()
        if self._reader.done:
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self._reader is not None:
            self._reader.eof(self._clock())
        self._end()

    async def exchange(self, request: bytes, reader: AnswerReader, clock: c.Callable[[], float]) -> None:
        """Sends a request and returns when its answer has ended. `reader` holds what came."""
        self._reader, self._clock = reader, clock
        self._ended = asyncio.get_running_loop().create_future()
        t.cast(asyncio.Transport, self.transport).write(request)
        await self._ended
        self._reader, self.unused = None, False

    @property
    def reusable(self) -> bool:
        """Whether another request may use it."""
        return not self.closed and self._reader is None

    def close(self) -> None:
        """At once, whatever is still on its way."""
        self.closed, self._reader = True, None
        if self.transport is not None:
            self.transport.abort()

    def _end(self) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)


class Sender:
    """Sends the requests of stages. Connections are kept from one stage to the next; leave it with `close`."""

    def __init__(self, target: Target, workload: Workload, limits: Limits) -> None:
        parts = urllib.parse.urlsplit(base_url(target.url))
        self._target, self._workload, self._limits = target, workload, limits
        self._where = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
        self._tls = (target.tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._path = parts.path + PATHS[target.api]
        self._host = target.host_header or parts.netloc
        self._headers = {"User-Agent": AGENT, "Content-Type": "application/json", "Accept": "text/event-stream"}
        if target.api_key:
            self._headers["Authorization"] = f"Bearer {target.api_key}"
        self._idle: list[Connection] = []
        self._running = 0
        self._start = 0.0

    async def stage(self, planned: c.Sequence[Planned], seen: c.Callable[[Record], None] | None = None) -> list[Record]:
        """All requests of one stage, in their order. Returns when each has ended, well or not; `seen` hears of each as it ends."""
        tasks: list[asyncio.Task[Record]] = []
        self._start = time.monotonic()
        try:
            for entry in planned:
                request = self._request(entry)  # made before its time, so that making it does not delay it
                if (wait := entry.at - self._clock()) > 0:
                    await asyncio.sleep(wait)
                tasks.append(asyncio.create_task(self._one(entry, request, seen)))
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    def close(self) -> None:
        """Close what is open."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    def _clock(self) -> float:
        return time.monotonic() - self._start

    def _request(self, entry: Planned) -> bytes:
        body = self._workload.prompt(entry.number).body(self._target.model, self._workload.output_len, self._target.api)
        return load_wire.request(self._path, self._host, self._headers, json.dumps(body).encode())

    async def _one(self, entry: Planned, request: bytes, seen: c.Callable[[Record], None] | None) -> Record:
        order = self._workload.order()
        record = Record(entry.number, order[entry.number % len(order)][0], entry.at)
        if self._running >= self._limits.in_flight:
            record.fail("in_flight", f"{self._running} requests were in flight already, so it was not sent")
            record.end = self._clock()
        else:
            await self._bounded(record, request)
        if seen is not None:
            seen(record)
        return record

    async def _bounded(self, record: Record, request: bytes) -> None:
        """One request within its time, connecting included: a server that is slow to accept is slow, not the client."""
        self._running += 1
        record.sent = self._clock()
        try:
            async with asyncio.timeout(self._limits.request_timeout):
                await self._exchange(record, request)
        except TimeoutError:
            got = f"answered {record.status}, then did not end" if record.status else "did not answer"
            record.fail("timeout", f"{got} within {self._limits.request_timeout:g} s")
            record.end = self._clock()
        finally:
            self._running -= 1

    async def _exchange(self, record: Record, request: bytes) -> None:
        """One exchange; once more on a new connection when a kept one turns out to have been closed by the server meanwhile."""
        while True:
            connection = await self._connection(record)
            if connection is None:
                return
            kept = not connection.unused
            reader = AnswerReader(record, self._workload.output_len)
            try:
                await connection.exchange(request, reader, self._clock)
            except asyncio.CancelledError:
                connection.close()
                raise
            if kept and record.error == "closed":
                record.error = record.detail = None
                continue
            record.end = record.end or self._clock()
            if reader.done and reader.http.keep_alive and connection.reusable:
                self._idle.append(connection)
            else:
                connection.close()
            return

    async def _connection(self, record: Record) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()  # the one used last is the likeliest to be open still
            if connection.reusable:
                return connection
        try:
            loop = asyncio.get_running_loop()
            dummy, connection = await loop.create_connection(Connection, *self._where, ssl=self._tls)
            return connection
        except ssl.SSLError as error:
            record.fail("tls", f"TLS failed: {error.reason or error}")
        except ConnectionRefusedError:
            record.fail("refused", "connection refused")
        except OSError as error:
            record.fail("network", error.strerror or str(error))
        record.end = self._clock()
        return None


@dataclasses.dataclass
class Run:
    """What one stage gave: its records and the processor time the client took, in seconds."""

    records: list[Record]
    cpu_seconds: float


def run(target: Target, workload: Workload, plans: c.Sequence[c.Sequence[Planned]], limits: Limits = Limits(), pause: float = 1.0,
        after: c.Callable[[int, Run], None] | None = None) -> list[Run]:
    """Every schedule in turn, `pause` seconds between them. `after` hears of each stage as it ends."""
    return asyncio.run(_run(target, workload, plans, limits, pause, after))


async def _run(target: Target, workload: Workload, plans: c.Sequence[c.Sequence[Planned]], limits: Limits, pause: float,
               after: c.Callable[[int, Run], None] | None) -> list[Run]:
    runs: list[Run] = []
    with contextlib.closing(Sender(target, workload, limits)) as sender:
        for index, planned in enumerate(plans):
            if index:
                await asyncio.sleep(pause)
            before = time.process_time()
            records = await sender.stage(planned)
            runs.append(Run(records, time.process_time() - before))
            if after is not None:
                after(index, runs[-1])
    return runs
