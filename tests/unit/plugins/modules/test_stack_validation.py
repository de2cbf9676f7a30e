# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a plan to the claims: the module with a plan, against a gateway, pickers and servers on loopback."""

from __future__ import annotations

import contextlib
import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan as make_plan
from ansible_collections.llm_d.inference.plugins.module_utils.validation import routing_proof as proofs
from ansible_collections.llm_d.inference.plugins.module_utils.validation import targets
from ansible_collections.llm_d.inference.plugins.module_utils.validation.verdict import curl
from ansible_collections.llm_d.inference.plugins.modules import stack_validation
from engine_servers import SECRET, SECRETS, ApiServer, keyed, pod
from keeping_api_server import empty
from local_servers import JSON, InferenceGateway, closed_port, serve, whole


def target(preset, **scheduler):
    """The options that the role passes for one service with two servers."""
    service = {
        "name": "sim",
        "model": {"served_name": "acme/tiny"},
        "replicas": 2,
        "engine": {"type": "simulator"},
        "scheduler": {"preset": preset, **scheduler},
    }
    (routed,) = targets.services_with_promises(make_plan({"llm_d_release": "scheduler-0.7", "llm_d_model_services": [service]}))
    return routed


def planned(**service):
    return make_plan({"llm_d_model_services": [{"name": "sim", "model": {"served_name": "acme/tiny"}, "engine": {"type": "simulator"}, **service}]})


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
            result = call(stack_validation, services=[{**service, "url": url}])
        return {entry["id"].split("/")[1]: entry for entry in result["verdict"]["claims"]}, result

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
def test_each_preset_passes_the_claims_about_its_own_behavior(prove, preset, own):
    proven_by_what_it_promises(prove, preset, own)


@pytest.mark.timing  # the queue lasts as long as the requests that fill it
def test_a_preset_that_avoids_queues(prove):
    proven_by_what_it_promises(prove, "queue", {"avoid"})


def proven_by_what_it_promises(prove, preset, own):
    service = target(preset)
    gateway = InferenceGateway(plugins=ran(service), sticky=preset not in ("round_robin", "queue"), pod_label=True, ready=service["endpoints"])
    claims, result = prove(service, gateway)
    assert result["verdict"]["ok"] is True, result
    assert set(claims) == {"serving", "scheduled", "counted", "endpoints", "plugins", "obeyed", "spread"} | own
    assert [entry["id"] for entry in result["verdict"]["not_checked"]] == ([] if "sticky" in own else ["sim/sticky"])


@pytest.mark.usefixtures("clock")
def test_a_preset_is_not_proven_by_what_another_one_does(prove):
    service = target("round_robin")
    claims, result = prove(service, InferenceGateway(plugins=ran(target("balanced"))))
    assert "failed" not in result and result["verdict"]["ok"] is False and {name for name, entry in claims.items() if not entry["ok"]} == {"plugins", "roam"}


@pytest.mark.usefixtures("clock")
def test_all_endpoint_pickers_are_read(prove, monkeypatch):
    observed = []

    class Recording(proofs.Proof):
        def run(self):
            observed.append(super().run())
            return observed[0]

    monkeypatch.setattr(stack_validation, "Proof", Recording)
    service = target("balanced", replicas=2)
    claims, _result = prove(service, InferenceGateway(plugins=ran(service)), pickers=2)
    # the two pages are the same one here, so that each request counts twice
    assert observed[0]["observations"][0]["pickers"] == 2 and "requests by 20" in claims["counted"]["evidence"]


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("way", ["gateway", "service"])
def test_an_address_without_a_route_is_reached_by_port_forward(call, monkeypatch, way):
    """The address of the Gateway is a ClusterIP, which a host outside of a kind or minikube cluster cannot reach."""
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
        result = call(stack_validation, services=[service], **place)
    verdict = result["verdict"]
    assert verdict["ok"], [entry for entry in verdict["claims"] if not entry["ok"]]
    (endpoint,) = verdict["endpoints"]
    assert endpoint["through"] == "Service gw/proxy" and {name for _token, name, _port in api.port_forwards} == {"proxy-a"}
    serving = next(entry for entry in verdict["claims"] if entry["id"] == "sim/serving")
    assert "http://192.0.2.7:8081 (by port-forward to Service gw/proxy" in serving["evidence"]
    assert curl(endpoint).startswith("kubectl -n gw port-forward service/proxy 8080:8081 & curl -si http://127.0.0.1:8080/v1/completions ")


@pytest.mark.usefixtures("clock")
def test_the_api_key_of_the_model_servers_is_sent_through_the_gateway(call, monkeypatch):
    names = {"requests": "inference_objective_request_total", "scheduler_attempts": "inference_extension_scheduler_attempts_total"}
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(serve(keyed(InferenceGateway())))
        api = ApiServer([], SECRETS)
        monkeypatch.setenv("K8S_AUTH_HOST", stack.enter_context(serve(api)))
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        service = {"name": "sim", "model": "acme/tiny", "replicas": 2, "url": url, "metrics": {"url": url, "names": names}}
        result = call(stack_validation, services=[{**service, "api_key_secret": SECRET}])
        keyless = call(stack_validation, services=[service], wait=0)
        api.objects = {}
        absent = call(stack_validation, services=[{**service, "api_key_secret": SECRET}])
    assert result["verdict"]["ok"], [entry for entry in result["verdict"]["claims"] if not entry["ok"]]
    assert not keyless["verdict"]["ok"] and "llm_d_api_key" in json.dumps(keyless["verdict"]["claims"])
    assert absent["failed"] and "there is no Secret llm-d/keys" in absent["msg"]
    (endpoint,) = result["verdict"]["endpoints"]
    assert endpoint["api_key_secret"] == SECRET and "get secret keys" in curl(endpoint)
    assert "sk-model" not in json.dumps([result, keyless, absent])


def test_an_api_server_that_does_not_answer_is_the_verdict(call):
    result = call(stack_validation, plan=planned(), host=f"http://127.0.0.1:{closed_port()}", api_key="x-token-12345678")
    assert result["failed"] and result["reached"] is False and "\n" not in result["msg"] and "verdict" not in result
    verdict = call(stack_validation, plan=planned(), unreached=result["msg"])["verdict"]
    (claim,) = verdict["claims"]
    assert claim["id"] == "platform/reachable" and claim["evidence"] == result["msg"] and not verdict["ok"]
    assert verdict["instance"] == "llm-d" and len(verdict["time"]) == 20


def test_credentials_that_are_not_accepted(call):
    with serve(lambda *_request: (401, {"Content-Type": JSON}, json.dumps({"kind": "Status", "code": 401, "message": "no"}))) as url:
        result = call(stack_validation, plan=planned(), host=url, api_key="x-token-12345678")
    assert result["failed"] and result["reached"] is False and "(401)" in result["msg"]


def test_an_empty_cluster_fails_claims_and_not_the_task(call, monkeypatch):
    """The options of a module are in its result with -vvv, and a plan has prompts in it."""
    prompt = "You are the patient assistant of a shop for boots."
    with serve(empty) as url:
        monkeypatch.setenv("K8S_AUTH_HOST", url)
        monkeypatch.setenv("K8S_AUTH_API_KEY", "x-token-12345678")
        result = call(stack_validation, plan=planned(warmup={"prompts": [prompt]}), patient=False, wait=0, timeout=0)
    ids = [entry["id"] for entry in result["verdict"]["claims"]]
    assert "failed" not in result and not result["verdict"]["ok"] and result["verdict"]["cluster"] == url and prompt not in json.dumps(result)
    assert ids[0].startswith("platform/") and {"sim/warm", "gateway/programmed", "sim/configured", "sim/servers", "sim/permissions"} <= set(ids)
    assert [name for name in ids if name in ("sim/warm", "sim/configured", "sim/servers")] == ["sim/warm", "sim/configured", "sim/servers"]


def test_a_plan_is_not_validated_in_check_mode(call):
    result = call(stack_validation, check=True, plan=planned(warmup={"prompts": ["You are patient, and sell boots."]}), host="http://127.0.0.1:1")
    assert "verdict" not in result and "failed" not in result and "boots" not in json.dumps(result)


def test_claims_about_a_load_are_added_to_a_verdict(call):
    before = {"ok": True, "claims": [{"id": "sim/serving", "ok": True}]}
    verdict = call(stack_validation, verdict=before, performance=[{"item": {"name": "sim"}, "msg": "connection refused"}])["verdict"]
    assert [entry["id"] for entry in verdict["claims"]] == ["sim/serving", "sim/performance"] and not verdict["ok"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one of the following is required: plan, services, verdict"),
        ({"plan": {"services": []}}, "plan lacks instance, namespace"),
        ({"plan": {}, "services": []}, "mutually exclusive"),
        ({"verdict": {}}, "performance"),
    ],
)
def test_incomplete_or_conflicting_options_are_refused(call, options, message):
    assert message in call(stack_validation, **options)["msg"]
