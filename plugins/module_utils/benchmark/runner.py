# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Performs a plan: one request to each model beforehand, the warm-up, then stage after stage, a sweep or a search."""

from __future__ import annotations

import asyncio
import collections.abc as c
import contextlib
import gc
import ssl
import time
import typing as t

from ..loadgen import schedule
from ..loadgen.client import LoadClient
from ..loadgen.dispatcher import LoopLagMonitor, Stage
from ..loadgen.record import Record
from ..loadgen.request import Call
from ..loadgen.schedule import Step
from ..loadgen.token_counter import TokenCounter
from ..loadgen.workloads import RequestSource, Trace
from . import slo
from .plan import Ladder, Measured, Plan
from .totals import Totals

# Failures of the first request that a second one would have too.
PERMANENT = ("refused", "dns", "tls", "network", "not_http", "not_streamed", "not_json", "http_400", "http_401", "http_403", "http_404", "http_405", "http_422")

Row = c.Callable[[Record, Step], None]
Say = c.Callable[[str], None]


class Unusable(Exception):
    """Nothing can be measured there; the text says why."""


class Runner:
    """One measurement. `row` is called with each measured request, `say` with lines about the progress, `every` seconds apart."""

    _counter: TokenCounter
    _totals: Totals
    _step: Step
    _stage: Stage

    def __init__(self, plan: Plan, tls: ssl.SSLContext | None = None, row: Row | None = None, say: Say | None = None, every: float = 2.0) -> None:
        self._plan, self._tls, self._row, self._say, self._every = plan, tls, row, say, every
        self._source = plan.source
        self._next = 0  # the number of the next request
        self._keep_text = False  # whether answers are kept until their tokens are counted
        self._begun = False
        self._first: asyncio.Future[Record] | None = None  # the answer to a request beforehand
        self.measured: list[Measured] = []
        self.memory = self.worker_cpu = 0.0  # MiB and processor seconds of worker processes
        self.processes = 1  # that sent at once, at most
        self.warmed: Totals | None = None  # of the warm-up
        self.limited: str | None = None  # why a sweep or search ended early

    async def run(self) -> list[Measured]:
        """The measured stages, in order. Raises Unusable."""
        plan = self._plan
        gc.collect()
        gc.freeze()  # a collection does not go through what exists now while requests wait
        try:
            with contextlib.closing(LoadClient(plan.destination, plan.limits, self._request_ended, self._tls)) as client:
                await self._try_each_model(client)
                self._begin_counting()
                try:
                    if plan.warmup:
                        await self._measure(client, plan.warmup)
                    for step in plan.steps:
                        if step.trace:  # its times are those of its first entry and on, wherever a warm-up has ended
                            self._next = t.cast(Trace, plan.source).again(self._next)
                        await self._measure(client, step)
                    if plan.ladder:
                        await {"sweep": self._sweep, "search": self._search}[plan.ladder.kind](client, plan.ladder)
                finally:
                    await self._counter.close()
        finally:
            gc.unfreeze()
        return self.measured

    def _begin_counting(self) -> None:
        self._counter = TokenCounter(self._plan.destination, self._counted, self._tls)

    async def _try_each_model(self, client: LoadClient) -> None:
        """Send one short request to each model, which is not measured: it shows a wrong address or model, and whether the server counts tokens."""
        for model in self._plan.models:
            self._first = reply = asyncio.get_running_loop().create_future()
            body = self._plan.shape.body(model, "Hello", 2)
            client.begin()
            client.send(Call(-1, 0, model, self._plan.shape.path, body, stream=self._plan.shape.stream), 0.0)
            record = await reply
            self._first = None
            if record.error in PERMANENT:
                raise Unusable(f"{model}: {record.detail}")
            if not record.error and record.output_tokens is None:
                self._keep_text = True

    def _request_ended(self, record: Record, call: Call) -> None:
        """A request has ended."""
        if self._first is not None:
            self._first.set_result(record)
        elif not record.error and record.output_tokens is None:
            self._counter.put(record, call)
            self._stage.request_ended(record, call)
        else:
            self._stage.request_ended(record, call)
            self._counted(record, call)

    def _counted(self, record: Record, call: Call) -> None:
        """Add a request to the totals, once its tokens are counted."""
        self._totals.rates.until = self._stage.over
        self._totals.add(record)
        if self._row is not None and not self._step.warmup:
            self._row(record, self._step)

    async def _measure(self, client: LoadClient, step: Step) -> Measured:
        """One stage, to the end of its last request."""
        await self._pause()
        self._totals, self._step = Totals(dict(self._plan.good), step.concurrency is None), step
        source = _KeepText(self._source) if self._keep_text else self._source
        monitor = LoopLagMonitor(lambda late: self._totals.client_lag.add(late * 1000))
        client.begin()
        self._stage = stage = Stage(client, source, self._next, lambda record: None)
        before = time.process_time()
        monitor.start()
        progress = asyncio.get_running_loop().create_task(self._report_regularly(client))
        try:
            if step.concurrency is not None:
                await stage.closed(step.concurrency, step.requests, step.seconds)
            else:
                await stage.at(self._times(step))
        finally:
            progress.cancel()
            monitor.stop()
        self._totals.cpu = time.process_time() - before
        await self._counter.drain()
        self._next = stage.next
        measured = Measured(step, self._totals)
        self._keep_measured(measured)
        self._report_progress(client)
        return measured

    def _keep_measured(self, measured: Measured) -> None:
        if measured.step.warmup:
            self.warmed = measured.totals
        else:
            self.measured.append(measured)

    async def _pause(self) -> None:
        if self._begun:
            await asyncio.sleep(self._plan.pause)
        self._begun = True

    def _times(self, step: Step) -> c.Iterable[float]:
        if not step.trace:
            return schedule.times(step, self._plan.seed, self._plan.arrivals)
        return t.cast(Trace, self._plan.source).times()

    async def _report_regularly(self, client: LoadClient) -> None:
        while True:
            await asyncio.sleep(self._every)
            self._report_progress(client)

    def _report_progress(self, client: LoadClient) -> None:
        if self._say is None:
            return
        totals, now = self._totals, max(client.now(), 1e-9)
        p90 = totals.hist["ttft_from_schedule"].percentile(90)
        self._say(
            f"{'warm-up, ' if self._step.warmup else ''}{self._step.label}: {now:.0f} s, {totals.requests} ended ({totals.ok / now:.1f}/s), "
            f"{client.running} in flight, {totals.failed} failed" + ("" if p90 is None else f", TTFT p90 {p90:.0f} ms")
        )

    async def _sweep(self, client: LoadClient, ladder: Ladder) -> None:
        """Rate after rate until the server is saturated."""
        rate = tried = ladder.start
        for _dummy in range(ladder.most):
            tried = rate
            measured = await self._measure(client, Step(rate=rate, seconds=ladder.seconds))
            if (why := slo.why_invalid(self._plan.rules, measured.totals, self._plan.allowed)) is not None:
                self.limited = why
                return
            if measured.totals.saturated:
                if rate == ladder.start:
                    self.limited = f"the server was saturated at {rate:g} requests/s already, the first rate; begin with a lower one"
                return
            if rate >= ladder.highest:
                break
            rate = min(rate * ladder.factor, ladder.highest)
        self.limited = f"the server was not saturated at {tried:g} requests/s, the highest rate that was tried"

    async def _search(self, client: LoadClient, ladder: Ladder) -> None:
        """Multiply the rate until it misses the SLO, then halve the gap between the highest rate that does not and the lowest that does. A rate that sends too
        few requests to know counts as one that does not: higher ones send more."""
        best, worst, rate, known = 0.0, float("inf"), min(ladder.start, ladder.highest), True
        for _dummy in range(ladder.most):
            measured = await self._measure(client, Step(rate=rate, seconds=ladder.seconds))
            if (why := slo.why_invalid(self._plan.rules, measured.totals, self._plan.allowed)) is not None:
                self.limited = why
                return
            if missed := slo.missed(self._plan.rules, measured.totals, self._plan.allowed):
                worst = rate
            else:
                best, known = rate, missed is not None
            ended = best >= ladder.highest or (best and worst <= best * (1 + ladder.tolerance))
            if ended and not known:
                self.limited = f"{ladder.seconds:g} s at {best:g} requests/s are too few requests for the percentiles of the SLO; send for longer"
            elif best >= ladder.highest:
                self.limited = f"the SLO is met at {best:g} requests/s, the highest rate that was allowed"
            if ended:
                return
            rate = min(rate * ladder.factor, ladder.highest) if worst == float("inf") else (best + worst) / 2
        self.limited = f"{ladder.most} rates were tried; the answer lies between {best:g} and {worst:g} requests/s"


class _KeepText:
    """A source whose answers are kept, for their tokens to be counted."""

    def __init__(self, source: RequestSource) -> None:
        self._source = source

    def call(self, number: int) -> Call | None:
        made = self._source.call(number)
        if made is not None:
            made.keep_text = True
        return made

    def follow(self, call: Call, record: Record) -> tuple[float, Call] | None:
        made = self._source.follow(call, record)
        if made is not None:
            made[1].keep_text = True
        return made
