# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stage as a benchmark report of llm-d, schema 0.2.1. Pure.

The schema has no keys for objectives, goodput, send lag and a verdict: they are under `results.observability.llm_d_inference`, where it allows other
keys. Latencies count from the actual send, as those of other tools that write the schema.
"""

from __future__ import annotations

import collections.abc as c
import datetime
import typing as t
import uuid

from ..common.objects import Facts

VERSION = "0.2.1"
TOOL = "llm_d.inference.vllm_perf"
TOOL_VERSION = "0.1.0"
# (key of the report, name here, units)
LATENCIES = (
    ("time_to_first_token", "ttft", "ms"),
    ("normalized_time_per_output_token", "ntpot", "ms/token"),
    ("time_per_output_token", "tpot", "ms/token"),
    ("inter_token_latency", "itl", "ms/token"),
    ("request_latency", "e2e", "ms"),
)
RATES = (
    ("input_token_rate", "prompt_tokens_per_s", "tokens/s"),
    ("output_token_rate", "output_tokens_per_s", "tokens/s"),
    ("total_token_rate", "total_tokens_per_s", "tokens/s"),
    ("request_rate", "requests_per_s", "queries/s"),
)
PERCENTILES = {"0.1": "p0p1", "99.9": "p99p9"}
OWN = (
    "slo",
    "goodput_per_s",
    "goodput_share",
    "goodput_tokens_per_s",
    "ttft_from_schedule_ms",
    "e2e_from_schedule_ms",
    "queue_ms",
    "send_lag_ms",
    "client_lag_ms",
    "client_share",
    "client_cpu",
    "errors",
    "token_source",
    "hit_ratio",
    "servers",
    "models",
    "late",
    "valid",
    "why_invalid",
)


def report(result: c.Mapping[str, t.Any], index: int) -> Facts:
    """The report of the stage with this index of a result."""
    stage = result["stages"][index]
    return {
        "version": VERSION,
        "run": _run(result, stage, index),
        "scenario": {
            "load": {"metadata": {"description": stage["label"]}, "standardized": _load(result["about"], stage, index), "native": {"config": result["about"]}}
        },
        "results": {
            "request_performance": {
                "aggregate": {"requests": _requests(stage), "latency": _latency(stage), "throughput": _throughput(stage)},
                **_series(result, stage),
            },
            "observability": {"llm_d_inference": {"verdict": result["verdict"], "why": result["why"], **{name: stage[name] for name in OWN}}},
        },
    }


def _run(result: c.Mapping[str, t.Any], stage: Facts, index: int) -> Facts:
    start = datetime.datetime.fromisoformat(result["started"])
    uid = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{result['url']} {result['started']} {result['nonce']} {index}"))
    return {
        "uid": uid,
        "eid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{result['url']} {result['started']} {result['nonce']}")),
        "time": {"start": result["started"], "end": (start + datetime.timedelta(seconds=result["seconds"])).isoformat(), "duration": f"PT{stage['seconds']}S"},
    }


def _load(about: Facts, stage: Facts, index: int) -> Facts:
    workload = about["workload"]
    made: Facts = {
        "tool": TOOL,
        "tool_version": TOOL_VERSION,
        "stage": index,
        "source": "sampled" if workload["kind"] in ("trace", "prompts") else "random",
        "input_seq_len": _length(stage["input_len"], workload.get("input_len", 0)),
        "output_seq_len": _length(stage["output_len"], workload["output_len"]),
    }
    if stage["rate"] is not None and stage["to_rate"] is None:
        made["rate_qps"] = stage["rate"]
    if stage["concurrency"] is not None:
        made["concurrency"] = stage["concurrency"]
    if workload["kind"] in ("shared_prefix", "chats"):
        per_group = workload["prompts_per_group"] if workload["kind"] == "shared_prefix" else 1
        made["prefix"] = {
            "prefix_len": {"distribution": "fixed", "value": workload["system_prompt_len"]},
            "num_groups": workload["groups"],
            "num_users_per_group": per_group,
            "num_prefixes": 1,
        }
    if workload["kind"] == "chats":
        most = workload.get("turns_max") or workload["turns"]
        made["multi_turn"] = {"enabled": True, "max_turns": {"distribution": "fixed", "value": most}}
    return made


def _length(measured: Facts, wanted: int) -> Facts:
    """The lengths that servers counted; the configured length where none counted."""
    if not measured["n"]:
        return {"distribution": "other", "value": wanted}
    if measured["min"] == measured["max"]:
        return {"distribution": "fixed", "value": measured["mean"]}
    return {"distribution": "other", "value": measured["mean"], "min": int(measured["min"]), "max": int(measured["max"])}


def _requests(stage: Facts) -> Facts:
    lengths = {key: _statistics("count", stage[name]) for key, name in (("input_length", "input_len"), ("output_length", "output_len")) if stage[name]["n"]}
    return {"total": stage["requests"], "failures": stage["failed"], "incomplete": 0, **lengths}


def _statistics(units: str, summary: Facts) -> Facts:
    return {"units": units, **{name: summary[name] for name in ("mean", "min", "p50", "p90", "p95", "p99", "max")}}


def _latency(stage: Facts) -> Facts:
    made: Facts = {}
    for key, name, units in LATENCIES:
        summary = stage[f"{name}_ms"]
        if summary["n"]:
            percentiles = {PERCENTILES.get(percent, f"p{percent}"): round(value, 3) for percent, value in stage["percentiles"][name].items()}
            made[key] = {
                "units": units,
                "mean": summary["mean"],
                "stddev": stage["deviations"][name],
                "min": summary["min"],
                **percentiles,
                "max": summary["max"],
            }
    return made


def _throughput(stage: Facts) -> Facts:
    return {key: {"units": units, "mean": stage[name]} for key, name, units in RATES if stage[name] is not None}


def _series(result: c.Mapping[str, t.Any], stage: Facts) -> Facts:
    start = datetime.datetime.fromisoformat(result["started"])

    def points(name: str) -> list[Facts]:
        return [{"ts": (start + datetime.timedelta(seconds=row["second"])).isoformat(), "value": row[name]} for row in stage["series"] if row[name] is not None]

    if not stage["series"]:
        return {}
    return {
        "time_series": {
            "latency": {"time_to_first_token": {"units": "ms", "series": points("ttft_p50_ms")}},
            "throughput": {
                **({} if stage["output_tokens_per_s"] is None else {"output_token_rate": {"units": "tokens/s", "series": points("output_tokens_per_s")}}),
                "request_rate": {"units": "queries/s", "series": points("requests_per_s")},
            },
        }
    }
