# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU nodes and operators: ready only when nodes really offer GPUs."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.objects import Context
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.olm import is_resolving, refusals
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.readiness.judge import judge
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.gpu_checks import free, missing_series, port, verdict
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.gpu_nodes import missing_labels, our_labels, trouble

POOL = {
    "name": "cut",
    "selector": "pool=a100",
    "labels": {"nvidia.com/mig.config": "cut"},
    "state_label": "nvidia.com/mig.config.state",
    "expected": [{"resource": "nvidia.com/mig-3g.40gb", "count": 8}, {"resource": "nvidia.com/mig-1g.10gb", "count": 32}],
}


def node(state="success", **allocatable):
    return {
        "metadata": {"name": "gpu-1", "labels": {"pool": "a100", "nvidia.com/mig.config": "cut", "nvidia.com/mig.config.state": state}},
        "status": {"allocatable": {f"nvidia.com/mig-{name.replace('_', '.')}": count for name, count in allocatable.items()}},
    }


def policy(state, *conditions):
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "gpu-cluster-policy"},
        "status": {"state": state, "conditions": [{"type": kind, "status": status, "reason": reason, "message": ""} for kind, status, reason in conditions]},
    }


@pytest.mark.parametrize(
    ("state", "conditions", "ok", "words"),
    [
        ("ready", [("Ready", "True", "Reconciled"), ("Error", "False", "Ready")], True, ""),
        ("ready", [("Ready", "True", "NoGPUNodes")], False, "add nodes with NVIDIA GPUs"),
        ("ready", [("Ready", "True", "NFDLabelsMissing")], False, "Node Feature Discovery"),
        ("notReady", [("Ready", "False", "Error"), ("Error", "True", "OperandNotReady")], False, "look at the pods of the states"),
        ("notReady", [("Error", "True", "DriverNotReady")], False, "driver's pods"),
        ("ready", [], True, ""),
        ("", [], False, ""),
    ],
)
def test_ready_is_no_proof_of_gpus(state, conditions, ok, words):
    readiness = judge(policy(state, *conditions))
    assert readiness.ready is ok and words in readiness.remedy


@pytest.mark.parametrize(
    ("status", "ok", "words"),
    [
        ({"conditions": [{"type": "Ready", "status": "True", "reason": "Reconciled"}, {"type": "Errored", "status": "False", "reason": "Ready"}]}, True, ""),
        (
            {"conditions": [{"type": "Ready", "status": "False", "reason": "Errored"}, {"type": "Errored", "status": "True", "reason": "ModuleFailed"}]},
            False,
            "ModuleFailed",
        ),
        ({"conditions": [{"type": "Ready", "status": "False", "reason": "Progressing"}]}, False, "Progressing"),
        ({}, False, "no status yet"),
    ],
)
def test_a_gaudi_cluster_policy_is_ready_when_its_status_is_ready(status, ok, words):
    """The status alone decides, whatever the state of the pods is."""
    readiness = judge({"apiVersion": "habanalabs.habana.ai/v1", "kind": "ClusterPolicy", "metadata": {"name": "habana-ai"}, "status": status})
    assert readiness.ready is ok and words in readiness.reason and (ok or "habana-ai-operator" in readiness.remedy)


def daemon_pod(name, ready=True):
    return {
        "metadata": {"name": name, "ownerReferences": [{"kind": "DaemonSet", "name": name.rpartition("-")[0]}]},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


GAUDI = {"apiVersion": "habanalabs.habana.ai/v1", "kind": "ClusterPolicy", "metadata": {"name": "habana-ai", "generation": 1}}
DRIVER, PLUGIN = "habana-ai-driver-ubuntu-22.04-ds-x7k2p", "habana-ai-device-plugin-ds-tjbch"


@pytest.mark.parametrize(
    ("pods", "ok", "words"),
    [
        ([], False, "no pod of the operator's DaemonSets"),
        ([daemon_pod(DRIVER)], False, "no pod of the device plugin among the 1"),
        ([daemon_pod(DRIVER, ready=False), daemon_pod(PLUGIN)], False, f"1 of 2 pods of the operator are not ready: {DRIVER}"),
        ([daemon_pod(DRIVER), daemon_pod(PLUGIN), daemon_pod("habana-ai-device-plugin-ds-b2bbb", ready=False)], False, "device-plugin-ds-b2bbb"),
        ([daemon_pod(DRIVER), daemon_pod(PLUGIN)], True, "all 2 pods"),
    ],
)
def test_gaudis_policy_without_a_status_is_judged_by_its_pods(pods, ok, words):
    readiness = judge(GAUDI, Context(pods=pods))
    assert readiness.ready is ok and words in readiness.reason and (ok or "habana-ai-operator" in readiness.remedy)
    failed = {"status": {"conditions": [{"type": "Errored", "status": "True", "reason": "ModuleFailed"}]}}
    assert not judge({**GAUDI, **failed}, Context(pods=pods)).ready, "an existing status decides"


def device_config(plugin=(2, 2), driver=(2, 2), observed_generation=3, error=None, ready=True, **spec):
    """A DeviceConfig as release 1.5 writes it: numbers of 0 are left out, and Ready is set once the DeviceConfig has been read."""

    def numbers(pair):
        return {key: value for key, value in zip(("desiredNumber", "availableNumber"), pair, strict=True) if value}

    conditions = [{"type": "Ready", "status": "True" if ready else "False", "reason": "OperatorReady", "message": ""}]
    conditions += [{"type": "Error", "status": "True", "reason": error, "message": "no nodes found matching selector"}] if error else []
    return {
        "apiVersion": "amd.com/v1alpha1",
        "kind": "DeviceConfig",
        "metadata": {"name": "default", "namespace": "kube-amd-gpu", "generation": 3},
        "spec": {"driver": {"enable": True}, "devicePlugin": {"enableDevicePlugin": True}, "metricsExporter": {"enable": False}, **spec},
        "status": {
            "devicePlugin": numbers(plugin),
            "driver": numbers(driver),
            "metricsExporter": numbers((2, 1)),
            "conditions": conditions,
            "observedGeneration": observed_generation,
        },
    }


@pytest.mark.parametrize(
    ("obj", "ok", "words", "remedy"),
    [
        (device_config(), True, "driver on 2, device plugin on 2 nodes", ""),
        (device_config(plugin=(0, 0), driver=(0, 0)), False, "the device plugin is on no node", "Node Feature Discovery"),  # Ready, as of 1.2 to 1.5.0
        (device_config(error="NoMatchingNodes", ready=False), False, "Error=True NoMatchingNodes: no nodes found", "Node Feature Discovery"),  # from 1.5.1 on
        (device_config(error="ValidationError", ready=False), False, "ValidationError", "correct the DeviceConfig"),
        (device_config(driver=(2, 1)), False, "driver on 1 of 2 nodes", "Kernel Module Management"),
        (device_config(plugin=(2, 0)), False, "device plugin on 0 of 2 nodes", "pods of the device plugin"),
        (device_config(observed_generation=2), False, "generation 2 is observed, not yet 3", "log"),
        (device_config(ready=False), False, "Ready=False", "pods"),
        (device_config(driver=(0, 0), metricsExporter={"enable": True}), False, "metrics exporter on 1 of 2 nodes", "metrics exporter"),
        (device_config(driver=(0, 0)), True, "device plugin on 2 nodes", ""),  # a driver that is part of the nodes
        (device_config(plugin=(0, 0), driver=(0, 0), devicePlugin={"enableDevicePlugin": False}), True, "read by its operator", ""),  # DRA in its place
        ({**device_config(), "status": {}}, False, "no status yet", "Deployment"),
    ],
)
def test_a_device_config_of_amds_is_ready_by_its_numbers(obj, ok, words, remedy):
    readiness = judge(obj)
    assert readiness.ready is ok and words in readiness.reason and remedy in readiness.remedy


@pytest.mark.parametrize(
    ("spec", "status", "ok", "words"),
    [
        ({}, {"state": "AtLatestKnown", "installedCSV": "gpu-operator-certified.v26.3.1"}, True, "gpu-operator-certified.v26.3.1"),
        ({}, {"state": "AtLatestKnown"}, False, "AtLatestKnown"),
        ({}, {}, False, "no state yet"),
        (
            {"installPlanApproval": "Manual"},
            {"state": "UpgradePending", "currentCSV": "nfd.4.20", "installPlanRef": {"name": "install-x"}},
            False,
            "waits for approval",
        ),
        (
            {"installPlanApproval": "Manual"},
            {"state": "UpgradePending", "currentCSV": "nfd.4.21", "installedCSV": "nfd.4.20", "installPlanRef": {"name": "install-y"}},
            True,
            "nfd.4.20; nfd.4.21 waits for approval",
        ),
        (
            {},
            {
                "conditions": [
                    {"type": "ResolutionFailed", "status": "True", "reason": "ConstraintsNotSatisfiable", "message": "no operators found in channel v99"}
                ]
            },
            False,
            "v99",
        ),
    ],
)
def test_a_subscription_is_ready_when_its_operator_is_installed(spec, status, ok, words):
    readiness = judge({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": {"name": "x"}, "spec": spec, "status": status})
    assert readiness.ready is ok and words in readiness.reason


@pytest.mark.parametrize(("phase", "ok"), [("Succeeded", True), ("Installing", False), ("Failed", False), (None, False)])
def test_an_operator_is_ready_when_it_succeeded(phase, ok):
    assert judge({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {}, "status": {"phase": phase}}).ready is ok


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([node(**{"3g_40gb": "8", "1g_10gb": "32"})], None),
        ([], "no node has the labels pool=a100"),
        ([node("pending")], "are being cut"),
        ([node("failed")], "could not be cut"),
        ([node(**{"3g_40gb": "8"})], "allocatable nvidia.com/mig-1g.10gb is 0, not 32"),
        ([node(**{"3g_40gb": "4", "1g_10gb": "32"})], "is 4, not 8"),
    ],
)
def test_nodes_that_lack_the_resources_of_their_pool_are_reported(nodes, words):
    problems = trouble(POOL, nodes)
    assert (not problems) if words is None else words in problems[0]


def test_an_unknown_number_is_any_number_but_none():
    pool = {**POOL, "state_label": None, "expected": [{"resource": "nvidia.com/mig-1g.10gb", "count": None}]}
    assert not trouble(pool, [node(**{"1g_10gb": "3"})]) and trouble(pool, [node()])


def test_node_labels_of_an_earlier_sharing_mode_are_removed():
    whole = {"nvidia.com/device-plugin.config": None}
    corrected = {"nvidia.com/mig.config": "all-disabled"}
    sliced = {"metadata": {"labels": {"nvidia.com/device-plugin.config": "sliced"}}}
    assert missing_labels(sliced, whole, corrected) == {"nvidia.com/device-plugin.config": None}
    assert missing_labels(node(), whole, corrected) == corrected
    assert missing_labels({"metadata": {}}, whole, corrected) == {}
    assert our_labels(node(), {**POOL["labels"], **whole}, {}) == our_labels(node(), whole, corrected) == {"nvidia.com/mig.config": None}
    assert our_labels(node(), {}, {}) == {}


def test_only_missing_labels_are_written():
    assert missing_labels(node(), POOL["labels"]) == {} and missing_labels({"metadata": {}}, POOL["labels"]) == POOL["labels"]


def install_plan(*names, approved=False):
    return {"metadata": {"namespace": "openshift-nfd", "name": "install-x"}, "spec": {"approved": approved, "clusterServiceVersionNames": list(names)}}


@pytest.mark.parametrize(
    ("status", "plan", "refused"),
    [
        ({}, install_plan("nfd.4.21"), False),
        ({}, install_plan("nfd.4.21", "other.1"), True),  # an operator that someone else requested in the same namespace
        ({}, install_plan("other.1"), True),
        ({}, install_plan("other.1", approved=True), False),
        ({"installedCSV": "nfd.4.20"}, install_plan("nfd.4.22"), False),  # an upgrade waits, and is not a problem
        ({}, None, False),
    ],
)
def test_only_what_was_named_is_approved(status, plan, refused):
    problems = refusals({"status": status}, plan, ["nfd.4.21"])
    assert bool(problems) is refused
    assert not refused or "write other.1 under llm_d_gpus.approved" in problems[0]


def test_the_manager_is_waited_for_until_it_reports_something():
    assert is_resolving({}, None)
    failed = {"type": "ResolutionFailed", "status": "True", "reason": "ConstraintsNotSatisfiable", "message": ""}
    assert not is_resolving({"status": {"conditions": [failed]}}, None)
    assert not is_resolving({"status": {"installedCSV": "nfd.4.21"}}, None) and not is_resolving({}, install_plan("nfd.4.21"))


TEST = {"pool": "cut", "resource": "nvidia.com/mig-1g.10gb"}
PAGE = '# HELP x\nDCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="gpu-1"} 34\n'


def ended(**terminated):
    return {"phase": "Failed", "containerStatuses": [{"state": {"terminated": terminated}}]}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"phase": "Succeeded"}, ""),
        (ended(exitCode=1, reason="Error", message="no CUDA-capable device"), "failed (exit code 1): Error no CUDA-capable device; check driver"),
        ({"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "request for 2 devices"}, "failed: UnexpectedAdmissionError request for 2"),
        ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/4 nodes"}]}, "finds no node: 0/4 nodes; check the pool"),
        ({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}, "(Pending, ImagePullBackOff); check that nodes"),
        ({}, "did not end in time (no phase)"),
    ],
)
def test_a_test_pod_that_did_not_succeed_is_reported_with_its_reason(status, words):
    problem = verdict({"spec": {"nodeName": "gpu-1"}, "status": status}, TEST)
    assert words in problem and (problem == "" or problem.startswith("pool cut: the test pod for nvidia.com/mig-1g.10gb "))
    assert bool(problem) is (status.get("phase") != "Succeeded")


@pytest.mark.parametrize(
    ("page", "cut", "words"),
    [
        (PAGE, False, ""),
        (PAGE, True, "no DCGM_FI_PROF_GR_ENGINE_ACTIVE"),
        (PAGE + 'DCGM_FI_PROF_GR_ENGINE_ACTIVE{GPU_I_ID="7"} 0.1\n', True, ""),
        ("<html>login</html>", False, "without any DCGM_FI_* series"),
    ],
)
def test_metrics_of_a_node(page, cut, words):
    problem = missing_series("gpu-1", page, cut)
    assert words in problem and bool(problem) is bool(words)


def test_the_port_is_the_pods_own_or_the_usual_one():
    assert port({"spec": {"containers": [{"ports": [{"name": "metrics", "containerPort": 9500}]}]}}) == 9500 and port({"spec": {}}) == 9400


def test_only_nodes_of_the_pool_have_room_for_it():
    nodes = [{"labels": {"pool": "a"}, "free": 0, "cordoned": False}, {"labels": {"pool": "b"}, "free": 3, "cordoned": False}]
    assert free(nodes, {"pool": "a"}) == 0 and free(nodes, {"pool": "b"}) == 3 and free([{**nodes[1], "cordoned": True}], {"pool": "b"}) == 0
