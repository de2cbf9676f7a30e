# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries about one service, for its alerts and dashboards: each signal of releases/metrics.py in PromQL. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...common.objects import Facts
from ...releases.engines import MetricSource
from ...releases.metrics import STARTED
from .promql import SCRAPES, duration, pod_matches, pods_of, selector, sources_of

_RANGE = 300  # seconds of a rate, if scrapes are frequent enough
# Range in which restarts are counted.
RESTARTS = "15m"
# A function from the selector of a metric to an expression.
Shape = t.Callable[[str], str]


@dataclasses.dataclass(frozen=True)
class Query:
    """A query. expr: PromQL; metrics: in it, of which one has to exist; until: the event before which it has no series; legend: of its lines."""

    expr: str
    metrics: tuple[str, ...]
    until: str = ""
    legend: str = ""

    def __bool__(self) -> bool:
        return bool(self.expr)

    def facts(self) -> Facts:
        """{expr, metrics, until}, as the claims take a query."""
        return {"expr": self.expr, "metrics": list(self.metrics), "until": self.until}


NOTHING = Query("", ())


class Queries:
    """Queries about a service. `planned`: its servers; `picker`: its endpoint picker; both as planned.

    A query is empty if the engine or the release line does not export the signal.
    """

    def __init__(self, service: Facts, planned: t.Sequence[Facts], picker: Facts, release: Facts, namespace: str, interval: int) -> None:
        self._service, self._namespace, self._release = service, namespace, release
        self.servers = planned
        self.answering = [server for server in planned if server["role"] == "decode"]
        self.pickers = (picker,)
        self.range = duration(max(_RANGE, SCRAPES * interval))

    def up(self, parts: t.Sequence[Facts]) -> str:
        """The selector of `up`: 1 for each pod that answered the last scrape, 0 for each that did not."""
        return self._selected(MetricSource("up"), parts)

    def server(self, signal: str, shape: Shape, parts: t.Sequence[Facts] | None = None, legend: str = "", suffix: str = "", until: str = "") -> Query:
        """The query of a signal of servers. parts: these servers; None for all."""
        sources = sources_of(self._service, signal)
        exprs = [shape(self._selected(source, parts or self.servers, suffix)) for source in sources]
        return Query(" or ".join(exprs), tuple(source.metric + suffix for source in sources), until, legend)

    def picker(
        self,
        signal: str,
        shape: Shape,
        where: t.Iterable[tuple[str, str]] = (),
        matchers: t.Iterable[str] = (),
        legend: str = "",
        suffix: str = "",
        until: str = "",
    ) -> Query:
        """The query of a signal of the endpoint picker. where: labels and their values; matchers: further matchers."""
        name = self._release["metrics"].get(signal)
        if not name:
            return NOTHING
        chosen = self._selected(MetricSource(name, tuple(where)), self.pickers, suffix)
        return Query(shape(chosen[:-1] + "".join(f",{matcher}" for matcher in matchers) + "}"), (name + suffix,), until, legend)

    def server_quantiles(self, signal: str) -> list[Query]:
        """Median and 99th percentile of a histogram of the servers that answer clients."""
        queries = [self.server(signal, self.buckets, self.answering, suffix="_bucket") for _share in (0.5, 0.99)]
        return [_quantile(query, share) for query, share in zip(queries, (0.5, 0.99), strict=True) if query]

    def picker_quantiles(self, signal: str) -> list[Query]:
        """Median and 99th percentile of a histogram of the endpoint picker."""
        query = self.picker(signal, self.buckets, suffix="_bucket")
        return [_quantile(query, share) for share in (0.5, 0.99) if query]

    def restarts(self, parts: t.Sequence[Facts]) -> Query:
        """Restarts of each pod in the range RESTARTS; for a process that does not export its start time, the number of times that it stopped answering."""
        started, answers = self._selected(MetricSource(STARTED), parts), self.up(parts)
        expr = f"sum by (pod) (changes({started}[{RESTARTS}])) or sum by (pod) (resets({answers}[{RESTARTS}]))"
        return Query(expr, (STARTED, "up"), "", "{{pod}}")

    def buckets(self, chosen: str) -> str:
        """Shape of a histogram: the rate of its buckets."""
        return f"sum by (le) (rate({chosen}[{self.range}]))"

    def rate(self, chosen: str) -> str:
        """Shape of a counter: its sum per second."""
        return f"sum(rate({chosen}[{self.range}]))"

    def rate_by(self, *labels: str) -> Shape:
        """Shape of a counter: its sum per second, by these labels."""
        return lambda chosen: f"sum by ({', '.join(labels)}) (rate({chosen}[{self.range}]))"

    def _selected(self, source: MetricSource, parts: t.Sequence[Facts], suffix: str = "") -> str:
        return selector(
            source.metric + suffix, source.where, pod_matches([part.get("namespace", self._namespace) for part in parts], [pods_of(part) for part in parts])
        )


def _quantile(query: Query, share: float) -> Query:
    return Query(f"histogram_quantile({share:g}, {query.expr})", query.metrics, query.until, f"p{share * 100:g}")


def by_pod(how: str) -> Shape:
    """Shape of a gauge: one line for each pod."""
    return lambda chosen: f"{how} by (pod) ({chosen})"


def divided(above: Query, below: Query, legend: str) -> Query:
    """The ratio of two queries; empty if one of them is."""
    if not above or not below:
        return NOTHING
    return Query(f"({above.expr}) / ({below.expr})", above.metrics + below.metrics, above.until or below.until, legend)
