# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names for the whole file: the suffix of its objects, and the namespace of its endpoint pickers. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Facts
from ...schema.fields import Problem

SUFFIX = "llm_d_name_suffix"
# Suffixes of the names of endpoint pickers, by how a proxy connects to them. With another connection, a new endpoint picker starts next to the old one, which
# the old gateway uses until it is pruned.
PICKER_SUFFIXES = {"plain": "-epp", "tls": "-epp-tls", "sidecar": "-epp-solo"}
# The limit of names that are values of labels, in characters.
LONGEST = 63


def scheduler_namespace(user: Facts) -> str:
    """The namespace of the endpoint pickers."""
    return str(user["llm_d_scheduler_namespace"] or user["llm_d_namespace"])


def picker_name(service: Facts, gateway: Facts) -> str:
    """The name of a service's endpoint picker. gateway: the planned one."""
    return f"{service['name']}{gateway['picker_suffix']}"


def name_suffix(user: Facts) -> str:
    """The suffix of names; empty without one."""
    return str(user[SUFFIX] or "")


def instance_name(user: Facts) -> str:
    """The name of the deployment with the suffix, so that two files with different suffixes do not prune each other's objects."""
    return str(user["llm_d_instance"]) + name_suffix(user)


def gateway_name(user: Facts, usual: str) -> str:
    """The name of the Gateway; an existing one keeps its name. usual: the name where the file has none."""
    settings = user["llm_d_gateway"]
    ours = settings["create"] and settings["provider"] != "none"
    return str(settings["name"] or usual) + (name_suffix(user) if ours else "")


def renamed(service: Facts, ending: str) -> Facts:
    """A service with the suffix at its name, from which the names of its objects derive, and at the names that the file gives its route and its Service."""
    own = {part: service[part] for part in ("route", "service") if isinstance(service.get(part), dict) and service[part].get("name")}
    return {**service, "name": service["name"] + ending, **{part: {**given, "name": f"{given['name']}{ending}"} for part, given in own.items()}}


def service_name(written: str, user: Facts, names: t.Sequence[str]) -> str:
    """The name of a service that the file refers to with the suffix or without, as in llm_d_model_services. names: of all services, with the suffix."""
    return written + name_suffix(user) if written + name_suffix(user) in names else written


def referable(names: t.Sequence[str], ending: str) -> list[str]:
    """The names by which the file can refer to services: without the suffix and with it."""
    return list(dict.fromkeys([*(name.removesuffix(ending) for name in names), *names]))


def suffix_problems(user: Facts, usual: str) -> list[Problem]:
    """Names other than those of services that are too long with the suffix. usual: the name of the Gateway where the file has none."""
    ending = name_suffix(user)
    made = {"llm_d_instance": instance_name(user), "llm_d_gateway.name": gateway_name(user, usual)}
    return [
        Problem(SUFFIX, ending, f"makes '{name}' of {option}, which has {len(name)} characters.", f"Write a shorter one: {LONGEST} are allowed together.")
        for option, name in made.items()
        if ending and len(name) > LONGEST
    ]
