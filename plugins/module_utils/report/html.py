# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shell of every HTML page, and the parts that pages share: tables, figures, legends, definition lists. Pure.

A page needs no network and no script, and follows the light or dark theme of the browser.
"""

from __future__ import annotations

import collections.abc as c
import html
import typing as t

from ..common.text import printable
from .text import subject

STYLE = """
:root{color-scheme:light dark;--back:#fff;--card:#f6f8fa;--ink:#1f2328;--soft:#59636e;--rule:#d1d9e0;
--c0:#57606a;--c1:#b35900;--c2:#8250df;--c3:#0a6ebd;--c4:#1a7f37;--c5:#bf3989;--c6:#7d4e00}
@media(prefers-color-scheme:dark){:root{--back:#0d1117;--card:#161b22;--ink:#e6edf3;--soft:#9198a1;--rule:#30363d;
--c0:#9198a1;--c1:#f0883e;--c2:#bc8cff;--c3:#58a6ff;--c4:#56d364;--c5:#f778ba;--c6:#d4a72c}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1240px;padding:16px;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:1.5rem;line-height:1.25;margin:.4em 0}h2{font-size:1.1rem;margin:0 0 .5em}
.verdict{display:inline-block;border-radius:6px;padding:2px 12px;font-weight:600;color:#fff;background:#59636e}
.verdict.passed{background:#1a7f37}.verdict.failed{background:#b3261e}.verdict.invalid,.verdict.inconclusive{background:#9a6700}
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


class Markup(str):
    """HTML that a table shows as it is."""


def escape(text: str) -> str:
    """A text as HTML shows it, attributes included; without control characters."""
    return html.escape(printable(text))


def document(title: str, body: str, heading: str | None = None, style: str = "") -> str:
    """A whole page. `body`: its HTML below the heading, which is the title where none is given; `style`: CSS after the shared style sheet."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{_series_style()}{style}</style></head><body>"
        f"<h1>{escape(heading or title)}</h1>{body}</body></html>\n"
    )


def of(about: c.Mapping[str, t.Any]) -> str:
    """The deployment of a report, as a paragraph; empty where `about` does not name it."""
    return f'<p class="soft">{escape(subject(about))}</p>' if subject(about) else ""


def _series_style() -> str:
    """Colors and dashes of the series `s0`, `s1`, ... of charts and legends."""
    alone = ".line.only{stroke:var(--ink)}.dot.only{fill:var(--ink)}"
    rule = ".line.s{0}{{stroke:var(--c{0});stroke-dasharray:{1}}}.dot.s{0},rect.s{0}{{fill:var(--c{0})}}"
    return alone + "".join(rule.format(index, dash or "none") for index, dash in enumerate(DASHES))


def series_class(index: int, count: int) -> str:
    """The class of a series, which has its color and its dashes: of a single one a full line."""
    return "only" if count == 1 else f"s{index}"


def legend(names: c.Iterable[str]) -> str:
    """The names of the series, each with its line."""
    item, every = '<li><svg viewBox="0 0 34 10" aria-hidden="true"><path class="line {0}" d="M0 5H34"/></svg>{1}</li>', list(names)
    return f'<ul class="legend">{"".join(item.format(series_class(index, len(every)), escape(name)) for index, name in enumerate(every))}</ul>'


def figure(title: str, note: str, chart: str) -> str:
    """A chart with its caption."""
    return f"<figure><figcaption>{escape(title)}<small>{escape(note)}</small></figcaption>{chart}</figure>"


def link(target: str, text: str) -> Markup:
    """A link to a page beside this one."""
    return Markup(f'<a href="{escape(target)}">{escape(text)}</a>')


def table(rows: c.Sequence[c.Sequence[str]], group: int = 0) -> str:
    """A table whose first row is its head. A line is drawn above every `group` rows."""
    head, *body = rows
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    marks = [' class="first"' if group and index % group == 0 else "" for index in range(len(body))]
    lines = "".join(
        f"<tr{mark}>{''.join(f'<td>{cell if isinstance(cell, Markup) else escape(cell)}</td>' for cell in row)}</tr>"
        for mark, row in zip(marks, body, strict=True)
    )
    return f'<div class="scroll"><table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table></div>'


def definitions(about: c.Mapping[str, t.Any]) -> str:
    """Names and their values as a definition list, without those that are empty."""
    entries = [(str(name), _plain(value)) for name, value in about.items() if value not in (None, "", [], {})]
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in entries) + "</dl>"


def _plain(value: t.Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(inner)}" for name, inner in value.items())
    return ", ".join(map(_plain, value)) if isinstance(value, list) else str(value)
