# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`env` of the user's file: variables with their values, or with references to Secrets and ConfigMaps. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ...common.objects import Facts, mapping
from ...schema.environment import FORMS
from ...schema.fields import REDACTED, Problem

_SOURCES = {"secret": "secretKeyRef", "config_map": "configMapKeyRef"}


def variables(env: t.Mapping[str, t.Any]) -> list[Facts]:
    """The variables in the form of a container: [{name, value}], or [{name, valueFrom}] of references."""
    return [{"name": name, **({"value": value} if isinstance(value, str) else {"valueFrom": _source(name, value)})} for name, value in env.items()]


def as_option(item: Facts) -> t.Any:
    """A variable of a container in the form of an option `env`, as `variables` reads it; None for one from another source, such as a field of the pod."""
    source = mapping(item.get("valueFrom"))
    for option, field in _SOURCES.items():
        if field in source:
            return {**dict.fromkeys(_SOURCES), option: source[field].get("name"), "key": source[field].get("key")}
    return None if source and not item.get("value") else item.get("value") or ""


def stated(env: t.Mapping[str, t.Any]) -> dict[str, str]:
    """The variables whose values are in the file."""
    return {name: value for name, value in env.items() if isinstance(value, str)}


def environment_problems(env: t.Mapping[str, t.Any], path: str, followed: c.Collection[str] = ()) -> list[Problem]:
    """References to no object or to two, and references of the variables `followed`, on whose values other parts of the plan depend."""
    problems = []
    for name, value in env.items():
        if isinstance(value, str):
            continue
        named = [source for source in _SOURCES if value[source]]
        if len(named) != 1:
            why = "names a Secret and a ConfigMap, and a value is in one of them." if named else "names no Secret and no ConfigMap."
            problems.append(Problem(f"{path}.{name}", REDACTED, why, f"Write {FORMS}."))
        elif name in followed:
            why = "has to be in the file: other parts of the plan depend on the value."
            problems.append(Problem(f"{path}.{name}", REDACTED, why, "Write the value itself."))
    return problems


def environment_references(env: t.Mapping[str, t.Any], path: str) -> list[Facts]:
    """The objects that the variables refer to: [{kind, name, key, path}]."""
    references = []
    for name, value in env.items():
        if not isinstance(value, str):
            kind, option = ("Secret", "secret") if value["secret"] else ("ConfigMap", "config_map")
            references.append({"kind": kind, "name": value[option], "key": value["key"] or name, "path": f"{path}.{name}"})
    return references


def _source(name: str, reference: Facts) -> Facts:
    source = next(each for each in _SOURCES if reference[each])
    return {_SOURCES[source]: {"name": reference[source], "key": reference["key"] or name}}
