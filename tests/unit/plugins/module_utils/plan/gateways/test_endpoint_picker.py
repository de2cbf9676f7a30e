# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of users, and precise prefix matching, on each release line: settings that have to agree with the servers, and paths of mistakes;
settings that the preset sticky takes from the rest of the file, and its warnings."""

from __future__ import annotations

import copy
import typing as t

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.types import ROUTER, S07
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.gateways import endpoint_picker
from planned_pods import main

Facts = dict[str, t.Any]
NAME = "Qwen/Qwen3-8B"
EVENTS = '--kv-events-config={"enable_kv_cache_events": true, "endpoint": "tcp://*:5557", "topic": "kv@$(POD_IP):$(POD_PORT)@Qwen/Qwen3-8B"}'
# As in guides for llm-d's router: no seed, and blocks of another size than the servers'.
GUIDE: Facts = {
    "apiVersion": "llm-d.ai/v1alpha1",
    "kind": "EndpointPickerConfig",
    "plugins": [
        {"type": "token-producer", "parameters": {"modelName": NAME, "vllm": {"url": "http://localhost:8000"}}},
        {"type": "endpoint-notification-source"},
        {"type": "metrics-data-source"},
        {"type": "core-metrics-extractor"},
        {
            "type": "precise-prefix-cache-producer",
            "parameters": {
                "tokenProcessorConfig": {"blockSize": 64},
                "kvEventsConfig": {"topicFilter": "kv@", "discoverPods": True, "podDiscoveryConfig": {"socketPort": 5557}},
            },
        },
        {"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"}},
        {"type": "queue-scorer"},
        {"type": "max-score-picker"},
    ],
    "dataLayer": {
        "sources": [
            {"pluginRef": "metrics-data-source", "extractors": [{"pluginRef": "core-metrics-extractor"}]},
            {"pluginRef": "endpoint-notification-source", "extractors": [{"pluginRef": "precise-prefix-cache-producer"}]},
        ]
    },
    "schedulingProfiles": [
        {
            "name": "default",
            "plugins": [{"pluginRef": "prefix-cache-scorer", "weight": 2}, {"pluginRef": "queue-scorer", "weight": 1}, {"pluginRef": "max-score-picker"}],
        }
    ],
}
OLD: Facts = {
    "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
    "kind": "EndpointPickerConfig",
    "plugins": [
        {
            "type": "precise-prefix-cache-scorer",
            "parameters": {
                "tokenProcessorConfig": {"blockSize": 64},
                "indexerConfig": {"tokenizersPoolConfig": {"modelName": NAME, "workersCount": 5, "uds": {"socketFile": "/tmp/t/s"}}},
                "kvEventsConfig": {"discoverPods": True},
            },
        },
        {"type": "max-score-picker"},
    ],
    "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "precise-prefix-cache-scorer"}, {"pluginRef": "max-score-picker"}]}],
}


def file_of(release: str, scheduler: Facts, **engine: t.Any) -> Facts:
    service = {"name": "chat", "model": {"uri": f"hf://{NAME}"}, "replicas": 2, "engine": engine, "scheduler": copy.deepcopy(scheduler)}
    return {"llm_d_release": release, "llm_d_model_services": [service]}


@pytest.mark.parametrize("release", sorted(ROUTER))
@pytest.mark.parametrize("engine", [{"block_size": 64}, {"block_size": 16}, {"env": {"PYTHONHASHSEED": "random"}}, {"args": [EVENTS, "--block-size=128"]}])
@pytest.mark.parametrize("scheduler", [{"document": GUIDE}, {"preset": "precise_prefix", "scorers": {"precise_prefix": {"block_size": 32}}}])
def test_router_release_lines_accept_servers_of_any_block_size_and_seed(release: str, engine: Facts, scheduler: Facts) -> None:
    assert problems(file_of(release, scheduler, **engine)) == []


def test_servers_have_the_port_in_the_topics_of_the_guides() -> None:
    env = main(plan(file_of("router-0.10", {"document": GUIDE}, args=[EVENTS], port=9000))["services"][0]["server"])["env"]
    assert {"name": "POD_PORT", "value": "9000"} in env and "PYTHONHASHSEED" not in [entry["name"] for entry in env]
    assert "POD_PORT" not in [entry["name"] for entry in main(plan(file_of("router-0.10", {"document": GUIDE}))["services"][0]["server"])["env"]]


@pytest.mark.parametrize(
    ("scheduler", "engine", "path"),
    [
        ({"document": OLD}, {}, "scheduler.document.plugins[0].parameters.tokenProcessorConfig.hashSeed"),
        ({"preset": "precise_prefix", "scorers": {"precise_prefix": {"hash_seed": "x"}}}, {}, "scheduler.scorers.precise_prefix.hash_seed"),
        ({"preset": "precise_prefix"}, {"env": {"PYTHONHASHSEED": "random"}}, "engine.env.PYTHONHASHSEED"),
    ],
)
def test_a_random_seed_is_refused_where_the_file_has_it(scheduler: Facts, engine: Facts, path: str) -> None:
    [problem] = problems(file_of(S07, scheduler, **engine))
    assert problem.path == f"llm_d_model_services[0].{path}" and "a seed of its own" in problem.reason


def named_by(scheduler: Facts, engine: Facts | None = None, **variables: t.Any) -> Facts:
    service = {"name": "llama", "model": {"uri": "hf://org/m"}, "scheduler": scheduler, "engine": engine or {}}
    return {"llm_d_model_services": [service], **variables}


def picker(*given: t.Any, **variables: t.Any) -> Facts:
    planned: Facts = plan(named_by(*given, **variables))["services"][0]["scheduler"]
    return planned


def parameters(kind: str, planned: Facts) -> Facts:
    return next((entry.get("parameters", {}) for entry in yaml.safe_load(planned["config"])["plugins"] if entry["type"] == kind), {})


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ({}, {}),
        ({"max_model_len": 4096}, {"maxPrefixTokensToMatch": 4096}),
        ({"args": ["--max-model-len=8192"]}, {"maxPrefixTokensToMatch": 8192}),
        ({"args": ["--max-model-len", "16k"]}, {"maxPrefixTokensToMatch": 16000}),
        ({"args": ["--max-model-len=auto"]}, {}),
        ({"type": "simulator", "max_model_len": 2048}, {"maxPrefixTokensToMatch": 2048}),
        ({"type": "sglang", "args": ["--context-length=5000"]}, {"maxPrefixTokensToMatch": 5000}),
    ],
)
def test_the_index_has_the_length_of_the_longest_prompt(engine: Facts, expected: Facts) -> None:
    assert parameters("approx-prefix-cache-producer", picker({"preset": "sticky"}, engine)) == expected


@pytest.mark.parametrize(
    ("scheduler", "noted"),
    [
        ({"preset": "sticky", "replicas": 2}, True),
        ({"preset": "sticky"}, False),
        ({"scorers": {"active_requests": 1}, "replicas": 3}, True),
        ({"scorers": {"queue": 1}, "filters": ["concurrency"], "replicas": 2}, True),
        ({"preset": "balanced", "replicas": 2}, False),
    ],
)
def test_several_endpoint_pickers_with_counts_of_their_own_are_noted(scheduler: Facts, noted: bool) -> None:
    notes = picker(scheduler)["notes"]
    assert any(f"scheduler.replicas is {scheduler.get('replicas')}: each of them counts only its own in-flight requests" in note for note in notes) == noted


def test_measurements_of_servers_stay_with_another_preset() -> None:
    """compare_scorers.yml switches presets by such an override."""
    block = {"preset": "balanced", "peak_prefill_throughput": 33000}
    planned = picker(block, llm_d_scheduler_overrides={"llama": {"preset": "sticky"}})
    assert parameters("prefix-cache-affinity-filter", planned) == {"peakPrefillThroughput": 33000}
    assert picker(block)["decides"][0] == "preset balanced" and planned["decides"][0] == "preset sticky"


@pytest.mark.parametrize(("speed", "words"), [(0, "1"), (10_000_001, "10000000"), ("fast", "number")])
def test_bounds_of_the_prefill_throughput(speed: t.Any, words: str) -> None:
    (problem,) = problems(named_by({"preset": "sticky", "peak_prefill_throughput": speed}))
    assert problem.path == "llm_d_model_services[0].scheduler.peak_prefill_throughput" and words in f"{problem.reason} {problem.fix}".replace(",", "")


def test_a_release_line_without_the_preset_is_reported_at_the_preset() -> None:
    (problem,) = problems(named_by({"preset": "sticky"}, llm_d_release="scheduler-0.7"))
    assert problem.path == "llm_d_model_services[0].scheduler.preset" and "preset: prefix_aware" in problem.fix


@pytest.mark.parametrize(
    ("release", "argument", "path"),
    [
        ("router-0.9", "--drain-timeout=30s", "llm_d_model_services[0].scheduler.args[0]"),
        ("router-0.10", "--drain-timeout=30s", None),
        ("router-0.9", "--allow-experimental-plugins", "llm_d_model_services[0].scheduler.args[0]"),
        ("gie-1.5", "--zap-encoder=json", None),
    ],
)
def test_a_flag_that_the_release_line_does_not_have_is_refused_at_its_place(release: str, argument: str, path: str | None) -> None:
    service = {"name": "m", "model": {"uri": "hf://a/b"}, "scheduler": {"preset": "queue", "args": [argument]}}
    mistakes = problems({"llm_d_release": release, "llm_d_gateway": {"provider": "istio"}, "llm_d_model_services": [service]})
    assert [problem.path for problem in mistakes] == ([path] if path else []), mistakes


def test_encode_servers_of_a_document_are_refused_where_the_file_has_it() -> None:
    """llm-d's guide e-disaggregation, given as a document."""
    stages = ("encode", "prefill", "decode")
    deciders = {"encode": "always-disagg-multimodal-decider", "prefill": "always-disagg-pd-decider"}
    names = [*(f"{stage}-filter" for stage in stages), "active-request-scorer", "max-score-picker", *deciders.values()]
    document = {
        "apiVersion": "llm-d.ai/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [*({"type": name} for name in names), {"type": "disagg-profile-handler", "parameters": {"deciders": deciders}}],
        "schedulingProfiles": [
            {"name": stage, "plugins": [{"pluginRef": f"{stage}-filter"}, {"pluginRef": "active-request-scorer"}, {"pluginRef": "max-score-picker"}]}
            for stage in stages
        ],
    }
    service = {"name": "m", "model": {"uri": "hf://a/b"}, "scheduler": {"document": document}}
    [problem] = problems({"llm_d_gateway": {"provider": "istio"}, "llm_d_model_services": [service]})
    assert problem.path == "llm_d_model_services[0].scheduler.document" and "the decider of encode" in problem.fix


def test_the_configuration_of_a_service_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    build = endpoint_picker.build
    monkeypatch.setattr(endpoint_picker, "build", lambda *given: built.append(given[0]) or build(*given))
    schedulers = [{"preset": "precise_prefix"}, {"preset": "disaggregated"}, {"preset": "balanced"}]
    services = [{"name": f"m{index}", "model": {"uri": "hf://a/b"}, "scheduler": scheduler} for index, scheduler in enumerate(schedulers)]
    plan({"llm_d_model_services": [{**service, "route": {"path": f"/{service['name']}"}} for service in services]})
    assert built == schedulers
