# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about endpoint pickers' configurations, about every single server, and about speed, from what modules returned. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.claims import Claim, Judged, claim, unrun

Facts = c.Mapping[str, t.Any]


def judge_schedulers(result: t.Any, services: c.Sequence[Facts]) -> Judged:
    """What scheduler_proof returned; `services` of the plan."""
    if not isinstance(result, c.Mapping) or not ("schedulers" in result or "failures" in result):
        return [unrun("schedulers/configured", result)], []
    wrong = {entry["name"]: entry["error"] for entry in result.get("failures") or ()}
    pods = {entry["name"]: entry["pods"] for entry in result.get("schedulers") or ()}
    found, skipped = [], []
    for service in services:
        name = service["scheduler"]["name"]
        if name not in wrong and not pods.get(name):
            skipped.append({"id": f"{service['name']}/configured", "why": f"the look ended at {', '.join(wrong) or 'another'}"})
            continue
        by = ", ".join(f"{pod['pod']} by its {pod['by']}" for pod in pods.get(name) or ())
        evidence = wrong.get(name) or f"the planned configuration is what runs: {by}"
        found.append(claim(f"{service['name']}/configured", name not in wrong, evidence,
                           "run playbooks/site.yml, which applies the configuration of your file; when it stays so, look at the endpoint picker's log"))
    return found, skipped


def judge_servers(results: t.Any, groups: c.Sequence[Facts]) -> Judged:
    """What vllm_health_info returned in a loop over `groups`: {id, replicas}."""
    if not isinstance(results, c.Mapping) or len(results.get("results") or ()) != len(groups):
        return [unrun("servers/healthy", results)], []
    return [_servers(group, result) for group, result in zip(groups, results["results"])], []


def _servers(group: Facts, result: Facts) -> Claim:
    if "servers" not in result:
        return unrun(group["id"], result)
    servers, seconds = result["servers"], result.get("waited", 0.0)
    if result["healthy"] and len(servers) >= group["replicas"]["count"]:
        shown = f"{len(servers)} servers, each answers and exports what the endpoint picker reads: {result['engine']} {result['version'] or ''}".rstrip()
        return claim(group["id"], True, shown, "", seconds)
    if len(servers) < group["replicas"]["count"]:
        return claim(group["id"], False, f"{len(servers)} of {group['replicas']['count']} servers are there", "look at the Deployment of the servers", seconds)
    findings = result.get("findings") or ()
    bad = next((server for server in servers if not server["healthy"]), None)
    failed = next((check for check in bad["checks"] if not check["ok"]), None) if bad else None
    evidence = f"{bad['server']}: {failed['evidence']}" if bad and failed else "; ".join(f"{entry['what']} ({entry['evidence']})" for entry in findings)
    remedy = next((entry["remedy"] for entry in findings), "") or (failed["remedy"] if failed else "look at the pods of the servers")
    return claim(group["id"], False, evidence or "the servers are not healthy", remedy, seconds)


def judge_performance(results: t.Any) -> Judged:
    """What vllm_perf returned in a loop over benchmark_runs; nothing where none was wanted."""
    if not isinstance(results, c.Mapping) or "results" not in results:
        return [], []
    return [_performance(result) for result in results["results"]], []


def _performance(result: Facts) -> Claim:
    name, seconds = f"{result['item']['name']}/performance", result.get("seconds", 0.0)
    if "stages" not in result:
        return unrun(name, result)
    shown = "; ".join(_stage(stage) for stage in result["stages"])
    if result["verdict"] == "invalid":
        return claim(name, False, f"{'; '.join(result['why'])}; {shown}", "this host was too busy to measure: validate from another, or less at once", seconds)
    ok = result["verdict"] == "passed"
    remedy = ("send for longer" if result["verdict"] == "inconclusive" else
              "look with playbooks/benchmark.yml where the time goes: with few requests in flight in the servers, with many in the queue; then add replicas "
              "or change the preset")
    return claim(name, ok, shown if ok else f"{'; '.join(result['why'])}; {shown}", remedy, seconds)


def _stage(stage: Facts) -> str:
    p90 = stage["ttft_from_schedule_ms"]["p90"]
    first = "" if p90 is None else f", 90 % of first tokens within {p90:.0f} ms"
    return f"{stage['label']}: {stage['ok']} of {stage['requests']} requests{first}, {stage['output_tokens_per_s']:.0f} output tokens/s"
