# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that should be equal: each difference is a finding, and equal servers have none."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.inference import replicas


def server(name, **fields):
    checks = [{"name": "completions", "ok": True, "ms": 100.0}, {"name": "completions_streamed", "ok": True, "ms": 100.0}]
    return {
        "server": name,
        "engine": "vllm",
        "version": "0.33.0",
        "models": [{"id": "m", "max_model_len": 4096}],
        "metrics": {"block_size": {"name": "x", "value": 16.0}, "blocks": {"name": "x", "value": 1000.0}},
        "checks": checks,
        **fields,
    }


def test_servers_that_are_alike():
    assert replicas.compare([server("a"), server("b"), server("c")]) == []
    assert replicas.compare([]) == replicas.compare([server("a")]) == []


@pytest.mark.parametrize(
    "code, change, evidence, serious",
    [
        ("mixed_engine", {"engine": "sglang"}, "vllm: a; sglang: b", True),
        ("mixed_version", {"version": "0.32.1"}, "0.33.0: a; 0.32.1: b", True),
        ("mixed_models", {"models": [{"id": "n", "max_model_len": 4096}]}, "m: a; n: b", True),
        ("mixed_max_model_len", {"models": [{"id": "m", "max_model_len": 512}]}, "m takes 4096: a; m takes 512: b", True),
        ("mixed_block_size", {"metrics": {"block_size": {"value": 64.0}, "blocks": {"value": 1000.0}}}, "16: a; 64: b", True),
        ("mixed_blocks", {"metrics": {"block_size": {"value": 16.0}, "blocks": {"value": 250.0}}}, "1000: a; 250: b", False),
    ],
)
def test_each_difference_between_servers_is_reported(code, change, evidence, serious):
    findings = replicas.compare([server("a"), server("b", **change)])
    entry = next(entry for entry in findings if entry["code"] == code)
    assert evidence in entry["evidence"] and entry["what"] and entry["remedy"] and entry["where"] == "a, b"
    assert (entry in replicas.serious(findings)) is serious


def test_properties_that_a_server_does_not_report_are_no_difference():
    assert replicas.compare([server("a"), server("b", engine=None, version=None, models=[], metrics={})]) == []


def test_one_slow_server():
    slow = [{"name": "completions", "ok": True, "ms": 2000.0}]
    findings = replicas.compare([server("a"), server("b"), server("c", checks=slow)])
    assert [(entry["code"], entry["where"]) for entry in findings] == [("slow", "c")] and replicas.serious(findings) == []
    assert replicas.compare([server("a", checks=slow), server("b", checks=slow)]) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": [{"id": "n", "max_model_len": 4096}]}, "serve the same models everywhere"),
        ({"models": [{"id": "m", "max_model_len": 512}]}, "the same arguments"),
        ({"version": "0.32.1"}, "one engine and one version"),
        ({"engine": "sglang"}, "one engine and one version"),
    ],
)
def test_each_difference_between_servers_has_a_remedy(change, words):
    alike = {"engine": "vllm", "version": "0.33.0", "models": [{"id": "m", "max_model_len": 4096}], "metrics": {}, "checks": []}
    findings = replicas.compare([{"server": "a", **alike}, {"server": "b", **alike, **change}])
    assert any(words in str(each) for each in findings)
