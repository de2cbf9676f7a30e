# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stored values of the fields of a request, and refusals of a request."""

from __future__ import annotations

import collections.abc as c
import json
import typing as t

import yaml

Values = dict[str, t.Any]
TRUE, FALSE = ("t", "y", "yes", "true", "on", "1"), ("f", "n", "no", "false", "off", "0")
ENCRYPTED = "$encrypted$"


class Refused(Exception):
    """The request is refused with this status and this body, and changes nothing."""

    def __init__(self, body: t.Any, status: int = 400) -> None:
        super().__init__(body)
        self.body, self.status = body, status


class Invalid(Exception):
    """A value that its field does not accept; the text is the reason."""


def invalid(field: str, *texts: t.Any) -> Refused:
    """The refusal of one field."""
    return Refused({field: list(texts)})


def forbidden(text: str) -> Refused:
    return Refused({"detail": text}, 403)


def mapping(value: t.Any) -> Values:
    """The variables of a mapping, or of a text in JSON or YAML."""
    if isinstance(value, dict):
        return value
    if value == '""':
        return {}
    try:
        return _as_mapping(json.loads(value))
    except (ValueError, TypeError) as not_json:
        try:
            variables = _as_mapping(yaml.safe_load(value) or {})
        except (yaml.YAMLError, TypeError, AttributeError) as not_yaml:
            raise Invalid(f"Cannot parse as JSON (error: {not_json}) or YAML (error: {not_yaml}).") from None
    try:
        json.dumps(variables)
    except (ValueError, TypeError) as no_json:
        raise Invalid(f"Variables not compatible with JSON standard (error: {no_json})") from None
    return variables


def _as_mapping(value: t.Any) -> Values:
    if not isinstance(value, dict):
        raise TypeError(f"Input type `{type(value).__name__}` is not a dictionary")
    return value


def take(field: Values, value: t.Any, exists: c.Callable[[str, int], bool]) -> t.Any:
    """A value as its field stores it. exists: whether a kind has an object with an identifier."""
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
    if not value and not field.get("nullable"):  # null, false, 0, [] and {} are not texts
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
    matches = [choice for choice in field["choices"] if str(choice) == str("" if value is None else value)]
    if not matches:
        raise Invalid(f'"{"" if value is None else value}" is not a valid choice.')
    return matches[0]


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
    "object": lambda _field, value: value,  # rules.py checks its shape
}
