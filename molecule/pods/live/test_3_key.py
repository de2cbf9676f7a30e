"""The gateway requires an API key, since simulators require none: each play sends it, all claims pass with it, and no output contains it."""

from __future__ import annotations

import base64
import collections.abc as c
import contextlib
import urllib.error
import urllib.request

import pytest
from kubernetes.client.exceptions import ApiException
from live_stack import until
from stack import GATEWAY, KEY, NAMESPACE, SIM, Stack

POLICY = ("gateway.envoyproxy.io", "v1alpha1", NAMESPACE, "securitypolicies")
KEYED = {**SIM, "model": {**SIM["model"], "api_key": {"secret": "clients", "key": "ours"}}}


def status(stack: Stack, key: str | None) -> int:
    """The status of a request through the gateway."""
    gateway = stack.custom.get_namespaced_custom_object("gateway.networking.k8s.io", "v1", NAMESPACE, "gateways", "llm-d-gateway")
    request = urllib.request.Request(f"http://{gateway['status']['addresses'][0]['value']}/v1/models")
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture(name="key_required", scope="module", autouse=True)
def require_a_key(stack: Stack) -> c.Iterator[None]:
    """Make the route require the key of the Secret."""
    stack.site(SIM, llm_d_gateway=GATEWAY)
    secret = {"metadata": {"name": "clients"}, "data": {"ours": base64.b64encode(KEY.encode()).decode()}}
    stack.once(lambda: stack.core.create_namespaced_secret(NAMESPACE, secret))
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "sim"}
    keys = {"credentialRefs": [{"name": "clients"}], "extractFrom": [{"headers": ["Authorization"]}]}
    spec = {"targetRefs": [target], "apiKeyAuth": keys}
    body = {"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "SecurityPolicy", "metadata": {"name": "keys"}, "spec": spec}
    stack.once(lambda: stack.custom.create_namespaced_custom_object(*POLICY, body))
    until(lambda: status(stack, None) == 401 and status(stack, KEY) == 200, 60, "the gateway requires the key")
    yield
    with contextlib.suppress(ApiException):
        stack.custom.delete_namespaced_custom_object(*POLICY, "keys")
    until(lambda: status(stack, None) == 200, 60, "the gateway requires no key")
    stack.core.delete_namespaced_secret("clients", NAMESPACE)


def test_without_it_the_verdict_names_the_key(stack: Stack) -> None:
    code, out = stack.play("playbooks/validate.yml", llm_d_model_services=[SIM], validation_wait=0)
    assert code != 0 and "401" in out and "model.api_key" in out, out[-4000:]


def test_all_claims_pass_at_a_gateway_that_requires_the_key(stack: Stack) -> None:
    _verdict, out = stack.site(KEYED, llm_d_gateway=GATEWAY)
    assert KEY not in out and "its servers answer without the API key" in " ".join(out.split())


def test_a_benchmark_sends_it(stack: Stack) -> None:
    load = {"concurrency": [2], "seconds": 2, "warmup_seconds": 0, "workload": {"input_len": 32, "output_len": 4}}
    given = {**load, "max_lag": 5, "max_lag_share": 0}  # the lag of this host is irrelevant for the key
    code, out = stack.play("playbooks/benchmark.yml", llm_d_model_services=[KEYED], llm_d_benchmark=given)
    assert code == 0 and KEY not in out, out[-4000:]


def test_a_diagnosis_sends_it(stack: Stack) -> None:
    code, out = stack.play("playbooks/diagnose.yml", llm_d_model_services=[KEYED])
    assert code == 0 and KEY not in out and "401" not in out, out[-4000:]


def test_the_key_of_the_file_does_as_well(stack: Stack) -> None:
    _verdict, out = stack.site(SIM, llm_d_gateway=GATEWAY, llm_d_api_key=KEY)
    assert KEY not in out
    assert stack.core.read_namespaced_secret("llm-d-api-key", NAMESPACE).data["API_KEY"] == base64.b64encode(KEY.encode()).decode()
    stack.site(KEYED, llm_d_gateway=GATEWAY)
