# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the plan to the targets, and from registered results to verdict.json, its table and its curl lines."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan as make_plan
from ansible_collections.llm_d.inference.plugins.module_utils.validation import routing_claims, verdict

ENDPOINT = {"name": "llama-8b", "url": "http://10.216.7.20", "model": "acme/tiny", "host_header": None}
ROUTING = {
    "ok": True,
    "changed": False,
    "endpoints": [ENDPOINT],
    "kubernetes": "v1.34.4",
    "time": "2026-11-21T08:00:00Z",
    "observations": [{"name": "llama-8b", "pickers": 1, "seconds": {"counted": 0.1}}],
    "claims": [{"id": "llama-8b/serving", "ok": True, "evidence": "seen", "remedy": "", "seconds": 0.2}],
    "not_checked": [{"id": "llama-8b/spread", "why": "there is one replica"}],
}
SERVER = {"server": "Pod llm-d/a", "healthy": True, "checks": [{"name": "health", "ok": True, "evidence": "200", "remedy": ""}]}
SIZED = {**SERVER, "metrics": {"block_size": {"name": "vllm:cache_config_info", "value": 16.0}}}
HEALTHY = {"healthy": True, "engine": "vllm", "version": "0.33.0", "findings": [], "waited": 0.1}
OTHERS = {
    "platform": {"claims": [{"id": "platform/kubernetes", "ok": True, "evidence": "v1.34.4", "remedy": "", "seconds": 0.1}], "not_checked": []},
    "schedulers": {"schedulers": [{"name": f"{name}-epp", "pods": [{"pod": f"{name}-epp-x", "by": "log"}]} for name in ("llama-8b", "qwen")]},
    "servers": {"groups": [{**HEALTHY, "name": "llama-8b/servers", "servers": [SIZED, SIZED]}, {**HEALTHY, "name": "qwen/servers", "servers": [SERVER]}]},
    "security": {"claims": [{"id": "llama-8b/rights", "ok": True, "evidence": "few", "remedy": "", "seconds": 0.1}], "not_checked": []},
}
ALL = [
    "platform/kubernetes",
    "objects/ready",
    "llama-8b/picker",
    "llama-8b/serving",
    "llama-8b/configured",
    "qwen/configured",
    "llama-8b/servers",
    "llama-8b/blocks",
    "qwen/servers",
    "llama-8b/scraped",
    "llama-8b/rights",
]
OBJECTS = {
    "changed": False,
    "waited": 0.5,
    "resources": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "llm-d", "name": name}} for name in ("llama-8b-decode", "llama-8b-epp")
    ],
}


@pytest.fixture(name="plan")
def plan_of_two_services():
    services = [
        {
            "name": "llama-8b",
            "model": {"uri": "hf://acme/tiny"},
            "replicas": 2,
            "engine": {"type": "simulator"},
            "scheduler": {"preset": "balanced"},
            "route": {"hostnames": ["llama.example.com"]},
        },
        {
            "name": "qwen",
            "model": {"uri": "hf://acme/small"},
            "replicas": 1,
            "engine": {"type": "simulator"},
            "scheduler": {"preset": "queue"},
            "route": {"hostnames": ["*.example.org"]},
        },
    ]
    return make_plan({"llm_d_release": "scheduler-0.7", "llm_d_model_services": services, "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"}})


def test_targets(plan):
    llama, qwen = verdict.targets(plan)
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


def test_services_that_share_a_route_are_asked_for_each_by_itself():
    one = {"name": "old", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "route": {"headers": {"x-a": "b"}, "weights": {"old": 9, "new": 1}}}
    shared = make_plan({"llm_d_model_services": [one, {**one, "name": "new", "route": {"path": "/new"}}]})
    old, new = verdict.targets(shared)
    assert (old["headers"], old["shared_headers"], old["weights"]) == ({"x-a": "b", "x-llm-d-service": "old"}, {"x-a": "b"}, {"old": 9, "new": 1})
    assert (new["headers"], new["weights"]) == ({}, {})
    assert {entry["name"] for entry in verdict.required_objects(shared) if entry["kind"] == "HTTPRoute"} == {"old", "new", "old.new"}
    assert verdict.group_of("old/weights") == "gateway"


def test_objects(plan):
    found = [(entry["kind"], entry["namespace"], entry["name"]) for entry in verdict.required_objects(plan)]
    assert found[:2] == [("Gateway", "llm-d", "llm-d-gateway"), ("Deployment", "envoy-gateway-system", "envoy-gateway")]
    assert {("Deployment", "llm-d", "llama-8b-decode"), ("Deployment", "llm-d", "llama-8b-epp")} < set(found)
    assert {("HTTPRoute", "llm-d", "qwen"), ("InferencePool", "llm-d", "qwen")} < set(found)
    assert len(found) == len(set(found)) == 2 + 2 * 4


def test_a_pool_has_to_be_served_by_our_gateway_where_its_controller_says_so(plan):
    assert not [entry for entry in verdict.required_objects(plan) if "parent" in entry]
    plan["gateway"]["pool_status"] = True
    pools = [entry for entry in verdict.required_objects(plan) if entry["kind"] == "InferencePool"]
    assert [entry["parent"] for entry in pools] == ["llm-d/llm-d-gateway"] * 2


def test_a_controller_of_somebody_else_is_not_looked_at(plan):
    plan["gateway"]["install"] = False
    assert "envoy-gateway-system" not in {entry["namespace"] for entry in verdict.required_objects(plan)}


def test_workloads_have_to_ask_for_the_planned_replicas_unless_an_autoscaler_decides(plan):
    def least():
        return {entry["name"]: entry.get("least") for entry in verdict.required_objects(plan) if entry["kind"] == "Deployment"}

    service = plan["services"][0]
    service["server"]["replicas"], service["scheduler"]["replicas"] = 3, 2
    assert least()["envoy-gateway"] == 1 and least()["llama-8b-decode"] == 3 and least()["llama-8b-epp"] == 2
    service["server"]["autoscaling"] = {"min": 0, "max": 3}
    assert least()["llama-8b-decode"] is None, "it may be scaled to 0"


def test_a_verdict(plan):
    found = verdict.assemble(plan, {**OTHERS, "objects": OBJECTS, "routing": ROUTING, "time": "now"}, "0.1.0")
    assert found["ok"] is True and found["endpoint"] == "http://10.216.7.20" and found["time"] == "2026-11-21T08:00:00Z"
    assert [entry["id"] for entry in found["claims"]] == ALL
    assert found["not_checked"] == [*ROUTING["not_checked"], {"id": "qwen/blocks", "why": "the servers do not export their block size"}]
    versions = found["versions"]
    assert (versions["collection"], versions["release"], versions["kubernetes"]) == ("0.1.0", "scheduler-0.7", "v1.34.4")
    assert versions["services"]["llama-8b"]["scheduler"].startswith("ghcr.io/llm-d/llm-d-inference-scheduler:")
    assert versions["gateway"]["provider"] == "envoy_gateway" and versions["crds"]["gateway-api"]
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    "looks, wrong",
    [
        ({}, ["objects/ready", "routing/proven"]),
        ({"objects": OBJECTS, "routing": {"failed": False, "msg": "boom", "exception": "..."}}, ["routing/proven"]),
        ({"objects": {"msg": "no API server"}, "routing": ROUTING}, ["objects/ready"]),
        ({"objects": OBJECTS, "routing": ROUTING, "security": {"msg": "no"}}, ["security/proven"]),
        ({"objects": OBJECTS, "routing": ROUTING, "access": {"failed": True, "msg": "no"}}, ["platform/seen"]),
        ({"objects": OBJECTS, "routing": ROUTING, "servers": {"groups": [], "msg": "no"}}, ["servers/healthy"]),
        ({"objects": OBJECTS, "routing": ROUTING, "platform": {"msg": "no"}}, ["platform/seen"]),
        ({"objects": OBJECTS, "routing": ROUTING, "schedulers": {"msg": "no"}}, ["schedulers/configured"]),
        ({"objects": OBJECTS, "routing": {**ROUTING, "claims": [{"id": "x", "ok": False, "evidence": "e", "remedy": "r", "seconds": 0}]}}, ["x"]),
    ],
)
def test_what_was_not_seen_is_not_ok(plan, looks, wrong):
    found = verdict.assemble(plan, {**OTHERS, **looks, "time": "now"}, "0.1.0")
    assert found["ok"] is False and [entry["id"] for entry in found["claims"] if not entry["ok"]] == wrong
    assert found["time"]


def test_each_group_of_servers_is_looked_at(plan):
    llama, qwen = verdict.servers(plan)
    assert llama["name"] == "llama-8b/servers" and llama["block_size"] == 16
    assert llama["model"] == "acme/tiny" and llama["replicas"]["count"] == 2 and llama["replicas"]["port"] == "8000"
    assert "llm-d.ai/role=decode" in llama["replicas"]["label_selector"] and qwen["replicas"]["count"] == 1


@pytest.mark.parametrize(
    ("scheduler", "more"),
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
def test_servers_must_say_what_the_planned_scorers_read(scheduler, more):
    made = make_plan(
        {
            "llm_d_model_services": [{"name": "a", "model": {"uri": "hf://acme/tiny"}, "engine": {"type": "simulator"}, "scheduler": scheduler}],
            "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"},
        }
    )
    assert [group["signals"] for group in verdict.servers(made)] == [["waiting", "running", "kv_cache", *more]]


def test_what_is_secured(plan):
    llama, _qwen = verdict.security_services(plan)
    assert llama["account"] == "llama-8b-epp" and len(llama["selectors"]) == 2
    assert {"pods", "inferencepools"} <= {resource for rule in llama["rules"] for resource in rule["resources"]}


def test_no_claims_are_no_proof():
    assert verdict.verdict([], [], [], {}, "")["ok"] is False


def test_the_table(plan):
    lines = verdict.table(verdict.assemble(plan, {**OTHERS, "objects": OBJECTS, "routing": ROUTING}, "0.1.0"))
    assert lines[1].startswith("ok    objects/ready      ") and "0.50 s  ready: 1 Deployment" in lines[1]
    claims = [line for line in lines if line[:6].strip()]  # evidence goes on below
    assert claims[11].startswith("-     llama-8b/spread") and claims[11].endswith("not checked: there is one replica")
    assert claims[13] == "OK: 11 of 11 claims hold"
    assert claims[14].startswith("curl -si ")


def test_the_cluster_is_the_one_that_answered(plan):
    planned = {**plan, "deployment": {**plan["deployment"], "cluster": "https://of.the.file"}}
    silent = verdict.assemble(planned, {"access": {"failed": True, "msg": "no"}}, "0.1.0")
    assert (silent["instance"], silent["namespace"], silent["cluster"], silent["release"]) == ("llm-d", "llm-d", "https://of.the.file", "scheduler-0.7")
    there = verdict.assemble(planned, {**OTHERS, "access": {"server": "https://10.0.0.1:6443"}}, "0.1.0")
    assert there["cluster"] == "https://10.0.0.1:6443" and silent["ok"] is False


def test_nothing_is_left_to_be_installed(plan):
    needs = verdict.platform_needs(plan)
    assert set(needs["installs"].values()) == {False} and needs["rights"] == plan["preflight"]["rights"]


def test_objects_with_a_claim_of_their_own(plan):
    named = verdict.object_claims(plan)
    assert named[("HTTPRoute", "llm-d", "qwen")] == "qwen/route" and named[("InferencePool", "llm-d", "llama-8b")] == "llama-8b/pool"
    assert set(named) <= {(entry["kind"], entry["namespace"], entry["name"]) for entry in verdict.required_objects(plan)}


def test_the_table_of_a_failure():
    assert verdict.table(verdict.verdict([{"id": "x", "ok": False, "evidence": "e", "remedy": "r", "seconds": 1}], [], [], {}, "")) == [
        "FAIL  x    1.00 s  e",
        "NOT OK: 0 of 1 claims hold",
    ]


def test_the_curl_line_can_be_pasted_whatever_the_names():
    words = shlex.split(verdict.curl({**ENDPOINT, "model": "it's/$HOME", "host_header": "a.b", "headers": {"x-variant": "it's b"}}))
    assert words[:3] == ["curl", "-si", "http://10.216.7.20/v1/completions"]
    assert words[words.index("-H") + 1] == "Host: a.b" and "x-variant: it's b" in words and "Content-Type: application/json" in words
    assert json.loads(words[-1]) == {"model": "it's/$HOME", "prompt": "Say hello.", "max_tokens": 16}


def test_every_claim_has_a_group_and_a_row_in_the_docs(root):
    files = [path for path in (root / "plugins/module_utils/validation").glob("*.py") if path.stem.endswith("claims") or path.stem == "verdict"]
    written = {end for path in files for end in re.findall(r'f"\{[^{}]+\}/([a-z-]+)"', path.read_text(encoding="utf-8"))}
    grouped = {end for ends in verdict.GROUPS.values() for end in ends}
    assert len(written) > 10 and written | set(routing_claims.JUDGES) <= grouped
    rows = re.findall(r"^\|(.+?)\|", (root / "docs/claims.md").read_text(encoding="utf-8"), re.MULTILINE)
    documented = set(re.findall(r"`(?:NAME|gateway)/([a-z-]+)`", " ".join(rows)))
    assert documented == grouped | {"prefill-servers"}
