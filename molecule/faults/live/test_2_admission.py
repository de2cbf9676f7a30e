"""An admission webhook that does not answer and a policy that refuses are reported as such, and the run after their removal converges."""

from __future__ import annotations

import time
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError
from live_stack import until
from local_servers import closed_port
from stack import NAMESPACE, SIM, Object, Stack, assert_failure

RULES = [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]}]
HERE = {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}


def webhook(port: int) -> Object:
    """A webhook that nobody serves."""
    hook = {
        "name": "closed.faults.example.com",
        "rules": RULES,
        "namespaceSelector": HERE,
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 2,
        "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
    }
    return {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "faults-closed"}, "webhooks": [hook]}


def policy(name: str, rules: list[Object], message: str, labels: t.Mapping[str, str] | None = None) -> list[Object]:
    """A policy that refuses all objects with these labels, and its binding."""
    constraints = {"namespaceSelector": HERE, "resourceRules": rules, "objectSelector": {"matchLabels": labels or {}}}
    spec = {"failurePolicy": "Fail", "matchConstraints": constraints, "validations": [{"expression": "false", "message": message}]}
    bound = {"policyName": name, "validationActions": ["Deny"]}
    return [
        {"kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        {"kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": bound},
    ]


POLICY = policy("faults-freeze", RULES, "nothing changes on a Friday")
PODS = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
NO_SERVERS = policy("faults-no-servers", PODS, "no further server", {"llm-d.ai/role": "decode"})
TRIES = 15  # after 15 tries a ReplicaSet waits for more than a minute


@pytest.fixture(name="refusing")
def _refusing(stack: Stack) -> t.Iterator[t.Callable[[list[Object]], None]]:
    """A function that makes the API server refuse Deployments; the teardown makes it accept them again."""
    made: list[str] = []

    def refuse(objects: list[Object]) -> None:
        made.extend(stack.create("admissionregistration.k8s.io/v1", item) for item in objects)
        until(lambda: not taken(stack), 30, "Deployments are refused")

    yield refuse
    for path in reversed(made):
        stack.delete(path)
    until(lambda: taken(stack), 30, "Deployments are accepted")


def taken(stack: Stack) -> bool:
    """Whether the API server accepts a change of a Deployment."""
    body = {"metadata": {"annotations": {"faults": str(time.time())}}}
    try:
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/sim-epp"
        stack.cluster.request("PATCH", path, {"dryRun": "All"}, body, content_type="application/merge-patch+json")
    except ApiError:
        return False
    return True


def test_a_webhook_that_does_not_answer(stack: Stack, refusing: t.Callable[[list[Object]], None]) -> None:
    before = stack.versions()
    refusing([webhook(closed_port())])
    status, out = stack.play(llm_d_model_services=[{**SIM, "replicas": 2}])
    assert status != 0
    assert_failure(out, "Deployment llm-d/sim-epp", "closed.faults.example.com", "connection refused", "then run again")
    assert stack.versions()["Deployment sim-decode"] == before["Deployment sim-decode"]


def test_a_policy_that_refuses(stack: Stack, refusing: t.Callable[[list[Object]], None]) -> None:
    refusing(POLICY)
    status, out = stack.play()
    assert status != 0
    assert_failure(out, "Deployment llm-d/sim-epp", "nothing changes on a Friday", "a policy of this cluster refuses it")


def test_refused_pods_are_reported_and_start_once_the_policy_is_removed(stack: Stack) -> None:
    """The Deployment still reports the refusal when the second run reads it, since its controller backs off between tries."""
    paths = [stack.create("admissionregistration.k8s.io/v1", item) for item in NO_SERVERS]
    wanted: t.Any = {"llm_d_model_services": [{**SIM, "replicas": 2}]}
    try:
        status, out = stack.play(**wanted)
        assert status != 0
        assert_failure(out, "Deployment llm-d/sim-decode: 0/2 ready", "no further server", "waiting longer will not help")
        until(lambda: tries(stack) >= TRIES, 300, f"{TRIES} tries")
    finally:
        for path in reversed(paths):
            stack.delete(path)
    shown = " ".join(stack.converges(**wanted).split())
    assert "no further server" in shown and "not tried again yet" in shown, "while it waits"


def tries(stack: Stack) -> int:
    """The number of times that the further server was refused."""
    events = stack.cluster.get(f"/api/v1/namespaces/{NAMESPACE}/events", {"fieldSelector": "reason=FailedCreate"})["items"]
    return sum(int(event.get("count") or 1) for event in events if "no further server" in event["message"])


def test_the_next_run_converges_once_the_admission_policies_are_removed(stack: Stack) -> None:
    stack.converges()
    stack.settled()
