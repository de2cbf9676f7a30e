# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The services of a plan that are measured, with their options, and the mistakes that are reported."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import argument_spec, result
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import options as perf_options
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import Mistakes
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan as make_plan
from ansible_collections.llm_d.inference.plugins.module_utils.validation import benchmark_runs

SIM = {"name": "sim", "model": {"served_name": "acme/tiny"}, "engine": {"type": "simulator"}, "replicas": 3}
TABLE = {**SIM, "name": "table", "route": {"path": "/table", "hostnames": ["table.example.com"]}}


def planned(wanted, *services, **file):
    return make_plan(
        {"llm_d_model_services": list(services or (SIM, TABLE)), "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"}, "llm_d_benchmark": wanted, **file}
    )


def interval(value, low, high):
    """A figure with its interval, as result.intervals returns it."""
    return {"value": value, "low": low, "high": high, "few": None}


def test_every_service_is_measured_through_its_route():
    sim, table = benchmark_runs.runs(planned({}))
    assert (sim["gateway"]["name"], sim["path"], sim["host_header"], sim["job"], sim["baseline"]) == ("llm-d-gateway", "", None, None, None)
    assert (table["path"], table["host_header"], table["model"]) == ("/table", "table.example.com", "acme/tiny")
    assert [stage["rate"] for stage in sim["stages"]] == [1, 2, 4, 8] and sim["warmup"] == {"rate": 1, "seconds": 10}


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ({}, [("decode", 3)]),
        ({"scheduler": {"preset": "disaggregated"}, "prefill": {"replicas": 2}}, [("decode", 3), ("prefill", 2)]),
        ({"scheduler": {"preset": "disaggregated"}, "prefill": {"replicas": 0}}, [("decode", 3)]),
        ({"autoscaling": {"provider": "external"}, "replicas": None}, [("decode", 1)]),
    ],
)
def test_the_benchmark_checks_the_servers_of_every_role(options, groups):
    """One check for each role, of as many servers as are planned; the Service in front of a model selects decode servers only."""
    made = planned({}, {**SIM, **options})
    (sim,) = benchmark_runs.runs(made)
    label = "llm-d.ai/inference-serving=true,llm-d.ai/model-service=sim,llm-d.ai/role="
    assert sim["servers"] == [{"namespace": "llm-d", "label_selector": label + role, "port": "8000", "count": count} for role, count in groups]
    assert made["services"][0]["service"]["selector"]["llm-d.ai/role"] == "decode"


def test_the_users_choice():
    wanted = {
        "services": ["table"],
        "concurrency": [1, 8],
        "rates": [2.5],
        "seconds": 5,
        "warmup_seconds": 0,
        "model": "adapter",
        "url": "http://127.0.0.1:8080",
        "baseline": "/old",
        "job": {"image": "acme/python:3"},
    }
    (table,) = benchmark_runs.runs(planned(wanted, llm_d_image_pull_secrets=["pull"], llm_d_run_as_user=0))
    assert table["stages"] == [{"concurrency": 1, "seconds": 5}, {"concurrency": 8, "seconds": 5}, {"rate": 2.5, "seconds": 5}] and table["warmup"] is None
    assert (table["model"], table["url"], table["gateway"], table["baseline"]) == ("adapter", "http://127.0.0.1:8080", None, "/old/table/result.json")
    job = table["job"]
    assert job["image_pull_secrets"] == ["pull"] and job["run_as_user"] == 0 and job["namespace"] == "llm-d" and "resources" not in job
    assert job["labels"]["app.kubernetes.io/part-of"] == "llm-d"


def test_a_service_without_a_gateway_is_measured_at_its_own_address():
    (sim,) = benchmark_runs.runs(planned({}, SIM, llm_d_gateway={"provider": "standalone"}))
    assert sim["gateway"] is None and (sim["service"]["namespace"], sim["service"]["name"]) == ("llm-d", "sim-gateway") and sim["service"]["port"] > 0


def test_a_short_load_is_the_first_stage_alone():
    wanted = {"concurrency": [4, 8], "baseline": "/old", "baseline_max_ratio": 1.5}
    sim, _table = benchmark_runs.runs(planned(wanted), 3)
    assert sim["stages"] == [{"concurrency": 4, "seconds": 3}] and sim["slo"] == {"error_rate_max": 0}
    assert sim["warmup"] is None and sim["baseline"] is None and sim["baseline_max_ratio"] is None
    sim, _table = benchmark_runs.runs(planned({**wanted, "slo": {"ttft_p90_ms": 5}}), 3)
    assert sim["slo"] == {"ttft_p90_ms": 5}
    assert benchmark_runs.runs(planned(wanted))[0]["baseline_max_ratio"] == 1.5


def test_a_trace_has_its_own_times():
    (sim,) = benchmark_runs.runs(planned({"workload": {"kind": "trace", "path": "t.jsonl"}}, SIM))
    assert sim["stages"] == [] and sim["warmup"] is None


def test_vllm_perf_accepts_the_options_of_a_planned_benchmark():
    wanted = {"concurrency": [2], "rates": [3], "slo": {"ttft_p90_ms": 5}, "goodput": {"ttft_ms": 4}, "job": {"image": "acme/python:3", "timeout": 60}}
    made = planned(wanted)
    (sim, *_others) = benchmark_runs.runs(made)
    options = {key: value for key, value in sim.items() if key not in ("name", "servers") and value is not None}
    complete = argument_spec.complete({**options, "goodput": made["benchmark"]["goodput"]})
    assert perf_options.problems({**complete, "url": "http://x"}) == [] and complete["job"]["timeout"] == 60


@pytest.mark.parametrize(
    ("wanted", "path", "message"),
    [
        ({"services": ["tabel"]}, "llm_d_benchmark.services[0]", "Did you mean table"),
        ({"baseline_max_ratio": 1.1}, "llm_d_benchmark.baseline_max_ratio", "nothing to compare with"),
        ({"slo": {"ttfb_p90_ms": 5}}, "llm_d_benchmark.slo.ttfb_p90_ms", "no such objective"),
        ({"slo": {"error_rate_max": 1}}, "llm_d_benchmark.slo.error_rate_max", "always holds"),
        ({"goodput": {"e2e_ms": 0}}, "llm_d_benchmark.goodput.e2e_ms", "0 is not a number above 0. Write a number above 0."),
        ({"max_lag_share": 10}, "llm_d_benchmark.max_lag_share", "1"),
        ({"goodput": {"ttfb": 5}}, "llm_d_benchmark.goodput.ttfb", "no such bound"),
        ({"quick": True, "slo": {"error_rate_max": 0}}, "llm_d_benchmark.quick", "sends no load"),
        ({"rate": [1]}, "llm_d_benchmark.rate", "rates"),
        ({"job": {}}, "llm_d_benchmark.job.image", "missing"),
        ({"seconds": 0}, "llm_d_benchmark.seconds", "0.1"),
    ],
)
def test_mistakes_are_named(wanted, path, message):
    with pytest.raises(Mistakes) as error:
        planned(wanted)
    assert path in str(error.value) and message in str(error.value)


@pytest.mark.parametrize(
    ("earlier", "now", "change"),
    [
        (interval(100, 90, 110), interval(200, 180, 220), "worse, 200, 2 times the baseline's 100"),
        (interval(100, 90, 110), interval(None, None, None), "worse, that of a request that failed, against the baseline's 100"),
        (interval(None, None, None), interval(100, 90, 110), "better, 100, against the baseline's, that of a request that failed"),
    ],
)
def test_baseline_differences_are_shown_even_for_failed_requests(earlier, now, change):
    name = "ttft_from_schedule_p99_ms"
    runs = [{"label": "rate 8", "valid": True, "failed": 3, "requests": 100, "intervals": {name: each}} for each in (earlier, now)]
    rows = result.compare(runs[:1], runs[1:])
    service = {"name": "sim", "verdict": "passed", "stages": [], "why": [], "comparison": rows}
    title, *lines = benchmark_runs._lines(service)
    assert title == "sim: passed" and " ".join(" ".join(lines).split()) == f"rate 8: {name} {change}"
