# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about a running stack: their form, and those that every service has. Pure.

A claim is {id, ok, evidence, remedy, seconds}. A check that is impossible or unnecessary is {id, why} instead, and never counts as a claim that holds.
"""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..report import text

Claim = dict[str, t.Any]
# Phases of the traffic, named after their claims.
PHASES = ("sticky", "roam", "spread", "follow", "avoid")
# Seconds until KV events arrive: a simulator connects once a second, and an endpoint picker that lost a server accepts it again after five.
EVENTS_WAIT = 15.0
Judged = tuple[list[Claim], list[dict[str, str]]]

OTHER_CLIENTS = "check whether other clients sent requests at the same time, and validate without them"


def claim(name: str, ok: bool, evidence: str, remedy: str = "", seconds: float = 0.0) -> Claim:
    """One claim; the remedy is dropped when the claim holds."""
    return {"id": name, "ok": bool(ok), "evidence": evidence, "remedy": "" if ok else remedy, "seconds": round(seconds, 3)}


def not_run(name: str, result: t.Any) -> Claim:
    """The failed claim that stands for a check that failed as a whole or did not run. `result`: what its module returned, if anything."""
    if isinstance(result, c.Mapping) and result.get("msg"):
        return claim(name, False, str(result["msg"]), "fix what the message names, then validate again")
    return claim(name, False, "this was not checked", "run the whole of validate.yml")


def judge_gateway(gateway: c.Mapping[str, t.Any]) -> Judged:
    """The claim about a Gateway, from inference.endpoints.wait_for_gateway: {name, address, url, programmed, message, seconds}."""
    ok = bool(gateway["address"]) and bool(gateway["programmed"])
    evidence = f"Gateway {gateway['name']} is accepted and programmed at {gateway['url']}" if ok else f"Gateway {gateway['name']}: {gateway['message']}"
    return [
        claim(
            "gateway/programmed",
            ok,
            evidence,
            "check the Gateway's conditions and its controller's log; without a load balancer it needs service_type ClusterIP",
            gateway.get("seconds", 0.0),
        )
    ], []


def serving(name: str, observation: c.Mapping[str, t.Any]) -> Claim:
    health = observation["health"]
    checks = health["checks"]
    failed = next((check for check in checks if not check["ok"]), None)
    problem = failed or (observation["failures"][0] if observation["failures"] else None)
    seconds = observation["seconds"].get("serving", 0.0)
    if problem:
        waited = f" (after {health['looks']} checks in {health['waited']:g} s)" if failed else f" (request {problem['request']} of this validation)"
        return claim(f"{name}/serving", False, problem["evidence"] + waited, problem["remedy"], seconds)
    passed = ", ".join(check["name"] for check in checks)
    url, through = observation["url"], observation.get("through")
    place = f"{url} (by port-forward to {through}: this host has no route to the address)" if through else url
    return claim(f"{name}/serving", True, f"{observation['model']} at {place}: {passed}; {checks[-1]['evidence']}", "", seconds)


def scheduled(name: str, observation: c.Mapping[str, t.Any]) -> Claim:
    ok = observation["sent"] > 0 and observation["scheduled"] == observation["sent"]
    return claim(
        f"{name}/scheduled",
        ok,
        f"{observation['scheduled']} of {observation['sent']} answers carry the endpoint picker's header x-went-into-resp-headers",
        "requests bypass the endpoint picker: check the route's backend, the ext_proc policy or pool behind it, and its failure mode",
        sum(observation["seconds"].get(phase, 0.0) for phase in PHASES),
    )


def counted(name: str, observation: c.Mapping[str, t.Any]) -> Claim:
    counters, seconds = observation.get("counters"), observation["seconds"].get("counted", 0.0)
    if not counters:
        return claim(f"{name}/counted", False, "the endpoint picker's metrics were not read", "set metrics to where they are served", seconds)
    if "error" in counters:
        return claim(
            f"{name}/counted",
            False,
            counters["error"],
            f"{counters['remedy']}; a picker that requires a token for /metrics needs --metrics-endpoint-auth=false",
            seconds,
        )
    moved, sent = counters["moved"], counters["sent"]
    shown = ", ".join(f"{key} by {'nothing: no such series' if value is None else value}" for key, value in moved.items())
    evidence = f"{sent} requests sent, the endpoint picker's counters moved: {shown}"
    return claim(f"{name}/counted", all(value == sent for value in moved.values()), evidence, _miscounted(moved.values(), sent), seconds)


def _miscounted(moved: c.Iterable[int | None], sent: int) -> str:
    values = list(moved)
    if None in values:
        return "llm_d_release has other metric names than the running image: make them agree"
    if any(value is not None and value < 0 for value in values):
        return "the endpoint picker restarted during the check: read its log, then validate again"
    if all(value is not None and value >= sent for value in values):
        return OTHER_CLIENTS
    return "some requests did not reach this endpoint picker: check whether the route bypasses it"


def failures(claims: c.Iterable[c.Mapping[str, t.Any]]) -> list[str]:
    """The text of each failed claim, in lines, with its remedy."""
    return [
        "\n".join(text.paragraphs([f"{entry['id']}: {entry['evidence']}", *([f"  remedy: {entry['remedy']}"] if entry["remedy"] else [])]))
        for entry in claims
        if not entry["ok"]
    ]
