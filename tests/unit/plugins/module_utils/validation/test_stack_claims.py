# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about configurations, single servers and performance: each holds for a healthy stack, and fails with evidence and remedy otherwise."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.readiness.judge import judge
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.related_objects import Ref
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.wait import named
from ansible_collections.llm_d.inference.plugins.module_utils.validation import stack_claims
from recorded import recorded

SERVICES = [{"name": name, "scheduler": {"name": f"{name}-epp"}} for name in ("a", "b")]
PODS = [{"pod": "a-epp-x", "by": "log"}]
GROUP = {"name": "a/servers", "replicas": {"count": 2}, "block_size": None, "adapters": []}
GOOD = {"server": "Pod llm-d/a-1", "healthy": True, "checks": [{"ok": True, "evidence": "200", "remedy": ""}]}
BAD = {
    "server": "Pod llm-d/a-2",
    "healthy": False,
    "checks": [{"ok": True, "evidence": "200", "remedy": ""}, {"ok": False, "evidence": "500", "remedy": "restart"}],
}
HEALTHY = {"healthy": True, "servers": [GOOD, GOOD], "findings": [], "engine": "vllm", "version": "0.33.0", "waited": 0.2}
STAGE = {"label": "concurrency 1", "ok": 9, "requests": 10, "ttft_from_schedule_ms": {"p90": 41.2}, "output_tokens_per_s": 160.0}
RUN = {"item": {"name": "a"}, "verdict": "passed", "why": [], "stages": [STAGE], "seconds": 5.0}


READY = {
    "changed": False,
    "waited": 1.2,
    "waiting_for": ["Deployment llm-d/sim"],
    "resources": [
        {"api_version": "apps/v1", "kind": "Deployment", "name": "sim", "namespace": "llm-d", "reason": "2/2 ready"},
        {"api_version": "apps/v1", "kind": "Deployment", "name": "epp", "namespace": "llm-d", "reason": "1/1 ready"},
        {"api_version": "gateway.networking.k8s.io/v1", "kind": "Gateway", "name": "gw", "namespace": "llm-d", "reason": "programmed"},
    ],
}
# With failed_when: false a task that failed says failed: false and keeps its message
NOT_READY = {
    **READY,
    "failed": False,
    "failed_when_result": False,
    "msg": "1 of 3 objects is not ready",
    "failures": [
        {
            "kind": "Deployment",
            "name": "sim",
            "namespace": "llm-d",
            "reason": "0/1 ready (container sim crashes)",
            "remedy": "read its last log lines",
            "terminal": True,
            "details": ["pod sim-7d9c, log of sim: unknown flag: --modell", "second", "third"],
        },
        {"kind": "GatewayClass", "name": "envoy", "namespace": "", "reason": "does not exist", "remedy": "", "terminal": False, "details": []},
    ],
}


def test_ready_objects_make_one_claim():
    [claim], skipped = stack_claims.judge_resources(READY, {})
    assert claim == {"id": "objects/ready", "ok": True, "evidence": "ready: 2 Deployment, 1 Gateway", "remedy": "", "seconds": 1.2}


def test_each_object_that_is_not_ready_is_a_failed_claim():
    claims, skipped = stack_claims.judge_resources(NOT_READY, {})
    assert [(entry["id"], entry["ok"]) for entry in claims] == [("objects/deployment/sim", False), ("objects/gatewayclass/envoy", False)]
    assert claims[0]["evidence"] == "Deployment llm-d/sim: 0/1 ready (container sim crashes); pod sim-7d9c, log of sim: unknown flag: --modell; second"
    assert claims[0]["remedy"] == "read its last log lines" and claims[1]["remedy"]


@pytest.mark.parametrize(
    "result, evidence",
    [
        ({"failed": False, "msg": "kubeconfig /x: there is no such file"}, "no such file"),
        ({"failed": False, "msg": "MODULE FAILURE", "exception": "Traceback"}, "MODULE FAILURE"),
        ({}, "not checked"),
        (None, "not checked"),
        ("?", "not checked"),
    ],
)
def test_a_failed_object_check_is_a_failed_claim(result, evidence):
    [claim], skipped = stack_claims.judge_resources(result, {})
    assert claim["ok"] is False and evidence in claim["evidence"] and claim["remedy"]


def test_a_check_of_no_objects_fails_the_claim():
    assert stack_claims.judge_resources({"resources": [], "waited": 0.0}, {})[0][0]["ok"] is False


NAMES = {("Deployment", "llm-d", "epp"): "sim/picker", ("HTTPRoute", "llm-d", "sim"): "sim/route", ("InferencePool", "llm-d", "sim"): "sim/pool"}


def test_objects_that_have_a_claim_of_their_own():
    """Each claim has the reason that the wait returns for its object, since the wait returns no status."""
    obj = recorded("httproute")
    ref = Ref(obj["apiVersion"], "HTTPRoute", obj["metadata"]["namespace"], obj["metadata"]["name"])
    route = named(ref, obj, judge(obj).reason)
    names = {("HTTPRoute", ref.namespace, ref.name): "sim/route", ("Deployment", "llm-d", "epp"): "sim/picker"}
    claims, _skipped = stack_claims.judge_resources({**READY, "resources": [*READY["resources"], route]}, names)
    assert [(entry["id"], entry["ok"], entry["seconds"]) for entry in claims] == [
        ("objects/ready", True, 1.2),
        ("sim/route", True, 1.2),
        ("sim/picker", True, 1.2),
    ]
    assert claims[0]["evidence"] == "ready: 1 Deployment, 1 Gateway" and "accepted by 1 parent" in claims[1]["evidence"]
    assert claims[2]["evidence"] == "Deployment llm-d/epp: 1/1 ready"


def test_the_route_and_pool_claims_of_a_service_fail_independently():
    bad = {"namespace": "llm-d", "name": "sim", "remedy": "correct parentRefs", "details": []}
    result = {
        **NOT_READY,
        "failures": [{**bad, "kind": "HTTPRoute", "reason": "parent gw: NoMatchingParent"}, {**bad, "kind": "InferencePool", "reason": "no"}],
    }
    claims = {entry["id"]: entry for entry in stack_claims.judge_resources(result, NAMES)[0]}
    assert {name: entry["ok"] for name, entry in claims.items()} == {"sim/picker": True, "sim/route": False, "sim/pool": False}
    assert "NoMatchingParent" in claims["sim/route"]["evidence"] and claims["sim/route"]["remedy"] == "correct parentRefs"


def test_configurations():
    result = {"schedulers": [{"name": "a-epp", "pods": PODS}, {"name": "b-epp", "pods": PODS}], "seconds": 0.3}
    claims, _skipped = stack_claims.judge_schedulers(result, SERVICES)
    assert [entry["seconds"] for entry in claims] == [0.3, 0.3]
    assert [(entry["id"], entry["ok"]) for entry in claims] == [("a/configured", True), ("b/configured", True)]
    assert "a-epp-x by its log" in claims[0]["evidence"]
    claims, skipped = stack_claims.judge_schedulers({"msg": "x", "failures": [{"name": "b-epp", "error": "loaded another configuration"}]}, SERVICES)
    assert [(entry["id"], entry["ok"]) for entry in claims] == [("b/configured", False)] and claims[0]["evidence"] == "loaded another configuration"
    assert claims[0]["remedy"] and skipped == [{"id": "a/configured", "why": "the check ended at b-epp"}]


@pytest.mark.parametrize(
    ("result", "ok", "evidence", "remedy"),
    [
        (HEALTHY, True, "2 servers", ""),
        ({**HEALTHY, "healthy": False, "servers": [GOOD, BAD]}, False, "Pod llm-d/a-2: 500", "restart"),
        (
            {**HEALTHY, "healthy": False, "findings": [{"what": "they differ in version", "evidence": "1; 2", "remedy": "finish the rollout"}]},
            False,
            "they differ in version (1; 2)",
            "finish the rollout",
        ),
        ({**HEALTHY, "servers": [GOOD]}, False, "1 of 2 servers", "Deployment"),
        ({"msg": "no API server"}, False, "no API server", "fix"),
    ],
)
def test_servers(result, ok, evidence, remedy):
    (claim,), _skipped = stack_claims.judge_servers({"groups": [result]}, [GROUP])
    assert claim["ok"] is ok and evidence in claim["evidence"] and remedy in claim["remedy"] and claim["id"] == "a/servers"


def sized(*sizes):
    return {
        **HEALTHY,
        "servers": [
            {**GOOD, "server": f"Pod llm-d/a-{index}", "metrics": {"block_size": {"name": "vllm:cache_config_info", "value": size}}}
            for index, size in enumerate(sizes)
        ],
    }


@pytest.mark.parametrize(
    ("sizes", "ok", "evidence"),
    [
        ((16.0, 16.0), True, "2 servers have the planned blocks of 16"),
        ((16.0, 64.0), False, "Pod llm-d/a-1 has blocks of 64"),
        ((64.0, 64.0), False, "a-0 has"),
    ],
)
@pytest.mark.parametrize(("group", "claim"), [("a/servers", "a/blocks"), ("a/prefill-servers", "a/prefill-blocks")])
def test_blocks(sizes, ok, evidence, group, claim):
    (_servers, judged), _skipped = stack_claims.judge_servers({"groups": [sized(*sizes)]}, [{**GROUP, "name": group, "block_size": 16}])
    assert (judged["id"], judged["ok"]) == (claim, ok) and evidence in judged["evidence"] and bool(judged["remedy"]) is not ok


def listing(*names):
    return {**HEALTHY, "servers": [{**GOOD, "server": f"Pod llm-d/a-{index}", "models": [{"id": name} for name in each]} for index, each in enumerate(names)]}


@pytest.mark.parametrize(
    ("lists", "ok", "evidence"),
    [
        ((["m", "sql", "chat"], ["chat", "m", "sql"]), True, "2 servers have 2 adapters"),
        ((["m", "sql", "chat"], ["m", "sql"]), False, "Pod llm-d/a-1 lacks chat"),
        ((["m"], ["m", "chat"]), False, "Pod llm-d/a-0 lacks sql, chat; Pod llm-d/a-1 lacks sql"),
    ],
)
@pytest.mark.parametrize(("group", "claim"), [("a/servers", "a/adapters"), ("a/prefill-servers", "a/prefill-adapters")])
def test_adapters(lists, ok, evidence, group, claim):
    (_servers, judged), _skipped = stack_claims.judge_servers({"groups": [listing(*lists)]}, [{**GROUP, "name": group, "adapters": ["sql", "chat"]}])
    assert (judged["id"], judged["ok"]) == (claim, ok) and evidence in judged["evidence"] and ("site.yml" in judged["remedy"]) is not ok


def test_blocks_that_are_not_exported():
    claims, skipped = stack_claims.judge_servers({"groups": [sized(None, None)]}, [{**GROUP, "block_size": 16}])
    assert len(claims) == 1 and skipped == [{"id": "a/blocks", "why": "the servers do not export their block size"}]


METRICS = {"name": "metrics", "ok": True, "evidence": "many", "remedy": ""}
SILENT = {**METRICS, "ok": False, "evidence": "GET /metrics: 404"}


@pytest.mark.parametrize(
    ("pickers", "check", "ok", "evidence"),
    [
        (2, METRICS, True, "2 endpoint pickers and 1 server answer"),
        (1, METRICS, False, "1 of 2 endpoint pickers"),
        (2, SILENT, False, "Pod llm-d/a-1: GET /metrics: 404"),
    ],
)
def test_scraping(pickers, check, ok, evidence):
    plan = {"namespace": "llm-d", "services": [{"name": "a", "scheduler": {"replicas": 2}, "monitors": []}]}
    routing = {"observations": [{"name": "a", "pickers": pickers, "seconds": {"counted": 0.1}}]}
    (claim,), _skipped = stack_claims.judge_scraping(
        routing, {"groups": [{"name": "a/servers", "waited": 0.2, "servers": [{**GOOD, "checks": [check]}]}]}, plan, READY
    )
    assert claim["seconds"] == 0.3 and (claim["id"], claim["ok"]) == ("a/scraped", ok) and evidence in claim["evidence"] and bool(claim["remedy"]) is not ok
    assert stack_claims.judge_scraping({"msg": "no"}, {}, plan, READY) == ([], [])


@pytest.mark.parametrize("objects", [NOT_READY, {"msg": "MODULE FAILURE"}, None])
def test_pod_monitors_are_not_judged_while_objects_are_missing(objects):
    """Each missing object has a claim of its own (judge_resources)."""
    plan = {"namespace": "llm-d", "services": [{"name": "a", "scheduler": {"replicas": 1}, "monitors": [{"kind": "PodMonitor", "name": "a-epp"}]}]}
    routing = {"observations": [{"name": "a", "pickers": 1, "seconds": {"counted": 0.1}}]}
    (claim,), _skipped = stack_claims.judge_scraping(routing, {"groups": [{"name": "a/servers", "servers": [{**GOOD, "checks": [METRICS]}]}]}, plan, objects)
    assert claim["ok"] and claim["evidence"] == "1 endpoint picker and 1 server answer at /metrics"


@pytest.mark.parametrize(
    ("more", "ok", "evidence", "remedy"),
    [
        ({}, True, "9 of 10 requests, 90 % of first tokens within 41 ms", ""),
        ({"verdict": "failed", "why": ["ttft_p90_ms: 812 misses the objective of at most 500"]}, False, "812 misses", "playbooks/benchmark.yml"),
        ({"verdict": "invalid", "why": ["sent late"]}, False, "sent late", "too busy"),
        ({"verdict": "inconclusive", "why": ["too few"]}, False, "too few", "longer"),
    ],
)
def test_speed(more, ok, evidence, remedy):
    claim = stack_claims.judge_performance({**RUN, **more})
    assert claim["ok"] is ok and claim["id"] == "a/performance" and evidence in claim["evidence"] and remedy in claim["remedy"]


def test_speed_that_was_not_measured():
    claim = stack_claims.judge_performance({"item": {"name": "a"}, "msg": "connection refused"})
    assert not claim["ok"] and claim["evidence"] == "connection refused"
