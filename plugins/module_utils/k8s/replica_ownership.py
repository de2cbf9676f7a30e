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

from ..common.objects import dig, mapping, text

Facts = dict[str, t.Any]
KINDS = ("Deployment", "LeaderWorkerSet")
SUFFIX = "-replicas"  # of the other name


def leaves_replicas(definition: c.Mapping[str, t.Any]) -> bool:
    """Whether a definition leaves the number of its replicas to others."""
    return definition.get("kind") in KINDS and "replicas" not in mapping(definition.get("spec"))


def given_up(definitions: c.Sequence[Facts], applied: c.Sequence[c.Mapping[str, t.Any]]) -> list[Facts]:
    """What another manager has to apply first: of each definition that leaves its replicas, the number that is ours still.

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


def kept(definitions: c.Sequence[Facts], parts: c.Sequence[Facts]) -> list[Facts]:
    """The definitions with the number of replicas that these parts have, for a dry run, in which nothing is given up."""
    numbers = {_key(part): part["spec"] for part in parts}
    return [{**item, "spec": {**item["spec"], **numbers[_key(item)]}} if _key(item) in numbers else item for item in definitions]


def _key(item: c.Mapping[str, t.Any]) -> tuple[str, str, str, str]:
    namespace, name = dig(item, "metadata", "namespace"), dig(item, "metadata", "name")
    return text(item.get("apiVersion")), text(item.get("kind")), text(namespace), text(name)
