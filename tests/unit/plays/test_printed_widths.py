# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of playbooks fits a terminal of 80 columns with names of any length, and nothing is left out."""

from __future__ import annotations

import json
import subprocess

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import calibration, comparison, result, slo
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.plan import Measured, Plan
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import Allowed, Totals
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import report
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.finding import MISSING, finding
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Shape
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan as make_plan
from ansible_collections.llm_d.inference.plugins.module_utils.report import text
from ansible_collections.llm_d.inference.plugins.module_utils.schedulers import running
from ansible_collections.llm_d.inference.plugins.module_utils.validation import benchmark_runs, claims, verdict

SERVICE = "a-service-whose-name-is-as-long-as-its-objects-allow-it"[:54]
WHOLE = "x" * 54  # a name that cannot be broken
SERVED = "organisation/a-model-with-a-name-of-sixty-characters-in-all-i"[:60]
NAMES = pytest.mark.parametrize("name", [SERVICE, WHOLE], ids=["dashes", "whole"])
NAMESPACE = "a-namespace-of-the-users"


def pod(name, end="x8zkq"):
    return f"{name}-decode-5d9f7c6b4-{end}"


def validate(name):
    """A verdict with claims that hold, one that fails, and one that was not checked."""
    spread = f"6 requests with one shared prefix went to {pod(name)} (3), {pod(name, 'b2h4n')} (3) (x-inference-pod)"
    judged = [
        claims.claim("platform/kubernetes", True, "Kubernetes v1.34.4", "", 0.63),
        claims.claim(f"{name}/unprivileged", True, f"none of 5 pods of {NAMESPACE}/{pod(name)} has a privileged container", "", 0.02),
        claims.claim(f"{name}/sticky", False, spread, f"check the prefix scorer of {NAMESPACE}/{name}-epp (playbooks/scorers.yml)", 0.75),
    ]
    skipped = [{"id": f"{name}/obeyed", "why": "this release does not count attempts per server"}]
    endpoint = {"name": name, "url": "https://gateway.example.com", "model": SERVED, "host_header": None, "through": f"Service {NAMESPACE}/{name}"}
    made = verdict.verdict(judged, skipped, [endpoint], {}, "now")
    table = verdict.table(made)
    end = next(index for index, line in enumerate(table) if line.startswith("NOT OK"))
    return table[:end], table[end:] + "\n".join(claims.failures(made["claims"])).split("\n")


def diagnose(name):
    evidence = [f"Deployment {NAMESPACE}/{name}-epp: 0/1 ready", f"Pod {NAMESPACE}/{pod(name)}: {'the image cannot be pulled ' * 8}"]
    findings = [finding("absent", f"InferencePool {NAMESPACE}/{name}", evidence, MISSING, f"{name} is not there")]
    made = report.report(findings, {"not_read": [f"pods in {NAMESPACE}: this account may not, so a cause that lies in {name} is not found"]})
    return [], report.lines(made)


def stage(label_rate, requests, wanted):
    totals = Totals(open_loop=True)
    for number in range(requests):
        due = number / label_rate
        totals.add(Record(number, 0, due, due, due + 12.3456, due + 20, due + 20, 200, 100, 50, gaps=[0.1] * 3))
    plan = Plan(None, None, Shape(), (), None, rules=tuple(slo.rules(wanted)), allowed=Allowed())
    return result.stage(Measured(Step(rate=label_rate, to_rate=label_rate * 16, seconds=requests / label_rate), totals), plan)


def benchmark(name):
    """A stage that misses objectives, one with too few requests, and a baseline."""
    stages = [stage(rate, count, {"ttft_from_schedule_p99_ms": 500, "error_rate_max": 0.01}) for rate, count in ((1.25, 5), (12.5, 1000))]
    about = {"models": [SERVED], "workload": {}}
    rest = {"best_rate": None, "limited": None, "url": f"http://{name}.{NAMESPACE}.svc", "started": "now", "seconds": 10.0, "client": {}, "about": about}
    outcome, why = result.verdict(stages, False, True)
    compared = result.compare(stages, stages)
    whole = {"verdict": outcome, "why": why, "stages": stages, "comparison": compared, **rest}
    made = benchmark_runs.report([{"item": {"name": name}}, {"item": {"name": "b"}, "msg": "no answer from " + name}], {name: whole}, {})
    tables, others = halves(made["lines"], "load")
    return tables, others + made["failures"]


def quick(name):
    check = {"evidence": "200", "remedy": "", "kind": ""}
    checks = [
        {"name": each, "ok": each != "completions_streamed", "ms": 1234.5, **check} for each in ("health", "models", "completions", "completions_streamed")
    ]
    servers = [{"server": f"Pod {NAMESPACE}/{pod(name, end)}", "healthy": end == "a", "checks": checks} for end in "ab"]
    returned = {"item": [{"name": name}, {}], "servers": servers, "engine": "vllm", "version": "0.33.0", "msg": f"not serving after 300 s: {pod(name)}"}
    return halves(benchmark_runs.quick([returned]), "server")


def compare(name):
    def run(preset, p90):
        stage = {"rate": 12.5, "requests": 1000, "failed": 1000, "valid": False, "hit_ratio": 0.5, "largest_share": 1, "requests_per_s": 1000.0, "ttft_cdf": [],
                 "output_tokens_per_s": 100000.0, comparison.LATENCY: {"p50": p90, "p90": p90, "p99": 99999.0}, "ttft_p90_interval": [p90 - 1, p90 + 1],
                 "ttft_p90_unknown": None}  # fmt: skip
        return {"preset": preset, "stages": [stage], "total": {}, "workload": {"groups": 10**6, "system_prompt_len": 10**4, "question_len": 1}}

    servers = [{"metrics": {"blocks": {"value": 1}, "block_size": {"value": 16}}}]
    return halves(comparison.lines(comparison.results([run("round_robin", 1500.0), run(name, 9999.0), run(f"{name}2", 900.0)], {}, servers)), "rate")


def calibrate(_name):
    requests = [calibration.Request(number, 100, 9, 12345.6 + number, 123.4) for number in range(40)]
    made = calibration.report({"concurrency 1000": requests}, {"concurrency 1000": [request._replace(ttft_ms=99999.9) for request in requests]})
    return made["lines"], []


def scorers(name):
    services = [
        {
            "name": name,
            "model": {"served_name": SERVED},
            "engine": {"type": "simulator"},
            "scheduler": {"preset": "prefix_aware", "scorers": {"lora_affinity": 1}},
        }
    ]
    plan = make_plan({"llm_d_model_services": services, "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"}})
    proof = [{"name": f"{name}-epp", "pods": [{"pod": f"{name}-epp-5d9f7c6b4-{end}", "by": "log"} for end in ("x8zkq", "b2h4n")]}]
    return [], [*running.lines(plan, [], proof), *running.lines(plan, None, None)]


def halves(lines, head):
    """(lines of tables, other lines). Lines of a table follow each other and have the same length, as columns are padded. head: a word of the table's head."""
    alike = [index for index in range(1, len(lines)) if len(lines[index]) == len(lines[index - 1]) > 40]
    tables = {*alike, *(index - 1 for index in alike)}
    assert any(head in lines[index] for index in tables)
    return [lines[index] for index in sorted(tables)], [line for index, line in enumerate(lines) if index not in tables]


# Claims with their evidence, servers and stages are tables; findings, commands, reasons and notes are not.
PLAYBOOKS = (validate, diagnose, benchmark, quick, compare, calibrate, scorers)


@NAMES
@pytest.mark.parametrize("of", PLAYBOOKS)
def test_printed_lines_fit_80_columns(of, name):
    tables, others = of(name)
    assert len(tables) + len(others) > 2
    for line in tables + others:
        assert len(line) + text.MARGIN <= 80 or line.split()[0].startswith(("http", "'http")), line


@NAMES
@pytest.mark.parametrize("of", [each for each in PLAYBOOKS if each is not calibrate])
def test_names_are_wrapped_and_not_cut(of, name):
    whole = "".join("".join(lines) for lines in of(name))
    assert name in "".join(whole.split())


def test_the_curl_command_of_a_verdict_can_be_pasted(tmp_path):
    """Several lines of it are one command for a shell, and its body is JSON."""
    endpoint = {
        "name": "a",
        "url": "https://gateway.example.com",
        "model": SERVED,
        "host_header": "models.example.com",
        "headers": {"x-variant": 'it\'s b, "c"'},
    }
    lines = text.command(verdict.curl(endpoint))
    (tmp_path / "curl").write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done\n', encoding="utf-8")
    (tmp_path / "curl").chmod(0o755)
    done = subprocess.run(["/bin/sh", "-c", "\n".join(lines)], capture_output=True, text=True, check=True, env={"PATH": f"{tmp_path}:/bin:/usr/bin"})
    *words, body, _end = done.stdout.split("\0")
    assert words[:2] == ["-si", "https://gateway.example.com/v1/completions"] and 'x-variant: it\'s b, "c"' in words and "Host: models.example.com" in words
    assert json.loads(body) == {"model": SERVED, "prompt": "Say hello.", "max_tokens": 16} and len(lines) > 3


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_the_margin_is_what_callbacks_print_around_a_line(form, tmp_path):
    """The message is one string (YAML only), and a list of lines."""
    lines = ["1" * text.LINE]
    tasks = [{"ansible.builtin.debug": {"msg": "\n".join(lines)}}, {"ansible.builtin.debug": {"msg": lines}}]
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks[form == "json" :]}]), encoding="utf-8")
    done = plays.run("-i", "localhost,", "-c", "local", str(tmp_path / "play.yml"), ANSIBLE_CALLBACK_RESULT_FORMAT=form)
    printed = [line for line in done.stdout.splitlines() if "1" * 60 in line]
    assert printed and max(map(len, printed)) <= 80, done.stdout
