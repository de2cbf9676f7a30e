"""Routes to InferencePools on a real cluster: Envoy Gateway with the AI Gateway controller, and how its proxies handle the endpoint picker's choice.

The running stack moves from routes to Services, with policies, to routes to its pool, and back. Needs `make site` first; the local cluster builds the
controller for it.
"""

from __future__ import annotations

import collections
import json
import os
import signal
import subprocess
import typing as t
import urllib.error
import urllib.request
from pathlib import Path

import conformance_class
import plays
import pytest
from conformance_class import SUITE
from kubernetes import client, config
from live_stack import until

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
POOLS, LOCAL = "molecule/providers/pools", "inventories/local"
HOME, MODEL, GATEWAY = "llm-d", "llm-d/simulated-8b", "llm-d-gateway-envoy-ai-gateway"
EXTENSION, CONTROLLER = "envoy-ai-gateway-system", "envoy-gateway-system"
POOL = ("inference.networking.k8s.io", "v1", HOME, "inferencepools")
CHOICE = "x-gateway-destination-endpoint"
# The official suite's tests. The failures are known for this version of the controller.
OUTCOME = {
    **dict.fromkeys(
        [
            "EppUnAvailableFailOpen",
            "GatewayDestinationEndpointServed",
            "GatewayFollowingEPPRouting",
            "GatewayFollowingEPPRoutingWithDataParallelism",
            "HTTPRouteInvalidInferencePoolRef",
            "HTTPRouteMultipleGatewaysDifferentPools",
            "HTTPRouteMultipleRulesDifferentPools",
            "InferencePoolAccepted",
            "InferencePoolHTTPRoutePortValidation",
            "InferencePoolInvalidEPPService",
            "InferencePoolResolvedRefsCondition",
        ],
        "passed",
    ),
    **dict.fromkeys(["GatewayWeightedAcrossTwoInferencePools", "InferencePoolAppProtocol", "InferencePoolMissingEPPRef"], "failed"),
}
# Servers that listen on two ports each, one for each rank.
RANKS: dict[str, t.Any] = {
    "name": "sim",
    "model": {"served_name": MODEL},
    "replicas": 2,
    "engine": {"type": "simulator", "block_size": 16, "args": ["--data-parallel-size=2"]},
    "scheduler": {"preset": "round_robin", "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}}},
}


@pytest.fixture(scope="module", name="artifacts")
def _artifacts(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Path]:
    """The folder of the verdicts; the teardown deletes the CRDs that came with the controller, since the roles keep them."""
    config.load_kube_config(KUBECONFIG)
    before = crds()
    yield tmp_path_factory.mktemp("artifacts")
    for name in crds() - before:
        client.ApiextensionsV1Api().delete_custom_resource_definition(name)
    until(lambda: crds() == before, 60, "the CRDs are those from before")


def crds() -> set[str]:
    """Names of all CRDs of the cluster."""
    return {item.metadata.name for item in client.ApiextensionsV1Api().list_custom_resource_definition().items}


def listed(group: str, plural: str) -> list[dict[str, t.Any]]:
    """Objects of a kind in the namespace of the stack."""
    objects: list[dict[str, t.Any]] = client.CustomObjectsApi().list_namespaced_custom_object(group, "v1alpha1", HOME, plural)["items"]
    return objects


def pool() -> dict[str, t.Any]:
    item: dict[str, t.Any] = client.CustomObjectsApi().get_namespaced_custom_object(*POOL, "sim")
    return item


def of_pool(item: dict[str, t.Any]) -> list[tuple[str, str, dict[str, str]]]:
    """(namespace, name, {condition: status}) of the Gateways that report on a pool, conditions of its current generation."""
    return [
        (
            entry["parentRef"].get("namespace", HOME),
            entry["parentRef"]["name"],
            {state["type"]: state["status"] for state in entry["conditions"] if state["observedGeneration"] == item["metadata"]["generation"]},
        )
        for entry in item.get("status", {}).get("parents", [])
    ]


ACCEPTED = [(HOME, GATEWAY, {"Accepted": "True", "ResolvedRefs": "True"})]


def claims(artifacts: Path) -> dict[str, dict[str, t.Any]]:
    """{id: claim} of the last verdict."""
    return {claim["id"]: claim for claim in json.loads((artifacts / "verdict.json").read_text(encoding="utf-8"))["claims"]}


def answered(artifacts: Path, prompt: str, **headers: str) -> tuple[int, t.Mapping[str, str]]:
    """Send a completion through the gateway: (status, headers)."""
    endpoint = json.loads((artifacts / "verdict.json").read_text(encoding="utf-8"))["endpoint"]
    body = json.dumps({"model": MODEL, "prompt": prompt, "max_tokens": 4}).encode()
    request = urllib.request.Request(f"{endpoint}/v1/completions", body, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers


def servers() -> dict[str, str]:
    """{pod: address} of the model servers."""
    pods = client.CoreV1Api().list_namespaced_pod(HOME, label_selector="llm-d.ai/model-service=sim,llm-d.ai/role=decode").items
    return {pod.metadata.name: pod.status.pod_ip for pod in pods if not pod.metadata.deletion_timestamp}


def test_the_route_refers_to_the_pool_and_the_pool_status_names_the_gateway(artifacts: Path) -> None:
    verdict, _out = plays.site(POOLS, artifacts)
    assert verdict["ok"], verdict
    route = client.CustomObjectsApi().get_namespaced_custom_object("gateway.networking.k8s.io", "v1", HOME, "httproutes", "sim-envoy-ai-gateway")
    assert [(ref["group"], ref["kind"], ref["name"]) for rule in route["spec"]["rules"] for ref in rule["backendRefs"]] == [(POOL[0], "InferencePool", "sim")]
    states = {state["type"]: state["status"] for entry in route["status"]["parents"] for state in entry["conditions"]}
    assert states["Accepted"] == states["ResolvedRefs"] == "True", states
    assert of_pool(pool()) == ACCEPTED
    assert claims(artifacts)["sim/pool"]["evidence"].endswith(f"accepted by Gateway {HOME}/{GATEWAY}"), claims(artifacts)["sim/pool"]
    # This release line of the endpoint picker does not count attempts per server, which `obeyed` (below) requires: cached prefixes show its choice.
    assert all(claims(artifacts)[f"sim/{name}"]["ok"] for name in ("scheduled", "counted", "sticky", "cached"))


def test_no_policy_and_no_other_container_is_needed(artifacts: Path) -> None:
    """The controller changes the proxies' configuration; its own filter is for AIGatewayRoutes, which the collection does not create."""
    assert not listed("gateway.envoyproxy.io", "envoyextensionpolicies") and not listed("gateway.envoyproxy.io", "backendtrafficpolicies")
    proxies = client.CoreV1Api().list_namespaced_pod(CONTROLLER, label_selector=f"gateway.envoyproxy.io/owning-gateway-name={GATEWAY}").items
    names = {part.name for pod in proxies for part in [*pod.spec.containers, *(pod.spec.init_containers or [])]}
    assert names == {"envoy", "shutdown-manager"}


def test_the_gateway_ignores_a_destination_header_of_the_client(artifacts: Path) -> None:
    """The proxies send a request to any address in that header, so it must be the endpoint picker's."""
    pods = servers()
    aside = client.CoreV1Api().list_namespaced_pod(CONTROLLER).items[0].status.pod_ip
    for wish in (f"{aside}:19003", "127.0.0.1:19000", "10.255.255.1:80"):
        status, headers = answered(artifacts, f"To {wish}", **{CHOICE: wish})
        assert status == 200 and headers["x-inference-pod"] in pods, (wish, status, dict(headers))


def test_requests_fail_while_the_endpoint_picker_has_no_pods(artifacts: Path) -> None:
    """This gateway supports only FailClose, which the pool specifies."""
    assert pool()["spec"]["endpointPickerRef"]["failureMode"] == "FailClose"
    apps = client.AppsV1Api()
    apps.patch_namespaced_deployment_scale("sim-epp-tls", HOME, {"spec": {"replicas": 0}})
    try:
        until(lambda: answered(artifacts, "Is anybody there?")[0] >= 500, 60, "requests fail")
    finally:
        apps.patch_namespaced_deployment_scale("sim-epp-tls", HOME, {"spec": {"replicas": 1}})
    until(lambda: answered(artifacts, "And now?")[0] == 200, 120, "requests are answered again")


def test_a_pool_that_is_refused_is_a_claim_that_fails(artifacts: Path) -> None:
    """Its endpoint picker does not exist: the controller reports it in the pool's status, and the verdict reports it too."""
    api = client.CustomObjectsApi()
    api.patch_namespaced_custom_object(*POOL, "sim", {"spec": {"endpointPickerRef": {"name": "nobody"}}})
    until(lambda: [states.get("Accepted") for _space, _name, states in of_pool(pool())] == ["False"], 60, "the pool is refused")
    given = json.dumps({"llm_d_artifacts_dir": str(artifacts), "llm_d_wait_timeout": 2, "validation_wait": 0})
    assert plays.run("-i", POOLS, "playbooks/validate.yml", "-e", given).returncode != 0
    refused = claims(artifacts)["sim/pool"]
    assert not refused["ok"] and "nobody" in refused["evidence"], refused
    verdict, _out = plays.site(POOLS, artifacts)
    assert verdict["ok"] and of_pool(pool()) == ACCEPTED


def test_a_second_run_with_routes_to_pools_changes_nothing(artifacts: Path) -> None:
    verdict, out = plays.site(POOLS, artifacts)
    assert verdict["ok"] and "changed=0 " in out, out[-3000:]


def test_the_obeyed_claim_passes_with_the_endpoint_picker_of_gie_1_5(artifacts: Path) -> None:
    """The claim `obeyed`, which requires an endpoint picker that counts its picks per server."""
    api = urllib.request.Request("http://127.0.0.1:5215/v2/registry.k8s.io/gateway-api-inference-extension/epp/tags/list")
    try:
        urllib.request.urlopen(api, timeout=10).close()
    except urllib.error.HTTPError:
        pytest.skip("the local registry has no endpoint picker of gie-1.5")
    try:
        verdict, _out = plays.site(POOLS, artifacts, llm_d_release="gie-1.5")
        obeyed = claims(artifacts)["sim/obeyed"]
        assert verdict["ok"] and obeyed["ok"] and any(pod in obeyed["evidence"] for pod in servers()), obeyed
        assert of_pool(pool()) == ACCEPTED
    finally:
        verdict, _out = plays.site(POOLS, artifacts)
    assert verdict["ok"] and "sim/obeyed" not in claims(artifacts)


def test_requests_reach_each_port_of_a_pool(artifacts: Path) -> None:
    """A pool has a port for each rank of its servers."""
    plays.site(POOLS, artifacts, llm_d_model_services=[RANKS])
    ports = [entry["number"] for entry in pool()["spec"]["targetPorts"]]
    assert len(ports) == 2
    expected = {(pod, str(port)) for pod in servers() for port in ports}
    answers: collections.Counter[tuple[str, str]] = collections.Counter()

    def all_of_them() -> bool:
        status, headers = answered(artifacts, f"Prompt {sum(answers.values())}")
        answers[headers.get("x-inference-pod", str(status)), headers.get("x-inference-port", "")] += 1
        return expected <= set(answers)

    until(all_of_them, 60, f"each of {sorted(expected)} has answered")
    assert of_pool(pool()) == ACCEPTED


SPACES = {"inference-conformance-infra", "inference-conformance-app-backend"}
ALLOWED = {"conformance_create_namespaces": True, "conformance_other_crds": True}


@pytest.fixture(name="plain_class")
def _plain_class(artifacts: Path) -> t.Iterator[None]:
    """Requires `artifacts`, which connects."""
    with conformance_class.plain_class():
        yield


def namespaces() -> set[str]:
    return {item.metadata.name for item in client.CoreV1Api().list_namespace().items}


def suites() -> list[str]:
    """IDs of the suite's processes."""
    processes = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = entry.joinpath("cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # the process has ended
        processes += [entry.name] if words[0].decode(errors="replace") == SUITE["conformance_program"] else []
    return processes


def given(artifacts: Path, **variables: t.Any) -> list[str]:
    """Arguments of the suite's play."""
    return ["-i", POOLS, "playbooks/conformance.yml", "-e", json.dumps({"llm_d_artifacts_dir": str(artifacts), **SUITE, **variables})]


@pytest.mark.usefixtures("plain_class")
def test_the_suite_is_refused_without_consent_or_with_crds_of_another_version(artifacts: Path) -> None:
    refused = plays.run(*given(artifacts))
    assert refused.returncode != 0 and "conformance_create_namespaces=true" in refused.stdout
    other = plays.run(*given(artifacts, conformance_create_namespaces=True))
    assert other.returncode != 0 and "inferencepools.inference.networking.k8s.io is v1.5.0 and the suite v1.6.0" in other.stdout, other.stdout
    assert not SPACES & namespaces()


@pytest.mark.usefixtures("plain_class")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_conformance_suite_leaves_no_namespaces(artifacts: Path, how: signal.Signals) -> None:
    """Ctrl-C deletes the suite's objects. A killed run cannot: its suite ends with it, and the role deletes the objects."""
    command = plays.command(*given(artifacts, **ALLOWED))
    with subprocess.Popen(command, cwd=plays.ROOT, env=plays.environment(), stdout=subprocess.DEVNULL, start_new_session=True) as play:
        until(lambda: namespaces() >= SPACES and bool(suites()), 120, "the suite has begun")
        os.killpg(play.pid, how)
    until(lambda: not suites(), 30, "the suite has ended")
    if how == signal.SIGKILL:
        assert SPACES & namespaces()
        plays.well(POOLS, "playbooks/conformance.yml", artifacts, **SUITE, conformance_state="absent")
        assert not SPACES & namespaces()
    until(lambda: not SPACES & namespaces(), 300, "its namespaces are gone")


@pytest.mark.usefixtures("plain_class")
def test_the_official_suite_reports_the_expected_conformance_results(artifacts: Path) -> None:
    with conformance_class.pools_of_the_suite():
        plays.well(POOLS, "playbooks/conformance.yml", artifacts, **SUITE, **ALLOWED)
    report = json.loads((artifacts / "conformance/conformance.json").read_text(encoding="utf-8"))
    assert {test["name"]: test["result"] for test in report["tests"]} == OUTCOME and (artifacts / "conformance/report.yaml").is_file(), report
    assert {test["name"] for test in report["tests"] if test["known"]} == {name for name, result in OUTCOME.items() if result == "failed"}
    assert report["suite"] == report["crds"] == "v1.6.0" and "several versions" in "".join(report["mismatches"]), report
    assert not SPACES & namespaces()


def test_the_ai_gateway_is_removed_when_routes_refer_to_services_again(artifacts: Path) -> None:
    verdict, _out = plays.site(LOCAL, artifacts)
    assert verdict["ok"], verdict
    assert EXTENSION not in {item.metadata.name for item in client.CoreV1Api().list_namespace().items}
    hooks = client.AdmissionregistrationV1Api().list_mutating_webhook_configuration().items
    roles = client.RbacAuthorizationV1Api().list_cluster_role().items
    assert not [item.metadata.name for item in [*hooks, *roles] if "ai-gateway" in item.metadata.name]
    gateways = client.CustomObjectsApi().list_namespaced_custom_object("gateway.networking.k8s.io", "v1", HOME, "gateways")["items"]
    assert [item["metadata"]["name"] for item in gateways] == ["llm-d-gateway"]
    assert "changed=0 " in plays.site(LOCAL, artifacts)[1]
