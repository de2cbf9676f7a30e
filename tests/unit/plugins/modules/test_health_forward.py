# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers behind forwarded ports: real WebSockets to an API server on loopback, opened and closed by the module."""

from __future__ import annotations

import contextlib
import time

import pytest
from ansible_collections.llm_d.inference.plugins.modules import vllm_health, vllm_health_info
from engine_servers import SECRET, SECRETS, ApiServer, engine, keyed, pod
from local_servers import closed_port, drip, raw, serve

pytestmark = pytest.mark.usefixtures("clock")

LABELS = {"llm-d.ai/model-service": "tiny"}
REPLICAS = {"namespace": "llm-d", "label_selector": "llm-d.ai/model-service=tiny"}
SERVICE = {
    "/api/v1/namespaces/llm-d/services/tiny": {
        "kind": "Service",
        "metadata": {"name": "tiny"},
        "spec": {"selector": LABELS, "ports": [{"name": "web", "port": 80, "targetPort": "http"}]},
    }
}


@contextlib.contextmanager
def cluster(monkeypatch, *pods, **options):
    """An API server that forwards to these pods, which the environment names; gives it. No connection may be open when it ends."""
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    api = ApiServer(list(pods), **options)
    with serve(api) as url:
        monkeypatch.setenv("K8S_AUTH_HOST", url)
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        yield api
        assert api.closed()


class Locked:
    """A server that requires a key and records host names."""

    def __init__(self):
        self.hosts = set()

    def __call__(self, handler, method, path, body):
        self.hosts.add(handler.headers["Host"])
        if path.startswith("/v1") and handler.headers.get("Authorization") != "Bearer sk-model":
            return 401, {"Content-Type": "application/json"}, '{"error":"Unauthorized"}'
        return engine("vllm")(handler, method, path, body)


def test_replicas_with_a_key_and_their_metrics(call, monkeypatch):
    servers = [Locked(), Locked()]
    with contextlib.ExitStack() as stack:
        pods = [pod(f"pod-{index}", stack.enter_context(serve(server)), LABELS) for index, server in enumerate(servers)]
        api = stack.enter_context(cluster(monkeypatch, *pods))
        result = call(
            vllm_health,
            replicas={**REPLICAS, "count": 2},
            through="port_forward",
            api_key="sk-model",
            level="metrics",
            timeout=60,
            apis=["completions", "chat_completions"],
            host_header="llama.example.com",
        )
        locked = call(vllm_health_info, replicas=REPLICAS, through="port_forward")
    assert (
        result["healthy"]
        and result["metrics"]["block_size"]["value"] == 16.0
        and [each["server"] for each in result["servers"]] == ["Pod llm-d/pod-0", "Pod llm-d/pod-1"]
    )
    assert "Pod llm-d/pod-0:8000 (port-forward)" in result["checks"][0]["evidence"] and servers[0].hosts == {"llama.example.com", "pod-0.llm-d.pod:8000"}
    assert {key for key, _name, _port in api.port_forwards} == {"Bearer sk-token-of-the-test"}
    assert {(name, port) for _key, name, port in api.port_forwards} == {("pod-0", 8000), ("pod-1", 8000)}
    assert not locked["healthy"] and locked["checks"][-1]["kind"] == "unauthorized"


@pytest.mark.parametrize("way", ["replicas", "groups"])
def test_the_key_is_read_from_the_secret_of_the_servers(call, monkeypatch, way):
    replicas = {**REPLICAS, "api_key_secret": SECRET}
    place = {"replicas": replicas} if way == "replicas" else {"groups": [{"name": "tiny", "replicas": replicas}]}
    with serve(keyed(engine("vllm"))) as url, cluster(monkeypatch, pod("pod-0", url, LABELS), objects=SECRETS) as api:
        result = call(vllm_health_info, level="metrics", **place)
        other = call(vllm_health_info, replicas=replicas, api_key="sk-of-the-gateway")
        api.objects = {}
        absent = call(vllm_health_info, replicas=replicas)
    assert result["healthy"] and other["healthy"] and {name for _key, name, _port in api.port_forwards} == {"pod-0"}
    assert "there is no Secret llm-d/keys with the API key of the servers" in absent["msg"]
    assert "sk-model" not in str([result, other, absent])


def test_a_service_is_checked_through_a_ready_pod_behind_its_port(call, monkeypatch):
    with serve(engine("vllm")) as url, cluster(monkeypatch, pod("pod-0", url, LABELS, ready=False), pod("pod-1", url, LABELS), objects=SERVICE) as api:
        for port in ("80", "web"):
            result = call(vllm_health_info, service={"namespace": "llm-d", "name": "tiny", "port": port}, through="port_forward", level="ready")
            assert result["healthy"] and result["servers"][0]["server"] == "Service llm-d/tiny"
        no_port = call(vllm_health_info, service={"namespace": "llm-d", "name": "tiny", "port": "81"}, through="port_forward")
        absent = call(vllm_health_info, service={"namespace": "llm-d", "name": "other", "port": "80"}, through="port_forward")
    assert {(name, port) for _key, name, port in api.port_forwards} == {("pod-1", 8000)}
    assert (
        "Service llm-d/tiny has no port 81" in no_port["msg"] and "there is no Service llm-d/other: correct service.namespace or service.name" in absent["msg"]
    )


@pytest.mark.parametrize(("status", "remedy"), [(403, "pods/portforward"), (404, "the pod is gone"), (500, "does not forward ports")])
def test_an_api_server_that_refuses(call, monkeypatch, status, remedy):
    with serve(engine("vllm")) as url, cluster(monkeypatch, pod("pod-0", url, LABELS)) as api:
        api.refuses = status
        result = call(vllm_health_info, pod={"namespace": "llm-d", "name": "pod-0"}, through="port_forward", retries=0)
    check = result["checks"][0]
    assert (
        not result["healthy"] and check["kind"] == {403: "forbidden"}.get(status, "cluster") and str(status) in check["evidence"] and remedy in check["remedy"]
    )
    assert "sk-token-of-the-test" not in str(result) and "\n" not in check["evidence"]


def test_a_refused_connection_to_a_forwarded_port_has_a_remedy(call, monkeypatch):
    with cluster(monkeypatch, pod("pod-0", f"http://127.0.0.1:{closed_port()}", LABELS)):
        result = call(vllm_health_info, pod={"namespace": "llm-d", "name": "pod-0"}, through="port_forward", retries=0)
    check = result["checks"][0]
    assert check["kind"] == "refused" and "Connection refused" in check["evidence"] and "vLLM listens only once" in check["remedy"]


@pytest.mark.timing
@pytest.mark.parametrize("talk", [lambda connection: time.sleep(20), drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x")])
def test_a_hanging_server_times_out_and_leaves_no_connection_open(call, monkeypatch, talk):
    start = time.monotonic()
    with raw(talk) as url, cluster(monkeypatch, pod("pod-0", url, LABELS)):
        result = call(vllm_health_info, pod={"namespace": "llm-d", "name": "pod-0"}, through="port_forward", request_timeout=0.5, retries=0)
        took = time.monotonic() - start
    assert result["checks"][0]["kind"] == "timeout" and took < 5


def test_https_through_a_port_forward_verifies_the_host_name(call, monkeypatch, certificate):
    """The certificate is one for 127.0.0.1."""

    def look(**options):
        one = {"namespace": "llm-d", "name": "pod-0", "scheme": "https"}
        return call(vllm_health_info, pod=one, through="port_forward", level="alive", retries=0, **options)

    with serve(engine("vllm"), certificate) as url, cluster(monkeypatch, pod("pod-0", url, LABELS)):
        assert look(validate_certs=False)["healthy"] and look(ca_path=certificate[0], host_header="127.0.0.1")["healthy"]
        assert look()["checks"][0]["kind"] == "tls_untrusted" and look(ca_path=certificate[0])["checks"][0]["kind"] == "tls_untrusted"


def test_a_broken_answer_of_the_server_is_as_without_a_forward(call, monkeypatch):
    def cut(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nabc")

    with raw(cut) as url, cluster(monkeypatch, pod("pod-0", url, LABELS)):
        result = call(vllm_health_info, pod={"namespace": "llm-d", "name": "pod-0"}, through="port_forward", retries=0)
    assert result["checks"][0]["kind"] == "truncated"
