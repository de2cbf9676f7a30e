# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a plan that are validated."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan as make_plan
from ansible_collections.llm_d.inference.plugins.module_utils.validation import targets


def test_targets(plan):
    llama, qwen = targets.services(plan)
    labels = {"app.kubernetes.io/name": "endpoint-picker", "app.kubernetes.io/instance": "llama-8b-epp"}
    assert llama.pop("servers") == {"namespace": "llm-d", "groups": [{"role": "decode", "labels": plan["services"][0]["server"]["selector"], "port": "8000"}]}
    assert llama == {
        "name": "llama-8b",
        "model": "acme/tiny",
        "aliases": [],
        "path": "/",
        "host_header": "llama.example.com",
        "headers": {},
        "weights": {},
        "shared_headers": {},
        "api_key_secret": None,
        "replicas": 2,
        "endpoints": 2,
        "events_wait": 45.0,
        "max_num_seqs": 5,
        "address": None,
        "metrics": {
            "namespace": "llm-d",
            "labels": labels,
            "port": "9090",
            "names": {
                "requests": "inference_objective_request_total",
                "scheduler_attempts": "inference_extension_scheduler_attempts_total",
                "ready_endpoints": "inference_pool_ready_pods",
                "plugin_duration": "inference_extension_plugin_duration_seconds",
                "disagg_decisions": "llm_d_inference_scheduler_disagg_decision_total",
            },
        },
    }
    assert (qwen["host_header"], qwen["replicas"]) == ("validation.example.org", 1)


def test_services_that_share_a_route_are_requested_separately():
    one = {"name": "old", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "route": {"headers": {"x-a": "b"}, "weights": {"old": 9, "new": 1}}}
    shared = make_plan({"llm_d_model_services": [one, {**one, "name": "new", "route": {"path": "/new"}}]})
    old, new = targets.services(shared)
    assert (old["headers"], old["shared_headers"], old["weights"]) == ({"x-a": "b", "x-llm-d-service": "old"}, {"x-a": "b"}, {"old": 9, "new": 1})
    assert (new["headers"], new["weights"]) == ({}, {})
    assert {entry["name"] for entry in targets.required_objects(shared) if entry["kind"] == "HTTPRoute"} == {"old", "new", "old.new"}


def test_objects(plan):
    references = [(entry["kind"], entry["namespace"], entry["name"]) for entry in targets.required_objects(plan)]
    assert references[:2] == [("Gateway", "llm-d", "llm-d-gateway"), ("Deployment", "envoy-gateway-system", "envoy-gateway")]
    assert {("Deployment", "llm-d", "llama-8b-decode"), ("Deployment", "llm-d", "llama-8b-epp")} < set(references)
    assert {("HTTPRoute", "llm-d", "qwen"), ("InferencePool", "llm-d", "qwen")} < set(references)
    assert len(references) == len(set(references)) == 2 + 2 * 4


def test_pools_need_the_gateway_as_parent_if_its_controller_reports_pools(plan):
    assert not [entry for entry in targets.required_objects(plan) if "parent" in entry]
    plan["gateway"]["pool_status"] = True
    pools = [entry for entry in targets.required_objects(plan) if entry["kind"] == "InferencePool"]
    assert [entry["parent"] for entry in pools] == ["llm-d/llm-d-gateway"] * 2


def test_a_controller_that_the_file_does_not_install_is_not_checked(plan):
    plan["gateway"]["install"] = False
    assert "envoy-gateway-system" not in {entry["namespace"] for entry in targets.required_objects(plan)}


def test_workloads_need_the_planned_replicas_unless_they_are_autoscaled(plan):
    def least():
        return {entry["name"]: entry.get("least") for entry in targets.required_objects(plan) if entry["kind"] == "Deployment"}

    service = plan["services"][0]
    service["server"]["replicas"], service["scheduler"]["replicas"] = 3, 2
    assert least()["envoy-gateway"] == 1 and least()["llama-8b-decode"] == 3 and least()["llama-8b-epp"] == 2
    service["server"]["autoscaling"] = {"min": 0, "max": 3}
    assert least()["llama-8b-decode"] is None, "it may be scaled to 0"


def test_the_model_servers_of_each_service_are_checked(plan):
    llama, qwen = targets.servers(plan)
    assert llama["name"] == "llama-8b/servers" and llama["block_size"] == 16
    assert llama["model"] == "acme/tiny" and llama["replicas"]["count"] == 2 and llama["replicas"]["port"] == "8000"
    assert "llm-d.ai/role=decode" in llama["replicas"]["label_selector"] and qwen["replicas"]["count"] == 1


@pytest.mark.parametrize(
    ("scheduler", "signals"),
    [
        ({"preset": "balanced"}, []),
        ({"scorers": {"queue": 1, "lora_affinity": 2}}, ["lora"]),
        (
            {
                "plugins": [{"type": "lora-affinity-scorer"}, {"type": "max-score-picker"}],
                "profiles": [{"name": "default", "plugins": [{"pluginRef": "lora-affinity-scorer", "weight": 1}, {"pluginRef": "max-score-picker"}]}],
            },
            ["lora"],
        ),
    ],
)
def test_servers_must_export_the_metrics_of_the_planned_scorers(scheduler, signals):
    made = make_plan(
        {
            "llm_d_model_services": [{"name": "a", "model": {"uri": "hf://acme/tiny"}, "engine": {"type": "simulator"}, "scheduler": scheduler}],
            "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"},
        }
    )
    assert [group["signals"] for group in targets.servers(made)] == [["waiting", "running", "kv_cache", *signals]]


def test_security_targets_have_the_account_selectors_and_rules(plan):
    llama, _qwen = targets.security_services(plan)
    assert llama["account"] == "llama-8b-epp" and len(llama["selectors"]) == 2
    assert {"pods", "inferencepools"} <= {resource for rule in llama["rules"] for resource in rule["resources"]}


def test_validation_expects_every_component_to_be_installed(plan):
    needs = targets.platform_needs(plan)
    assert set(needs["installs"].values()) == {False} and needs["permissions"] == plan["preflight"]["permissions"]


def test_objects_with_a_claim_of_their_own(plan):
    named = targets.object_claims(plan)
    assert named[("HTTPRoute", "llm-d", "qwen")] == "qwen/route" and named[("InferencePool", "llm-d", "llama-8b")] == "llama-8b/pool"
    assert set(named) <= {(entry["kind"], entry["namespace"], entry["name"]) for entry in targets.required_objects(plan)}


def test_only_the_routing_validation_gets_the_promises_of_a_policy(plan):
    llama, qwen = targets.services_with_promises(plan)
    assert (llama["promises"], qwen["promises"]) == (["spread", "sticky"], ["spread", "avoid"]) and llama["plugins"]["Picker"] == ["max-score-picker"]
    made = targets.of(plan)
    assert [entry["name"] for entry in made["services"]] == ["llama-8b", "qwen"] and "promises" not in made["services"][0]
    assert made["objects"] == targets.required_objects(plan) and set(made["servers"][0]) == {"name", "model", "signals", "replicas"}


def test_an_incomplete_plan_is_reported_with_its_missing_keys():
    assert targets.plan_error({"services": []}).startswith("plan lacks instance, namespace, release") and not targets.plan_error(
        dict.fromkeys(("instance", "namespace", "release", "prerequisites", "gateway", "services"))
    )
