# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""llm-d's own package reads the benchmark reports, with the measured values; the documentation lists all returned values."""

from __future__ import annotations

import json

import llmd_benchmark_report
import pydantic
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.modules import vllm_perf
from local_servers import JSON, SSE, chunk, serve, stream, whole

USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}}
OPTIONS = {"model": "acme/tiny", "max_lag": 5, "max_lag_share": 0, "pause": 0}
CHATS = {"kind": "chats", "groups": 2, "turns": 2, "turns_max": 3, "system_prompt_len": 5, "question_len": 3, "output_len": 2}
GROUPS = {"kind": "shared_prefix", "groups": 2, "prompts_per_group": 3, "system_prompt_len": 9, "question_len": 3, "output_len": 2}


class Server:
    """Answers completions; every `bad`-th with 503, except the check before the run."""

    def __init__(self, bad=0):
        self.count, self._bad = 0, bad

    def __call__(self, _handler, _method, _path, body):
        self.count += 1
        if self._bad and self.count > 1 and self.count % self._bad == 0:
            return 503, {"Content-Type": "text/plain"}, "no healthy upstream"
        if not json.loads(body).get("stream"):
            return 200, {"Content-Type": JSON, "x-inference-pod": "pod-a"}, whole()
        return 200, {"Content-Type": SSE, "x-inference-pod": "pod-a"}, stream(chunk("To "), chunk("day", "length"), USAGE)


@pytest.fixture(name="trace")
def trace_file(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(json.dumps({"timestamp": 50 * number, "input_length": 5, "output_length": 2, "hash_ids": [number]}) for number in range(8)))
    return {"kind": "trace", "path": str(path)}


def measured(call, folder, server=None, **options):
    """The module's result, and each of its reports as the package reads it."""
    with serve(server or Server()) as url:
        result = call(vllm_perf, url=url, artifacts=str(folder), **{**OPTIONS, "workload": {"input_len": 6, "output_len": 2}, **options})
    reports = [llmd_benchmark_report.import_benchmark_report(path) for path in result["artifacts"]["reports"]]
    assert len(reports) == len(result["stages"]) > 0 and all(isinstance(report, llmd_benchmark_report.BenchmarkReportV021) for report in reports)
    return result, reports


@pytest.mark.parametrize(
    "options",
    [
        {"stages": [{"rate": 60, "requests": 20}, {"concurrency": 3, "requests": 12}, {"rate": 20, "to_rate": 60, "seconds": 0.5}]},
        {"stages": [{"concurrency": 2, "requests": 6}], "stream": False, "ignore_eos": False},
        {"stages": [{"concurrency": 2, "requests": 6}], "workload": CHATS, "api": "chat_completions"},
        {"stages": [{"concurrency": 2, "requests": 6}], "workload": GROUPS, "slo": {"ttft_p90_ms": 5000}, "goodput": {"ttft_ms": 5000}},
        {"sweep": {"rate": 20, "seconds": 0.4, "most": 2}, "processes": 2},
    ],
)
def test_reports_are_read_by_llm_d_s_package(call, tmp_path, options):
    result, reports = measured(call, tmp_path / "out", **options)
    for index, (stage, report) in enumerate(zip(result["stages"], reports, strict=True)):
        assert report.version == "0.2.1" and report.scenario.load.standardized.stage == index
        aggregate = report.results.request_performance.aggregate
        assert (aggregate.requests.total, aggregate.requests.failures) == (stage["requests"], stage["failed"])
        for name, key in (("time_to_first_token", "ttft_ms"), ("request_latency", "e2e_ms"), ("time_per_output_token", "tpot_ms")):
            if stage[key]["n"]:
                reported = getattr(aggregate.latency, name)
                assert (reported.mean, reported.p50, reported.p99, reported.max) == tuple(stage[key][each] for each in ("mean", "p50", "p99", "max"))
        assert aggregate.throughput.request_rate.mean == stage["requests_per_s"] and aggregate.throughput.output_token_rate.mean == stage["output_tokens_per_s"]


def test_a_report_of_a_trace(call, tmp_path, trace):
    _result, (report,) = measured(call, tmp_path / "out", workload=trace)
    assert report.scenario.load.standardized.source == "sampled" and report.results.request_performance.aggregate.requests.total == 8


@pytest.mark.parametrize("bad", [2, 1])
def test_a_report_of_failures(call, tmp_path, bad):
    """Some of the requests, or all but the check before the run."""
    result, (report,) = measured(call, tmp_path / "out", Server(bad), stages=[{"concurrency": 1, "requests": 10}])
    failed = result["stages"][0]["failed"]
    assert failed == (10 if bad == 1 else 5) == report.results.request_performance.aggregate.requests.failures


def test_the_package_refuses_what_is_no_report(call, tmp_path):
    """If the package accepted any file, its acceptance of a report of this collection would prove nothing."""
    result, _reports = measured(call, tmp_path / "out", stages=[{"concurrency": 1, "requests": 3}])
    with open(result["artifacts"]["reports"][0], encoding="utf-8") as file:
        report = json.load(file)
    report["results"]["request_performance"]["aggregate"]["latency"]["time_to_first_token"]["units"] = "parsec"
    with pytest.raises(pydantic.ValidationError):
        llmd_benchmark_report.load_benchmark_report(report)


def test_the_documentation_names_what_is_returned(call, tmp_path):
    """RETURN describes every field of a real result with a baseline, and its samples have the same keys."""
    documented = yaml.safe_load(vllm_perf.RETURN)
    options = {"stages": [{"concurrency": 2, "requests": 40}], "slo": {"error_rate_max": 0}}
    measured(call, tmp_path, **options)
    result, _reports = measured(call, tmp_path, baseline=str(tmp_path / "result.json"), **options)
    assert set(result) - {"changed", "failed", "invocation", "msg", "warnings"} <= set(documented)
    for name in ("client", "artifacts"):
        assert set(documented[name]["sample"]) == set(result[name]), name
    assert all(set(row) == set(documented["comparison"]["sample"][0]) for row in result["comparison"]) and len(result["comparison"]) > 4
    (stage,), (sample,), described = result["stages"], documented["stages"]["sample"], documented["stages"]["contains"]
    assert set(stage) == set(described) and set(sample) <= set(stage)
    assert all(set(sample[name]) == set(stage[name]) for name in sample if isinstance(sample[name], dict))
    assert all(type(stage[name]).__name__ == each["type"] for name, each in described.items() if stage[name] is not None)
    assert all(f"C({name})" in str(described["slo"]["description"]) for name in stage["slo"][0])


def test_every_figure_is_explained_to_users(root):
    described = yaml.safe_load(vllm_perf.RETURN)["stages"]["contains"]
    text = (root / "docs/performance.md").read_text(encoding="utf-8")
    figures = [name for name in described if name.endswith(("_ms", "_per_s", "_ratio", "_share")) or name == "error_rate"]
    assert len(figures) > 15 and not [name for name in figures if f"`{name}`" not in text]
