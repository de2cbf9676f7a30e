# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many processes a stage needs, and how many cores there are."""

from __future__ import annotations

import math
import os
import types

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import argument_spec, worker_count
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step


def demand(source=None, stream=True, **workload):
    params = argument_spec.complete({"url": "http://a", "model": "m", "stages": [], "stream": stream, "workload": workload})
    return worker_count.Demand(params, source)


@pytest.mark.parametrize(
    ("step", "workload", "wanted"),
    [
        (Step(rate=8, seconds=60), {"output_len": 1000}, 1),
        (Step(rate=1000, seconds=60), {}, 2),
        (Step(rate=10, to_rate=2000, seconds=60), {}, 4),
        (Step(concurrency=64, seconds=60), {}, 1),
        (Step(concurrency=64, seconds=60), {"output_len": 128}, 1),
        (Step(concurrency=1000, seconds=60), {"output_len": 128}, 9),
        (Step(rate=200, seconds=60), {"kind": "chats", "turns": 4, "turns_max": 6}, 2),
        (Step(rate=1e6, seconds=60), {}, 16),
        (Step(rate=1e6, requests=3), {}, 3),
        (Step(concurrency=2, seconds=60), {"output_len": 1}, 1),
    ],
)
def test_the_number_of_processes_is_estimated_from_load_and_workload(step, workload, wanted):
    assert demand(**workload).processes(step, 16) == wanted and demand(**workload).processes(step, 1) == 1


def test_answers_that_are_not_streamed_require_fewer_processes():
    step = Step(rate=1000, seconds=1)
    assert demand(output_len=1000, stream=False).processes(step, 99) == 1 < demand(output_len=1000).processes(step, 99)


def test_the_process_count_of_a_trace_follows_from_its_request_times():
    def trace(count):
        return types.SimpleNamespace(times=lambda: [number / 4000 for number in range(count)])

    assert demand(trace(8000)).processes(Step(trace=True, requests=8000), 99) == 8
    assert demand(trace(4)).processes(Step(trace=True, requests=4), 99) == 1


def totals(requests, wall, cpu):
    return types.SimpleNamespace(requests=requests, wall=wall, cpu=cpu)


def test_figures_of_a_measured_stage_replace_the_estimates_for_the_next():
    shown, step = demand(), Step(concurrency=64, seconds=10)
    shown.learn(step, totals(20_000, 10.0, 10.0))  # one process that did nothing else
    assert shown.processes(step, 8) == 2 and shown.processes(Step(concurrency=256, seconds=10), 8) == 8
    assert shown.processes(Step(rate=900, seconds=10), 8) == 1 and shown.processes(Step(rate=1100, seconds=10), 8) == 2


def test_a_stage_of_few_requests_does_not_change_the_worker_estimate():
    shown = demand()
    shown.learn(Step(rate=1, requests=2), totals(2, 1.0, 2.0))
    assert shown.processes(Step(rate=100, seconds=10), 8) == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to cores")
def test_cores_are_those_that_the_process_is_bound_to():
    bound = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(bound)})
        assert worker_count.cores() == 1
    finally:
        os.sched_setaffinity(0, bound)
    assert worker_count.cores() == max(1, int(min(len(bound), worker_count.quota())))


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        ("0::/a/b\n", {"a/cpu.max": "250000 100000\n", "a/b/cpu.max": "max 100000\n"}, 2.5),
        ("0::/a/b\n", {"a/cpu.max": "250000 100000\n", "a/b/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/\n", {"cpu.max": "400000 100000"}, 4.0),  # in a container, whose root is its own group
        (
            "9:name=systemd:/x\n2:cpu,cpuacct:/kubepods/p\n0::/\n",
            {"cpu,cpuacct/kubepods/p/cpu.cfs_quota_us": "300000\n", "cpu,cpuacct/kubepods/p/cpu.cfs_period_us": "100000\n"},
            3.0,
        ),
        ("2:cpu:/docker/f00\n", {"cpu/cpu.cfs_quota_us": "150000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1.5),  # a path of the host
        ("2:cpu:/p\n", {"cpu/p/cpu.cfs_quota_us": "-1\n", "cpu/p/cpu.cfs_period_us": "100000\n"}, math.inf),
        ("0::/a\n", {}, math.inf),
        ("", {}, math.inf),
    ],
)
def test_quota(tmp_path, groups, files, cores):
    (tmp_path / "groups").write_text(groups)
    for name, content in files.items():
        (tmp_path / "mounts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mounts" / name).write_text(content)
    assert worker_count.quota(tmp_path / "groups", tmp_path / "mounts") == cores
    assert worker_count.quota(tmp_path / "none", tmp_path) == math.inf
