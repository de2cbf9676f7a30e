"""Two files with an instance each, in one cluster: neither run touches the objects of the other, and each is removed alone."""

from __future__ import annotations

import json
import typing as t

import plays
import pytest
from stack import INVENTORY, MODEL, NAMESPACE, SIM, Stack, call, sim, until
from steady_load import Report, SteadyLoad

GATEWAY = ("gateway.networking.k8s.io/v1", "Gateway")
OTHER: dict[str, t.Any] = {
    "llm_d_instance": "other",
    "llm_d_gateway": {"provider": "envoy_gateway", "service_type": "ClusterIP", "name": "other-gateway"},
    "llm_d_model_services": [{**SIM, "name": "another"}],
}


def address(stack: Stack, name: str, namespace: str = NAMESPACE) -> str:
    return f"http://{stack.named(*GATEWAY, namespace)[name]['status']['addresses'][0]['value']}"


def answers(url: str) -> str:
    """The pod that answers at a URL."""
    status, headers, content = call(f"{url}/v1/completions", {"model": MODEL, "prompt": "Who is there?", "max_tokens": 1})
    assert status == 200, content
    return headers["x-inference-pod"]


def test_each_instance_serves_and_is_removed_separately(stack: Stack) -> None:
    stack.serves(SIM)
    plays.well(INVENTORY, "site.yml", stack.artifacts, **OTHER)
    urls = {name: address(stack, name) for name in ("llm-d-gateway", "other-gateway")}
    assert answers(urls["llm-d-gateway"]).startswith("sim-") and answers(urls["other-gateway"]).startswith("another-")
    assert "changed=0 " in stack.serves(SIM)
    assert "changed=0 " in plays.well(INVENTORY, "site.yml", stack.artifacts, **OTHER)

    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, **OTHER)
    until(lambda: "other-gateway" not in stack.named(*GATEWAY), 60, "the gateway of the second is gone")
    assert not [name for name in stack.named("apps/v1", "Deployment") if name.startswith("another")]
    assert answers(urls["llm-d-gateway"]).startswith("sim-")
    assert "changed=0 " in stack.serves(SIM)


RATE = 50.0
# The second instance has its own namespace, or its own Gateway, or routes on the Gateway of the first.
GUEST = {"provider": "envoy_gateway", "service_type": "ClusterIP", "name": "llm-d-gateway", "create": False}
TOGETHER: dict[str, dict[str, t.Any]] = {
    "a namespace each": {**OTHER, "llm_d_namespace": "llm-d-other"},
    "a gateway each": OTHER,
    "one gateway": {**OTHER, "llm_d_gateway": GUEST, "llm_d_model_services": [{**SIM, "name": "another", "route": {"path": "/other"}}]},
}


def whole(report: Report) -> None:
    print(f"\n{report}")
    assert not report.lost and report.sent > 100 and set(report.statuses) == {200}


@pytest.mark.parametrize("together", TOGETHER)
def test_each_instance_is_deployed_changed_and_removed_while_the_other_serves(stack: Stack, together: str) -> None:
    """No request is lost at 50 requests a second, some of which are streams."""
    other = TOGETHER[together]
    place = other.get("llm_d_namespace", NAMESPACE)
    (service,) = other["llm_d_model_services"]
    stack.serves(SIM)
    first = address(stack, "llm-d-gateway")
    with SteadyLoad(first, MODEL, RATE) as load:
        plays.well(INVENTORY, "site.yml", stack.artifacts, **other)
        changed = {**other, "llm_d_model_services": [{**service, "engine": {**service["engine"], "max_num_seqs": 7}}]}
        plays.well(INVENTORY, "site.yml", stack.artifacts, **changed)
    whole(load.report)

    def second() -> str:
        return f"{address(stack, other['llm_d_gateway']['name'], place)}{service.get('route', {}).get('path', '')}"

    with SteadyLoad(second(), MODEL, RATE) as load:
        stack.serves(sim(engine={"max_num_seqs": 7}))
        stack.serves(SIM)
    whole(load.report)
    with SteadyLoad(first, MODEL, RATE) as load:
        plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, **other)
    whole(load.report)
    assert not [name for name in stack.named("apps/v1", "Deployment", place) if name.startswith("another")]
    assert "other-record" not in stack.named("v1", "ConfigMap", place) and "llm-d-record" in stack.named("v1", "ConfigMap")
    plays.well(INVENTORY, "site.yml", stack.artifacts, **other)
    if together == "one gateway":
        given = json.dumps({"llm_d_artifacts_dir": str(stack.artifacts), "llm_d_model_services": [SIM]})
        done = plays.run("-i", INVENTORY, "playbooks/teardown.yml", "-e", given)
        assert done.returncode and "HTTPRoute llm-d/another of instance other leads through" in " ".join(done.stdout.split()), done.stdout[-3000:]
    else:
        with SteadyLoad(second(), MODEL, RATE) as load:
            plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, llm_d_model_services=[SIM])
        whole(load.report)
    assert answers(second()).startswith("another-")
    with SteadyLoad(second(), MODEL, RATE) as load:
        stack.serves(SIM)
    whole(load.report)
    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, **other)
    assert "changed=0 " in stack.serves(SIM)


def test_one_instance_in_two_namespaces(stack: Stack) -> None:
    """The two stacks share the GatewayClass, which is in the record of the first while that exists, and is removed with the last."""
    classes = ("gateway.networking.k8s.io/v1", "GatewayClass", "")
    stack.serves(SIM)
    there: dict[str, t.Any] = {"llm_d_namespace": "llm-d-other", "llm_d_model_services": [SIM]}
    plays.well(INVENTORY, "site.yml", stack.artifacts, **there)
    assert "changed=0 " in stack.serves(SIM)
    assert "changed=0 " in plays.well(INVENTORY, "site.yml", stack.artifacts, **there)
    for each in ({"llm_d_model_services": [SIM]}, there):
        plays.well(INVENTORY, "playbooks/diagnose.yml", stack.artifacts, **each, diagnose_fail=True)

    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, llm_d_model_services=[SIM])
    assert "envoy-gateway" in stack.named(*classes) and answers(address(stack, "llm-d-gateway", "llm-d-other")).startswith("sim-")
    plays.well(INVENTORY, "site.yml", stack.artifacts, **there)
    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, **there)
    assert "envoy-gateway" not in stack.named(*classes)
    stack.serves(SIM)


def test_one_file_with_two_suffixes_is_two_stacks(stack: Stack) -> None:
    """The gateway, the pool, the workloads and the claims of the second have other names, and no run touches the objects of the other."""
    stack.serves(SIM)
    blue: dict[str, t.Any] = {"llm_d_name_suffix": "-blue", "llm_d_model_services": [{**SIM, "replicas": 1}]}
    plays.well(INVENTORY, "site.yml", stack.artifacts, **blue)
    verdict = json.loads((stack.artifacts / "llm-d-blue/verdict.json").read_text(encoding="utf-8"))
    assert verdict["ok"] and "sim-blue/serving" in {claim["id"] for claim in verdict["claims"]}
    urls = {name: address(stack, name) for name in ("llm-d-gateway", "llm-d-gateway-blue")}
    assert verdict["endpoints"][0]["url"].startswith(urls["llm-d-gateway-blue"])
    assert answers(urls["llm-d-gateway"]).startswith("sim-decode-") and answers(urls["llm-d-gateway-blue"]).startswith("sim-blue-decode-")
    assert {"sim", "sim-blue"} == set(stack.named("inference.networking.k8s.io/v1", "InferencePool"))
    assert "changed=0 " in stack.serves(SIM)
    assert "changed=0 " in plays.well(INVENTORY, "site.yml", stack.artifacts, **blue)

    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, **blue)
    until(lambda: "llm-d-gateway-blue" not in stack.named(*GATEWAY), 60, "the gateway of the second is gone")
    assert not [name for name in stack.named("apps/v1", "Deployment") if name.startswith("sim-blue")]
    assert answers(urls["llm-d-gateway"]).startswith("sim-decode-")
    assert "changed=0 " in stack.serves(SIM)


def test_a_name_that_another_instance_has_is_refused(stack: Stack) -> None:
    """Its Gateway has the name of the first instance's Gateway."""
    stack.serves(SIM)
    before = stack.named(*GATEWAY)["llm-d-gateway"]["metadata"]
    given = json.dumps({"llm_d_artifacts_dir": str(stack.artifacts), **OTHER, "llm_d_gateway": {**OTHER["llm_d_gateway"], "name": None}})
    done = plays.run("-i", INVENTORY, "site.yml", "-e", given)
    output = " ".join(done.stdout.split())
    assert done.returncode != 0 and "llm-d-gateway" in output and NAMESPACE in output and "Traceback" not in output, done.stdout[-4000:]
    assert stack.named(*GATEWAY)["llm-d-gateway"]["metadata"]["generation"] == before["generation"]
    assert plays.run("-i", INVENTORY, "playbooks/teardown.yml", "-e", given).returncode == 0
    assert "changed=0 " in stack.serves(SIM)
