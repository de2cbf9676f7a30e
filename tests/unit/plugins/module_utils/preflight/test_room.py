# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether pods can be scheduled, or nodes for them can be added: accelerators, CPU, memory, labels and taints."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.finding import PreflightFinding
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.room import nodes, requested

Facts = dict[str, t.Any]
GPU = "nvidia.com/gpu"
# The file of gpu-operator#76 and karpenter-provider-aws#8068: GPU nodes appear when a pod requests them.
FROM_ZERO: Facts = {
    "llm_d_platform": "gke",
    "llm_d_gateway": {"provider": "gke"},
    "llm_d_model_services": [
        {
            "name": "small",
            "model": {"uri": "hf://google/gemma-2b-it", "token_secret": "hub-token"},
            "tolerations": [{"key": GPU, "operator": "Exists"}],
            "scheduler": {"preset": "prefix_aware"},
        }
    ],
}
ACTIVE = {"active": ["Karpenter (NodePool gpu)"], "without": []}
NONE: Facts = {"active": [], "without": []}


def node(name: str = "cpu-1", taints: t.Sequence[Facts] = (), labels: Facts | None = None, **allocatable: str) -> Facts:
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", **({GPU: allocatable.pop("gpu")} if "gpu" in allocatable else {}), **allocatable}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"taints": list(taints)}, "status": {"allocatable": amounts}}


def pod(on: str, **requests: str) -> Facts:
    return {"metadata": {"namespace": "other"}, "spec": {"nodeName": on, "containers": [{"resources": {"requests": requests}}]}, "status": {"phase": "Running"}}


def findings(facts: Facts, platform: str = "gke", preflight: Facts | None = None, **service: t.Any) -> list[PreflightFinding]:
    user = copy.deepcopy(FROM_ZERO)
    user["llm_d_model_services"][0].update(service)
    needs = plan({**user, "llm_d_preflight": preflight or {}})["preflight"]
    return list(nodes({"pods": [], **facts}, needs, {"name": platform}))


def test_a_service_with_zero_replicas_needs_no_room() -> None:
    assert findings({"nodes": [node()]}, replicas=0) == []


SHORT: dict[str, tuple[Facts, Facts, str]] = {
    "accelerators": ({"nodes": [node()]}, {}, "accelerators/none"),
    "accelerators that others use": ({"nodes": [node(gpu="1")], "pods": [pod("cpu-1", **{GPU: "1"})]}, {}, "accelerators/taken"),
    "another product": ({"nodes": [node(gpu="1")]}, {"accelerator": {"product": "NVIDIA-L40S"}}, "accelerators/product"),
    "taints": ({"nodes": [node(), node("gpu-1", [{"key": "team", "value": "a", "effect": "NoSchedule"}], gpu="1")]}, {}, "accelerators/tainted"),
    "labels": ({"nodes": [node(gpu="1")]}, {"accelerator": {"vendor": "none"}, "node_selector": {"zone": "b"}}, "nodes/labels"),
    "CPU": ({"nodes": [node(), node("gpu-1", gpu="1", cpu="4")]}, {"resources": {"requests": {"cpu": "16", "memory": "8Gi"}}}, "nodes/size"),
    "memory": ({"nodes": [node(), node("gpu-1", gpu="1")]}, {"resources": {"requests": {"cpu": "1", "memory": "200Gi"}}}, "nodes/size"),
    "disk": (
        {"nodes": [node(), node("gpu-1", gpu="1", **{"ephemeral-storage": "40Gi"})]},
        {"resources": {"requests": {"cpu": "1", "ephemeral-storage": "100Gi"}}},
        "nodes/size",
    ),
    "CPU that others use": (
        {"nodes": [node(), node("gpu-1", gpu="1")], "pods": [pod("gpu-1", cpu="30")]},
        {"resources": {"requests": {"cpu": "8", "memory": "8Gi"}}},
        "nodes/taken",
    ),
    "memory that others use": (
        {"nodes": [node(), node("gpu-1", gpu="1")], "pods": [pod("gpu-1", memory="120Gi")]},
        {"resources": {"requests": {"cpu": "8", "memory": "16Gi"}}},
        "nodes/taken",
    ),
}


@pytest.mark.parametrize(("facts", "service", "wanted"), SHORT.values(), ids=SHORT)
def test_a_pod_that_fits_no_node_is_an_error_only_without_a_node_autoscaler(facts: Facts, service: Facts, wanted: str) -> None:
    [finding] = [each for each in findings({**facts, "node_autoscalers": NONE}, **service) if each.id == wanted]
    assert finding.severity == "error" and "No node autoscaler was found. " in finding.how and "'node_autoscaler: present'" in finding.how
    coming = [each for each in findings({**facts, "node_autoscalers": ACTIVE}, **service) if each.id == wanted]
    assert [each.severity for each in coming] == ["warning"] and "Nodes can come: Karpenter (NodePool gpu)." in coming[0].how
    assert [each.severity for each in findings(facts, preflight={"node_autoscaler": "present"}, **service) if each.id == wanted] == ["warning"]
    absent = [each for each in findings({**facts, "node_autoscalers": ACTIVE}, preflight={"node_autoscaler": "absent"}, **service) if each.id == wanted]
    assert [each.severity for each in absent] == ["error"] and "node_autoscaler is 'absent'" in absent[0].how


def test_to_a_cluster_without_nodes_they_can_be_added() -> None:
    """A cluster without nodes is a warning. It is an error if the user's file has no node autoscaler, and for accelerators."""
    assert {(each.id, each.severity) for each in findings({"nodes": [], "node_autoscalers": NONE}, accelerator={"vendor": "none"})} == {
        ("nodes/none", "warning")
    }
    fixed = findings({"nodes": [], "node_autoscalers": NONE}, preflight={"node_autoscaler": "absent"}, accelerator={"vendor": "none"})
    assert [each.severity for each in fixed] == ["error"]
    assert ("accelerators/none", "error") in [(each.id, each.severity) for each in findings({"nodes": [], "node_autoscalers": NONE})]


def test_a_node_autoscaler_without_node_pools_is_named_in_the_remedy() -> None:
    [finding] = findings({"nodes": [node()], "node_autoscalers": {"active": [], "without": ["Karpenter has no NodePool"]}})
    assert finding.severity == "error" and "No node autoscaler was found: Karpenter has no NodePool." in finding.how


def test_the_amounts_are_reported() -> None:
    resources = {"requests": {"cpu": "40", "memory": "8Gi"}}
    [finding] = findings({"nodes": [node(), node("gpu-1", gpu="1", cpu="3920m")], "node_autoscalers": NONE}, resources=resources)
    assert (finding.found, finding.needed) == ("gpu-1 3.92 cpu", "40 cpu on one node") and "Lower resources of small" in finding.how


def test_pods_of_several_parts_take_each_others_room() -> None:
    """The endpoint picker needs 8 CPUs, the server 28, and the node has 32."""
    facts = {"nodes": [node(gpu="1")], "node_autoscalers": NONE}
    [finding] = findings(facts, resources={"requests": {"cpu": "28", "memory": "8Gi"}})
    assert finding.id == "nodes/taken" and "of small-epp" in finding.what and "free: cpu-1 4 cpu" in finding.found, finding
    assert findings({**facts, "nodes": [node(gpu="1"), node("cpu-2")]}, resources={"requests": {"cpu": "28", "memory": "8Gi"}}) == []


def test_the_accelerator_taint_needs_no_toleration_on_gke() -> None:
    facts = {"nodes": [node(), node("gpu-1", [{"key": GPU, "value": "present", "effect": "NoSchedule"}], gpu="1")], "node_autoscalers": NONE}
    assert findings(facts, tolerations=[]) == []
    assert [each.id for each in findings(facts, "kubernetes", tolerations=[])] == ["accelerators/tainted"]


def test_a_replica_larger_than_any_node_is_reported_as_a_node_size_error() -> None:
    """A replica of eight GPUs does not fit on two nodes of four; no pod uses these, so that none can be freed."""
    facts = {"nodes": [node(gpu="4"), node("b", gpu="4")], "node_autoscalers": NONE}
    [finding] = findings(facts, accelerator={"per_replica": 8})
    assert (finding.id, finding.found, finding.needed) == ("nodes/size", f"cpu-1 4 {GPU}; b 4 {GPU}", f"8 {GPU} on one node")
    assert "accelerator.per_replica" in finding.how and "accelerator.nodes" in finding.how and "free" not in finding.how


def test_accelerators_of_another_name_are_named() -> None:
    facts = {"nodes": [node(**{"nvidia.com/gpu.shared": "4"}), node("b", **{"amd.com/gpu": "8"})], "node_autoscalers": NONE}
    [finding] = findings(facts)
    assert finding.found == "amd.com/gpu, nvidia.com/gpu.shared" and finding.how.startswith("Write accelerator.vendor or accelerator.resource")
    [finding] = findings({"nodes": [node()], "node_autoscalers": NONE})
    assert finding.found == "none" and finding.how.startswith("Add nodes with accelerators")


@pytest.mark.parametrize(
    ("key", "temporary"),
    [
        ("node.kubernetes.io/not-ready", True),
        ("node.cloudprovider.kubernetes.io/uninitialized", True),
        ("karpenter.sh/unregistered", True),
        ("ebs.csi.aws.com/agent-not-ready", True),
        ("ToBeDeletedByClusterAutoscaler", True),
        ("team", False),
    ],
)
def test_taints_of_controllers_are_not_to_be_tolerated(key: str, temporary: bool) -> None:
    facts = {"nodes": [node(), node("gpu-1", [{"key": key, "effect": "NoSchedule"}], gpu="1")], "node_autoscalers": NONE}
    [finding] = findings(facts, "kubernetes")
    assert finding.id == "accelerators/tainted" and ("Write tolerations" not in finding.how) == temporary
    assert (f"{key} is set while a node joins" in finding.how) == temporary


def test_an_autoscaler_does_not_know_what_a_discovery_writes() -> None:
    """karpenter issue 1219: nodeSelector nvidia.com/gpu.product, and no node comes."""
    facts = {"nodes": [node(), node("t4", labels={"nvidia.com/gpu.product": "Tesla-T4"}, gpu="1")], "node_autoscalers": ACTIVE}
    [product] = findings(facts, accelerator={"product": "NVIDIA-L40S"})
    [pool] = findings(facts, node_selector={"karpenter.sh/nodepool": "gpu"})
    assert product.severity == "warning" and "does not know this label before" in product.how and "in node_selector" in product.how
    assert pool.severity == "warning" and "does not know" not in pool.how


def test_the_requests_of_a_pod_are_calculated_from_its_containers() -> None:
    def part(sums: bool = True, limits: Facts | None = None, **requests: str) -> Facts:
        return {"sums": sums, "requests": requests, "limits": limits or {}}

    assert requested([part(cpu="1"), part(cpu="500m", memory="1Gi")]) == {"cpu": 1.5, "memory": 2**30}
    assert requested([part(cpu="1"), part(False, cpu="3"), part(False, cpu="2")]) == {"cpu": 3}, "init containers run one after another, before the others"
    assert requested([part(limits={GPU: "2", "cpu": "4"}, cpu="1")]) == {GPU: 2, "cpu": 1}, "a limit alone is the request"


def test_missing_node_facts_cause_no_finding() -> None:
    assert findings({}) == []
    assert findings({"nodes": [{"metadata": {"name": "n"}, "status": {"allocatable": {GPU: "1"}}}]}) == [], "no amounts of CPU and memory"
