# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about one service from what routing_probe.Prober saw of it: that it is scheduled, and that its policy keeps its promises. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from .claims import ALONE, PHASES, Claim, Judged, claim, counted, scheduled, serving
from .counts import count_of

Facts = c.Mapping[str, t.Any]
# A claim, why there is none, or None where there is nothing to claim.
Found = t.Union[Claim, str, None]
NO_HEADER = "neither the answers (x-inference-pod) nor the counters of the picker or of the servers say which server answered"
SHOW_NAME = "let this account read the servers' metrics (get on pods/proxy), or use a release whose scheduler_attempts has a label for the server"


def judge_service(seen: Facts) -> Judged:
    """All claims about one service."""
    name = seen["name"]
    claims, skipped = [serving(name, seen)], []
    if not claims[0]["ok"]:
        wanted = ["scheduled", "counted", *(what for what in JUDGES if what in ("sticky", "spread") or _promised(what, seen))]
        return claims, [{"id": f"{name}/{what}", "why": "the service does not answer as it should"} for what in wanted]
    claims += [scheduled(name, seen), counted(name, seen)]
    for what, judge in JUDGES.items():
        found = judge(seen) if _promised(what, seen) else None
        if what in ("sticky", "spread") and found is None:
            found = "the scheduling policy does not promise it"
        if isinstance(found, str):
            skipped.append({"id": f"{name}/{what}", "why": found})
        elif found:
            claims.append({**found, "id": f"{name}/{what}", "seconds": round(sum(seen["seconds"].get(phase, 0.0) for phase in _SOURCE.get(what, (what,))), 3)})
    return claims, skipped


def _promised(what: str, seen: Facts) -> bool:
    """Whether there is something to claim; what is no promise of a policy always is."""
    return _PROMISE.get(what, what) in seen["promises"] or (what not in PROMISES and what not in _PROMISE)


def _one_server(seen: Facts) -> str:
    """Why there is nothing to choose; empty where there is."""
    replicas = seen.get("replicas")
    if replicas is None:
        replicas = seen.get("ready_endpoints")
    if replicas is None:
        return "the number of replicas is not known"
    if replicas < 2:
        return "there is one replica" if replicas else "there are no replicas"
    return ""


def _sticky(seen: Facts) -> Found:
    phase = seen.get("sticky") or {"servers": {}, "sent": 0, "source": ""}
    servers = phase["servers"]
    if why := _one_server(seen):
        return why
    if not servers and phase["sent"]:
        return claim("", False, NO_HEADER, SHOW_NAME)
    return claim(
        "",
        len(servers) == 1 and phase["sent"] > 1 and sum(servers.values()) == phase["sent"],
        f"{phase['sent']} requests with one shared prefix went to {_shown(servers)} ({phase['source']})",
        "look whether the prefix scorer is in the picker's configuration and outweighs the others, and whether its block size fits the servers'; " + ALONE,
    )


def _roam(seen: Facts) -> Found:
    return _reached(
        seen,
        "roam",
        "one shared prefix",
        "look whether a scorer of prefixes or sessions, or another picker than the random one, is in the picker's configuration",
    )


def _spread(seen: Facts) -> Found:
    return _reached(
        seen,
        "spread",
        "different prefixes",
        "look at how many servers the picker knows (ready endpoints), whether the pool's selector matches all pods, and at their queues and KV caches",
    )


def _reached(seen: Facts, name: str, kind: str, remedy: str) -> Found:
    """Whether the requests of a phase reached more than one server."""
    phase = seen.get(name) or {"servers": {}, "sent": 0, "source": ""}
    servers = phase["servers"]
    if why := _one_server(seen):
        return why
    if not servers and phase["sent"]:
        return claim("", False, NO_HEADER, SHOW_NAME)
    found = f"{phase['sent']} requests with {kind} went to {_shown(servers)} ({phase['source']})"
    return claim("", len(servers) > 1, found if len(servers) > 1 else f"{found}; {_known(seen)}", remedy)


def _follow(seen: Facts) -> Found:
    phase = seen.get("follow")
    if why := _one_server(seen):
        return why
    if not seen["answered"]:
        return "the servers do not say who they are (x-inference-pod)"
    if not phase or "error" in phase:
        return claim("", False, phase["error"] if phase else "no server could be asked directly", phase["remedy"] if phase else "give the servers")
    return claim(
        "",
        phase["right"] == phase["sent"],
        f"{phase['right']} of {phase['sent']} prompts that {phase['servers']} servers learnt behind the endpoint picker's back led to the server that knows "
        "them",
        "KV events do not arrive, or hashes differ: compare block size and PYTHONHASHSEED of the servers with the picker's, and look whether the servers reach "
        "its event port",
    )


def _split(seen: Facts) -> Found:
    phase, words = seen.get("split"), seen.get("words", 0)
    if (seen.get("cold_tokens") or 0) >= words:
        return f"its prompts have {words} words, and ones of up to {seen['cold_tokens']} uncached tokens stay at the decode servers"
    if not phase or "error" in phase:
        return claim("", False, phase["error"] if phase else "no prefill server could be looked at", phase["remedy"] if phase else "give the servers")
    said = ", ".join(f"{name} {count}" for name, count in sorted(((seen.get("counters") or {}).get("decisions") or {}).items()))
    return claim(
        "",
        phase["prefilled"] >= phase["sent"] > 0,
        f"{phase['prefilled']} of {phase['sent']} new prompts were prefilled by prefill servers" + (f"; the endpoint picker decided: {said}" if said else ""),
        "look whether prefill servers are ready and bear the role label, at the decider's threshold, and at the log of the decode servers' routing sidecar",
    )


def _cached(seen: Facts) -> Found:
    known = [value for value in seen.get("cached") or () if value is not None]
    if not known:
        return "the servers do not say what they took from their cache (vLLM does with --enable-prompt-tokens-details)"
    if len((seen.get("sticky") or {}).get("servers") or ()) > 1:
        return "the requests with one shared prefix did not stay at one server"
    hits = [value for value in known if value]
    return claim(
        "",
        bool(hits),
        f"{len(hits)} of {len(known)} requests after the first found its prefix in the cache" + (f", {max(hits)} tokens of it" if hits else ""),
        "look whether prefix caching is on at the servers, and whether the cache of one holds a prompt",
    )


def _avoid(seen: Facts) -> Found:
    phase = seen.get("avoid")
    if why := _one_server(seen):
        return why
    if not phase:
        return "a queue at one of its servers takes more requests than a proof may send; playbooks/compare_scorers.yml measures what it brings"
    if "error" in phase:
        return claim("", False, phase["error"], phase["remedy"])
    if not phase["waiting"]:
        return "no queue came up at the server that was kept busy, or it was gone too soon"
    if not phase["servers"]:
        return "the servers do not say who they are (x-inference-pod)"
    wrong = phase["servers"].get(phase["busy"], 0)
    return claim(
        "",
        not wrong,
        f"{wrong} of {phase['sent']} new prompts went to {phase['busy']} while requests waited there; {_shown(phase['servers'])}",
        "look whether the queue scorer is in the picker's configuration and outweighs the others, and whether the picker reads the servers' metrics",
    )


def _endpoints(seen: Facts) -> Found:
    wanted, ready = seen.get("endpoints"), seen.get("ready_endpoints")
    if wanted is None or ready is None:
        return "the endpoint picker does not say how many servers it knows" if wanted else None
    return claim(
        "",
        ready >= wanted,
        f"the endpoint picker knows {ready:g} of {wanted} servers",
        "look whether the pool's selector matches the pods, whether all are ready, and whether the picker may list pods",
    )


def _plugins(seen: Facts) -> Found:
    wanted, counters = seen.get("plugins"), seen.get("counters") or {}
    if not wanted or "ran" not in counters:
        return "the endpoint picker's counters were not read" if wanted else None
    ran, sometimes = counters["ran"], seen.get("sometimes") or {}
    missing = [f"{name} did not run as {point.lower()}" for point, names in wanted.items() for name in names if ran.get(point, {}).get(name, 0) <= 0]
    foreign = [
        f"{name} ran as {point.lower()} and is not in the plan"
        for point in wanted
        for name, count in sorted(ran.get(point, {}).items())
        if count > 0 and name not in (*wanted[point], *sometimes.get(point, ()))
    ]
    well = "; ".join(f"{point.lower()}: " + ", ".join(f"{name} ({count})" for name, count in sorted(ran[point].items())) for point in wanted if ran.get(point))
    return claim(
        "",
        not missing and not foreign,
        "; ".join(missing + foreign) or f"ran for these requests: {well}",
        "the endpoint picker does not run the planned configuration: run playbooks/site.yml, and look at its log",
    )


def _obeyed(seen: Facts) -> Found:
    """Attempts per server: who was picked is who answered."""
    picked, answered = (seen.get("counters") or {}).get("picked"), seen["answered"]
    if not picked:
        return "this release does not count attempts by server"
    if not answered:
        return "the servers do not say who answered"
    times = {server: int(count_of(picked, server)) for server in answered}
    wrong = [
        f"{server} answered {answered[server]} requests and was picked {count} times" for server, count in sorted(times.items()) if count < answered[server]
    ]
    return claim(
        "",
        not wrong,
        "; ".join(wrong) or f"the servers that answered are those that were picked: {_shown(times)}",
        "the gateway asks the endpoint picker and does not obey it: look whether it takes x-gateway-destination-endpoint for the destination",
    )


def _known(seen: Facts) -> str:
    ready = seen.get("ready_endpoints")
    # Its gauge is written every five seconds, so just after a rollout a nought says nothing.
    return f"the picker knows {ready:g} ready endpoints" if ready else "the picker does not say how many endpoints it knows"


def _shown(servers: c.Mapping[str, int]) -> str:
    return ", ".join(f"{server} ({count})" for server, count in sorted(servers.items())) or "no server"


JUDGES: dict[str, c.Callable[[Facts], Found]] = {
    "endpoints": _endpoints,
    "plugins": _plugins,
    "obeyed": _obeyed,
    "sticky": _sticky,
    "cached": _cached,
    "roam": _roam,
    "spread": _spread,
    "follow": _follow,
    "split": _split,
    "avoid": _avoid,
}
PROMISES = (*PHASES, "split")
# A claim that goes with another one's promise, and the looks that claims come from where it is not one of the same name.
_PROMISE = {"cached": "sticky"}
_SOURCE = {"cached": ("sticky",), "plugins": ("counted",), "obeyed": ("counted",), "endpoints": ("counted", "endpoints")}
