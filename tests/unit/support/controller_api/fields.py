# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a value of a request becomes, field by field, and how a request is refused."""

from __future__ import annotations

import collections.abc as c
import json
import typing as t

import yaml

Values = dict[str, t.Any]
TRUE, FALSE = ("t", "y", "yes", "true", "on", "1"), ("f", "n", "no", "false", "off", "0")
ENCRYPTED = "$encrypted$"


class Refused(Exception):
    """A request that is answered with this status and this body, and changes nothing."""

    def __init__(self, body: t.Any, status: int = 400) -> None:
        super().__init__(body)
        self.body, self.status = body, status


class Invalid(Exception):
    """A value that its field does not take: the text that says why."""


def invalid(field: str, *texts: t.Any) -> Refused:
    """The refusal of one field."""
    return Refused({field: list(texts)})


def forbidden(text: str) -> Refused:
    return Refused({"detail": text}, 403)


def mapping(value: t.Any) -> Values:
    """The variables that a text in JSON or YAML, or a mapping, says."""
    if isinstance(value, dict):
        return value
    if value == '""':
        return {}
    try:
        return _as_mapping(json.loads(value))
    except (ValueError, TypeError) as not_json:
        try:
            found = _as_mapping(yaml.safe_load(value) or {})
        except (yaml.YAMLError, TypeError, AttributeError) as not_yaml:
            raise Invalid(f"Cannot parse as JSON (error: {not_json}) or YAML (error: {not_yaml}).") from None
    try:
        json.dumps(found)
    except (ValueError, TypeError) as no_json:
        raise Invalid(f"Variables not compatible with JSON standard (error: {no_json})") from None
    return found


def _as_mapping(found: t.Any) -> Values:
    if not isinstance(found, dict):
        raise TypeError(f"Input type `{type(found).__name__}` is not a dictionary")
    return found


def take(field: Values, value: t.Any, exists: c.Callable[[str, int], bool]) -> t.Any:
    """A value as its field keeps it; `exists` says whether there is one of a kind with an identifier."""
    kind = field["is"]
    if value is None and field.get("nullable"):
        return None
    if kind in TAKERS:
        return TAKERS[kind](field, value)
    return _key(field, kind, value, exists)


def _text(field: Values, value: t.Any) -> str:
    if isinstance(value, str) and not value.strip():
        if "default" not in field or field.get("blank") is False:
            raise Invalid("This field may not be blank.")
        return ""
    if not value and not field.get("nullable"):  # null, false, 0, [] and {} are no text at all
        if "default" not in field or field.get("blank") is False:
            raise Invalid("This field cannot be blank.")
        return ""
    if isinstance(value, (bool, dict, list)):
        raise Invalid("Not a valid string.")
    taken = str(value).strip()
    if len(taken) > field.get("max", len(taken)):
        raise Invalid(f"Ensure this field has no more than {field['max']} characters.")
    return taken


def _variables(field: Values, value: t.Any) -> str:
    taken = _text(field, value)
    mapping(taken)
    return taken


def _choice(field: Values, value: t.Any) -> t.Any:
    if value is None and not isinstance(field["choices"][0], str):
        raise Invalid("This field may not be null.")
    found = [choice for choice in field["choices"] if str(choice) == str("" if value is None else value)]
    if not found:
        raise Invalid(f'"{"" if value is None else value}" is not a valid choice.')
    return found[0]


def _flag(field: Values, value: t.Any) -> bool | None:
    word = str(value).lower()
    if value in (None, "") or word == "null":
        return None if field.get("nullable") else False
    if word in TRUE + FALSE:
        return word in TRUE
    raise Invalid("Must be a valid boolean.")


def _integer(field: Values, value: t.Any) -> int:
    if value is None:
        raise Invalid("This field may not be null.")
    try:
        taken = int(str(value).removesuffix(".0"))
    except ValueError:
        raise Invalid("A valid integer is required.") from None
    if taken < field.get("min", taken):
        raise Invalid(f"Ensure this value is greater than or equal to {field['min']}.")
    return taken


def _key(field: Values, kind: str, value: t.Any, exists: c.Callable[[str, int], bool]) -> int | None:
    if value is None or value == "" and "default" in field:
        if "default" not in field:
            raise Invalid("This field may not be null.")
        return None
    if isinstance(value, bool) or not str(value).isdecimal():
        raise Invalid(f"Incorrect type. Expected pk value, received {type(value).__name__}.")
    if not exists(kind, int(value)):
        raise Invalid(f'Invalid pk "{value}" - object does not exist.')
    return int(value)


TAKERS: dict[str, c.Callable[[Values, t.Any], t.Any]] = {
    "text": _text,
    "variables": _variables,
    "answers": lambda _field, value: dict(mapping(value or {})),
    "choice": _choice,
    "flag": _flag,
    "integer": _integer,
    "object": lambda _field, value: value,  # its shape is for rules to judge
}
