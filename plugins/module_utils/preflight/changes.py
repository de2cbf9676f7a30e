# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run of site.yml would change of a deployment that is there, as far as it matters to who uses it. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import Facts, dicts, mapping
from ..common.text import pluralize
from ..releases.lines import LEADER_WORKER_SET
from .running import running, servers_of

_GROUPS = LEADER_WORKER_SET["kind"]


def changes(facts: Facts, needs: Facts) -> list[str]:
    """A line for each difference between the deployment of this instance that is there and the planned one; none where there is none yet.

    What could not be read is no difference.
    """
    planned, found = mapping(needs.get("planned")), mapping(facts.get("running"))
    there = [each for each in running(dicts(found.get("objects"))) if (each["instance"], each["namespace"]) == (planned.get("instance"), needs["namespace"])]
    if not planned or not there or not there[0]["services"] or "Deployment" in found["unread"]:
        return []
    return list(_differences(there[0], planned, needs["removes_services"], found["unread"]))


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
    """Another release line has an image and spellings of its own: these are no further differences."""
    if old["config"]:
        found = list(_line(f"{name}: scorers", old["scorers"], new["scorers"]))
        same = other_line or old["config"] == new["config"]
        yield from found or ([] if same else [f"{name}: other parameters of the endpoint picker, the same scorers"])
    if old["image"] and not other_line:
        yield from _line(f"{name}: image of the endpoint picker", old["image"], new["image"])


def _servers(name: str, old: Facts, new: Facts, unread: bool) -> t.Iterator[str]:
    """unread: whether servers of several nodes may be there that could not be read."""
    for server in sorted({*old, *new}):
        here, there = mapping(old.get(server)), mapping(new.get(server))
        if unread and not here:
            continue
        before, after = (each["replicas"] if each else 0 for each in (here, there))
        if before is not None and after is not None:
            yield from _line(f"{name}: servers {server}", str(before), str(after))
        for key in ("model", "image") if here and there else ():
            yield from _line(f"{name}: {key} of {server}", here[key], there[key])


def _arguments(name: str, old: Facts, new: Facts) -> t.Iterator[str]:
    """Flags whose values differ, without these. Another model or image has flags of its own: these are no further differences."""
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
