# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The platform of a cluster, its versions and its free accelerators, from objects that were read from it. Pure."""

from __future__ import annotations

import re
import typing as t
from decimal import Decimal, InvalidOperation

from ..common.objects import Facts, dicts, get_path, mapping, text

_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("0.001"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
}
_SUFFIXES.update({f"{letter}i": Decimal(1024**power) for power, letter in enumerate("KMGTP", start=1)})
_INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,18})\Z")
CLOUDS = ("gke", "eks", "aks")


def detect(facts: Facts) -> Facts:
    """{name: a value of llm_d_platform, flavour: the distribution, such as rke2, version}."""
    version = text(facts.get("version"))
    nodes = dicts(facts.get("nodes"))
    if "config.openshift.io" in mapping(facts.get("groups")):
        return {"name": "openshift", "flavour": "openshift", "version": text(get_path(facts, "cluster_version", "status", "desired", "version")) or None}
    for mark, name in (("-gke.", "gke"), ("-eks-", "eks")):
        if mark in version:
            return {"name": name, "flavour": name, "version": version}
    labels = [mapping(get_path(node, "metadata", "labels")) for node in nodes]
    providers = [text(get_path(node, "spec", "providerID")) for node in nodes]
    if any("kubernetes.azure.com/cluster" in each for each in labels):
        return {"name": "aks", "flavour": "aks", "version": version}
    for mark, name in (("+rke2", "rke2"), ("+k3s", "k3s")):
        if mark in version:
            return {"name": name, "flavour": name, "version": version}
    if any("microk8s.io/cluster" in each for each in labels):
        return {"name": "microk8s", "flavour": "microk8s", "version": version}
    flavour = "kubernetes"
    if any(each.startswith("kind://") for each in providers):
        flavour = "kind"
    elif any("minikube.k8s.io/name" in each for each in labels):
        flavour = "minikube"
    elif [text(get_path(node, "metadata", "name")) for node in nodes] == ["local"]:
        flavour = "local"
    return {"name": "kubernetes", "flavour": flavour, "version": version}


def parts(version: str) -> tuple[int, ...]:
    """The numbers of a version; () for text without one."""
    return tuple(int(number) for number in re.findall(r"\d+", re.split(r"[-+]", version.lstrip("v"))[0]))


def older(version: str, needed: str) -> bool:
    """Whether a version is older than the one needed, compared to as many parts as that one has."""
    present, least = parts(version), parts(needed)
    return present + (0,) * (len(least) - len(present)) < least


def quantity(value: t.Any) -> Decimal | None:
    """A Kubernetes quantity as a number; None for anything else."""
    match = re.fullmatch(r"([0-9.]+(?:[eE][0-9]+)?)([A-Za-z]*)", str(value))
    if not match or match.group(2) not in _SUFFIXES:
        return None
    try:
        return Decimal(match.group(1)) * _SUFFIXES[match.group(2)]
    except InvalidOperation:
        return None


def amount(value: t.Any) -> Decimal:
    """A Kubernetes quantity as a number; 0 for anything else."""
    return quantity(value) or Decimal(0)


def image_version(deployment: t.Any) -> str | None:
    """The version in the image tag of a Deployment; None without one."""
    for container in dicts(get_path(deployment, "spec", "template", "spec", "containers")):
        match = re.search(r":v?(\d+\.\d+[^@]*)(@|$)", text(container.get("image")))
        if match:
            return match.group(1)
    return None


def load_balancer(facts: Facts, platform: Facts) -> bool:
    """Whether a Service of type LoadBalancer gets an address: in a cloud, with MetalLB or the like, or when one already has."""
    if platform["name"] in CLOUDS or platform["flavour"] == "k3s":
        return True
    if mapping(facts.get("groups")).keys() & {"metallb.io", "kube-vip.io", "cilium.io"}:
        return True
    if text(get_path(facts, "infrastructure", "status", "platform")) in ("AWS", "Azure", "GCP", "IBMCloud"):
        return True
    return any(get_path(item, "status", "loadBalancer", "ingress") for item in dicts(facts.get("load_balancers")))


def free_accelerators(facts: Facts, resource: str) -> list[Facts]:
    """Nodes with the resource: {node, labels, taints, cordoned, allocatable, free}. free: allocatable less the requests of pods."""
    used: dict[str, int] = {}
    for pod in dicts(facts.get("pods")):
        if text(get_path(pod, "status", "phase")) in ("Succeeded", "Failed"):
            continue
        node = text(get_path(pod, "spec", "nodeName"))
        requested = sum(int(amount(mapping(get_path(part, "resources", "requests")).get(resource, 0))) for part in dicts(get_path(pod, "spec", "containers")))
        used[node] = used.get(node, 0) + requested
    rows = []
    for item in dicts(facts.get("nodes")):
        total = int(amount(mapping(get_path(item, "status", "allocatable")).get(resource, 0)))
        if total:
            name = text(get_path(item, "metadata", "name"))
            rows.append(
                {
                    "node": name,
                    "labels": mapping(get_path(item, "metadata", "labels")),
                    "taints": dicts(get_path(item, "spec", "taints")),
                    "cordoned": bool(get_path(item, "spec", "unschedulable")),
                    "allocatable": total,
                    "free": max(0, total - used.get(name, 0)),
                }
            )
    return rows


def tolerated(taint: Facts, tolerations: t.Sequence[Facts]) -> bool:
    """Whether a pod with these tolerations is scheduled in spite of a taint, by the scheduler's rules."""
    if taint.get("effect") == "PreferNoSchedule":
        return True
    for each in tolerations:
        if each.get("effect") not in (None, "", taint.get("effect")):
            continue
        if each.get("key") in (None, "") and each.get("operator") == "Exists":
            return True
        if each.get("key") == taint.get("key") and _fits(text(taint.get("value")), text(each.get("operator")), text(each.get("value"))):
            return True
    return False


def _fits(taint: str, operator: str, value: str) -> bool:
    """Whether the value of a taint is one that a toleration with this operator and value is for. Source: k8s.io/api/core/v1, toleration.go."""
    if operator in ("Lt", "Gt"):
        numbers = bool(_INTEGER.match(taint) and _INTEGER.match(value))
        return numbers and (int(taint) < int(value) if operator == "Lt" else int(taint) > int(value))
    return operator == "Exists" or taint == value
