# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about configurations, single servers and speed: each holds of what is well, and fails with evidence and remedy of what is not."""

from __future__ import annotations

import pytest

from ansible_collections.llm_d.inference.plugins.module_utils import claims_stack

SERVICES = [{"name": name, "scheduler": {"name": f"{name}-epp"}} for name in ("a", "b")]
PODS = [{"pod": "a-epp-x", "by": "log"}]
GROUP = {"id": "a/servers", "replicas": {"count": 2}}
GOOD = {"server": "Pod llm-d/a-1", "healthy": True, "checks": [{"ok": True, "evidence": "200", "remedy": ""}]}
BAD = {"server": "Pod llm-d/a-2", "healthy": False,
       "checks": [{"ok": True, "evidence": "200", "remedy": ""}, {"ok": False, "evidence": "500", "remedy": "restart"}]}
SEEN = {"healthy": True, "servers": [GOOD, GOOD], "findings": [], "engine": "vllm", "version": "0.33.0", "waited": 0.2}
STAGE = {"label": "concurrency 1", "ok": 9, "requests": 10, "ttft_from_schedule_ms": {"p90": 41.2}, "output_tokens_per_s": 160.0}
RUN = {"item": {"name": "a"}, "verdict": "passed", "why": [], "stages": [STAGE], "seconds": 5.0}


def test_configurations():
    found, _skipped = claims_stack.judge_schedulers({"schedulers": [{"name": "a-epp", "pods": PODS}, {"name": "b-epp", "pods": PODS}]}, SERVICES)
    assert [(entry["id"], entry["ok"]) for entry in found] == [("a/configured", True), ("b/configured", True)] and "a-epp-x by its log" in found[0]["evidence"]
    found, skipped = claims_stack.judge_schedulers({"msg": "x", "failures": [{"name": "b-epp", "error": "loaded another configuration"}]}, SERVICES)
    assert [(entry["id"], entry["ok"]) for entry in found] == [("b/configured", False)] and found[0]["evidence"] == "loaded another configuration"
    assert found[0]["remedy"] and skipped == [{"id": "a/configured", "why": "the look ended at b-epp"}]


@pytest.mark.parametrize(("result", "ok", "evidence", "remedy"), [
    (SEEN, True, "2 servers", ""),
    ({**SEEN, "healthy": False, "servers": [GOOD, BAD]}, False, "Pod llm-d/a-2: 500", "restart"),
    ({**SEEN, "healthy": False, "findings": [{"what": "they differ in version", "evidence": "1; 2", "remedy": "finish the rollout"}]}, False,
     "they differ in version (1; 2)", "finish the rollout"),
    ({**SEEN, "servers": [GOOD]}, False, "1 of 2 servers", "Deployment"),
    ({"msg": "no API server"}, False, "no API server", "mend"),
])
def test_servers(result, ok, evidence, remedy):
    (found,), _skipped = claims_stack.judge_servers({"results": [result]}, [GROUP])
    assert found["ok"] is ok and evidence in found["evidence"] and remedy in found["remedy"] and found["id"] == "a/servers"


@pytest.mark.parametrize(("more", "ok", "evidence", "remedy"), [
    ({}, True, "9 of 10 requests, 90 % of first tokens within 41 ms", ""),
    ({"verdict": "failed", "why": ["ttft_p90_ms: 812 misses at most 500"]}, False, "812 misses", "playbooks/benchmark.yml"),
    ({"verdict": "invalid", "why": ["sent late"]}, False, "sent late", "too busy"),
    ({"verdict": "inconclusive", "why": ["too few"]}, False, "too few", "longer"),
])
def test_speed(more, ok, evidence, remedy):
    (found,), _skipped = claims_stack.judge_performance({"results": [{**RUN, **more}]})
    assert found["ok"] is ok and found["id"] == "a/performance" and evidence in found["evidence"] and remedy in found["remedy"]


def test_speed_that_was_not_measured():
    assert claims_stack.judge_performance({}) == ([], [])
    (found,), _skipped = claims_stack.judge_performance({"results": [{"item": {"name": "a"}, "msg": "connection refused"}]})
    assert not found["ok"] and found["evidence"] == "connection refused"
