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

from .totals import FLOOR, GOOD, LATENCIES, LIGHTER, TIMED, Allowed, Totals

_LATENCY = re.compile(r"(?P<metric>[a-z0-9_]+?)_(?P<stat>mean|max|p(?P<whole>\d{1,2})(?:_(?P<part>\d{1,2}))?)_ms")
ERRORS = "error_rate_max"
SHARES = (ERRORS, "goodput_share_min")  # from 0 to 1
_RATES = ("requests_per_s", "output_tokens_per_s", "prompt_tokens_per_s", "total_tokens_per_s", "goodput_per_s", "goodput_share")
_AT_ONCE = (
    "the tokens of each answer came in one piece, so that there is no time between them: stream is false, something on the way holds streams back, "
    "or answers have a single token"
)
_UNCOUNTED = "the tokens were not counted"
# Why successful requests may lack a latency.
ABSENT = {"tpot": _AT_ONCE, "itl": _AT_ONCE, "ntpot": _UNCOUNTED, "queue": "the server does not report it (queue_time_ms)"}
ABOVE = 1  # requests that must lie above a percentile; with fewer, it depends on a single request


_Milliseconds = c.Callable[[str, float], float]  # of lateness, by the latency and its measured value


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
    parsed, problems = [], []
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
            parsed.append(rule)
    if problems:
        raise ValueError("; ".join(problems))
    return parsed


def good_problems(good: c.Mapping[str, t.Any]) -> list[str]:
    """Mistakes in the bounds of a good request, one line each."""
    problems = [f"goodput.{name}: no such bound; write {', '.join(GOOD)}" for name in good if name not in GOOD]
    return problems + [
        f"goodput.{name}: {value!r} is no number above 0"
        for name, value in good.items()
        if name in GOOD and (isinstance(value, bool) or not isinstance(value, (int, float)) or not (value > 0 and math.isfinite(value)))
    ]


def judge(wanted: c.Iterable[Rule], totals: Totals, allowed: Allowed) -> list[dict[str, t.Any]]:
    """[{name, wanted, found, met, enough, clear, late, in_doubt, why}]. `found` is None without a value and where it is infinite, `why` is then the reason;
    `enough`: whether there were enough requests for the percentile, or for its miss; `clear`: whether `met` is the same with the lateness of this client
    counted in, added where it is met and taken off where it is missed; `late`: the milliseconds of it that are more than is allowed; `in_doubt`: whether
    these may decide `met`."""
    summary = totals.summary(allowed)
    return [_judge(rule, totals, summary, allowed) for rule in wanted]


def invalid(wanted: c.Sequence[Rule], totals: Totals, allowed: Allowed) -> str | None:
    """Why a stage is no measure of the server: this client could not send, or was so late that it may decide objectives, or figures where there are no
    objectives. None for a valid stage."""
    if (why := totals.exhausted()) or not wanted:
        return why or totals.lateness(allowed)
    doubts = [objective_line(judged) for judged in judge(wanted, totals, allowed) if judged["in_doubt"]]
    return f"the client was too late to know whether objectives are met: {'; '.join(doubts)}" if doubts else None


def missed(wanted: c.Sequence[Rule], totals: Totals, allowed: Allowed) -> bool | None:
    """Whether a stage misses any objective; None where it misses only percentiles for which it has too few requests, which may be chance."""
    misses = [judged["enough"] for judged in judge(wanted, totals, allowed) if not judged["met"]]
    return False if not misses else True if any(misses) else None


def _beyond_chance(rule: Rule, totals: Totals) -> bool:
    """Whether even the lower end of the interval of a percentile misses its bound."""
    hist, lost = totals.hist[rule.metric], totals.lost(rule.metric)
    values = _values(rule, totals)
    least = hist.least(t.cast(float, rule.percent), values, lost) if values else None
    return least is not None and least > rule.bound


def _values(rule: Rule, totals: Totals) -> int:
    """The number of requests with a known latency, failed ones included: a request may have many values, or none."""
    return min(totals.requests, totals.hist[rule.metric].n + totals.failed)


def _judge(rule: Rule, totals: Totals, summary: c.Mapping[str, t.Any], allowed: Allowed) -> dict[str, t.Any]:
    value, enough = _value(rule, totals, summary), True
    if rule.percent is not None:
        enough = _values(rule, totals) * (1 - rule.percent / 100) >= ABOVE - 1e-9
    met = _holds(rule, value)
    enough = enough or (not met and (value is None or _beyond_chance(rule, totals)))
    known = None if value is None or math.isinf(value) else round(value, 5)
    why = _why(rule, totals) if known is None else None
    judged = {"name": rule.name, "wanted": rule.bound, "found": known, "met": met, "enough": enough, "clear": True, "late": 0.0, "in_doubt": False, "why": why}
    if known is None:
        return judged
    client = _Late(totals, allowed, rule.percent or 99)
    clear, beyond = (_clear(rule, known, late, client, summary) for late in (client.whole, client.beyond))
    return {**judged, "clear": clear, "late": round(client.beyond(rule.metric, known), 3), "in_doubt": not beyond}


class _Late:
    """How late the client was, in milliseconds, at one percentile."""

    def __init__(self, totals: Totals, allowed: Allowed, percent: float) -> None:
        self.totals, self._allowed, self._percent = totals, allowed, percent
        self._stalled = totals.stalled(allowed) is not None
        self.unsent = totals.unsent() if self._stalled else 0.0  # share of the load that it may have left out

    def whole(self, metric: str, _measured: float = 0.0) -> float:
        """The part of a latency that may be the client's own."""
        if metric not in LATENCIES or metric == "send_lag" or not (self._stalled or metric in TIMED):
            return 0.0
        # so late that its requests were sent in bursts: this affects also a time that is counted from the actual send
        return self.totals.late("ttft_from_schedule" if self._stalled else metric, self._percent)

    def beyond(self, metric: str, measured: float) -> float:
        """As `whole`, where that is more than the allowed share of the measured value; else 0."""
        late, share = self.whole(metric), self._allowed.share
        return late if late > max(FLOOR, share * measured) and (share or self._stalled) else 0.0


def _holds(rule: Rule, value: float | None) -> bool:
    return value is not None and (value <= rule.bound if rule.upper else value >= rule.bound)


def _clear(rule: Rule, value: float, late: _Milliseconds, client: _Late, summary: c.Mapping[str, t.Any]) -> bool:
    """Whether an objective is met, or missed, with and without this lateness."""
    met, totals, sent = _holds(rule, value), client.totals, 1 - client.unsent
    if rule.metric.startswith("goodput"):
        of_one = 1 / totals.requests if rule.metric == "goodput_share" else summary["requests_per_s"] / max(1, totals.ok)
        least, most = (count * (value / totals.good if totals.good else of_one) for count in _good(totals, late))
        return _holds(rule, least) and sent >= 1 - LIGHTER if met else not _holds(rule, most / sent)
    if not rule.upper:  # the lateness of a client does not make it higher
        return met or not _holds(rule, value / sent)
    lateness = late(rule.metric, value)
    return _holds(rule, value + lateness) and sent >= 1 - LIGHTER if met else not _holds(rule, value - lateness)


def _good(totals: Totals, late: _Milliseconds) -> tuple[int, int]:
    """How many requests are good with the lateness of this client added to each latency, at least, and without it, at most."""
    least = most = totals.good
    for name, bound in totals.bounds.items():
        above, lateness = totals.hist[GOOD[name]].above, late(GOOD[name], bound)
        least -= above(bound - lateness) - above(bound)
        most += above(bound) - above(bound + lateness)
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
    upper = not judged["name"].endswith("_min")
    value = f"no value ({judged['why']})" if judged["found"] is None else f"{judged['found']:g}"
    few = "" if judged["enough"] else " (too few requests for this percentile)"
    late = f"{judged['late']:.3g} ms by which the client was late" if judged["late"] else "a client that was late"
    own = f", but {late} may decide that" if judged["in_doubt"] else f", with the {late} counted in" if judged["late"] else ""
    return f"{judged['name']}: {value} {'meets' if judged['met'] else 'misses'} {'at most' if upper else 'at least'} {judged['wanted']:g}{few}{own}"
