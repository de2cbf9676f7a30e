# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clusters of an inventory: one row for each, the table at the end of a run, and the HTML page. Pure."""

from __future__ import annotations

import collections
import collections.abc as c
import urllib.parse

from ..common.objects import Facts
from ..common.text import one_line, pluralize
from ..report import html
from ..report.text import WIDTH, cut
from .verdict_page import STYLE, section

NAME_WIDTH = 24
# States of a cluster, with their meanings as the page shows them.
STATES = {
    "ok": "all claims hold",
    "not ok": "claims do not hold",
    "refused": "its file has mistakes, nothing was changed",
    "unreachable": "its API server was not reached, or does not take the account",
    "failed": "a task failed",
    "stopped": "another cluster's failure ended the run",
    "done": "the run succeeded and requested no verdict",
    "no verdict": "no run has validated it yet",
}


def row(host: str, facts: Facts, time: str, stopped: bool, page: str) -> Facts:
    """The row of a cluster, from the facts of one run.

    facts: {inputs: result of the check of its file, failure: {task, msg, problems, reached} of the task that failed, verdict}; each can be absent.
    stopped: whether a failure of another cluster ends the run. page: link to the page of the verdict.
    """
    verdict, inputs, failure = facts.get("verdict"), facts.get("inputs") or {}, facts.get("failure")
    versions = verdict["versions"] if verdict else {}
    gateway = versions.get("gateway") or {}
    return {
        "host": host,
        "state": _state(verdict, failure, stopped),
        "time": verdict["time"] if verdict and verdict["time"] else time,
        "claims": {"held": sum(entry["ok"] for entry in verdict["claims"]), "all": len(verdict["claims"])} if verdict else None,
        "failed": [{key: entry.get(key, "") for key in ("id", "evidence", "remedy")} for entry in (verdict or {"claims": []})["claims"] if not entry["ok"]],
        "why": _why(failure) if failure and (not verdict or verdict["ok"]) else [],
        **{key: (verdict or {}).get(key) or inputs.get(key) for key in ("instance", "namespace", "cluster")},
        "services": inputs.get("services") or [],
        "versions": {
            "collection": versions.get("collection"),
            "release": versions.get("release") or inputs.get("release"),
            "kubernetes": versions.get("kubernetes"),
            "gateway": " ".join(str(part) for part in (gateway.get("provider") or inputs.get("provider"), gateway.get("version")) if part) or None,
        },
        "endpoint": verdict["endpoint"] if verdict else None,
        "page": page if verdict else None,
    }


def _state(verdict: Facts | None, failure: Facts | None, stopped: bool) -> str:
    if verdict and not verdict["ok"]:
        return "not ok"
    if failure:
        return "refused" if failure.get("problems") else "unreachable" if failure.get("reached") is False else "failed"
    return "ok" if verdict else "stopped" if stopped else "done"


def _why(failure: Facts) -> list[str]:
    """One line for each mistake in the file; otherwise the failure and its task."""
    if failure.get("problems"):
        return [f"{entry['path']}: {entry['reason']} {entry['fix']}" for entry in failure["problems"]]
    return [str(failure["msg"]), *([] if failure.get("reached") is False else [f"Task: {failure['task']}"])]


def report(hosts: c.Sequence[str], current: c.Mapping[str, Facts], earlier: c.Mapping[str, Facts], time: str) -> Facts:
    """The content of fleet.json: one row for each host, from `current`, the rows of this run, where it has a result, otherwise from an earlier run."""
    rows = []
    for host in hosts:
        entry = current.get(host)
        if not entry or entry["state"] == "done":
            entry = earlier.get(host) or {**row(host, {}, "", False, ""), "state": "no verdict"}
        rows.append(entry)
    return {"ok": all(each["state"] == "ok" for each in rows), "time": time, "states": count(rows), "clusters": rows}


def count(rows: c.Iterable[Facts]) -> dict[str, int]:
    """The number of clusters in each state."""
    totals = collections.Counter(each["state"] for each in rows)
    return {state: totals[state] for state in STATES if totals[state]}


def _total(rows: c.Sequence[Facts]) -> str:
    return f"{pluralize(len(rows), 'cluster')}: {', '.join(f'{number} {state}' for state, number in count(rows).items())}"


def table(rows: c.Sequence[Facts], pages: c.Sequence[str]) -> list[str]:
    """The last lines of a run, at most 80 columns wide except for the paths and URLs of the page."""
    width = min(NAME_WIDTH, max(len(each["host"]) for each in rows))
    lines = [f"{cut(each['host'], width):{width}}  {each['state']:11}  {_claims(each):>7}  {_note(each)}".rstrip() for each in rows]
    return [_total(rows), *(cut(line, WIDTH) for line in lines), *(f"page: {page}" for page in pages)]


def _claims(entry: Facts) -> str:
    return f"{entry['claims']['held']}/{entry['claims']['all']}" if entry["claims"] else ""


def _note(entry: Facts) -> str:
    """The last column of a cluster: the reason why it is not ok, otherwise its endpoint."""
    reasons = [failed["id"] for failed in entry["failed"]] or entry["why"]
    return one_line(" ".join(reasons) if entry["failed"] else reasons[0]) if reasons else entry["endpoint"] or ""


def page(content: Facts) -> str:
    """The HTML page of the content of fleet.json."""
    rows = content["clusters"]
    head = ["Cluster", "State", "Claims", "Failed claims", "Endpoint", "Instance", "Namespace", "Kubernetes", "Release", "Gateway", "Time"]
    body = [
        [
            html.link(urllib.parse.quote(each["page"]), each["host"]) if each["page"] else each["host"],
            html.Markup(f'<span class="mark {"ok" if each["state"] == "ok" else "fail"}">{html.escape(each["state"])}</span>'),
            _claims(each),
            ", ".join(failed["id"] for failed in each["failed"]),
            each["endpoint"] or "",
            *(str(each.get(key) or "") for key in ("instance", "namespace")),
            *(str(each["versions"][key] or "") for key in ("kubernetes", "release", "gateway")),
            each["time"],
        ]
        for each in rows
    ]
    parts = [
        f'<p class="headline"><span class="verdict {"passed" if content["ok"] else "failed"}">{"OK" if content["ok"] else "NOT OK"}</span> {_total(rows)}</p>',
        html.table([head, *body]),
        *(section(each["host"], _entries(each)) for each in rows if each["state"] != "ok"),
        f'<p class="soft">Written at {html.escape(content["time"])}; each row has the time of its own run.</p>',
    ]
    return html.document("Clusters", "".join(parts), style=STYLE + FLEET_STYLE)


FLEET_STYLE = """
.fail.mark{color:#b3261e}@media(prefers-color-scheme:dark){.fail.mark{color:#ff8b80}}
.claims p{white-space:pre-line}h2{overflow-wrap:anywhere}
th,td{text-align:left}td:nth-child(4):not(:empty){white-space:normal;min-width:12em}
"""


def _entries(entry: Facts) -> list[Facts]:
    """The failed claims, mistakes or failure of a cluster, in the form of claims."""
    title = f"{entry['state']}: {STATES[entry['state']]}"
    return [{**failed, "ok": False} for failed in entry["failed"]] or [{"id": title, "ok": False, "evidence": "\n".join(entry["why"])}]
