# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that many objects share or derive from: the suffix of all names, the instance, the Gateway, and the endpoint pickers with their namespace. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Facts
from ...schema.fields import Problem

SUFFIX = "llm_d_name_suffix"
# Suffixes of the names of endpoint pickers, by how a proxy connects to them. With another connection, a new endpoint picker starts next to the old one, which
# the old gateway uses until it is pruned.
PICKER_SUFFIXES = {"plain": "-epp", "tls": "-epp-tls", "sidecar": "-epp-solo"}
MAX_LABEL_VALUE = 63  # characters: the names below are also values of labels


def scheduler_namespace(user: Facts) -> str:
    """The namespace of the endpoint pickers."""
    return str(user["llm_d_scheduler_namespace"] or user["llm_d_namespace"])


def picker_name(service: Facts, gateway: Facts) -> str:
    """The name of a service's endpoint picker. gateway: of the plan."""
    return f"{service['name']}{gateway['picker_suffix']}"


def name_suffix(user: Facts) -> str:
    """The suffix of names; empty without one."""
    return str(user[SUFFIX] or "")


def instance_name(user: Facts) -> str:
    """The name of the instance with the suffix, so that two files with different suffixes do not prune each other's objects."""
    return str(user["llm_d_instance"]) + name_suffix(user)


def gateway_name(user: Facts, default: str) -> str:
    """The name of the Gateway; one that the plan does not create keeps its name. default: the name where the file has none."""
    settings = user["llm_d_gateway"]
    created = settings["create"] and settings["provider"] != "none"
    return str(settings["name"] or default) + (name_suffix(user) if created else "")


def with_suffix(service: Facts, suffix: str) -> Facts:
    """A service with the suffix at its name, from which the names of its objects derive, and at the names that the file gives its route and its Service."""
    own = {part: service[part] for part in ("route", "service") if isinstance(service.get(part), dict) and service[part].get("name")}
    return {**service, "name": service["name"] + suffix, **{part: {**given, "name": f"{given['name']}{suffix}"} for part, given in own.items()}}


def service_name(written: str, user: Facts, names: t.Sequence[str]) -> str:
    """The name, with the suffix, of the service that `written` refers to with the suffix or without. names: of all services, with the suffix."""
    return written + name_suffix(user) if written + name_suffix(user) in names else written


def accepted_names(names: t.Sequence[str], suffix: str) -> list[str]:
    """The names by which the file can refer to services: without the suffix, then with it. names: with the suffix."""
    return list(dict.fromkeys([*(name.removesuffix(suffix) for name in names), *names]))


def suffix_problems(user: Facts, default: str) -> list[Problem]:
    """Names other than those of services that are too long with the suffix. default: the name of the Gateway where the file has none."""
    suffix = name_suffix(user)
    suffixed = {"llm_d_instance": instance_name(user), "llm_d_gateway.name": gateway_name(user, default)}
    return [
        Problem(
            SUFFIX,
            suffix,
            f"is appended to {option}, and the name '{name}' has {len(name)} characters.",
            f"Write a shorter suffix or a shorter {option}: a name has at most {MAX_LABEL_VALUE} characters.",
        )
        for option, name in suffixed.items()
        if suffix and len(name) > MAX_LABEL_VALUE
    ]
