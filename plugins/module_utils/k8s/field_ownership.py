# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An object as we last applied it, read from the object itself: its managed fields say which parts are ours. Pure.

Applying that again, under the same name, brings the object back to what it was then: what was added since is removed, and what others own is left alone.
"""

from __future__ import annotations

import collections.abc as c
import json
import typing as t

from ..common.objects import dicts, dig, mapping, text

Fields = dict[str, t.Any]


def applied(obj: c.Mapping[str, t.Any], manager: str) -> Fields | None:
    """The definition that `manager`, or one whose name begins with it and a dot, last applied; None when it applied nothing."""
    owned: Fields = {}
    for entry in dicts(dig(obj, "metadata", "managedFields")):
        name = text(entry.get("manager"))
        if entry.get("operation") == "Apply" and not entry.get("subresource") and (name == manager or name.startswith(manager + ".")):
            _merge(owned, mapping(entry.get("fieldsV1")))
    if not owned:
        return None
    part = _extract(obj, owned)
    metadata = {name: value for name, value in mapping(part.get("metadata")).items() if name not in ("name", "namespace")}
    head = {"name": dig(obj, "metadata", "name")}
    if dig(obj, "metadata", "namespace"):
        head["namespace"] = dig(obj, "metadata", "namespace")
    return {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), **part, "metadata": {**head, **metadata}}


def _merge(into: Fields, other: c.Mapping[str, t.Any]) -> None:
    for name, below in other.items():
        _merge(into.setdefault(name, {}), mapping(below))


def _extract(value: t.Any, owned: c.Mapping[str, t.Any]) -> t.Any:
    """The owned part of a value. A leaf is owned as a whole; `f:` leads to a field, `k:` to the element of a list with these keys, `v:` to a value in a set."""
    inner = {name: below for name, below in owned.items() if name != "."}
    if not inner:
        return value
    if isinstance(value, dict):
        return {name[2:]: _extract(value[name[2:]], below) for name, below in inner.items() if name.startswith("f:") and name[2:] in value}
    if isinstance(value, list):
        return [found for found in (_element(item, inner) for item in value) if found is not _NOT_OURS]
    return value


_NOT_OURS = object()


def _element(item: t.Any, owned: c.Mapping[str, t.Any]) -> t.Any:
    for name, below in owned.items():
        kind, _colon, rest = name.partition(":")
        if kind == "k" and isinstance(item, dict):
            keys = json.loads(rest)
            if all(item.get(key) == wanted for key, wanted in keys.items()):
                return {**keys, **_extract(item, below)} if below else dict(item)
        elif kind == "v" and json.loads(rest) == item:
            return item
    return _NOT_OURS
