# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who owns the number of replicas, and how it is given up without a change of it. Pure.

By server-side apply a field that its only owner leaves out falls back to its default: a server of six replicas would be left with one. So another name
owns the number first, with the same value; whoever scales takes it from that name, as from any.
"""

from __future__ import annotations

import collections.abc as c
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.conditions import dicts, dig, mapping, text

Facts = dict[str, t.Any]
KINDS = ("Deployment", "LeaderWorkerSet")
SUFFIX = "-replicas"  # of the other name


def owners(obj: c.Mapping[str, t.Any]) -> list[str]:
    """Managers that own spec.replicas of an object."""
    entries = dicts(dig(obj, "metadata", "managedFields"))
    return sorted({text(entry.get("manager")) for entry in entries if dig(entry, "fieldsV1", "f:spec", "f:replicas") is not None})


def leaves_replicas(definition: c.Mapping[str, t.Any]) -> bool:
    """Whether a definition leaves the number of its replicas to others."""
    return definition.get("kind") in KINDS and "replicas" not in mapping(definition.get("spec"))


def given_up(definitions: c.Sequence[Facts], found: c.Sequence[c.Mapping[str, t.Any]], manager: str) -> list[Facts]:
    """What another manager has to apply first: of each definition that leaves its replicas, and whose replicas only `manager` owns, their number now.

    found: objects as cluster_access returns them, with `replicas`: {count, owners}.
    """
    now = {_key(item): mapping(item.get("replicas")) for item in found}
    alone = [(item, now[_key(item)]) for item in definitions if leaves_replicas(item) and now.get(_key(item), {}).get("owners") == [manager]]
    return [
        {
            "apiVersion": item["apiVersion"],
            "kind": item["kind"],
            "metadata": {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]},
            "spec": {"replicas": replicas["count"]},
        }
        for item, replicas in alone
    ]


def kept(definitions: c.Sequence[Facts], parts: c.Sequence[Facts]) -> list[Facts]:
    """The definitions with the number of replicas that these parts have, for a dry run, in which nothing is given up."""
    numbers = {_key(part): part["spec"] for part in parts}
    return [{**item, "spec": {**item["spec"], **numbers[_key(item)]}} if _key(item) in numbers else item for item in definitions]


def _key(item: c.Mapping[str, t.Any]) -> tuple[str, str, str, str]:
    namespace, name = dig(item, "metadata", "namespace"), dig(item, "metadata", "name")
    return text(item.get("apiVersion")), text(item.get("kind")), text(namespace), text(name)
