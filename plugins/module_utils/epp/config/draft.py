# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An EndpointPickerConfig under construction, with the path in the user's block that each part came from. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..catalog.plugins import SAME_PARAMS, find_plugin, normalize
from ..catalog.presets import WRITTEN_DEFAULT_LINES, WRITTEN_DEFAULTS
from ..catalog.release_lines import KIND, LINE_FACTS
from .resolve import Part


@dataclasses.dataclass
class Draft:
    """A document under construction. `places`: path in the document to the path in the user's block that it came from."""

    line: str
    plugins: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    profiles: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    gates: list[str] = dataclasses.field(default_factory=list)
    sections: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    places: dict[str, str] = dataclasses.field(default_factory=dict)

    def declare(
        self, kind: str, parameters: t.Mapping[str, t.Any] | None = None, origin: str = "", name: str = "", words: t.Mapping[str, str] | None = None
    ) -> str:
        """Declare a plugin, once if it is declared again with the same parameters; returns the name for references to it.

        words: path of a parameter to the user's spelling, below `origin`.
        """
        entry: dict[str, t.Any] = {"type": kind}
        defaults = WRITTEN_DEFAULTS.get(kind, {}) if self.line in WRITTEN_DEFAULT_LINES else {}
        given = {**(parameters or {}), **{key: value for key, value in defaults.items() if key not in (parameters or {})}}
        if given:
            entry["parameters"] = given
        for known in self.plugins:
            if {key: value for key, value in known.items() if key != "name"} == entry:
                return str(known.get("name", kind))
        taken = [known.get("name", known.get("type")) for known in self.plugins]  # names of the user's own plugins may be of any type
        if kind in taken:
            own = f"{kind}-{name}" if name and f"{kind}-{name}" not in taken else f"{kind}-{len(self.plugins)}"
            entry = {"name": own, **entry}
        place = f"plugins[{len(self.plugins)}]"
        self.plugins.append(entry)
        self.places |= dict.fromkeys((place, f"{place}.type", f"{place}.name", f"{place}.parameters"), origin)
        self.places |= {f"{place}.parameters.{parameter}": f"{origin}.{word}" for parameter, word in (words or {}).items()}
        return str(entry.get("name", kind))

    def declare_part(self, part: Part, name: str = "") -> str:
        """Declare a part with its parameters under upstream names; returns the name for references to it."""
        parameters, words = to_upstream(part.parameters, part.type, self.line)
        return self.declare(part.type, parameters, part.path, name, words)

    def profile(self, name: str, filters: t.Sequence[str], scorers: t.Sequence[tuple[str, Part]], picker: str, origin: str) -> None:
        """Add a profile: filters, then scorers with their weights, then the picker."""
        place = f"schedulingProfiles[{len(self.profiles)}]"
        entries: list[dict[str, t.Any]] = [{"pluginRef": item} for item in filters]
        entries += [{"pluginRef": reference, "weight": part.weight} for reference, part in scorers] + [{"pluginRef": picker}]
        paths = [*(origin for _item in filters), *(part.path for _reference, part in scorers), origin]
        self.places |= {place: origin, f"{place}.name": origin}
        for index, path in enumerate(paths):
            where = f"{place}.plugins[{index}]"
            self.places |= {where: path, f"{where}.pluginRef": path, f"{where}.weight": path if path == "preset" else f"{path}.weight"}
        self.profiles.append({"name": name, "plugins": entries})

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


def origin_of(path: str, places: t.Mapping[str, str]) -> str:
    """A path of the document as a path of the user's block: its longest prefix in `places` is replaced; unchanged if it has none."""
    end = len(path)
    while path[:end] not in places and end > 0:
        end = max(path.rfind(".", 0, end), path.rfind("[", 0, end), 0)
    return places.get(path[:end], "") + path[end:]


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
