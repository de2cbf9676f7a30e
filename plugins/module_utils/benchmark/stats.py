# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of measured requests. Pure.

Percentiles interpolate linearly between the two nearest ranks (method 7 of Hyndman and Fan, NumPy's default), as `vllm bench serve`,
guidellm and inference-perf do.
"""

from __future__ import annotations

import collections
import collections.abc as c
import math
import typing as t

from ..loadgen.record import Record

PERCENTILES = (50, 90, 95, 99)
CDF_POINTS = 100


def percentile(values: c.Sequence[float], percent: float) -> float:
    """The value below which `percent` of the values lie. Raises ValueError without values or outside 0 to 100."""
    if not values:
        raise ValueError("no values have no percentile")
    if not 0 <= percent <= 100:
        raise ValueError(f"{percent} is no percentage")
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    # this form cannot leave the range of its two neighbours by rounding
    return min(max(ordered[low] + (ordered[high] - ordered[low]) * (position - low), ordered[low]), ordered[high])


def summary(values: c.Iterable[float | None], scale: float = 1.0) -> dict[str, float | int | None]:
    """{n, mean, min, p50, p90, p95, p99, max} of the values that are known, times `scale`; all but n are None without values."""
    known = sorted(value * scale for value in values if value is not None)
    if not known:
        return {"n": 0, "mean": None, "min": None, **{f"p{percent}": None for percent in PERCENTILES}, "max": None}
    found = {"mean": math.fsum(known) / len(known), "min": known[0], **{f"p{percent}": percentile(known, percent) for percent in PERCENTILES}, "max": known[-1]}
    return {"n": len(known), **{name: round(value, 3) for name, value in found.items()}}


def cdf(values: c.Iterable[float], points: int = CDF_POINTS) -> list[list[float]]:
    """At most `points` + 1 pairs [value, share of values not above it], the smallest and the largest value among them."""
    ordered = sorted(values)
    count = len(ordered)
    if not count:
        return []
    steps = range(count) if count <= points else sorted({round(index * (count - 1) / points) for index in range(points + 1)})
    return [[round(ordered[index], 3), round((index + 1) / count, 5)] for index in steps]


def stage_summary(records: c.Sequence[Record], rate: float, cpu_seconds: float, max_lag: float) -> dict[str, t.Any]:
    """One stage in numbers. Times are milliseconds, rates are per second, shares are 0 to 1.

    Latencies are those of successful requests, from the actual send and from the planned one; failed requests are counted beside them.
    The stage is invalid, which is not slow, when the client itself was late: the 99th percentile of send lag above `max_lag` seconds.
    """
    good = [record for record in records if not record.error]
    wall = max((record.end for record in records), default=0.0)
    lag = summary((record.lag for record in records if record.sent is not None), 1000)
    # Python does not know it of a request that never left, and such a one is a failure anyway
    late = lag["p99"] is not None and lag["p99"] > max_lag * 1000
    return {
        "rate": rate,
        "requests": len(records),
        "ok": len(good),
        "failed": len(records) - len(good),
        "errors": dict(collections.Counter(record.error for record in records if record.error)),
        "error_example": next((record.detail for record in records if record.error), None),
        "seconds": round(wall, 3),
        "sent_per_s": _sent_rate(records),
        "requests_per_s": _per(len(good), wall),
        "output_tokens_per_s": _per(sum(record.output_tokens or 0 for record in good), wall),
        "prompt_tokens_per_s": _per(sum(record.prompt_tokens or 0 for record in good), wall),
        "ttft_ms": summary((record.ttft for record in good), 1000),
        "ttft_from_schedule_ms": summary((record.ttft_from_schedule for record in good), 1000),
        "e2e_ms": summary((record.e2e for record in good), 1000),
        "e2e_from_schedule_ms": summary((record.e2e_from_schedule for record in good), 1000),
        "tpot_ms": summary((record.tpot for record in good), 1000),
        "itl_ms": summary((gap for record in good for gap in record.gaps), 1000),
        "ntpot_ms": summary((record.ntpot for record in good), 1000),
        "send_lag_ms": lag,
        "ttft_cdf": cdf(record.ttft_from_schedule * 1000 for record in good if record.ttft_from_schedule is not None),
        "client_cpu": round(cpu_seconds / wall, 3) if wall else 0.0,
        "valid": not late,
        "why_invalid": f"the client sent late: 99 % of requests within {lag['p99']:g} ms of their time, {max_lag * 1000:g} ms allowed" if late else None,
        **cache_summary(good),
        **server_summary(good),
    }


def cache_summary(good: c.Sequence[Record]) -> dict[str, t.Any]:
    """Prompt tokens, those of them that were cached, and their share; None where the servers do not say how many were cached."""
    told = [record for record in good if record.cached_tokens is not None and record.prompt_tokens]
    prompt, cached = sum(record.prompt_tokens or 0 for record in told), sum(record.cached_tokens or 0 for record in told)
    return {
        "prompt_tokens": sum(record.prompt_tokens or 0 for record in good),
        "cached_tokens": cached if told else None,
        "hit_ratio": round(cached / prompt, 4) if told else None,
    }


def server_summary(good: c.Sequence[Record]) -> dict[str, t.Any]:
    """Requests per server, by the name that servers give in their answers, and the largest share that one of them had."""
    counts = collections.Counter(record.server for record in good if record.server)
    total = sum(counts.values())
    return {"servers": dict(sorted(counts.items())), "largest_share": round(max(counts.values()) / total, 4) if total else None}


def together(stages: c.Sequence[c.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """The stages of one run taken together: counts, hit ratio, requests per server."""
    told = [stage for stage in stages if stage["hit_ratio"] is not None]
    prompt = sum(stage["prompt_tokens"] for stage in told)
    servers: collections.Counter[str] = collections.Counter()
    for stage in stages:
        servers.update(stage["servers"])
    return {
        **{name: sum(stage[name] for stage in stages) for name in ("requests", "ok", "failed")},
        "hit_ratio": round(sum(stage["cached_tokens"] for stage in told) / prompt, 4) if prompt else None,
        "servers": dict(sorted(servers.items())),
        "valid": all(stage["valid"] for stage in stages),
    }


def _sent_rate(records: c.Sequence[Record]) -> float | None:
    sent = sorted(record.sent for record in records if record.sent is not None)
    return round((len(sent) - 1) / (sent[-1] - sent[0]), 3) if len(sent) > 1 and sent[-1] > sent[0] else None


def _per(count: float, seconds: float) -> float:
    return round(count / seconds, 3) if seconds else 0.0
