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
    """Problems of services that get the same requests, or whose routes have the same name. Takes (path, service) pairs. listened: host names of the listeners;
    suffix: of the names of routes."""
    earlier: list[tuple[str, str, Facts]] = []
    named: dict[str, tuple[str, Facts]] = {}
    problems = []
    for path, service in services:
        for option in ("path", "direct_path") if service["route"]["direct_path"] else ("path",):
            problems += _same_route(service, path, option, earlier, listened)
            earlier.append((path, option, service))
        name = route_name(service, suffix)
        for made in (name, f"{name}{DIRECT_SUFFIX}") if service["route"]["direct_path"] else (name,):
            other, first = named.setdefault(made, (path, service))
            if first is not service and first["name"] != service["name"]:  # services with one name are reported by name_problems
                why = f"{f'makes {made}, which ' if made != name else ''}is the name of a route of {other} already."
                problems.append(Problem(f"{path}.route.name", service["route"]["name"], why, "Write another name."))
    return problems


def header_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """Problems of headers of a route that no client can send as written: no request, nor a benchmark, would reach the model. Values may be API keys."""
    problems: list[Problem] = []
    spellings: dict[str, str] = {}
    given = {
        "llm_d_benchmark.api_key": (user["llm_d_benchmark"] or {}).get("api_key"),
        f"{path}.model.api_key": service["model"]["api_key"],
        "llm_d_api_key": api_key_reference(service, user),
    }
    key = next((option for option, value in given.items() if value), None)
    for name, value in service["route"]["headers"].items():
        place, first = f"{path}.route.headers.{name}", spellings.setdefault(name.lower(), name)
        if first != name:
            problems.append(Problem(place, None, f"is the same header as {first}, since names of headers have no case.", "Write one of them."))
        elif name.lower() == "host":
            problems.append(Problem(place, value, "is the host name of a request.", f"Write it as 'hostnames: [{value}]' of the route."))
        elif name.lower() in http_headers.OWN:
            problems.append(Problem(place, None, "is of a connection, and each client and proxy writes its own.", "Take it out."))
        elif name.lower() == "authorization" and key:
            problems.append(Problem(place, None, f"is what {key} is sent in.", "Write one of the two."))
        else:
            problems += _unsendable(place, name, value)
    return problems


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


def _same_route(service: Facts, path: str, option: str, earlier: list[tuple[str, str, Facts]], listened: t.Sequence[str]) -> list[Problem]:
    """The problem of another route for the same requests: same path, a host name in common, and headers that do not separate them.

    option: path or direct_path; earlier: (path in the file, option, service) of the routes before.
    """
    own_path = prefix(service, option)
    for place, other_option, other in earlier:
        if prefix(other, other_option) != own_path or not (shared := same_hosts(other, service, listened)):
            continue
        own_headers, other_headers = ({name.lower(): value for name, value in each["route"]["headers"].items()} for each in (service, other))
        # A route with more headers takes precedence; with the same number, one header has to have different values, or a request can match both.
        if len(own_headers) != len(other_headers) or any(other_headers.get(name, value) != value for name, value in own_headers.items()):
            continue
        where = f"path '{own_path}'" + (f" of host '{shared[0]}'" if shared[0] != "*" else "")
        if option == "direct_path" or other_option == "direct_path":
            why, fix = f"{where} is that of {place}.route.{other_option} already.", "Write another path."
            return [Problem(f"{path}.route.{option}", service["route"][option], why, fix)]
        if own_headers:
            why, fix = f"a request to {where} can have these headers and those of {place} ('{other['name']}').", "Write another value of the same header."
            return [Problem(f"{path}.route.headers", service["route"]["headers"], why, fix)]
        fix = f"Write a path such as 'route: {{path: /{service['name']}}}', or hostnames or headers of its own."
        return [Problem(f"{path}.route", service["route"], f"{where} leads to {place} ('{other['name']}') already.", fix)]
    return []
