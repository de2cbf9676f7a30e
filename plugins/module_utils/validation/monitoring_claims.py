# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims that a Prometheus has data for every query of the alerts and dashboards, and has loaded the alerts, from its responses."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import json
import typing as t
import urllib.parse

from ..common.clock import SYSTEM, Clock
from ..common.objects import Facts, dicts, get_path, mapping, text
from ..common.text import pluralize
from ..http.errors import ExchangeError
from ..http.transport import Transport
from ..http.urls import excerpt
from .claims import Claim, claim

# Seconds for one query, and between two checks of missing series.
_TIMEOUT, _PAUSE = 10.0, 5.0
# Problems that the evidence of a claim names.
_SHOWN = 3
# The range in which the metrics of a query without data are searched for.
_RANGE = "1h"


class PrometheusError(Exception):
    """Prometheus cannot be queried at all. remedy: how to correct that."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class QueryError(Exception):
    """Prometheus rejects one query."""


@dataclasses.dataclass(frozen=True)
class Missing:
    """A query without a series, and the reason."""

    title: str
    query: Facts
    why: str


class MonitoringCheck:
    """Queries one Prometheus. `namespace`: of the services; `clock`: measures the wait."""

    def __init__(self, transport: Transport, namespace: str, timeout: float, clock: Clock = SYSTEM) -> None:
        self._transport, self._namespace, self._clock = transport, namespace, clock
        self._end = self._clock.now() + timeout

    def service(self, service: c.Mapping[str, t.Any]) -> list[Claim]:
        """The claims `alerts` and `dashboards` of one service: {name, queried: {alerts, dashboards: [{title, queries}]}}."""
        return [self._claim(service, what, groups) for what, groups in service["queried"].items() if groups]

    def _claim(self, service: c.Mapping[str, t.Any], what: str, groups: c.Sequence[Facts]) -> Claim:
        start, name = self._clock.now(), f"{service['name']}/{what}"
        try:
            unloaded, firing = self._rules(service) if what == "alerts" else ([], [])
            missing, waiting, refused = self._queries(groups)
        except PrometheusError as error:
            return claim(name, False, str(error), error.remedy, self._clock.now() - start)
        count = len({query["expr"] for group in groups for query in group["queries"]})
        problems = [*unloaded, *refused, *(f"{each.title}: no series for {each.query['expr']} ({each.why})" for each in missing)]
        parts = [f"{pluralize(len(groups), 'alert')} loaded"] if what == "alerts" else [pluralize(len(groups), "panel")]
        parts.append(f"{count - len(waiting)} of {count} queries return data")
        parts += [f"{each.title} has none until {each.query['until']}" for each in waiting]
        parts += [f"firing now: {', '.join(firing)}"] if firing else []
        shown = "; ".join(problems[:_SHOWN]) + (f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else "")
        return claim(name, not problems, shown or "; ".join(parts), _remedy(unloaded, refused, missing), self._clock.now() - start)

    def _queries(self, groups: c.Sequence[Facts]) -> tuple[list[Missing], list[Missing], list[str]]:
        """(queries without data, queries that have none before an event, errors of rejected queries). Repeats queries until the first scrapes or the end."""
        pending = {query["expr"]: (group["title"], query) for group in reversed(groups) for query in group["queries"]}
        refused: list[str] = []
        while True:
            for expr, (title, _query) in list(pending.items()):
                try:
                    count = self._count(expr)
                except QueryError as error:
                    refused.append(f"{title}: Prometheus refuses {expr}: {error}")
                    count = 1
                if count:
                    del pending[expr]
            lacking = [query for _title, query in pending.values() if not query["until"]]
            if not lacking or self._clock.now() + _PAUSE >= self._end:
                break
            self._clock.sleep(_PAUSE)
        # Before such an event there is no metric, or one with other labels, such as another status.
        waiting = [Missing(title, query, "") for title, query in pending.values() if query["until"]]
        return [Missing(title, query, self._why(query)) for title, query in pending.values() if not query["until"]], waiting, refused

    def _why(self, query: Facts) -> str:
        """The reason why a query has no series: the metric does not exist, is not of these pods, or has other labels."""
        names = "|".join(query["metrics"])
        try:
            if not self._count(f'last_over_time({{__name__=~"{names}"}}[{_RANGE}])'):
                return _UNKNOWN
            own = self._count(f'last_over_time({{__name__=~"{names}",namespace="{self._namespace}"}}[{_RANGE}])')
        except QueryError as error:
            return f"and Prometheus refuses the query for the metric itself: {error}"
        return "the metric is there for other pods or labels only" if own else f"the metric has no series with namespace={self._namespace}"

    def _rules(self, service: c.Mapping[str, t.Any]) -> tuple[list[str], list[str]]:
        """(problems of the alerts as Prometheus has loaded them, names of the firing alerts)."""
        group = f"{self._namespace}/{service['name']}"
        while True:
            data = self._get(f"/api/v1/rules?type=alert&rule_group[]={urllib.parse.quote(group)}")
            loaded = [rule for entry in dicts(mapping(data).get("groups")) if entry.get("name") == group for rule in dicts(entry.get("rules"))]
            absent = [entry["title"] for entry in service["queried"]["alerts"] if entry["title"] not in [rule.get("name") for rule in loaded]]
            if not absent or self._clock.now() + _PAUSE >= self._end:
                break
            self._clock.sleep(_PAUSE)
        problems = [f"Prometheus has not loaded {pluralize(len(absent), 'alert')}: {', '.join(absent)}"] if absent else []
        problems += [f"{text(rule.get('name'))} cannot be evaluated: {excerpt(text(rule.get('lastError')))}" for rule in loaded if rule.get("health") == "err"]
        return problems, sorted({text(rule.get("name")) for rule in loaded if rule.get("state") == "firing"})

    def _count(self, expr: str) -> int:
        """The number of series that an expression has now. Raises QueryError, PrometheusError."""
        data = self._get(f"/api/v1/query?query={urllib.parse.quote(f'count({expr})')}")
        for sample in dicts(mapping(data).get("result")):
            value = sample.get("value")
            if isinstance(value, list) and len(value) == 2:
                try:
                    return int(float(text(value[1])))
                except (ValueError, OverflowError):
                    continue
        return 0

    def _get(self, path: str) -> t.Any:
        try:
            answer = self._transport.request("GET", path, headers={"Accept": "application/json"}, timeout=_TIMEOUT)
        except ExchangeError as error:
            remedy = _SILENT if error.kind in _OF_MODEL_SERVERS else error.remedy
            raise PrometheusError(f"Prometheus does not answer: {error}", f"{remedy}; {_WHERE}") from error
        try:
            page = json.loads(answer.body)
        except (ValueError, RecursionError):
            page = None
        status = get_path(page, "status")
        if status == "error" and answer.status < 500:
            raise QueryError(excerpt(text(get_path(page, "error"))))
        if status != "success":
            raise PrometheusError(f"{answer.request.partition('?')[0]}: {answer.status} {excerpt(answer.text)}", _ADDRESS)
        return get_path(page, "data")


_UNKNOWN = "Prometheus has no such metric"
# Kinds of errors whose remedy from the transport is about model servers.
_OF_MODEL_SERVERS = ("refused", "timeout")
_SILENT, _WHERE = "check that this Prometheus runs and has enough CPU", "its address is llm_d_monitoring.prometheus"
_ADDRESS = "write the address of a Prometheus under llm_d_monitoring.prometheus; one that requires a token is not supported"
_SELECT = "give PodMonitors and PrometheusRules the labels by which this Prometheus selects (llm_d_monitoring.labels), and have it look into the namespace"


def _remedy(unloaded: c.Sequence[str], refused: c.Sequence[str], missing: c.Sequence[Missing]) -> str:
    if unloaded:
        return f"{_SELECT}; read the log of the Prometheus operator"
    if refused:
        return "check llm_d_monitoring.prometheus: it has to understand PromQL"
    if all(each.why == _UNKNOWN for each in missing):
        return f"{_SELECT}; where it scrapes them, the running image has other metrics than llm_d_release and engine.type say"
    return "have Prometheus give its series the labels namespace and pod, as PodMonitors do"
