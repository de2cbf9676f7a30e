# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notification templates: their configuration and their messages."""

from __future__ import annotations

import collections.abc as c
import typing as t

import jinja2
import jinja2.exceptions
import jinja2.sandbox

from controller_api.fields import ENCRYPTED, Values, invalid
from controller_api.store import TABLE
from controller_api.tables import REFUSALS, SHAPES, holding

KINDS: dict[str, type] = {"string": str, "int": int, "bool": bool, "list": list, "password": str, "object": dict}
EVENTS = ("started", "success", "error", "workflow_approval")


def configured(kind: str, given: t.Any, old: Values | None) -> Values:
    """The configuration as it is stored: with the defaults of its type, and with the previous secrets where the request does not replace them."""
    parameters: dict[str, list[t.Any]] = TABLE["notification_types"][kind]
    if not isinstance(given, dict):
        raise invalid("notification_configuration", f"{type(given).__name__} provided, expected dict")
    taken = {**{name: parameter[1] for name, parameter in parameters.items() if len(parameter) > 1}, **given}
    mistyped = {name for name, parameter in parameters.items() if name in taken and taken[name].__class__ is not KINDS[parameter[0]]}
    problems = [f"No values specified for field '{name}'" for name in parameters if taken.get(name) == []]
    if "http_method" in parameters and "http_method" not in mistyped and taken["http_method"].lower() not in ("put", "post"):
        problems.append("HTTP method must be either 'POST' or 'PUT'.")
    missing = [name for name in parameters if name not in taken]
    if missing:
        problems.append(f"Missing required fields for Notification Configuration: {missing}.")
    problems += [f"Configuration field '{name}' incorrect type, expected {parameters[name][0]}." for name in parameters if name in mistyped]
    if problems:
        raise invalid("__all__", *problems)
    kept = [name for name, parameter in parameters.items() if parameter[0] == "password" and taken[name] == ENCRYPTED and old]
    return {**taken, **{name: (old or {}).get(name, "") for name in kept}}


def check_messages(messages: t.Any) -> None:
    """Raises Refused with all problems of messages."""
    problems = list(_problems(messages, ())) if messages is not None else []
    if problems:
        raise invalid("messages", *problems)


def _problems(value: t.Any, path: tuple[str, ...]) -> c.Iterator[str]:
    """The problems of the value at this path, and of those below it."""
    level = ("messages", "event", "step" if path[:1] == ("workflow_approval",) else "part", "part")[len(path)]
    names = {"value": value, "level": level, "event": path[:1] and path[0], "name": path and path[-1], "kind": type(value)}
    refusal = next(holding(REFUSALS["messages"], names), None)
    if refusal:
        yield refusal["says"]
    elif level == "part":
        yield from _render_problems(value or "")
    else:
        for name, one in (value or {}).items():
            yield from _problems(one, (*path, name))


class _Named(jinja2.StrictUndefined):
    """An undefined field, whose errors have its name only."""

    def __init__(self, *given: t.Any, **named: t.Any) -> None:
        super().__init__(*given, **named)
        self._undefined_hint = self._undefined_name


def _render_problems(text: str) -> c.Iterator[str]:
    try:
        jinja2.sandbox.ImmutableSandboxedEnvironment(undefined=_Named).from_string(text).render(SHAPES["message"])
    except jinja2.exceptions.SecurityError as unsafe:
        yield f"Security error due to field '{unsafe.message}'"
    except jinja2.UndefinedError as undefined:
        yield f"Field '{undefined.message}' unavailable"
    except jinja2.TemplateSyntaxError as error:
        yield f"Unable to render message '{text}': {error.message}"


def merged(new: t.Any, old: t.Any) -> t.Any:
    """The new messages, with old ones for the events that they leave out."""
    if not (new is not None and old is not None):
        return new
    return {event: _merged_event(event, new.get(event), old.get(event)) for event in EVENTS}


def _merged_event(event: str, new: Values | None, old: Values | None) -> Values | None:
    if not new or not old:
        return new or old
    if event == "workflow_approval":
        return {step: parts for step in (*old, *new) if (parts := _merged_event(step, new.get(step), old.get(step))) is not None}
    return {**{part: text for part, text in old.items() if text}, **new}
