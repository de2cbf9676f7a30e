# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Field ownership of server-side apply: what a manager last applied, and how it releases spec.replicas. Pure."""

from __future__ import annotations

import collections.abc as c
import json
import typing as t

from ..common.objects import Facts, dicts, get_path, mapping, text

REPLICA_KINDS = ("Deployment", "LeaderWorkerSet")
REPLICAS_SUFFIX = "-replicas"  # of the field manager that takes over spec.replicas
_NOT_OWNED = object()


def applied_definition(obj: c.Mapping[str, t.Any], manager: str) -> Facts | None:
    """The definition that `manager`, or a manager named `manager.*`, last applied, read from managedFields; None when it applied nothing.

    Applying it again under the same name restores the object: fields added since by that manager are removed, fields of others stay.
    """
    owned: Facts = {}
    for entry in dicts(get_path(obj, "metadata", "managedFields")):
        name = text(entry.get("manager"))
        if entry.get("operation") == "Apply" and not entry.get("subresource") and (name == manager or name.startswith(manager + ".")):
            _merge(owned, mapping(entry.get("fieldsV1")))
    if not owned:
        return None
    part = _extract(obj, owned)
    metadata = {name: value for name, value in mapping(part.get("metadata")).items() if name not in ("name", "namespace")}
    head = {"name": get_path(obj, "metadata", "name")}
    if get_path(obj, "metadata", "namespace"):
        head["namespace"] = get_path(obj, "metadata", "namespace")
    return {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), **part, "metadata": {**head, **metadata}}


def _merge(into: Facts, other: c.Mapping[str, t.Any]) -> None:
    for name, below in other.items():
        _merge(into.setdefault(name, {}), mapping(below))


def _extract(value: t.Any, owned: c.Mapping[str, t.Any]) -> t.Any:
    """The owned part of a value, by a fieldsV1 tree: a leaf is owned as a whole; `f:` is a field, `k:` the list element with these keys, `v:` a set value."""
    inner = {name: below for name, below in owned.items() if name != "."}
    if not inner:
        return value
    if isinstance(value, dict):
        return {name[2:]: _extract(value[name[2:]], below) for name, below in inner.items() if name.startswith("f:") and name[2:] in value}
    if isinstance(value, list):
        return [part for part in (_element(item, inner) for item in value) if part is not _NOT_OWNED]
    return value


def _element(item: t.Any, owned: c.Mapping[str, t.Any]) -> t.Any:
    for name, below in owned.items():
        kind, _colon, rest = name.partition(":")
        if kind == "k" and isinstance(item, dict):
            keys = json.loads(rest)
            if all(item.get(key) == wanted for key, wanted in keys.items()):
                return {**keys, **_extract(item, below)} if below else dict(item)
        elif kind == "v" and json.loads(rest) == item:
            return item
    return _NOT_OWNED


def leaves_replicas(definition: c.Mapping[str, t.Any]) -> bool:
    """Whether a definition omits spec.replicas, so that an autoscaler or a user owns it."""
    return definition.get("kind") in REPLICA_KINDS and "replicas" not in mapping(definition.get("spec"))


def release_ownership(definitions: c.Sequence[Facts], applied: c.Sequence[c.Mapping[str, t.Any]]) -> list[Facts]:
    """Partial definitions, each with the present spec.replicas, that another field manager applies before these definitions are applied without it.

    When its only owner omits a field, server-side apply resets it to its default: six replicas would become one. So another manager owns the number
    first, with the same value; an autoscaler takes it over from that manager.
    applied: what we last applied of these objects, as cluster_snapshot returns it.
    """
    numbers = {_key(item): mapping(item.get("spec")).get("replicas") for item in applied}
    return [
        {
            "apiVersion": item["apiVersion"],
            "kind": item["kind"],
            "metadata": {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]},
            "spec": {"replicas": numbers[_key(item)]},
        }
        for item in definitions
        if leaves_replicas(item) and numbers.get(_key(item)) is not None
    ]


def keep_replicas(definitions: c.Sequence[Facts], parts: c.Sequence[Facts]) -> list[Facts]:
    """The definitions with spec.replicas from these parts, for a dry run, which releases no ownership."""
    numbers = {_key(part): part["spec"] for part in parts}
    return [{**item, "spec": {**item["spec"], **numbers[_key(item)]}} if _key(item) in numbers else item for item in definitions]


def _key(item: c.Mapping[str, t.Any]) -> tuple[str, str, str, str]:
    namespace, name = get_path(item, "metadata", "namespace"), get_path(item, "metadata", "name")
    return text(item.get("apiVersion")), text(item.get("kind")), text(namespace), text(name)
