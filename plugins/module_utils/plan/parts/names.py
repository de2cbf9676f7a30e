# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that the whole file decides: the suffix of its objects, and the namespace of its endpoint pickers. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Facts
from ...schema.fields import Problem

SUFFIX = "llm_d_name_suffix"
# Of the names of endpoint pickers, by how a proxy asks them: one that is asked otherwise starts beside the old one, which the old gateway asks until the prune.
PICKER_SUFFIXES = {"plain": "-epp", "tls": "-epp-tls", "beside": "-epp-solo"}
# Of names that are values of labels.
LONGEST = 63


def scheduler_namespace(user: Facts) -> str:
    """The namespace of the endpoint pickers."""
    return str(user["llm_d_scheduler_namespace"] or user["llm_d_namespace"])


def picker_name(service: Facts, gateway: Facts) -> str:
    """The name of a service's endpoint picker. gateway: the planned one."""
    return f"{service['name']}{gateway['picker_suffix']}"


def name_suffix(user: Facts) -> str:
    """The suffix; empty without one."""
    return str(user[SUFFIX] or "")


def instance_name(user: Facts) -> str:
    """The name of the deployment, so that neither of two files with suffixes of their own prunes what the other has made."""
    return str(user["llm_d_instance"]) + name_suffix(user)


def gateway_name(user: Facts, usual: str) -> str:
    """The name of the Gateway; that of an existing one stays as it is. usual: without one in the file."""
    settings = user["llm_d_gateway"]
    ours = settings["create"] and settings["provider"] != "none"
    return str(settings["name"] or usual) + (name_suffix(user) if ours else "")


def renamed(service: Facts, ending: str) -> Facts:
    """A service with the ending at its name, after which its objects are named, and at those of its route and its Service where it has some of its own."""
    own = {part: service[part] for part in ("route", "service") if isinstance(service.get(part), dict) and service[part].get("name")}
    return {**service, "name": service["name"] + ending, **{part: {**given, "name": f"{given['name']}{ending}"} for part, given in own.items()}}


def service_name(written: str, user: Facts, names: t.Sequence[str]) -> str:
    """The name of a service as the file may refer to it: as an element of llm_d_model_services writes it, or with the suffix. names: with the suffix."""
    return written + name_suffix(user) if written + name_suffix(user) in names else written


def referable(names: t.Sequence[str], ending: str) -> list[str]:
    """How services can be referred to: without the ending and with it."""
    return list(dict.fromkeys([*(name.removesuffix(ending) for name in names), *names]))


def suffix_problems(user: Facts, usual: str) -> list[Problem]:
    """Names that are too long with the suffix, but for those of services. usual: name of the Gateway without one in the file."""
    ending = name_suffix(user)
    made = {"llm_d_instance": instance_name(user), "llm_d_gateway.name": gateway_name(user, usual)}
    return [
        Problem(SUFFIX, ending, f"makes '{name}' of {option}, which has {len(name)} characters.", f"Write a shorter one: {LONGEST} are allowed together.")
        for option, name in made.items()
        if ending and len(name) > LONGEST
    ]
