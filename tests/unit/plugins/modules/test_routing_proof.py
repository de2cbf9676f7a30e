# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a plan to the claims: the module with the very options that the role gives it, against a gateway, pickers and servers on loopback."""

from __future__ import annotations

import contextlib
import json

import pytest
from ansible_collections.llm_d.inference.plugins.filter.validation_targets import validation_targets
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan as make_plan
from ansible_collections.llm_d.inference.plugins.module_utils.validation import routing_proof as proofs
from ansible_collections.llm_d.inference.plugins.module_utils.validation.verdict import curl
from ansible_collections.llm_d.inference.plugins.modules import routing_proof
from engine_servers import SECRET, SECRETS, ApiServer, keyed, pod
from local_servers import JSON, InferenceGateway, serve, whole


def target(preset, **scheduler):
    """What the role gives for one service of two servers."""
    service = {
        "name": "sim",
        "model": {"served_name": "acme/tiny"},
        "replicas": 2,
        "engine": {"type": "simulator"},
        "scheduler": {"preset": preset, **scheduler},
    }
    (found,) = validation_targets(make_plan({"llm_d_release": "scheduler-0.7", "llm_d_model_services": [service]}))["services"]
    return found


@pytest.fixture(name="prove")
def proof(call, monkeypatch):
    def prove(service, gateway, pickers=1):
        def server(name):
            def answer(_handler, _method, path, body):
                if path == "/metrics":
                    page = f"vllm:request_success_total {gateway.cold}\nvllm:num_requests_waiting {gateway.waiting.get(name, 0)}\n"
                    return 200, {"Content-Type": "text/plain"}, page
                if json.loads(body).get("ignore_eos"):
                    gateway.keep_busy(name, 2.0)
                gateway.homes[json.loads(body)["prompt"][:256]] = name
                return 200, {"Content-Type": JSON}, whole()

            return answer

        with contextlib.ExitStack() as stack:
            url = stack.enter_context(serve(gateway))
            pods = [pod(f"sim-epp-{index}", url, service["metrics"]["labels"]) for index in range(pickers)]
            for group in service["servers"]["groups"]:
                names = gateway.knobs["servers"] if group["role"] == "decode" else [f"sim-{group['role']}-a"]
                pods += [pod(name, stack.enter_context(serve(server(name))), group["labels"]) for name in names]
            monkeypatch.setenv("K8S_AUTH_HOST", stack.enter_context(serve(ApiServer(pods))))
            monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
            found = call(routing_proof, services=[{**service, "url": url}])
        return {entry["id"].split("/")[1]: entry for entry in found["claims"]}, found

    return prove


def ran(service):
    return [(point, name) for part in (service["plugins"], service["sometimes"]) for point, names in part.items() for name in names]


@pytest.mark.parametrize(
    ("preset", "own"),
    [
        ("balanced", {"sticky", "cached"}),
        ("round_robin", {"roam"}),
        ("precise_prefix", {"sticky", "cached", "follow"}),
        ("disaggregated", {"sticky", "cached", "split"}),
    ],
)
@pytest.mark.usefixtures("clock")
def test_each_preset_is_proven_by_what_it_promises(prove, preset, own):
    proven_by_what_it_promises(prove, preset, own)


@pytest.mark.timing  # the queue lasts as long as the requests that fill it
def test_a_preset_that_avoids_queues(prove):
    proven_by_what_it_promises(prove, "queue", {"avoid"})


def proven_by_what_it_promises(prove, preset, own):
    service = target(preset)
    gateway = InferenceGateway(plugins=ran(service), sticky=preset not in ("round_robin", "queue"), pod_label=True, ready=service["endpoints"])
    claims, found = prove(service, gateway)
    assert found.get("ok") is True, found.get("msg")
    assert set(claims) == {"serving", "scheduled", "counted", "endpoints", "plugins", "obeyed", "spread"} | own
    assert [entry["id"] for entry in found["not_checked"]] == ([] if "sticky" in own else ["sim/sticky"])


@pytest.mark.usefixtures("clock")
def test_a_preset_is_not_proven_by_what_another_one_does(prove):
    service = target("round_robin")
    claims, found = prove(service, InferenceGateway(plugins=ran(target("balanced"))))
    assert found["failed"] is True and {name for name, entry in claims.items() if not entry["ok"]} == {"plugins", "roam"}


@pytest.mark.usefixtures("clock")
def test_all_endpoint_pickers_are_read(prove):
    service = target("balanced", replicas=2)
    claims, found = prove(service, InferenceGateway(plugins=ran(service)), pickers=2)
    # the two pages are the same one here, so that each request counts twice
    assert found["observations"][0]["pickers"] == 2 and "requests by 20" in claims["counted"]["evidence"]


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("way", ["gateway", "service"])
def test_an_address_without_a_route_is_reached_by_port_forward(call, monkeypatch, way):
    """As on a host outside of kind's or minikube's cluster: the address of the Gateway is a ClusterIP."""
    monkeypatch.setattr(proofs, "unanswered", lambda url, _use_proxy: url == "http://192.0.2.7:8081")
    with serve(InferenceGateway()) as url, contextlib.ExitStack() as stack:
        listener = {"name": "http", "port": 8081, "protocol": "HTTP"}
        status = {"addresses": [{"value": "192.0.2.7"}], "conditions": [{"type": "Programmed", "status": "True", "reason": "Programmed"}]}
        proxy = {"metadata": {"namespace": "gw", "name": "proxy"}, "spec": {"clusterIP": "192.0.2.7", "selector": {"app": "proxy"}, "ports": [{"port": 8081}]}}
        objects = {
            "/apis/gateway.networking.k8s.io/v1": {"resources": [{"kind": "Gateway", "name": "gateways", "namespaced": True}]},
            "/apis/gateway.networking.k8s.io/v1/namespaces/llm-d/gateways/g": {"spec": {"listeners": [listener]}, "status": status},
            "/api/v1/services": {"items": [proxy]},
            "/api/v1/namespaces/gw/services/proxy": proxy,
        }
        api = ApiServer([pod("proxy-a", url, {"app": "proxy"})], objects)
        monkeypatch.setenv("K8S_AUTH_HOST", stack.enter_context(serve(api)))
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        names = {"requests": "inference_objective_request_total", "scheduler_attempts": "inference_extension_scheduler_attempts_total"}
        service = {"name": "sim", "model": "acme/tiny", "replicas": 2, "metrics": {"url": url, "names": names}}
        place = {"gateway": {"namespace": "llm-d", "name": "g"}} if way == "gateway" else {}
        service |= {} if way == "gateway" else {"address": {"namespace": "gw", "name": "proxy", "port": 8081}}
        found = call(routing_proof, services=[service], **place)
    assert found["ok"], [entry for entry in found["claims"] if not entry["ok"]]
    (endpoint,) = found["endpoints"]
    assert endpoint["through"] == "Service gw/proxy" and {name for _token, name, _port in api.asked} == {"proxy-a"}
    serving = next(entry for entry in found["claims"] if entry["id"] == "sim/serving")
    assert "http://192.0.2.7:8081 (by port-forward to Service gw/proxy" in serving["evidence"]
    assert curl(endpoint).startswith("kubectl -n gw port-forward service/proxy 8080:8081 & curl -si http://127.0.0.1:8080/v1/completions ")


@pytest.mark.usefixtures("clock")
def test_the_key_of_the_servers_goes_through_the_gateway(call, monkeypatch):
    names = {"requests": "inference_objective_request_total", "scheduler_attempts": "inference_extension_scheduler_attempts_total"}
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(serve(keyed(InferenceGateway())))
        api = ApiServer([], SECRETS)
        monkeypatch.setenv("K8S_AUTH_HOST", stack.enter_context(serve(api)))
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        service = {"name": "sim", "model": "acme/tiny", "replicas": 2, "url": url, "metrics": {"url": url, "names": names}}
        found = call(routing_proof, services=[{**service, "api_key_secret": SECRET}])
        keyless = call(routing_proof, services=[service], wait=0)
        api.objects = {}
        absent = call(routing_proof, services=[{**service, "api_key_secret": SECRET}])
    assert found["ok"], [entry for entry in found["claims"] if not entry["ok"]]
    assert keyless["failed"] and "llm_d_api_key" in json.dumps(keyless["claims"])
    assert absent["failed"] and "there is no Secret llm-d/keys" in absent["msg"]
    (endpoint,) = found["endpoints"]
    assert endpoint["api_key_secret"] == SECRET and "get secret keys" in curl(endpoint)
    assert "sk-model" not in json.dumps([found, keyless, absent])
