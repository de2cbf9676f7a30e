# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the results of checks to verdict.json, its table and its curl lines."""

from __future__ import annotations

import json
import re
import shlex

import pytest
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
    "security": {"claims": [{"id": "llama-8b/permissions", "ok": True, "evidence": "few", "remedy": "", "seconds": 0.1}], "not_checked": []},
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
    "llama-8b/permissions",
]
OBJECTS = {
    "changed": False,
    "waited": 0.5,
    "resources": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "llm-d", "name": name}} for name in ("llama-8b-decode", "llama-8b-epp")
    ],
}


def test_the_weights_claim_of_a_route_belongs_to_the_gateway_group():
    assert verdict.group_of("old/weights") == "gateway"


def test_a_verdict(plan):
    content = verdict.assemble(plan, {**OTHERS, "objects": OBJECTS, "routing": ROUTING, "time": "now"}, "0.1.0")
    assert content["ok"] is True and content["endpoint"] == "http://10.216.7.20" and content["time"] == "2026-11-21T08:00:00Z"
    assert [entry["id"] for entry in content["claims"]] == ALL
    assert content["not_checked"] == [*ROUTING["not_checked"], {"id": "qwen/blocks", "why": "the servers do not export their block size"}]
    versions = content["versions"]
    assert (versions["collection"], versions["release"], versions["kubernetes"]) == ("0.1.0", "scheduler-0.7", "v1.34.4")
    assert versions["services"]["llama-8b"]["scheduler"].startswith("ghcr.io/llm-d/llm-d-inference-scheduler:")
    assert versions["gateway"]["provider"] == "envoy_gateway" and versions["crds"]["gateway-api"]
    json.dumps(content, allow_nan=False)


@pytest.mark.parametrize(
    "results, failed",
    [
        ({}, ["objects/ready", "routing/proven"]),
        ({"objects": OBJECTS, "routing": {"failed": False, "msg": "boom", "exception": "..."}}, ["routing/proven"]),
        ({"objects": {"msg": "no API server"}, "routing": ROUTING}, ["objects/ready"]),
        ({"objects": OBJECTS, "routing": ROUTING, "security": {"msg": "no"}}, ["security/proven"]),
        ({"objects": OBJECTS, "routing": ROUTING, "access": {"failed": True, "msg": "no"}}, ["platform/reachable"]),
        ({"objects": OBJECTS, "routing": ROUTING, "servers": {"groups": [], "msg": "no"}}, ["servers/healthy"]),
        ({"objects": OBJECTS, "routing": ROUTING, "platform": {"msg": "no"}}, ["platform/reachable"]),
        ({"objects": OBJECTS, "routing": ROUTING, "schedulers": {"msg": "no"}}, ["schedulers/configured"]),
        ({"objects": OBJECTS, "routing": {**ROUTING, "claims": [{"id": "x", "ok": False, "evidence": "e", "remedy": "r", "seconds": 0}]}}, ["x"]),
    ],
)
def test_a_check_without_a_result_fails_the_verdict(plan, results, failed):
    content = verdict.assemble(plan, {**OTHERS, **results, "time": "now"}, "0.1.0")
    assert content["ok"] is False and [entry["id"] for entry in content["claims"] if not entry["ok"]] == failed
    assert content["time"]


def test_a_verdict_of_some_checks(plan):
    content = verdict.assemble(plan, {**OTHERS, "time": "now"}, "0.1.0", ["security", "schedulers"])
    assert [entry["id"] for entry in content["claims"]] == ["llama-8b/configured", "qwen/configured", "llama-8b/permissions"] and content["ok"]
    content = verdict.assemble(plan, {"time": "now"}, "0.1.0", ["security"])
    assert [entry["id"] for entry in content["claims"]] == ["security/proven"] and not content["ok"]


def test_claims_about_a_load_stand_at_the_end(plan):
    content = verdict.assemble(plan, {**OTHERS, "objects": OBJECTS, "routing": ROUTING, "time": "now"}, "0.1.0")
    extended = verdict.with_performance(content, [{"item": {"name": "qwen"}, "msg": "connection refused"}])
    assert [entry["id"] for entry in extended["claims"]] == [*ALL, "qwen/performance"] and list(extended) == list(content)
    assert extended["claims"][-1]["group"] == "performance" and content["ok"] and not extended["ok"]
    assert verdict.with_performance(content, []) == content


def test_no_claims_are_no_proof():
    assert verdict.verdict([], [], [], {}, "")["ok"] is False


def test_the_table(plan):
    lines = verdict.table(verdict.assemble(plan, {**OTHERS, "objects": OBJECTS, "routing": ROUTING}, "0.1.0"))
    assert lines[1] == "ok    0.50 s  objects/ready: ready: 1 Deployment"
    claims = [line for line in lines if line[:6].strip()]  # evidence goes on below
    assert claims[11] == "-             llama-8b/spread: not checked: there is one replica"
    assert claims[13] == "OK: 11 of 11 claims hold"
    assert claims[14].startswith("curl -si ")


def test_the_cluster_is_the_one_that_answered(plan):
    planned = {**plan, "deployment": {**plan["deployment"], "cluster": "https://of.the.file"}}
    silent = verdict.assemble(planned, {"access": {"failed": True, "msg": "no"}}, "0.1.0")
    assert (silent["instance"], silent["namespace"], silent["cluster"], silent["release"]) == ("llm-d", "llm-d", "https://of.the.file", "scheduler-0.7")
    there = verdict.assemble(planned, {**OTHERS, "access": {"server": "https://10.0.0.1:6443"}}, "0.1.0")
    assert there["cluster"] == "https://10.0.0.1:6443" and silent["ok"] is False


def test_the_table_of_a_failure():
    assert verdict.table(verdict.verdict([{"id": "x", "ok": False, "evidence": "e", "remedy": "r", "seconds": 1}], [], [], {}, "")) == [
        "FAIL  1.00 s  x: e",
        "NOT OK: 0 of 1 claims hold",
    ]


def test_the_curl_line_quotes_special_characters():
    words = shlex.split(verdict.curl({**ENDPOINT, "model": "it's/$HOME", "host_header": "a.b", "headers": {"x-variant": "it's b"}}))
    assert words[:3] == ["curl", "-si", "http://10.216.7.20/v1/completions"]
    assert words[words.index("-H") + 1] == "Host: a.b" and "x-variant: it's b" in words and "Content-Type: application/json" in words
    assert json.loads(words[-1]) == {"model": "it's/$HOME", "prompt": "Say hello.", "max_tokens": 16}


def test_every_claim_has_a_group_and_a_row_in_the_docs(root):
    files = [path for path in (root / "plugins/module_utils/validation").glob("*.py") if path.stem.endswith("claims") or path.stem in ("verdict", "targets")]
    judged = {end for path in files for end in re.findall(r'f"\{[^{}]+\}/([a-z-]+)"', path.read_text(encoding="utf-8"))}
    grouped = {end for ends in verdict.GROUPS.values() for end in ends}
    assert len(judged) > 10 and judged | set(routing_claims.JUDGES) <= grouped
    rows = re.findall(r"^\|(.+?)\|", (root / "docs/claims.md").read_text(encoding="utf-8"), re.MULTILINE)
    documented = set(re.findall(r"`(?:NAME|gateway)/([a-z-]+)`", " ".join(rows)))
    assert documented == grouped | {"prefill-servers"}
