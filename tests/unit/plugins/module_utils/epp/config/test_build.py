"""The configuration of a scheduler block in each release line: presets, aliases, overrides, requirements, golden documents."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog import plugins as catalogue
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import PRESETS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.release_lines import LINE_FACTS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import Built, build
from ansible_collections.llm_d.inference.plugins.module_utils.epp.rules import check
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from scorer_refusals import REFUSALS

LINES = tuple(LINE_FACTS)
CONTEXT = {"engine": "vllm", "model": "meta-llama/Llama-3.1-8B-Instruct", "block_size": 64, "port": 8000}
GOLDEN = Path(__file__).resolve().parents[6] / "tests/golden/epp"
LLMD = tuple(line for line in LINES if line != "gie-1.5")


def made(scheduler: dict[str, t.Any], line: str = "scheduler-0.7", **context: t.Any) -> Built:
    """A configuration that must have no problem."""
    built = build(scheduler, line, {**CONTEXT, **context})
    assert not built.problems, [str(problem) for problem in built.problems]
    return built


def refused(scheduler: dict[str, t.Any], line: str = "scheduler-0.7", **context: t.Any) -> dict[str, str]:
    """{path: reason and fix} of every problem; with a problem there is no document."""
    built = build(scheduler, line, {**CONTEXT, **context})
    assert (built.document, built.text) == ({}, "") or not built.problems
    return {problem.path: f"{problem.reason} {problem.fix}" for problem in built.problems}


def weights(built: Built, profile: int = 0) -> dict[str, float]:
    return {entry["pluginRef"]: entry["weight"] for entry in built.document["schedulingProfiles"][profile]["plugins"] if "weight" in entry}


def members(built: Built, profile: int = 0) -> list[str]:
    return [entry["pluginRef"] for entry in built.document["schedulingProfiles"][profile]["plugins"]]


def plugin(built: Built, kind: str) -> dict[str, t.Any]:
    return next(entry for entry in built.document["plugins"] if entry["type"] == kind)


def test_every_release_line_has_facts() -> None:
    assert set(LINES) == set(RELEASES)
    assert all(LINE_FACTS[line].api_versions[0] == RELEASES[line]["config_api_version"] for line in LINES)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_golden_document(line: str, preset: str) -> None:
    """LLM_D_REGENERATE_GOLDEN=1 writes them again, so that a reviewer sees the effect of a change."""
    file = GOLDEN / line / f"{preset}.yml"
    if line not in PRESETS[preset]["lines"]:
        assert not file.exists()
        return
    text = made({"preset": preset}, line).text
    if os.environ.get("LLM_D_REGENERATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\n{text}", encoding="utf-8")
    assert file.read_text(encoding="utf-8") == f"---\n{text}"


def test_no_golden_document_is_left_over() -> None:
    assert {file.relative_to(GOLDEN).as_posix() for file in GOLDEN.rglob("*.yml")} == {
        f"{line}/{preset}.yml" for preset, facts in PRESETS.items() for line in facts["lines"]
    }


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    ("preset", "expected", "picker"),
    [
        ("queue", {"queue-scorer": 1}, "max-score-picker"),
        ("balanced", {"queue-scorer": 1, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}, "max-score-picker"),
        ("prefix_aware", {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}, "max-score-picker"),
        ("default", {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}, "max-score-picker"),
        ("round_robin", {}, "random-picker"),
    ],
)
def test_the_configurations_of_the_well_lit_path(line: str, preset: str, expected: dict[str, float], picker: str) -> None:
    """Queue only, multi-factor 1/2/3, round robin, default: the same in meaning on every line."""
    built = made({"preset": preset}, line)
    assert weights(built) == expected
    assert members(built)[-1] == picker
    assert built.requires["sidecars"] == [] and built.requires["roles"] == []


@pytest.mark.parametrize("preset", ["precise_prefix", "disaggregated"])
def test_a_preset_that_a_release_line_lacks_is_refused_with_alternatives(preset: str) -> None:
    problems = refused({"preset": preset}, "gie-1.5")
    assert list(problems) == ["preset"]
    assert "prefix_aware" in problems["preset"] and "scheduler-0.7" in problems["preset"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *((alias, kind) for alias, kind in catalogue.SCORER_ALIASES.items() if "scheduler-0.7" in catalogue.lines_of(kind)),
        *((kind, kind) for kind in catalogue.SCORER_ALIASES.values() if "scheduler-0.7" in catalogue.lines_of(kind)),
        ("loadAwareScorer", "load-aware-scorer"),
        ("prefixCacheScorer", "prefix-cache-scorer"),
        ("kvCacheUtilizationScorer", "kv-cache-utilization-scorer"),
        ("kv-cache-scorer", "kv-cache-utilization-scorer"),
        ("queue_scorer", "queue-scorer"),
        ("QueueScorer", "queue-scorer"),
        ("activeRequestScorer", "active-request-scorer"),
        ("lora", "lora-affinity-scorer"),
        ("precise", "precise-prefix-cache-scorer"),
        ("running-requests-size-scorer", "running-requests-size-scorer"),
        ("slo-aware-routing", "predicted-latency-scorer"),
    ],
)
def test_aliases_and_older_spellings(word: str, expected: str) -> None:
    """predicted-latency-scorer needs a gate, and a cold-request scorer needs a prefix scorer."""
    others = {} if expected == "prefix-cache-scorer" else {"prefix": 1}
    scheduler = {"scorers": {word: 3, **others}, "feature_gates": ["prepareDataPlugins"]}
    assert weights(made(scheduler))[expected] == 3


def test_the_seed_operator_s_block() -> None:
    """S0: three scorers as {enabled, weight, parameters}, 1/2/1."""
    built = made(
        {
            "scorers": {
                "loadAwareScorer": {"enabled": True, "weight": 1.0, "parameters": {"queueThreshold": 64}},
                "prefixCacheScorer": {"enabled": True, "weight": 2.0},
                "kvCacheUtilizationScorer": {"enabled": True, "weight": 1.0},
            }
        }
    )
    assert weights(built) == {"load-aware-scorer": 1, "prefix-cache-scorer": 2, "kv-cache-utilization-scorer": 1}
    assert plugin(built, "load-aware-scorer")["parameters"] == {"threshold": 64}


def test_scorers_override_a_preset() -> None:
    built = made({"preset": "balanced", "scorers": {"prefix": 5, "queue": 0, "load_aware": {"weight": 0.5, "threshold": 10}, "kv_cache": {}}})
    assert weights(built) == {"kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 5, "load-aware-scorer": 0.5}


def test_a_scorer_of_a_preset_can_be_switched_off() -> None:
    built = made({"preset": "balanced", "scorers": {"prefix": {"enabled": False, "weight": 3}, "queue": False, "kv_cache": True}})
    assert weights(built) == {"kv-cache-utilization-scorer": 2}


def test_scorers_alone_are_all_there_is() -> None:
    assert weights(made({"scorers": {"queue": 4}})) == {"queue-scorer": 4}


def test_an_empty_scheduler_block_builds_the_default_preset() -> None:
    assert made({}).document == made({"preset": "default"}).document


@pytest.mark.parametrize("word", ["prefix-aware", "PrefixAware", "prefix_aware"])
def test_a_preset_is_accepted_in_other_spellings(word: str) -> None:
    assert made({"preset": word}).text == made({"preset": "prefix_aware"}).text


def test_options_of_the_deployment_do_not_change_the_configuration() -> None:
    assert made({"preset": "queue", "replicas": 2, "verbosity": 4, "resources": {}, "picker": None}).text == made({"preset": "queue"}).text


@pytest.mark.parametrize("line", [line for line in LINES if line != "scheduler-0.7"])
def test_prefix_parameters_are_written_to_the_prefix_cache_producer(line: str) -> None:
    """The producer has them since 1.5, the scorer has them no longer since router 0.9; the user writes them at the scorer, in either spelling."""
    built = made({"preset": "balanced", "scorers": {"prefix": {"block_size_tokens": 64, "autoTune": False}}}, line)
    assert plugin(built, "approx-prefix-cache-producer")["parameters"] == {"blockSizeTokens": 64, "autoTune": False}
    assert "parameters" not in plugin(built, "prefix-cache-scorer")


def test_prefix_parameters_stay_at_the_scorer_before() -> None:
    built = made({"preset": "balanced", "scorers": {"prefix": {"block_size_tokens": 64, "auto_tune": False}}})
    assert plugin(built, "prefix-cache-scorer")["parameters"] == {"blockSizeTokens": 64, "autoTune": False}


@pytest.mark.parametrize("line", ["scheduler-0.7"])
def test_max_busy_score_is_written_where_the_release_default_is_incorrect(line: str) -> None:
    """A missing maxBusyScore is read as 0: all busy servers would score the same."""
    assert plugin(made({"scorers": {"active_requests": 1}}, line), "active-request-scorer")["parameters"] == {"maxBusyScore": 1.0}
    chosen = made({"scorers": {"active_requests": {"weight": 1, "max_busy_score": 0.5}}}, line)
    assert plugin(chosen, "active-request-scorer")["parameters"] == {"maxBusyScore": 0.5}


@pytest.mark.parametrize("line", LLMD)
def test_disaggregated(line: str) -> None:
    built = made({"preset": "disaggregated", "disaggregation": {"non_cached_tokens": 100}}, line)
    types = [entry["type"] for entry in built.document["plugins"]]
    assert [profile["name"] for profile in built.document["schedulingProfiles"]] == ["prefill", "decode"]
    assert [members(built, index)[0] for index in (0, 1)] == ["prefill-filter", "decode-filter"]
    assert plugin(built, "prefix-based-pd-decider")["parameters"] == {"nonCachedTokens": 100}
    assert types.index("prefix-based-pd-decider") < types.index("disagg-profile-handler")
    assert ("disagg-headers-handler" in types) == (not line.startswith("router"))
    assert built.requires["feature_gates"] == (["prepareDataPlugins"] if line == "scheduler-0.7" else [])
    assert built.requires["roles"] == ["prefill", "decode"]
    (sidecar,) = built.requires["sidecars"]
    assert ("--vllm-port=8200" if line in ("scheduler-0.7", "router-0.9") else "--model-server-port=8200") in sidecar["args"]
    assert any(argument.startswith("--kv-transfer-config=") for argument in built.requires["vllm"]["args"])


def test_disaggregation_of_one_s_own_scorers() -> None:
    built = made(
        {
            "scorers": {"queue": 1, "prefix": 2},
            "disaggregation": {"decider": "always", "decode": {"scorers": {"active_requests": 1}}, "prefill": {"picker": "weighted_random"}, "encode": True},
        },
        "scheduler-0.7",
    )
    assert [profile["name"] for profile in built.document["schedulingProfiles"]] == ["encode", "prefill", "decode"]
    assert weights(built, 2) == {"active-request-scorer": 1}
    assert members(built, 1)[-1] == "weighted-random-picker" and members(built, 2)[-1] == "max-score-picker"
    assert built.requires["roles"] == ["encode", "prefill", "decode"]
    assert plugin(built, "disagg-profile-handler")["parameters"]["deciders"] == {
        "prefill": "always-disagg-pd-decider",
        "encode": "always-disagg-multimodal-decider",
    }


def test_disaggregation_by_precise_prefixes_publishes_what_the_decider_reads() -> None:
    built = made({"preset": "precise_prefix", "disaggregation": True})
    assert plugin(built, "precise-prefix-cache-scorer")["parameters"]["speculativeIndexing"] is True
    assert built.document["featureGates"] == ["prepareDataPlugins"]


@pytest.mark.parametrize("line", ["scheduler-0.7"])
def test_precise_prefix_of_the_scheduler(line: str) -> None:
    built = made({"preset": "precise_prefix", "scorers": {"precise_prefix": {"hash_seed": "7", "index_size": 1000}}}, line)
    given_parameters = plugin(built, "precise-prefix-cache-scorer")["parameters"]
    assert given_parameters["tokenProcessorConfig"] == {"blockSize": 64, "hashSeed": "7"}
    assert given_parameters["indexerConfig"]["tokenizersPoolConfig"] == {
        "modelName": CONTEXT["model"],
        "workersCount": 5,
        "uds": {"socketFile": "/tmp/tokenizer/tokenizer-uds.socket"},
    }
    assert given_parameters["indexerConfig"]["kvBlockIndexConfig"] == {"inMemoryConfig": {"size": 1000}, "enableMetrics": True}
    assert weights(built)["precise-prefix-cache-scorer"] == 3
    assert "dataLayer" not in built.document
    assert built.requires["sidecars"][0]["kind"] == "uds"
    assert {"name": "PYTHONHASHSEED", "value": "7"} in built.requires["vllm"]["env"]


@pytest.mark.parametrize("line", ["router-0.9", "router-0.10"])
def test_precise_prefix_of_the_router(line: str) -> None:
    built = made({"preset": "precise_prefix"}, line)
    assert "tokenizersPoolConfig" not in plugin(built, "precise-prefix-cache-producer")["parameters"]["indexerConfig"]
    assert plugin(built, "prefix-cache-scorer")["parameters"] == {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"}
    assert plugin(built, "token-producer")["parameters"]["modelName"] == CONTEXT["model"]
    sources = {source["pluginRef"]: source["extractors"][0]["pluginRef"] for source in built.document["dataLayer"]["sources"]}
    assert sources == {"metrics-data-source": "core-metrics-extractor", "endpoint-notification-source": "precise-prefix-cache-producer"}
    assert built.requires["sidecars"][0]["command"] == ["vllm", "launch", "render"]


def test_precise_and_approximate_prefixes_in_one_profile() -> None:
    """Two scorers of one type need names of their own."""
    built = made({"scorers": {"prefix": 1, "precise_prefix": 2}}, "router-0.10")
    assert sorted(weights(built).values()) == [1, 2] and len(weights(built)) == 2


def test_kv_events_reach_the_endpoint_picker_from_vllm() -> None:
    """The topic has address and port; otherwise every server scores 0 without a message."""
    needs = made({"preset": "precise_prefix"}).requires
    (publisher,) = [argument for argument in needs["vllm"]["args"] if argument.startswith("--kv-events-config=")]
    assert '"topic":"kv@$(POD_IP):8000@meta-llama/Llama-3.1-8B-Instruct"' in publisher and '"endpoint":"tcp://*:5557"' in publisher
    assert needs["pod_labels"] == {"llm-d.ai/inference-serving": "true"}
    assert needs["epp"]["ports"] == []


def test_kv_events_reach_the_endpoint_picker_from_the_simulator() -> None:
    """The simulator connects to the endpoint picker, whose address must be known before it is ready."""
    built = made({"preset": "precise_prefix"}, engine="simulator", epp_service="llama-8b-epp")
    events = plugin(built, "precise-prefix-cache-scorer")["parameters"]["kvEventsConfig"]
    assert events == {"topicFilter": "kv@", "zmqEndpoint": "tcp://0.0.0.0:5557", "discoverPods": False}
    assert built.requires["epp"]["ports"] == [{"name": "kv-events", "port": 5557}] and built.requires["epp"]["publish_not_ready"] is True
    assert "--zmq-endpoint=tcp://llama-8b-epp:5557" in built.requires["vllm"]["args"]
    assert {"name": "POD_IP", "value": "$(SERVER_IP):8000"} in built.requires["vllm"]["env"]


def test_vllm_needs_the_block_size_flag_only_when_block_size_is_not_set() -> None:
    assert "--block-size=16" in build({"preset": "precise_prefix"}, "scheduler-0.7", {"model": "m"}).requires["vllm"]["args"]
    assert not any("--block-size" in argument for argument in made({"preset": "precise_prefix"}).requires["vllm"]["args"])


def test_saturation_in_each_form() -> None:
    block = {"preset": "queue", "saturation": {"queue_depth": 9, "kv_cache_utilization": 0.7, "staleness": "1s"}}
    values = {"queueDepthThreshold": 9, "kvCacheUtilThreshold": 0.7, "metricsStalenessThreshold": "1s"}
    assert made(block).document["saturationDetector"] == values
    assert made(block, "gie-1.5").document["saturationDetector"] == {"pluginRef": "utilization-detector"}
    for line in ("router-0.9", "router-0.10"):
        assert made(block, line).document["flowControl"] == {"saturationDetector": {"pluginRef": "utilization-detector"}}
    assert all(plugin(made(block, line), "utilization-detector")["parameters"] == values for line in LINES if line != "scheduler-0.7")


@pytest.mark.parametrize("line", LINES)
def test_flow_control(line: str) -> None:
    built = made(
        {
            "preset": "queue",
            "flow_control": {"request_ttl": "30s", "max_bytes": 1000, "bands": [{"priority": 1, "fairness": "round_robin", "ordering": "edf"}]},
        },
        line,
    )
    assert built.document["featureGates"] == ["flowControl"]
    assert built.document["flowControl"]["priorityBands"] == [
        {"priority": 1, "fairnessPolicyRef": "round-robin-fairness-policy", "orderingPolicyRef": "edf-ordering-policy"}
    ]
    assert built.document["flowControl"]["maxBytes"] == 1000


def test_experimental_plugins_bring_their_flag() -> None:
    built = made({"preset": "balanced", "scorers": {"session_affinity": 1}}, "router-0.10")
    assert built.requires["epp"]["args"] == ["--allow-experimental-plugins=true"]
    assert any("experimental" in note for note in built.notes)
    assert made({"preset": "balanced", "scorers": {"session_affinity": 1}}, "router-0.9").requires["epp"]["args"] == []


def test_the_session_affinity_note_explains_the_header_that_clients_send() -> None:
    notes = {line: made({"scorers": {"session_affinity": 1}}, line).notes for line in ("scheduler-0.7", "router-0.9")}
    ((own,), (back,)) = ([note for note in texts if note.startswith("session_affinity: ")] for texts in notes.values())
    assert "base64 of NAMESPACE/POD-rank-0" in own and "prefix scorers" in own and "send back" not in own
    assert "send back the session header" in back


def test_filters_and_handler() -> None:
    built = made(
        {
            "preset": "queue",
            "filters": ["decode", {"label_selector": {"matchLabels": {"zone": "a"}}}],
            "profile_handler": "data_parallel",
            "profile_handler_parameters": {"primary_port": 8001},
            "picker_parameters": {"max_num_of_endpoints": 2},
        }
    )
    assert members(built) == ["decode-filter", "by-label-selector", "queue-scorer", "max-score-picker"]
    assert plugin(built, "data-parallel-profile-handler")["parameters"] == {"primaryPort": 8001}
    assert plugin(built, "max-score-picker")["parameters"] == {"maxNumOfEndpoints": 2}
    assert "label-selector-filter" in members(made({"preset": "queue", "filters": [{"label_selector": {"matchLabels": {"zone": "a"}}}]}, "router-0.9"))


def test_an_expert_s_plugins_and_profiles() -> None:
    built = made(
        {
            "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}],
            "profiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": 1}, {"pluginRef": "max-score-picker"}]}],
            "saturation": {"queue_depth": 3},
        }
    )
    assert built.document["saturationDetector"] == {"queueDepthThreshold": 3}
    assert built.document["apiVersion"] == "inference.networking.x-k8s.io/v1alpha1"


def test_a_complete_document_of_the_user_is_used_unchanged() -> None:
    own = made({"preset": "disaggregated"}).document
    built = made({"document": own})
    assert built.document == own and built.requires["roles"] == ["prefill", "decode"]


@pytest.mark.parametrize(("scheduler", "line", "path", "words"), REFUSALS)
def test_invalid_scheduler_options_are_refused_with_path_and_reason(scheduler: dict[str, t.Any], line: str, path: str, words: str) -> None:
    problems = refused(scheduler, line)
    assert path in problems, problems
    assert words in problems[path]


def test_an_unknown_release_is_refused() -> None:
    (problem,) = build({"preset": "queue"}, "scheduler-0.6").problems
    assert problem.path == "release" and "scheduler-0." in problem.fix


def test_a_mistake_in_a_flag_is_not_a_mistake_in_the_document() -> None:
    own = made({"preset": "queue"}, "router-0.9").document
    assert list(refused({"document": own}, "router-0.9", epp_args=["--drain-timeout=30s"])) == ["epp_args[0]"]


def test_a_mistake_in_a_flow_control_band_is_reported_at_its_path() -> None:
    block = {"preset": "queue", "flow_control": {"bands": [{"priority": 1}, {"priority": 1, "max_bytes": "x"}]}}
    assert list(refused(block)) == ["flow_control.bands[1].max_bytes", "flow_control.bands[1].priority"]


def test_precise_prefix_must_know_the_model() -> None:
    (problem,) = build({"preset": "precise_prefix"}, "scheduler-0.7").problems[:1]
    assert problem.path == "scorers.precise_prefix.model"


def test_all_mistakes_are_reported_at_once_without_their_consequences() -> None:
    problems = refused(
        {
            "preset": "balancd",
            "scorers": {"quue": 1, "prefix": {"autoTun": True}},
            "picker": "best",
            "feature_gates": ["nope"],
            "saturation": {"queue_depth": "five"},
        }
    )
    assert set(problems) == {"preset", "scorers.quue", "scorers.prefix.autoTun", "picker", "feature_gates[0]", "saturation.queue_depth"}


def test_the_block_is_not_changed() -> None:
    block = {"preset": "precise_prefix", "scorers": {"prefix": {"weight": 1, "autoTune": False}}, "plugins": None}
    before = yaml.safe_dump(block)
    build(block, "scheduler-0.7", CONTEXT)
    assert yaml.safe_dump(block) == before


def parameter(param: t.Any) -> st.SearchStrategy[t.Any]:
    """Values within a parameter's type and range."""
    low = param.low if param.low is not None else (param.above if param.above is not None else 0)
    high = param.high if param.high is not None else (param.below if param.below is not None else 1000)
    if param.choices:
        return st.sampled_from(param.choices)
    if param.kind == "int":
        return st.integers(int(low) + (param.above is not None), int(high) - (param.below is not None))
    if param.kind == "float":
        return (
            st.floats(low, high, exclude_min=param.above is not None, exclude_max=param.below is not None, width=32)
            .map(lambda value: round(value, 3))
            .filter(lambda value: value > low or param.above is None)
        )
    return {"bool": st.booleans(), "duration": st.sampled_from(["200ms", "1s"]), "str": st.just("text")}.get(param.kind, st.nothing())


SIMPLE = {"int", "float", "bool", "duration"}


@st.composite
def blocks(draw: st.DrawFn) -> tuple[dict[str, t.Any], str]:
    """A valid scheduler block of any line: a preset, scorers with weights and parameters, picker, gates, saturation."""
    line = draw(st.sampled_from(LINES))
    preset = draw(st.sampled_from([name for name, facts in PRESETS.items() if line in facts["lines"]]))
    forbidden = {"predicted_latency", "precise_prefix", "prefix", "endpoint_attribute", "header_label", "no_hit_lru"}
    usable = [alias for alias, kind in catalogue.SCORER_ALIASES.items() if line in catalogue.lines_of(kind) and alias not in forbidden]
    scorers: dict[str, t.Any] = {}
    for alias in draw(st.lists(st.sampled_from(usable), unique=True, max_size=3)):
        description = catalogue.find_plugin(catalogue.SCORER_ALIASES[alias], line)
        params = [param for param in (description.params if description else ()) if line in param.lines and param.kind in SIMPLE and not param.obsolete]
        chosen = draw(st.lists(st.sampled_from(params), unique=True)) if params else []
        scorers[alias] = {"weight": draw(st.sampled_from([1, 2, 0.5, 10])), **{param.name: draw(parameter(param)) for param in chosen}}
    block: dict[str, t.Any] = {"preset": preset, "scorers": scorers, "picker": draw(st.sampled_from([None, "max_score", "weighted_random"]))}
    if preset == "round_robin" and not scorers:
        block["picker"] = None
    if draw(st.booleans()):
        block["saturation"] = {"queue_depth": draw(st.integers(1, 50)), "kv_cache_utilization": draw(st.sampled_from([0.5, 0.9]))}
    if draw(st.booleans()):
        block["flow_control"] = {"request_ttl": "10s"}
    return block, line


@examples(200)
@given(blocks())
def test_every_built_configuration_passes_the_rules_and_round_trips(case: tuple[dict[str, t.Any], str]) -> None:
    block, line = case
    built = made(block, line)
    assert check.check(built.document, line) == []
    assert yaml.safe_load(built.text) == built.document
    assert made(yaml.safe_load(yaml.safe_dump(block)), line).text == built.text
    assert build({"document": built.document}, line).document == built.document


@pytest.mark.parametrize("line", LINES)
def test_every_scorer_filter_picker_and_handler_has_an_alias(line: str) -> None:
    """Every catalogue type of these roles has an alias, so that it can be used without raw plugins."""
    own = {"scorer": catalogue.SCORER_ALIASES, "filter": catalogue.FILTER_ALIASES, "picker": catalogue.PICKER_ALIASES, "handler": catalogue.HANDLER_ALIASES}
    for role, aliases in own.items():
        reachable = set(aliases.values()) | {name for lines, name in catalogue.OLDER_TYPES.values() if line in lines}
        known = set(catalogue.types_of(line, role)) - {"tokenizer", "by-label-selector"}
        assert known <= reachable, (role, known - reachable)


words = st.sampled_from(["queue", "prefix", "precise_prefix", "max_score", "disaggregated", "balanced", "single", "decode", "flowControl", "x", ""])
junk = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | words,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            words
            | st.sampled_from(
                [
                    "weight",
                    "enabled",
                    "parameters",
                    "type",
                    "pluginRef",
                    "plugins",
                    "decider",
                    "prefill",
                    "scorers",
                    "picker",
                    "bands",
                    "fairness",
                    "priority",
                    "kv_events",
                    "model",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)
KEYS = [
    "preset",
    "scorers",
    "picker",
    "picker_parameters",
    "profile_handler",
    "profile_handler_parameters",
    "filters",
    "disaggregation",
    "saturation",
    "flow_control",
]


@examples(400)
@given(st.dictionaries(st.sampled_from([*KEYS, "feature_gates", "plugins", "profiles", "document", "x"]), junk, max_size=5), st.sampled_from(LINES))
def test_no_block_breaks_it(block: dict[str, t.Any], line: str) -> None:
    """Whatever a user writes is built or refused, with a path, a reason and a fix for each mistake."""
    built = build(block, line, CONTEXT)
    assert bool(built.document) != bool(built.problems)
    assert all(problem.reason and problem.fix for problem in built.problems)
