# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings about a snapshot, the most probable cause first, and their report. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

from ..common.text import pluralize, redact
from ..report.text import wrapped
from . import admission, cluster, drift, gateway, pods, route_conflicts, scheduling, strangers, traffic
from .catalog import CATALOG, LAYERS
from .finding import ALONE, BASE, NOTE, SUSPECT, SYMPTOM, Finding, finding
from .snapshot import FORBIDDEN, Snapshot

STRANGER_RULES = (*route_conflicts.RULES, *strangers.RULES, *admission.RULES)  # about objects of others
RULES = (*cluster.RULES, *pods.RULES, *gateway.RULES, *scheduling.RULES, *traffic.RULES, *STRANGER_RULES, *drift.RULES)


def unreachable(message: str) -> list[Finding]:
    """The only finding when the API server cannot be reached."""
    return [Finding("api", CATALOG["api"].title, "API server", (message,), CATALOG["api"].remedy, ALONE)]


def diagnose(snap: Snapshot) -> list[Finding]:
    """All findings, ranked. A rule that fails on an unexpected object is reported as a finding of its own."""
    findings: list[Finding] = []
    for rule in RULES:
        try:
            findings += list(rule(snap))
        except Exception as error:  # pylint: disable=broad-except  # objects of a broken stack can have any shape
            place = f"{rule.__module__.rpartition('.')[2]}.{rule.__name__}"
            findings.append(
                Finding(
                    "answer",
                    f"a check failed to run: {place}",
                    "this diagnosis",
                    (f"{type(error).__name__}: {error}",),
                    "check the objects by hand, and report this error to the maintainers of the collection",
                    NOTE,
                )
            )
    return ranked(lowered(findings))


def lowered(findings: c.Sequence[Finding]) -> list[Finding]:
    """The findings. Where a namespace or a CRD (F1) is missing, those that follow from that are symptoms."""
    if not any(entry.code in ("namespace", "F1") and entry.weight >= BASE for entry in findings):
        return list(findings)
    effects = ("absent", "scaled", "controller", "F7", "F26")  # F7: the Gateway is not ready; F26: the endpoint picker is bypassed
    return [dataclasses.replace(entry, weight=min(entry.weight, SYMPTOM)) if entry.code in effects else entry for entry in findings]


def ranked(findings: c.Iterable[Finding]) -> list[Finding]:
    """The findings by weight, then by layer. Those of one code and place are merged into one, with the evidence of all."""
    layers = list(LAYERS)
    merged: dict[tuple[str, str], Finding] = {}
    for entry in findings:
        key = (entry.code, entry.where)
        known = merged.get(key)
        if known is None:
            merged[key] = entry
        else:
            first, second = (known, entry) if known.weight >= entry.weight else (entry, known)
            merged[key] = Finding(first.code, first.what, first.where, tuple(dict.fromkeys(first.evidence + second.evidence)), first.remedy, first.weight)
    return sorted(merged.values(), key=lambda entry: (-entry.weight, layers.index(CATALOG[entry.code].layer), entry.where))


def report(findings: c.Sequence[Finding], facts: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The content of diagnosis.json.

    facts: {instance, namespace, cluster, release, time, seconds, busy, looked_at, not_read}. busy: whether a server has waiting requests and makes progress;
    looked_at: the number of objects by kind; not_read: lines about objects that could not be read.
    """
    serious = [entry for entry in findings if entry.weight >= SYMPTOM]
    return {
        "ok": not serious,
        "summary": summary(findings),
        **{name: facts.get(name) for name in ("instance", "namespace", "cluster", "release", "time", "seconds", "busy")},
        "findings": [entry.shown(rank) for rank, entry in enumerate(findings, 1)],
        "looked_at": dict(facts.get("looked_at") or {}),
        "not_read": [redact(str(line)) for line in facts.get("not_read") or []],
    }


def not_read(snap: Snapshot) -> list[str]:
    """The objects that could not be read: one line for those that this account may not read, then one for each other reason."""
    refused: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for entry in snap.unread:
        if entry.get("status") == 403 or entry["message"] == FORBIDDEN:
            what, namespace = entry["what"], entry.get("place") or ""
            where = f" in {namespace}" if namespace and what.endswith(f" in {namespace}") else ""
            refused.setdefault(where, []).append(what.removesuffix(where))
        else:
            others.setdefault(entry["message"], []).append(entry["what"])
    parts = [", ".join(sorted(whats)) + where for where, whats in sorted(refused.items())]
    of_refused = [f"{'; '.join(parts)}: this account may not read them, so a cause that lies there is not found"] if parts else []
    return of_refused + [f"{', '.join(whats)}: {why}" for why, whats in others.items()]


def with_claims(diagnosis: c.Mapping[str, t.Any], verdict: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The report of a diagnosis that names no cause, with a symptom for each claim of the verdict that does not hold."""
    failed = [entry for entry in verdict["claims"] if not entry["ok"]]
    findings = [finding("claim", f"claim {entry['id']}", [entry["evidence"]], SYMPTOM, f"{entry['id']} does not hold", entry["remedy"]) for entry in failed]
    if not findings:
        count = len(verdict["claims"])
        held = f"; {pluralize(count, 'claim')} of the validation hold{'s' if count == 1 else ''}" if count else ""
        return {**diagnosis, "summary": diagnosis["summary"] + held, "claims": count}
    shown = [entry.shown(rank) for rank, entry in enumerate(findings, 1)]
    notes = [{**entry, "rank": len(shown) + index} for index, entry in enumerate(diagnosis["findings"], 1)]
    return {**diagnosis, "ok": False, "summary": summary(findings), "findings": shown + notes, "claims": len(verdict["claims"])}


def summary(findings: c.Sequence[Finding]) -> str:
    """The diagnosis in one line."""
    serious = [entry for entry in findings if entry.weight >= SYMPTOM]
    if not serious:
        return "no known failure was found" + (f"; {pluralize(len(findings), 'note')}" if findings else "")
    first = serious[0]
    others = len(serious) - 1
    certainty = "most probable cause" if first.weight >= SUSPECT else "symptom without a known cause"
    return redact(f"{certainty}: {first.what} ({first.where})" + (f"; {others} more finding{'s' if others > 1 else ''}" if others else ""))


def lines(diagnosis: c.Mapping[str, t.Any]) -> list[str]:
    """The report as lines of text."""
    shown = [*wrapped(diagnosis["summary"]), ""]
    for entry in diagnosis["findings"]:
        shown += wrapped(f"{entry['rank']}. [{entry['code']}, {entry['kind']}] {entry['what']}", indent="   ")
        fields = [("where", entry["where"]), *(("evidence", line) for line in entry["evidence"]), ("remedy", entry["remedy"])]
        shown += [line for name, value in fields for line in wrapped(f"   {name + ':':9} {value}", indent=" " * 13)] + [""]
    return shown + [part for line in diagnosis["not_read"] for part in wrapped(f"not read: {line}", indent=" " * 10)]


def markdown(diagnosis: c.Mapping[str, t.Any]) -> str:
    """The content of diagnosis.md."""
    where = f", cluster {_plain(diagnosis['cluster'])}" if diagnosis.get("cluster") else ""
    shown = [
        f"# Diagnosis of {diagnosis['instance']} in {diagnosis['namespace']}",
        "",
        f"{diagnosis['time']}, release {diagnosis['release']}{where}, {diagnosis['seconds']} s",
        "",
        f"**{_plain(diagnosis['summary'])}**",
        "",
    ]
    for entry in diagnosis["findings"]:
        shown += [
            f"## {entry['rank']}. {_plain(entry['what'])}",
            "",
            f"- what: {entry['kind']} {entry['code']} (docs/troubleshooting.md)",
            f"- where: {_plain(entry['where'])}",
        ]
        shown += [f"- evidence: `{line.replace('`', chr(39))}`" for line in entry["evidence"]]
        shown += [f"- remedy: {_plain(entry['remedy'])}", ""]
    if diagnosis["not_read"]:
        shown += ["## Not read", "", *(f"- `{line}`" for line in diagnosis["not_read"]), ""]
    if diagnosis["looked_at"]:
        shown += ["## Checked", "", ", ".join(f"{count} {kind}" for kind, count in sorted(diagnosis["looked_at"].items())), ""]
    return "\n".join(shown)


def _plain(words: str) -> str:
    """A text in one line, with the characters of Markdown tables and of HTML tags escaped."""
    return " ".join(words.split()).replace("|", "\\|").replace("<", "&lt;")
