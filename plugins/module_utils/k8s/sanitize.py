# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects and events as they may be shown: without secrets and, in evidence files, without managed fields. Pure."""

from __future__ import annotations

import re
import typing as t

from ..common.objects import Facts, dicts, get_path, mapping, text
from ..common.text import redact, shorten
from .pod_failures import event_time

REMOVED = "(removed)"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET_NAME = re.compile(r"token|passw|secret|api_?key|access_?key|credential|private", re.IGNORECASE)
# An argument whose value is the next argument. Does not match --tokenizer or --max-num-batched-tokens.
_SECRET_FLAG = re.compile(r"--?([a-z-]+-)?(token|password|secret|api-?key|access-?key|credentials?)", re.IGNORECASE)


def redact_object(obj: Facts) -> Facts:
    """An object without managed fields and without the values of a Secret; what looks like a secret is removed from every text."""
    metadata = {name: value for name, value in mapping(obj.get("metadata")).items() if name != "managedFields"}
    annotations = {name: value for name, value in mapping(metadata.get("annotations")).items() if name != LAST_APPLIED}
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    cleaned = {**obj, "metadata": metadata}
    if obj.get("kind") == "Secret":
        cleaned.update({key: dict.fromkeys(mapping(obj.get(key)), REMOVED) for key in ("data", "stringData") if key in obj})
    redacted: Facts = _walk(hide_environment(cleaned, REMOVED))
    return redacted


def hide_environment(part: t.Any, instead: str, other: t.Any = None, otherwise: str = "") -> t.Any:
    """The part of an object with the literal values of all environment variables replaced: the user's file may keep secrets in them.

    A value that differs from that of the same variable in `other`, the same part of the object at another time, becomes `otherwise`.
    """
    if isinstance(part, dict):
        there = mapping(other)
        return {
            key: _hide_variables(value, instead, there.get(key), otherwise) if key == "env" else hide_environment(value, instead, there.get(key), otherwise)
            for key, value in part.items()
        }
    if isinstance(part, (list, tuple)):
        beside = [*(other if isinstance(other, (list, tuple)) else ()), *[None] * len(part)]
        return [hide_environment(value, instead, beside[index], otherwise) for index, value in enumerate(part)]
    return part


def environment_values(part: t.Any) -> set[str]:
    """The literal values of all environment variables of a part of an object."""
    if isinstance(part, dict):
        own = {str(entry["value"]) for entry in dicts(part.get("env")) if "value" in entry}
        return own.union(*(environment_values(value) for value in part.values()))
    return set().union(*(environment_values(value) for value in part)) if isinstance(part, (list, tuple)) else set()


def _hide_variables(env: t.Any, instead: str, other: t.Any, otherwise: str) -> t.Any:
    if not isinstance(env, (list, tuple)):
        return env
    before = {entry.get("name"): entry.get("value") for entry in dicts(other)}
    return [
        {**entry, "value": instead if before.get(entry.get("name"), entry["value"]) == entry["value"] else otherwise}
        if isinstance(entry, dict) and "value" in entry
        else entry
        for entry in env
    ]


def _walk(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        if isinstance(value.get("name"), str) and isinstance(value.get("value"), str) and _SECRET_NAME.search(value["name"]):
            # An environment variable or a header with the name of a secret.
            return {**value, "value": REMOVED}
        return {name: _walk(item) for name, item in value.items()}
    if isinstance(value, list):
        named = [False, *(isinstance(item, str) and bool(_SECRET_FLAG.fullmatch(item)) for item in value)]
        return [REMOVED if given and isinstance(item, str) and not item.startswith("-") else _walk(item) for given, item in zip(named, value, strict=False)]
    return redact(value) if isinstance(value, str) else value


def file_name(*parts: str) -> str:
    """A file name made of names: lower case letters, digits, dots and dashes."""
    return "-".join(re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-.") for part in parts if part)


def event_table(events: list[Facts]) -> str:
    """Events as lines of text, oldest first: time, type, reason, object, count, message."""
    lines = []
    for event in sorted(events, key=event_time):
        who = f"{text(get_path(event, 'involvedObject', 'kind'))}/{text(get_path(event, 'involvedObject', 'name'))}"
        count = event.get("count") or get_path(event, "series", "count") or 1
        lines.append(
            f"{event_time(event)}  {text(event.get('type'))}  {text(event.get('reason'))}  {who}  x{count}  {shorten(text(event.get('message')), 1000)}"
        )
    return "".join(line + "\n" for line in lines)
