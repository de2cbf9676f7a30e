# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block `warmup` of a model service: its plan, and mistakes."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems

Facts = dict[str, t.Any]
PROMPT = "You are the patient assistant of a shop for boots."
SIM: Facts = {"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}, "warmup": {"prompts": [PROMPT]}}
VLLM: Facts = {"name": "a", "model": {"uri": "hf://org/model"}, "warmup": {"prompts": [PROMPT]}}
PLACE = "llm_d_model_services[0]"


def file_of(*services: Facts, **variables: t.Any) -> Facts:
    return {"llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": list(services), **variables}


def test_a_warm_up_is_planned_with_its_prompts_and_servers() -> None:
    service = {**SIM, "replicas": 3, "engine": {"type": "simulator", "block_size": 8, "port": 9000}, "warmup": {"prompts": [PROMPT], "config_map": "more"}}
    (warmup,) = plan(file_of(service, llm_d_namespace="team"))["warmups"]
    assert warmup == {
        "name": "sim",
        "model": "acme/sim",
        "api": "chat_completions",
        "block_size": 8,
        "prompts": [PROMPT],
        "config_map": {"namespace": "team", "name": "more"},
        "replicas": [
            {
                "namespace": "team",
                "port": "9000",
                "count": 3,
                "label_selector": "llm-d.ai/inference-serving=true,llm-d.ai/model-service=sim,llm-d.ai/role=decode",
            }
        ],
    }


def test_the_block_size_of_vllm_is_planned_only_when_the_file_sets_it() -> None:
    """Otherwise it is read from each server, and no prompt is refused before."""
    short = {**VLLM, "warmup": {"prompts": ["Hello."]}}
    assert plan(file_of(short))["warmups"][0]["block_size"] is None
    assert plan(file_of({**VLLM, "engine": {"block_size": 32}}))["warmups"][0]["block_size"] == 32
    assert [problem.path for problem in problems(file_of({**short, "engine": {"block_size": 32}}))] == [f"{PLACE}.warmup.prompts[0]"]


def test_prefill_servers_are_warmed_as_well() -> None:
    service = {**SIM, "prefill": {"replicas": 2}, "scheduler": {"preset": "disaggregated"}}
    (warmup,) = plan(file_of(service))["warmups"]
    assert [(entry["label_selector"].rpartition("=")[2], entry["count"], entry["port"]) for entry in warmup["replicas"]] == [
        ("decode", 1, "8000"),
        ("prefill", 2, "8000"),
    ]
    (warmup,) = plan(file_of({**service, "prefill": {"replicas": 0}}))["warmups"]
    assert len(warmup["replicas"]) == 1


@pytest.mark.parametrize("service", [{**SIM, "warmup": None}, {**SIM, "replicas": 0}])
def test_no_warm_up_is_planned_without_prompts_or_servers(service: Facts) -> None:
    assert plan(file_of(service))["warmups"] == []


@pytest.mark.parametrize("role", [0, 1])
def test_vllm_reports_cached_prompt_tokens(role: int) -> None:
    flag = "--enable-prompt-tokens-details"
    split: Facts = {"scheduler": {"preset": "disaggregated"}}
    args = plan(file_of({**VLLM, **split}))["services"][0]["servers"][role]["args"]
    assert args.count(flag) == 1
    assert flag in plan(file_of({**VLLM, **split, "warmup": None}))["services"][0]["servers"][role]["args"]
    assert flag not in plan(file_of({**SIM, **split}))["services"][0]["servers"][role]["args"]
    own = plan(file_of({**VLLM, **split, "engine": {"args": [flag]}}))["services"][0]["servers"][role]["args"]
    assert own.count(flag) == 1


def test_a_warm_up_needs_no_further_permission() -> None:
    planned = plan(file_of({**SIM, "warmup": {"config_map": "more"}}))
    requested = {(entry["verb"], entry["resource"]) for entry in planned["preflight"]["permissions"]}
    assert {("get", "configmaps"), ("list", "pods"), ("create", "pods/proxy")} <= requested
    assert planned["preflight"]["permissions"] == plan(file_of({**SIM, "warmup": None}))["preflight"]["permissions"]


@pytest.mark.parametrize(
    ("service", "place", "reason"),
    [
        ({**SIM, "warmup": {}}, ".warmup", "has no prompt to send"),
        ({**SIM, "warmup": {"prompts": []}}, ".warmup", "has no prompt to send"),
        ({**SIM, "warmup": {"prompts": [PROMPT, "Be brief."]}}, ".warmup.prompts[1]", "its 9 bytes cannot fill a KV-cache block of 16 tokens"),
        ({**SIM, "warmup": {"prompts": [PROMPT]}, "engine": {"type": "simulator", "block_size": 64}}, ".warmup.prompts[0]", "its 50 bytes cannot fill"),
        ({**SIM, "warmup": {"prompts": PROMPT}}, ".warmup.prompts", "not a list"),
        ({**SIM, "warmup": {"prompts": [PROMPT], "api": "chat"}}, ".warmup.api", "is not known here"),
        ({**SIM, "warmup": {"config_map": "My Prompts"}}, ".warmup.config_map", "is not"),
        ({**SIM, "warmup": {"prompt": [PROMPT]}}, ".warmup.prompt", "there is no such option"),
        ({**VLLM, "engine": {"prefix_caching": False}}, ".engine.prefix_caching", "leaves no prefix cache that could be warmed up"),
        ({**VLLM, "engine": {"args": ["--seed=1", "--no-enable-prefix-caching"]}}, ".engine.args[1]", "leaves no prefix cache"),
        ({**VLLM, "engine": {"args": ["--seed=1", "--disable-prefix-caching"]}}, ".engine.args[1]", "leaves no prefix cache"),
        ({**SIM, "engine": {"type": "simulator", "args": ["--enable-kvcache=false"]}}, ".engine.args[0]", "leaves no prefix cache"),
        ({**VLLM, "accelerator": {"per_replica": 2}, "engine": {"args": ["--data-parallel-size=2"]}}, ".engine.args[0]", "a cache of its own"),
        ({**VLLM, "accelerator": {"per_replica": 2, "data": 2}}, ".accelerator.data", "a cache of its own"),
        ({**VLLM, "accelerator": {"per_replica": 2}, "engine": {"type": "sglang", "args": ["--dp-size=2"]}}, ".engine.args[0]", "a cache of its own"),
        ({**VLLM, "accelerator": {"per_replica": 16, "nodes": 2, "across_nodes": "expert"}}, ".accelerator.across_nodes", "a cache of its own"),
    ],
)
def test_a_warm_up_without_usable_prompts_or_a_prefix_cache_is_refused(service: Facts, place: str, reason: str) -> None:
    reported = problems(file_of(service))
    assert [problem.path for problem in reported] == [PLACE + place], [str(problem) for problem in reported]
    assert reason in str(reported[0]) and ("Write" in reported[0].fix or "Take it out" in reported[0].fix or "Did you mean" in reported[0].fix)


@pytest.mark.parametrize(
    "service",
    [
        {**VLLM, "engine": {"prefix_caching": True}},
        {**VLLM, "engine": {"args": ["--enable-prefix-caching"]}},
        {**VLLM, "accelerator": {"per_replica": 16, "nodes": 2, "across_nodes": "pipeline"}},
        {**VLLM, "engine": {"args": ["--data-parallel-size=1"]}},
        {**SIM, "warmup": {"prompts": ["ü" * 9]}},
    ],
)
def test_a_warm_up_with_a_prefix_cache_and_long_enough_prompts_is_accepted(service: Facts) -> None:
    assert problems(file_of(service)) == []


def test_one_switch_is_reported_for_events_and_for_the_warm_up() -> None:
    service = {**VLLM, "engine": {"prefix_caching": False}, "scheduler": {"preset": "precise_prefix"}}
    assert {problem.path for problem in problems(file_of(service))} == {f"{PLACE}.engine.prefix_caching"}


def test_a_disabled_simulator_cache_is_reported_once_when_events_need_it() -> None:
    service = {**SIM, "warmup": None, "engine": {"type": "simulator", "args": ["--enable-kvcache=false"]}, "scheduler": {"preset": "precise_prefix"}}
    assert [problem.path for problem in problems({**file_of(service), "llm_d_release": "scheduler-0.7"})] == [f"{PLACE}.engine.args[0]"]
