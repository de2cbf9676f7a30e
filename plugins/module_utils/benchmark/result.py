# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a measurement: its stages, its verdict, and how it compares with an earlier one. Pure."""

from __future__ import annotations

import collections
import collections.abc as c
import math
import typing as t

from ..common.objects import Facts
from ..http.urls import excerpt
from ..loadgen.record import CLIENT
from . import slo
from .confidence import needed
from .options import COUNTS, USED
from .plan import Measured, Plan
from .series import LEAST
from .totals import Totals

COMPARED = ("ttft_from_schedule", "e2e_from_schedule", "tpot", "itl")
PERCENTS = (50, 90, 99)  # that have an interval
DISTRIBUTIONS = ("ttft_from_schedule", "e2e_from_schedule", "tpot", "itl")
# Parts of `about` of a result. Where one of SAME_LOAD differs, figures cannot be compared; where one of NOTED differs, the difference is reported.
SAME_LOAD = ("workload", "api", "stream", "ignore_eos", "extra_body", "arrivals")
NOTED = ("models", "weights", "url", "host_header", "headers", "temperature", "warmup")
LEFT_OUT = ("input_len_max", "output_len_max", "turns_max", "requests")  # options of a workload that have no default
HIGHER = ("requests_per_s", "output_tokens_per_s")  # figures of which more is better
REPORTED = (0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9)
FEW, SHORT = "not enough requests", "the stage is too short"  # why an interval is unknown, each with numbers behind it
LARGE = ("deviations", "percentiles", "intervals", "series", "cdf", "input_len", "output_len")


def stage(measured: Measured, plan: Plan) -> Facts:
    """One stage with everything that reports show."""
    step, totals = measured
    why = slo.why_invalid(plan.rules, totals, plan.allowed)
    return {
        "label": step.label,
        "rate": step.rate,
        "to_rate": step.to_rate,
        "concurrency": step.concurrency,
        **totals.summary(plan.allowed),
        "valid": why is None,
        "why_invalid": why,
        "slo": slo.judge(plan.rules, totals, plan.allowed),
        "saturated": totals.saturated,
        "keeps_up": totals.keeps_up,
        "input_len": totals.input_len.summary(),
        "output_len": totals.output_len.summary(),
        "deviations": {name: round(hist.deviation, 3) for name, hist in totals.hist.items()},
        "percentiles": {name: {f"{percent:g}": hist.percentile(percent) for percent in REPORTED} for name, hist in totals.hist.items() if hist.n},
        "intervals": intervals(totals),
        "series": totals.series.rows(),
        "cdf": {name: totals.hist[name].cdf() for name in DISTRIBUTIONS},
    }


def brief(entry: c.Mapping[str, t.Any]) -> Facts:
    """A stage without the data that only plots and reports need."""
    return {name: value for name, value in entry.items() if name not in LARGE}


def verdict(stages: c.Sequence[Facts], ladder: bool, rules: bool) -> tuple[str, list[str]]:
    """(verdict, reasons): passed, failed, invalid or inconclusive. A sweep or search (`ladder`) passes when one rate meets the objectives, whatever the
    others do; without objectives (`rules`) it is invalid as any other run is when the client was late."""
    exhausted = any(CLIENT in entry["errors"] for entry in stages)
    if not any(entry["ok"] for entry in stages) and not exhausted:
        example = next((entry["error_example"] for entry in stages if entry["error_example"]), "nothing was sent")
        return "failed", [f"none of {sum(entry['requests'] for entry in stages)} requests succeeded: {example}"]
    late = [f"{entry['label']}: {entry['why_invalid']}" for entry in stages if not entry["valid"]]
    met = [entry for entry in stages if entry["valid"] and all(judged["met"] for judged in entry["slo"])] if ladder and rules else []
    if late and not met:
        # missed by more than the client was late is missed: in one stage, or in each of a ladder, of which one that meets them is enough
        clear = [_missed([entry], clear=True) for entry in stages]
        if (all(clear) if ladder else any(clear)) and not exhausted:
            return "failed", [line for lines in clear[: 1 if ladder else None] for line in lines] + late
        return "invalid", late
    if not met and (missed := _missed(stages[:1] if ladder else stages)):
        return "failed", missed
    # a ladder is judged by its best rate
    few = _too_few(met and [_best(met)] or stages)
    return ("inconclusive", few) if few else ("passed", [])


def _too_few(stages: c.Iterable[Facts]) -> list[str]:
    """The objectives with too few requests for their percentile, one line each."""
    by_name: dict[str, list[tuple[str, Facts]]] = {}
    for each in stages:
        for judged in each["slo"]:
            if not judged["enough"]:
                by_name.setdefault(judged["name"], []).append((each["label"], judged))
    return [
        f"{of[0][0]}: {slo.objective_line(of[0][1])}"
        if len(of) == 1
        else f"{name}: too few requests for this percentile at {', '.join(label for label, _judged in of)}"
        for name, of in by_name.items()
    ]


def _missed(stages: c.Iterable[Facts], clear: bool = False) -> list[str]:
    """The objectives that were missed, and not by chance; with `clear` only those that were missed by more than the client was late."""
    return [
        f"{entry['label']}: {slo.objective_line(judged)}{_errors(entry) if judged['name'] == slo.ERRORS else ''}"
        for entry in stages
        for judged in entry["slo"]
        if not judged["met"] and judged["enough"] and (judged["clear"] or not clear)
    ]


def _errors(entry: Facts) -> str:
    """The errors of a stage by kind, the most frequent first, and the text of one of them."""
    counts = sorted(entry["errors"].items(), key=lambda item: -item[1])
    return f" ({', '.join(f'{count} {kind}' for kind, count in counts)}; one of them: {entry['error_example']})" if counts else ""


def best(stages: c.Sequence[Facts]) -> float | None:
    """The highest rate whose stage met every objective and whose client kept to its times; without objectives, at which the server kept up."""
    kept = [
        entry for entry in stages if entry["valid"] and entry["ok"] and (all(judged["met"] for judged in entry["slo"]) if entry["slo"] else entry["keeps_up"])
    ]
    rates = [entry for entry in kept if entry["rate"] and entry["to_rate"] is None]
    return t.cast(float, _best(rates)["rate"]) if rates else None


def _best(stages: c.Iterable[Facts]) -> Facts:
    return max(stages, key=lambda entry: entry["rate"])


def intervals(totals: Totals) -> Facts:
    """{name: {value, low, high, few}}: a figure and its interval of 95 % confidence. Where the interval is unknown, `low` and `high` are None and `few` is
    the reason. Failed requests count as infinite: a `value` or end that is one of them is None, without `few`.

    A mean has none: answers that are rare and take thirty times as long decide it, and a sample may hold none of them.
    """
    figures: Facts = {}
    for name in COMPARED:
        hist, lost = totals.hist[name], totals.lost(name)
        # the gaps of one answer depend on each other
        count = min(totals.gap_answers, totals.hist["tpot"].n) if name == "itl" else hist.n
        # where all failed, it is unknown whether there would have been any time between tokens
        if not count and (totals.ok or name in ("tpot", "itl")):
            continue
        count += min(lost, totals.failed)
        if not count:
            continue
        independent = _independent(totals, "tpot" if name == "itl" else name, count)
        for percent in PERCENTS:
            few = _few(totals, count, independent, needed(percent))
            ends = None if few else hist.interval(percent, independent, lost)
            figures[f"{name}_p{percent}_ms"] = _figure(hist.percentile(percent, lost), ends, few)
    of, window = "due_" if totals.rates.as_due else "", totals.rates.window()
    for name, counted, sums in (("requests_per_s", "ok", "ok"), ("output_tokens_per_s", "tokens", "output")):
        spread, value = totals.series.spread(of + counted, *window), totals.rates.per_second(sums)
        if spread is not None and value > 0:
            ends = (value * (1 - spread), value * (1 + spread)) if spread < 1 else None
            figures[name] = _figure(value, ends, None if ends else "it varies too much; send for longer")
    return figures


def _independent(totals: Totals, name: str, count: int) -> int | None:
    """How many independent requests determine the percentiles of a latency as well as `count` of a stage; None where that is unknown."""
    hist, lost = totals.hist[name], totals.lost(name)
    bounds = [value for percent in PERCENTS if (value := hist.percentile(percent, lost)) is not None]
    worth = totals.series.worth(name, bounds)
    return None if worth is None else int(count / worth)


def _few(totals: Totals, count: int, independent: int | None, least: int) -> str | None:
    """Why there are too few requests for the interval of a percentile, which takes `least` independent ones; None where there are enough."""
    if count < least:
        return f"{FEW} ({count} of {least} needed)"
    if independent is None:
        return f"{SHORT} ({totals.series.parts} of {LEAST} slices of {totals.series.width:g} s needed)"
    if independent < least:
        failed = f", {totals.failed} of them failed," if totals.failed else ""
        return f"{FEW} ({count} depend on each other{failed} and count as {independent} of {least} needed)"
    return None


def _figure(value: float | None, ends: tuple[float, float] | None, few: str | None) -> Facts:
    value, low, high = (None if each is None or math.isinf(each) else each for each in (value, *(ends or (None, None))))
    return {"value": value, "low": low, "high": high, "few": few}


def differing(baseline: t.Any, about: Facts, names: c.Iterable[str]) -> str:
    """The differences between a baseline's `about` and this run's, as text; empty without any. What a baseline does not record does not differ."""
    differences = []
    for name in names:
        if not isinstance(baseline, dict) or name not in baseline or name not in about:
            continue
        earlier, mine = (_load(each) if name == "workload" else each for each in (baseline[name], about[name]))
        if isinstance(earlier, dict) and isinstance(mine, dict):
            for key in sorted({*earlier, *mine}):
                there = earlier.get(key)
                # an option that did not exist then, unless it was left out
                unknown = name == "workload" and key not in earlier and key not in LEFT_OUT
                if there != mine.get(key) and not unknown and (name != "workload" or key == "kind" or earlier.get("kind") == mine["kind"]):
                    differences.append(f"{name}.{key} {excerpt(repr(there))} there and {excerpt(repr(mine.get(key)))} here")
        elif (sorted(map(str, earlier)) != sorted(mine)) if isinstance(earlier, list) and isinstance(mine, list) else earlier != mine:
            differences.append(f"{name} {excerpt(repr(earlier))} there and {excerpt(repr(mine))} here")
    return ", ".join(differences)


def _load(workload: t.Any) -> t.Any:
    """The options of a workload that determine the load: those that its kind uses."""
    if not isinstance(workload, dict) or workload.get("kind") not in COUNTS:
        return workload
    kind = workload["kind"]
    return {name: value for name, value in workload.items() if name in ("kind", *COUNTS[kind], *USED[kind])}


def compare(baseline: c.Sequence[c.Mapping[str, t.Any]], stages: c.Sequence[Facts], other: str = "") -> list[Facts]:
    """[{label, name, baseline, measured, ratio, low, high, verdict, why}] for the stages that both runs have. `low` to `high`: the interval of 95 %
    confidence of the ratio, of which failures may leave one end open (None); verdict: better, worse, or same where the interval holds 1; unknown
    otherwise, and `why` is the reason. A load that occurs several times is compared with the same occurrence in the baseline.

    other: how the load of the baseline differs from this run's; then nothing is compared.
    """
    before = dict(_numbered(baseline))
    rows = []
    for key, current in _numbered(stages):
        earlier = before.get(key, {})
        for name, figure in current["intervals"].items():
            base_figure = earlier.get("intervals", {}).get(name)
            if base_figure and base_figure["value"] != 0 != figure["value"]:
                why = f"another load: {other}" if other else _incomparable("baseline", earlier, base_figure) or _incomparable("this run", current, figure)
                row = {"label": current["label"], "name": name, **_row(name, base_figure, figure, why), "why": why}
                if row["verdict"] == "unknown" and not why:
                    row["why"] = "; ".join(_failures(run, entry) for run, entry in (("baseline", earlier), ("this run", current)) if entry.get("failed"))
                rows.append(row)
    return rows


def _numbered(stages: c.Iterable[c.Mapping[str, t.Any]]) -> c.Iterator[tuple[tuple[str, int], c.Mapping[str, t.Any]]]:
    """((label, how many stages of that label came before), stage) of each."""
    times: collections.Counter[str] = collections.Counter()
    for stage in stages:
        yield (stage["label"], times[stage["label"]]), stage
        times[stage["label"]] += 1


def _incomparable(run: str, entry: c.Mapping[str, t.Any], figure: Facts) -> str | None:
    """Why a figure of a stage cannot be compared; None where it can."""
    if not entry["valid"] or entry.get("late"):
        return f"{run}: the client was late"
    if figure["few"] or (figure["low"] is not None and figure["low"] <= 0):
        return f"{run}: {figure['few'] or 'not more than the client can tell from 0'}"
    return None


def _failures(run: str, entry: c.Mapping[str, t.Any]) -> str:
    return f"{run}: {entry['failed']} of {entry['requests']} requests failed"


def worse_than(rows: c.Iterable[Facts], allowed: float) -> list[str]:
    """The figures that are worse by more than the allowed ratio, as lines of text: the whole interval lies beyond it."""
    lines = []
    for row in rows:
        if row["verdict"] != "worse":
            continue
        beyond = row["high"] < 1 / allowed if row["name"] in HIGHER else row["low"] is None or row["low"] > allowed
        if beyond:
            lines.append(f"{row['label']}: {row['name']} is {beside(row)} (95 %: {ends(row)}), {allowed:g} allowed")
    return lines


def beside(row: c.Mapping[str, t.Any]) -> str:
    """A figure and the baseline's as text; either may be that of a failed request, which has no value."""
    current, base = ("that of a request that failed" if row[run] is None else f"{row[run]:g}" for run in ("measured", "baseline"))
    return f"{current}, {'against' if row['ratio'] is None else format(row['ratio'], 'g') + ' times'} the baseline's{',' * (row['baseline'] is None)} {base}"


def ends(row: c.Mapping[str, t.Any]) -> str:
    """The interval of a ratio as text, of which failures leave ends open."""
    low, high = (None if row[end] is None else f"{row[end]:g}" for end in ("low", "high"))
    if low and high:
        return f"{low} to {high}"
    return f"at least {low}" if low else f"at most {high}" if high else "beyond any"


def uncompared(rows: c.Iterable[Facts]) -> list[str]:
    """The figures that could not be compared, as lines of text: one for all stages with too few requests, and one for each stage and other reason."""
    names: dict[tuple[str, str], list[str]] = {}
    few: dict[str, list[str]] = {}
    for row in rows:
        if row["why"] and row["why"].partition(": ")[2].startswith((FEW, SHORT)):
            few.setdefault(row["label"], []).append(row["name"])
        elif row["why"]:
            names.setdefault((row["label"], row["why"]), []).append(row["name"])
    lines = [f"{label}: {', '.join(each)}: not compared with the baseline; {why}" for (label, why), each in names.items()]
    if few:
        needed_by = ", ".join(f"p{percent} needs {needed(percent)}" for percent in PERCENTS)
        stages = ", ".join(f"{label} ({_percentiles(each)})" for label, each in few.items())
        lines.append(f"not compared with the baseline for too few independent requests in either run ({needed_by}): {stages}")
    return lines


def _percentiles(names: c.Iterable[str]) -> str:
    """The percentiles of figures, such as "p90, p99"."""
    return ", ".join(sorted({name.removesuffix("_ms").rpartition("_")[2] for name in names}))


def _row(name: str, base_figure: Facts, figure: Facts, why: str | None) -> Facts:
    """A ratio and its interval, from the intervals of its parts on the scale of logarithms (MOVER); with `why` it is unknown.

    A part that is None is infinite: then the other end of the interval may still show which is longer.
    """
    figures = {run: None if each["value"] is None else round(each["value"], 3) for run, each in (("baseline", base_figure), ("measured", figure))}
    if why:
        return {**figures, "ratio": None, "low": None, "high": None, "verdict": "unknown"}
    (base, base_low, base_high), (value, low, high) = (
        [math.inf if part[each] is None else math.log(part[each]) for each in ("value", "low", "high")] for part in (base_figure, figure)
    )
    both = math.isfinite(base) and math.isfinite(value)
    least = -math.inf if math.isinf(base_high) else value - base - math.hypot(value - low, base_high - base) if both else low - base_high
    most = math.inf if math.isinf(high) else value - base + math.hypot(high - value, base - base_low) if both else high - base_low
    better, worse = (least > 0, most < 0) if name in HIGHER else (most < 0, least > 0)
    known = math.isfinite(least) and math.isfinite(most)
    return {
        **figures,
        "ratio": round(math.exp(value - base), 4) if both else None,
        "low": round(math.exp(least), 4) if math.isfinite(least) else None,
        "high": round(math.exp(most), 4) if math.isfinite(most) else None,
        "verdict": "better" if better else "worse" if worse else "same" if known else "unknown",
    }
