# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One worker process of `worker_pool`: it sends its part of each stage.

It reads lines of JSON on standard input: first its options, then one order for each stage. It answers with lines of JSON on standard output.
"""

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
import ssl
import sys
import threading
import typing as t

from ..http.tls import context
from ..loadgen.client import LoadClient
from ..loadgen.record import Record
from ..loadgen.request import Call
from ..loadgen.schedule import Step
from ..loadgen.workloads import RequestSource
from . import input_files, options
from .plan import Plan
from .runner import Runner

ROWS_PER_LINE = 500  # records that one line of the answer has at most
MACOS_OPEN_FILES = 10240  # macOS reports an unlimited hard limit, but refuses more than this


class EveryNth:
    """Every `count`-th request of a source, beginning with request `first`."""

    def __init__(self, source: RequestSource, first: int, count: int) -> None:
        self._source, self._first, self._count = source, first, count

    def call(self, number: int) -> Call | None:
        """The request that is number `number` of this worker."""
        return self._source.call(self._first + number * self._count)

    def follow(self, call: Call, record: Record) -> tuple[float, Call] | None:
        """The request that follows one that has ended, as in the source."""
        return self._source.follow(call, record)


class Worker(Runner):
    """A runner that sends its part of one stage for each order it gets.

    `index`: its number among the workers, from 0; `keep_text`: whether answers are kept until their tokens are counted; `rows`: whether it answers with the
    record of each request; `every`: seconds between two reports of its progress.
    """

    def __init__(self, plan: Plan, tls: ssl.SSLContext | None, index: int, keep_text: bool, rows: bool, every: float) -> None:
        # the pool pauses between stages, and its workers begin a stage together
        super().__init__(dataclasses.replace(plan, pause=0.0), tls, self._add_row if rows else None, None, every)
        self._keep_text = keep_text
        self._whole_source, self._index = plan.source, index
        self._count = 1  # workers that send the stage together
        self._rows: list[Record] = []

    async def serve(self) -> None:
        """Perform orders {step, first, count} until standard input ends: `first` is the number of the stage's first request, `count` the number of workers.

        When standard input ends, the process ends at once, with its in-flight requests, since nobody reads the result.
        """
        with contextlib.closing(LoadClient(self._plan.destination, self._plan.limits, self._request_ended, self._tls)) as client:
            self._begin_counting()
            _send({"ready": True})
            orders: asyncio.Queue[str] = asyncio.Queue()
            threading.Thread(target=_listen, args=(asyncio.get_running_loop(), orders), daemon=True).start()
            while True:
                order = json.loads(await orders.get())
                step = Step(**order["step"])
                self._count, self._next = order["count"], 0
                self._source = EveryNth(self._whole_source, order["first"] + self._index, self._count)
                if step.concurrency is not None:
                    step = step.share(self._index, self._count)
                measured = await self._measure(client, step)
                self._flush()
                _send({"totals": base64.b64encode(pickle.dumps(measured.totals)).decode(), "sent": self._next, "memory_mib": peak_memory()})

    def _times(self, step: Step) -> t.Iterable[float]:
        """When the requests of this worker are due, in seconds from the start of the stage."""
        return itertools.islice(super()._times(step), self._index, None, self._count)

    def _report_progress(self, client: LoadClient) -> None:
        """Send [seconds, requests that ended, successful ones, failed ones, requests in flight, p90 of the TTFT in milliseconds]."""
        totals = self._totals
        p90 = totals.hist["ttft_from_schedule"].percentile(90)
        _send({"progress": [client.now(), totals.requests, totals.ok, totals.failed, client.running, p90]})

    def _add_row(self, record: Record, step: Step) -> None:
        record.text = None  # no row has it
        self._rows.append(record)
        if len(self._rows) >= ROWS_PER_LINE:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            _send({"rows": base64.b64encode(pickle.dumps(self._rows)).decode()})
            self._rows = []


def raise_open_files_limit() -> None:
    """Raise the limit of open files as far as this process may. Each connection is an open file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (hard, max(soft, MACOS_OPEN_FILES)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return


def peak_memory() -> float:
    """The peak memory of this process, in MiB."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        # the peak of getrusage includes the memory of the parent process, which a new process shares until it loads its own program
        status = pathlib.Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return round(int(status.split("VmHWM:")[1].split()[0]) / 1024, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if platform.system() == "Darwin" else 1 << 10), 1)


def _listen(loop: asyncio.AbstractEventLoop, orders: asyncio.Queue[str]) -> None:
    """Put the lines of standard input into a queue. End the process when standard input ends."""
    for line in sys.stdin:
        loop.call_soon_threadsafe(orders.put_nowait, line)
    os._exit(0)  # pylint: disable=protected-access  # the pool is gone


def main() -> None:
    """Read the options, {params, nonce, index, keep_text, rows, every}, then perform orders. `params`: the options of vllm_perf."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the pool too, which ends its workers
    raise_open_files_limit()
    given = json.loads(sys.stdin.readline())
    params = given["params"]
    plan = options.plan(params, input_files.workload(params), given["nonce"])
    asyncio.run(Worker(plan, context(params), given["index"], given["keep_text"], given["rows"], given["every"]).serve())


def _send(message: dict[str, t.Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
