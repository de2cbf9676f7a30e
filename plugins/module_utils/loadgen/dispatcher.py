# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends the requests of one stage: in an open loop at given times, or in a closed loop with a constant number in flight."""

from __future__ import annotations

import asyncio
import collections.abc as c
import typing as t

from .client import LoadClient
from .record import CLIENT, Record
from .request import Call
from .workloads import RequestSource

TICK = 0.02  # seconds between two checks of the event loop's lag
PAUSE = 0.1  # seconds that a closed loop waits after a request without an answer, so that a dead server does not make it a busy loop


class LoopLagMonitor:
    """Reports every TICK seconds by how many seconds the event loop runs late. After a stall, each check that it delayed is reported with its own lag."""

    def __init__(self, report: c.Callable[[float], None]) -> None:
        self._report = report
        self._due = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start measuring the lag of the event loop."""
        loop = asyncio.get_running_loop()
        self._due = loop.time() + TICK
        self._handle = loop.call_at(self._due, self._beat)

    def stop(self) -> None:
        """Stop measuring."""
        if self._handle is not None:
            self._handle.cancel()

    def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        late = max(0.0, now - self._due)
        while late >= 0:
            self._report(late)
            late -= TICK
        self._due = now + TICK
        self._handle = loop.call_at(self._due, self._beat)


class Stage:
    """One stage. It takes requests from `source`, beginning with number `first`, and ends when all of them have ended.

    `handler` is called with the record of each request. Times are in seconds from the client's `begin`.
    """

    def __init__(self, client: LoadClient, source: RequestSource, first: int, handler: c.Callable[[Record], None]) -> None:
        self._client, self._source, self._handler = client, source, handler
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._sending = True
        self._open = 0  # requests in flight, and those that wait for a follow-up's time or for PAUSE
        self._left: int | None = None  # requests that a closed loop has yet to send; None in an open loop
        self._until = float("inf")  # no request is taken from `source` from this time on, and no follow-up is scheduled
        self.next = first
        self.over: float | None = None  # when the stage stopped taking requests; follow-ups may still be sent

    async def at(self, times: c.Iterable[float]) -> None:
        """Open loop: send a request at each of these times, and wait until the last has ended."""
        due = iter(times)
        call = self._source.call(self.next)
        for moment in due:
            if call is None or self._client.now() >= self._until:
                break
            if (wait := moment - self._client.now()) > 0:
                await asyncio.sleep(wait)
            self.next += 1
            self._send(call, moment)
            call = self._source.call(self.next)  # made ahead, so that making a request does not delay it
        self._stop_sending()
        await self._wait_for_end()

    async def closed(self, concurrency: int, requests: int | None, seconds: float | None) -> None:
        """Closed loop: keep `concurrency` requests in flight until `requests` were sent or `seconds` are over, and wait until the last has ended."""
        self._left = requests if requests is not None else 1 << 62
        self._until = seconds if seconds is not None else float("inf")
        # One _refill for each request, since one without a request stops the sending: that is to happen at an answer, and here only if there is no request.
        for _dummy in range(max(1, min(concurrency, self._left))):
            self._refill()
        await self._wait_for_end()

    def request_ended(self, record: Record, call: Call) -> None:
        """A request of the client has ended: send its follow-up, or the next request of a closed loop."""
        self._open -= 1
        self._handler(record)
        if record.error == CLIENT:
            self._until = 0.0  # the outcome of further requests would not depend on the server
        follow = self._source.follow(call, record) if self._client.now() < self._until else None
        if follow is not None:
            self._open += 1
            wait, next_call = follow
            if wait > 0:
                self._send_follow_up_later(wait, next_call)
            else:
                self._send_follow_up(next_call)
        elif self._left is not None and record.status is None:
            self._open += 1
            self._loop.call_later(PAUSE, self._refill_after_pause)
        elif self._left is not None:
            self._refill()
        self._end_if_idle()

    def _send_follow_up_later(self, wait: float, call: Call) -> None:
        self._loop.call_later(wait, self._send_follow_up, call, self._client.now() + wait)

    def _send_follow_up(self, call: Call, due: float | None = None) -> None:
        self._client.send(call, self._client.now() if due is None else due, self._left is None)

    def _send(self, call: Call, planned: float) -> None:
        self._open += 1
        self._client.send(call, planned, self._left is None)  # `concurrency` already limits a closed loop

    def _refill(self) -> None:
        """Send the next request of a closed loop, due now."""
        left, now = t.cast(int, self._left), self._client.now()
        call = self._source.call(self.next) if left > 0 and now < self._until else None
        if call is None:
            self._stop_sending()
            return
        self._left = left - 1
        self.next += 1
        self._send(call, now)

    def _refill_after_pause(self) -> None:
        self._open -= 1
        self._refill()
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if not self._open and not self._sending and not self._ended.done():
            self._ended.set_result(None)

    def _stop_sending(self) -> None:
        self._sending = False
        self.over = self._client.now() if self.over is None else self.over

    async def _wait_for_end(self) -> None:
        if self._open or self._sending:
            await self._ended
