# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison as one HTML page that needs no network and no script. Pure."""

from __future__ import annotations

import html
import typing as t

from ..report import svg
from . import comparison

Facts = dict[str, t.Any]

STYLE = """
:root{color-scheme:light dark;--back:#fff;--card:#f6f8fa;--ink:#1f2328;--soft:#59636e;--rule:#d1d9e0;
--c0:#57606a;--c1:#b35900;--c2:#8250df;--c3:#0a6ebd;--c4:#1a7f37;--c5:#bf3989;--c6:#7d4e00}
@media(prefers-color-scheme:dark){:root{--back:#0d1117;--card:#161b22;--ink:#e6edf3;--soft:#9198a1;--rule:#30363d;
--c0:#9198a1;--c1:#f0883e;--c2:#bc8cff;--c3:#58a6ff;--c4:#56d364;--c5:#f778ba;--c6:#d4a72c}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1240px;padding:16px;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:1.5rem;line-height:1.25;margin:.4em 0}h2{font-size:1.1rem;margin:0 0 .5em}
.headline{font-size:1.15rem;margin:.2em 0 1em}.soft{color:var(--soft);font-size:.9rem}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;padding:8px 0;margin:0;list-style:none;
position:sticky;top:0;background:var(--back);border-bottom:1px solid var(--rule)}
.legend svg{width:34px;height:10px;vertical-align:middle;margin-right:6px}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:16px;margin:16px 0}
figure{margin:0;background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:12px}
figcaption{font-weight:600;margin-bottom:4px}figcaption small{display:block;font-weight:400;color:var(--soft)}
figure svg{width:100%;height:auto;display:block}
svg text{fill:var(--soft);font:13px system-ui,-apple-system,"Segoe UI",sans-serif}svg text.value{fill:var(--ink);font-weight:600}
.grid{stroke:var(--rule);stroke-width:1}.line{fill:none;stroke-width:2.5;stroke-linejoin:round}
.scroll{overflow-x:auto;border:1px solid var(--rule);border-radius:8px;margin:0 0 16px}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:5px 10px;text-align:right;white-space:nowrap}th:nth-child(2),td:nth-child(2){text-align:left}
thead th{background:var(--card);border-bottom:1px solid var(--rule);vertical-align:bottom;white-space:normal;min-width:4.5em}
@media(max-width:640px){svg text{font-size:18px}}
tr.first td{border-top:1px solid var(--rule)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;font-size:.9rem;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
"""
DASHES = ("2 4", "8 4", "8 3 2 3", "", "12 3", "4 2", "1 3")


def page(found: Facts) -> str:
    """The whole page of a comparison, as comparison.results makes it."""
    names = [run["preset"] for run in found["runs"]]
    rates = _rates(found)
    charts = [*([_ladder(found)] if len(rates) > 1 else []), *(_distribution(found, rate) for rate in rates), _hits(found), _servers(found)]
    warning = "" if found["valid"] else "<p>† The client itself was late in some stages: their numbers say nothing about the servers.</p>"
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>Scheduling presets compared</title><style>{STYLE}{series_style()}</style></head><body>",
            "<h1>The same requests, scheduled differently</h1>",
            f'<p class="headline">{html.escape(found["headline"])}</p>',
            warning,
            legend(names),
            f'<div class="charts">{"".join(charts)}</div>',
            "<h2>All numbers</h2>",
            _table(found),
            '<p class="soft">TTFT is the time to first token, counted from the moment the request was due, for requests that succeeded. Percentiles interpolate '
            "between neighbours. Cache hits are prompt tokens that the servers took from their prefix cache, as they say in each answer.</p>",
            "<h2>What was measured</h2>",
            definitions(found["about"]),
            "</body></html>\n",
        ]
    )


def series_style() -> str:
    """The colours and dashes of the series."""
    rule = ".line.s{0}{{stroke:var(--c{0});stroke-dasharray:{1}}}.dot.s{0},rect.s{0}{{fill:var(--c{0})}}"
    return "".join(rule.format(index, dash or "none") for index, dash in enumerate(DASHES))


def legend(names: list[str]) -> str:
    """The names of the series, with their lines."""
    item = '<li><svg viewBox="0 0 34 10" aria-hidden="true"><path class="line s{0}" d="M0 5H34"/></svg>{1}</li>'
    return f'<ul class="legend">{"".join(item.format(index, html.escape(name)) for index, name in enumerate(names))}</ul>'


def figure(title: str, note: str, chart: str) -> str:
    """A chart with its words."""
    return f"<figure><figcaption>{html.escape(title)}<small>{html.escape(note)}</small></figcaption>{chart}</figure>"


def _rates(found: Facts) -> list[float]:
    return [stage["rate"] for stage in found["runs"][0]["stages"]]


def _ladder(found: Facts) -> str:
    series = [(run["preset"], [(stage["rate"], stage[comparison.LATENCY]["p90"]) for stage in run["stages"]]) for run in found["runs"]]
    title = "Time to first token, 90th percentile, by rate"
    chart = svg.line_chart(title, series, svg.Axis("requests per second", low=0.0), svg.Axis("milliseconds (log)", log=True))
    return figure(title, "Lower is better.", chart)


def _distribution(found: Facts, rate: float) -> str:
    series = [(run["preset"], next((stage["ttft_cdf"] for stage in run["stages"] if stage["rate"] == rate), [])) for run in found["runs"]]
    title = f"Time to first token at {rate:g} requests/s"
    across, up = svg.Axis("milliseconds (log)", log=True), svg.Axis("share of requests", low=0.0, high=1.0)
    chart = svg.line_chart(title, series, across, up, dots=False, steps=True)
    return figure(title, "Share of requests that had their first token by then. Further left is better.", chart)


def _hits(found: Facts) -> str:
    bars = [(run["preset"], [(run["total"]["hit_ratio"] or 0) * 100]) for run in found["runs"]]
    title = "Prompt tokens found in the prefix cache"
    return figure(title, "All rates together.", svg.bar_chart(title, bars, svg.Axis("percent", high=100.0), " %", "group"))


def _servers(found: Facts) -> str:
    bars = [(run["preset"], sorted(run["total"]["servers"].values(), reverse=True)) for run in found["runs"]]
    title = "Requests per server"
    return figure(title, "Each bar is a server, the busiest first. All rates together.", svg.bar_chart(title, bars, svg.Axis("requests"), "", "group"))


def _table(found: Facts) -> str:
    head, *body = comparison.rows(found)
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    rows = []
    for index, row in enumerate(body):
        first = index % len(found["runs"]) == 0
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        rows.append(f'<tr class="first">{cells}</tr>' if first else f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr>{names}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def definitions(about: Facts) -> str:
    """Names and what they stand for; what is empty is left out."""
    told = [(str(name), _said(value)) for name, value in about.items() if value not in (None, "", [], {})]
    return "<dl>" + "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(said)}</dd>" for name, said in told) + "</dl>"


def _said(value: t.Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_said(inner)}" for name, inner in value.items())
    return ", ".join(map(_said, value)) if isinstance(value, list) else str(value)
