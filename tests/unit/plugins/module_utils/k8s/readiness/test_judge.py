# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness of recorded objects, each broken in one way that has led to a wrong verdict before."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.objects import Context, Verdict
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.pod_failures import restart_counts
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.readiness import judge as readiness
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.readiness.judge import judge, waitable
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from recorded import changed, condition, recorded


@pytest.mark.parametrize(
    "name, reason",
    [
        ("deployment", "4/4 ready"),
        ("gateway", "programmed"),
        ("gatewayclass", "accepted"),
        ("httproute", "accepted by 1 parent"),
        ("inferencepool", "there; no gateway reports on it"),
        ("backendtrafficpolicy", "accepted"),
        ("envoyextensionpolicy", "accepted"),
        ("crd", "established"),
        ("namespace", "active"),
        ("pod_ready", "ready"),
    ],
)
def test_objects_of_a_healthy_cluster_are_ready(name, reason):
    assert judge(recorded(name)) == Verdict(True, reason)


# Deployment


@pytest.mark.parametrize(
    "path, value, reason",
    [
        ("metadata.generation", 2, "not yet observed by its controller"),
        ("status", {}, "not yet observed by its controller"),
        ("status.updatedReplicas", 3, "3/4 ready"),
        ("status.availableReplicas", 1, "1/4 ready"),
        ("status.replicas", 5, "4/4 ready, 1 old still there"),
        ("spec.replicas", 6, "4/6 ready"),
    ],
)
def test_a_deployment_in_the_middle_of_a_rollout_is_not_ready(path, value, reason):
    verdict = judge(changed(recorded("deployment"), path, value))
    assert (verdict.ready, verdict.reason, verdict.terminal) == (False, reason, False)


def test_a_deployment_scaled_to_zero_is_ready():
    status = {"observedGeneration": 1, "conditions": []}
    assert judge(changed(changed(recorded("deployment"), "spec.replicas", 0), "status", status)) == Verdict(True, "0/0 ready")


# LeaderWorkerSet: a status as the controller of 0.9.0 writes it, of three groups of two

GROUPS = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "metadata": {"name": "llama-decode", "namespace": "llm-d", "generation": 4, "uid": "5d0f"},
    "spec": {"replicas": 3, "startupPolicy": "LeaderCreated", "leaderWorkerTemplate": {"size": 2}},
    "status": {
        "observedGeneration": 4,
        "replicas": 3,
        "readyReplicas": 3,
        "updatedReplicas": 3,
        "hpaPodSelector": "leaderworkerset.sigs.k8s.io/name=llama-decode,leaderworkerset.sigs.k8s.io/worker-index=0",
        "conditions": [
            {"type": "Progressing", "status": "False", "reason": "GroupsProgressing", "message": "Replicas are progressing", "observedGeneration": 4},
            {"type": "Available", "status": "True", "reason": "AllGroupsReady", "message": "All replicas are ready", "observedGeneration": 4},
        ],
    },
}


def test_groups_that_are_all_ready_are_ready():
    assert judge(GROUPS) == Verdict(True, "3/3 ready") and waitable(GROUPS)


@pytest.mark.parametrize(
    "path, value, reason",
    [
        ("metadata.generation", 5, "not yet observed by its controller"),
        ("status", {}, "not yet observed by its controller"),
        ("status.observedGeneration", None, "not yet observed by its controller"),  # older than 0.9, which never says
        ("status.updatedReplicas", 1, "1/3 ready"),
        ("status.readyReplicas", 2, "2/3 ready"),
        ("status.replicas", 4, "3/3 ready, 1 old still there"),
        ("spec.replicas", 5, "3/5 ready"),
        ("status.conditions.1.status", "False", "3/3 ready, others being replaced"),
        ("status.conditions.1.observedGeneration", 3, "3/3 ready, others being replaced"),
        ("status.conditions", [], "3/3 ready, others being replaced"),
    ],
)
def test_groups_in_the_middle_of_a_rollout_are_not_ready(path, value, reason):
    verdict = judge(changed(GROUPS, path, value))
    assert (verdict.ready, verdict.reason, verdict.terminal) == (False, reason, False)


def test_a_worker_that_cannot_run_is_the_reason_of_its_group():
    verdict = judge(changed(GROUPS, "status.readyReplicas", 2), Context(pods=[recorded("pod_ready"), recorded("pod_bad_image")]))
    assert not verdict.ready and verdict.reason.startswith("2/3 ready (") and "image" in verdict.reason


def test_a_leader_worker_set_scaled_to_zero_is_ready():
    none = changed(changed(changed(GROUPS, "spec.replicas", 0), "status.replicas", 0), "status.readyReplicas", 0)
    assert judge(changed(none, "status.updatedReplicas", 0)) == Verdict(True, "0/0 ready")


def test_a_paused_rollout_is_reported_with_its_remedy():
    obj = changed(changed(recorded("deployment"), "spec.paused", True), "status.updatedReplicas", 0)
    assert judge(obj).reason == "its rollout is paused" and "resume" in judge(obj).remedy


@pytest.mark.parametrize(
    "message, remedy, terminal",
    [
        ('pods "a" is forbidden: exceeded quota: gpu, requested: requests.nvidia.com/gpu=1, used: 4, limited: 4', "raise the quota", True),
        ('pods "a" is forbidden: unable to validate against any security context constraint: [...]', "security context", True),
        ('pods "a" is forbidden: error looking up service account llm-d/x: serviceaccount "x" not found', "create the service account", True),
        ("Internal error occurred: failed calling webhook", "correct what the message names", False),
    ],
)
def test_pods_that_may_not_be_created(message, remedy, terminal):
    obj = changed(recorded("deployment"), "status.availableReplicas", 0)
    obj["status"]["conditions"].append({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message})
    verdict = judge(obj)
    assert message[:20] in verdict.reason and remedy in verdict.remedy and verdict.terminal is terminal


@pytest.mark.parametrize(
    "pod, reason, remedy, terminal",
    [
        ("pod_bad_image", "image 127.0.0.1:5215/nope/nope:v1 cannot be pulled: not found", "name and tag", True),
        ("pod_nosecret", "container c needs the secret absent, which does not exist", "create the secret absent", True),
        ("pod_unsched", "no node has nvidia.com/gpu free", "accelerator's operator", False),
        ("pod_crash", "container c crashes (exit code 0, 4 restarts)", "last log lines", True),
    ],
)
def test_an_unready_deployment_is_reported_with_the_reason_of_its_pods(pod, reason, remedy, terminal):
    verdict = judge(recorded("deployment_crash"), Context([recorded(pod)]))
    assert verdict.reason.startswith("0/1 ready (" + reason) and remedy in verdict.remedy and verdict.terminal is terminal


def test_crashes_from_before_we_waited_do_not_count():
    pod = recorded("pod_crash")
    assert judge(recorded("deployment_crash"), Context([pod], restarts=restart_counts([pod]))).terminal is False
    again = changed(pod, "status.containerStatuses.0.restartCount", 5)
    assert judge(recorded("deployment_crash"), Context([again], restarts=restart_counts([pod]))).terminal is True


def test_a_few_crashes_are_no_end():
    pod = changed(recorded("pod_crash"), "status.containerStatuses.0.restartCount", 3)
    assert judge(recorded("deployment_crash"), Context([pod])).terminal is False


def test_a_hopeless_pod_outweighs_one_that_only_waits():
    verdict = judge(recorded("deployment_crash"), Context([recorded("pod_unsched"), recorded("pod_bad_image")]))
    assert "cannot be pulled" in verdict.reason and verdict.terminal


def test_events_colour_the_progress():
    pod = changed(recorded("pod_bad_image"), "status.containerStatuses.0.state", {"waiting": {"reason": "ContainerCreating"}})
    events = [event for event in recorded("events_bad_image") if event["reason"] == "Pulling"]
    assert judge(recorded("deployment_crash"), Context([pod], events)).reason == "0/1 ready (pulling image)"
    assert judge(recorded("deployment_crash"), Context([pod])).reason == "0/1 ready (creating containers)"


# other workloads


def stateful(**status):
    whole = {"observedGeneration": 3, "replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "currentRevision": "a", "updateRevision": "a"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "s", "generation": 3},
        "spec": {"replicas": 2, "updateStrategy": {"type": "RollingUpdate"}},
        "status": {**whole, **status},
    }


@pytest.mark.parametrize(
    "status, ready",
    [
        ({}, True),
        ({"readyReplicas": 1}, False),
        ({"observedGeneration": 2}, False),
        ({"updateRevision": "b", "updatedReplicas": 1}, False),
    ],
)
def test_statefulset(status, ready):
    assert judge(stateful(**status)).ready is ready


def test_a_statefulset_with_a_strategy_that_keeps_old_pods_is_ready():
    obj = stateful(updateRevision="b", updatedReplicas=1)
    assert judge(changed(obj, "spec.updateStrategy", {"type": "OnDelete"})).ready
    assert judge(changed(obj, "spec.updateStrategy", {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})).ready


@pytest.mark.parametrize(
    "status, ready",
    [
        ({"desiredNumberScheduled": 3, "numberAvailable": 3, "updatedNumberScheduled": 3, "observedGeneration": 1}, True),
        ({"desiredNumberScheduled": 3, "numberAvailable": 3, "updatedNumberScheduled": 2, "observedGeneration": 1}, False),
        ({"desiredNumberScheduled": 0, "numberAvailable": 0, "observedGeneration": 1}, True),
        ({"desiredNumberScheduled": 0}, False),
    ],
)
def test_daemonset(status, ready):
    obj = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", "generation": 1}, "spec": {}, "status": status}
    assert judge(obj).ready is ready


def test_job():
    obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {}, "status": {"active": 1}}
    assert judge(obj) == Verdict(False, "0/1 complete")
    failed = changed(obj, "status", {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached"}]})
    assert judge(failed).terminal and "BackoffLimitExceeded" in judge(failed).reason
    assert judge(changed(obj, "status", {"conditions": [{"type": "Complete", "status": "True"}]})).ready


def test_a_service_waits_for_its_load_balancer_only():
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "ClusterIP"}, "status": {"loadBalancer": {}}}
    assert judge(obj).ready
    obj["spec"]["type"] = "LoadBalancer"
    assert not judge(obj).ready and "ClusterIP" in judge(obj).remedy
    obj["status"]["loadBalancer"] = {"ingress": [{"ip": "192.0.2.7"}]}
    assert judge(obj).ready


# the rest


def test_a_crd_with_names_already_in_use_is_a_terminal_failure():
    obj = recorded("crd")
    condition(obj["status"], "NamesAccepted").update(status="False", reason="ListKindConflict", message='"InferencePoolList" is already in use')
    assert judge(obj).terminal and "already in use" in judge(obj).reason
    del obj["status"]
    assert judge(obj) == Verdict(False, "Established is not reported yet")


def test_an_object_being_deleted_is_never_ready():
    obj = recorded("namespace")
    obj["metadata"]["deletionTimestamp"] = "2026-11-21T09:00:00Z"
    remaining = {"type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain", "message": "gateways.g.k8s.io has 1 resource"}
    obj["status"] = {"phase": "Terminating", "conditions": [remaining]}
    assert "has 1 resource" in judge(obj).reason and not judge(obj).ready
    gateway = recorded("gateway")
    gateway["metadata"].update(deletionTimestamp="2026-11-21T09:00:00Z", finalizers=["example.com/hold"])
    assert judge(gateway).reason == "being deleted, held by finalizer example.com/hold of the controller of example.com"


@pytest.mark.parametrize(
    "finalizer, who, remedy",
    [
        ("foregroundDeletion", "the garbage collector of Kubernetes", "wait until"),
        ("kubernetes.io/pvc-protection", "while a Pod mounts the claim", "delete the Pods"),
        ("kubernetes", "the namespace controller", "kube-controller-manager"),
        ("finalizer.keda.sh", "KEDA", "its operator"),
        ("gatewayclass.gateway.envoyproxy.io/finalizer", "Envoy Gateway", "its controller"),
        ("gateway-exists-finalizer.gateway.networking.k8s.io", "the controller of the class", "delete these Gateways"),
        ("notenvoyproxy.io/x", "the controller of notenvoyproxy.io", "this API group"),
        ("mine", "a controller that is not known here", "events of the object"),
    ],
)
def test_a_finalizer_that_blocks_deletion_is_reported_with_its_controller(finalizer, who, remedy):
    item = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t", "deletionTimestamp": "2026-11-21T09:00:00Z", "finalizers": [finalizer]}}
    verdict = judge(item)
    assert f"held by finalizer {finalizer} of " in verdict.reason and who in verdict.reason and remedy in verdict.remedy


def test_a_node_that_joins_is_ready_when_its_taint_is_gone():
    item = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert judge(item).ready
    item["spec"]["taints"] = [{"key": "example.com/mine", "effect": "NoSchedule"}]
    assert judge(item).ready
    item["spec"]["taints"].append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
    assert judge(item).reason == "still tainted node.kubernetes.io/not-ready"
    item["status"]["conditions"][0]["status"] = "False"
    assert not judge(item).ready and "tainted" not in judge(item).reason


@pytest.mark.parametrize(
    "conditions, observed, ready",
    [
        ([], None, True),
        ([{"type": "Ready", "status": "True"}], None, True),
        ([{"type": "Ready", "status": "False", "reason": "Failed"}], None, False),
        ([{"type": "Available", "status": "True", "observedGeneration": 1}], None, False),
        ([{"type": "Ready", "status": "True"}], 1, False),
        ([{"type": "Progressing", "status": "True"}], 2, True),
    ],
)
def test_any_other_kind_is_judged_by_its_usual_conditions(conditions, observed, ready):
    obj = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "generation": 2}, "status": {"conditions": conditions}}
    if observed:
        obj["status"]["observedGeneration"] = observed
    assert judge(obj).ready is ready


def test_a_kind_that_will_report_is_waited_for():
    obj = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "l"}}
    assert judge(obj) == Verdict(False, "Ready is not reported yet") and waitable(obj)


def test_an_absent_object_is_not_ready():
    assert judge(None) == judge({}) and not judge(None).ready


def test_waitable():
    kinds = [obj["kind"] for obj in map(recorded, ("deployment", "gateway", "httproute", "inferencepool", "envoyextensionpolicy")) if waitable(obj)]
    assert kinds == ["Deployment", "Gateway", "HTTPRoute", "InferencePool", "EnvoyExtensionPolicy"]
    for kind in ("ConfigMap", "Service", "ServiceAccount", "PersistentVolumeClaim"):
        assert not waitable({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}})
    assert not waitable({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"})


# whatever comes

WORDS = st.sampled_from(
    [
        "status",
        "spec",
        "metadata",
        "conditions",
        "parents",
        "ancestors",
        "listeners",
        "replicas",
        "type",
        "name",
        "parentRef",
        "True",
    ]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
KINDS = sorted(
    {
        *readiness.JUDGES,
        ("inference.networking.k8s.io", "InferencePool"),
        ("gateway.networking.k8s.io", "HTTPRoute"),
        ("gateway.envoyproxy.io", "EnvoyExtensionPolicy"),
        ("example.com", "Thing"),
        ("keda.sh", "ScaledObject"),
    }
)


@examples(100)
@given(
    kind=st.sampled_from(KINDS),
    obj=st.dictionaries(WORDS, JUNK, max_size=4),
    pod=st.dictionaries(WORDS, JUNK, max_size=4),
    event=st.dictionaries(WORDS, JUNK),
)
def test_judge_never_raises(kind, obj, pod, event):
    obj = {**obj, "apiVersion": "/".join(filter(None, [kind[0], "v1"])), "kind": kind[1]}
    verdict = judge(obj, Context([pod], [event]))
    assert isinstance(verdict.ready, bool) and isinstance(verdict.reason, str) and verdict.reason and isinstance(verdict.remedy, str)
    assert not (verdict.ready and verdict.terminal)


@examples(60)
@given(JUNK, JUNK, JUNK)
def test_judge_never_raises_on_what_is_no_object(obj, version, kind):
    assert isinstance(judge(obj).ready, bool)
    assert isinstance(judge({"apiVersion": version, "kind": kind, "status": obj}).ready, bool)
