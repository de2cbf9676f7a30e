# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement by several worker processes, where one processor core is not enough. Each worker sends every Nth request, at its time.

Without a number of processes in the options, each stage has as many as it needs. A stage that needs only one is sent from this process.
"""

from __future__ import annotations

import asyncio
import base64
import collections.abc as c
import dataclasses
import json
import pathlib
import pickle
import ssl
import sys
import typing as t

from ..loadgen.client import LoadClient
from ..loadgen.schedule import Step

# `worker` is run, not called: the import makes Ansible send it along.
from . import worker, worker_count  # noqa: F401  # pylint: disable=unused-import
from .plan import Measured, Plan
from .runner import Row, Runner, Say, Unusable
from .totals import Totals

LIMIT = 256 << 20  # bytes of one line from a worker
_START = "import sys; sys.path.insert(0, sys.argv[1]); from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import worker; worker.main()"


class WorkerPool(Runner):
    """A measurement by several workers. `params`: the options from which workers make their plans, `processes` among them."""

    def __init__(
        self,
        plan: Plan,
        params: c.Mapping[str, t.Any],
        nonce: str,
        tls: ssl.SSLContext | None = None,
        row: Row | None = None,
        say: Say | None = None,
        every: float = 2.0,
    ) -> None:
        super().__init__(plan, tls, row, say, every)
        self._params, self._nonce, self._demand, self._cores = dict(params), nonce, worker_count.Demand(params, plan.source), worker_count.cores()
        self._workers: list[asyncio.subprocess.Process] = []
        self._progress: dict[int, list[float | None]] = {}  # by worker

    async def run(self) -> list[Measured]:
        """As Runner.run. No worker outlives it."""
        try:
            return await super().run()
        finally:
            for process in self._workers:
                if process.returncode is None:
                    process.kill()
            await asyncio.gather(*(process.wait() for process in self._workers))

    async def _measure(self, client: LoadClient, step: Step) -> Measured:
        # a place in a closed loop cannot be shared
        given = self._params["processes"]
        count = min(given, step.concurrency or given) if given else self._demand.processes(step, self._cores)
        self.processes = max(self.processes, count)
        measured = await (self._by_workers(count, step) if count > 1 else super()._measure(client, step))
        self._demand.learn(step, measured.totals)
        return measured

    async def _by_workers(self, count: int, step: Step) -> Measured:
        await self._spawn(count)
        await self._pause()
        workers, self._progress = self._workers[:count], {}
        order = {"step": dataclasses.asdict(step), "first": self._next, "count": count}
        for process in workers:
            await _send(process, order)
        answers = await asyncio.gather(*(self._receive(index, process, step) for index, process in enumerate(workers)))
        whole = Totals(dict(self._plan.good), step.concurrency is None)
        for answer in answers:
            whole.merge(pickle.loads(base64.b64decode(answer["totals"])))
        self._next += count * max(answer["sent"] for answer in answers)
        self.worker_cpu += whole.cpu
        self.memory = max(self.memory, sum(answer["memory_mib"] for answer in answers))
        if self._say is not None:
            self._say(_progress_line(step, [[whole.wall, whole.requests, whole.ok, whole.failed, 0, whole.hist["ttft_from_schedule"].percentile(90)]]))
        measured = Measured(step, whole)
        self._keep_measured(measured)
        return measured

    async def _spawn(self, count: int) -> None:
        """Start workers until there are `count`, and wait until each is ready."""
        root, there = str(pathlib.Path(__file__).parents[6]), len(self._workers)
        for index in range(there, count):
            # -I -S: everything a worker imports is below `root`
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-c", _START, root, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LIMIT
            )
            self._workers.append(process)
            options = {"params": self._params, "nonce": self._nonce, "index": index, "keep_text": self._keep_text}
            # not on the command line: the options may hold a key
            await _send(process, {**options, "rows": self._row is not None, "every": self._every})
        for process in self._workers[there:]:
            await _line(process)

    async def _receive(self, index: int, process: asyncio.subprocess.Process, step: Step) -> dict[str, t.Any]:
        """The final answer of a worker to an order; rows and progress before it are passed on."""
        while True:
            message = await _line(process)
            if "rows" in message and self._row is not None:
                for record in pickle.loads(base64.b64decode(message["rows"])):
                    self._row(record, step)
            elif "progress" in message:
                self._progress[index] = message["progress"]
                if index == 0 and self._say is not None:
                    self._say(_progress_line(step, list(self._progress.values())))
            elif "totals" in message:
                return message


def _progress_line(step: Step, each: list[list[float | None]]) -> str:
    """The progress of all workers in one line: sums of their counts, the highest of their percentiles."""
    seconds = max(numbers[0] or 0.0 for numbers in each)
    ended, good, failed, running = (int(sum(numbers[place] or 0 for numbers in each)) for place in (1, 2, 3, 4))
    p90 = max((numbers[5] for numbers in each if numbers[5] is not None), default=None)
    return (
        f"{'warm-up, ' if step.warmup else ''}{step.label}: {seconds:.0f} s, {ended} ended ({good / max(seconds, 1e-9):.1f}/s), {running} in flight, "
        f"{failed} failed" + ("" if p90 is None else f", 90 % of first tokens within {p90:.0f} ms")
    )


async def _send(process: asyncio.subprocess.Process, message: dict[str, t.Any]) -> None:
    stdin = t.cast(asyncio.StreamWriter, process.stdin)
    stdin.write(json.dumps(message).encode() + b"\n")
    await stdin.drain()


async def _line(process: asyncio.subprocess.Process) -> dict[str, t.Any]:
    line = await t.cast(asyncio.StreamReader, process.stdout).readline()
    if not line:
        raise Unusable("a worker process ended early; the host may be out of memory")
    message: dict[str, t.Any] = json.loads(line)
    return message
