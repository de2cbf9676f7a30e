# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests of one route that several services share by weight (route.weights), as rules of HTTPRoutes. Pure."""

from __future__ import annotations

import itertools
import typing as t

from ...common.objects import Facts
from ...schema.fields import Problem
from ..engines.weights import served_name
from ..parts.charts import provider_facts
from ..parts.names import name_suffix, service_name
from .gateway import common_host, connection, listened_hosts, routes_suffix

# A request with this header, and the name of the service whose route is shared, goes to that service.
PIN = "x-llm-d-service"
# Envoy writes a random UUID into it before it chooses a route, also over one that a client from outside has sent.
REQUEST_ID = "x-request-id"
# The limit of headers of a match of an HTTPRoute, and of backends of a rule.
MOST = 16
# Hexadecimal digits of the request ID that are compared: shares are exact to one in 4,096.
_DIGITS = 3
_ANY, _NONE = ".+", "none"
Headers = list[dict[str, str]]


def sharing(services: t.Sequence[Facts]) -> dict[str, Facts]:
    """The services that share requests with others, by name."""
    named = {name for service in services for name in service["route"]["weights"]}
    return {service["name"]: service for service in services if service["name"] in named}


def by_name(service: Facts, user: Facts, names: t.Sequence[str]) -> Facts:
    """A service with the suffix at the names in its weights, where the file omits it. names: of all services, with the suffix."""
    weights = {service_name(written, user, names): weight for written, weight in service["route"]["weights"].items()}
    return {**service, "route": {**service["route"], "weights": weights}}


def route_name(service: Facts, suffix: str) -> str:
    """The name of the HTTPRoute of a service. suffix: of the routes of this Gateway."""
    return str(service["route"]["name"] or service["name"] + suffix)


def part_name(owner: str, name: str) -> str:
    """The name of the HTTPRoute by which a service gets its part of the requests of the owner's route."""
    return f"{owner}.{name}"


def rules(service: Facts, headers: Headers, way: str | None, backends: t.Mapping[str, Facts]) -> list[Facts]:
    """The rules of a service's own route: {headers, backends}, each with one match: the API refuses to replace a prefix that several matches could have.

    headers: of every request of the route; way: `weights` of the provider; backends: by name of a service, without a weight.
    """
    own, weights = backends[service["name"]], service["route"]["weights"]
    if not weights:
        return [{"headers": headers, "backends": [{**own, "weight": None}]}]
    pinned = [*headers, {"name": PIN, "value": service["name"]}]
    if way == "backends":
        shared = [{**backends[name], "weight": weight} for name, weight in weights.items()]
        return [{"headers": headers, "backends": shared}, {"headers": pinned, "backends": [{**own, "weight": None}]}]
    # With two headers it precedes the rules of the others, which have one, with any controller.
    return [{"headers": each, "backends": [{**own, "weight": None}]} for each in (headers, [*pinned, _id(_ANY)])]


def part(owner: str, weights: t.Mapping[str, int], name: str) -> dict[str, str]:
    """The header by which a service gets its part of the requests of the owner's route; the owner gets the rest."""
    others = [each for each in weights if each != owner]
    total, whole = sum(weights.values()), 16**_DIGITS
    ends = [round(whole * each / total) for each in itertools.accumulate(weights[each] for each in others)]
    place = others.index(name)
    return _id(beginnings(ends[place - 1] if place else 0, ends[place]))


def beginnings(start: int, end: int) -> str:
    """A regular expression for texts whose first hexadecimal digits are at least `start` and less than `end`."""
    patterns = []
    while start < end:
        # The largest block of equal beginnings that starts here and ends in time; `after` digits may then be any.
        after = max(digits for digits in range(_DIGITS) if start % 16**digits == 0 and start + 16**digits <= end)
        before, first = divmod(start // 16**after, 16)
        count = min((end - start) // 16**after, 16 - first)
        width = _DIGITS - 1 - after
        patterns.append((f"{before:0{width}x}" if width else "") + f"[{'0123456789abcdef'[first : first + count]}]")
        start += count * 16**after
    return f"({'|'.join(patterns)}).*" if patterns else _NONE


def _id(value: str) -> dict[str, str]:
    return {"type": "RegularExpression", "name": REQUEST_ID, "value": value}


def sharing_problems(user: Facts, services: t.Sequence[tuple[str, Facts]], names: t.Sequence[str]) -> list[Problem]:
    """Weights that name no service, or services that cannot share requests. Takes (path, service) pairs of valid services, and the names of all.

    The names in weights are those of the file, without the suffix or with it; `names` have it.
    """
    problems: list[Problem] = []
    for path, service in services:
        if service["route"]["weights"]:
            problems += list(_problems(user, path, service, services, names)) or list(_ambiguous_variants(user, path, service, services))
    return problems


def _problems(user: Facts, path: str, service: Facts, services: t.Sequence[tuple[str, Facts]], names: t.Sequence[str]) -> t.Iterator[Problem]:
    place, weights, name = f"{path}.route.weights", service["route"]["weights"], service["name"]
    written: dict[str, str] = {}
    for key in weights:
        first = written.setdefault(service_name(key, user, names), key)
        if first != key:
            yield Problem(f"{place}.{key}", weights[key], f"is the same service as '{first}'.", "Take one of them out.")
    known = {each["name"]: each for _path, each in services}
    provider, facts = user["llm_d_gateway"]["provider"], provider_facts(user)
    if not facts["weights"]:
        why = f"is not supported with provider {provider}: it is unknown whether your gateway calls the endpoint picker of each service."
        yield Problem(place, weights, why, "Name the provider, and write 'install: false' and 'create: false'; or separate requests by route.headers.")
    elif facts["weights"] == "request_id" and connection(user) == "ext_proc" and "InferencePool" in facts["backends"]:
        why = f"is not supported with 'connection: ext_proc' of {provider}, whose EnvoyFilter calls one endpoint picker for each route."
        yield Problem(place, weights, why, "Write 'connection: pool' in llm_d_gateway.")
    if name not in written:
        own = name.removesuffix(name_suffix(user))
        yield Problem(place, weights, "has no weight for the service itself.", f"Add '{own}: 90', or 0 where the others get all its requests.")
    if facts["weights"] and (excess := _too_many(service["route"], facts["weights"])):
        yield Problem(f"{path}.route.{excess[0]}", excess[1], f"has {excess[1]} elements.", f"Write at most {excess[2]} beside weights.")
    reserved = {PIN, REQUEST_ID} if facts["weights"] == "request_id" else {PIN}
    for header in service["route"]["headers"]:
        if header.lower() in reserved:
            yield Problem(
                f"{path}.route.headers.{header}", None, "is a header that weights need for their own rules.", "Write another one, or take weights out."
            )
    if set(written) <= {name}:
        yield Problem(place, weights, "names no other service to share the requests with.", "Add one, or take weights out.")
    elif not any(weights.values()):
        yield Problem(place, weights, "gives no service any requests.", "Write a weight above 0.")
    for other, key in written.items():
        if other == name:
            continue
        made = part_name(name, other) + routes_suffix(user)
        for holder, each in services if facts["weights"] == "request_id" else []:
            if each["route"]["name"] == made:
                why = f"is the name of the route by which {place} gives '{key}' its requests."
                yield Problem(f"{holder}.route.name", made, why, "Write another name.")
        if other not in names:
            words = ", ".join(sorted({each.removesuffix(name_suffix(user)) for each in names if each != name})) or "no other service is in the file"
            yield Problem(f"{place}.{key}", weights[key], "is no model service of this file.", f"Write one of those that are: {words}.")
        if other not in known:
            continue
        served, expected = served_name(known[other]["model"]), served_name(service["model"])
        if served != expected:
            why = f"'{key}' serves '{served}', and clients of this route ask for '{expected}': it would answer them with status 404."
            yield Problem(f"{place}.{key}", weights[key], why, f"Write 'model: {{served_name: {expected}}}' for {key}.")
        if known[other]["route"]["weights"]:
            why = f"'{key}' shares requests with others itself, and its weights are for those of its own route only."
            yield Problem(f"{place}.{key}", weights[key], why, f"Take the weights of {key} out, and name its services here.")


def _too_many(route: Facts, way: str) -> tuple[str, int, int] | None:
    """(option, number, limit) of headers or weights beyond the limits of an HTTPRoute; None within them."""
    headers = MOST - (1 if way == "backends" else 2)
    limits = {"headers": headers, **({"weights": MOST} if way == "backends" else {})}
    return next(((option, len(route[option]), most) for option, most in limits.items() if len(route[option]) > most), None)


def prefix(service: Facts, option: str) -> str:
    """The path prefix of a route of a service. option: path or direct_path."""
    return str(service["route"][option]).rstrip("/") or "/"


def same_hosts(one: Facts, other: Facts, listened: t.Sequence[str]) -> list[str]:
    """The host names that two services share; '*' for any. listened: those of the listeners.

    A route gets the requests for the host names that it has in common with a listener; of two routes, the one with the longer name gets them. Only equal
    names are shared.
    """
    first, second = ([common_host(host, name) for host in each["route"]["hostnames"] or ["*"] for name in listened] for each in (one, other))
    return [host for host in first if host and host in second]


def _ambiguous_variants(user: Facts, place: str, service: Facts, services: t.Sequence[tuple[str, Facts]]) -> t.Iterator[Problem]:
    """Services without a weight whose rules have as many headers as those by request ID: the order of such rules depends on the controller."""
    route, known, listened = service["route"], [each["name"] for _path, each in services], listened_hosts(user)
    taking = {service_name(key, user, known) for key in route["weights"]}
    for path, other in services if provider_facts(user)["weights"] == "request_id" else []:
        other_route = other["route"]
        same = prefix(other, "path") == prefix(service, "path") and same_hosts(other, service, listened)
        if other["name"] not in taking and same and len(other_route["headers"]) == len(route["headers"]) + 1:
            why = f"has as many headers as the rules by which {place}.route.weights shares the requests of the same path, and either could be first."
            yield Problem(f"{path}.route.headers", other_route["headers"], why, "Write one header more, or another path.")
