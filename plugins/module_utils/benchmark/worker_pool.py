# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several load clients as one, each a process of its own, where one core is not enough. Each sends every so-manieth request, at its time.

Where nobody has said how many, each stage has as many as it asks for; a stage that needs one only is sent from here.
"""

from __future__ import annotations

import asyncio
import base64
import collections.abc as c
import dataclasses
import json
import pathlib
import pickle
import sys
import typing as t

from ..loadgen.client import Client
from ..loadgen.schedule import Step

# perf_crew is run, not called: the import is here so that Ansible sends it along
from . import worker, worker_count  # noqa: F401  # pylint: disable=unused-import
from .runner import Measured, Plan, Row, Runner, Say, Unusable
from .totals import Totals

LIMIT = 256 << 20  # bytes of one line from a client
_START = "import sys; sys.path.insert(0, sys.argv[1]); from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import worker; worker.main()"


class Fleet(Runner):
    """A measurement by several clients. `params` are the options they make their plans from, `processes` among them."""

    def __init__(self, plan: Plan, params: c.Mapping[str, t.Any], nonce: str, row: Row | None = None, say: Say | None = None, every: float = 2.0) -> None:
        super().__init__(plan, row, say, every)
        self._params, self._nonce, self._demand, self._cores = dict(params), nonce, worker_count.Demand(params, plan.source), worker_count.cores()
        self._crew: list[asyncio.subprocess.Process] = []
        self._seen_so_far: dict[int, list[float]] = {}

    async def run(self) -> list[Measured]:
        """As the one client's; none of them outlives it."""
        try:
            return await super().run()
        finally:
            for process in self._crew:
                if process.returncode is None:
                    process.kill()
            await asyncio.gather(*(process.wait() for process in self._crew))

    async def _measure(self, client: Client, step: Step) -> Measured:
        # a place in a closed loop cannot be shared
        given = self._params["processes"]
        count = min(given, step.concurrency or given) if given else self._demand.processes(step, self._cores)
        self.processes = max(self.processes, count)
        measured = await (self._by_crew(count, step) if count > 1 else super()._measure(client, step))
        self._demand.learn(step, measured.totals)
        return measured

    async def _by_crew(self, count: int, step: Step) -> Measured:
        await self._hire(count)
        await self._pause()
        crew, self._seen_so_far = self._crew[:count], {}
        order = {"step": dataclasses.asdict(step), "first": self._next, "count": count}
        for process in crew:
            await _tell(process, order)
        answers = await asyncio.gather(*(self._hear(index, process, step) for index, process in enumerate(crew)))
        whole = Totals(dict(self._plan.good))
        for answer in answers:
            whole.merge(pickle.loads(base64.b64decode(answer["totals"])))
        self._next += count * max(answer["sent"] for answer in answers)
        self.elsewhere += whole.cpu
        self.memory = max(self.memory, sum(answer["memory_mib"] for answer in answers))
        if self._say is not None:
            self._say(_progress(step, [[whole.wall, whole.requests, whole.ok, whole.failed, 0, whole.hist["ttft_from_schedule"].percentile(90)]]))
        measured = Measured(step, whole)
        if not step.warmup:
            self.measured.append(measured)
        return measured

    async def _hire(self, count: int) -> None:
        """Start those that are missing."""
        root, there = str(pathlib.Path(__file__).parents[6]), len(self._crew)
        for index in range(there, count):
            # -I -S: what they need lies beside this file, and nothing else is wanted
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-c", _START, root, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LIMIT
            )
            self._crew.append(process)
            # not on the command line: the options may hold a key
            await _tell(
                process,
                {
                    "params": self._params,
                    "nonce": self._nonce,
                    "index": index,
                    "keep_text": self._keep_text,
                    "rows": self._row is not None,
                    "every": self._every,
                },
            )
        for process in self._crew[there:]:
            await _line(process)  # each says when it is ready

    async def _hear(self, index: int, process: asyncio.subprocess.Process, step: Step) -> dict[str, t.Any]:
        while True:
            said = await _line(process)
            if "rows" in said and self._row is not None:
                for record in pickle.loads(base64.b64decode(said["rows"])):
                    self._row(record, step)
            elif "progress" in said:
                self._seen_so_far[index] = said["progress"]
                if index == 0 and self._say is not None:
                    self._say(_progress(step, list(self._seen_so_far.values())))
            elif "totals" in said:
                return said


def _progress(step: Step, each: list[list[float]]) -> str:
    """What all of them have seen; of the percentiles the highest."""
    seconds = max(said[0] for said in each)
    ended, good, failed, running = (int(sum(said[place] for said in each)) for place in (1, 2, 3, 4))
    p90 = max((said[5] for said in each if said[5] is not None), default=None)
    return (
        f"{'warm-up, ' if step.warmup else ''}{step.label}: {seconds:.0f} s, {ended} ended ({good / max(seconds, 1e-9):.1f}/s), {running} in flight, "
        f"{failed} failed" + ("" if p90 is None else f", 90 % of first tokens within {p90:.0f} ms")
    )


async def _tell(process: asyncio.subprocess.Process, said: dict[str, t.Any]) -> None:
    stdin = t.cast(asyncio.StreamWriter, process.stdin)
    stdin.write(json.dumps(said).encode() + b"\n")
    await stdin.drain()


async def _line(process: asyncio.subprocess.Process) -> dict[str, t.Any]:
    line = await t.cast(asyncio.StreamReader, process.stdout).readline()
    if not line:
        raise Unusable("a client ended before its time; the host may be out of memory")
    return json.loads(line)
