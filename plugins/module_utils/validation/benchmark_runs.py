# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark runs of a plan, and the report of their results. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..benchmark import comparison, page
from ..benchmark import result as perf_result
from ..benchmark.k8s_job_objects import CONTAINER, TIMEOUT, job_definition
from ..common.objects import Facts
from ..epp.catalog.presets import ROLE_LABEL
from ..plan.parts.overlays import patch_of
from ..plan.servers.server import server_targets
from ..report import text
from ..schema.pods import BLOCKS
from . import targets

RATES = (1, 2, 4, 8)
DECODE = "decode"  # the role that lines do not name
HEAD = ("load", "TTFT p50", "TTFT p90", "TTFT p99", "TPOT p90", "end to end p90", "req/s", "tok/s", "failed", "SLO met")


def runs(plan: c.Mapping[str, t.Any], seconds: float | None = None) -> list[Facts]:
    """For each service its name and the options of vllm_perf; an option that is None is left out.

    With `seconds`, only the first stage runs, for that time; without objectives none of its requests may fail.
    """
    wanted, gateway = plan["benchmark"], targets.gateway(t.cast(t.Any, plan))
    chosen = wanted["services"] or [service["name"] for service in plan["services"]]
    loads = stages(wanted)
    warmup = {**loads[0], "seconds": wanted["warmup_seconds"]} if loads and wanted["warmup_seconds"] else None
    baseline, slo = wanted["baseline"], wanted["slo"]
    if seconds is not None:
        loads, warmup, baseline, slo = [{**stage, "seconds": seconds} for stage in loads[:1]], None, None, slo or {"error_rate_max": 0}
    return [
        {
            "name": target["name"],
            "model": wanted["model"] or target["model"],
            "url": wanted["url"],
            "gateway": None if wanted["url"] or target["address"] else gateway,
            "service": None if wanted["url"] else target["address"],
            "path": (target["path"] or "").rstrip("/"),
            "host_header": target["host_header"],
            "headers": target["headers"],
            "api_key_secret": None if wanted["api_key"] else target["api_key_secret"],
            "stages": loads,
            "warmup": warmup,
            "slo": slo,
            "baseline": f"{baseline}/{target['name']}/result.json" if baseline else None,
            "baseline_max_ratio": wanted["baseline_max_ratio"] if baseline else None,
            # Servers of every role: the Service in front of a model selects decode servers only.
            "servers": [server_targets(server, plan["namespace"]) for server in service["servers"] if server["replicas"]],
            "job": _job(plan) if wanted["job"] else None,
        }
        for service, target in zip(plan["services"], targets.services(t.cast(t.Any, plan)), strict=True)
        if target["name"] in chosen
    ]


def stages(wanted: c.Mapping[str, t.Any]) -> list[Facts]:
    """The stages of load; none for a trace, which has its own times."""
    no_default = wanted["concurrency"] or wanted["workload"].get("kind") == "trace"
    rates = wanted["rates"] or ([] if no_default else RATES)
    return [
        *({"concurrency": count, "seconds": wanted["seconds"]} for count in wanted["concurrency"]),
        *({"rate": rate, "seconds": wanted["seconds"]} for rate in rates),
    ]


def job_definitions(plan: c.Mapping[str, t.Any], added: bool = True) -> list[Facts]:
    """The Job of a benchmark, as far as the plan has it; [] for a benchmark from the control node. added: with the additions of the user to its pod."""
    if not plan["benchmark"]["job"]:
        return []
    where = {"resources": None, "patch": None, "timeout": TIMEOUT, **_job(plan), **({} if added else {"patch": None})}
    return [job_definition(where["name"], None if where["resources"] else 1, where)]


def _job(plan: c.Mapping[str, t.Any]) -> Facts:
    given = plan["benchmark"]["job"]
    return {
        "namespace": plan["namespace"],
        "name": "benchmark",
        "labels": plan["labels"],
        "run_as_user": plan["preflight"]["run_as_user"],
        "image_pull_secrets": [entry["name"] for entry in plan["image_pull_secrets"]],
        "start_timeout": plan["wait_timeout"],
        **{key: value for key, value in given.items() if value is not None and key not in BLOCKS},
        **({"patch": patch} if (patch := patch_of(given, CONTAINER)) else {}),
    }


def report(results: c.Sequence[c.Mapping[str, t.Any]], documents: c.Mapping[str, Facts], about: c.Mapping[str, t.Any]) -> Facts:
    """{data, lines, failures, page}. `results`: registered by a loop over `runs`; `documents`: the result.json of each service that has one."""
    services = [_service(result["item"]["name"], result, documents.get(result["item"]["name"])) for result in results]
    failures = text.paragraphs(f"{each['name']}: {line}" for each in services if not each["ok"] for line in each["why"])
    summary = "; ".join(f"{each['name']}: {each['verdict']}" for each in services) or "nothing was measured"
    data = {"ok": bool(services) and all(each["ok"] for each in services), "summary": summary, **about, "services": services}
    lines = [line for each in services for line in _lines(each)]
    return {
        "data": data,
        "lines": lines,
        "failures": failures or ([] if services else [summary]),
        "page": page.together("Benchmark", list(documents.items()), about),
    }


def _service(name: str, result: c.Mapping[str, t.Any], document: Facts | None) -> Facts:
    if document is None:
        return {"name": name, "ok": False, "verdict": "failed", "why": [str(result.get("msg") or "this was not measured")], "stages": []}
    kept = ("verdict", "why", "best_rate", "limited", "url", "started", "seconds", "client", "comparison")
    return {
        "name": name,
        "ok": document["verdict"] in ("passed", "inconclusive"),
        **{key: document[key] for key in kept if key in document},
        "model": ", ".join(document["about"]["models"]),
        "stages": [perf_result.brief(stage) for stage in document["stages"]],
    }


def _lines(service: Facts) -> list[str]:
    """The table of one service as lines, and its messages."""
    title = f"{service['name']}: {service['verdict']}" + (f" ({service['model']} at {service['url']})" if service["stages"] else "")
    rows = [list(HEAD), *([stage["label"] + page.mark(stage), *_cells(stage)] for stage in service["stages"])]
    table = text.aligned(rows, left=0) if service["stages"] else []
    known = [row for row in service.get("comparison") or [] if not row["why"]]
    worse = [row for row in known if row["verdict"] != "same"]
    compared = [f"{row['label']}: {row['name']} {row['verdict']}, {perf_result.beside(row)}" for row in worse]
    if known and not worse:
        compared = ["no difference from the baseline beyond chance"]
    compared += [line for line in perf_result.uncompared(service.get("comparison") or []) if line not in service["why"]]
    notes = [*page.marks(service["stages"]), *service["why"], *compared]
    return [*text.wrapped(title), *table, *text.paragraphs(f"  {line}" for line in notes), ""]


def _cells(stage: Facts) -> list[str]:
    judged = stage["slo"]
    return [
        *(page.shown_time(stage["ttft_from_schedule_ms"][name]) for name in ("p50", "p90", "p99")),
        page.shown_time(stage["tpot_ms"]["p90"]),
        page.shown_time(stage["e2e_from_schedule_ms"]["p90"]),
        f"{stage['requests_per_s']:.1f}",
        comparison.per_second(stage["output_tokens_per_s"]),
        f"{stage['failed']} of {stage['requests']}",
        f"{sum(each['met'] for each in judged)} of {len(judged)}" if judged else "-",
    ]


def quick(results: c.Sequence[c.Mapping[str, t.Any]]) -> list[str]:
    """The results of vllm_health for each group of servers, as lines, with the time of each check. results: registered by a loop over (run, servers)."""
    lines = []
    for result in results:
        servers = result.get("servers") or []
        engine = " ".join(str(result[key]) for key in ("engine", "version") if result.get(key))
        role = dict(part.split("=", 1) for part in result["item"][1].get("label_selector", "").split(",") if "=" in part).get(ROLE_LABEL, DECODE)
        name = result["item"][0]["name"] + ("" if role == DECODE else f", {role}")
        healthy = sum(server["healthy"] for server in servers)
        lines += text.wrapped(f"{name}: {healthy} of {len(servers)} servers answer{f' ({engine})' if engine else ''}")
        checks = list(dict.fromkeys(check["name"] for server in servers for check in server["checks"]))
        rows = [[_short(server["server"]), *(_duration(server, check) for check in checks)] for server in servers]
        lines += text.aligned([["server", *(check.replace("_", " ") for check in checks)], *rows], left=0) if rows else []
        lines += text.paragraphs([*([f"  {result['msg']}"] if result.get("msg") else []), ""])
    return lines


def _short(server: str) -> str:
    """The name of a pod without its kind and namespace, which are the same for all."""
    return server.rpartition("/")[2] if server.startswith("Pod ") else server


def _duration(server: c.Mapping[str, t.Any], name: str) -> str:
    check = next((check for check in server["checks"] if check["name"] == name), None)
    return "-" if check is None else page.shown_time(check["ms"]) if check["ok"] else "failed"
