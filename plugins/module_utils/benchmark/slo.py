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

from .totals import FLOOR_MS, GOOD, LATENCIES, MAX_UNSENT, TIMED, Allowed, Totals

_LATENCY = re.compile(r"(?P<metric>[a-z0-9_]+?)_(?P<stat>mean|max|p(?P<whole>\d{1,2})(?:_(?P<part>\d{1,2}))?)_ms")
ERRORS = "error_rate_max"
SHARES = (ERRORS, "goodput_share_min")  # from 0 to 1
_RATES = ("requests_per_s", "output_tokens_per_s", "prompt_tokens_per_s", "total_tokens_per_s", "goodput_per_s", "goodput_share")
_AT_ONCE = (
    "the tokens of each answer came in one piece, so that there is no time between them: stream is false, a proxy on the way buffers streams, "
    "or answers have a single token"
)
_UNCOUNTED = "the tokens were not counted"
# Why successful requests may lack a latency.
ABSENT = {"tpot": _AT_ONCE, "itl": _AT_ONCE, "ntpot": _UNCOUNTED, "queue": "the server does not report it (queue_time_ms)"}
MIN_ABOVE = 1  # requests that must lie above a percentile; with fewer, it depends on a single request

# (name of a latency, its measured value) -> milliseconds by which the client was late
_Lateness = c.Callable[[str, float], float]


class Rule(t.NamedTuple):
    """One objective. `name`: as the user wrote it; `metric`: a latency, a rate or a share; `stat`: of a latency: mean, max or a percentile, which is also
    the number `percent`; `bound`: milliseconds of a latency; `upper`: whether it is an upper bound."""

    name: str
    metric: str
    stat: str
    percent: float | None
    bound: float
    upper: bool


def _number(value: t.Any) -> float:
    """A number; nan for any other value, and for an integer that no float holds."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def rules(slo: c.Mapping[str, t.Any]) -> list[Rule]:
    """Objectives such as {ttft_p90_ms: 500, output_tokens_per_s_min: 1000, error_rate_max: 0.01}. Raises ValueError with all problems."""
    parsed, problems = [], []
    for name, value in slo.items():
        rule, bound = None, _number(value)
        if not (bound >= 0 and math.isfinite(bound)):
            problems.append(f"slo.{name}: {value!r} is not a number of at least 0")
            continue
        if name == ERRORS and bound == 1:
            problems.append(f"slo.{name}: {value!r} always holds; for 1 % write 0.01")
            continue
        if name in SHARES and bound > 1:
            problems.append(f"slo.{name}: {value!r} is not a share from 0 to 1; for {bound:g} % write {bound / 100:g}")
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
            parsed.append(rule)
    if problems:
        raise ValueError("; ".join(problems))
    return parsed


def good_problems(good: c.Mapping[str, t.Any]) -> list[str]:
    """Mistakes in the bounds of a good request, one line each."""
    problems = [f"goodput.{name}: no such bound; write {', '.join(GOOD)}" for name in good if name not in GOOD]
    return problems + [
        f"goodput.{name}: {value!r} is not a number above 0"
        for name, value in good.items()
        if name in GOOD and (not isinstance(value, (int, float)) or not (_number(value) > 0 and math.isfinite(_number(value))))
    ]


def judge(objectives: c.Iterable[Rule], totals: Totals, allowed: Allowed) -> list[dict[str, t.Any]]:
    """Each objective of a stage and whether it is met: [{name, wanted, measured, met, enough, clear, late, in_doubt, why}].

    wanted: the bound.
    measured: the value; None where there is none and where it is infinite, for the reason `why`.
    enough: whether there were enough requests for the percentile, or a percentile with too few misses its bound beyond chance.
    clear: whether `met` stays the same with the lateness of this client counted in: added where it is met, subtracted where it is missed.
    late: the lateness of this client in milliseconds where it is more than is allowed, else 0.
    in_doubt: whether lateness that is more than is allowed may decide `met`.
    """
    summary = totals.summary(allowed)
    return [_judge(rule, totals, summary, allowed) for rule in objectives]


def why_invalid(objectives: c.Sequence[Rule], totals: Totals, allowed: Allowed) -> str | None:
    """Why a stage does not measure the server, None where it does: this client could not send, or was so late that this may decide whether an objective is
    met. Without objectives, any lateness that is more than is allowed is a reason."""
    if (why := totals.exhausted()) or not objectives:
        return why or totals.lateness(allowed)
    doubts = [objective_line(judged) for judged in judge(objectives, totals, allowed) if judged["in_doubt"]]
    return f"the client was too late to know whether objectives are met: {'; '.join(doubts)}" if doubts else None


def missed(objectives: c.Sequence[Rule], totals: Totals, allowed: Allowed) -> bool | None:
    """Whether a stage misses any objective; None where it misses only percentiles for which it has too few requests, which may be chance."""
    misses = [judged["enough"] for judged in judge(objectives, totals, allowed) if not judged["met"]]
    return False if not misses else True if any(misses) else None


def _beyond_chance(rule: Rule, totals: Totals) -> bool:
    """Whether even the lower end of the confidence interval of a percentile misses its bound."""
    hist, lost = totals.hist[rule.metric], totals.lost(rule.metric)
    count = _requests_with_value(rule, totals)
    least = hist.least(t.cast(float, rule.percent), count, lost) if count else None
    return least is not None and least > rule.bound


def _requests_with_value(rule: Rule, totals: Totals) -> int:
    """How many requests have a value of this latency, failed ones included. A request may have many values, as of ITL, or none."""
    return min(totals.requests, totals.hist[rule.metric].n + totals.failed)


def _judge(rule: Rule, totals: Totals, summary: c.Mapping[str, t.Any], allowed: Allowed) -> dict[str, t.Any]:
    value, enough = _value(rule, totals, summary), True
    if rule.percent is not None:
        enough = _requests_with_value(rule, totals) * (1 - rule.percent / 100) >= MIN_ABOVE - 1e-9
    met = _holds(rule, value)
    enough = enough or (not met and (value is None or _beyond_chance(rule, totals)))
    known = None if value is None or math.isinf(value) else round(value, 5)
    why = _why(rule, totals) if known is None else None
    judged = {
        "name": rule.name,
        "wanted": rule.bound,
        "measured": known,
        "met": met,
        "enough": enough,
        "clear": True,
        "late": 0.0,
        "in_doubt": False,
        "why": why,
    }
    if known is None:
        return judged
    client = _ClientLateness(totals, allowed, 99 if rule.percent is None else rule.percent)
    clear, sure = (_clear(rule, known, lateness, client, summary) for lateness in (client.whole, client.not_allowed))
    return {**judged, "clear": clear, "late": round(client.not_allowed(rule.metric, known), 3), "in_doubt": not sure}


class _ClientLateness:
    """How late the client was, in milliseconds, at one percentile. `unsent`: the share of the load that it may have left out."""

    def __init__(self, totals: Totals, allowed: Allowed, percent: float) -> None:
        self.totals, self._allowed, self._percent = totals, allowed, percent
        self._stalled = totals.stalled(allowed) is not None
        self.unsent = totals.unsent() if self._stalled else 0.0

    def whole(self, metric: str, _measured: float = 0.0) -> float:
        """The milliseconds of a latency that may be the client's own."""
        if metric not in LATENCIES or metric == "send_lag" or not (self._stalled or metric in TIMED):
            return 0.0
        # a client that stalled sent its requests in bursts, which also makes latencies longer that are counted from the actual send
        return self.totals.late("ttft_from_schedule" if self._stalled else metric, self._percent)

    def not_allowed(self, metric: str, measured: float) -> float:
        """As `whole` where that is more than the allowed share of the measured value, else 0."""
        late, share = self.whole(metric), self._allowed.share
        return late if late > max(FLOOR_MS, share * measured) and (share or self._stalled) else 0.0


def _holds(rule: Rule, value: float | None) -> bool:
    return value is not None and (value <= rule.bound if rule.upper else value >= rule.bound)


def _clear(rule: Rule, value: float, lateness: _Lateness, client: _ClientLateness, summary: c.Mapping[str, t.Any]) -> bool:
    """Whether an objective that is met or missed stays so with this lateness counted in."""
    met, totals, sent = _holds(rule, value), client.totals, 1 - client.unsent  # `sent`: the share of the load that was surely sent
    if rule.metric.startswith("goodput"):
        alone = 1 / totals.requests if rule.metric == "goodput_share" else summary["requests_per_s"] / max(1, totals.ok)
        of_one = value / totals.good if totals.good else alone  # what one good request adds to the value
        least, most = (count * of_one for count in _good(totals, lateness))
        return _holds(rule, least) and sent >= 1 - MAX_UNSENT if met else not _holds(rule, most / sent)
    if not rule.upper:  # a rate: the lateness of a client does not make it higher
        return met or not _holds(rule, value / sent)
    late = lateness(rule.metric, value)
    return _holds(rule, value + late) and sent >= 1 - MAX_UNSENT if met else not _holds(rule, value - late)


def _good(totals: Totals, lateness: _Lateness) -> tuple[int, int]:
    """(least, most) good requests: with the lateness of this client added to each latency, and subtracted from it."""
    least = most = totals.good
    for name, bound in totals.bounds.items():
        above, late = totals.hist[GOOD[name]].above, lateness(GOOD[name], bound)
        least -= above(bound - late) - above(bound)
        most += above(bound) - above(bound + late)
    return max(0, least), min(totals.ok, most)


def _why(rule: Rule, totals: Totals) -> str:
    """Why an objective has no value."""
    if not totals.requests:
        return "no request was due"
    if not totals.ok:
        return "no request succeeded"
    if rule.metric in ABSENT and not totals.hist[rule.metric].n:
        return ABSENT[rule.metric]
    if rule.metric.endswith("_tokens_per_s"):
        return _UNCOUNTED
    return f"{totals.failed} of {totals.requests} requests failed; failed requests count as infinite latency"


def _value(rule: Rule, totals: Totals, summary: c.Mapping[str, t.Any]) -> float | None:
    """The measured value of an objective: infinite where failed requests decide it, None where there is none."""
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


def objective_line(judged: c.Mapping[str, t.Any]) -> str:
    """One judged objective as a line of text."""
    side = "at least" if judged["name"].endswith("_min") else "at most"
    value = f"no value ({judged['why']})" if judged["measured"] is None else f"{judged['measured']:g}"
    few = "" if judged["enough"] else " (too few requests for this percentile)"
    late = f"the client was {judged['late']:.3g} ms late" if judged["late"] else "the client was late"
    lateness = f", but {late}, which may decide that" if judged["in_doubt"] else f"; {late}, which does not decide that" if judged["late"] else ""
    return f"{judged['name']}: {value} {'meets' if judged['met'] else 'misses'} the objective of {side} {judged['wanted']:g}{few}{lateness}"
