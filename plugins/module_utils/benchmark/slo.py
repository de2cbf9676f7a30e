# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Service level objectives: reading them, and judging a stage by them. Pure.

A failed request counts as one with an infinite latency, so that no server passes by refusing requests.
"""

from __future__ import annotations

import collections.abc as c
import math
import re
import typing as t

from .totals import GOOD, LATENCIES, TIMED, Allowed, Totals

_LATENCY = re.compile(r"(?P<metric>[a-z0-9_]+?)_(?P<stat>mean|max|p(?P<whole>\d{1,2})(?:_(?P<part>\d{1,2}))?)_ms")
ERRORS = "error_rate_max"
SHARES = (ERRORS, "goodput_share_min")  # from 0 to 1
_RATES = ("requests_per_s", "output_tokens_per_s", "prompt_tokens_per_s", "total_tokens_per_s", "goodput_per_s", "goodput_share")
_AT_ONCE = (
    "the tokens of each answer came in one piece, so that there is no time between them: stream is false, something on the way holds streams back, "
    "or answers have a single token"
)
# Why successful requests may lack a latency.
ABSENT = {"tpot": _AT_ONCE, "itl": _AT_ONCE, "ntpot": "nobody counted the tokens", "queue": "the server does not tell it (queue_time_ms)"}
ABOVE = 1  # requests that must lie above a percentile; with fewer, it depends on a single request


class Rule(t.NamedTuple):
    """One objective. `name`: as the user wrote it; `stat`: mean, max or a percentile; `upper`: whether the bound is an upper one."""

    name: str
    metric: str
    stat: str
    percent: float | None
    bound: float
    upper: bool


def rules(slo: c.Mapping[str, t.Any]) -> list[Rule]:
    """Objectives such as {ttft_p90_ms: 500, output_tokens_per_s_min: 1000, error_rate_max: 0.01}. Raises ValueError with all problems."""
    found, problems = [], []
    for name, value in slo.items():
        rule = None
        try:
            bound = float(value)
            if isinstance(value, bool) or not (bound >= 0 and math.isfinite(bound)):
                raise ValueError
        except (TypeError, ValueError):
            problems.append(f"slo.{name}: {value!r} is no number from 0 on")
            continue
        if name == ERRORS and bound == 1:
            problems.append(f"slo.{name}: {value!r} always holds; for 1 % write 0.01")
            continue
        if name in SHARES and bound > 1:
            problems.append(f"slo.{name}: {value!r} is no share from 0 to 1; for {bound:g} % write {bound / 100:g}")
            continue
        if name == ERRORS:
            rule = Rule(name, "error_rate", "", None, bound, True)
        elif name.endswith("_min") and name[:-4] in _RATES:
            rule = Rule(name, name[:-4], "", None, bound, False)
        elif (match := _LATENCY.fullmatch(name)) and match["metric"] in LATENCIES:
            percent = float(f"{match['whole']}.{match['part'] or 0}") if match["whole"] else None
            rule = Rule(name, match["metric"], match["stat"], percent, bound, True)
        if rule is None:
            problems.append(
                f"slo.{name}: no such objective; write METRIC_STAT_ms, such as ttft_p90_ms (metrics {', '.join(LATENCIES)}; statistics mean, max, "
                f"p50, p99, p99_9), error_rate_max, or one of {', '.join(f'{rate}_min' for rate in _RATES)}"
            )
        else:
            found.append(rule)
    if problems:
        raise ValueError("; ".join(problems))
    return found


def good_problems(good: c.Mapping[str, t.Any]) -> list[str]:
    """Mistakes in the bounds of a good request, one line each."""
    found = [f"goodput.{name}: no such bound; write {', '.join(GOOD)}" for name in good if name not in GOOD]
    return found + [
        f"goodput.{name}: {value!r} is no number above 0"
        for name, value in good.items()
        if name in GOOD and (isinstance(value, bool) or not isinstance(value, (int, float)) or not (value > 0 and math.isfinite(value)))
    ]


def judge(wanted: c.Iterable[Rule], totals: Totals, allowed: Allowed) -> list[dict[str, t.Any]]:
    """[{name, wanted, found, met, enough, clear, why}]. `found` is None without a value and where it is infinite, `why` then says the reason; `enough`:
    whether there were enough requests for the percentile, or for its miss; `clear`: whether `met` would be the same without the lateness of this client."""
    summary = totals.summary(allowed)
    return [_judge(rule, totals, summary) for rule in wanted]


def missed(wanted: c.Sequence[Rule], totals: Totals, allowed: Allowed) -> bool | None:
    """Whether a stage misses any objective; None where only percentiles are missed for which it has too few requests, and of which that may be chance."""
    misses = [judged["enough"] for judged in judge(wanted, totals, allowed) if not judged["met"]]
    return False if not misses else True if any(misses) else None


def _beyond_chance(rule: Rule, totals: Totals) -> bool:
    """Whether even the lower end of the interval of a percentile misses its bound."""
    hist, lost = totals.hist[rule.metric], totals.lost(rule.metric)
    values = _values(rule, totals)
    least = hist.least(t.cast(float, rule.percent), values, lost) if values else None
    return least is not None and least > rule.bound


def _values(rule: Rule, totals: Totals) -> int:
    """Of how many requests a latency is known, failed ones included: one may have many values, or none."""
    return min(totals.requests, totals.hist[rule.metric].n + totals.failed)


def _judge(rule: Rule, totals: Totals, summary: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    found, enough = _value(rule, totals, summary), True
    if rule.percent is not None:
        enough = _values(rule, totals) * (1 - rule.percent / 100) >= ABOVE - 1e-9
    met = found is not None and (found <= rule.bound if rule.upper else found >= rule.bound)
    enough = enough or (not met and (found is None or _beyond_chance(rule, totals)))
    known = None if found is None or math.isinf(found) else round(found, 5)
    # a late client makes times longer by its own lateness, and no more
    late = totals.late(rule.metric, rule.percent or 99) if rule.metric in TIMED else 0.0
    clear = met or found is None or not rule.upper or found - late > rule.bound
    why = _why(rule, totals) if known is None else None
    return {"name": rule.name, "wanted": rule.bound, "found": known, "met": met, "enough": enough, "clear": clear, "why": why}


def _why(rule: Rule, totals: Totals) -> str:
    """Why an objective has no value."""
    if not totals.requests:
        return "no request was due"
    if not totals.ok:
        return "no request succeeded"
    if rule.metric in ABSENT and not totals.hist[rule.metric].n:
        return ABSENT[rule.metric]
    return f"{totals.failed} of {totals.requests} requests failed, and count as ones that last for ever"


def _value(rule: Rule, totals: Totals, summary: c.Mapping[str, t.Any]) -> float | None:
    if rule.metric not in LATENCIES:
        value: float | None = summary[rule.metric]
        return value
    hist = totals.hist[rule.metric]
    lost = totals.lost(rule.metric)
    if rule.percent is not None:
        return hist.percentile(rule.percent, lost)
    if lost:
        return math.inf
    return hist.mean if rule.stat == "mean" else (hist.high if hist.n else None)


def said(judged: c.Mapping[str, t.Any]) -> str:
    """One judged objective as a line of text."""
    upper = not judged["name"].endswith("_min")
    found = f"no value ({judged['why']})" if judged["found"] is None else f"{judged['found']:g}"
    few = "" if judged["enough"] else " (too few requests for this percentile)"
    return f"{judged['name']}: {found} {'meets' if judged['met'] else 'misses'} {'at most' if upper else 'at least'} {judged['wanted']:g}{few}"
