# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules for the shape of a document and of parameters in a release line: names, types, ranges. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ...common.scalars import scalar
from ...schema.fields import Problem, show, suggest
from ..catalog.plugins import NESTED_MOVES, PARAM_MOVES, find_plugin, normalize
from ..catalog.release_lines import DOCUMENT, FIELD_MOVES
from ..catalog.types import LINES, Line, Move, Param

_DURATION = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(([0-9]+(\.[0-9]*)?)(ns|us|µs|ms|s|m|h))*\Z|0\Z")
_QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?([eE][0-9]+|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?\Z")
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
    "str": ((str,), "a string in quotes"),
    "strs": ((list,), "a list of strings"),
    "duration": ((str,), 'a duration in quotes, such as "200ms"'),
    "nanoseconds": ((int,), "a whole number of nanoseconds"),
    "quantity": ((int, str), 'a quantity, such as 1000 or "1Gi"'),
    "object": ((dict,), "a mapping (key: value)"),
    "objects": ((list,), "a list of mappings"),
    "map": ((dict,), "a mapping of strings"),
}


@dataclasses.dataclass(frozen=True)
class Owner:
    """The owner of a tree of parameters: a plugin type, or "" for the document. `dotted` is the path in that tree."""

    line: Line
    type: str = ""
    dotted: str = ""

    def inside(self, name: str) -> Owner:
        return dataclasses.replace(self, dotted=f"{self.dotted}.{name}" if self.dotted else name)

    @property
    def outcome(self) -> str:
        return "refuses to start" if not self.type or self.line.strict else "ignores it silently"


def typed(document: dict[str, t.Any], line: Line) -> dict[str, t.Any]:
    """The document, with each text that stands for a boolean or number converted where the release line reads one."""
    made: dict[str, t.Any] = _typed(document, DOCUMENT)
    plugins = made.get("plugins")
    return {**made, "plugins": [_typed_plugin(entry, line) for entry in plugins]} if isinstance(plugins, list) else made


def _typed_plugin(entry: t.Any, line: Line) -> t.Any:
    plugin = find_plugin(str(entry["type"]), line.name) if isinstance(entry, dict) and "type" in entry else None
    if plugin is None or not isinstance(entry.get("parameters"), dict):
        return entry
    return {**entry, "parameters": _typed(entry["parameters"], plugin.params)}


def _typed(value: t.Any, params: t.Sequence[Param]) -> t.Any:
    if isinstance(value, list):
        return [_typed(item, params) for item in value]
    if not isinstance(value, dict):
        return value
    here = {param.name: param for param in params}
    return {key: _typed_value(item, here[key]) if key in here else item for key, item in value.items()}


def _typed_value(value: t.Any, param: Param) -> t.Any:
    return scalar(value, "int" if param.kind == "nanoseconds" else param.kind) if not param.fields else _typed(value, param.fields)


def check_tree(value: t.Any, params: t.Sequence[Param], path: str, owner: Owner) -> list[Problem]:
    """All problems of the keys and values of a mapping."""
    here = {param.name: param for param in params if owner.line.name in param.lines}
    problems: list[Problem] = []
    for key, item in value.items():
        where = f"{path}.{key}" if path else str(key)
        if key not in here:
            problems.append(_unknown(key, item, params, where, owner))
        elif here[key].obsolete:
            problems.append(Problem(where, item, f"{owner.line.name} no longer takes it.", here[key].obsolete))
        else:
            problems += check_value(item, here[key], where, owner.inside(str(key)))
    for name, param in here.items():
        if param.required and name not in value:
            problems.append(Problem(f"{path}.{name}" if path else name, None, "is missing.", f"Write {_expected(param)}."))
    return problems


def check_value(value: t.Any, param: Param, path: str, owner: Owner) -> list[Problem]:
    """All problems of a value."""
    if param.kind == "free":
        return []
    kinds, words = _KINDS[param.kind]
    if not _is_a(value, kinds):
        return [Problem(path, value, f"{show(value)} is not {words}.", f"Write {_expected(param)}.")]
    if value == [] and param.low:
        return [Problem(path, value, "is empty.", f"Write {param.low:g} or more.")]
    if param.kind == "object":
        return check_tree(value, param.fields, path, owner)
    if param.kind == "objects":
        return _check_list(value, param, path, owner)
    if param.kind == "strs" and not all(isinstance(item, str) for item in value):
        return [Problem(path, value, "not every element is a string.", "Put each element in quotes.")]
    if param.kind == "map" and not all(isinstance(item, str) for pair in value.items() for item in pair):
        return [Problem(path, value, "not every key and value is a string.", "Put them in quotes.")]
    return _check_scalar(value, param, path)


def _is_a(value: t.Any, kinds: tuple[type, ...]) -> bool:
    """isinstance, with booleans not counted as integers."""
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _check_list(value: list[t.Any], param: Param, path: str, owner: Owner) -> list[Problem]:
    problems: list[Problem] = []
    for index, item in enumerate(value):
        where = f"{path}[{index}]"
        if isinstance(item, dict):
            problems += check_tree(item, param.fields, where, owner)
        else:
            problems.append(Problem(where, item, f"{show(item)} is not a mapping (key: value).", f"Write the keys {', '.join(f.name for f in param.fields)}."))
    return problems


def _check_scalar(value: t.Any, param: Param, path: str) -> list[Problem]:
    reason = None
    if param.kind == "duration" and not _DURATION.match(value):
        reason = "is not a duration"
    elif param.kind == "quantity" and not _QUANTITY.match(str(value)):
        reason = "is not a quantity"
    elif param.choices and value not in param.choices:
        reason = "is not one of the allowed values"
    elif param.required and value == "":
        reason = "is empty"
    elif param.kind in ("int", "float", "nanoseconds"):
        reason = _out_of_range(value, param)
    if reason is None:
        return []
    near = suggest(value, param.choices) if param.choices and isinstance(value, str) else None
    return [Problem(path, value, f"{show(value)} {reason}.", f"Did you mean {near}?" if near else f"Write {_expected(param)}.")]


def _out_of_range(value: float, param: Param) -> str | None:
    too_small = (param.low is not None and value < param.low) or (param.above is not None and value <= param.above)
    too_large = (param.high is not None and value > param.high) or (param.below is not None and value >= param.below)
    return "is too small" if too_small else "is too large" if too_large else None


def _expected(param: Param) -> str:
    if param.choices:
        return "one of " + ", ".join(map(str, param.choices))
    words = _KINDS[param.kind][1] if param.kind in _KINDS else "a value"
    bounds = [
        f"at least {param.low:g}" if param.low is not None else "",
        f"more than {param.above:g}" if param.above is not None else "",
        f"at most {param.high:g}" if param.high is not None else "",
        f"less than {param.below:g}" if param.below is not None else "",
    ]
    limits = " and ".join(bound for bound in bounds if bound)
    default = f"; the default is {show(param.default)}" if param.default not in (None, "") else ""
    return f"{words}{', ' + limits if limits else ''}{default}"


def _unknown(key: t.Any, value: t.Any, params: t.Sequence[Param], path: str, owner: Owner) -> Problem:
    what = f"parameter of {owner.type}" if owner.type else "field"
    reason = f"{owner.line.name} knows no such {what} and {owner.outcome}."
    move = _moved(key, owner)
    elsewhere = [line for line in LINES if any(param.name == key and line in param.lines for param in params)]
    if move is not None:
        return Problem(path, value, reason, moved(move, newer=bool(elsewhere) and LINES.index(elsewhere[0]) > LINES.index(owner.line.name)))
    if elsewhere:
        return Problem(path, value, reason, f"Leave it out, or use a release that has it: {', '.join(elsewhere)}.")
    known = [param.name for param in params if owner.line.name in param.lines and not param.obsolete]
    near = next((name for name in known if normalize(name) == normalize(key)), None) or suggest(key, known)
    if near is not None:
        return Problem(path, value, reason, f"Did you mean {near}?")
    return Problem(path, value, reason, f"Allowed here: {', '.join(sorted(known))}." if known else "Leave it out.")


def moved(move: Move, newer: bool) -> str:
    """What to write instead of a name. newer: the name came after this release line, which has an older one."""
    if move.how or newer or not move.when:
        return move.how or f"Write {move.new}" + (f", its name before {move.when}." if move.when else ".")
    return f"Renamed to {move.new} in {move.when}: write {move.new}."


def _moved(key: t.Any, owner: Owner) -> Move | None:
    dotted = owner.inside(str(key)).dotted
    if not owner.type:
        return next((move for lines, move in FIELD_MOVES if owner.line.name in lines and move.old == dotted), None)
    for lines, move in ((lines, move) for place, lines, move in NESTED_MOVES if place == dotted):
        if owner.line.name in lines:
            return move
    return next(
        (
            move
            for kind, lines, move in PARAM_MOVES
            if kind == owner.type and owner.line.name in lines and normalize(move.old) == normalize(key) and not owner.dotted
        ),
        None,
    )
