# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses an EndpointPickerConfig, valid or not, into plugins, profiles and references. Pure; never raises for a malformed document."""

from __future__ import annotations

import dataclasses
import typing as t

from .catalog.plugins import find_plugin
from .catalog.release_lines import LINE_FACTS
from .catalog.types import Line, Param, Plugin

AFFINITY = "prefix-cache-affinity-filter"
PROFILE_ROLES = frozenset({"scorer", "filter", "picker"})


@dataclasses.dataclass(frozen=True)
class Declared:
    """One entry of `plugins`. `plugin` is None if the line does not have the type; `path` is its place in the document."""

    name: str
    type: str
    plugin: Plugin | None
    parameters: dict[str, t.Any]
    path: str
    index: int

    def has(self, role: str) -> bool:
        return self.plugin is not None and role in self.plugin.roles

    def has_any(self, roles: t.Collection[str]) -> bool:
        return any(self.has(role) for role in roles)

    def setting(self, name: str) -> t.Any:
        """The value of a parameter, or its default; None if the line does not have the parameter."""
        params = self.plugin.params if self.plugin is not None else ()
        return self.parameters.get(name, next((param.default for param in params if param.name == name), None))


@dataclasses.dataclass(frozen=True)
class Reference:
    """One entry of a profile's `plugins`. `declared` is None if no plugin has that name; `weight` is None if omitted."""

    name: str
    weight: t.Any
    declared: Declared | None
    path: str


@dataclasses.dataclass(frozen=True)
class Profile:
    """One scheduling profile. `implicit`: the EPP creates it, because the document has none."""

    name: str
    plugins: tuple[Reference, ...]
    path: str
    implicit: bool = False

    def of(self, role: str) -> list[Reference]:
        return [item for item in self.plugins if item.declared is not None and item.declared.has(role)]


@dataclasses.dataclass(frozen=True)
class ParsedConfig:
    """A document as its release line reads it."""

    document: dict[str, t.Any]
    line: Line
    plugins: tuple[Declared, ...]
    profiles: tuple[Profile, ...]

    def named(self, name: t.Any) -> Declared | None:
        return next((item for item in self.plugins if item.name == name), None)

    def of(self, role: str) -> list[Declared]:
        return [item for item in self.plugins if item.has(role)]

    def of_type(self, *types: str) -> list[Declared]:
        """The plugins of these types that the line has; an unknown type is reported by its own rule, and the other rules do not apply to it."""
        return [item for item in self.plugins if item.type in types and item.plugin is not None]

    def gate(self, name: str) -> bool:
        """Whether the document enables a feature gate (name=false disables it)."""
        state = False
        for gate in entries(self.document, "featureGates", str):
            word, equals, value = gate.partition("=")
            if word == name:
                state = not equals or value.strip().lower() in ("1", "t", "true")
        return state

    def section(self, *names: str) -> dict[str, t.Any]:
        """A nested section; {} if it is absent or not a mapping."""
        value: t.Any = self.document
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}

    def makes(self, data: str) -> list[Declared]:
        """The plugins that write the data."""
        return [item for item in self.plugins if item.plugin is not None and data in item.plugin.makes]


def entries(value: t.Any, key: str, kind: type) -> list[t.Any]:
    """The elements of the list `value[key]` that have the type `kind`; [] if it is not a list."""
    elements = value.get(key) if isinstance(value, dict) else None
    return [item for item in elements if isinstance(item, kind)] if isinstance(elements, list) else []


def parse_config(document: dict[str, t.Any], release: str) -> ParsedConfig:
    """Parse a document as the release line reads it."""
    line = LINE_FACTS[release]
    plugins: list[Declared] = []
    for index, entry in enumerate(document.get("plugins") or [] if isinstance(document.get("plugins"), list) else []):
        if isinstance(entry, dict):
            kind = entry.get("type")
            parameters = entry.get("parameters")
            plugins.append(
                Declared(
                    str(entry.get("name") or kind or ""),
                    str(kind or ""),
                    find_plugin(str(kind), release),
                    parameters if isinstance(parameters, dict) else {},
                    f"plugins[{index}]",
                    index,
                )
            )
    by_name = {item.name: item for item in reversed(plugins)}  # of several with one name, the first
    profiles = tuple(
        _profile(entry, index, by_name)
        for index, entry in enumerate(document.get("schedulingProfiles") or [] if isinstance(document.get("schedulingProfiles"), list) else [])
        if isinstance(entry, dict)
    )
    return ParsedConfig(document, line, tuple(plugins), profiles or (_implicit(plugins),))


def _profile(entry: dict[str, t.Any], index: int, by_name: dict[str, Declared]) -> Profile:
    path = f"schedulingProfiles[{index}]"
    references = []
    for position, item in enumerate(entry.get("plugins") or [] if isinstance(entry.get("plugins"), list) else []):
        if isinstance(item, dict):
            name = str(item.get("pluginRef") or "")
            references.append(Reference(name, item.get("weight"), by_name.get(name), f"{path}.plugins[{position}]"))
    return Profile(str(entry.get("name") or ""), tuple(references), path)


def _implicit(plugins: t.Iterable[Declared]) -> Profile:
    """The profile that the EPP creates for a document without profiles: every declared filter, scorer and picker."""
    members = [item for item in plugins if item.plugin is not None and PROFILE_ROLES & set(item.plugin.roles)]
    return Profile("default", tuple(Reference(item.name, None, item, item.path) for item in members), "plugins", implicit=True)


def parameter_references(value: t.Any, params: t.Iterable[Param], line: str, path: str) -> t.Iterator[tuple[str, t.Any, str]]:
    """(role, name, path) of every plugin that a tree of parameters refers to."""
    for param in params:
        if line not in param.lines or not isinstance(value, dict) or param.name not in value:
            continue
        setting, where = value[param.name], f"{path}.{param.name}" if path else param.name
        if param.refers and isinstance(setting, str) and setting:
            yield param.refers, setting, where
        elif param.kind == "object":
            yield from parameter_references(setting, param.fields, line, where)
        elif param.kind == "objects" and isinstance(setting, list):
            for index, item in enumerate(setting):
                yield from parameter_references(item, param.fields, line, f"{where}[{index}]")
