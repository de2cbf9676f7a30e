# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a measurement: a first look, the warm-up, then stage after stage, a sweep or a search. Everything comes as a specification of plain data."""

from __future__ import annotations

import asyncio
import collections.abc as c
import contextlib
import dataclasses
import gc
import itertools
import time
import typing as t

from ..loadgen import schedule
from ..loadgen.client import Client, Limits, Target
from ..loadgen.dispatcher import Pulse, Source, Stage
from ..loadgen.record import Record
from ..loadgen.request import Call, Shape
from ..loadgen.schedule import Step
from ..loadgen.token_counter import Counter
from . import slo
from .slo import Rule
from .totals import Allowed, Totals

# A first answer like this will not become better by asking for more.
HOPELESS = ("refused", "dns", "tls", "network", "not_http", "not_streamed", "not_json", "http_400", "http_401", "http_403", "http_404", "http_405", "http_422")
SATURATED = 0.85  # of the requests that were due, so many have ended in the time of a stage that is not saturated
LOST = 0.05  # share of failed requests from which on a stage is saturated


class Unusable(Exception):
    """Nothing can be measured there; the text says why."""


@dataclasses.dataclass(frozen=True)
class Ladder:
    """Rates that are not known beforehand. A sweep multiplies the rate until the server is saturated; a search looks for the highest that meets the SLO."""

    kind: str
    start: float
    factor: float = 2.0
    highest: float = float("inf")
    seconds: float = 30.0
    most: int = 12
    tolerance: float = 0.05


@dataclasses.dataclass(frozen=True)
class Plan:
    """All of one measurement."""

    target: Target
    limits: Limits
    shape: Shape
    models: tuple[str, ...]
    source: Source
    steps: tuple[Step, ...] = ()
    ladder: Ladder | None = None
    rules: tuple[Rule, ...] = ()
    good: tuple[tuple[str, float], ...] = ()
    seed: int = 42
    arrivals: str = "poisson"
    allowed: Allowed = Allowed()
    pause: float = 1.0
    warmup: Step | None = None


class Measured(t.NamedTuple):
    """One stage and what it gave."""

    step: Step
    totals: Totals


Row = c.Callable[[Record, Step], None]
Say = c.Callable[[str], None]


class Runner:
    """One measurement under way. `row` hears of each measured request, `say` of the progress."""

    def __init__(self, plan: Plan, row: Row | None = None, say: Say | None = None, every: float = 2.0) -> None:
        self._plan, self._row, self._say, self._every = plan, row, say, every
        self._stage: Stage | None = None
        self._next = 0
        self._keep_text = False
        self._source = plan.source
        self.measured: list[Measured] = []
        self.memory = self.elsewhere = 0.0  # MiB and processor seconds of other processes
        self.processes = 1  # that sent at once, at most
        self._begun = False
        self.limited: str | None = None  # why a search or sweep ended before it was done

    async def run(self) -> list[Measured]:
        """Everything in turn. Raises Unusable."""
        plan = self._plan
        gc.collect()
        gc.freeze()  # what is there stays there: not to be looked through while requests wait
        try:
            with contextlib.closing(Client(plan.target, plan.limits, self._seen)) as client:
                await self._first_look(client)
                self._begin_counting()
                try:
                    if plan.warmup:
                        await self._measure(client, plan.warmup)
                    for step in plan.steps:
                        await self._measure(client, step)
                    if plan.ladder:
                        await {"sweep": self._sweep, "search": self._search}[plan.ladder.kind](client, plan.ladder)
                finally:
                    await self._counter.close()
        finally:
            gc.unfreeze()
        return self.measured

    def _begin_counting(self) -> None:
        self._counter = Counter(self._plan.target, self._counted)

    async def _first_look(self, client: Client) -> None:
        """One short request for each model, not measured: a wrong address or model is found out at once, and whether the server counts tokens."""
        for model in self._plan.models:
            found = asyncio.get_running_loop().create_future()
            body = self._plan.shape.body(model, "Hello", 2)
            self._look = found
            client.begin()
            client.send(Call(-1, 0, model, self._plan.shape.path, body, stream=self._plan.shape.stream), 0.0)
            record = await found
            self._look = None
            if record.error in HOPELESS:
                raise Unusable(f"{model}: {record.detail}")
            if not record.error and record.output_tokens is None:
                self._keep_text = True

    _look: asyncio.Future[Record] | None = None
    _counter: Counter

    def _seen(self, record: Record, call: Call) -> None:
        if self._look is not None:
            self._look.set_result(record)
        elif not record.error and record.output_tokens is None:
            self._counter.put(record, call)
            t.cast(Stage, self._stage).seen(record, call)
            return
        else:
            t.cast(Stage, self._stage).seen(record, call)
            self._counted(record, call)

    def _counted(self, record: Record, call: Call) -> None:
        self._totals.add(record)
        if self._row is not None and not self._step.warmup:
            self._row(record, self._step)

    _totals: Totals
    _step: Step

    async def _measure(self, client: Client, step: Step) -> Measured:
        """One stage, to the end of its last request."""
        await self._pause()
        self._totals, self._step = Totals(dict(self._plan.good)), step
        source = _Kept(self._source) if self._keep_text else self._source
        pulse = Pulse(lambda late: self._totals.pulse.add(late * 1000))
        client.begin()
        self._stage = stage = Stage(client, source, self._next, lambda record: None)
        before = time.process_time()
        pulse.start()
        teller = asyncio.get_running_loop().create_task(self._tell(client))
        try:
            if step.concurrency is not None:
                await stage.closed(step.concurrency, step.requests, step.seconds)
            else:
                await stage.at(self._times(step))
        finally:
            teller.cancel()
            pulse.stop()
        self._totals.cpu = time.process_time() - before
        await self._counter.drain()
        self._next = stage.next
        measured = Measured(step, self._totals)
        if not step.warmup:
            self.measured.append(measured)
        self._tell_once(client)
        return measured

    async def _pause(self) -> None:
        if self._begun:
            await asyncio.sleep(self._plan.pause)
        self._begun = True

    def _times(self, step: Step) -> c.Iterable[float]:
        if not step.trace:
            return schedule.times(step, self._plan.seed, self._plan.arrivals)
        due = t.cast(t.Any, self._plan.source).times(step.requests)
        return due if step.seconds is None else itertools.takewhile(lambda moment: moment < step.seconds, due)

    async def _tell(self, client: Client) -> None:
        while True:
            await asyncio.sleep(self._every)
            self._tell_once(client)

    def _tell_once(self, client: Client) -> None:
        if self._say is None:
            return
        totals, now = self._totals, max(client.now(), 1e-9)
        p90 = totals.hist["ttft_from_schedule"].percentile(90)
        self._say(
            f"{'warm-up, ' if self._step.warmup else ''}{self._step.label}: {now:.0f} s, {totals.requests} ended ({totals.ok / now:.1f}/s), "
            f"{client.running} in flight, {totals.failed} failed" + ("" if p90 is None else f", 90 % of first tokens within {p90:.0f} ms")
        )

    async def _sweep(self, client: Client, ladder: Ladder) -> None:
        """Rate after rate until the server does not keep up."""
        rate = ladder.start
        for dummy in range(ladder.most):
            found = await self._measure(client, Step(rate=rate, seconds=ladder.seconds))
            if (why := found.totals.invalid(self._plan.allowed)) is not None:
                self.limited = why
                return
            if saturated(found):
                return
            if rate >= ladder.highest:
                break
            rate = min(rate * ladder.factor, ladder.highest)
        self.limited = f"the server was not saturated at {rate:g} requests/s, the highest rate that was tried"

    async def _search(self, client: Client, ladder: Ladder) -> None:
        """Up until the SLO is missed, then between the best and the worst rate, until they are close."""
        best, worst, rate = 0.0, float("inf"), min(ladder.start, ladder.highest)
        for dummy in range(ladder.most):
            found = await self._measure(client, Step(rate=rate, seconds=ladder.seconds))
            if (why := found.totals.invalid(self._plan.allowed)) is not None:
                self.limited = why
                return
            if self.meets(found):
                best = rate
            else:
                worst = rate
            if best >= ladder.highest:
                self.limited = f"the SLO is met at {best:g} requests/s, the highest rate that was allowed"
                return
            if best and worst <= best * (1 + ladder.tolerance):
                return
            rate = min(rate * ladder.factor, ladder.highest) if worst == float("inf") else (best + worst) / 2
        self.limited = f"{ladder.most} rates were tried; the answer lies between {best:g} and {worst:g} requests/s"

    def meets(self, found: Measured) -> bool:
        """Whether a stage meets every objective."""
        return all(judged["met"] for judged in slo.judge(self._plan.rules, found.totals, self._plan.allowed))


def saturated(found: Measured) -> bool:
    """Whether requests came faster than they could be answered: those that were due in its time have ended much later, or failed."""
    totals, seconds = found.totals, found.step.seconds or 0.0
    return totals.failed > LOST * totals.requests or totals.ok / max(totals.wall, 1e-9) < SATURATED * totals.requests / max(seconds, 1e-9)


class _Kept:
    """A source whose answers are kept until their tokens are counted."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def call(self, number: int) -> Call | None:
        """The source's, to be kept."""
        made = self._source.call(number)
        if made is not None:
            made.keep_text = True
        return made

    def follow(self, call: Call, record: Record) -> tuple[float, Call] | None:
        """The source's, to be kept."""
        made = self._source.follow(call, record)
        if made is not None:
            made[1].keep_text = True
        return made
