# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects of a gateway are created, deleted or pruned together. Pure."""

from __future__ import annotations

import typing as t

Definition = dict[str, t.Any]


class Parts(t.TypedDict):
    """The definitions of a gateway, each list in the order of creation."""

    classes: list[Definition]
    namespaced: list[Definition]
    gateways: list[Definition]
    attached: list[Definition]


class Pruned(t.TypedDict):
    """Controllers of other providers: those to remove, and whether any stays."""

    remove: list[dict[str, t.Any]]
    kept: list[str]


def parts(definitions: t.Iterable[Definition], used_classes: t.Collection[str] = ()) -> Parts:
    """Split the definitions of a gateway.

    classes: GatewayClasses, which are cluster-wide and may be shared; without those in `used_classes`. namespaced: everything else.
    gateways, attached: the Gateways of `namespaced`, and what is not one. A Gateway is deleted before what it refers to.
    """
    found = list(definitions)
    namespaced = [item for item in found if item["kind"] != "GatewayClass"]
    return {
        "classes": [item for item in found if item["kind"] == "GatewayClass" and item["metadata"]["name"] not in used_classes],
        "namespaced": namespaced,
        "gateways": [item for item in namespaced if item["kind"] == "Gateway"],
        "attached": [item for item in namespaced if item["kind"] != "Gateway"],
    }


def prunable(controllers: t.Iterable[dict[str, t.Any]], namespaces: t.Collection[str], used: t.Collection[str], made: t.Iterable[Definition]) -> Pruned:
    """Which controllers of other providers can be removed.

    controllers: of the plan. namespaces: names of those we created; a controller elsewhere is not ours and is left out of both lists.
    used: controller names that somebody uses. made: the classes that unused controllers created by themselves.
    """
    classes = list(made)
    ours = [each for each in controllers if each["namespace"] in namespaces]
    free = [each for each in ours if not set(each["names"]) & set(used)]
    return {
        "remove": [{**each, "made": [item for item in classes if item["metadata"]["name"] in each["classes"]]} for each in free],
        "kept": [each["provider"] for each in ours if each not in free],
    }
