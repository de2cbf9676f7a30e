"""Routes to a model at the gateway: HTTPS with a host name, ports, routes in another namespace, another class, slow answers."""

from __future__ import annotations

import base64
import collections
import http.client
import json
import os
import socket
import ssl
import subprocess
import typing as t
from pathlib import Path

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster import pki
from stack import INVENTORY, MODEL, NAMESPACE, SIM, Stack, call, sim, until
from steady_load import SteadyLoad

GATEWAY, ROUTE = ("gateway.networking.k8s.io/v1", "Gateway"), ("gateway.networking.k8s.io/v1", "HTTPRoute")
HOST, PORT, PLAIN = "chat.example.com", 8443, 8080
CRDS = Path("/var/cache/llm-d-local/assets/crds/cert-manager")
KUBECTL = ["/var/lib/llm-d-local/bin/kubectl", "--kubeconfig", os.environ["LLM_D_KUBECONFIG"]]
NAMESPACES = ("certificates", "edge", "teams")  # created by an administrator
EDGE: dict[str, t.Any] = {
    "provider": "envoy_gateway",
    "service_type": "ClusterIP",
    "name": "edge",
    "namespace": "edge",
    "routes_namespace": "teams",
    "class_name": "edge-class",
    "listener": {
        "name": "secure",
        "port": PORT,
        "protocol": "HTTPS",
        "hostname": "*.example.com",
        "tls_secret": "wildcard",
        "tls_secret_namespace": "certificates",
    },
    "listeners": [{"name": "plain", "port": PLAIN}],
}


@pytest.fixture(name="authority")
def _authority(stack: Stack, tmp_path: Path) -> t.Iterator[Path]:
    """The CA certificate file of the listener's certificate, whose Secret is in a separate namespace."""
    authority = pki.Authority(str(tmp_path), "test")
    authority.authority()
    authority.certificate("wildcard", "*.example.com", [], ["*.example.com"])
    data = {f"tls.{part}": base64.b64encode((tmp_path / f"wildcard.{part}").read_bytes()).decode() for part in ("crt", "key")}
    for namespace in NAMESPACES:
        stack.cluster.request("POST", "/api/v1/namespaces", body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": "wildcard"}, "data": data}
    stack.cluster.request("POST", "/api/v1/namespaces/certificates/secrets", body=secret)
    yield tmp_path / "ca.crt"
    for namespace in NAMESPACES:
        stack.cluster.request("DELETE", f"/api/v1/namespaces/{namespace}")


def ask(address: str, port: int, host: str, path: str, authority: Path | None = None, headers: t.Mapping[str, str] | None = None) -> tuple[int, str]:
    """(status, pod that answered) of a completion. authority: CA file for TLS with that host name."""
    plain = socket.create_connection((address, port), timeout=30)
    connection = http.client.HTTPConnection(host, port, timeout=30)
    connection.sock = ssl.create_default_context(cafile=str(authority)).wrap_socket(plain, server_hostname=host) if authority else plain
    body = json.dumps({"model": MODEL, "prompt": "Which way?", "max_tokens": 1})
    connection.request("POST", f"{path}/v1/completions", body, {"Content-Type": "application/json", "Host": host, **(headers or {})})
    answer = connection.getresponse()
    answer.read()
    return answer.status, answer.headers.get("x-inference-pod", "")


def test_https_with_a_host_name_and_a_route_in_another_namespace(stack: Stack, authority: Path) -> None:
    service = {**SIM, "name": "chat", "route": {"name": "entry", "path": "/chat", "hostnames": [HOST]}, "scheduler": {"grpc_port": 9102}}
    given = {"llm_d_instance": "edge", "llm_d_gateway": EDGE, "llm_d_model_services": [service]}
    # The validation requests use TLS too, and this host does not trust the authority.
    plays.well(INVENTORY, "site.yml", stack.artifacts, "--skip-tags", "validation", **given)
    gateway = stack.named(*GATEWAY, namespace="edge")["edge"]
    assert gateway["spec"]["gatewayClassName"] == "edge-class"
    assert list(stack.named(*ROUTE, namespace="teams")) == ["entry"] and "entry" not in stack.named(*ROUTE)
    address = gateway["status"]["addresses"][0]["value"]
    status, pod = ask(address, PORT, HOST, "/chat", authority)
    assert status == 200 and pod.startswith("chat-decode-"), (status, pod)
    assert ask(address, PORT, "other.example.com", "/chat", authority)[0] == 404, "the route is for its host name"
    assert ask(address, PORT, HOST, "", authority)[0] == 404, "the route is for its path"
    assert ask(address, PLAIN, HOST, "/chat")[0] == 200
    (picker,) = stack.pickers("chat").values()
    assert stack.picks(picker) >= 2, "requests pass through the endpoint picker, at its port"
    assert "changed=0 " in plays.well(INVENTORY, "site.yml", stack.artifacts, "--skip-tags", "validation", **given)
    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, **given)
    assert not stack.named(*ROUTE, namespace="teams") and NAMESPACE in stack.named("v1", "Namespace", namespace="")
    assert "changed=0 " in stack.serves(SIM)


@pytest.fixture(name="company")
def _company(stack: Stack, tmp_path: Path) -> t.Iterator[Path]:
    """The CA certificate file of cert-manager's ClusterIssuer `company`."""
    plays.well(INVENTORY, "playbooks/local_cluster.yml", stack.artifacts, local_cluster_extras=["cert_manager"])
    definitions = [str(CRDS), str(Path(__file__).parents[1] / "definitions/cert-manager.yml")]
    for each in definitions:
        kubectl("apply", "--server-side", "-f", each)
        if each == definitions[0]:
            kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", each)
    kubectl("wait", "--for=condition=Ready", "--timeout=120s", "--namespace", "cert-manager", "certificate/authority")
    secret = stack.cluster.get("/api/v1/namespaces/cert-manager/secrets/authority")
    (tmp_path / "company.crt").write_bytes(base64.b64decode(secret["data"]["tls.crt"]))
    yield tmp_path / "company.crt"
    for each in reversed(definitions):
        kubectl("delete", "--ignore-not-found", "--timeout=60s", "-f", each)


def kubectl(*arguments: str) -> None:
    """Run kubectl as the administrator of cert-manager."""
    done = subprocess.run([*KUBECTL, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"


def test_cert_manager_issues_the_certificate_of_a_listener(stack: Stack, company: Path) -> None:
    listener = {"name": "secure", "port": PORT, "protocol": "HTTPS", "hostname": HOST}
    gateway = {"provider": "envoy_gateway", "service_type": "ClusterIP", "name": "issued", "certificate_issuer": {"name": "company"}, "listener": listener}
    given = {"llm_d_instance": "issued", "llm_d_gateway": gateway, "llm_d_model_services": [{**SIM, "name": "safe", "replicas": 1}]}
    # The validation requests use TLS too, and this host does not trust the authority.
    plays.well(INVENTORY, "site.yml", stack.artifacts, "--skip-tags", "validation", **given)
    address = stack.named(*GATEWAY)["issued"]["status"]["addresses"][0]["value"]
    status, pod = ask(address, PORT, HOST, "", company)
    assert status == 200 and pod.startswith("safe-decode-"), (status, pod)
    assert "changed=0 " in plays.well(INVENTORY, "site.yml", stack.artifacts, "--skip-tags", "validation", **given)
    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, **given)
    assert not stack.named("cert-manager.io/v1", "Certificate"), "cert-manager removes the Certificate of the Gateway"
    kubectl("delete", "secret", "issued-secure-tls", "--namespace", NAMESPACE)  # which cert-manager keeps: no file of a later test has this listener


def test_a_header_selects_the_variant_and_the_verdict_checks_each_variant(stack: Stack) -> None:
    """Two model services behind one path: requests without the header of B go to A; each endpoint picker receives only its own."""
    variant = {**SIM, "name": "second", "replicas": 1, "route": {"headers": {"x-variant": "b"}}}
    stack.serves(SIM, variant)
    verdict = json.loads((stack.artifacts / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["ok"] and [entry["headers"] for entry in verdict["endpoints"]] == [{}, {"x-variant": "b"}]
    address = stack.gateway.removeprefix("http://")
    picks = {name: stack.picks(stack.picker(name)) for name in ("sim", "second")}
    for headers, wanted in (({}, "sim"), ({"x-variant": "b"}, "second"), ({"X-Variant": "b"}, "second"), ({"x-variant": "c"}, "sim")):
        answers = [ask(address, 80, address, "", headers=headers) for _each in range(5)]
        assert [(status, pod.startswith(f"{wanted}-decode-")) for status, pod in answers] == [(200, True)] * 5, (headers, answers)
    assert {name: stack.picks(stack.picker(name)) - before for name, before in picks.items()} == {"sim": 10, "second": 10}
    stack.serves(SIM)
    assert ask(address, 80, address, "", headers={"x-variant": "b"})[1].startswith("sim-decode-"), "without the variant all requests go to A"


def test_the_direct_path_passes_the_endpoint_picker_by(stack: Stack) -> None:
    stack.serves({**SIM, "route": {"direct_path": "/direct"}})
    picker = stack.picker("sim")
    before, address = stack.picks(picker), stack.gateway.removeprefix("http://")
    answers = [ask(address, 80, address, "/direct") for _each in range(20)]
    assert {status for status, _pod in answers} == {200} and {pod for _status, pod in answers} == set(stack.servers("sim"))
    assert stack.picks(picker) == before, "no request passed through the endpoint picker"
    assert ask(address, 80, address, "")[0] == 200 and stack.picks(picker) == before + 1
    stack.serves(SIM)
    assert "sim-direct" not in stack.named(*ROUTE) and ask(address, 80, address, "/direct")[0] == 404


def test_the_service_of_the_servers_has_a_name_and_a_port_of_its_own(stack: Stack) -> None:
    own = {**SIM, "service": {"name": "chat-api", "port": 80}, "route": {"direct_path": "/direct"}}
    with SteadyLoad(stack.url("sim"), MODEL, rate=10, long_tokens=50) as load:
        stack.serves(own, options=("--skip-tags", "validation"))  # whose claims count requests
    print(f"\n{load.report}")
    assert load.report.sent > 20 and not load.report.lost
    services = stack.named("v1", "Service")
    assert "sim" not in services and services["chat-api"]["spec"]["ports"][0]["port"] == 80
    cluster_ip, address = services["chat-api"]["spec"]["clusterIP"], stack.gateway.removeprefix("http://")
    picks = stack.picks(stack.picker("sim"))
    for where, path in ((address, ""), (address, "/direct"), (cluster_ip, "")):
        status, pod = ask(where, 80, where, path)
        assert status == 200 and pod in stack.servers("sim"), (where, path, status)
    assert stack.picks(stack.picker("sim")) == picks + 1, "the endpoint picker chooses the server of the first of them"
    assert "changed=0 " in stack.serves(own)
    stack.serves(SIM)
    assert "chat-api" not in stack.named("v1", "Service")


def answered_by(stack: Stack, requests: int) -> collections.Counter[str]:
    """{model: number of requests for `chat` that it answered}."""
    body = {"model": "chat", "prompt": "Who answers?", "max_tokens": 1}
    return collections.Counter(json.loads(call(f"{stack.gateway}/v1/completions", body)[2])["model"] for _each in range(requests))


def test_a_canary_by_weight_and_an_alias(stack: Stack) -> None:
    """A fifth of the requests for `chat` goes to the next model, an adapter of the same servers."""
    adapter = ['--lora-modules={"name":"next"}']
    canary = sim(engine={"args": adapter}, model={"served_name": MODEL, "aliases": {"chat": {MODEL: 80, "next": 20}}})
    stack.serves(canary)
    claims = {claim["id"]: claim for claim in json.loads((stack.artifacts / "verdict.json").read_text(encoding="utf-8"))["claims"]}
    assert claims["sim/aliases"]["evidence"] == "answered: chat, next"
    shares = answered_by(stack, 100)
    assert shares[MODEL] + shares["next"] == 100 and 5 <= shares["next"] <= 40, shares  # outside by chance once in 20,000 runs
    assert "changed=0 " in stack.serves(canary)
    stack.serves(sim(engine={"args": adapter}, model={"served_name": MODEL, "aliases": {"chat": "next"}}))
    assert answered_by(stack, 30) == {"next": 30}, "all requests, at the end of the rollout"
    stack.serves(sim(engine={"args": adapter}))
    assert not stack.named("inference.networking.x-k8s.io/v1alpha2", "InferenceModelRewrite"), "pruned with the aliases"
    assert call(f"{stack.gateway}/v1/completions", {"model": "chat", "prompt": "Who answers?"})[0] == 404
    stack.serves(SIM)


def cut_off(stack: Stack) -> bool:
    """Whether an answer of 20 seconds ends with a timeout."""
    try:
        stack.ask("sim", "a long story", tokens=200)
    except AssertionError as error:
        return "timeout" in str(error)
    return False


def test_a_slow_answer_outlives_the_gateways_own_timeout_and_not_one_of_the_file(stack: Stack) -> None:
    """Envoy's default timeout ends a response after 15 seconds."""
    slow = sim(engine={"simulator": {"inter_token_latency": "100ms"}}, replicas=1)
    skipped = ("--skip-tags", "validation")
    stack.serves(slow, options=skipped)
    assert stack.ask("sim", "a long story", tokens=200)  # 20 seconds
    stack.serves({**slow, "route": {"timeouts": {"request": "3s"}}}, options=skipped)
    until(lambda: cut_off(stack), 90, "the proxy applies the timeout of the file")
    stack.serves(SIM)


def test_more_requests_at_a_time_than_envoys_own_limit_and_no_more_than_the_limit_of_the_file(stack: Stack) -> None:
    """Envoy's default limit is 1024 requests to all servers of a model; it answers requests beyond a limit with 503."""
    slow = sim(engine={"max_num_seqs": 1024, "simulator": {"inter_token_latency": "3s"}})
    skipped = ("--skip-tags", "validation")
    stack.serves(slow, options=skipped)
    with SteadyLoad(stack.url("sim"), MODEL, rate=100, long_every=1, long_tokens=8) as load:
        until(lambda: load.report.sent >= 1500, 60, "1,500 requests are sent")
        answered = len(load.report.latencies) + len(load.report.lost)
    print(f"\n{load.report}; {load.report.sent - answered} in flight")
    assert load.report.sent - answered > 1024 and not load.report.lost

    limited = {"provider": "envoy_gateway", "service_type": "ClusterIP", "traffic": {"max_requests": 4, "load_balancing": "ROUND_ROBIN"}}
    stack.serves(slow, options=skipped, llm_d_gateway=limited)
    with SteadyLoad(stack.url("sim"), MODEL, rate=20, long_every=1, long_tokens=2) as load:
        until(lambda: load.report.statuses[503] > 20, 60, "requests beyond the limit are refused")
    print(f"\n{load.report}")
    assert set(load.report.statuses) == {200, 503}, load.report
    stack.serves(SIM)
