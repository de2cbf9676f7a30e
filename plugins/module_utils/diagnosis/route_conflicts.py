# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about routes, listener sets and Gateways of others that take the requests, listeners or address of a stack. Pure.

The precedence is that of the Gateway API: the longest host name, then an exact path, the longest prefix, a method, the most headers, the most
query parameters; between equal ones the oldest route, then the first by namespace and name.
"""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.objects import Facts, condition, describe, dicts, get_path, mapping, text
from ..k8s.readiness.gateway import route as judge_route
from .finding import SUSPECT, WIRING, Finding, finding
from .gateway import CONTEXT
from .snapshot import Snapshot, name_of
from .strangers import GATEWAY_API, NEAR, every, failing, in_effect, is_ours, origin, place, references

API = "/v1"  # where clients send requests of a route that matches every path
LISTENER_SETS, GROUPS_OF_SETS = ("ListenerSet", "XListenerSet"), "gateway.networking."


def meet(one: str, other: str) -> str | None:
    """The intersection of two host names, of which each may be a wildcard; empty for any host, None where they have no host in common."""
    one, other = one.lower(), other.lower()
    if not one or not other or one == other:
        return one or other
    for wide, narrow in ((one, other), (other, one)):
        if wide.startswith("*.") and narrow.endswith(wide[1:]):
            return narrow
    return None


def _hosts(route: Facts, listener: c.Mapping[str, t.Any]) -> set[str]:
    """The host names of a route on a listener; empty for any."""
    names = [text(name) for name in get_path(route, "spec", "hostnames") or []] or [""]
    common = [meet(name, text(listener.get("hostname"))) for name in names]
    return {name for name in common if name is not None}


def _under(path: str, root: str) -> bool:
    return root == "/" or path == root or path.startswith(root + "/")


def wins(match: c.Mapping[str, t.Any], path: str, older: bool, narrower: bool = False, headers: int = 0) -> tuple[bool, str] | None:
    """The requests under the prefix `path` that go to another route with this match: (whether it is all of them, description); None for no request.

    older: whether the other route is older than ours; narrower: whether its host name takes precedence over paths; headers: the number of headers that
    our route matches.
    """
    kind, value = text(get_path(match, "path", "type")) or "PathPrefix", text(get_path(match, "path", "value")) or "/"
    root = API if path == "/" else path
    limits = [f"method {text(match.get('method'))}"] if match.get("method") else []
    limits += [f"{name} {text(entry.get('name'))}" for name, key in (("header", "headers"), ("parameter", "queryParams")) for entry in dicts(match.get(key))]
    if kind == "RegularExpression":
        # its precedence depends on the implementation
        literal = re.split(r"[\\^$.|?*+()\[{]", value.lstrip("^"), maxsplit=1)[0]
        return (False, f"regular expression {value}") if literal.startswith(root) or root.startswith(literal) else None
    value = value.rstrip("/") or "/" if kind == "PathPrefix" else value
    touches = _under(value, root) or (kind == "PathPrefix" and _under(root, value))
    header_count = len(dicts(match.get("headers")))
    tied = bool(match.get("method")) or header_count > headers or (header_count == headers and (bool(dicts(match.get("queryParams"))) or older))
    first = narrower or kind == "Exact" or len(value) > len(path) or (len(value) == len(path) and tied)
    if not touches or not first:
        return None
    return limits in ([], ["method POST"]), " with ".join([f"{'prefix' if kind == 'PathPrefix' else 'path'} {value}", *[" and ".join(limits)] * bool(limits)])


def _listeners(snap: Snapshot, route: Facts) -> list[c.Mapping[str, t.Any]]:
    """The listeners of the plan that a route is attached to and whose controller accepts it."""
    gateway = snap.plan["gateway"]
    accepted = []
    for listener in gateway.get("listeners") or [gateway["listener"]]:
        for entry in dicts(get_path(route, "status", "parents")):
            ref = mapping(entry.get("parentRef"))
            named = (text(ref.get("namespace")) or place(route)[0], text(ref.get("name")), text(ref.get("kind")) or "Gateway")
            attached = ref.get("sectionName") in (None, listener["name"]) and ref.get("port") in (None, listener["port"])
            if named == (gateway["namespace"], gateway["name"], "Gateway") and attached and condition(entry, "Accepted").get("status") == "True":
                accepted.append(listener)
                break
    return accepted


def _age(route: Facts) -> tuple[str, str]:
    return text(get_path(route, "metadata", "creationTimestamp")), "/".join(place(route))


def routes(snap: Snapshot) -> c.Iterator[Finding]:
    """Routes of others, or of another deployment, that take requests of ours."""
    if not snap.plan["gateway"]["gateway_api"]:
        return
    planned = {(service["route"]["namespace"], service["route"]["name"]): service for service in snap.services if service["route"]["exists"]}
    own = {(each["namespace"], each["name"]) for service in snap.services for each in service["routes"]}
    candidates = every(snap, GATEWAY_API, "HTTPRoute", "GRPCRoute")
    mine = [(route, planned[place(route)]) for route in candidates if route.get("kind") == "HTTPRoute" and place(route) in planned]
    for other in candidates:
        if other.get("kind") == "HTTPRoute" and place(other) in own:
            continue
        listeners = _listeners(snap, other)
        for route, service in mine:
            yield from _taken(snap, route, service, other, listeners)


def _taken(snap: Snapshot, route: Facts, service: c.Mapping[str, t.Any], other: Facts, listeners: c.Sequence[c.Mapping[str, t.Any]]) -> c.Iterator[Finding]:
    where = f"{name_of(other)}, {name_of(route)}"
    if other.get("kind") == "GRPCRoute":
        shared = [listener["name"] for listener in listeners if _hosts(route, listener) & _hosts(other, listener)]
        if shared and not judge_route(route, CONTEXT).ready:
            lines = [f"both have the same host name on listener {', '.join(shared)}, which only one kind of route can have", origin(snap, other)]
            yield finding("stranger", where, lines, WIRING + 2, f"a GRPCRoute of someone else has the host name of {service['name']}")
        return
    all_of_it, parts = False, []
    for listener in listeners:
        for narrower in _narrower(route, other, listener):
            for rule in dicts(get_path(other, "spec", "rules")):
                for match in dicts(rule.get("matches")) or [{}]:
                    won = wins(match, service["route"]["path"], _age(other) < _age(route), narrower, len(service["route"].get("headers") or []))
                    if won:
                        all_of_it = all_of_it or won[0]
                        parts.append(f"it matches {won[1]} and leads to {_destination(rule)}")
    if parts:
        names = ", ".join(text(name) for name in get_path(other, "spec", "hostnames") or []) or "any"
        ours = f"the route of {service['name']} matches prefix {service['route']['path']}"
        lines = [*dict.fromkeys(parts), f"its host names: {names}; {ours}", origin(snap, other)]
        weight = WIRING + 2 if all_of_it else SUSPECT + 8 if failing(snap) else SUSPECT
        yield finding("stranger", where, lines, weight, f"a route of someone else takes requests of {service['name']}")


def _narrower(route: Facts, other: Facts, listener: c.Mapping[str, t.Any]) -> set[bool]:
    """For each host name of ours on which the other route is not outranked: whether its host name is narrower, so that paths do not matter.

    A route without host names never takes precedence on a host name that another route lists.
    """
    named = bool(get_path(route, "spec", "hostnames"))
    results = set()
    for host in _hosts(route, listener):
        for other_host in _hosts(other, listener):
            if other_host == host:
                results.add(False)
            elif named and meet(host, other_host) == other_host:
                results.add(True)
    return results


def _destination(rule: c.Mapping[str, t.Any]) -> str:
    refs = [f"{text(ref.get('kind')) or 'Service'} {text(ref.get('name'))}" for ref in dicts(rule.get("backendRefs"))]
    filters = [text(entry.get("type")) for entry in dicts(rule.get("filters"))]
    return ", ".join(refs + ([] if refs else filters)) or "nothing"


def gateways(snap: Snapshot) -> c.Iterator[Finding]:
    """Gateways and listener sets of others that claim the address or a listener of our Gateway, where its status reports a conflict."""
    wanted = snap.plan["gateway"]
    mine = snap.get("Gateway", wanted["name"], wanted["namespace"]) if wanted["gateway_api"] else None
    if mine is None:
        return
    reports = [("", entry) for entry in dicts(get_path(mine, "status", "conditions"))]
    reports += [(text(part.get("name")), entry) for part in dicts(get_path(mine, "status", "listeners")) for entry in dicts(part.get("conditions"))]
    failures = (("Accepted", "False"), ("Programmed", "False"), ("Conflicted", "True"))
    failed = [(listener, entry) for listener, entry in reports if (entry.get("type"), entry.get("status")) in failures]
    if not failed:
        return
    messages = [(f"listener {listener}: " if listener else "") + describe(entry) for listener, entry in failed]
    for other in [*every(snap, GATEWAY_API, "Gateway"), *every(snap, GROUPS_OF_SETS, *LISTENER_SETS)]:
        if place(other) == place(mine) and other.get("kind") == "Gateway" or (other.get("kind") in LISTENER_SETS and is_ours(snap, other)):
            continue
        claims = [*_same_address(mine, other), *_same_listeners(mine, other, " ".join(messages))]
        if claims:
            yield finding(
                "stranger",
                f"{name_of(mine)}, {name_of(other)}",
                [*claims, *messages, origin(snap, other)],
                WIRING + 3,
                f"a {text(other.get('kind'))} of someone else claims what the Gateway needs",
                "give one of them another address, port or host name",
            )


def _same_address(mine: Facts, other: Facts) -> c.Iterator[str]:
    one, two = ({text(entry.get("value")) for part in ("spec", "status") for entry in dicts(get_path(obj, part, "addresses"))} for obj in (mine, other))
    yield from (f"both claim address {value}" for value in sorted(one & two - {""}))


def _same_listeners(mine: Facts, other: Facts, messages: str) -> c.Iterator[str]:
    """A line for each listener that both have. other: a listener set of our Gateway, or a Gateway of its class where `messages` name it or a conflict."""
    if other.get("kind") == "Gateway":
        same_class = get_path(mine, "spec", "gatewayClassName") == get_path(other, "spec", "gatewayClassName")
        if not same_class or not ("Conflict" in messages or place(other)[1] in messages.split()):
            return
    elif not any(key[1:] == ("Gateway", *place(mine)) for _field, key, _section in references(other)):
        return
    listeners = {(entry.get("port"), text(entry.get("hostname"))) for entry in dicts(get_path(other, "spec", "listeners"))}
    for entry in dicts(get_path(mine, "spec", "listeners")):
        if (entry.get("port"), text(entry.get("hostname"))) in listeners:
            yield f"both have a listener on port {text(entry.get('port'))} for host {text(entry.get('hostname')) or 'any'}"


def listener_sets(snap: Snapshot) -> c.Iterator[Finding]:
    """Listener sets of others that add a listener for our host names to our Gateway."""
    gateway = snap.plan["gateway"]
    if not gateway["gateway_api"]:
        return
    ours = {(listener["port"], text(listener.get("hostname"))) for listener in gateway.get("listeners") or [gateway["listener"]]}
    names = {(port, name) for port, _host in ours for service in snap.services for name in service["route"]["hostnames"]}
    for obj in every(snap, GROUPS_OF_SETS, *LISTENER_SETS):
        parents = [key[1:] for _field, key, _section in references(obj)]
        if is_ours(snap, obj) or not in_effect(obj) or ("Gateway", gateway["namespace"], gateway["name"]) not in parents:
            continue
        added = {(entry.get("port"), text(entry.get("hostname"))) for entry in dicts(get_path(obj, "spec", "listeners"))}
        both = [f"it adds a listener on port {port} for host {host or 'any'}" for port, host in sorted(added & (ours | names), key=str)]
        if both:
            what = "a listener set of someone else has a listener for our host"
            yield finding("stranger", name_of(obj), [*both, origin(snap, obj)], NEAR[failing(snap)], what)


RULES = (routes, gateways, listener_sets)
