# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node autoscalers: what shows that a cluster has one, and which events of a pod are theirs."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.autoscaler_events import coming, from_autoscaler, reported
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.node_autoscalers import observe, running

Facts = dict[str, t.Any]
STATUS = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"
DENIED = ApiError("forbidden", 403, "Forbidden", "no")


class Api:
    """Answers by path; an error is raised, anything else does not exist."""

    def __init__(self, **answers: t.Any) -> None:
        self.answers = answers

    def find(self, path: str, query: Facts | None = None) -> Facts | None:
        answer = self.answers.get(path)
        if isinstance(answer, Exception):
            raise answer
        return t.cast("Facts | None", answer)

    def parallel(self, function: t.Callable[[t.Any], t.Any], items: t.Sequence[t.Any]) -> list[t.Any]:
        return [function(item) for item in items]


MOST = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"


def named(*names: str, namespace: str = "", annotations: Facts | None = None) -> Facts:
    return {"items": [{"metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}}} for name in names]}


CLUSTERS: dict[str, tuple[Facts, Facts, list[str], list[str]]] = {
    "none": ({"apps": ["v1"]}, {}, [], []),
    "Karpenter": ({"karpenter.sh": ["v1"]}, {"/apis/karpenter.sh/v1/nodepools": named("default", "gpu")}, ["Karpenter (NodePool default, gpu)"], []),
    "Karpenter without a pool": ({"karpenter.sh": ["v1"]}, {"/apis/karpenter.sh/v1/nodepools": named()}, [], ["Karpenter has no NodePool"]),
    "Karpenter, not readable": ({"karpenter.sh": ["v1"]}, {"/apis/karpenter.sh/v1/nodepools": DENIED}, ["Karpenter (NodePool)"], []),
    "GKE": ({"cloud.google.com": ["v1beta1", "v1"]}, {"/apis/cloud.google.com/v1/computeclasses": named("l4")}, ["GKE (ComputeClass l4)"], []),
    "GKE without the kind": ({"cloud.google.com": ["v1"]}, {}, [], []),
    "GKE Autopilot": ({"auto.gke.io": ["v1"]}, {}, ["GKE Autopilot (API group auto.gke.io)"], []),
    "Cluster API": (
        {"cluster.x-k8s.io": ["v1beta1"]},
        {"/apis/cluster.x-k8s.io/v1beta1/machinedeployments": named(*"abcd", annotations={MOST: "3"})},
        ["Cluster API (MachineDeployment a, b, c and more)"],
        [],
    ),
    "Cluster API, not scaled": (
        {"cluster.x-k8s.io": ["v1beta1"]},
        {"/apis/cluster.x-k8s.io/v1beta1/machinedeployments": named("a")},
        [],
        [f"no MachineDeployment of Cluster API has the annotation {MOST}"],
    ),
    "Cluster API, not readable": (
        {"cluster.x-k8s.io": ["v1beta1"]},
        {"/apis/cluster.x-k8s.io/v1beta1/machinedeployments": DENIED},
        ["Cluster API (MachineDeployment)"],
        [],
    ),
    "GKE with node pools alone": ({"cloud.google.com": ["v1"]}, {"/apis/cloud.google.com/v1/computeclasses": named()}, [], []),
    "Karpenter of 2023": ({"karpenter.sh": ["v1alpha5"]}, {"/apis/karpenter.sh/v1alpha5/provisioners": named("gpu")}, ["Karpenter (Provisioner gpu)"], []),
    "OpenShift, without": (
        {"autoscaling.openshift.io": ["v1beta1"]},
        {"/apis/autoscaling.openshift.io/v1beta1/machineautoscalers": named()},
        [],
        ["OpenShift has no MachineAutoscaler"],
    ),
    "cluster-autoscaler": ({}, {STATUS: {"kind": "ConfigMap"}}, ["cluster-autoscaler (ConfigMap kube-system/cluster-autoscaler-status)"], []),
    "cluster-autoscaler, not readable": ({}, {STATUS: DENIED}, [], []),
}


@pytest.mark.parametrize(("groups", "answers", "present", "without"), CLUSTERS.values(), ids=CLUSTERS)
def test_node_autoscalers_are_detected_by_api_groups_and_objects(groups: Facts, answers: Facts, present: list[str], without: list[str]) -> None:
    assert observe(t.cast(t.Any, Api(**answers)), groups) == {"active": present, "without": without}


@pytest.mark.parametrize(
    ("image", "right"),
    [
        ("registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.1", True),
        ("registry.k8s.io/autoscaling/cluster-autoscaler-arm64:v1.34.1", True),
        ("mirror:5000/cluster-autoscaler@sha256:0123", True),
        ("registry.k8s.io/cpa/cluster-proportional-autoscaler:v1.8.9", False),
        ("me/cluster-autoscaler-dashboard:1", False),
    ],
)
def test_pods_of_cluster_autoscaler_are_known_by_their_image(image: str, right: bool) -> None:
    pod = {"metadata": {"name": "ca-0", "namespace": "autoscaler"}, "spec": {"containers": [{"image": image}]}}
    assert running([{"spec": {}}, pod, pod]) == (["cluster-autoscaler (Pod autoscaler/ca-0)"] if right else [])


@pytest.mark.parametrize(
    ("container", "right"),
    [
        ({"command": ["./cluster-autoscaler", "--cloud-provider=aws"]}, True),
        ({"args": ["/usr/bin/cluster-autoscaler"]}, True),
        ({"command": ["sh", "-c"], "args": ["cluster-autoscaler"]}, False),
        ({"command": []}, False),
    ],
)
def test_pods_of_cluster_autoscaler_are_known_by_their_program(container: Facts, right: bool) -> None:
    """OpenShift runs it from an image by digest, whose name is that of a release."""
    pod = {"metadata": {"name": "ca-0", "namespace": "a"}, "spec": {"containers": [{"image": "quay.io/release@sha256:0", **container}]}}
    assert bool(running([pod])) == right


EVENTS: list[tuple[str, str, str, bool, bool]] = [
    ("TriggeredScaleUp", "cluster-autoscaler", "pod triggered scale-up: [{gpu 0->1 (max: 3)}]", True, True),
    ("NotTriggerScaleUp", "cluster-autoscaler", "pod didn't trigger scale-up: 1 max node group size reached", True, False),
    ("FailedScaleUp", "cluster-autoscaler", "Node scale up in zones us-central1-a failed: GCE quota exceeded.", True, False),
    ("Nominated", "karpenter", "Pod should schedule on: nodeclaim/gpu-x", True, True),
    ("FailedScheduling", "karpenter", 'Failed to schedule pod, incompatible with nodepool "cpu"', True, False),
    ("FailedScheduling", "default-scheduler", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.", False, False),
]


@pytest.mark.parametrize(("reason", "component", "message", "of_autoscaler", "comes"), EVENTS)
@pytest.mark.parametrize("place", ["source", "reportingComponent"])
def test_events_of_autoscalers(reason: str, component: str, message: str, of_autoscaler: bool, comes: bool, place: str) -> None:
    event = {"reason": reason, "message": message, place: {"component": component} if place == "source" else component}
    assert (from_autoscaler(event), coming(event)) == (of_autoscaler, comes)
    assert reported([event]) == (f"the node autoscaler reports {reason}: {message}" if of_autoscaler else "")


def test_the_latest_report_counts() -> None:
    early, late = ({"reason": reason, "message": reason, "lastTimestamp": f"2026-11-27T0{hour}:00:00Z"} for hour, (reason, *_rest) in enumerate(EVENTS[:2]))
    assert reported([late, early]) == "the node autoscaler reports NotTriggerScaleUp: NotTriggerScaleUp" and reported([]) == ""
