# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the look at a cluster has seen, in short and without the objects. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import dig, mapping, text
from ..k8s.platform import free_accelerators, image_version, load_balancer
from ..releases.lines import ACCELERATORS

Facts = dict[str, t.Any]
_GROUPS = (
    "gateway.networking.k8s.io",
    "inference.networking.k8s.io",
    "inference.networking.x-k8s.io",
    "llm-d.ai",
    "leaderworkerset.x-k8s.io",
    "monitoring.coreos.com",
)


def summary(facts: Facts, needs: Facts, platform: Facts) -> Facts:
    """The facts for people. None: what was not asked for, or may not be read."""
    bundles = {name: entry for name, entry in mapping(facts.get("crds")).items() if entry["version"]}
    return {
        "user": facts.get("user", ""),
        "nodes": len(facts["nodes"]) if "nodes" in facts else None,
        # only who needs accelerators has looked at the pods of all namespaces
        "accelerators": _accelerators(facts) if needs["accelerators"] and "nodes" in facts and "pods" in facts else None,
        "groups": {name: versions for name, versions in mapping(facts.get("groups")).items() if name in _GROUPS},
        "crds": bundles,
        "gateway_classes": sorted(mapping(facts.get("gateway_classes"))),
        "controllers": {name: image_version(found) or "of no known version" for name, found in mapping(facts.get("controllers")).items() if found},
        "default_storage_class": default_storage_class(facts),
        "load_balancer": load_balancer(facts, platform) if "load_balancers" in facts else None,
    }


def default_storage_class(facts: Facts) -> str | None:
    """Where a claim that names none gets its volume from."""
    marked = "storageclass.kubernetes.io/is-default-class"
    classes = mapping(facts.get("storage_classes"))
    return next((name for name, item in classes.items() if mapping(dig(item, "metadata", "annotations")).get(marked) == "true"), None)


def _accelerators(facts: Facts) -> Facts:
    """How many are free of each product, and of each resource where nodes do not say the product: as `4 of 8`."""
    counted: dict[str, list[int]] = {}
    for vendor in ACCELERATORS.values():
        for node in free_accelerators(facts, vendor["resource"]) if vendor["resource"] else []:
            name = text(node["labels"].get(vendor["product_label"])) or vendor["resource"]
            free, total = counted.setdefault(name, [0, 0])
            counted[name] = [free + node["free"], total + node["allocatable"]]
    return {name: f"{free} of {total}" for name, (free, total) in sorted(counted.items())}
