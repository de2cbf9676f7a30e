"""Endpoint pickers in one namespace, model servers and pools in another."""

from __future__ import annotations

import json
import typing as t

import plays
from stack import INVENTORY, MODEL, NAMESPACE, SIM, Stack, call, until

PLACE = "pickers"
APART: dict[str, t.Any] = {
    "llm_d_instance": "apart",
    "llm_d_scheduler_namespace": PLACE,
    "llm_d_gateway": {"provider": "envoy_gateway", "service_type": "ClusterIP", "name": "apart"},
}
CHAT, LATER = {**SIM, "name": "chat"}, {**SIM, "name": "later", "replicas": 1, "route": {"path": "/later"}, "scheduler": {"preset": "precise_prefix"}}


def running(stack: Stack, service: str) -> dict[str, str]:
    """{pod: address} of the endpoint pickers of a model service."""
    pods = stack.core.list_namespaced_pod(PLACE, label_selector=f"app.kubernetes.io/instance={service}-epp").items
    return {pod.metadata.name: pod.status.pod_ip for pod in pods if not pod.metadata.deletion_timestamp}


def test_endpoint_pickers_stand_apart_from_the_servers(stack: Stack) -> None:
    stack.serves(SIM)
    both = {**APART, "llm_d_model_services": [CHAT, LATER]}
    plays.well(INVENTORY, "site.yml", stack.artifacts, **both)
    verdict = json.loads((stack.artifacts / "apart/verdict.json").read_text(encoding="utf-8"))
    claims = {claim["id"]: claim for claim in verdict["claims"]}
    assert verdict["ok"] and {"chat/scheduled", "chat/permissions", "later/configured"} <= set(claims)
    assert f"account {PLACE}/chat-epp" in claims["chat/permissions"]["evidence"]
    deployments = stack.named("apps/v1", "Deployment", PLACE)
    assert set(deployments) == {"chat-epp", "later-epp"} and not {"chat-epp", "later-epp"} & set(stack.named("apps/v1", "Deployment"))
    assert {"chat", "later"} <= set(stack.named("inference.networking.k8s.io/v1", "InferencePool"))

    gateway = stack.named("gateway.networking.k8s.io/v1", "Gateway")["apart"]["status"]["addresses"][0]["value"]
    (picker,) = running(stack, "chat").values()
    before = stack.picks(picker)
    for number in range(5):
        status, headers, content = call(f"http://{gateway}/v1/completions", {"model": MODEL, "prompt": f"Who is there, {number}?", "max_tokens": 1})
        assert status == 200 and headers["x-inference-pod"].startswith("chat-decode-"), content
    assert stack.picks(picker) == before + 5, "the endpoint picker of the other namespace chose each of them"
    assert "changed=0 " in plays.well(INVENTORY, "site.yml", stack.artifacts, **both)
    plays.well(INVENTORY, "playbooks/diagnose.yml", stack.artifacts, **both, diagnose_fail=True)

    plays.well(INVENTORY, "site.yml", stack.artifacts, **APART, llm_d_model_services=[CHAT])
    assert set(stack.named("apps/v1", "Deployment", PLACE)) == {"chat-epp"}, "the endpoint picker of a removed model service is pruned in that namespace too"
    moved = {**APART, "llm_d_scheduler_namespace": "pickers-2"}
    plays.well(INVENTORY, "site.yml", stack.artifacts, **moved, llm_d_model_services=[CHAT])
    spaces = stack.named("v1", "Namespace", namespace="")
    assert PLACE not in spaces and "pickers-2" in spaces, "the former namespace is deleted"
    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, **moved, llm_d_model_services=[])
    until(lambda: "pickers-2" not in stack.named("v1", "Namespace", namespace=""), 90, "the namespace of the endpoint pickers is gone")
    assert "chat-decode" not in stack.named("apps/v1", "Deployment"), "model services that the file does not contain are removed too"
    assert NAMESPACE in stack.named("v1", "Namespace", namespace="") and "changed=0 " in stack.serves(SIM)
