# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark runs that a plan asks for, and the report of their results. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..benchmark import comparison, page
from ..benchmark import result as perf_result
from ..benchmark.k8s_job_objects import CONTAINER
from ..common.objects import Facts
from ..epp.catalog.presets import ROLE_LABEL
from ..plan.parts.overlays import patch_of
from ..plan.servers.server import server_targets
from ..report import text
from ..schema.pods import BLOCKS
from . import targets

RATES = (1, 2, 4, 8)
DECODE = "decode"  # the role of servers that is not named
HEAD = ("load", "TTFT p50", "TTFT p90", "TTFT p99", "TPOT p90", "end to end p90", "req/s", "tok/s", "failed", "SLO met")


def runs(plan: c.Mapping[str, t.Any], seconds: float | None = None) -> list[Facts]:
    """For each service its name and the options of vllm_perf; an option that is None is left out.

    With `seconds`, only the first stage runs, for that time; without objectives none of its requests may fail.
    """
    wanted, gateway = plan["benchmark"], targets.gateway(t.cast(t.Any, plan))
    chosen = wanted["services"] or [service["name"] for service in plan["services"]]
    listed = stages(wanted)
    warmup = {**listed[0], "seconds": wanted["warmup_seconds"]} if listed and wanted["warmup_seconds"] else None
    old, slo = wanted["baseline"], wanted["slo"]
    if seconds is not None:
        listed, warmup, old, slo = [{**stage, "seconds": seconds} for stage in listed[:1]], None, None, slo or {"error_rate_max": 0}
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
            "stages": listed,
            "warmup": warmup,
            "slo": slo,
            "baseline": f"{old}/{target['name']}/result.json" if old else None,
            "baseline_max_ratio": wanted["baseline_max_ratio"] if old else None,
            # Servers of every role: the Service in front of a model selects decode servers only.
            "servers": [server_targets(server, plan["namespace"]) for server in service["servers"] if server["replicas"]],
            "job": _job(plan) if wanted["job"] else None,
        }
        for service, target in zip(plan["services"], targets.services(t.cast(t.Any, plan)), strict=True)
        if target["name"] in chosen
    ]


def stages(wanted: c.Mapping[str, t.Any]) -> list[Facts]:
    """The stages of load; none for a trace, which has its own times."""
    none = wanted["concurrency"] or wanted["workload"].get("kind") == "trace"
    rates = wanted["rates"] or ([] if none else RATES)
    return [
        *({"concurrency": count, "seconds": wanted["seconds"]} for count in wanted["concurrency"]),
        *({"rate": rate, "seconds": wanted["seconds"]} for rate in rates),
    ]


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


def report(results: c.Sequence[c.Mapping[str, t.Any]], wholes: c.Mapping[str, Facts], about: c.Mapping[str, t.Any]) -> Facts:
    """{data, lines, failures, page}. `results`: registered by a loop over `runs`; `wholes`: the result.json of each service that has one."""
    found = [_service(result["item"]["name"], result, wholes.get(result["item"]["name"])) for result in results]
    failures = text.paragraphs(f"{each['name']}: {line}" for each in found if not each["ok"] for line in each["why"])
    said = "; ".join(f"{each['name']}: {each['verdict']}" for each in found) or "nothing was measured"
    data = {"ok": bool(found) and all(each["ok"] for each in found), "summary": said, **about, "services": found}
    lines = [line for each in found for line in _lines(each)]
    return {
        "data": data,
        "lines": lines,
        "failures": failures or ([] if found else [said]),
        "page": page.together("Benchmark", list(wholes.items()), about),
    }


def _service(name: str, result: c.Mapping[str, t.Any], whole: Facts | None) -> Facts:
    if whole is None:
        return {"name": name, "ok": False, "verdict": "failed", "why": [str(result.get("msg") or "this was not measured")], "stages": []}
    kept = ("verdict", "why", "best_rate", "limited", "url", "started", "seconds", "client", "comparison")
    return {
        "name": name,
        "ok": whole["verdict"] in ("passed", "inconclusive"),
        **{key: whole[key] for key in kept if key in whole},
        "model": ", ".join(whole["about"]["models"]),
        "stages": [perf_result.brief(stage) for stage in whole["stages"]],
    }


def _lines(found: Facts) -> list[str]:
    """The lines of a table for one service, and what it says."""
    title = f"{found['name']}: {found['verdict']}" + (f" ({found['model']} at {found['url']})" if found["stages"] else "")
    rows = [list(HEAD), *([stage["label"] + page.mark(stage), *_cells(stage)] for stage in found["stages"])]
    table = text.aligned(rows, left=0) if found["stages"] else []
    known = [row for row in found.get("comparison") or [] if not row["why"]]
    worse = [row for row in known if row["verdict"] != "same"]
    compared = [f"{row['label']}: {row['name']} {row['verdict']}, {perf_result.beside(row)}" for row in worse]
    if known and not worse:
        compared = ["no difference from the baseline beyond chance"]
    compared += [line for line in perf_result.uncompared(found.get("comparison") or []) if line not in found["why"]]
    said = [*page.marks(found["stages"]), *found["why"], *compared]
    return [*text.wrapped(title), *table, *text.paragraphs(f"  {line}" for line in said), ""]


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
    """What vllm_health found out about each group of servers, as lines: how long each answer took. results: registered by a loop over (run, servers)."""
    lines = []
    for found in results:
        servers = found.get("servers") or []
        engine = " ".join(str(found[key]) for key in ("engine", "version") if found.get(key))
        role = dict(part.split("=", 1) for part in found["item"][1].get("label_selector", "").split(",") if "=" in part).get(ROLE_LABEL, DECODE)
        name = found["item"][0]["name"] + ("" if role == DECODE else f", {role}")
        healthy = sum(server["healthy"] for server in servers)
        lines += text.wrapped(f"{name}: {healthy} of {len(servers)} servers answer{f' ({engine})' if engine else ''}")
        checks = list(dict.fromkeys(check["name"] for server in servers for check in server["checks"]))
        rows = [[_short(server["server"]), *(_took(server, check) for check in checks)] for server in servers]
        lines += text.aligned([["server", *(check.replace("_", " ") for check in checks)], *rows], left=0) if rows else []
        lines += text.paragraphs([*([f"  {found['msg']}"] if found.get("msg") else []), ""])
    return lines


def _short(server: str) -> str:
    """The name of a pod without its kind and namespace, which are the same for all."""
    return server.rpartition("/")[2] if server.startswith("Pod ") else server


def _took(server: c.Mapping[str, t.Any], name: str) -> str:
    check = next((check for check in server["checks"] if check["name"] == name), None)
    return "-" if check is None else page.shown_time(check["ms"]) if check["ok"] else "failed"
