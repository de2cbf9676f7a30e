# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observations become claims, claims become a verdict. Pure.

A claim is {id, ok, evidence, remedy, seconds}; what could not or need not be looked at is {id, why} instead, never a claim that holds.
"""

from __future__ import annotations

import collections.abc as c
import typing as t

Claim = dict[str, t.Any]
Judged = tuple[list[Claim], list[dict[str, str]]]

_ALONE = "look whether other clients sent requests at the same time, and validate without them"


def claim(name: str, ok: bool, evidence: str, remedy: str = "", seconds: float = 0.0) -> Claim:
    """One claim; a remedy is only kept where it is needed."""
    return {"id": name, "ok": bool(ok), "evidence": evidence, "remedy": "" if ok else remedy, "seconds": round(seconds, 3)}


def unrun(name: str, result: t.Any) -> Claim:
    """The claim that stands for a look that failed as a whole, or that never took place."""
    if isinstance(result, c.Mapping) and result.get("msg"):
        return claim(name, False, str(result["msg"]), "mend what the message names, then validate again")
    return claim(name, False, "this was not looked at", "run the whole of validate.yml")


def judge_gateway(seen: c.Mapping[str, t.Any]) -> Judged:
    """A look at a Gateway: {name, address, url, programmed, message, seconds}."""
    ok = bool(seen["address"]) and bool(seen["programmed"])
    state = f"Gateway {seen['name']} is programmed at {seen['url']}" if ok else f"Gateway {seen['name']}: {seen['message']}"
    return [claim("gateway/programmed", ok, state, "look at the Gateway's conditions and at its controller's log; without a load balancer it needs "
                  "service_type ClusterIP", seen.get("seconds", 0.0))], []


def judge_service(seen: c.Mapping[str, t.Any]) -> Judged:
    """What routing_probe.Prober saw of one service."""
    name, seconds = seen["name"], seen["seconds"]
    claims = [_serving(name, seen)]
    if not claims[0]["ok"]:
        return claims, [{"id": f"{name}/{what}", "why": "the service does not answer as it should"} for what in ("scheduled", "counted", "sticky", "spread")]
    claims += [_scheduled(name, seen), _counted(name, seen)]
    skipped = []
    for what, judge in (("sticky", _sticky), ("spread", _spread)):
        why = _why_not(what, seen)
        if why:
            skipped.append({"id": f"{name}/{what}", "why": why})
        else:
            claims.append({**judge(name, seen), "seconds": seconds.get(what, 0.0)})
    return claims, skipped


def _why_not(what: str, seen: c.Mapping[str, t.Any]) -> str:
    """Why a phase proves nothing here; empty when it does."""
    replicas = seen.get("replicas")
    if replicas is None:
        replicas = seen.get("ready_endpoints")
    if replicas is None:
        return "the number of replicas is not known"
    if replicas < 2:
        return "there is one replica" if replicas else "there are no replicas"
    return "" if what in seen["promises"] else "the scheduling policy does not promise it"


def _serving(name: str, seen: c.Mapping[str, t.Any]) -> Claim:
    checks = seen["health"]["checks"]
    failed = next((check for check in checks if not check["ok"]), None)
    problem = failed or (seen["failures"][0] if seen["failures"] else None)
    seconds = seen["seconds"].get("serving", 0.0)
    if problem:
        waited = f" (after {seen['health']['looks']} looks in {seen['health']['waited']:g} s)" if failed else f" (request {problem['request']} of this proof)"
        return claim(f"{name}/serving", False, problem["evidence"] + waited, problem["remedy"], seconds)
    rungs = ", ".join(check["name"] for check in checks)
    return claim(f"{name}/serving", True, f"{seen['model']} at {seen['url']}: {rungs}; {checks[-1]['evidence']}", "", seconds)


def _scheduled(name: str, seen: c.Mapping[str, t.Any]) -> Claim:
    ok = seen["sent"] > 0 and seen["scheduled"] == seen["sent"]
    return claim(
        f"{name}/scheduled", ok, f"{seen['scheduled']} of {seen['sent']} answers carry the endpoint picker's header x-went-into-resp-headers",
        "requests go past the endpoint picker: look at the route's backend, at the ext_proc policy or pool behind it, and at its failure mode",
    )


def _counted(name: str, seen: c.Mapping[str, t.Any]) -> Claim:
    counters, seconds = seen.get("counters"), seen["seconds"].get("counted", 0.0)
    if not counters:
        return claim(f"{name}/counted", False, "the endpoint picker's metrics were not read", "give namespace, name and port of its metrics Service", seconds)
    if "error" in counters:
        return claim(f"{name}/counted", False, counters["error"],
                     f"{counters['remedy']}; a picker that wants a token for /metrics needs --metrics-endpoint-auth=false", seconds)
    moved, sent = counters["moved"], counters["sent"]
    said = ", ".join(f"{key} by {'nothing: no such series' if value is None else value}" for key, value in moved.items())
    evidence = f"{sent} requests sent, the endpoint picker's counters moved: {said}"
    return claim(f"{name}/counted", all(value == sent for value in moved.values()), evidence, _miscounted(moved.values(), sent), seconds)


def _miscounted(moved: c.Iterable[int | None], sent: int) -> str:
    values = list(moved)
    if None in values:
        return "the release in llm_d_release has other metric names than the image that runs: make them agree"
    if any(value is not None and value < 0 for value in values):
        return "the endpoint picker restarted meanwhile: look at its log, then validate again"
    if all(value is not None and value >= sent for value in values):
        return _ALONE
    return "some requests did not pass this endpoint picker: it may have several replicas, or the route may lead around it"


def _sticky(name: str, seen: c.Mapping[str, t.Any]) -> Claim:
    phase = seen.get("sticky") or {"servers": {}, "sent": 0, "source": ""}
    servers = phase["servers"]
    if not servers and phase["sent"]:
        return claim(f"{name}/sticky", False, *_blind())
    return claim(
        f"{name}/sticky", len(servers) == 1 and phase["sent"] > 1 and sum(servers.values()) == phase["sent"],
        f"{phase['sent']} requests with one shared prefix went to {_shown(servers)} ({phase['source']})",
        "look whether the prefix scorer is in the picker's configuration and outweighs the others, and whether its block size fits the servers'; " + _ALONE,
    )


def _spread(name: str, seen: c.Mapping[str, t.Any]) -> Claim:
    phase = seen.get("spread") or {"servers": {}, "sent": 0, "source": ""}
    servers = phase["servers"]
    if not servers and phase["sent"]:
        return claim(f"{name}/spread", False, *_blind())
    return claim(
        f"{name}/spread", len(servers) > 1,
        f"{phase['sent']} requests with different prefixes went to {_shown(servers)} ({phase['source']}){'' if len(servers) > 1 else f'; {_known(seen)}'}",
        "look at how many servers the picker knows (ready endpoints), whether the pool's selector matches all pods, and at their queues and KV caches",
    )


def _blind() -> tuple[str, str]:
    return ("neither the answers (x-inference-pod) nor the picker's counters say which server answered",
            "set POD_NAME on the simulator, or use a release whose scheduler_attempts has a label for the server")


def _known(seen: c.Mapping[str, t.Any]) -> str:
    ready = seen.get("ready_endpoints")
    # Its gauge is written every five seconds, so just after a rollout a nought says nothing.
    return f"the picker knows {ready:g} ready endpoints" if ready else "the picker does not say how many endpoints it knows"


def _shown(servers: c.Mapping[str, int]) -> str:
    return ", ".join(f"{server} ({count})" for server, count in sorted(servers.items())) or "no server"


def judge_resources(result: t.Any) -> Judged:
    """What resource_ready returned: {resources, failures: [{kind, namespace, name, reason, remedy, details}], waited, msg}."""
    if not isinstance(result, c.Mapping) or not ("failures" in result or "resources" in result):
        return [unrun("objects/ready", result)], []
    seconds = result.get("waited", 0.0)
    if result.get("failures"):
        return [claim(f"objects/{entry['kind']}/{entry['name']}".lower(), False, _resource(entry), entry.get("remedy") or "look at its events", seconds)
                for entry in result["failures"]], []
    kinds = [str(entry.get("kind")) for entry in result["resources"]]
    shown = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
    return [claim("objects/ready", bool(kinds), f"ready: {shown or 'nothing'}", "deploy something first", seconds)], []


def _resource(entry: c.Mapping[str, t.Any]) -> str:
    where = "/".join(filter(None, (entry.get("namespace"), entry["name"])))
    return "; ".join([f"{entry['kind']} {where}: {entry.get('reason') or 'not ready'}", *(entry.get("details") or [])[:2]])


def failures(claims: c.Iterable[c.Mapping[str, t.Any]]) -> list[str]:
    """Each failed claim as lines for people."""
    return [f"{entry['id']}: {entry['evidence']}" + (f"\n  remedy: {entry['remedy']}" if entry["remedy"] else "") for entry in claims if not entry["ok"]]
