# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Credential types (their inputs and injectors) and the inputs of credentials."""

from __future__ import annotations

import collections.abc as c
import typing as t
import urllib.parse

import jinja2
import jinja2.exceptions
import jinja2.sandbox
import jsonschema  # type: ignore[import-untyped]

from controller_api.fields import ENCRYPTED, Values, invalid
from controller_api.store import Row, secrets
from controller_api.tables import REFUSALS, SHAPES, holding


def _vault_id(value: t.Any) -> bool:
    if "@" in str(value):
        raise ValueError("@ is not an allowed character")
    return True


def _url(value: t.Any) -> bool:
    parts = urllib.parse.urlparse(str(value))
    if not parts.scheme:
        raise ValueError("Invalid URL: Missing url scheme (http, https, etc.)")
    if not parts.netloc:
        raise ValueError(f"Invalid URL: {value}")
    return True


def _ssh_private_key(value: t.Any) -> bool:
    if value and value != ENCRYPTED and not ("-----BEGIN " in value and "PRIVATE KEY-----" in value):
        raise ValueError(f"Invalid certificate or key: {value[:100]}...")
    return True


FORMATS = jsonschema.FormatChecker(())
for _name, _check in (("vault_id", _vault_id), ("url", _url), ("ssh_private_key", _ssh_private_key)):
    FORMATS.checks(_name, raises=ValueError)(_check)


def checked(values: Values) -> Values:
    """Inputs of a type as they are stored: each field has a type. Raises Refused if inputs or injectors are invalid."""
    inputs, injectors = values["inputs"], values["injectors"]
    if isinstance(inputs, dict) and "dependencies" in inputs:
        raise invalid("inputs", "'dependencies' is not supported for custom credentials.")
    _shape("inputs", SHAPES["inputs"], inputs)
    fields = [{"type": "string", **field} for field in inputs.get("fields", [])]
    for number, field in enumerate(fields):
        for row in holding(REFUSALS["inputs"], {"field": field, "names": [other["id"] for other in fields[:number]]}):
            raise invalid("inputs", row["says"])
    _shape("injectors", SHAPES["injectors"], injectors)
    for problem in _injector_problems(injectors, [field["id"] for field in fields]):
        raise invalid("injectors", problem)
    return {**inputs, "fields": fields} if fields else inputs


def _shape(field: str, schema: Values, value: t.Any) -> None:
    problems = []
    for error in jsonschema.Draft4Validator(schema).iter_errors(value):
        path, text = list(error.path), error.message
        if error.validator == "pattern" and path[-1] == "id":
            text = f"{error.instance} is an invalid variable name"
        elif error.validator == "type":
            expected = "dict" if error.validator_value == "object" else error.validator_value
            text = f"{type(error.instance).__name__} provided{f' in relative path {path}' if path else ''}, expected {expected}"
        elif error.validator == "additionalProperties":
            text = f"Schema validation error in relative path {path} ({text})"
        problems.append(text)
    if problems:
        raise invalid(field, *problems)


class _Files:
    """`tower.filename` if every file has a name of its own."""

    def __str__(self) -> str:
        raise jinja2.UndefinedError("Must define unnamed file injector in order to reference `tower.filename`.")


class _Tower:
    """`tower` in a template."""

    def __init__(self, names: list[str]) -> None:
        self.filename: _Files | str = "EXAMPLE_FILENAME" if "template" in names else _Files()
        for name in names if isinstance(self.filename, _Files) else []:
            setattr(self.filename, name.partition(".")[2], "EXAMPLE_FILENAME")

    def __str__(self) -> str:
        raise jinja2.UndefinedError("Cannot directly reference reserved `tower` namespace container.")


def _injector_problems(injectors: Values, names: list[str]) -> c.Iterator[str]:
    files = list(injectors.get("file", {}))
    if "template" in files and len(files) > 1:
        yield "Must use multi-file syntax when injecting multiple files"
    known = {**dict.fromkeys(names, "EXAMPLE"), "tower": _Tower(files)}
    for kind, injector in injectors.items():
        for name in injector if kind == "env" else ():
            if name.startswith("ANSIBLE_"):
                yield f"Environment variable {name} may affect Ansible configuration so its use is not allowed in credentials."
            if name in SHAPES["environment"].split():
                yield f"Environment variable {name} is not allowed to be used in credentials."
        for name, template in _templates(injector) if kind == "extra_vars" else injector.items():
            yield from _template_problems(kind, name, template, known)


def _templates(node: t.Any, path: str = "") -> c.Iterator[tuple[str, str]]:
    """All templates within extra variables: (where, template); names are templates too."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield path or "a key", key
            yield from _templates(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _templates(value, f"{path}[{number}]")
    else:
        yield path, node


def _template_problems(kind: str, name: str, template: str, known: Values) -> c.Iterator[str]:
    try:
        jinja2.sandbox.ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined).from_string(template).render(known)
    except jinja2.exceptions.SecurityError as unsafe:
        yield f"Encountered unsafe code execution: {unsafe}"
    except jinja2.UndefinedError as undefined:
        yield f"{name} uses an undefined field ({undefined})"
    except jinja2.TemplateSyntaxError as error:
        yield f"Syntax error rendering template for {name} inside of {kind} ({error})"


def checked_inputs(kind: Row, inputs: t.Any, old: Values | None) -> Values:
    """Inputs of a credential of this type as they are stored. old: the inputs that they replace."""
    if not isinstance(inputs, dict):
        raise invalid("inputs", f"{type(inputs).__name__} provided, expected dict")
    fields: dict[str, Values] = {field["id"]: field for field in kind["inputs"].get("fields", [])}
    hidden = secrets(kind)
    taken = {name: value or _nothing(fields[name]) if name in fields else value for name, value in inputs.items()}
    if old is None:
        for name in hidden:
            if taken.get(name) == ENCRYPTED:
                raise invalid("inputs", f"{ENCRYPTED} is a reserved keyword, and cannot be used for {name}.")
    taken = {name: (old or {}).get(name, "") if name in hidden and value == ENCRYPTED else value for name, value in taken.items()}
    shapes = {name: {"type": field["type"], **_constraints(field)} for name, field in fields.items()}
    errors = {}
    for error in jsonschema.Draft4Validator({"type": "object", "additionalProperties": False, "properties": shapes}, format_checker=FORMATS).iter_errors(taken):
        if not error.path:
            raise invalid("inputs", error.message)
        errors[error.path[0]] = [str(error.cause or error.message)]
    if errors:
        raise invalid_inputs(errors)
    return {name: value for name, value in taken.items() if value or name not in hidden}


def invalid_inputs(errors: dict[t.Any, list[str]]) -> Exception:
    """The refusal of some inputs of a credential."""
    refusal = invalid("inputs")
    refusal.body["inputs"] = errors
    return refusal


def _nothing(field: Values) -> t.Any:
    """The stored value of an input without a value."""
    return field["choices"][0] if "choices" in field else {"string": "", "boolean": False}[field["type"]]


def _constraints(field: Values) -> Values:
    return {**({"format": field["format"]} if "format" in field else {}), **({"enum": field["choices"]} if field.get("choices") else {})}
