"""The GPU operator of the Operator Lifecycle Manager: installed, verified, shared in other ways, broken, removed. No wait is skipped.

Each test continues with the state that the one before has left; tests marked `rest` can be skipped.
"""

from __future__ import annotations

import typing as t

import gpus
import olm
import pytest
from api import Api

Facts = dict[str, t.Any]
PLAY = "molecule/openshift/gpus.yml"
A100 = {
    "name": "cut",
    "node_selector": {"pool": "a100"},
    "product": "A100-80GB",
    "gpus_per_node": 8,
    "sharing": "mig",
    "profiles": {"3g.40gb": 1, "1g.10gb": 4},
}
H100 = {"name": "parallel", "node_selector": {"pool": "h100"}, "product": "H100-80GB", "gpus_per_node": 8, "sharing": "mps", "replicas": 4}
L40S = {"name": "sliced", "node_selector": {"pool": "l40s"}, "product": "L40S", "gpus_per_node": 4, "sharing": "time_slicing", "replicas": 3}
WHOLE = {"sharing": "exclusive", "replicas": None, "profiles": None}
CSV = ["nfd.4.21.0-202601", "gpu-operator-certified.v26.3.1"]


def wanted(*pools: Facts, **options: t.Any) -> Facts:
    return {"llm_d_gpus": {"operator": "nvidia_olm", "pools": list(pools), **options}}


def allocatable(api: Api, node: str) -> Facts:
    resources = api.call("GET", f"/api/v1/nodes/{node}")["status"]["allocatable"]
    return {key.partition("/")[2]: int(value) for key, value in resources.items() if key.startswith("nvidia.com/")}


def removed(play: t.Callable[..., t.Any], **variables: t.Any) -> None:
    done = play(PLAY, gpu_operator_state="absent", **variables)
    assert done.ok, done.text[-3000:]


def test_each_pool_gets_the_gpu_sharing_of_its_own_options(api: Api, play: t.Callable[..., t.Any]) -> None:
    done = play(PLAY, **wanted(A100, H100, L40S))
    assert done.ok, done.text[-3000:]
    assert allocatable(api, "gpu-a100") == {"mig-3g.40gb": 8, "mig-1g.10gb": 32}
    assert allocatable(api, "gpu-h100") == {"gpu": 32} and allocatable(api, "gpu-l40s") == {"gpu": 12}
    where = {item["involvedObject"]["name"]: item["message"] for item in api.items("/api/v1/namespaces/llm-d/events") if item["reason"] == "Scheduled"}
    tried = {"cut-mig-3g-40gb": "a100", "cut-mig-1g-10gb": "a100", "parallel-gpu": "h100", "sliced-gpu": "l40s"}
    assert all(where[f"gpu-test-{name}"].endswith(f"to gpu-{node}") for name, node in tried.items()), "the scheduler bound each test pod to a node"
    assert not [pod for pod in api.items("/api/v1/namespaces/llm-d/pods") if pod["metadata"]["name"].startswith("gpu-test-")]
    again = play(PLAY, **wanted(A100, H100, L40S))
    assert again.ok and again.unchanged, again.text[-3000:]


@pytest.mark.rest
def test_an_adopted_operator_is_verified_and_left_as_it_is(api: Api, play: t.Callable[..., t.Any]) -> None:
    adopted = play(PLAY, **wanted(A100, H100, L40S, install=False))
    assert adopted.ok and adopted.unchanged, adopted.text[-3000:]
    otherwise = play(PLAY, gpu_operator_timeout=6, **wanted({**L40S, "replicas": 5}, install=False))
    assert not otherwise.ok and "node gpu-l40s: allocatable nvidia.com/gpu is 12, not 20" in otherwise.text, otherwise.text[-3000:]
    assert otherwise.unchanged and allocatable(api, "gpu-l40s") == {"gpu": 12}, "it is reported and not changed"


@pytest.mark.rest
def test_a_change_of_the_sharing_option_reverts_the_previous_gpu_sharing(api: Api, play: t.Callable[..., t.Any]) -> None:
    pools = ({**A100, **WHOLE}, {**H100, **WHOLE}, {**L40S, "sharing": "mps", "replicas": 2})
    done = play(PLAY, **wanted(*pools))
    assert done.ok, done.text[-3000:]
    assert [allocatable(api, name) for name in ("gpu-a100", "gpu-h100", "gpu-l40s")] == [{"gpu": 8}, {"gpu": 8}, {"gpu": 8}]
    again = play(PLAY, **wanted(*pools))
    assert again.ok and again.unchanged, again.text[-3000:]


@pytest.mark.rest
def test_a_gpu_count_that_no_node_offers_is_reported(play: t.Callable[..., t.Any]) -> None:
    done = play(PLAY, gpu_operator_timeout=6, **wanted({**L40S, "gpus_per_node": 8}))
    assert not done.ok and "node gpu-l40s: allocatable nvidia.com/gpu is 12, not 24" in done.text, done.text[-3000:]


@pytest.mark.rest
def test_a_gpu_driver_that_does_not_come_up_is_reported(api: Api, play: t.Callable[..., t.Any]) -> None:
    api.merge("/api/v1/nodes/gpu-l40s", {"metadata": {"labels": {gpus.BROKEN: "true"}}})
    try:
        done = play(PLAY, gpu_operator_timeout=6, gpu_operator_state="verify", **wanted(L40S))
    finally:
        api.merge("/api/v1/nodes/gpu-l40s", {"metadata": {"labels": {gpus.BROKEN: None}}})
    assert not done.ok and "DriverNotReady" in done.text and "the first start builds or pulls it" in done.text, done.text[-3000:]


@pytest.mark.rest
def test_a_failing_gpu_test_pod_is_reported_unless_pod_checks_are_off(api: Api, play: t.Callable[..., t.Any]) -> None:
    api.merge("/api/v1/nodes/gpu-l40s", {"metadata": {"labels": {gpus.FAILING: "true"}}})
    try:
        done = play(PLAY, **wanted(L40S))
        unchecked = play(PLAY, **wanted(L40S, checks={"pods": False}))
    finally:
        api.merge("/api/v1/nodes/gpu-l40s", {"metadata": {"labels": {gpus.FAILING: None}}})
    assert not done.ok and "failed (exit code 1): Error no CUDA-capable device is detected" in done.text, done.text[-3000:]
    assert unchecked.ok, unchecked.text[-3000:]


@pytest.mark.rest
def test_a_node_without_a_dcgm_exporter_pod_is_reported(api: Api, play: t.Callable[..., t.Any]) -> None:
    pod = "/api/v1/namespaces/nvidia-gpu-operator/pods/nvidia-dcgm-exporter-gpu-l40s"
    api.merge(pod, {"metadata": {"labels": {"app": "lost"}}})
    try:
        done = play(PLAY, gpu_operator_timeout=8, **wanted(L40S))
    finally:
        api.merge(pod, {"metadata": {"labels": {"app": "nvidia-dcgm-exporter"}}})
    assert not done.ok and "node gpu-l40s: no pod of DCGM's exporter runs on it" in done.text, done.text[-3000:]


def test_an_operator_in_use_or_of_another_instance_is_not_removed(api: Api, play: t.Callable[..., t.Any]) -> None:
    pods, policy = "/api/v1/namespaces/default/pods", "/apis/nvidia.com/v1/clusterpolicies/gpu-cluster-policy"
    parts = [{"name": "main", "image": "acme/bert:1", "resources": {"limits": {gpus.GPU: "1"}}}]
    api.call("POST", pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bert"}, "spec": {"containers": parts, "terminationGracePeriodSeconds": 0}})
    part = "app.kubernetes.io/part-of"
    owner = api.call("GET", policy)["metadata"]["labels"][part]
    before = [api.call("GET", f"/api/v1/nodes/{node}")["metadata"]["labels"] for node in gpus.NODES]
    try:
        used = play(PLAY, gpu_operator_state="absent", **wanted(A100, H100, L40S))
        api.merge(policy, {"metadata": {"labels": {part: "another"}}})
        foreign = play(PLAY, gpu_operator_state="absent", **wanted(A100, H100, L40S))
    finally:
        api.merge(policy, {"metadata": {"labels": {part: owner}}})
        api.delete(f"{pods}/bert", gracePeriodSeconds=0)
    assert not used.ok and "gpu_operator/in_use" in used.text and "Pod default/bert (nvidia.com/gpu)" in used.text, used.text[-3000:]
    assert not foreign.ok and "gpu_operator/foreign" in foreign.text and "of instance another" in foreign.text, foreign.text[-3000:]
    assert used.unchanged and foreign.unchanged and len(api.items(f"{olm.ROOT}/clusterserviceversions")) == 2
    assert [api.call("GET", f"/api/v1/nodes/{node}")["metadata"]["labels"] for node in gpus.NODES] == before


def test_gpu_operator_state_absent_removes_the_operators_and_node_labels(api: Api, play: t.Callable[..., t.Any]) -> None:
    removed(play, **wanted(A100, H100, L40S))
    assert not api.items("/apis/nvidia.com/v1/clusterpolicies") and not api.items(f"{olm.ROOT}/clusterserviceversions")
    assert not api.find("/api/v1/namespaces/nvidia-gpu-operator") and not api.find("/api/v1/namespaces/openshift-nfd")
    for node in gpus.NODES:
        labels = api.call("GET", f"/api/v1/nodes/{node}")["metadata"]["labels"]
        assert not {"nvidia.com/mig.config", "nvidia.com/device-plugin.config"} & labels.keys()


@pytest.mark.rest
@pytest.mark.parametrize(
    ("channel", "words"),
    [
        ("broken", "install timeout: deployment gpu-operator not ready before timeout"),
        ("v99", "no operators found in channel v99"),
    ],
)
def test_a_gpu_operator_that_does_not_come_up_is_reported(play: t.Callable[..., t.Any], channel: str, words: str) -> None:
    done = play(PLAY, gpu_operator_timeout=8, **wanted(channel=channel))
    assert not done.ok and words in done.text, done.text[-3000:]
    removed(play, **wanted(channel=channel))


@pytest.mark.rest
def test_a_manual_install_plan_is_approved_when_its_csvs_are_named(api: Api, play: t.Callable[..., t.Any]) -> None:
    done = play(PLAY, **wanted(L40S, approval="Manual"))
    assert not done.ok and all(f"write {name} under llm_d_gpus.approved" in done.text for name in CSV), done.text[-3000:]
    assert not api.items(f"{olm.ROOT}/clusterserviceversions")
    done = play(PLAY, **wanted(L40S, approval="Manual", approved=CSV))
    assert done.ok, done.text[-3000:]
    assert all(item["spec"]["approval"] == "Manual" and item["spec"]["approved"] for item in api.items(f"{olm.ROOT}/installplans"))
    assert allocatable(api, "gpu-l40s") == {"gpu": 12}
    again = play(PLAY, **wanted(L40S, approval="Manual", approved=CSV))
    assert again.ok and again.unchanged, again.text[-3000:]
