# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes in the routes of completed model services: requests that lead to two of them, and headers that no client can send. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Facts
from ...http import headers as http_headers
from ...schema.fields import Problem
from ..engines.api_keys import api_key_reference
from ..gateways.sharing import prefix, route_name, same_hosts
from ..servers.server import DIRECT_SUFFIX

LONGEST_HEADER = 4096  # characters of a value that an HTTPRoute matches


def route_problems(services: t.Iterable[tuple[str, Facts]], listened: t.Sequence[str], suffix: str) -> list[Problem]:
    """Services that get the same requests, or with the same name of their routes. Takes (path, service) pairs. listened: host names of the listeners; suffix:
    of the names of routes."""
    seen: list[tuple[str, str, Facts]] = []
    named: dict[str, tuple[str, Facts]] = {}
    found = []
    for path, service in services:
        for option in ("path", "direct_path") if service["route"]["direct_path"] else ("path",):
            found += _same_route(service, path, option, seen, listened)
            seen.append((path, option, service))
        name = route_name(service, suffix)
        for made in (name, f"{name}{DIRECT_SUFFIX}") if service["route"]["direct_path"] else (name,):
            other, first = named.setdefault(made, (path, service))
            if first is not service and first["name"] != service["name"]:  # services with one name are told as such
                why = f"{f'makes {made}, which ' if made != name else ''}is the name of a route of {other} already."
                found.append(Problem(f"{path}.route.name", service["route"]["name"], why, "Write another name."))
    return found


def header_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """Headers of a route that no client can send as they are written, so that nothing would reach the model by them, or be measured. Values may be keys."""
    found: list[Problem] = []
    seen: dict[str, str] = {}
    given = {
        "llm_d_benchmark.api_key": (user["llm_d_benchmark"] or {}).get("api_key"),
        f"{path}.model.api_key": service["model"]["api_key"],
        "llm_d_api_key": api_key_reference(service, user),
    }
    key = next((option for option, value in given.items() if value), None)
    for name, value in service["route"]["headers"].items():
        place, first = f"{path}.route.headers.{name}", seen.setdefault(name.lower(), name)
        if first != name:
            found.append(Problem(place, None, f"is the same header as {first}, since names of headers have no case.", "Write one of them."))
        elif name.lower() == "host":
            found.append(Problem(place, value, "is the host name of a request.", f"Write it as 'hostnames: [{value}]' of the route."))
        elif name.lower() in http_headers.OWN:
            found.append(Problem(place, None, "is of a connection, and each client and proxy writes its own.", "Take it out."))
        elif name.lower() == "authorization" and key:
            found.append(Problem(place, None, f"is what {key} is sent in.", "Write one of the two."))
        else:
            found += _unsendable(place, name, value)
    return found


def _unsendable(place: str, name: str, value: str) -> list[Problem]:
    if not 0 < len(value) <= LONGEST_HEADER:
        return [Problem(place, None, f"has {len(value)} characters.", f"Write 1 to {LONGEST_HEADER:,}.")]
    if value != value.strip(" \t"):
        return [Problem(place, None, "has a blank at its beginning or end, which proxies take off each value that they get.", "Write it without.")]
    try:
        http_headers.head({name: value})
    except ValueError:
        return [Problem(place, None, "holds a character that headers cannot hold.", "Write letters, digits and signs of Latin-1 only.")]
    return []


def _same_route(service: Facts, path: str, option: str, seen: list[tuple[str, str, Facts]], listened: t.Sequence[str]) -> list[Problem]:
    """Another route that gets the same requests: same path, a host name in common, and headers that do not tell them apart.

    option: of the two that are a path; seen: (path in the file, option, service) of all routes before.
    """
    ours_at = prefix(service, option)
    for place, other_option, other in seen:
        if prefix(other, other_option) != ours_at or not (shared := same_hosts(other, service, listened)):
            continue
        ours, theirs = ({name.lower(): value for name, value in each["route"]["headers"].items()} for each in (service, other))
        # With more headers a route comes first; with as many, one header has to have different values, or a request can match both.
        if len(ours) != len(theirs) or any(theirs.get(name, value) != value for name, value in ours.items()):
            continue
        where = f"path '{ours_at}'" + (f" of host '{shared[0]}'" if shared[0] != "*" else "")
        if option == "direct_path" or other_option == "direct_path":
            why, fix = f"{where} is that of {place}.route.{other_option} already.", "Write another path."
            return [Problem(f"{path}.route.{option}", service["route"][option], why, fix)]
        if ours:
            why, fix = f"a request to {where} can have these headers and those of {place} ('{other['name']}').", "Write another value of the same header."
            return [Problem(f"{path}.route.headers", service["route"]["headers"], why, fix)]
        fix = f"Write a path such as 'route: {{path: /{service['name']}}}', or hostnames or headers of its own."
        return [Problem(f"{path}.route", service["route"], f"{where} leads to {place} ('{other['name']}') already.", fix)]
    return []
