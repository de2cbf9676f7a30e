# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report for llm-d of one stage, by hand. test_page.py has others, tests/unit/plugins/modules/test_vllm_perf_report.py has llm-d's own reader."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import llmd_report, result
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.plan import Measured, Plan
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import Totals
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Shape
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step

RANDOM = {"kind": "random", "input_len": 64, "output_len": 4}
CHATS = {"kind": "chats", "output_len": 4, "system_prompt_len": 100, "groups": 3, "turns": 5}
GROUPS = {"kind": "shared_prefix", "output_len": 4, "system_prompt_len": 100, "groups": 3, "prompts_per_group": 7}
FIXED = {"distribution": "fixed"}


def stage(step=None, prompts=(60, 70), tokens=4, failed=0):
    """A stage of requests that take 100, 200, ... ms to their first token, and half a second to each of three further tokens."""
    totals = Totals()
    for number, prompt in enumerate(prompts):
        first = 0.1 * (number + 1)
        totals.add(Record(number, 0, 0.0, 0.0, first, first + 1.5, first + 1.5, 200, prompt, tokens, gaps=[0.5] * 3, chunks=4))
    for number in range(failed):
        totals.add(Record(number, 0, 0.0, 0.0, end=0.5, error="http_503", detail="answered 503"))
    return result.stage(Measured(step or Step(rate=8.0, seconds=10), totals), Plan(None, None, Shape(), (), None))


def report(*stages, index=0, workload=None, **more):
    measurement = {
        "stages": list(stages), "about": {"workload": workload or RANDOM}, "url": "http://x", "nonce": "n", "started": "2026-11-22T10:00:00+00:00",
        "seconds": 90.5, "verdict": "passed", "why": [], **more,
    }  # fmt: skip
    return llmd_report.report(measurement, index)


def load(*stages, **more):
    return report(*(stages or (stage(),)), **more)["scenario"]["load"]["standardized"]


def test_when_it_ran():
    """Start and end are those of the run, the duration is that of the stage: its second request ended after 1.7 seconds."""
    one, again, other = report(stage(), stage()), report(stage(), stage()), report(stage(), stage(), index=1)
    assert one["run"]["time"] == {"start": "2026-11-22T10:00:00+00:00", "end": "2026-11-22T10:01:30.500000+00:00", "duration": "PT1.7S"}
    assert one["run"]["uid"] == again["run"]["uid"] != other["run"]["uid"] and one["run"]["eid"] == other["run"]["eid"]
    assert load(stage(), stage(), index=1)["stage"] == 1 and report(stage(), nonce="m")["run"]["eid"] != one["run"]["eid"]


def test_the_report_has_the_measured_lengths_latencies_and_throughput():
    aggregate = report(stage(failed=1))["results"]["request_performance"]["aggregate"]
    assert aggregate["requests"]["input_length"].pop("units") == "count"
    lengths = {"mean": 65.0, "min": 60, "p50": 60, "p90": 70, "p95": 70, "p99": 70, "max": 70}
    assert aggregate["requests"].pop("input_length") == pytest.approx(lengths, rel=6e-4)
    assert aggregate["requests"].pop("output_length")["mean"] == 4.0 and aggregate["requests"] == {"total": 3, "failures": 1, "incomplete": 0}
    # the deviation of 100 and 200 is 50 * sqrt(2); half of the values are not above the lower one
    wanted = {"mean": 150, "stddev": 70.711, "min": 100, "max": 200}
    wanted |= dict.fromkeys(("p0p1", "p1", "p5", "p10", "p25", "p50"), 100) | dict.fromkeys(("p75", "p90", "p95", "p99", "p99p9"), 200)
    assert {name: value for name, value in aggregate["latency"]["time_to_first_token"].items() if name != "units"} == pytest.approx(wanted, rel=6e-4)
    means = {name: (each["mean"], each["units"]) for name, each in aggregate["latency"].items()}
    assert means == {
        "time_to_first_token": (150.0, "ms"), "normalized_time_per_output_token": (412.5, "ms/token"), "time_per_output_token": (500.0, "ms/token"),
        "inter_token_latency": (500.0, "ms/token"), "request_latency": (1650.0, "ms"),
    }  # fmt: skip
    # in 1.7 seconds
    rates = {"input_token_rate": 76.471, "output_token_rate": 4.706, "total_token_rate": 81.176, "request_rate": 1.176}
    assert {name: each["mean"] for name, each in aggregate["throughput"].items()} == rates


def test_the_report_rounds_latencies_to_a_microsecond():
    totals = Totals()
    totals.add(Record(0, 0, 0.0, 0.0, 0.1234567, 0.5, 0.5, 200, 64, 4))
    made = result.stage(Measured(Step(rate=8.0, seconds=10), totals), Plan(None, None, Shape(), (), None))
    latency = report(made)["results"]["request_performance"]["aggregate"]["latency"]["time_to_first_token"]
    assert {latency[name] for name in ("mean", "min", "p0p1", "p50", "p99p9", "max")} == {123.457}


def test_a_latency_that_no_request_had_is_left_out():
    latencies = report(stage(tokens=1))["results"]["request_performance"]["aggregate"]["latency"]
    assert "time_per_output_token" not in latencies and "request_latency" in latencies


def test_the_series_has_the_time_of_each_slice():
    made = stage(prompts=(64,) * 12)  # the last first token comes after 1.2 seconds, the last answer after 2.7
    series = report(made)["results"]["request_performance"]["time_series"]
    points = [(point["ts"], point["value"]) for point in series["throughput"]["request_rate"]["series"]]
    assert points == [("2026-11-22T10:00:00+00:00", 0.0), ("2026-11-22T10:00:01+00:00", 4.0), ("2026-11-22T10:00:02+00:00", 8.0)]
    assert [point["value"] for point in series["throughput"]["output_token_rate"]["series"]] == [0.0, 16.0, 32.0]
    assert [(point["ts"], point["value"]) for point in series["latency"]["time_to_first_token"]["series"]] == [
        ("2026-11-22T10:00:00+00:00", pytest.approx(600, rel=0.0051)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("step", "rate", "concurrency"),
    [
        (Step(rate=8.0, seconds=10), 8.0, None),
        (Step(rate=8.0, to_rate=16.0, seconds=10), None, None),
        (Step(concurrency=64, seconds=10), None, 64),
    ],
)
def test_a_load_is_a_rate_or_a_number_in_flight(step, rate, concurrency):
    standardized = load(stage(step))
    assert (standardized.get("rate_qps"), standardized.get("concurrency")) == (rate, concurrency)


@pytest.mark.parametrize(
    ("prompts", "workload", "wanted"),
    [
        ((64, 64), RANDOM, {**FIXED, "value": 64.0}),
        ((60, 70), RANDOM, {"distribution": "other", "value": 65.0, "min": 60, "max": 70}),
        ((None, None), {**RANDOM, "input_len": 99}, {"distribution": "other", "value": 99}),
        ((None, None), CHATS, {"distribution": "other", "value": 0}),
    ],
)
def test_lengths_are_those_that_servers_counted(prompts, workload, wanted):
    assert load(stage(prompts=prompts), workload=workload)["input_seq_len"] == wanted


@pytest.mark.parametrize(
    ("workload", "source", "users", "turns"),
    [
        (RANDOM, "random", None, None),
        ({"kind": "trace", "output_len": 4}, "sampled", None, None),
        ({"kind": "prompts", "output_len": 4}, "sampled", None, None),
        (GROUPS, "random", 7, None),
        (CHATS, "random", 1, 5),
        ({**CHATS, "turns_max": 9}, "random", 1, 9),
    ],
)
def test_the_report_describes_the_request_source_shared_prefixes_and_turns(workload, source, users, turns):
    standardized = load(workload=workload)
    prefix = {"prefix_len": {**FIXED, "value": 100}, "num_groups": 3, "num_users_per_group": users, "num_prefixes": 1}
    assert standardized["source"] == source and standardized.get("prefix") == (prefix if users else None)
    assert standardized.get("multi_turn") == ({"enabled": True, "max_turns": {**FIXED, "value": turns}} if turns else None)
