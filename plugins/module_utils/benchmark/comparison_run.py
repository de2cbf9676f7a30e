# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a comparison: the options of `vllm_perf` that send it, and what the comparison keeps of its result. Pure."""

from __future__ import annotations

import collections
import collections.abc as c
import csv
import io
import itertools
import math
import statistics
import typing as t

from ..common.objects import Facts

PERCENTILES = (50, 90, 95, 99)
COMPARED = (50, 90, 99)  # percentiles of time to first token by which presets are compared
WORKLOAD = ("groups", "prompts_per_group", "system_prompt_len", "question_len", "output_len")
# Columns of requests.csv, which are also the names of the summaries of a stage.
LATENCIES = ("ttft_ms", "ttft_from_schedule_ms", "e2e_ms", "e2e_from_schedule_ms", "tpot_ms", "ntpot_ms")


def options(workload: c.Mapping[str, t.Any], stages: c.Iterable[c.Mapping[str, t.Any]], warmup: c.Mapping[str, t.Any] | None) -> Facts:
    """{workload, stages, warmup, seed, nonce} for vllm_perf; `seed` and `nonce` only where `workload` has them, `warmup` None without one."""
    return {
        "workload": {"kind": "shared_prefix", **{name: value for name, value in workload.items() if name not in ("seed", "nonce")}},
        "stages": [_counted(stage) for stage in stages],
        "warmup": _counted(warmup) if warmup else None,
        **{name: workload[name] for name in ("seed", "nonce") if workload.get(name) is not None},
    }


def _counted(stage: c.Mapping[str, t.Any]) -> Facts:
    """A stage of a rate and seconds as one of as many requests, so that the order of prompts goes on at the same place under each seed.

    Any other stage stays as it is: vllm_perf reports its mistakes.
    """
    try:
        count = float(stage["rate"]) * float(stage["seconds"])
    except (KeyError, TypeError, ValueError):
        return dict(stage)
    if stage.get("requests") is not None or not (count > 0 and math.isfinite(count)):
        return dict(stage)
    return {"rate": stage["rate"], "requests": max(1, round(count))}


def run(preset: str, whole: c.Mapping[str, t.Any], requests: str) -> Facts:
    """{preset, url, workload, stages, total} of one run. `whole`: its result.json; `requests`: the text of its requests.csv.

    Percentiles interpolate between the two nearest ranks of the requests themselves; those of `vllm_perf` are at a rank, within 0.05 %, which
    differs where a stage has few requests.
    """
    rows = csv.DictReader(io.StringIO(requests))
    stages = [_stage(stage, list(itertools.islice(rows, stage["requests"]))) for stage in whole["stages"]]
    about = whole["about"]
    return {
        "preset": preset,
        "url": whole["url"],
        "workload": {**{name: about["workload"][name] for name in WORKLOAD}, "seed": about["seed"], "nonce": whole["nonce"]},
        "stages": stages,
        "total": together(stages),
    }


def _stage(entry: c.Mapping[str, t.Any], rows: c.Sequence[c.Mapping[str, str]]) -> Facts:
    """A stage of result.json with the figures that are computed from its requests."""
    good = [row for row in rows if not row["error"]]
    kept = {name: value for name, value in entry.items() if name not in ("percentiles", "deviations", "intervals", "series", "cdf", "slo")}
    busiest = max(entry["servers"].values(), default=0)
    return {
        **kept,
        **{name: summary(_values(good, name), len(rows) - len(good)) for name in LATENCIES},
        "send_lag_ms": summary(_values(rows, "send_lag_ms")),
        **{name: value for percent in COMPARED for name, value in _interval(entry["intervals"], percent).items()},
        "ttft_cdf": entry["cdf"]["ttft_from_schedule"],
        "largest_share": round(busiest / sum(entry["servers"].values()), 4) if busiest else None,
    }


def _interval(intervals: c.Mapping[str, t.Any], percent: int) -> Facts:
    """The interval of 95 % confidence of a percentile, and why it is unknown."""
    figure = intervals.get(f"ttft_from_schedule_p{percent}_ms") or {"few": "no request was due"}
    ends = None if figure["few"] else [figure[end] for end in ("low", "high")]
    return {f"ttft_p{percent}_interval": ends, f"ttft_p{percent}_unknown": figure["few"]}


def _values(rows: c.Iterable[c.Mapping[str, str]], name: str) -> list[float]:
    return [float(row[name]) for row in rows if row[name]]


def summary(values: c.Sequence[float], lost: int = 0) -> dict[str, float | int | None]:
    """{n, mean, min, p50, p90, p95, p99, max}; all but n are None without values. `lost` further values count as infinite in percentiles; a percentile
    that is one of them is None."""
    if not values:
        return {"n": 0, "mean": None, "min": None, **{f"p{percent}": None for percent in PERCENTILES}, "max": None}
    ranked = [*sorted(values), *[math.inf] * lost]
    cuts = {f"p{percent}": _percentile(ranked, percent) for percent in PERCENTILES}
    figures = {"mean": statistics.fmean(values), "min": min(values), **cuts, "max": max(values)}
    return {"n": len(values), **{name: round(value, 3) if math.isfinite(value) else None for name, value in figures.items()}}


def _percentile(ranked: c.Sequence[float], percent: float) -> float:
    """A percentile of sorted values, interpolated between the two nearest."""
    place, between = divmod((len(ranked) - 1) * percent / 100, 1)
    low = ranked[int(place)]
    return low + (ranked[int(place) + 1] - low) * between if between else low


def together(stages: c.Sequence[c.Mapping[str, t.Any]]) -> Facts:
    """The stages of one run as one: {requests, ok, failed, hit_ratio, servers, valid}."""
    counted = [stage for stage in stages if stage["hit_ratio"] is not None]
    prompt = sum(stage["prompt_tokens"] for stage in counted)
    servers: collections.Counter[str] = collections.Counter()
    for stage in stages:
        servers.update(stage["servers"])
    return {
        **{name: sum(stage[name] for stage in stages) for name in ("requests", "ok", "failed")},
        "hit_ratio": round(sum(stage["cached_tokens"] for stage in counted) / prompt, 4) if prompt else None,
        "servers": dict(sorted(servers.items())),
        "valid": all(stage["valid"] for stage in stages),
    }
