# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict as one HTML page, without scripts or external resources. Pure."""

from __future__ import annotations

import collections.abc as c
import urllib.parse

from ..common.objects import Facts
from ..report import html
from .verdict import curl

STYLE = """
h2{margin:1.4em 0 .4em}ul.claims{list-style:none;margin:0;padding:0;border:1px solid var(--rule);border-radius:8px;overflow:hidden}
.claims li{display:grid;grid-template-columns:4.2em 1fr max-content;gap:0 12px;padding:8px 12px;border-top:1px solid var(--rule)}
.claims li:first-child{border-top:0}.claims li.fail{background:color-mix(in srgb,#b3261e 12%,var(--back))}
.mark{font-weight:600;color:var(--c4)}.fail .mark{color:#b3261e}.skip .mark{color:var(--soft)}
@media(prefers-color-scheme:dark){.fail .mark{color:#ff8b80}}
.name{font-weight:600;overflow-wrap:anywhere}.time{color:var(--soft);font-size:.9rem;font-variant-numeric:tabular-nums}
.claims p{grid-column:2/-1;margin:2px 0 0;overflow-wrap:anywhere}.remedy::before{content:"What to do: ";font-weight:600}
pre{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:10px;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}
@media(max-width:640px){.claims li{grid-template-columns:2.6em 1fr max-content;gap:0 8px}}
"""


def page(content: Facts) -> str:
    """The HTML page of a verdict, given as in verdict.json."""
    claims, skipped = content["claims"], content["not_checked"]
    failed = [entry for entry in claims if not entry["ok"]]
    groups = dict.fromkeys(entry["group"] for entry in claims)
    headline = (
        f"All {len(claims)} claims hold." if content["ok"] else f"{len(failed)} of {len(claims)} claims do not hold." if claims else "Nothing was checked."
    )
    parts = [
        html.of(content),
        f'<p class="headline"><span class="verdict {"passed" if content["ok"] else "failed"}">{"OK" if content["ok"] else "NOT OK"}</span> {headline}</p>',
        section("Claims that do not hold", failed),
        *(section(group.capitalize(), [entry for entry in claims if entry["group"] == group]) for group in groups),
        section("Not checked", [{"id": entry["id"], "evidence": entry["why"]} for entry in skipped]),
        _measured(claims),
        _endpoints(content["endpoints"]),
        "<h2>What was checked</h2>",
        html.definitions({"time": content["time"], **{key: content.get(key) for key in ("instance", "namespace", "cluster")}, **content["versions"]}),
    ]
    return html.document("Verdict", "".join(parts), style=STYLE)


def section(title: str, entries: c.Sequence[Facts]) -> str:
    """Entries under a heading; empty where there are none."""
    if not entries:
        return ""
    return f'<h2>{html.escape(title)}</h2><ul class="claims">{"".join(_entry(entry) for entry in entries)}</ul>'


def _entry(entry: Facts) -> str:
    kind = "skip" if "ok" not in entry else "ok" if entry["ok"] else "fail"
    mark = {"skip": "&ndash;", "ok": "ok", "fail": "FAIL"}[kind]
    time = f"{entry['seconds']:.2f} s" if "seconds" in entry else ""
    remedy = f'<p class="remedy">{html.escape(entry["remedy"])}</p>' if entry.get("remedy") else ""
    return (
        f'<li class="{kind}"><span class="mark">{mark}</span><span class="name">{html.escape(entry["id"])}</span><span class="time">{time}</span>'
        f"<p>{html.escape(entry['evidence'])}</p>{remedy}</li>"
    )


def _measured(claims: c.Sequence[Facts]) -> str:
    """Links to the plots of each load, by paths relative to this page."""
    names = [entry["id"].removesuffix("/performance") for entry in claims if entry["id"].endswith("/performance")]
    links = "".join(f'<li><a href="performance/{urllib.parse.quote(name)}/report.html">{html.escape(name)}</a></li>' for name in names)
    return f"<h2>Plots of the load</h2><ul>{links}</ul>" if links else ""


def _endpoints(endpoints: c.Sequence[Facts]) -> str:
    return "<h2>Send a request</h2>" + "".join(f"<pre>{html.escape(curl(entry))}</pre>" for entry in endpoints) if endpoints else ""
