# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same workload under several scheduling policies, side by side: results, table and headline. Pure.

A run is {preset, stages, total} as comparison_run.run makes it. The first run is the baseline.
"""

from __future__ import annotations

import collections.abc as c
import math
import typing as t

from ..common.objects import Facts
from ..epp.catalog.presets import ROUND_ROBIN_NOTE
from ..report import text

LATENCY = "ttft_from_schedule_ms"
LEAST = 1.05  # times sooner that are worth a headline
# Marks of a ratio, and what they mean.
SAME, UNKNOWN = "≈", "?"
MEANINGS = {
    SAME: "The intervals of 95 % confidence overlap: no difference is shown.",
    UNKNOWN: "Nothing is compared:",
}


def results(runs: c.Sequence[Facts], about: Facts) -> Facts:
    """The comparison: {about, baseline, runs: [{preset, stages, total, ttft_p90_ratio, ttft_p90_differs}], headline, valid}."""
    baseline = runs[0]
    compared = [{**run, "ttft_p90_ratio": ratios(baseline, run), "ttft_p90_differs": differences(baseline, run)} for run in runs]
    found = {"about": about, "baseline": baseline["preset"], "runs": compared, "valid": all(stage["valid"] for run in runs for stage in run["stages"])}
    return {**found, "headline": headline(found)}


def ratios(baseline: Facts, run: Facts) -> dict[str, float | None]:
    """How many times lower the 90th percentile of time to first token is than the baseline's, by rate. None where either is unknown."""
    base = {stage["rate"]: p90(stage) for stage in baseline["stages"]}
    return {f"{stage['rate']:g}": _ratio(base.get(stage["rate"]), p90(stage)) for stage in run["stages"]}


def differences(baseline: Facts, run: Facts) -> dict[str, bool | None]:
    """Whether the 90th percentiles differ by more than chance, by rate: their intervals of 95 % confidence do not overlap. None where nobody knows."""
    base = {stage["rate"]: stage["ttft_p90_interval"] for stage in baseline["stages"]}
    return {f"{stage['rate']:g}": _apart(base.get(stage["rate"]), stage["ttft_p90_interval"]) for stage in run["stages"]}


def _apart(one: c.Sequence[float | None] | None, other: c.Sequence[float | None] | None) -> bool | None:
    """An end that is None lies where requests failed, which last for ever."""
    if one is None or other is None:
        return None
    (low, high), (others_low, others_high) = ([math.inf if end is None else end for end in ends] for ends in (one, other))
    return low > others_high or others_low > high or (False if math.isfinite(high) and math.isfinite(others_high) else None)


def unknown(found: Facts) -> str:
    """Why 90th percentiles cannot be compared, by rate and preset; empty where all can."""
    said = []
    for rate in dict.fromkeys(stage["rate"] for run in found["runs"] for stage in run["stages"]):
        stages = [(run, stage) for run in found["runs"] for stage in run["stages"] if stage["rate"] == rate]
        if any(run["ttft_p90_differs"][f"{rate:g}"] is None for run, _stage in stages if run["preset"] != found["baseline"]):
            whys = [f"{run['preset']}: {why}" for run, stage in stages if (why := stage.get("ttft_p90_unknown") or _failed(stage))]
            said += [f"at {rate:g} requests/s {', '.join(whys)}"] if whys else []
    return "; ".join(said)


def _failed(stage: Facts) -> str | None:
    """How many requests failed, where that decides a percentile."""
    return f"{stage['failed']} of {stage['requests']} requests failed" if stage["ttft_p90_interval"] and None in stage["ttft_p90_interval"] else None


def p90(stage: Facts) -> float | None:
    """The 90th percentile of time to first token from the planned send, in milliseconds, where a request that failed lasts for ever; None where it is one."""
    return t.cast(float | None, stage[LATENCY]["p90"])


def headline(found: Facts) -> str:
    """The outcome in one sentence: the best preset at the rate where it gains most against the baseline."""
    base = {f"{stage['rate']:g}": stage for stage in found["runs"][0]["stages"]}
    others = [
        (run, stage, rate)
        for run in found["runs"]
        for stage in run["stages"]
        if run["preset"] != found["baseline"] and (rate := f"{stage['rate']:g}") in base and 0 not in (p90(stage), p90(base[rate]))
    ]
    told = [(run, stage, rate) for run, stage, rate in others if run["ttft_p90_differs"][rate] is not None]
    if not told:
        why = unknown(found) if others else ""
        return f"{MEANINGS[UNKNOWN]} {why}." if why else "There is nothing to compare with."
    # a baseline that failed too often for a percentile takes for ever
    gains = [
        (math.inf if p90(base[rate]) is None else run["ttft_p90_ratio"][rate], run, stage, rate)
        for run, stage, rate in told
        if run["ttft_p90_differs"][rate] and p90(stage)
    ]
    gains = [gain for gain in gains if gain[0] > LEAST]
    if not gains:
        return f"No preset beats {found['baseline']} in time to first token by more than chance."
    ratio, run, stage, rate = max(gains, key=lambda gain: gain[0])
    sooner = f"{ratio:.1f} times sooner than with {found['baseline']} ({milliseconds(p90(base[rate]))})"
    if math.isinf(ratio):
        sooner = f"with {found['baseline']} {base[rate]['failed']} of {base[rate]['requests']} requests failed"
    return f"{run['preset']}: 90 % of first tokens within {milliseconds(p90(stage))} at {rate} requests/s, {sooner}."


def rows(found: Facts) -> list[list[str]]:
    """The table: a row of names, then one row for each rate and preset."""
    head = [
        "requests/s",
        "preset",
        "TTFT p50",
        "TTFT p90",
        "TTFT p99",
        "times sooner (p90)",
        "answers/s",
        "output tokens/s",
        "cache hits",
        "busiest server",
        "failed",
    ]
    rates = [stage["rate"] for stage in found["runs"][0]["stages"]]
    return [head] + [_row(found, rate, run) for rate in rates for run in found["runs"]]


def table(found: Facts) -> str:
    """The table as Markdown, the headline above it."""
    notes = [] if found["valid"] else ["", "† The client itself was late: these numbers say nothing about the server."]
    notes += [line for note in explained(found) for line in ("", note)]
    return "\n".join([found["headline"], "", *text.markdown(rows(found), left=1), *notes, ""])


def lines(found: Facts) -> list[str]:
    """The table for a terminal."""
    return [*text.aligned(rows(found), left=1), "", found["headline"], *explained(found)]


def explained(found: Facts) -> list[str]:
    """What names of presets and marks do not say by themselves."""
    marks = {mark(found, run, rate) for run in found["runs"] for rate in run["ttft_p90_ratio"]}
    notes = [f"{each} {meaning}{f' {unknown(found)}.' if each == UNKNOWN else ''}" for each, meaning in MEANINGS.items() if each in marks]
    return [*notes, *([ROUND_ROBIN_NOTE] if "round_robin" in [run["preset"] for run in found["runs"]] else [])]


def mark(found: Facts, run: Facts, rate: str) -> str:
    """SAME or UNKNOWN for a ratio that shows no difference; empty for one beyond chance, without a ratio, and for the baseline."""
    differs = run["ttft_p90_differs"].get(rate)
    if differs or run["ttft_p90_ratio"].get(rate) is None or run["preset"] == found["baseline"]:
        return ""
    return UNKNOWN if differs is None else SAME


def _row(found: Facts, rate: float, run: Facts) -> list[str]:
    stage = next((entry for entry in run["stages"] if entry["rate"] == rate), None)
    if stage is None:
        return [f"{rate:g}", run["preset"], *["-"] * 9]
    latency = stage[LATENCY]
    ratio = run["ttft_p90_ratio"].get(f"{rate:g}")
    return [
        f"{rate:g}",
        run["preset"] + ("" if stage["valid"] else " †"),
        *(milliseconds(latency[name]) for name in ("p50", "p90", "p99")),
        "-" if ratio is None else f"{ratio:.1f} {mark(found, run, f'{rate:g}')}".rstrip(),
        f"{stage['requests_per_s']:.1f}",
        f"{stage['output_tokens_per_s']:.0f}",
        percent(stage["hit_ratio"]),
        percent(stage["largest_share"]),
        str(stage["failed"]),
    ]


def milliseconds(value: float | None) -> str:
    """A time in milliseconds as text."""
    if value is None:
        return "-"
    return f"{value:.0f} ms" if value < 10_000 else f"{value / 1000:.1f} s"


def percent(value: float | None) -> str:
    """A share from 0 to 1 as text in percent."""
    return "-" if value is None else f"{value * 100:.0f} %"


def _ratio(base: float | None, mine: float | None) -> float | None:
    return round(base / mine, 2) if base and mine else None
