# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolves the user's `scheduler:` block: preset and overrides, aliases and older spellings. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...common.scalars import blank, scalar
from ...schema.fields import Problem, ordinary, show, suggest
from ..catalog.plugins import FILTER_ALIASES, OLDER_TYPES, OTHER_SPELLINGS, SCORER_ALIASES, lines_of, normalize, types_of
from ..catalog.presets import PRESETS, SERVER_OPTIONS
from ..catalog.types import LINES
from ..rules.references import type_move, unknown_type

Context = t.Mapping[str, t.Any]
KEYS = (
    "preset",
    "scorers",
    "picker",
    "picker_parameters",
    "profile_handler",
    "profile_handler_parameters",
    "filters",
    "disaggregation",
    "saturation",
    "flow_control",
    "kv_cache_metric",
    "peak_prefill_throughput",
    "feature_gates",
    "plugins",
    "profiles",
    "document",
)
# What of a scheduler block is about running the endpoint picker: the plan reads it, not we.
RUNNING = frozenset({"replicas", "image", "grpc_port", "verbosity", "failure_mode", "drain_seconds", "resources", "tokenizer_resources", "args", "env"})
RAW = ("plugins", "profiles", "document")
_BESIDE_RAW = ("preset", "saturation", "flow_control", "feature_gates")  # judged where a configuration of the user's own is read
_KINDS = {"disaggregation": "bool", "peak_prefill_throughput": "int"}  # of options that may be texts
_TYPES: dict[str, tuple[type, str]] = {
    "preset": (str, "a string"),
    "scorers": (dict, "a mapping of scorers to weights"),
    "picker": (str, "a string"),
    "picker_parameters": (dict, "a mapping"),
    "profile_handler": (str, "a string"),
    "profile_handler_parameters": (dict, "a mapping"),
    "filters": (list, "a list"),
    "disaggregation": (dict, "a mapping"),
    "saturation": (dict, "a mapping"),
    "flow_control": (dict, "a mapping"),
    "kv_cache_metric": (str, "a string"),
    "peak_prefill_throughput": (int, "a whole number"),
    "feature_gates": (list, "a list of strings"),
    "plugins": (list, "a list"),
    "profiles": (list, "a list"),
    "document": (dict, "a mapping"),
}


@dataclasses.dataclass(frozen=True)
class Part:
    """A requested scorer, filter, picker or handler. `weight` is for scorers only; `path` is its place in the user's block."""

    alias: str
    type: str
    path: str
    weight: float | int = 1
    parameters: dict[str, t.Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Findings:
    """Problems and notes that were collected so far."""

    problems: list[Problem] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def refuse(self, path: str, value: t.Any, reason: str, fix: str) -> None:
        self.problems.append(Problem(path, value, reason, fix))


def known_options(scheduler: t.Mapping[str, t.Any], found: Findings) -> dict[str, t.Any]:
    """The known options of the block that have the right type; None counts as omitted. All others become problems."""
    kept: dict[str, t.Any] = {}
    for key, value in scheduler.items():
        if key in RUNNING or value is None:
            continue
        value = scalar(value, _KINDS[key]) if key in _KINDS else value
        if key not in KEYS:
            near = suggest(key, KEYS)
            found.refuse(str(key), value, "there is no such option.", f"Did you mean '{near}'?" if near else f"Allowed here: {', '.join(KEYS)}.")
        elif key == "disaggregation" and isinstance(value, bool):
            kept.update({key: {}} if value else {})
        elif not isinstance(value, _TYPES[key][0]) or isinstance(value, bool):
            found.refuse(key, value, f"{show(value)} is not {_TYPES[key][1]}.", f"Write {_TYPES[key][1]}.")
        elif key in SERVER_OPTIONS and isinstance(value, int) and value < 1:
            found.refuse(key, value, f"{value} is too small.", "Write a whole number of tokens per second, 1 or more.")
        else:
            kept[key] = value
    raw = [key for key in RAW if kept.get(key)]
    shaped = [key for key in KEYS if key not in (*RAW, *_BESIDE_RAW) and kept.get(key)]
    if raw and shaped:
        found.refuse(
            raw[0],
            None,
            f"a configuration of your own and {', '.join(shaped)} exclude each other.",
            f"Write {', '.join(shaped)} inside {raw[0]}, or leave {', '.join(raw)} out.",
        )
    if "document" in raw and len(raw) > 1:
        found.refuse("document", None, f"the whole document and {', '.join(raw[:-1])} exclude each other.", "Keep one of the two.")
    return kept


def resolve_preset(name: str | None, line: str, found: Findings) -> dict[str, t.Any]:
    """The preset of a name; an empty one if the name is None or refused."""
    empty: dict[str, t.Any] = {"scorers": {}, "picker": "max_score"}
    if name is None:
        return empty
    key = next((known for known in PRESETS if normalize(known) == normalize(name)), None)
    if key is None:
        near = suggest(name, PRESETS)
        found.refuse("preset", name, f"there is no preset {show(name)}.", f"Did you mean {near}?" if near else f"Presets: {', '.join(PRESETS)}.")
        return empty
    facts = PRESETS[key]
    if line not in facts["lines"]:
        lines = ", ".join(known for known in LINES if known in facts["lines"])
        found.refuse("preset", name, f"{line} does not have it. {facts['why']}", f"Write preset: {facts['like']}, or use a release that has it: {lines}.")
        return empty
    return {**facts, "name": key}


def alias_of(word: t.Any, aliases: t.Mapping[str, str], line: str) -> str | None:
    """The alias for a word: an alias, an upstream type, or an older spelling of either; None for an unknown word."""
    bare = normalize(word)
    for suffix in ("scorer", "filter", "picker", "handler", "policy", "decider"):
        bare = bare.removesuffix(suffix)
    for alias, kind in aliases.items():
        names = {normalize(alias), normalize(kind)}
        for suffix in ("scorer", "filter", "picker", "profilehandler", "handler", "policy", "decider"):
            names.add(normalize(kind).removesuffix(suffix))
        older = OLDER_TYPES.get(kind)
        if older is not None and line in older[0]:
            names.add(normalize(older[1]))
        if normalize(word) in names or bare in names:
            return alias
    other = OTHER_SPELLINGS.get(bare)
    return other if other in aliases else None


def type_here(alias: str, aliases: t.Mapping[str, str], line: str) -> str:
    """The plugin type of an alias in this release line."""
    kind = aliases[alias]
    older = OLDER_TYPES.get(kind)
    return older[1] if older is not None and line in older[0] else kind


def resolve_alias(word: t.Any, aliases: t.Mapping[str, str], role: str, line: str, path: str, found: Findings) -> tuple[str, str] | None:
    """(alias, type) of a word; None, with a problem added to `found`, if the line does not have it."""
    alias = alias_of(word, aliases, line)
    kind = type_here(alias, aliases, line) if alias is not None else str(word)
    if line in lines_of(kind) and (alias is not None or kind in types_of(line, role)):
        return alias or kind, kind
    if alias is None and not lines_of(kind):
        problem = unknown_type(kind, line, path, role)
        near = suggest(word, aliases)
        known = "Did you mean" in problem.fix or "Known:" in problem.fix
        found.problems.append(Problem(path, word, f"there is no {role} {show(word)}.", f"Did you mean {near}?" if near and known else problem.fix))
    else:
        problem = unknown_type(kind, line, path, role)
        here = [name for name in aliases if line in lines_of(type_here(name, aliases, line))]
        lines = [each for each in LINES if each in lines_of(type_here(alias, aliases, each))] if alias is not None else lines_of(kind)
        found.problems.append(
            Problem(
                path,
                word,
                problem.reason,
                (
                    problem.fix
                    if not lines_of(kind) or type_move(kind, line)
                    else f"Use a release that has it ({', '.join(lines)}), or one of: {', '.join(here)}."
                ),
            )
        )
    return None


def resolve_scorers(asked: t.Mapping[t.Any, t.Any], base: t.Mapping[str, t.Any], line: str, path: str, found: Findings) -> list[Part]:
    """The scorers to run, the preset's first, with the requested weights; weight 0 removes a scorer."""
    parts: dict[str, Part] = {}
    for alias, weight in base.items():
        parts[alias] = Part(alias, type_here(alias, SCORER_ALIASES, line), "preset", weight)
    for word, value in asked.items():
        where = f"{path}.{word}"
        resolved = resolve_alias(word, SCORER_ALIASES, "scorer", line, where, found)
        if resolved is None:
            continue
        alias, kind = resolved
        if alias in parts and parts[alias].path not in ("preset", where):
            found.refuse(where, value, f"it is the same scorer as {parts[alias].path}.", "Keep one of the two.")
            continue
        part = _scorer(alias, kind, where, value, parts.get(alias), found)
        if part is not None:
            parts[alias] = part
    order = [*base, *(alias for alias in SCORER_ALIASES if alias not in base)]  # a fixed order, so that the same settings give the same text
    known = [parts[alias] for alias in order if alias in parts]
    return [part for part in (*known, *(part for alias, part in parts.items() if alias not in order)) if part.weight != 0]


def _scorer(alias: str, kind: str, path: str, value: t.Any, base: Part | None, found: Findings) -> Part | None:
    """A scorer from its weight, or from a mapping of weight and parameters, also written {enabled, weight, parameters}."""
    weight: t.Any = base.weight if base is not None else 1
    value = _weight_of(value)
    if value is None:
        return Part(alias, kind, path, weight)
    if isinstance(value, bool):
        return Part(alias, kind, path, weight if value else 0)
    if not isinstance(value, dict):
        return Part(alias, kind, path, value) if _weight_ok(value, path, found) else None
    parameters = {str(key): item for key, item in value.items() if key not in ("weight", "enabled", "parameters")}
    if isinstance(value.get("parameters"), dict):
        parameters = {**{str(key): item for key, item in value["parameters"].items()}, **parameters}
    elif value.get("parameters") is not None:
        found.refuse(f"{path}.parameters", value["parameters"], "it is not a mapping (key: value).", "Write one parameter per line.")
    given = _weight_of(value.get("weight"))
    if scalar(value.get("enabled"), "bool") is False:
        weight = 0
    elif given is not None:
        weight = given
        if not _weight_ok(weight, f"{path}.weight", found):
            return None
    return Part(alias, kind, path, weight, parameters)


def _weight_of(value: t.Any) -> t.Any:
    """What a text stands for: a number before a boolean, since "1" and "0" are weights; None for an empty one."""
    number = scalar(value, "float")
    return None if blank(value) else number if number is not value else scalar(value, "bool")


def _weight_ok(value: t.Any, path: str, found: Findings) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not ordinary(value):
        found.refuse(path, value, f"{show(value)} is not a weight.", "Write a number, or 0 to remove the scorer.")
        return False
    if value < 0:
        found.refuse(path, value, "a negative weight inverts the scorer: the worst server would win.", "Write 0 or more.")
        return False
    return True


def resolve_filters(asked: list[t.Any], base: t.Iterable[str], line: str, found: Findings) -> list[Part]:
    """The filters to run, the preset's first; one that the user names, too, is the user's, with its place and parameters."""
    own = resolve_list(asked, FILTER_ALIASES, "filter", line, "filters", found)
    named = {part.alias for part in own}
    return [*(Part(alias, type_here(alias, FILTER_ALIASES, line), "preset") for alias in base if alias not in named), *own]


def resolve_list(asked: list[t.Any], aliases: t.Mapping[str, str], role: str, line: str, path: str, found: Findings) -> list[Part]:
    """Parts from a list of names, or of one-key mappings {name: parameters}."""
    parts: list[Part] = []
    for index, item in enumerate(asked):
        where = f"{path}[{index}]"
        if isinstance(item, dict) and len(item) == 1 and isinstance(next(iter(item.values())), (dict, type(None))):
            word, parameters = next(iter(item.items()))
            inner = f"{where}.{word}"
        elif isinstance(item, str):
            word, parameters, inner = item, {}, where
        else:
            found.refuse(
                where, item, f"{show(item)} is neither a name nor a mapping of one name to its parameters.", f"Write a name, such as {next(iter(aliases))}."
            )
            continue
        resolved = resolve_alias(word, aliases, role, line, where, found)
        if resolved is not None:
            parts.append(Part(resolved[0], resolved[1], inner, 1, {str(key): value for key, value in (parameters or {}).items()}))
    return parts
