# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolves the user's `scheduler:` block: preset and overrides, aliases and older spellings. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...common.scalars import blank, scalar
from ...schema.fields import Field, Problem, complete, from_text, ordinary, show, suggest, unknown_keys
from ...schema.scheduler import DECIDING, RUNNING
from ..catalog.plugins import FILTER_ALIASES, OLDER_TYPES, OTHER_SPELLINGS, SCORER_ALIASES, lines_of, normalize, types_of
from ..catalog.presets import PRESETS
from ..catalog.types import LINES
from ..rules.references import type_move, unknown_type

Context = t.Mapping[str, t.Any]
# Options that hold a configuration of the user's own, and options that may stand beside them (checked where the configuration is read).
RAW = ("plugins", "profiles", "document")
_BESIDE_RAW = ("preset", "saturation", "flow_control", "feature_gates")
_BLOCK = Field("dict", "", options=DECIDING)


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
    """The problems and notes collected so far."""

    problems: list[Problem] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def refuse(self, path: str, value: t.Any, reason: str, fix: str) -> None:
        self.problems.append(Problem(path, value, reason, fix))


def known_options(scheduler: t.Mapping[str, t.Any], findings: Findings) -> dict[str, t.Any]:
    """The options of scheduling decisions, with the types of the schema; options that are None, empty or refused are left out."""
    block = {key: value for key, value in scheduler.items() if key not in RUNNING}
    preset = next((name for name in PRESETS if normalize(name) == normalize(block.get("preset"))), None)
    kept = _stated({**block, "preset": preset} if preset else block, _BLOCK, "", findings)
    if isinstance(kept.get("disaggregation"), bool):
        kept.update({"disaggregation": {}} if kept.pop("disaggregation") else {})
    raw = [key for key in RAW if kept.get(key)]
    excluded = [key for key in DECIDING if key not in (*RAW, *_BESIDE_RAW) and kept.get(key)]
    if raw and excluded:
        findings.refuse(
            raw[0],
            None,
            f"a configuration of your own and {', '.join(excluded)} exclude each other.",
            f"Write {', '.join(excluded)} inside {raw[0]}, or leave {', '.join(raw)} out.",
        )
    if "document" in raw and len(raw) > 1:
        findings.refuse("document", None, f"the whole document and {', '.join(raw[:-1])} exclude each other.", "Keep one of the two.")
    return kept


def _stated(block: t.Mapping[str, t.Any], field: Field, path: str, findings: Findings) -> dict[str, t.Any]:
    """The options of a mapping that are set and valid, at any depth of mappings; every other key becomes a problem."""
    findings.problems += unknown_keys(block, field, path)
    kept: dict[str, t.Any] = {}
    for name, option in (field.options or {}).items():
        value, where = from_text(block.get(name), option), f"{path}.{name}" if path else name
        nested = option.otherwise or option
        if nested.options and isinstance(value, dict):
            kept[name] = _stated(value, nested, where, findings)
        elif value is not None and not blank(value):
            value, problems = complete(value, option, where)
            findings.problems += problems
            kept.update({} if problems else {name: value})
    return kept


def resolve_preset(name: str | None, line: str, findings: Findings) -> dict[str, t.Any]:
    """The preset of a name; an empty one if the name is None or the line does not have it."""
    empty: dict[str, t.Any] = {"scorers": {}, "picker": "max_score"}
    if name is None:
        return empty
    facts = PRESETS[name]
    if line not in facts["lines"]:
        lines = ", ".join(known for known in LINES if known in facts["lines"])
        findings.refuse("preset", name, f"{line} does not have it. {facts['why']}", f"Write preset: {facts['like']}, or use a release that has it: {lines}.")
        return empty
    return {**facts, "name": name}


def alias_of(word: t.Any, aliases: t.Mapping[str, str], line: str) -> str | None:
    """The alias that a word means; None for an unknown word. word: an alias, an upstream type, or an older spelling of either."""
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


def resolve_alias(word: t.Any, aliases: t.Mapping[str, str], role: str, line: str, path: str, findings: Findings) -> tuple[str, str] | None:
    """(alias, type) of a word; None, with a problem added to `findings`, if the line does not have it."""
    alias = alias_of(word, aliases, line)
    kind = type_here(alias, aliases, line) if alias is not None else str(word)
    if line in lines_of(kind) and (alias is not None or kind in types_of(line, role)):
        return alias or kind, kind
    if alias is None and not lines_of(kind):
        problem = unknown_type(kind, line, path, role)
        near = suggest(word, aliases)
        known = "Did you mean" in problem.fix or "Known:" in problem.fix
        findings.problems.append(Problem(path, word, f"there is no {role} {show(word)}.", f"Did you mean {near}?" if near and known else problem.fix))
    else:
        problem = unknown_type(kind, line, path, role)
        here = [name for name in aliases if line in lines_of(type_here(name, aliases, line))]
        lines = [each for each in LINES if each in lines_of(type_here(alias, aliases, each))] if alias is not None else lines_of(kind)
        findings.problems.append(
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


def resolve_scorers(requested: t.Mapping[t.Any, t.Any], base: t.Mapping[str, t.Any], line: str, path: str, findings: Findings) -> list[Part]:
    """The scorers to run, the preset's first, with the requested weights; weight 0 removes a scorer."""
    parts: dict[str, Part] = {}
    for alias, weight in base.items():
        parts[alias] = Part(alias, type_here(alias, SCORER_ALIASES, line), "preset", weight)
    for word, value in requested.items():
        where = f"{path}.{word}"
        resolved = resolve_alias(word, SCORER_ALIASES, "scorer", line, where, findings)
        if resolved is None:
            continue
        alias, kind = resolved
        if alias in parts and parts[alias].path not in ("preset", where):
            findings.refuse(where, value, f"it is the same scorer as {parts[alias].path}.", "Keep one of the two.")
            continue
        part = _scorer(alias, kind, where, value, parts.get(alias), findings)
        if part is not None:
            parts[alias] = part
    order = [*base, *(alias for alias in SCORER_ALIASES if alias not in base)]  # a fixed order, so that the same settings give the same text
    known = [parts[alias] for alias in order if alias in parts]
    return [part for part in (*known, *(part for alias, part in parts.items() if alias not in order)) if part.weight != 0]


def _scorer(alias: str, kind: str, path: str, value: t.Any, base: Part | None, findings: Findings) -> Part | None:
    """A scorer from its weight, or from a mapping of weight and parameters, also written {enabled, weight, parameters}."""
    weight: t.Any = base.weight if base is not None else 1
    value = _weight_of(value)
    if value is None:
        return Part(alias, kind, path, weight)
    if isinstance(value, bool):
        return Part(alias, kind, path, weight if value else 0)
    if not isinstance(value, dict):
        return Part(alias, kind, path, value) if _weight_ok(value, path, findings) else None
    parameters = {str(key): item for key, item in value.items() if key not in ("weight", "enabled", "parameters")}
    if isinstance(value.get("parameters"), dict):
        parameters = {**{str(key): item for key, item in value["parameters"].items()}, **parameters}
    elif value.get("parameters") is not None:
        findings.refuse(f"{path}.parameters", value["parameters"], "it is not a mapping (key: value).", "Write one parameter per line.")
    given = _weight_of(value.get("weight"))
    if scalar(value.get("enabled"), "bool") is False:
        weight = 0
    elif given is not None:
        weight = given
        if not _weight_ok(weight, f"{path}.weight", findings):
            return None
    return Part(alias, kind, path, weight, parameters)


def _weight_of(value: t.Any) -> t.Any:
    """The value of a text: a number rather than a boolean, since "1" and "0" are weights; None for an empty text."""
    number = scalar(value, "float")
    return None if blank(value) else number if number is not value else scalar(value, "bool")


def _weight_ok(value: t.Any, path: str, findings: Findings) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not ordinary(value):
        findings.refuse(path, value, f"{show(value)} is not a weight.", "Write a number, or 0 to remove the scorer.")
        return False
    if value < 0:
        findings.refuse(path, value, "a negative weight inverts the scorer: the worst server would win.", "Write 0 or more.")
        return False
    return True


def resolve_filters(requested: list[t.Any], base: t.Iterable[str], line: str, findings: Findings) -> list[Part]:
    """The filters to run, the preset's first; a filter that both have is the user's, with its place and parameters."""
    own = resolve_list(requested, FILTER_ALIASES, "filter", line, "filters", findings)
    named = {part.alias for part in own}
    return [*(Part(alias, type_here(alias, FILTER_ALIASES, line), "preset") for alias in base if alias not in named), *own]


def resolve_list(requested: list[t.Any], aliases: t.Mapping[str, str], role: str, line: str, path: str, findings: Findings) -> list[Part]:
    """Parts from a list of names, or of one-key mappings {name: parameters}."""
    parts: list[Part] = []
    for index, item in enumerate(requested):
        where = f"{path}[{index}]"
        if isinstance(item, dict) and len(item) == 1 and isinstance(next(iter(item.values())), (dict, type(None))):
            word, parameters = next(iter(item.items()))
            inner = f"{where}.{word}"
        elif isinstance(item, str):
            word, parameters, inner = item, {}, where
        else:
            findings.refuse(
                where, item, f"{show(item)} is neither a name nor a mapping of one name to its parameters.", f"Write a name, such as {next(iter(aliases))}."
            )
            continue
        resolved = resolve_alias(word, aliases, role, line, where, findings)
        if resolved is not None:
            parts.append(Part(resolved[0], resolved[1], inner, 1, {str(key): value for key, value in (parameters or {}).items()}))
    return parts
