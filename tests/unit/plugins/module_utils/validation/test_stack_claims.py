# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about configurations, single servers and speed: each holds of what is well, and fails with evidence and remedy of what is not."""

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
SEEN = {"healthy": True, "servers": [GOOD, GOOD], "findings": [], "engine": "vllm", "version": "0.33.0", "waited": 0.2}
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


def test_objects_that_are_ready_are_one_claim():
    [claim], skipped = stack_claims.judge_resources(READY, {})
    assert claim == {"id": "objects/ready", "ok": True, "evidence": "ready: 2 Deployment, 1 Gateway", "remedy": "", "seconds": 1.2}


def test_each_object_that_is_not_ready_is_a_claim():
    found, skipped = stack_claims.judge_resources(NOT_READY, {})
    assert [(entry["id"], entry["ok"]) for entry in found] == [("objects/deployment/sim", False), ("objects/gatewayclass/envoy", False)]
    assert found[0]["evidence"] == "Deployment llm-d/sim: 0/1 ready (container sim crashes); pod sim-7d9c, log of sim: unknown flag: --modell; second"
    assert found[0]["remedy"] == "read its last log lines" and found[1]["remedy"]


@pytest.mark.parametrize(
    "result, said",
    [
        ({"failed": False, "msg": "kubeconfig /x: there is no such file"}, "no such file"),
        ({"failed": False, "msg": "MODULE FAILURE", "exception": "Traceback"}, "MODULE FAILURE"),
        ({}, "not checked"),
        (None, "not checked"),
        ("?", "not checked"),
    ],
)
def test_a_look_that_failed_is_a_failed_claim(result, said):
    [claim], skipped = stack_claims.judge_resources(result, {})
    assert claim["ok"] is False and said in claim["evidence"] and claim["remedy"]


def test_nothing_to_look_at_proves_nothing():
    assert stack_claims.judge_resources({"resources": [], "waited": 0.0}, {})[0][0]["ok"] is False


NAMES = {("Deployment", "llm-d", "epp"): "sim/picker", ("HTTPRoute", "llm-d", "sim"): "sim/route", ("InferencePool", "llm-d", "sim"): "sim/pool"}


def test_objects_that_have_a_claim_of_their_own():
    """With what the wait says of each, since it returns no status."""
    found = recorded("httproute")
    ref = Ref(found["apiVersion"], "HTTPRoute", found["metadata"]["namespace"], found["metadata"]["name"])
    route = named(ref, found, judge(found).reason)
    names = {("HTTPRoute", ref.namespace, ref.name): "sim/route", ("Deployment", "llm-d", "epp"): "sim/picker"}
    found, _skipped = stack_claims.judge_resources({**READY, "resources": [*READY["resources"], route]}, names)
    assert [(entry["id"], entry["ok"], entry["seconds"]) for entry in found] == [
        ("objects/ready", True, 1.2),
        ("sim/route", True, 1.2),
        ("sim/picker", True, 1.2),
    ]
    assert found[0]["evidence"] == "ready: 1 Deployment, 1 Gateway" and "accepted by 1 parent" in found[1]["evidence"]
    assert found[2]["evidence"] == "Deployment llm-d/epp: 1/1 ready"


def test_each_claim_about_an_object_fails_by_itself():
    bad = {"namespace": "llm-d", "name": "sim", "remedy": "correct parentRefs", "details": []}
    result = {
        **NOT_READY,
        "failures": [{**bad, "kind": "HTTPRoute", "reason": "parent gw: NoMatchingParent"}, {**bad, "kind": "InferencePool", "reason": "no"}],
    }
    found = {entry["id"]: entry for entry in stack_claims.judge_resources(result, NAMES)[0]}
    assert {name: entry["ok"] for name, entry in found.items()} == {"sim/picker": True, "sim/route": False, "sim/pool": False}
    assert "NoMatchingParent" in found["sim/route"]["evidence"] and found["sim/route"]["remedy"] == "correct parentRefs"


def test_configurations():
    result = {"schedulers": [{"name": "a-epp", "pods": PODS}, {"name": "b-epp", "pods": PODS}], "seconds": 0.3}
    found, _skipped = stack_claims.judge_schedulers(result, SERVICES)
    assert [entry["seconds"] for entry in found] == [0.3, 0.3]
    assert [(entry["id"], entry["ok"]) for entry in found] == [("a/configured", True), ("b/configured", True)] and "a-epp-x by its log" in found[0]["evidence"]
    found, skipped = stack_claims.judge_schedulers({"msg": "x", "failures": [{"name": "b-epp", "error": "loaded another configuration"}]}, SERVICES)
    assert [(entry["id"], entry["ok"]) for entry in found] == [("b/configured", False)] and found[0]["evidence"] == "loaded another configuration"
    assert found[0]["remedy"] and skipped == [{"id": "a/configured", "why": "the check ended at b-epp"}]


@pytest.mark.parametrize(
    ("result", "ok", "evidence", "remedy"),
    [
        (SEEN, True, "2 servers", ""),
        ({**SEEN, "healthy": False, "servers": [GOOD, BAD]}, False, "Pod llm-d/a-2: 500", "restart"),
        (
            {**SEEN, "healthy": False, "findings": [{"what": "they differ in version", "evidence": "1; 2", "remedy": "finish the rollout"}]},
            False,
            "they differ in version (1; 2)",
            "finish the rollout",
        ),
        ({**SEEN, "servers": [GOOD]}, False, "1 of 2 servers", "Deployment"),
        ({"msg": "no API server"}, False, "no API server", "fix"),
    ],
)
def test_servers(result, ok, evidence, remedy):
    (found,), _skipped = stack_claims.judge_servers({"groups": [result]}, [GROUP])
    assert found["ok"] is ok and evidence in found["evidence"] and remedy in found["remedy"] and found["id"] == "a/servers"


def sized(*sizes):
    return {
        **SEEN,
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
    (_servers, found), _skipped = stack_claims.judge_servers({"groups": [sized(*sizes)]}, [{**GROUP, "name": group, "block_size": 16}])
    assert (found["id"], found["ok"]) == (claim, ok) and evidence in found["evidence"] and bool(found["remedy"]) is not ok


def listing(*names):
    return {**SEEN, "servers": [{**GOOD, "server": f"Pod llm-d/a-{index}", "models": [{"id": name} for name in each]} for index, each in enumerate(names)]}


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
    (_servers, found), _skipped = stack_claims.judge_servers({"groups": [listing(*lists)]}, [{**GROUP, "name": group, "adapters": ["sql", "chat"]}])
    assert (found["id"], found["ok"]) == (claim, ok) and evidence in found["evidence"] and ("site.yml" in found["remedy"]) is not ok


def test_blocks_that_are_not_exported():
    found, skipped = stack_claims.judge_servers({"groups": [sized(None, None)]}, [{**GROUP, "block_size": 16}])
    assert len(found) == 1 and skipped == [{"id": "a/blocks", "why": "the servers do not export their block size"}]


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
    (found,), _skipped = stack_claims.judge_scraping(
        routing, {"groups": [{"name": "a/servers", "waited": 0.2, "servers": [{**GOOD, "checks": [check]}]}]}, plan, READY
    )
    assert found["seconds"] == 0.3 and (found["id"], found["ok"]) == ("a/scraped", ok) and evidence in found["evidence"] and bool(found["remedy"]) is not ok
    assert stack_claims.judge_scraping({"msg": "no"}, {}, plan, READY) == ([], [])


@pytest.mark.parametrize("objects", [NOT_READY, {"msg": "MODULE FAILURE"}, None])
def test_who_names_the_pods_is_not_said_while_objects_are_missing(objects):
    """Each that is missing is a claim by itself (judge_resources)."""
    plan = {"namespace": "llm-d", "services": [{"name": "a", "scheduler": {"replicas": 1}, "monitors": [{"kind": "PodMonitor", "name": "a-epp"}]}]}
    routing = {"observations": [{"name": "a", "pickers": 1, "seconds": {"counted": 0.1}}]}
    (found,), _skipped = stack_claims.judge_scraping(routing, {"groups": [{"name": "a/servers", "servers": [{**GOOD, "checks": [METRICS]}]}]}, plan, objects)
    assert found["ok"] and found["evidence"] == "1 endpoint picker and 1 server answer at /metrics"


@pytest.mark.parametrize(
    ("more", "ok", "evidence", "remedy"),
    [
        ({}, True, "9 of 10 requests, 90 % of first tokens within 41 ms", ""),
        ({"verdict": "failed", "why": ["ttft_p90_ms: 812 misses at most 500"]}, False, "812 misses", "playbooks/benchmark.yml"),
        ({"verdict": "invalid", "why": ["sent late"]}, False, "sent late", "too busy"),
        ({"verdict": "inconclusive", "why": ["too few"]}, False, "too few", "longer"),
    ],
)
def test_speed(more, ok, evidence, remedy):
    found = stack_claims.judge_performance({**RUN, **more})
    assert found["ok"] is ok and found["id"] == "a/performance" and evidence in found["evidence"] and remedy in found["remedy"]


def test_speed_that_was_not_measured():
    found = stack_claims.judge_performance({"item": {"name": "a"}, "msg": "connection refused"})
    assert not found["ok"] and found["evidence"] == "connection refused"
