# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The address of a Gateway, and a proof of several services at once."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.inference.endpoints import listener_url, observe_gateway, wait_for_gateway
from ansible_collections.llm_d.inference.plugins.module_utils.validation import routing_proof as proofs
from ansible_collections.llm_d.inference.plugins.module_utils.validation.probe_traffic import ProbeLimits
from fake_clock import FakeClock
from local_servers import InferenceGateway, serve

LIMITS = ProbeLimits(gap=0.0, settle=0.2, request_timeout=60.0, wait=0.3)
REFERENCE = {"namespace": "llm-d", "name": "llm-d-gateway", "listener": "http"}
# A Gateway with the status that Envoy Gateway 1.9 writes
GATEWAY = {
    "metadata": {"namespace": "llm-d", "name": "llm-d-gateway", "generation": 2},
    "spec": {
        "gatewayClassName": "envoy-gateway",
        "listeners": [{"name": "admin", "port": 8080, "protocol": "HTTP"}, {"name": "http", "port": 80, "protocol": "HTTP"}],
    },
    "status": {
        "addresses": [{"type": "IPAddress", "value": "10.216.7.20"}],
        "conditions": [
            {"type": "Accepted", "status": "True", "reason": "Accepted", "observedGeneration": 2, "message": "The Gateway has been scheduled by Envoy Gateway"},
            {
                "type": "Programmed",
                "status": "True",
                "reason": "Programmed",
                "observedGeneration": 2,
                "message": "Address assigned to the Gateway, 1/1 envoy replicas available",
            },
        ],
    },
}
NAMES = {"requests": "inference_objective_request_total", "scheduler_attempts": "inference_extension_scheduler_attempts_total"}


def changed(**status):
    gateway = copy.deepcopy(GATEWAY)
    gateway["status"].update(status)
    return gateway


def test_a_gateway_that_is_programmed():
    assert observe_gateway(GATEWAY, REFERENCE) == {
        "name": "llm-d/llm-d-gateway",
        "address": "10.216.7.20",
        "url": "http://10.216.7.20",
        "programmed": True,
        "message": "Programmed Address assigned to the Gateway, 1/1 envoy replicas available; at 10.216.7.20",
    }


@pytest.mark.parametrize(
    "gateway, message",
    [
        (changed(addresses=[]), "it has no address"),
        (
            changed(
                conditions=[
                    {"type": "Accepted", "status": "False", "reason": "InvalidParameters", "message": "no such EnvoyProxy"},
                    GATEWAY["status"]["conditions"][1],
                ]
            ),
            "InvalidParameters no such EnvoyProxy",
        ),
        (changed(conditions=[]), "no controller has processed it"),
        ({"metadata": {"namespace": "llm-d", "name": "x"}}, "no controller has processed it"),
        (changed(conditions=[{"type": "Programmed", "status": "False", "reason": "AddressNotAssigned", "observedGeneration": 2}]), "AddressNotAssigned"),
        (changed(conditions=[{"type": "Programmed", "status": "True", "reason": "Programmed", "observedGeneration": 1}]), "has not observed the last change"),
    ],
)
def test_a_gateway_that_is_not(gateway, message):
    state = observe_gateway(gateway, REFERENCE)
    assert not (state["address"] and state["programmed"]) and message in state["message"]
    [claim], skipped = proofs.claims.judge_gateway(state)
    assert claim["ok"] is False and message in claim["evidence"] and claim["remedy"]


@pytest.mark.parametrize(
    "address, listener, url",
    [
        ("10.0.0.1", {"port": 80, "protocol": "HTTP"}, "http://10.0.0.1"),
        ("10.0.0.1", {"port": 8080, "protocol": "HTTP"}, "http://10.0.0.1:8080"),
        ("lb.example.com", {"port": 443, "protocol": "HTTPS"}, "https://lb.example.com"),
        ("fd00::1", {"port": 8443, "protocol": "HTTPS"}, "https://[fd00::1]:8443"),
        ("10.0.0.1", {}, "http://10.0.0.1"),
    ],
)
def test_urls(address, listener, url):
    assert listener_url(address, listener) == url


class Cluster:
    """A connection that returns Gateways in turn, and then the last one again."""

    def __init__(self, *gateways):
        self.gateways, self.paths, self.clock = list(gateways), [], FakeClock()

    def get(self, path):
        self.paths.append(path)
        if path == "/version":
            return {"gitVersion": "v1.34.4"}
        page = self.gateways[0] if len(self.gateways) == 1 else self.gateways.pop(0)
        if isinstance(page, Exception):
            raise page
        return page


def test_a_gateway_is_waited_for():
    cluster = Cluster(changed(addresses=[]), OSError("no route"), GATEWAY)
    assert wait_for_gateway(cluster, REFERENCE, 30)["address"] == "10.216.7.20"
    assert cluster.clock.sleeps == [1, 1]
    assert cluster.paths[0] == "/apis/gateway.networking.k8s.io/v1/namespaces/llm-d/gateways/llm-d-gateway"


def test_a_name_that_only_pods_resolve_is_the_address_of_its_service():
    gateway = changed(addresses=[{"type": "Hostname", "value": "llm-d-gateway-istio.llm-d.svc.cluster.local"}])
    cluster = Cluster(gateway, {"spec": {"clusterIP": "10.216.9.9"}})
    assert wait_for_gateway(cluster, REFERENCE, 0)["url"] == "http://10.216.9.9"
    assert cluster.paths[1] == "/api/v1/namespaces/llm-d/services/llm-d-gateway-istio"


def test_a_missing_gateway_fails_the_gateway_claim():
    state = wait_for_gateway(Cluster(OSError("gateways llm-d-gateway not found")), REFERENCE, 0)
    [claim], skipped = proofs.claims.judge_gateway(state)
    assert claim["ok"] is False and "not found" in claim["evidence"]


def service(name, url=None, **more):
    return {
        "name": name,
        "model": "acme/tiny",
        "url": url,
        "path": None,
        "host_header": None,
        "api": "completions",
        "promises": ["sticky", "spread"],
        "replicas": 2,
        "metrics": {"url": url, "path": "/metrics", "names": NAMES} if url else None,
        "api_key": None,
        "validate_certs": True,
        "ca_path": None,
        "use_proxy": False,
        **more,
    }


def test_several_services_at_once():
    with serve(InferenceGateway()) as one, serve(InferenceGateway(sticky=False)) as two:
        result = proofs.Proof({"gateway": None, "services": [service("one", one), service("two", two)]}, None, LIMITS).run()
    assert [entry["name"] for entry in result["endpoints"]] == ["one", "two"] and result["endpoints"][0]["url"] == one
    assert result["ok"] is False and result["kubernetes"] is None and result["seconds"] > 0
    assert [entry["id"] for entry in result["claims"] if not entry["ok"]] == ["two/sticky"]
    assert [entry["sent"] for entry in result["observations"]] == [10, 10]
    assert len(result["time"]) == 20 and result["time"].endswith("Z")


def test_the_service_address_is_read_from_the_gateway():
    with serve(InferenceGateway()) as url:
        host, port = url.removeprefix("http://").split(":")
        gateway = changed(addresses=[{"value": host}])
        gateway["spec"]["listeners"] = [{"name": "http", "port": int(port), "protocol": "HTTP"}]
        options = {"gateway": REFERENCE, "services": [service("one", metrics={"url": url, "path": "/metrics", "names": NAMES}, path="/")]}
        result = proofs.Proof(options, Cluster(gateway), LIMITS).run()
    assert result["ok"] and result["claims"][0]["id"] == "gateway/programmed" and result["kubernetes"] == "v1.34.4"
    assert result["endpoints"][0]["url"] == url


def test_no_request_is_sent_without_a_gateway_address():
    result = proofs.Proof({"gateway": REFERENCE, "services": [service("one")]}, Cluster(changed(addresses=[])), ProbeLimits(wait=0)).run()
    assert result["ok"] is False and result["endpoints"] == [] and result["observations"] == []
    assert result["not_checked"] == [{"id": "one", "why": "its gateway has no address"}]


def test_a_proof_without_services_fails():
    assert proofs.Proof({"gateway": None, "services": []}, None, LIMITS).run()["ok"] is False


@pytest.mark.parametrize(
    "options, needed",
    [
        ({"gateway": REFERENCE, "services": []}, True),
        ({"gateway": None, "services": [service("one", "http://a")]}, False),
        ({"gateway": None, "services": [service("one", "http://a", metrics={"namespace": "llm-d", "labels": {"a": "b"}})]}, True),
        ({"gateway": None, "services": [service("one", "http://a", metrics=None)]}, False),
    ],
)
def test_whether_a_cluster_is_needed(options, needed):
    assert proofs.needs_cluster(options) is needed
