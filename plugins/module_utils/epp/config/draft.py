# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An EndpointPickerConfig under construction, with the path in the user's block that each part came from. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..catalog.plugins import SAME_PARAMS, find_plugin, normalize
from ..catalog.presets import WRITTEN_DEFAULT_LINES, WRITTEN_DEFAULTS
from ..catalog.release_lines import KIND, LINE_FACTS
from .resolve import Part

_PLACE = re.compile(r"(plugins\[\d+\]|schedulingProfiles\[\d+\](\.plugins\[\d+\])?|[A-Za-z]+)(.*)\Z")


@dataclasses.dataclass
class Draft:
    """A document under construction.

    `origins`: path in the document to path in the user's block; `words`: per plugin, upstream parameter to the user's spelling.
    The first `own` plugins are the user's own; their paths, and those of profiles, are the same in the user's block, below `prefix`.
    """

    line: str
    plugins: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    profiles: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    gates: list[str] = dataclasses.field(default_factory=list)
    sections: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    origins: dict[str, str] = dataclasses.field(default_factory=dict)
    words: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    own: int = 0
    prefix: str = ""

    def declare(
        self, kind: str, parameters: t.Mapping[str, t.Any] | None = None, origin: str = "", name: str = "", words: t.Mapping[str, str] | None = None
    ) -> str:
        """Declare a plugin, once if it is declared again with the same parameters; returns the name for references to it."""
        entry: dict[str, t.Any] = {"type": kind}
        firm = WRITTEN_DEFAULTS.get(kind, {}) if self.line in WRITTEN_DEFAULT_LINES else {}
        given = {**(parameters or {}), **{key: value for key, value in firm.items() if key not in (parameters or {})}}
        if given:
            entry["parameters"] = given
        for known in self.plugins:
            if {key: value for key, value in known.items() if key != "name"} == entry:
                return str(known.get("name", kind))
        taken = {known.get("name", known["type"]) for known in self.plugins}
        if kind in taken:
            own = f"{kind}-{name}" if name and f"{kind}-{name}" not in taken else f"{kind}-{len(self.plugins)}"
            entry = {"name": own, **entry}
        place = f"plugins[{len(self.plugins)}]"
        self.plugins.append(entry)
        self.origins[place], self.words[place] = origin, dict(words or {})
        return str(entry.get("name", kind))

    def declare_part(self, part: Part, name: str = "") -> str:
        """Declare a part with its parameters under upstream names; returns the name for references to it."""
        parameters, words = to_upstream(part.parameters, part.type, self.line)
        return self.declare(part.type, parameters, part.path, name, words)

    def profile(self, name: str, filters: t.Sequence[str], scorers: t.Sequence[tuple[str, Part]], picker: str, origin: str) -> None:
        """Add a profile: filters, then scorers with their weights, then the picker."""
        place = f"schedulingProfiles[{len(self.profiles)}]"
        self.origins[place] = origin
        entries: list[dict[str, t.Any]] = [{"pluginRef": item} for item in filters]
        for reference, part in scorers:
            where = f"{place}.plugins[{len(entries)}]"
            self.origins[where] = part.path
            entries.append({"pluginRef": reference, "weight": part.weight})
        self.profiles.append({"name": name, "plugins": [*entries, {"pluginRef": picker}]})

    def gate(self, name: str) -> None:
        if name not in self.gates:
            self.gates.append(name)

    def document(self) -> dict[str, t.Any]:
        """The document, with its keys in the order of the upstream documentation."""
        made: dict[str, t.Any] = {"apiVersion": LINE_FACTS[self.line].api_versions[0], "kind": KIND}
        if self.gates:
            made["featureGates"] = list(self.gates)
        made["plugins"] = self.plugins
        made["schedulingProfiles"] = self.profiles
        return {**made, **self.sections}

    def path(self, place: str) -> str:
        """The path in the user's block for a path in the document."""
        if self.prefix:
            return f"{self.prefix}.{place}".rstrip(".")
        if self.own and place.startswith("schedulingProfiles"):
            return "profiles" + place.removeprefix("schedulingProfiles")
        if place.startswith("plugins[") and int(place[8 : place.index("]")]) < self.own:
            return place
        matched = _PLACE.match(place)
        if matched is None:
            return place
        head, rest = matched.group(1), matched.group(3)
        whole = next(
            (self.origins[key] for key in sorted(self.origins, key=len, reverse=True) if key and (place == key or place.startswith((f"{key}.", f"{key}[")))),
            None,
        )
        if whole is None:
            return place
        if head.startswith("schedulingProfiles"):
            return f"{whole}.weight" if rest == ".weight" and whole != "preset" else whole
        return self._plugin_path(head, whole, rest) if head.startswith("plugins[") else whole

    def _plugin_path(self, head: str, whole: str, rest: str) -> str:
        dotted = rest.removeprefix(".parameters").lstrip(".")
        if not dotted or rest in (".type", ".name"):
            return whole
        words = self.words.get(head, {})
        for known in sorted(words, key=len, reverse=True):
            if dotted == known or dotted.startswith((f"{known}.", f"{known}[")):
                return f"{whole}.{words[known]}{dotted[len(known) :]}" if words[known] else whole
        return f"{whole}.{dotted}"


def to_upstream(given: t.Mapping[str, t.Any], kind: str, line: str) -> tuple[dict[str, t.Any], dict[str, str]]:
    """(parameters under upstream names, upstream name to the user's spelling). Capitals and underscores do not matter; unknown names are kept."""
    plugin = find_plugin(kind, line)
    known = {normalize(param.name): param.name for param in (plugin.params if plugin is not None else ()) if line in param.lines}
    parameters: dict[str, t.Any] = {}
    words: dict[str, str] = {}
    for word, value in given.items():
        name = SAME_PARAMS.get((kind, normalize(word))) or known.get(normalize(word), word)
        parameters[name] = value
        words[name] = word
    order = [*known.values(), *sorted(parameters.keys() - set(known.values()))]  # a fixed order, so that the same settings give the same text
    return {name: parameters[name] for name in order if name in parameters}, words


def set_path(target: dict[str, t.Any], dotted: str, value: t.Any) -> None:
    """Set a value at a dotted path, creating mappings as needed."""
    *way, last = dotted.split(".")
    for key in way:
        target = target.setdefault(key, {})
    target[last] = value


def merge(base: dict[str, t.Any], over: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """`base` deeply merged with `over`; neither is changed."""
    merged = dict(base)
    for key, value in over.items():
        merged[key] = merge(merged[key], value) if isinstance(value, dict) and isinstance(merged.get(key), dict) else value
    return merged
