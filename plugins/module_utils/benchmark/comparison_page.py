# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTML page of a comparison. Pure."""

from __future__ import annotations

from ..common.objects import Facts
from ..report import html, svg
from . import comparison


def page(results: Facts) -> str:
    """The page of a comparison, as comparison.results returns it."""
    names = [run["preset"] for run in results["runs"]]
    rates = _rates(results)
    charts = [*([_ladder(results)] if len(rates) > 1 else []), *(_distribution(results, rate) for rate in rates), *_hits(results), _servers(results)]
    warning = "" if results["valid"] else "<p>† The client itself was late in some stages: their numbers say nothing about the servers.</p>"
    parts = [
        html.of(results["about"]),
        f'<p class="headline">{html.escape(results["headline"])}</p>',
        warning,
        html.legend(names),
        f'<div class="charts">{"".join(charts)}</div>',
        "<h2>All numbers</h2>",
        html.table(comparison.rows(results), group=len(names)),
        '<p class="soft">TTFT is the time to first token, counted from the moment the request was due. Percentiles interpolate between neighbours; in them a '
        "request that failed lasts forever, and - is the time of one of those. Cache hits are prompt tokens that the servers took from their prefix cache, as "
        "each answer reports.</p>",
        *(f'<p class="soft">{html.escape(note)}</p>' for note in comparison.explained(results)),
        "<h2>What was measured</h2>",
        html.definitions(results["about"]),
    ]
    return html.document("Scheduling presets compared", "".join(parts), "The same requests, scheduled differently")


def _rates(results: Facts) -> list[float]:
    return [stage["rate"] for stage in results["runs"][0]["stages"]]


def _ladder(results: Facts) -> str:
    series = [(run["preset"], [(stage["rate"], stage[comparison.LATENCY]["p90"]) for stage in run["stages"]]) for run in results["runs"]]
    title = "Time to first token, 90th percentile, by rate"
    chart = svg.line_chart(title, series, svg.Axis("target requests per second", low=0.0), svg.Axis("milliseconds", wide=True))
    return html.figure(title, "Lower is better.", chart)


def _distribution(results: Facts, rate: float) -> str:
    series: list[tuple[str, list[svg.Point]]] = [
        (run["preset"], next((stage["ttft_cdf"] for stage in run["stages"] if stage["rate"] == rate), [])) for run in results["runs"]
    ]
    title = f"Time to first token at {rate:g} requests/s"
    across, up = svg.Axis("milliseconds", log=True), svg.Axis("share of requests", low=0.0, high=1.0)
    chart = svg.line_chart(title, series, across, up, dots=False, steps=True)
    return html.figure(title, "The share of the successful requests that had their first token by this time. Further left is better.", chart)


def _hits(results: Facts) -> list[str]:
    """The chart of cache hits, of the presets under which servers reported them; empty where none did."""
    bars = [(run["preset"], [] if run["total"]["hit_ratio"] is None else [run["total"]["hit_ratio"] * 100]) for run in results["runs"]]
    title = "Prompt tokens found in the prefix cache"
    if not any(values for _preset, values in bars):
        return []
    return [html.figure(title, "All rates together.", svg.bar_chart(title, bars, svg.Axis("percent", high=100.0), " %", "group"))]


def _servers(results: Facts) -> str:
    bars = [(run["preset"], sorted(run["total"]["servers"].values(), reverse=True)) for run in results["runs"]]
    title = "Requests per server"
    return html.figure(title, "Each bar is a server, the busiest first. All rates together.", svg.bar_chart(title, bars, svg.Axis("requests"), "", "group"))
