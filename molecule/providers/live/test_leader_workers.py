"""Servers of two nodes on a real cluster: a role installs LeaderWorkerSet from its chart, groups start, their leaders answer, and all of it is removed.

The running stack changes from servers of one node to groups of two, and back. Needs `make site` first; the local cluster builds the controller for it.
"""

from __future__ import annotations

import json
import os
import typing as t
import urllib.request
from pathlib import Path

import plays
import pytest
from kubernetes import client, config
from live_stack import until

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
HOME, MODEL, NAME = "llm-d", "llm-d/simulated-8b", "sim-decode"
GROUP = ("leaderworkerset.x-k8s.io", "v1", HOME, "leaderworkersets")
LABEL = "leaderworkerset.sigs.k8s.io"
LEADERS = {f"{NAME}-0", f"{NAME}-1"}


@pytest.fixture(scope="module", name="artifacts")
def _artifacts(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Path]:
    """The folder of the verdicts; the teardown deletes the CRDs that came with the groups, since the roles keep them."""
    config.load_kube_config(KUBECONFIG)
    before = definitions()
    yield tmp_path_factory.mktemp("artifacts")
    for name in definitions() - before:
        client.ApiextensionsV1Api().delete_custom_resource_definition(name)
    until(lambda: definitions() == before, 60, "the CRDs are those from before")


def definitions() -> set[str]:
    """Names of all CRDs of the cluster."""
    return {item.metadata.name for item in client.ApiextensionsV1Api().list_custom_resource_definition().items}


def members() -> dict[tuple[str, str], client.V1Pod]:
    """{(group, index in it): pod} of the groups; the leader's index is 0."""
    pods = client.CoreV1Api().list_namespaced_pod(HOME, label_selector=f"{LABEL}/name={NAME}").items
    return {(pod.metadata.labels[f"{LABEL}/group-index"], pod.metadata.labels[f"{LABEL}/worker-index"]): pod for pod in pods}


def deployments(namespace: str) -> set[str]:
    return {item.metadata.name for item in client.AppsV1Api().list_namespaced_deployment(namespace).items}


def webhooks() -> set[str]:
    """Names of LeaderWorkerSet's webhooks, which refuse all pods without a running server."""
    api = client.AdmissionregistrationV1Api()
    configurations = [*api.list_mutating_webhook_configuration().items, *api.list_validating_webhook_configuration().items]
    return {item.metadata.name for item in configurations if item.metadata.name.startswith("lws-")}


def answered(endpoint: str, prompt: str) -> str:
    """Send a completion through the gateway; returns the pod that answers."""
    body = json.dumps({"model": MODEL, "prompt": prompt, "max_tokens": 4}).encode()
    request = urllib.request.Request(f"{endpoint}/v1/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert json.loads(answer.read())["choices"][0]["text"]
        return answer.headers["x-inference-pod"]


def test_groups_take_the_place_of_single_servers(artifacts: Path) -> None:
    assert NAME in deployments(HOME) and webhooks() == set()
    verdict, _out = plays.site("molecule/providers/spanning", artifacts)
    assert verdict["ok"], verdict
    assert deployments("lws-system") == {"lws-controller-manager"} and NAME not in deployments(HOME)
    status = client.CustomObjectsApi().get_namespaced_custom_object(*GROUP, NAME)["status"]
    assert status["replicas"] == status["readyReplicas"] == status["updatedReplicas"] == 2, status
    pods = members()
    assert set(pods) == {("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")}
    for (group, _place), pod in pods.items():
        assert [entry.status for entry in pod.status.conditions if entry.type == "Ready"] == ["True"], pod.metadata.name
        variables = {entry.name: entry.value for entry in pod.spec.containers[0].env}
        assert variables["LWS_LEADER_ADDRESS"] == f"{NAME}-{group}.{NAME}.{HOME}" and variables["LWS_GROUP_SIZE"] == "2", variables


def test_leaders_answer_through_the_gateway_and_workers_never(artifacts: Path) -> None:
    verdict = json.loads((artifacts / "verdict.json").read_text(encoding="utf-8"))
    assert {pod.metadata.name for (_group, place), pod in members().items() if place == "0"} == LEADERS
    assert {answered(verdict["endpoint"], f"Prompt {number} of this test") for number in range(12)} <= LEADERS
    selector = "llm-d.ai/inference-serving=true,llm-d.ai/model-service=sim"
    assert {pod.metadata.name for pod in client.CoreV1Api().list_namespaced_pod(HOME, label_selector=selector).items} == LEADERS


def test_a_second_run_with_leader_worker_sets_changes_nothing(artifacts: Path) -> None:
    verdict, out = plays.site("molecule/providers/spanning", artifacts)
    assert verdict["ok"] and "changed=0 " in out, out[-3000:]


def test_leader_worker_set_is_removed_when_no_server_spans_nodes(artifacts: Path) -> None:
    verdict, _out = plays.site("inventories/local", artifacts)
    assert verdict["ok"], verdict
    assert NAME in deployments(HOME) and client.CustomObjectsApi().list_namespaced_custom_object(*GROUP)["items"] == []
    assert "lws-system" not in {item.metadata.name for item in client.CoreV1Api().list_namespace().items}
    assert webhooks() == set()
    roles = {item.metadata.name for item in client.RbacAuthorizationV1Api().list_cluster_role().items}
    assert not [name for name in roles if name.startswith("lws-")]
    until(lambda: not members(), 180, "the pods of the groups are gone")
    assert "changed=0 " in plays.site("inventories/local", artifacts)[1]
