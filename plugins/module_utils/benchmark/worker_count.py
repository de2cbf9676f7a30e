# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many worker processes a stage needs where the options give no number: one, unless its load takes more than half of a core."""

from __future__ import annotations

import collections.abc as c
import itertools
import math
import os
import pathlib
import typing as t

from ..loadgen.schedule import Step
from .totals import Totals

BUSY = 0.5  # share of its core that a process may take; a busier one is late at times
# Processor seconds of one request, and of each streamed token, on an ordinary core. For the first stage; later ones use what was measured.
REQUEST, TOKEN = 300e-6, 40e-6
PACE = 100.0  # tokens per second of one answer, assumed for a first stage in a closed loop
ENOUGH = 50  # requests of a stage that determine the cost of one
_GROUPS = pathlib.Path("/proc/self/cgroup")
_MOUNTS = pathlib.Path("/sys/fs/cgroup")


class Demand:
    """Processor seconds of a request (`cost`), and requests per second of one place in a closed loop (`pace`): estimates until a stage is measured."""

    def __init__(self, params: c.Mapping[str, t.Any], source: t.Any) -> None:
        """`params`: the options of the measurement; `source`: the source of its plan."""
        workload = params["workload"]
        tokens: float = _middle(workload, "output_len")
        self.turns = _middle(workload, "turns") if workload["kind"] == "chats" else 1.0
        self.cost: float = REQUEST + TOKEN * tokens * bool(params["stream"])
        self.pace: float = PACE / tokens
        self._source = source

    def learn(self, step: Step, totals: Totals) -> None:
        """Replace the estimates by the figures of a measured stage."""
        if totals.requests < ENOUGH or totals.wall <= 0:
            return
        self.cost = totals.cpu / totals.requests
        if step.concurrency is not None:
            self.pace = totals.requests / totals.wall / step.concurrency

    def processes(self, step: Step, most: int) -> int:
        """Processes for this stage: at most `most`, and none without requests."""
        wanted = math.ceil(self._rate(step) * self.cost / BUSY)
        return max(1, min(wanted, most, int(step.concurrency or most), int(step.requests or most)))

    def _rate(self, step: Step) -> float:
        """Requests per second."""
        if step.concurrency is not None:
            return step.concurrency * self.pace
        if not step.trace:
            return max(t.cast(float, step.rate), step.to_rate or 0.0) * self.turns
        times: list[float] = self._source.times()
        return len(times) / max(times[-1], 1.0)


def _middle(workload: c.Mapping[str, t.Any], name: str) -> float:
    low: float = workload[name]
    return (low + (workload.get(f"{name}_max") or low)) / 2


def cores() -> int:
    """Processor cores that this process may use: its CPU affinity, or less where its control groups have a quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(bound, quota())))


def quota(groups: pathlib.Path = _GROUPS, mounts: pathlib.Path = _MOUNTS) -> float:
    """The CPU quota of this process's control groups, version 1 or 2, in cores; infinity without one."""
    quotas = [math.inf]
    for line in _text(groups).splitlines():
        kind, path = line.split(":", 2)[1:]
        if kind and "cpu" not in kind.split(","):
            continue
        # a container may see its own group as the root, while its path is that on the host
        for place in itertools.accumulate(["", *filter(None, path.split("/"))], os.path.join):
            quotas.append(_allowed(mounts / kind / place, version_2=not kind))
    return min(quotas)


def _allowed(folder: pathlib.Path, version_2: bool) -> float:
    values = _text(folder / "cpu.max").split() if version_2 else [_text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    # "max" and -1 mean no quota
    return int(values[0]) / int(values[1]) if len(values) == 2 and all(each.isdigit() and int(each) for each in values) else math.inf


def _text(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
