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
from . import comparison_caches

LATENCY = "ttft_from_schedule_ms"
PERCENTS = (90, 50, 99)  # that are compared, in the order in which a gain makes the headline
LEAST = 1.05  # the least gain of a headline, in times sooner
MUCH = 2.0  # times the headline's gain from which a gain at another percentile is added to the headline
# Marks of a ratio, and what they mean.
SAME, UNKNOWN = "≈", "?"
LATE = "† The client itself was late: these numbers say nothing about the server."
# Columns of the table for a terminal, which has no room for all columns, and their heads.
SHORT = {0: "rate", 1: "preset", 2: "TTFT p50", 3: "TTFT p90", 4: "TTFT p99", 5: "times sooner (p90)", 6: "req/s", 8: "cache hits", 10: "failed"}
MEANINGS = {
    SAME: "The intervals of 95 % confidence overlap: no difference is shown.",
    UNKNOWN: "Nothing is compared:",
}


def results(runs: c.Sequence[Facts], about: Facts, servers: c.Sequence[Facts] = ()) -> Facts:
    """The comparison: {about, baseline, runs: [{preset, stages, total, ttft_p90_ratio, ttft_p90_differs, and those of p50 and p99}], caches, headline, valid}.

    servers: as vllm_health_info returns them, for the sizes of their caches.
    """
    baseline = runs[0]
    compared = [{**run, **_compared(baseline, run)} for run in runs]
    comparison = {"about": about, "baseline": baseline["preset"], "runs": compared, "valid": all(stage["valid"] for run in runs for stage in run["stages"])}
    return {**comparison, "caches": comparison_caches.caches(runs, servers), "headline": headline(comparison)}


def _compared(baseline: Facts, run: Facts) -> Facts:
    ratio_of = {f"ttft_p{percent}_ratio": ratios(baseline, run, percent) for percent in sorted(PERCENTS)}
    return {**ratio_of, **{f"ttft_p{percent}_differs": differences(baseline, run, percent) for percent in sorted(PERCENTS)}}


def ratios(baseline: Facts, run: Facts, percent: int = 90) -> dict[str, float | None]:
    """How many times lower a percentile of time to first token is than the baseline's, by rate. None where either is unknown."""
    base = {stage["rate"]: first_token(stage, percent) for stage in baseline["stages"]}
    return {f"{stage['rate']:g}": _ratio(base.get(stage["rate"]), first_token(stage, percent)) for stage in run["stages"]}


def differences(baseline: Facts, run: Facts, percent: int = 90) -> dict[str, bool | None]:
    """Whether a percentile differs by more than chance, by rate: the intervals of 95 % confidence do not overlap. None where that is unknown."""
    base = {stage["rate"]: stage.get(f"ttft_p{percent}_interval") for stage in baseline["stages"]}
    return {f"{stage['rate']:g}": _apart(base.get(stage["rate"]), stage.get(f"ttft_p{percent}_interval")) for stage in run["stages"]}


def _apart(one: c.Sequence[float | None] | None, other: c.Sequence[float | None] | None) -> bool | None:
    """Whether two intervals do not overlap; None where that is unknown. An end that is None lies among failed requests, which count as infinite."""
    if one is None or other is None:
        return None
    (low, high), (others_low, others_high) = ([math.inf if end is None else end for end in ends] for ends in (one, other))
    return low > others_high or others_low > high or (False if math.isfinite(high) and math.isfinite(others_high) else None)


def unknown(comparison: Facts, percent: int = 90) -> str:
    """Why a percentile cannot be compared, by rate and preset; empty where it can."""
    reasons = []
    for rate in dict.fromkeys(stage["rate"] for run in comparison["runs"] for stage in run["stages"]):
        stages = [(run, stage) for run in comparison["runs"] for stage in run["stages"] if stage["rate"] == rate]
        if any(run[f"ttft_p{percent}_differs"][f"{rate:g}"] is None for run, _stage in stages if run["preset"] != comparison["baseline"]):
            whys = [f"{run['preset']}: {why}" for run, stage in stages if (why := stage.get(f"ttft_p{percent}_unknown") or _failed(stage, percent))]
            reasons += [f"at {rate:g} requests/s {', '.join(whys)}"] if whys else []
    return "; ".join(reasons)


def _failed(stage: Facts, percent: int) -> str | None:
    """How many requests failed, where that decides a percentile."""
    interval = stage.get(f"ttft_p{percent}_interval")
    return f"{stage['failed']} of {stage['requests']} requests failed" if interval and None in interval else None


def first_token(stage: Facts, percent: int = 90) -> float | None:
    """A percentile of time to first token from the planned send, in milliseconds. Failed requests count as infinite; None where it is one of them."""
    return t.cast(float | None, stage[LATENCY][f"p{percent}"])


class _Pair(t.NamedTuple):
    """A stage and the baseline's at the same rate."""

    run: Facts
    stage: Facts
    base: Facts
    rate: str

    def differs(self, percent: int) -> bool | None:
        """Whether a percentile differs by more than chance."""
        return t.cast(bool | None, self.run[f"ttft_p{percent}_differs"][self.rate])

    def gain(self, percent: int) -> float:
        """How many times sooner first tokens come: 0 where that is unknown or chance, infinite where too many of the baseline's requests failed."""
        if not self.differs(percent) or not first_token(self.stage, percent):
            return 0.0
        return math.inf if first_token(self.base, percent) is None else self.run[f"ttft_p{percent}_ratio"][self.rate] or 0.0

    def later(self, percent: int) -> bool:
        """Whether first tokens come later than the baseline's, by more than chance, and by so much that it matters."""
        mine, base = (math.inf if (value := first_token(stage, percent)) is None else value for stage in (self.stage, self.base))
        return bool(self.differs(percent)) and mine > LEAST * base


def headline(comparison: Facts) -> str:
    """The outcome in one sentence: the best preset at the rate of its largest gain over the baseline, at the 90th or the next percentile with a gain."""
    base = {f"{stage['rate']:g}": stage for stage in comparison["runs"][0]["stages"]}
    pairs = [
        _Pair(run, stage, base[rate], rate)
        for run in comparison["runs"]
        for stage in run["stages"]
        if run["preset"] != comparison["baseline"] and (rate := f"{stage['rate']:g}") in base and 0 not in (first_token(stage), first_token(base[rate]))
    ]
    known = [percent for percent in PERCENTS if any(pair.differs(percent) is not None for pair in pairs)]
    if not known:
        why = unknown(comparison) if pairs else ""
        return f"{MEANINGS[UNKNOWN]} {why}." if why else "There is nothing to compare with."
    for percent in known:
        best = _best(pairs, percent)
        if best.gain(percent) > LEAST:
            return f"{_gain(comparison, best, percent)}{_other_percentiles(comparison, best, percent, pairs)}."
    *others, last = (f"p{each}" for each in sorted(known))
    rest = ", ".join(f"p{each}" for each in sorted(PERCENTS) if each not in known)
    compared = f"{', '.join(others)} or {last}" if others else last
    none = f"No preset beats {comparison['baseline']} in time to first token at {compared} by more than chance{f'; {rest} cannot be compared' if rest else ''}"
    return f"{none}.{_worst(pairs, known)}"


def _best(pairs: c.Iterable[_Pair], percent: int) -> _Pair:
    return max(pairs, key=lambda pair: pair.gain(percent))


def _gain(comparison: Facts, best: _Pair, percent: int) -> str:
    within = milliseconds(first_token(best.stage, percent))
    return f"{best.run['preset']}: {percent} % of first tokens within {within} at {best.rate} requests/s, {_sooner(comparison, best, percent)}"


def _sooner(comparison: Facts, pair: _Pair, percent: int) -> str:
    if math.isinf(pair.gain(percent)):
        return f"with {comparison['baseline']} {pair.base['failed']} of {pair.base['requests']} requests failed"
    return f"{pair.gain(percent):.1f} times sooner than with {comparison['baseline']} ({milliseconds(first_token(pair.base, percent))})"


def _worst(pairs: c.Sequence[_Pair], percents: c.Sequence[int]) -> str:
    """The preset that is furthest behind the baseline by more than chance, as a sentence; empty where none is."""

    def times(pair: _Pair, percent: int) -> float:
        mine, base = first_token(pair.stage, percent), first_token(pair.base, percent)
        return math.inf if mine is None or not base else mine / base

    later = [(times(pair, percent), -place, pair, percent) for pair in pairs for place, percent in enumerate(percents) if pair.later(percent)]
    if not later:
        return ""
    _times, _place, pair, percent = max(later, key=lambda each: each[:2])
    if first_token(pair.stage, percent) is None:
        return f" Worse: {pair.run['preset']} at {pair.rate} requests/s, {pair.stage['failed']} of {pair.stage['requests']} requests failed."
    values = f"{milliseconds(first_token(pair.stage, percent))} against {milliseconds(first_token(pair.base, percent))}"
    return f" Later: {pair.run['preset']} at p{percent} at {pair.rate} requests/s, {values}."


def _other_percentiles(comparison: Facts, best: _Pair, percent: int, pairs: c.Sequence[_Pair]) -> str:
    """What other percentiles show: a much larger gain, that the same preset is later there, or that the 90th shows no gain. Empty without any."""
    notes = []
    for other in PERCENTS:
        most = _best(pairs, other)
        if other != percent and best.later(other):
            notes.append(f"at p{other} it is later, {milliseconds(first_token(best.stage, other))} against {milliseconds(first_token(best.base, other))}")
        elif other != percent and most.gain(other) > MUCH * best.gain(percent):
            notes.append(_gain(comparison, most, other))
        elif other != percent and other == PERCENTS[0]:
            known = any(pair.differs(other) is not None for pair in pairs)
            notes.append("p90 shows no gain beyond chance" if known else f"p90 is not compared: {unknown(comparison)}")
    return "".join(f"; {each}" for each in notes)


def rows(comparison: Facts) -> list[list[str]]:
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
    rates = [stage["rate"] for stage in comparison["runs"][0]["stages"]]
    return [head] + [_row(comparison, rate, run) for rate in rates for run in comparison["runs"]]


def table(comparison: Facts) -> str:
    """The table as Markdown, the headline above it."""
    notes = [] if comparison["valid"] else ["", LATE]
    notes += [line for note in explained(comparison) for line in ("", note)]
    return "\n".join([comparison["headline"], "", *text.markdown(rows(comparison), left=1), *notes, ""])


def lines(comparison: Facts) -> list[str]:
    """The table for a terminal, with the headline and explanations below it."""
    short = [list(SHORT.values()), *([row[column] for column in SHORT] for row in rows(comparison)[1:])]
    late = [] if comparison["valid"] else [LATE]
    return [*text.aligned(short, left=1), "", *text.paragraphs([comparison["headline"], *late, *explained(comparison)])]


def explained(comparison: Facts) -> list[str]:
    """Explanations of the marks in the table, of the preset round_robin, and of a workload that does not fit into the caches."""
    marks = {mark(comparison, run, rate) for run in comparison["runs"] for rate in run["ttft_p90_ratio"]}
    notes = [f"{each} {meaning}{f' {unknown(comparison)}.' if each == UNKNOWN else ''}" for each, meaning in MEANINGS.items() if each in marks]
    misfit = comparison_caches.misfit(comparison["caches"])
    return [*([misfit] if misfit else []), *notes, *([ROUND_ROBIN_NOTE] if "round_robin" in [run["preset"] for run in comparison["runs"]] else [])]


def mark(comparison: Facts, run: Facts, rate: str) -> str:
    """SAME or UNKNOWN for a ratio that shows no difference; empty for one beyond chance, without a ratio, and for the baseline."""
    differs = run["ttft_p90_differs"].get(rate)
    if differs or run["ttft_p90_ratio"].get(rate) is None or run["preset"] == comparison["baseline"]:
        return ""
    return UNKNOWN if differs is None else SAME


def _row(comparison: Facts, rate: float, run: Facts) -> list[str]:
    stage = next((entry for entry in run["stages"] if entry["rate"] == rate), None)
    if stage is None:
        return [f"{rate:g}", run["preset"], *["-"] * 9]
    latency = stage[LATENCY]
    ratio = run["ttft_p90_ratio"].get(f"{rate:g}")
    return [
        f"{rate:g}",
        run["preset"] + ("" if stage["valid"] else " †"),
        *(milliseconds(latency[name]) for name in ("p50", "p90", "p99")),
        "-" if ratio is None else f"{ratio:.1f} {mark(comparison, run, f'{rate:g}')}".rstrip(),
        f"{stage['requests_per_s']:.1f}",
        per_second(stage["output_tokens_per_s"]),
        percent(stage["hit_ratio"]),
        percent(stage["largest_share"]),
        str(stage["failed"]),
    ]


def milliseconds(value: float | None) -> str:
    """A time in milliseconds as text."""
    if value is None:
        return "-"
    return f"{value:.0f} ms" if value < 10_000 else f"{value / 1000:.1f} s"


def per_second(value: float | None) -> str:
    """A rate of tokens as text."""
    return "-" if value is None else f"{value:.0f}"


def percent(value: float | None) -> str:
    """A share from 0 to 1 as text in percent."""
    return "-" if value is None else f"{value * 100:.0f} %"


def _ratio(base: float | None, mine: float | None) -> float | None:
    return round(base / mine, 2) if base and mine else None
