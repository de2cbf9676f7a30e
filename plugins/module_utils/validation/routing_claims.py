# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about the routing of one service, from the observations of routing_probe.Prober. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import Facts
from .claims import OTHER_CLIENTS, PHASES, Claim, Judged, claim, counted, scheduled, serving
from .counts import count_of

# A claim, the reason why it is not checked, or None where it does not apply.
Outcome = t.Union[Claim, str, None]  # noqa: UP007  # ansible-test's pylint knows older Pythons too
NO_HEADER = "neither the answers (x-inference-pod) nor the counters of the picker or the servers show which server answered"
SHOW_NAME = "permit this account to read the servers' metrics (get on pods/proxy), or use a release that labels scheduler_attempts with the server"


def judge_service(observation: Facts) -> Judged:
    """All claims about one service."""
    name = observation["name"]
    claims, skipped = [serving(name, observation)], []
    if not claims[0]["ok"]:
        names = ["scheduled", "counted", *(what for what in JUDGES if what in ("sticky", "spread") or _promised(what, observation))]
        return claims, [{"id": f"{name}/{what}", "why": "the service is not serving"} for what in names]
    claims += [scheduled(name, observation), counted(name, observation)]
    for what, judge in JUDGES.items():
        outcome = judge(observation) if _promised(what, observation) else None
        if what in ("sticky", "spread") and outcome is None:
            outcome = "the scheduling policy does not promise it"
        if isinstance(outcome, str):
            skipped.append({"id": f"{name}/{what}", "why": outcome})
        elif outcome:
            seconds = sum(observation["seconds"].get(phase, 0.0) for phase in _SOURCE.get(what, (what,)))
            claims.append({**outcome, "id": f"{name}/{what}", "seconds": round(seconds, 3)})
    return claims, skipped


def _promised(what: str, observation: Facts) -> bool:
    """Whether a claim applies: a claim about a promise of the scheduling policy needs that promise, the one about aliases needs aliases, all others
    always apply."""
    if what == "aliases":
        return what in observation
    return _PROMISE.get(what, what) in observation["promises"] or (what not in PROMISES and what not in _PROMISE)


def _one_server(observation: Facts) -> str:
    """The reason why the picker cannot choose between servers; empty where it can."""
    replicas = observation.get("replicas")
    if replicas is None:
        replicas = observation.get("ready_endpoints")
    if replicas is None:
        return "the number of replicas is not known"
    if replicas < 2:
        return "there is one replica" if replicas else "there are no replicas"
    return ""


def _sticky(observation: Facts) -> Outcome:
    phase = observation.get("sticky") or {"servers": {}, "sent": 0, "source": ""}
    servers = phase["servers"]
    if why := _one_server(observation):
        return why
    if not servers and phase["sent"]:
        return claim("", False, NO_HEADER, SHOW_NAME)
    return claim(
        "",
        len(servers) == 1 and phase["sent"] > 1 and sum(servers.values()) == phase["sent"],
        f"{phase['sent']} requests with one shared prefix went to {_shown(servers)} ({phase['source']})",
        "check that the prefix scorer is in the picker's configuration and outweighs the others, and that its block size equals the servers'; " + OTHER_CLIENTS,
    )


def _roam(observation: Facts) -> Outcome:
    outcome = _reached(
        observation,
        "roam",
        "one shared prefix",
        "check the picker's configuration for a prefix or session scorer, or a picker plugin other than the random one",
    )
    return {**outcome, "evidence": f"{outcome['evidence']}, at random"} if isinstance(outcome, dict) and outcome["ok"] else outcome


def _spread(observation: Facts) -> Outcome:
    return _reached(
        observation,
        "spread",
        "different prefixes",
        "check how many servers the picker knows (ready endpoints), that the pool's selector matches all pods, and their queues and KV caches",
    )


def _reached(observation: Facts, name: str, kind: str, remedy: str) -> Outcome:
    """The claim that the requests of a phase reached more than one server."""
    phase = observation.get(name) or {"servers": {}, "sent": 0, "source": ""}
    servers = phase["servers"]
    if why := _one_server(observation):
        return why
    if not servers and phase["sent"]:
        return claim("", False, NO_HEADER, SHOW_NAME)
    evidence = f"{phase['sent']} requests with {kind} went to {_shown(servers)} ({phase['source']})"
    return claim("", len(servers) > 1, evidence if len(servers) > 1 else f"{evidence}; {_known(observation)}", remedy)


def _follow(observation: Facts) -> Outcome:
    phase = observation.get("follow")
    if why := _one_server(observation):
        return why
    if not observation["answered"]:
        return "the answers do not name their server (x-inference-pod)"
    if not phase or "error" in phase:
        return claim("", False, phase["error"] if phase else "no server could be reached directly", phase["remedy"] if phase else "set servers")
    return claim(
        "",
        phase["right"] == phase["sent"],
        f"{phase['right']} of {phase['sent']} prompts that {phase['servers']} servers received directly were routed to the server that caches them",
        "check that KV events arrive: that the servers reach the picker's event port, or it reaches theirs, and publish under ADDRESS:PORT; its log says "
        "'failed to decode' where it does not read the encoding of the engine's version. Before router-0.9, block size and PYTHONHASHSEED of the servers have "
        "to be those of the picker's configuration",
    )


def _split(observation: Facts) -> Outcome:
    phase, words = observation.get("split"), observation.get("words", 0)
    if (observation.get("cold_tokens") or 0) >= words:
        return f"its prompts have {words} words, and prompts of up to {observation['cold_tokens']} uncached tokens stay on the decode servers"
    if not phase or "error" in phase:
        return claim("", False, phase["error"] if phase else "no prefill server could be checked", phase["remedy"] if phase else "set servers")
    decisions = ", ".join(f"{name} {count}" for name, count in sorted(((observation.get("counters") or {}).get("decisions") or {}).items()))
    return claim(
        "",
        phase["prefilled"] >= phase["sent"] > 0,
        f"{phase['prefilled']} of {phase['sent']} new prompts were prefilled by prefill servers"
        + (f"; the endpoint picker decided: {decisions}" if decisions else ""),
        "check that prefill servers are ready and have the role label, the decider's threshold, and the log of the decode servers' routing sidecar",
    )


def _cached(observation: Facts) -> Outcome:
    known = [value for value in observation.get("cached") or () if value is not None]
    if not known:
        return "the servers do not report cached tokens (vLLM does with --enable-prompt-tokens-details)"
    if len((observation.get("sticky") or {}).get("servers") or ()) > 1:
        return "the requests with one shared prefix did not stay on one server"
    hits = [value for value in known if value]
    return claim(
        "",
        bool(hits),
        f"{len(hits)} of {len(known)} requests after the first found its prefix in the cache" + (f", {max(hits)} tokens of it" if hits else ""),
        "check that prefix caching is enabled on the servers, and that the cache of one server can hold a prompt",
    )


def _avoid(observation: Facts) -> Outcome:
    phase = observation.get("avoid")
    if why := _one_server(observation):
        return why
    if not phase:
        return "filling the queue of one of its servers takes more requests than a validation sends; playbooks/compare_scorers.yml measures the effect"
    if "error" in phase:
        return claim("", False, phase["error"], phase["remedy"])
    if not phase["waiting"]:
        return "no queue formed on the busy server, or it emptied too soon"
    if not phase["servers"]:
        return "the answers do not name their server (x-inference-pod)"
    misrouted = phase["servers"].get(phase["busy"], 0)
    return claim(
        "",
        not misrouted,
        f"{misrouted} of {phase['sent']} new prompts went to {phase['busy']} while requests waited there; {_shown(phase['servers'])}",
        "check that the queue scorer is in the picker's configuration and outweighs the others, and that the picker reads the servers' metrics",
    )


def _endpoints(observation: Facts) -> Outcome:
    wanted, ready = observation.get("endpoints"), observation.get("ready_endpoints")
    if wanted is None or ready is None:
        return "the endpoint picker does not report how many servers it knows" if wanted else None
    return claim(
        "",
        ready >= wanted,
        f"the endpoint picker knows {ready:g} of {wanted} servers",
        "check that the pool's selector and port are those of the servers, that all are ready, and that the picker has permission to list pods",
    )


def _plugins(observation: Facts) -> Outcome:
    wanted, counters = observation.get("plugins"), observation.get("counters") or {}
    if not wanted or "ran" not in counters:
        return "the endpoint picker's counters were not read" if wanted else None
    ran, sometimes = counters["ran"], observation.get("sometimes") or {}
    missing = [f"{name} did not run as {point.lower()}" for point, names in wanted.items() for name in names if ran.get(point, {}).get(name, 0) <= 0]
    foreign = [
        f"{name} ran as {point.lower()} and is not in the plan"
        for point in wanted
        for name, count in sorted(ran.get(point, {}).items())
        if count > 0 and name not in (*wanted[point], *sometimes.get(point, ()))
    ]
    runs = "; ".join(f"{point.lower()}: " + ", ".join(f"{name} ({count})" for name, count in sorted(ran[point].items())) for point in wanted if ran.get(point))
    return claim(
        "",
        not missing and not foreign,
        "; ".join(missing + foreign) or f"ran for these requests: {runs}",
        "the endpoint picker does not run the planned configuration: run playbooks/site.yml, and read its log",
    )


def _obeyed(observation: Facts) -> Outcome:
    """The claim that each server answered no more requests than it was picked for."""
    picked, answered = (observation.get("counters") or {}).get("picked"), observation["answered"]
    if not picked:
        return "this release does not count attempts per server"
    if not answered:
        return "the answers do not name their server"
    times = {server: int(count_of(picked, server)) for server in answered}
    problems = [
        f"{server} answered {answered[server]} requests and was picked {count} times" for server, count in sorted(times.items()) if count < answered[server]
    ]
    return claim(
        "",
        not problems,
        "; ".join(problems) or f"the servers that answered are those that were picked: {_shown(times)}",
        "the gateway queries the endpoint picker but ignores its choice: check that it routes by x-gateway-destination-endpoint",
    )


def _aliases(observation: Facts) -> Outcome:
    aliases = observation["aliases"]
    return claim(
        "",
        not aliases["failed"],
        "; ".join(aliases["failed"]) or f"answered: {', '.join(aliases['requested'])}",
        "check that the servers serve the models that model.aliases names (GET /v1/models), and that the endpoint picker reads the InferenceModelRewrite",
    )


def _known(observation: Facts) -> str:
    ready = observation.get("ready_endpoints")
    # The gauge is updated every five seconds, so just after a rollout 0 has no meaning.
    return f"the picker knows {ready:g} ready endpoints" if ready else "the picker does not report how many endpoints it knows"


def _shown(servers: c.Mapping[str, int]) -> str:
    return ", ".join(f"{server} ({count})" for server, count in sorted(servers.items())) or "no server"


JUDGES: dict[str, c.Callable[[Facts], Outcome]] = {
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
    "aliases": _aliases,
}
PROMISES = (*PHASES, "split")
# The promise and the phases of a claim, where their names differ from that of the claim.
_PROMISE = {"cached": "sticky"}
_SOURCE = {"cached": ("sticky",), "plugins": ("counted",), "obeyed": ("counted",), "endpoints": ("counted", "endpoints")}
