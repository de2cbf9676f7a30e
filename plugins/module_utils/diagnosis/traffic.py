# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about responses: of each server, of requests through the gateway, and the picker's metrics. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common import prometheus_text as prometheus
from ..k8s.pod_failures import response_failure
from .catalog import CATALOG
from .finding import NOTE, SERVER, SUSPECT, SYMPTOM, UNREADY, WIRING, Finding, finding
from .snapshot import Snapshot

REQUESTS_BEFORE_ZERO = 5  # from this number of requests through the gateway, a picker that counts none is a finding


def servers(snap: Snapshot) -> c.Iterator[Finding]:
    """Servers whose pods are ready and that do not serve."""
    groups: dict[tuple[str, str, str], list[tuple[dict[str, t.Any], dict[str, t.Any]]]] = {}
    for entry in snap.servers:
        check = next((check for check in entry["checks"] if not check["ok"]), None)
        if check is None or not entry["ready"] or (check["kind"] in ("timeout", "overloaded") and busy(entry)):
            continue
        groups.setdefault((entry["service"], check["name"], check["kind"]), []).append((entry, check))
    for (service, _name, _kind), members in groups.items():
        entry, check = members[0]
        code, what, remedy = _server_failure(entry, check)
        where = ", ".join(other["server"] for other, _check in members)
        weight = SERVER if code != "metrics" else UNREADY + 5
        yield finding(code, where, [f"{failed['evidence']}" for _other, failed in members[:3]], weight, f"servers of {service}: {what}", remedy)


def busy(entry: c.Mapping[str, t.Any]) -> bool:
    """True for a server with waiting requests that makes progress: its slow answers are no failure."""
    waiting = (((entry.get("metrics") or {}).get("waiting") or {}).get("value") or 0) > 0
    return waiting and entry.get("progress") is not False


def _server_failure(entry: c.Mapping[str, t.Any], check: c.Mapping[str, t.Any]) -> tuple[str, str, str]:
    if check["name"] == "metrics":
        return "metrics", CATALOG["metrics"].title, check["remedy"]
    if check["kind"] == "timeout":
        return "hung", "one listens and does not answer in time" if entry["level"] else "one does not answer", CATALOG["hung"].remedy
    if check["kind"] in ("unauthorized", "forbidden"):
        return "key", "it refuses requests without its API key, or with another one", CATALOG["key"].remedy
    if check["kind"] in ("error_in_stream", "error_in_answer", "bad_event", "truncated"):
        return "hung", "the answer ends early or contains an error, after status 200", check["remedy"]
    if check["kind"] in ("model", "model_len"):
        return "mixed", "it does not serve the planned model", check["remedy"]
    if check["kind"] == "cluster" or check["kind"] in ("refused", "network"):
        return "F22", "it cannot be reached on its port", CATALOG["F22"].remedy
    return "hung", f"it answers {check['name']} with an error", check["remedy"] or CATALOG["hung"].remedy


def differences(snap: Snapshot) -> c.Iterator[Finding]:
    """Servers of one pool that differ, or one that is slow."""
    for entry in snap.differences:
        slow = entry["code"] == "slow"
        note = entry["code"] == "mixed_blocks"
        yield finding(
            "slow" if slow else "mixed",
            entry["where"],
            [entry["evidence"]],
            NOTE if note else UNREADY if slow else UNREADY + 3,
            f"{entry['service']}: {entry['what']}",
            entry["remedy"],
        )


def answers(snap: Snapshot) -> c.Iterator[Finding]:
    """Requests through the gateway, or through a proxy without one, that failed; usually the symptom of another finding."""
    for entry in snap.answers:
        if entry["ok"]:
            continue
        known = response_failure(entry["status"] or 0, entry.get("body") or "", entry.get("dropped") or "")
        where = _where(entry)
        if entry.get("kind") == "timeout":
            full = any(busy(server) for server in snap.servers if server["service"] == entry["service"])
            yield finding(
                "hung",
                where,
                [entry["evidence"]],
                NOTE if full else SYMPTOM + 2,
                f"{entry['service']}: no answer in time" + (", its servers have full queues" if full else ""),
            )
        elif entry["status"] is None:
            standalone = entry.get("way") == "proxy"
            yield finding(
                "unreachable",
                where if standalone else f"Gateway, {entry['url']}",
                [entry["evidence"]],
                SYMPTOM + 5,
                f"{entry['service']}: the {'proxy' if standalone else 'gateway'} does not answer",
            )
        elif known:
            weight = SUSPECT if known.code in ("key", "F24") else SYMPTOM + 2
            yield finding(known.code, where, [entry["evidence"]], weight, f"{entry['service']}: {known.what}", known.remedy)
        else:
            yield finding("answer", where, [entry["evidence"]], SYMPTOM, f"{entry['service']}: a request fails", entry.get("remedy") or "")


def _where(entry: c.Mapping[str, t.Any]) -> str:
    """The path of a request: a route through the gateway, or the proxy in the picker's pod."""
    return f"{entry.get('way', 'route')} of {entry['service']}, {entry['url']}"


def bypassed(snap: Snapshot) -> c.Iterator[Finding]:
    """Successful answers without the endpoint picker's header."""
    for entry in snap.answers:
        if entry["ok"] and entry.get("picked") is False:
            evidence = f"{entry['url']} answers without the picker's header x-went-into-resp-headers"
            yield finding(
                "F26", f"{entry.get('way', 'route')} of {entry['service']}", [evidence], WIRING - 2, f"{entry['service']}: requests bypass the endpoint picker"
            )


def numbers(snap: Snapshot) -> c.Iterator[Finding]:
    """Counts of the endpoint pickers that contradict the servers or the requests."""
    names = snap.plan["release"]["metrics"]
    for service, page in snap.metrics.items():
        samples = prometheus.parse(page.get("text") or "")
        if not samples:
            continue
        ready = prometheus.total(samples, names["ready_endpoints"])
        expected = [entry for entry in snap.servers if entry["service"] == service and entry["ready"]]
        if ready == 0 and expected:
            yield finding(
                "F21",
                f"endpoint picker of {service}",
                [f"{names['ready_endpoints']} is 0, {len(expected)} servers are ready"],
                SUSPECT,
                f"the endpoint picker of {service} knows no server",
                "check the pool's selector and ports, the picker's permissions, and its log",
            )
        attempts = prometheus.total(samples, names["scheduler_attempts"])
        requests = prometheus.total(samples, names["requests"])
        if attempts == 0 and (requests or 0) >= REQUESTS_BEFORE_ZERO:
            yield finding("F26", f"endpoint picker of {service}", [f"{names['requests']} is {requests:g}, {names['scheduler_attempts']} is 0"], SUSPECT)
        yield from _old_metric_names(snap, service)


def _old_metric_names(snap: Snapshot, service: str) -> c.Iterator[Finding]:
    old = [(entry["server"], note) for entry in snap.servers if entry["service"] == service for note in entry.get("notes") or [] if "old name" in note]
    if old:
        yield finding("F27", ", ".join(server for server, _note in old), [old[0][1]], SUSPECT)


RULES = (servers, differences, answers, bypassed, numbers)
