# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims of recorded observations, each failing one with its remedy. What a probe itself sees is in test_routing_probe.py."""

from __future__ import annotations

import pytest

from ansible_collections.llm_d.inference.plugins.module_utils import claims

READY = {"changed": False, "waited": 1.2, "waiting_for": ["Deployment llm-d/sim"], "resources": [
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "sim", "namespace": "llm-d"}},
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "epp", "namespace": "llm-d"}},
    {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "gw", "namespace": "llm-d"}},
]}
# With failed_when: false a task that failed says failed: false and keeps its message
NOT_READY = {**READY, "failed": False, "failed_when_result": False, "msg": "1 of 3 objects is not ready", "failures": [
    {"kind": "Deployment", "name": "sim", "namespace": "llm-d", "reason": "0/1 ready (container sim crashes)", "remedy": "read its last log lines",
     "terminal": True, "details": ["pod sim-7d9c, log of sim: unknown flag: --modell", "second", "third"]},
    {"kind": "GatewayClass", "name": "envoy", "namespace": "", "reason": "does not exist", "remedy": "", "terminal": False, "details": []},
]}


def test_objects_that_are_ready_are_one_claim():
    [claim], skipped = claims.judge_resources(READY)
    assert claim == {"id": "objects/ready", "ok": True, "evidence": "ready: 2 Deployment, 1 Gateway", "remedy": "", "seconds": 1.2}


def test_each_object_that_is_not_ready_is_a_claim():
    found, skipped = claims.judge_resources(NOT_READY)
    assert [(entry["id"], entry["ok"]) for entry in found] == [("objects/deployment/sim", False), ("objects/gatewayclass/envoy", False)]
    assert found[0]["evidence"] == "Deployment llm-d/sim: 0/1 ready (container sim crashes); pod sim-7d9c, log of sim: unknown flag: --modell; second"
    assert found[0]["remedy"] == "read its last log lines" and found[1]["remedy"]


@pytest.mark.parametrize("result, said", [
    ({"failed": False, "msg": "kubeconfig /x: there is no such file"}, "no such file"),
    ({"failed": False, "msg": "MODULE FAILURE", "exception": "Traceback"}, "MODULE FAILURE"),
    ({}, "not looked at"),
    (None, "not looked at"),
    ("?", "not looked at"),
])
def test_a_look_that_failed_is_a_failed_claim(result, said):
    [claim], skipped = claims.judge_resources(result)
    assert claim["ok"] is False and said in claim["evidence"] and claim["remedy"]


def test_nothing_to_look_at_proves_nothing():
    assert claims.judge_resources({"resources": [], "waited": 0.0})[0][0]["ok"] is False


def seen(**changes):
    """A recorded observation of a service that is well, with changes."""
    return {
        "name": "llama-8b", "url": "http://10.216.7.20", "model": "acme/tiny", "replicas": 2, "promises": ["sticky", "spread"], "ready_endpoints": 2.0,
        "sent": 10, "scheduled": 10, "failures": [], "seconds": {"serving": 0.2, "counted": 0.1, "sticky": 0.6, "spread": 0.4},
        "health": {"healthy": True, "level": "serving", "version": None, "waited": 0.2, "looks": 1, "checks": [
            {"name": "health", "ok": True, "evidence": "GET http://10.216.7.20/health: 200", "ms": 2.0, "remedy": "", "kind": ""}]},
        "sticky": {"sent": 6, "servers": {"sim-x": 6}, "source": "x-inference-pod"},
        "spread": {"sent": 4, "servers": {"sim-x": 3, "sim-y": 1}, "source": "x-inference-pod"},
        "counters": {"moved": {"requests": 10, "scheduler_attempts": 10}, "sent": 10}, **changes,
    }


def failed(**changes):
    return {entry["id"].removeprefix("llama-8b/"): entry for entry in claims.judge_service(seen(**changes))[0] if not entry["ok"]}


def test_a_service_that_is_well():
    assert failed() == {}
    assert {entry["id"]: entry["seconds"] for entry in claims.judge_service(seen())[0]}["llama-8b/sticky"] == 0.6


@pytest.mark.parametrize("changes, claim, evidence, remedy", [
    ({"scheduled": 9}, "scheduled", "9 of 10", "past the endpoint picker"),
    ({"counters": {"moved": {"requests": 9, "scheduler_attempts": 10}, "sent": 10}}, "counted", "requests by 9", "several replicas"),
    ({"counters": {"moved": {"requests": 11, "scheduler_attempts": 10}, "sent": 10}}, "counted", "requests by 11", "other clients"),
    ({"counters": {"moved": {"requests": -4, "scheduler_attempts": 10}, "sent": 10}}, "counted", "requests by -4", "restarted"),
    ({"counters": {"moved": {"requests": None, "scheduler_attempts": 10}, "sent": 10}}, "counted", "no such series", "llm_d_release"),
    ({"counters": {"error": "GET /metrics: 403", "remedy": "ask"}}, "counted", "403", "ask"),
    ({"counters": None}, "counted", "not read", "metrics Service"),
    ({"sticky": {"sent": 6, "servers": {"a": 5, "b": 1}, "source": "x-inference-pod"}}, "sticky", "a (5), b (1)", "prefix scorer"),
    ({"sticky": {"sent": 6, "servers": {"a": 5}, "source": "x-inference-pod"}}, "sticky", "6 requests", "prefix scorer"),
    ({"sticky": {"sent": 6, "servers": {}, "source": "x"}}, "sticky", "neither", "POD_NAME"),
    ({"sticky": None}, "sticky", "no server", "prefix scorer"),
    ({"spread": {"sent": 24, "servers": {"a": 24}, "source": "x-inference-pod"}, "ready_endpoints": 1.0}, "spread", "knows 1 ready", "ready endpoints"),
    ({"spread": {"sent": 24, "servers": {"a": 24}, "source": "x-inference-pod"}, "ready_endpoints": None}, "spread", "does not say", "ready endpoints"),
    ({"spread": {"sent": 24, "servers": {}, "source": "x"}}, "spread", "neither", "POD_NAME"),
    ({"failures": [{"request": 3, "evidence": "POST ...: 503", "remedy": "look"}]}, "serving", "503 (request 3", "look"),
])
def test_each_claim_fails_for_its_own_reason(changes, claim, evidence, remedy):
    found = failed(**changes)
    assert list(found) == [claim]
    assert evidence in found[claim]["evidence"] and remedy in found[claim]["remedy"]


def test_failures_for_people():
    assert claims.failures([claims.claim("a", True, "x", "y"), claims.claim("b", False, "seen", "do"), claims.claim("c", False, "seen")]) == [
        "b: seen\n  remedy: do", "c: seen"]
