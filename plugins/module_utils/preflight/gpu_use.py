# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a GPU operator and Node Feature Discovery are ours to remove, and whether others use them. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ..common.labels import has_labels
from ..common.objects import Facts, dicts, get_path, mapping, text
from ..k8s.shared_controllers import first_few, title_with_instance
from .finding import PreflightFinding

FEATURE = "feature.node.kubernetes.io/"
_LEAVE = "Write 'install: false' under llm_d_gpus, so that the operator stays as it is"


@dataclasses.dataclass
class OperatorRemoval:
    """What is to be removed. namespaces: of the operators; resources: prefixes of resource names; features: whether Node Feature Discovery goes too."""

    labels: Facts
    own_namespace: str
    namespaces: c.Sequence[str]
    resources: c.Sequence[str]
    features: bool
    release: Facts | None


@dataclasses.dataclass
class OperatorUse:
    """Objects of the cluster, with their kind. named: objects of the plan; release: whether Helm has the release; features: objects that NFD reads."""

    named: c.Sequence[Facts]
    release: bool
    subscriptions: c.Sequence[Facts]
    features: c.Sequence[Facts]
    pods: c.Sequence[Facts]


def judge(use: OperatorUse, removal: OperatorRemoval) -> list[PreflightFinding]:
    """Reasons not to remove the operator; empty where it is ours and nobody else uses it."""
    findings = [*_foreign(use, removal), *_subscriptions(use, removal)]
    if any(has_labels(item, removal.labels) for item in use.named):
        findings += [*_pods(use, removal), *_features(use, removal)]
    return findings


def _foreign(use: OperatorUse, removal: OperatorRemoval) -> c.Iterator[PreflightFinding]:
    """Objects with our names and without our labels: an operator that we have adopted. A namespace alone is no operator."""
    others = [item for item in use.named if item.get("kind") != "Namespace" and not has_labels(item, removal.labels)]
    if others:
        names = first_few([title_with_instance(item) for item in others])
        yield PreflightFinding("gpu_operator/foreign", "The operator exists, and we did not install it.", names, "ours", f"{_LEAVE}.")
    ours = [text(get_path(item, "metadata", "name")) for item in use.named if item.get("kind") == "Namespace" and has_labels(item, removal.labels)]
    if removal.release and use.release and removal.release["namespace"] not in ours:
        name, place = removal.release["release_name"], removal.release["namespace"]
        how = f"{_LEAVE}; where it is ours, in a namespace that you made, uninstall it yourself: helm uninstall -n {place} {name}."
        what = "The operator was installed by Helm in a namespace that is not ours."
        yield PreflightFinding("gpu_operator/release", what, f"{place}/{name}", f"our labels on {place}", how)


def _subscriptions(use: OperatorUse, removal: OperatorRemoval) -> c.Iterator[PreflightFinding]:
    """Subscriptions of others for the same operators, or for other operators in the namespaces that would be deleted."""
    packages = {text(get_path(item, "spec", "name")) for item in use.named if item.get("kind") == "Subscription"}
    named = [_place(item) for item in use.named]
    others = [
        item
        for item in use.subscriptions
        if _place(item) not in named
        and not has_labels(item, removal.labels)
        and (text(get_path(item, "spec", "name")) in packages or get_path(item, "metadata", "namespace") in removal.namespaces)
    ]
    if others:
        yield PreflightFinding(
            "gpu_operator/subscription",
            "Others have subscribed to the same operators, or for other operators in the same namespaces.",
            first_few([title_with_instance(item) for item in others]),
            "no Subscription but ours",
            f"Have them removed or moved. {_LEAVE}, where they need it.",
        )


def _pods(use: OperatorUse, removal: OperatorRemoval) -> c.Iterator[PreflightFinding]:
    """Pods of others that use the accelerators of the operator."""
    users = [f"{title_with_instance(pod)} ({', '.join(held)})" for pod in _of_others(use, removal) if (held := _held(pod, removal.resources))]
    if users:
        yield PreflightFinding(
            "gpu_operator/in_use",
            "Pods of others use the accelerators that the operator provides.",
            first_few(users),
            "none",
            f"Remove them. {_LEAVE}, where they need it.",
        )


def _features(use: OperatorUse, removal: OperatorRemoval) -> c.Iterator[PreflightFinding]:
    """Objects and pods of others that need the node labels of Node Feature Discovery."""
    if not removal.features:
        return
    users = [title_with_instance(item) for item in use.features if not has_labels(item, removal.labels) and not get_path(item, "metadata", "ownerReferences")]
    users += [f"{title_with_instance(pod)} ({key})" for pod in _of_others(use, removal) if (key := _feature(pod))]
    if users:
        yield PreflightFinding(
            "nfd/in_use",
            "Others need the node labels of Node Feature Discovery.",
            first_few(users),
            "none",
            "Remove them, or write 'node_feature_discovery: false' under llm_d_gpus, so that it stays as it is.",
        )


def _of_others(use: OperatorUse, removal: OperatorRemoval) -> list[Facts]:
    """Running pods that belong neither to us nor to the operators."""
    pods = []
    for pod in use.pods:
        place = get_path(pod, "metadata", "namespace")
        if place in removal.namespaces or (place == removal.own_namespace and has_labels(pod, removal.labels)):
            continue
        if text(get_path(pod, "status", "phase")) not in ("Succeeded", "Failed"):
            pods.append(pod)
    return pods


def _held(pod: Facts, resources: c.Sequence[str]) -> list[str]:
    """Accelerators that a pod requests."""
    parts = [*dicts(get_path(pod, "spec", "containers")), *dicts(get_path(pod, "spec", "initContainers"))]
    names = {name for part in parts for kind in ("requests", "limits") for name in mapping(get_path(part, "resources", kind))}
    return sorted(name for name in names if name.startswith(tuple(resources)))


def _feature(pod: Facts) -> str:
    """The first label of Node Feature Discovery that a pod requires of its node; empty for none."""
    terms = dicts(get_path(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"))
    keys = [*mapping(get_path(pod, "spec", "nodeSelector")), *(text(match.get("key")) for term in terms for match in dicts(term.get("matchExpressions")))]
    return next((key for key in keys if key.startswith(FEATURE)), "")


def _place(item: Facts) -> tuple[str, str, str]:
    return text(item.get("kind")), text(get_path(item, "metadata", "namespace")), text(get_path(item, "metadata", "name"))
