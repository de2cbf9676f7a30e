# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences between servers that should be equal, and what each difference breaks. Pure."""

from __future__ import annotations

import collections.abc as c
import statistics
import typing as t

# A server is slow if its completions take more than SLOW_FACTOR times the median of the others, and more than SLOW_MS milliseconds.
SLOW_FACTOR, SLOW_MS = 5.0, 1000.0

# {compared property: the effect of a difference}
DIFFERENCES = {
    "engine": "servers of different engines export different metrics, and the endpoint picker reads those of one engine",
    "version": "servers of different versions may differ in metrics, in hashes of prefixes and in KV transfer",
    "models": "a request for a model fails on every server that does not serve it",
    "max_model_len": "some servers reject a long prompt that others accept",
    "block_size": "prefix hashes of one server do not match another's, so prefix caches are missed",
    "blocks": "servers with fewer KV cache blocks evict earlier than the endpoint picker assumes",
}
# These differ during a rollout and make no request fail: a finding, but the servers stay healthy.
REPORTED_ONLY = frozenset({"blocks"})


def finding(code: str, what: str, where: str, evidence: str, remedy: str) -> dict[str, str]:
    """One finding about a set of servers."""
    return {"code": code, "what": what, "where": where, "evidence": evidence, "remedy": remedy}


def compare(servers: c.Sequence[c.Mapping[str, t.Any]]) -> list[dict[str, str]]:
    """Findings about servers, each {server, engine, version, models: [{id, max_model_len}], metrics: {signal: {value}}, checks: [{name, ok, ms}]}."""
    findings = []
    for name, breaks in DIFFERENCES.items():
        values = {entry["server"]: _value(name, entry) for entry in servers}
        known = {server: value for server, value in values.items() if value not in (None, "", ())}
        if len(set(known.values())) > 1:
            findings.append(finding(f"mixed_{name}", f"the servers differ in {name}: {breaks}", ", ".join(known), _grouped(known), _remedy(name)))
    return findings + slow(servers)


def serious(findings: c.Iterable[c.Mapping[str, str]]) -> list[c.Mapping[str, str]]:
    """The findings that make a set of servers unhealthy."""
    return [entry for entry in findings if entry["code"].removeprefix("mixed_") in set(DIFFERENCES) - REPORTED_ONLY]


def slow(servers: c.Sequence[c.Mapping[str, t.Any]]) -> list[dict[str, str]]:
    """Findings about servers whose completions take several times as long as those of the others. Servers with waiting requests are left out."""
    times = {entry["server"]: sum(check["ms"] for check in entry.get("checks") or [] if check["ok"] and "completions" in check["name"]) for entry in servers}
    busy = {entry["server"] for entry in servers if (((entry.get("metrics") or {}).get("waiting") or {}).get("value") or 0) > 0}
    times = {server: value for server, value in times.items() if value and server not in busy}
    findings = []
    for server, value in times.items():
        others = [other for name, other in times.items() if name != server]
        usual = statistics.median(others) if len(others) > 1 else (others[0] if others else value)
        if value > SLOW_MS and value > SLOW_FACTOR * usual:
            findings.append(
                finding(
                    "slow",
                    "one server is much slower than the others",
                    server,
                    f"its completions took {value:.0f} ms, those of the others {usual:.0f} ms",
                    "check its node, its accelerator and its queue; delete the pod if only this one is slow",
                )
            )
    return findings


def _value(name: str, entry: c.Mapping[str, t.Any]) -> t.Any:
    models = entry.get("models") or []
    if name == "models":
        return tuple(sorted(model["id"] for model in models))
    if name == "max_model_len":
        return tuple(sorted((model["id"], model["max_model_len"]) for model in models if model["max_model_len"] is not None))
    if name in ("block_size", "blocks"):
        return ((entry.get("metrics") or {}).get(name) or {}).get("value")
    return entry.get(name)


def _grouped(values: c.Mapping[str, t.Any]) -> str:
    groups: dict[t.Any, list[str]] = {}
    for server, value in values.items():
        groups.setdefault(value, []).append(server)
    return "; ".join(f"{_shown(value)}: {', '.join(names)}" for value, names in groups.items())


def _shown(value: t.Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{part[0]} takes {part[1]}" if isinstance(part, tuple) else str(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _remedy(name: str) -> str:
    if name in ("block_size", "blocks", "max_model_len"):
        return "give all servers of a pool the same arguments, and finish the rollout"
    if name == "models":
        return "let each pool select the servers of one model, or serve the same models everywhere"
    return "finish the rollout; a pool should select servers of one engine and one version"
