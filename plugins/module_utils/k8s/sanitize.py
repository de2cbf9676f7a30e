# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes secrets from objects and events before they are shown, and managed fields from evidence files. Pure."""

from __future__ import annotations

import re
import typing as t

from ..common import credentials
from ..common.labels import RESTORES
from ..common.objects import Facts, dicts, get_path, mapping, text
from ..common.text import SECRET_FLAG, SECRET_KEY, redact, shorten
from .node_failures import event_time

REMOVED = "(removed)"
HIDDEN, HIDDEN_NEW = "(hidden)", "(hidden, another value)"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# An argument with a secret, which may be in the arguments that follow.
_SECRET_FLAG = re.compile(rf"({SECRET_FLAG})(?:(=|\s+)(.*))?", re.IGNORECASE | re.DOTALL)
_SECRET_KEY = re.compile(rf"{SECRET_FLAG}|{SECRET_KEY}", re.IGNORECASE)


def has_secret_data(obj: Facts) -> bool:
    """Whether the data of an object is not shown: that of a Secret, and objects that a comparison has to restore, with the environment of their pods."""
    return obj.get("kind") == "Secret" or (obj.get("kind") == "ConfigMap" and RESTORES in mapping(get_path(obj, "metadata", "labels")))


def redact_object(obj: Facts) -> Facts:
    """An object without managed fields and without the values of a Secret and its like, as redact_part leaves it."""
    metadata = {name: value for name, value in mapping(obj.get("metadata")).items() if name != "managedFields"}
    annotations = {name: value for name, value in mapping(metadata.get("annotations")).items() if name != LAST_APPLIED}
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    cleaned = {**obj, "metadata": metadata}
    if has_secret_data(obj):
        cleaned.update({key: dict.fromkeys(mapping(obj.get(key)), REMOVED) for key in ("data", "stringData") if key in obj})
    redacted: Facts = redact_part(hide_environment(cleaned, REMOVED))
    return redacted


def scraping_fields(obj: Facts) -> Facts:
    """The parts of a spec that set which ports of which pods are scraped: selectors and endpoints of a monitor, labels and ports of a workload's templates."""
    spec = mapping(obj.get("spec"))
    group = mapping(spec.get("leaderWorkerTemplate"))
    templates = {key: _ports(group[key]) for key in ("leaderTemplate", "workerTemplate") if key in group}
    fields: Facts = {"leaderWorkerTemplate": templates} if templates else {}
    if "podMetricsEndpoints" in spec:
        fields.update({key: spec[key] for key in ("selector", "namespaceSelector", "podMetricsEndpoints") if key in spec})
    if "template" in spec:
        fields["template"] = _ports(spec["template"])
    return fields


def _ports(template: t.Any) -> Facts:
    parts = ("containers", "initContainers")
    ports = {part: [{"ports": dicts(each.get("ports"))} for each in dicts(get_path(template, "spec", part))] for part in parts}
    return {"metadata": {"labels": mapping(get_path(template, "metadata", "labels"))}, "spec": ports}


def redact_part(value: t.Any) -> t.Any:
    """A part of an object without the values of arguments, variables and headers with the name of a secret, and without what looks like one in any text.

    Evidence, diffs and drift all show objects through it.
    """
    if isinstance(value, dict):
        if isinstance(value.get("name"), str) and isinstance(value.get("value"), str) and credentials.named(value["name"]):
            return {**value, "value": REMOVED}
        return {name: REMOVED if _is_secret(name, item) else redact_part(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        shown, end = [], ""
        for item in value:
            part, end = _argument(item, end)
            shown.append(part)
        return shown
    return redact(value) if isinstance(value, str) else value


def redact_change(before: t.Any, after: t.Any) -> tuple[t.Any, t.Any]:
    """Two states of a part of an object as redact_part leaves them. In the second one, a hidden value that differs is marked as another value."""
    shown = redact_part(before)
    return shown, _marked(before, after, shown, redact_part(after))


def _marked(before: t.Any, after: t.Any, was: t.Any, now: t.Any) -> t.Any:
    """The shown form of a part, `now`, with hidden values that differ marked. was: the shown form of its state before."""
    if before == after:
        return now
    if all(isinstance(part, dict) for part in (before, after, was, now)):
        return {name: _marked(before.get(name), after[name], was.get(name), value) for name, value in now.items()}
    if all(isinstance(part, (list, tuple)) for part in (before, after, was, now)):
        beside = [None] * len(now)
        return [_marked(*each) for each in zip([*before, *beside], after, [*was, *beside], now, strict=False)]
    if all(isinstance(part, str) for part in (before, after, was, now)) and "\n" in now and was.count("\n") == before.count("\n"):
        lines = [part.split("\n") for part in (before, after, was, now)]
        return "\n".join(_marked(*lines)) if len(lines[1]) == len(lines[3]) else now
    return now.replace(REMOVED, HIDDEN_NEW) if was == now and isinstance(now, str) else now


def removed_values(part: t.Any) -> set[str]:
    """The texts that redact_part removes of a part of an object."""
    return set(_removed(part, redact_part(part)))


def _removed(before: t.Any, after: t.Any) -> t.Iterator[str]:
    if isinstance(before, dict):
        for name, value in before.items():
            yield from _removed(value, after[name] if isinstance(after, dict) else REMOVED)
    elif isinstance(before, (list, tuple)):
        for item, shown in zip(before, [REMOVED] * len(before) if after == REMOVED else after, strict=True):
            yield from _removed(item, shown)
    elif isinstance(before, str) and before != after and REMOVED in after:
        head, _mark, tail = after.partition(REMOVED)
        yield before.removeprefix(head).removesuffix(tail)


def _is_secret(name: t.Any, value: t.Any) -> bool:
    hidden = value in (HIDDEN, HIDDEN_NEW)  # by a caller that has compared the values
    return isinstance(name, str) and isinstance(value, (str, list, tuple)) and not hidden and _SECRET_KEY.fullmatch(name) is not None


def _argument(item: t.Any, end: str) -> tuple[t.Any, str]:
    """(an element of a list as it is shown, the prefix of the option that ends the values of a secret one: empty where none follow).

    end: the prefix from the element before. An option may have several values.
    """
    if not isinstance(item, str):
        return redact_part(item), ""
    if flag := _SECRET_FLAG.fullmatch(item):
        return (f"{flag[1]}{flag[2]}{REMOVED}", "") if flag[2] else (item, "--" if item.startswith("--") else "-")
    return (REMOVED, end) if end and not item.startswith(end) else (redact(item), "")


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
