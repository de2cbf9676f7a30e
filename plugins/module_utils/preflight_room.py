# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on room: accelerators, quotas, limits, storage. Pure."""

from __future__ import annotations

import typing as t
from decimal import Decimal

from ansible_collections.llm_d.inference.plugins.module_utils.conditions import dicts, dig, mapping, text
from ansible_collections.llm_d.inference.plugins.module_utils.preflight_finding import Finding
from ansible_collections.llm_d.inference.plugins.module_utils.preflight_platform import amount, free_accelerators, tolerated

Facts = dict[str, t.Any]
Found = t.Iterator[Finding]


def accelerators(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """Free accelerators of the right product are there for every replica, or every part of one: each on one node."""
    if "nodes" not in facts:
        return
    taken: dict[tuple[str, str], int] = {}
    for wanted in needs["accelerators"]:
        resource = wanted["resource"]
        nodes = free_accelerators(facts, resource)
        mine = _own(facts, needs, resource)
        if not nodes and needs["installs"]["accelerators"]:
            continue  # the operator, which comes later, brings the resource
        if not nodes:
            yield Finding(
                "accelerators/none",
                f"No node has {resource}, which {wanted['service']} needs.",
                "none",
                f"{wanted['replicas'] * wanted['per_replica']}",
                "Add nodes with accelerators, or install their device plugin: see docs/platforms.md, role gpu_operator.",
            )
            continue
        suited = [node for node in nodes if wanted["labels"].items() <= node["labels"].items()]
        if not suited:
            products = sorted({str(node["labels"].get(key, "no label")) for node in nodes for key in wanted["labels"]})
            yield Finding(
                "accelerators/product",
                f"No node with {resource} suits {wanted['service']}.",
                ", ".join(products),
                ", ".join(f"{key}={value}" for key, value in wanted["labels"].items()),
                "Correct accelerator.product or node_selector.",
            )
            continue
        usable = [node for node in suited if not node["cordoned"] and all(tolerated(taint, wanted["tolerations"]) for taint in node["taints"])]
        if not usable:
            taints = sorted({f"{taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}" for node in suited for taint in node["taints"]})
            yield Finding(
                "accelerators/tainted",
                f"The nodes for {wanted['service']} are tainted or cordoned.",
                ", ".join(taints) or "cordoned",
                "a toleration",
                "Write tolerations for the model service, or uncordon the nodes.",
            )
            continue
        room = 0
        for node in usable:
            key = (node["node"], resource)
            fits = max(0, node["free"] + mine.get(node["node"], 0) - taken.get(key, 0)) // wanted["per_replica"]
            use = min(fits, wanted["replicas"] - room)
            taken[key] = taken.get(key, 0) + use * wanted["per_replica"]
            room += use
        if room < wanted["replicas"]:
            free = ", ".join(f"{node['node']} {node['free']} of {node['allocatable']}" for node in usable)
            yield Finding(
                "accelerators/taken",
                f"There is room for {room} of {wanted['replicas']} {_pods(wanted)} of {wanted['service']}.",
                f"free: {free}",
                f"{wanted['per_replica']} of {resource} on one node, {wanted['replicas']} times",
                "Lower replicas, free accelerators, or add nodes.",
            )


def _pods(wanted: Facts) -> str:
    """What there has to be room for, in words."""
    return "replicas" if wanted["nodes"] == 1 else f"parts ({wanted['nodes']} for each replica)"


def _own(facts: Facts, needs: Facts, resource: str) -> dict[str, int]:
    """What our own pods hold by now: they make room for what comes."""
    held: dict[str, int] = {}
    for pod in dicts(facts.get("pods")):
        if needs["labels"].items() <= mapping(dig(pod, "metadata", "labels")).items() and text(dig(pod, "metadata", "namespace")) == needs["namespace"]:
            asked = sum(int(amount(mapping(dig(part, "resources", "requests")).get(resource, 0))) for part in dicts(dig(pod, "spec", "containers")))
            node = text(dig(pod, "spec", "nodeName"))
            held[node] = held.get(node, 0) + asked
    return held


def quotas(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """What all pods ask for stays within the quotas of the namespace."""
    for quota in dicts(facts.get("quotas")):
        hard, used = mapping(dig(quota, "status", "hard")), mapping(dig(quota, "status", "used"))
        ours = _ours(facts, needs)
        for name, limit in hard.items():
            asked = _asked(needs, name)
            if asked and asked > amount(limit) - max(Decimal(0), amount(used.get(name, 0)) - ours.get(name, Decimal(0))):
                yield Finding(
                    "quota/exceeded",
                    f"The quota {text(dig(quota, 'metadata', 'name'))} leaves too little {name} in {needs['namespace']}.",
                    f"{used.get(name, 0)} of {limit} used",
                    f"{asked.normalize():f}",
                    "Have the quota raised, or lower replicas or resources.",
                )


def _asked(needs: Facts, name: str) -> Decimal:
    if name == "pods":
        return Decimal(sum(pod["replicas"] for pod in needs["resources"]))
    part, resource = name.split(".", 1) if name.startswith(("requests.", "limits.")) else ("requests", name)
    return sum((amount(pod[part].get(resource, 0)) * pod["replicas"] for pod in needs["resources"]), Decimal(0))


def _ours(facts: Facts, needs: Facts) -> dict[str, Decimal]:
    """What our own pods use of the quotas by now."""
    used: dict[str, Decimal] = {}
    for pod in dicts(facts.get("pods")):
        if not needs["labels"].items() <= mapping(dig(pod, "metadata", "labels")).items():
            continue
        used["pods"] = used.get("pods", Decimal(0)) + 1
        for container in dicts(dig(pod, "spec", "containers")):
            for part in ("requests", "limits"):
                for resource, value in mapping(dig(container, "resources", part)).items():
                    for name in (f"{part}.{resource}", *([resource] if part == "requests" else [])):
                        used[name] = used.get(name, Decimal(0)) + amount(value)
    return used


def limit_ranges(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """No container asks for more than the namespace lets one have, or less than it must."""
    for entry in [limit for item in dicts(facts.get("limit_ranges")) for limit in dicts(dig(item, "spec", "limits")) if limit.get("type") == "Container"]:
        for pod in needs["resources"]:
            for resource, most in mapping(entry.get("max")).items():
                asked = pod["limits"].get(resource) or pod["requests"].get(resource)
                if asked and amount(asked) > amount(most):
                    yield Finding(
                        "limit_range/max",
                        f"A LimitRange lets no container of {pod['name']} have that much {resource}.",
                        asked,
                        f"at most {most}",
                        "Lower its resources, or have the LimitRange raised.",
                    )
            for resource, least in mapping(entry.get("min")).items():
                asked = pod["requests"].get(resource)
                if asked and amount(asked) < amount(least):
                    yield Finding(
                        "limit_range/min",
                        f"A LimitRange asks more {resource} of each container of {pod['name']}.",
                        asked,
                        f"at least {least}",
                        "Raise its requests, or have the LimitRange lowered.",
                    )


def storage(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """Claims that models lie on are there and bound."""
    there = mapping(facts.get("claims"))
    for wanted in needs["claims"]:
        found = there.get(wanted["name"], "unread")
        if found is None:
            default = _default_classes(facts)
            hint = f" The default storage class is {default[0]}." if default else " There is no default storage class: name one in the claim."
            yield Finding(
                "storage/claim",
                f"{wanted['path']} names a PersistentVolumeClaim that is not there.",
                "none",
                wanted["name"],
                "Create it, with the model on it." + hint,
            )
        elif isinstance(found, dict) and text(dig(found, "status", "phase")) == "Lost":
            yield Finding(
                "storage/lost",
                f"The PersistentVolumeClaim {wanted['name']} has lost its volume.",
                "Lost",
                "Bound",
                "Bring its volume back, or make another claim.",
            )


def storage_classes(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """Somebody makes volumes for the claims that we make."""
    known = facts.get("storage_classes")
    for wanted in needs["storage_classes"] if isinstance(known, dict) else []:
        name, listed = wanted["class_name"], ", ".join(sorted(known or {})) or "none"
        if name and name not in known:
            yield Finding("storage/class", f"{wanted['path']} names a storage class that is not there.", listed, name, "Write one that is there.")
        elif not name and not _default_classes(facts):
            fix = f"Write one under {wanted['path']}, or mark one as the default."
            yield Finding("storage/class", "No storage class is the default one, and a claim names none.", listed, "a default storage class", fix)


def _default_classes(facts: Facts) -> list[str]:
    marked = "storageclass.kubernetes.io/is-default-class"
    return [name for name, item in mapping(facts.get("storage_classes")).items() if mapping(dig(item, "metadata", "annotations")).get(marked) == "true"]


CHECKS = (accelerators, quotas, limit_ranges, storage, storage_classes)
