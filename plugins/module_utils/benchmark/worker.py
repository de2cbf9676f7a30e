# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One of the clients of perf_fleet: takes its orders as lines of JSON on standard input, and answers with such lines."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import pickle
import platform
import resource
import signal
import sys
import threading
import typing as t

from ..http.tls import context
from ..loadgen.client import Client
from ..loadgen.dispatcher import Source
from ..loadgen.record import Record
from ..loadgen.request import Call
from ..loadgen.schedule import Step
from . import input_files, options
from .runner import Plan, Runner

ROWS = 500  # records that are told at once


class Every:
    """Every so-manieth request of a source, from the first that is this client's."""

    def __init__(self, source: Source, first: int, count: int) -> None:
        self._source, self._first, self._count = source, first, count

    def call(self, number: int) -> Call | None:
        """Its own number is another."""
        return self._source.call(self._first + number * self._count)

    def follow(self, call: Call, record: Record) -> tuple[float, Call] | None:
        """The source's."""
        return self._source.follow(call, record)


class Member(Runner):
    """A client that does one stage at a time, when it is told to."""

    def __init__(self, plan: Plan, index: int, keep_text: bool, rows: bool, every: float) -> None:
        # those that begin together must not pause apart
        super().__init__(dataclasses.replace(plan, pause=0.0), self._keep if rows else None, None, every)
        self._keep_text = keep_text
        self._whole, self._index, self._crew = plan.source, index, 1
        self._rows: list[Record] = []

    async def serve(self) -> None:
        """Until standard input ends: who gave the orders is gone then, and nothing more may be sent, not even what is under way."""
        with contextlib.closing(Client(self._plan.target, self._plan.limits, self._seen)) as client:
            self._begin_counting()
            _say({"ready": True})
            orders: asyncio.Queue[str] = asyncio.Queue()
            threading.Thread(target=_listen, args=(asyncio.get_running_loop(), orders), daemon=True).start()
            while True:
                order = json.loads(await orders.get())
                step = Step(**order["step"])
                self._crew, self._next = order["count"], 0
                self._source = Every(self._whole, order["first"] + self._index, self._crew)
                if step.concurrency is not None:
                    step = step.share(self._index, self._crew)
                measured = await self._measure(client, step)
                self._flush()
                _say({"totals": base64.b64encode(pickle.dumps(measured.totals)).decode(), "sent": self._next, "memory_mib": memory()})

    def _times(self, step: Step) -> t.Iterable[float]:
        return itertools.islice(super()._times(step), self._index, None, self._crew)

    def _tell_once(self, client: Client) -> None:
        totals = self._totals
        p90 = totals.hist["ttft_from_schedule"].percentile(90)
        _say({"progress": [client.now(), totals.requests, totals.ok, totals.failed, client.running, p90]})

    def _keep(self, record: Record, step: Step) -> None:
        record.text = None
        self._rows.append(record)
        if len(self._rows) >= ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            _say({"rows": base64.b64encode(pickle.dumps(self._rows)).decode()})
            self._rows = []


def memory() -> float:
    """The most memory this program ever had, in MiB."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        # getrusage would count the process that started it too, whose memory is that of the process until the program is in it
        status = pathlib.Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return round(int(status.split("VmHWM:")[1].split()[0]) / 1024, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if platform.system() == "Darwin" else 1 << 10), 1)


def _listen(loop: asyncio.AbstractEventLoop, orders: asyncio.Queue[str]) -> None:
    """Lines of standard input, as they come."""
    for line in sys.stdin:
        loop.call_soon_threadsafe(orders.put_nowait, line)
    os._exit(0)  # pylint: disable=protected-access  # nobody is there who would want to hear anything


def main() -> None:
    """Take the options, then orders."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who gives the orders, who ends this one
    told = json.loads(sys.stdin.readline())
    params = told["params"]
    plan = options.plan(params, input_files.workload(params), context(params), told["nonce"])
    asyncio.run(Member(plan, told["index"], told["keep_text"], told["rows"], told["every"]).serve())


def _say(said: dict[str, t.Any]) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
