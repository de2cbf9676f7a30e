# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the plan to the targets, and from registered results to verdict.json, its table and its curl lines."""

from __future__ import annotations

import json
import shlex

import pytest

from ansible_collections.llm_d.inference.plugins.module_utils import verdict
from ansible_collections.llm_d.inference.plugins.module_utils.plan import plan as make_plan

CONFIG = "plugins:\n- type: queue-scorer\n- type: {}\nschedulingProfiles: []\n"
ENDPOINT = {"name": "llama-8b", "url": "http://10.216.7.20", "model": "acme/tiny", "host_header": None}
ROUTING = {
    "ok": True, "changed": False, "endpoints": [ENDPOINT], "kubernetes": "v1.34.4", "time": "2026-11-21T08:00:00Z", "observations": [],
    "claims": [{"id": "llama-8b/serving", "ok": True, "evidence": "seen", "remedy": "", "seconds": 0.2}],
    "not_checked": [{"id": "llama-8b/spread", "why": "there is one replica"}],
}
OBJECTS = {"changed": False, "waited": 0.5, "resources": [{"kind": "Deployment"}]}


@pytest.fixture(name="plan")
def plan_of_two_services():
    services = [
        {"name": "llama-8b", "model": {"uri": "hf://acme/tiny"}, "replicas": 2, "engine": {"type": "simulator"}, "scheduler": {"preset": "balanced"},
         "route": {"hostnames": ["llama.example.com"]}},
        {"name": "qwen", "model": {"uri": "hf://acme/small"}, "replicas": 1, "engine": {"type": "simulator"}, "scheduler": {"preset": "queue"},
         "route": {"hostnames": ["*.example.org"]}},
    ]
    return make_plan({"llm_d_model_services": services, "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"}})


def test_targets(plan):
    llama, qwen = verdict.targets(plan)
    assert llama == {
        "name": "llama-8b", "model": "acme/tiny", "path": "/", "host_header": "llama.example.com", "promises": ["sticky", "spread"], "replicas": 2,
        "address": None,
        "metrics": {"namespace": "llm-d", "name": "llama-8b-epp", "port": "9090", "names": {
            "requests": "inference_objective_request_total", "scheduler_attempts": "inference_extension_scheduler_attempts_total",
            "ready_endpoints": "inference_pool_ready_pods"}},
    }
    assert (qwen["promises"], qwen["host_header"], qwen["replicas"]) == (["spread"], "validation.example.org", 1)


def test_objects(plan):
    found = [(entry["kind"], entry["namespace"], entry["name"]) for entry in verdict.objects(plan)]
    assert found[:2] == [("Gateway", "llm-d", "llm-d-gateway"), ("Deployment", "envoy-gateway-system", "envoy-gateway")]
    assert {("Deployment", "llm-d", "llama-8b-decode"), ("Deployment", "llm-d", "llama-8b-epp")} < set(found)
    assert {("HTTPRoute", "llm-d", "qwen"), ("InferencePool", "llm-d", "qwen")} < set(found)
    assert len(found) == len(set(found)) == 2 + 2 * 4


def test_a_controller_of_somebody_else_is_not_looked_at(plan):
    plan["gateway"]["install"] = False
    assert "envoy-gateway-system" not in {entry["namespace"] for entry in verdict.objects(plan)}


@pytest.mark.parametrize("scorer, sticky", [
    ("prefix-cache-scorer", True), ("precise-prefix-cache-scorer", True), ("kv-cache-utilization-scorer", False), ("random-picker", False),
    ("prefix-based-pd-decider", False),
])
def test_promises(scorer, sticky):
    assert verdict.promises(CONFIG.format(scorer)) == (["sticky", "spread"] if sticky else ["spread"])


def test_a_verdict(plan):
    found = verdict.assemble(plan, {"objects": OBJECTS, "routing": ROUTING, "time": "now"}, "0.1.0")
    assert found["ok"] is True and found["endpoint"] == "http://10.216.7.20" and found["time"] == "2026-11-21T08:00:00Z"
    assert [entry["id"] for entry in found["claims"]] == ["objects/ready", "llama-8b/serving"]
    assert found["not_checked"] == ROUTING["not_checked"]
    versions = found["versions"]
    assert (versions["collection"], versions["release"], versions["kubernetes"]) == ("0.1.0", "scheduler-0.7", "v1.34.4")
    assert versions["services"]["llama-8b"]["scheduler"].startswith("llm-d/llm-d-inference-scheduler:")
    assert versions["gateway"]["provider"] == "envoy_gateway" and versions["crds"]["gateway-api"]
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("looks, wrong", [
    ({}, ["objects/ready", "routing/proven"]),
    ({"objects": OBJECTS, "routing": {"failed": False, "msg": "boom", "exception": "..."}}, ["routing/proven"]),
    ({"objects": {"msg": "no API server"}, "routing": ROUTING}, ["objects/ready"]),
    ({"objects": OBJECTS, "routing": {**ROUTING, "claims": [{"id": "x", "ok": False, "evidence": "e", "remedy": "r", "seconds": 0}]}}, ["x"]),
])
def test_what_was_not_seen_is_not_ok(plan, looks, wrong):
    found = verdict.assemble(plan, {**looks, "time": "now"}, "0.1.0")
    assert found["ok"] is False and [entry["id"] for entry in found["claims"] if not entry["ok"]] == wrong
    assert found["time"]


def test_no_claims_are_no_proof():
    assert verdict.verdict([], [], [], {}, "")["ok"] is False


def test_the_table(plan):
    lines = verdict.table(verdict.assemble(plan, {"objects": OBJECTS, "routing": ROUTING}, "0.1.0"))
    assert lines[0].startswith("ok    objects/ready      ") and "0.50 s  ready: 1 Deployment" in lines[0]
    assert lines[2].startswith("-     llama-8b/spread") and lines[2].endswith("not checked: there is one replica")
    assert lines[3] == "OK: 2 of 2 claims hold"
    assert lines[4].startswith("curl -si ")


def test_the_table_of_a_failure():
    assert verdict.table(verdict.verdict([{"id": "x", "ok": False, "evidence": "e", "remedy": "r", "seconds": 1}], [], [], {}, "")) == [
        "FAIL  x    1.00 s  e", "NOT OK: 0 of 1 claims hold"]


def test_the_curl_line_can_be_pasted_whatever_the_names():
    words = shlex.split(verdict.curl({**ENDPOINT, "model": "it's/$HOME", "host_header": "a.b"}))
    assert words[:3] == ["curl", "-si", "http://10.216.7.20/v1/completions"]
    assert words[words.index("-H") + 1] == "Host: a.b" and "Content-Type: application/json" in words
    assert json.loads(words[-1]) == {"model": "it's/$HOME", "prompt": "Say hello.", "max_tokens": 16}
