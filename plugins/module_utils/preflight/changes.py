# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The changes that a run of site.yml would make to an existing deployment, as far as its users notice them. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import Facts, dicts, mapping
from ..common.text import pluralize
from ..releases.lines import LEADER_WORKER_SET
from .running import running, servers_of

_GROUPS = LEADER_WORKER_SET["kind"]


def changes(facts: Facts, needs: Facts) -> list[str]:
    """A line for each difference between the existing deployment of this instance and the planned one; none where there is no deployment yet.

    What could not be read is not a difference.
    """
    planned, observed = mapping(needs.get("planned")), mapping(facts.get("running"))
    existing = [
        each for each in running(dicts(observed.get("objects"))) if (each["instance"], each["namespace"]) == (planned.get("instance"), needs["namespace"])
    ]
    if not planned or not existing or not existing[0]["services"] or "Deployment" in observed["unread"]:
        return []
    return list(_differences(existing[0], planned, needs["removes_services"], observed["unread"]))


def _differences(before: Facts, after: Facts, removes: bool, unread: t.Container[str]) -> t.Iterator[str]:
    known = bool(before["release"] and after["release"])
    if known:
        yield from _line("release line", before["release"], after["release"])
    old, new = before["services"], after["services"]
    for name in sorted({*old, *new}):
        if name not in new:
            yield from [f"{name}: removed, with {pluralize(servers_of(old[name]), 'server')}"] if removes else []
        elif name not in old:
            yield f"{name}: added, with {pluralize(servers_of(new[name]), 'server')}"
        else:
            yield from _picker(name, old[name], new[name], known and before["release"] != after["release"])
            yield from _servers(name, old[name]["servers"], new[name]["servers"], _GROUPS in unread)
            yield from _arguments(name, old[name], new[name])
    if new and "Gateway" not in unread:
        yield from _line("gateway", _gateways(before), _gateways(after))


def _picker(name: str, old: Facts, new: Facts, other_line: bool) -> t.Iterator[str]:
    """Another release line has its own image and names of plugins: these are not reported as further differences."""
    if old["config"]:
        lines = list(_line(f"{name}: scorers", old["scorers"], new["scorers"]))
        same = other_line or old["config"] == new["config"]
        yield from lines or ([] if same else [f"{name}: other parameters of the endpoint picker, the same scorers"])
    if old["image"] and not other_line:
        yield from _line(f"{name}: image of the endpoint picker", old["image"], new["image"])


def _servers(name: str, old: Facts, new: Facts, unread: bool) -> t.Iterator[str]:
    """unread: whether there may be servers of several nodes that could not be read."""
    for server in sorted({*old, *new}):
        existing, planned = mapping(old.get(server)), mapping(new.get(server))
        if unread and not existing:
            continue
        before, after = (each["replicas"] if each else 0 for each in (existing, planned))
        if before is not None and after is not None:
            yield from _line(f"{name}: servers {server}", str(before), str(after))
        for key in ("model", "image") if existing and planned else ():
            yield from _line(f"{name}: {key} of {server}", existing[key], planned[key])


def _arguments(name: str, old: Facts, new: Facts) -> t.Iterator[str]:
    """Names of flags whose values differ, without the values. Another model or image has its own flags: these are not reported as further differences."""
    for server in sorted({*old["servers"]} & {*new["servers"]}):
        before, after = old["flags"][server], new["flags"][server]
        differ = sorted(flag for flag in {*before, *after} if before.get(flag) != after.get(flag))
        if differ and all(old["servers"][server][key] == new["servers"][server][key] for key in ("model", "image")):
            yield f"{name}: other arguments of {server}: {', '.join(f'--{flag}' for flag in differ)}"


def _gateways(deployment: Facts) -> str:
    if deployment["gateways"]:
        return ", ".join(f"Gateway {name} of class {kind}" for name, kind in sorted(deployment["gateways"].items()))
    return "a proxy beside each endpoint picker" if any(each["proxy"] for each in deployment["services"].values()) else "no Gateway of this deployment"


def _line(what: str, before: str, after: str) -> t.Iterator[str]:
    if before != after:
        yield f"{what}: from {before or 'none'} to {after or 'none'}"
