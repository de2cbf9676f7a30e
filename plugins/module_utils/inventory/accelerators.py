# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The accelerators of a starting file: those that nodes offer to pods, and nodes that have GPUs without offering them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..common.objects import Facts, dicts, get_path, mapping, text
from ..k8s.platform import free_accelerators
from ..releases.lines import ACCELERATORS

# Labels of nodes with GPUs, by vendor. Values: `true`, or the product that a cloud writes there, such as nvidia-l4.
_LABELS = {
    "nvidia": (
        "nvidia.com/gpu.present",
        "feature.node.kubernetes.io/pci-10de.present",
        "feature.node.kubernetes.io/pci-0300_10de.present",
        "feature.node.kubernetes.io/pci-0302_10de.present",
        "cloud.google.com/gke-accelerator",
        "k8s.amazonaws.com/accelerator",
        "kubernetes.azure.com/accelerator",
    ),
    "amd": ("feature.node.kubernetes.io/amd-gpu",),
    "intel_gaudi": ("feature.node.kubernetes.io/pci-1da3.present", "feature.node.kubernetes.io/pci-1200_1da3.present"),
}
_GKE_PRODUCT = "cloud.google.com/gke-accelerator"


@dataclass(frozen=True)
class Offer:
    """Accelerators of one kind. count: allocatable, of which others may use some; product: value of the vendor's product label."""

    vendor: str
    resource: str
    count: int
    nodes: int
    product: str | None = None
    node_selector: Facts = field(default_factory=dict)
    tolerations: list[Facts] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The offer for people, such as `4 nvidia.com/gpu on 2 nodes, NVIDIA-L40S`."""
        product = self.product or self.node_selector.get(_GKE_PRODUCT)
        return f"{self.count} {self.resource} on {self.nodes} node{'' if self.nodes == 1 else 's'}{f', {product}' if product else ''}"


def offers(facts: Facts) -> list[Offer]:
    """The accelerators that nodes offer, the most numerous first. Cordoned nodes are not counted."""
    names = {name for node in dicts(facts.get("nodes")) for name in mapping(get_path(node, "status", "allocatable"))}
    result = []
    for vendor, row in ACCELERATORS.items():
        wanted = [name for name in sorted(names) if name == row["resource"] or (vendor == "nvidia" and name.startswith("nvidia.com/mig-"))]
        for resource in wanted:
            kinds: dict[tuple[str, str], list[Facts]] = {}
            for node in free_accelerators(facts, resource):
                if not node["cordoned"]:
                    product = text(node["labels"].get(row["product_label"])) if row["product_label"] else ""
                    kinds.setdefault((product, text(node["labels"].get(_GKE_PRODUCT))), []).append(node)
            result += [_offer(vendor, resource, product, cloud, nodes) for (product, cloud), nodes in sorted(kinds.items())]
    return sorted(result, key=lambda offer: -offer.count)


def _offer(vendor: str, resource: str, product: str, cloud: str, nodes: list[Facts]) -> Offer:
    selector = {_GKE_PRODUCT: cloud} if cloud and not product else {}
    return Offer(vendor, resource, sum(node["allocatable"] for node in nodes), len(nodes), product or None, selector, _tolerations(nodes))


def _tolerations(nodes: list[Facts]) -> list[Facts]:
    """Tolerations of the taints that keep pods off these nodes; not of taints that say that a node has a problem."""
    tolerations: list[Facts] = []
    for taint in (taint for node in nodes for taint in node["taints"]):
        key, value, effect = text(taint.get("key")), text(taint.get("value")), text(taint.get("effect"))
        if effect not in ("NoSchedule", "NoExecute") or key.startswith(("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")):
            continue
        # the value of the usual taint of GPU nodes differs between platforms
        entry = {"key": key, "operator": "Exists", "effect": effect} if key in _RESOURCES or not value else {"key": key, "value": value, "effect": effect}
        if entry not in tolerations:
            tolerations.append(entry)
    return tolerations


_RESOURCES = {row["resource"] for row in ACCELERATORS.values()}


def labelled(facts: Facts) -> tuple[str, int] | None:
    """(vendor, number of nodes) of nodes whose labels say that they have GPUs; None where there are none."""
    labels = [mapping(get_path(node, "metadata", "labels")) for node in dicts(facts.get("nodes"))]
    for vendor, names in _LABELS.items():
        count = sum(any(text(each.get(name)) == "true" or text(each.get(name)).startswith(vendor) for name in names) for each in labels)
        if count:
            return vendor, count
    return None
