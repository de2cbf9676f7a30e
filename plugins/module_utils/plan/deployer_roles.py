# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rights that a plan asks for, as Roles to grant. Pure."""

from __future__ import annotations

import typing as t

Facts = dict[str, t.Any]

NAME = "llm-d-deployer"


def roles(rights: t.Sequence[Facts]) -> list[Facts]:
    """Definitions of one Role for each namespace, and of a ClusterRole where some rights are of no namespace."""
    places: dict[str, list[Facts]] = {}
    for right in rights:
        places.setdefault(right.get("namespace") or "", []).append(right)
    return [_role(place, found) for place, found in places.items()]


def _role(namespace: str, rights: t.Sequence[Facts]) -> Facts:
    verbs: dict[tuple[str, str, str], list[str]] = {}
    for right in rights:
        held = verbs.setdefault((right.get("group", ""), right.get("name", ""), right["resource"]), [])
        if right["verb"] not in held:
            held.append(right["verb"])
    rules: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (group, name, resource), said in verbs.items():
        rules.setdefault((group, name, tuple(said)), []).append(resource)
    metadata = {"name": NAME, "namespace": namespace} if namespace else {"name": NAME}
    kind = "Role" if namespace else "ClusterRole"
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, "rules": [_rule(*key, found) for key, found in rules.items()]}


def _rule(group: str, name: str, verbs: tuple[str, ...], resources: list[str]) -> Facts:
    named = {"resourceNames": [name]} if name else {}
    return {"apiGroups": [group], "resources": resources, **named, "verbs": list(verbs)}
