"""Which data each plugin reads in each release line, against a list that was read from the Go code, and what our aliases declare for it."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog import plugins as catalog
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.release_lines import LINE_FACTS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import Built, build
from ansible_collections.llm_d.inference.plugins.module_utils.epp.rules import check

LINES = tuple(LINE_FACTS)
ROUTER = tuple(line for line in LINES if line.startswith("router-"))
CONTEXT = {"engine": "vllm", "model": "m", "block_size": 64, "port": 8000}
APPROX, INFLIGHT, PREDICTOR = "approx-prefix-cache-producer", "inflight-load-producer", "predicted-latency-producer"
EMBEDDINGS, TOPOLOGY, POOLS = "mm-embeddings-cache-producer", "topology-extractor", "multicluster-metrics-extractor"
MAKERS = {APPROX, INFLIGHT, PREDICTOR, EMBEDDINGS, TOPOLOGY, POOLS}

# What an alias declares beyond its own plugin, by lines: the makers of the data in Consumes() (the detector of 1.5 reads without one) of the plugin, read
# in llm-d-router v0.7.1, v0.8.0, v0.9.0 and v0.10.0, and in gateway-api-inference-extension v1.4.0 and v1.5.0. Metrics and tokens are not listed.
# The prefix scorer finds its producer by itself; precise_prefix brings one of its own.
NOTHING: dict[str, set[str]] = {line: set() for line in LINES}
SINCE_15 = tuple(line for line in LINES if line != "scheduler-0.7")
ON_15 = tuple(line for line in SINCE_15 if line not in ROUTER)


def on(lines: t.Iterable[str], *makers: str) -> dict[str, set[str]]:
    return {line: set(makers) if line in set(lines) else set() for line in LINES}


SCORERS: dict[str, dict[str, set[str]]] = {
    **dict.fromkeys(
        (
            *("queue", "running_requests", "kv_cache", "lora_affinity", "prefix", "precise_prefix", "load_aware", "session_affinity", "context_length"),
            *("header_label", "endpoint_attribute"),
        ),
        NOTHING,
    ),
    "active_requests": on(ROUTER, INFLIGHT),
    "no_hit_lru": on(SINCE_15, APPROX),
    "token_load": on(SINCE_15, INFLIGHT),
    "latency": on(SINCE_15, PREDICTOR, APPROX),
    "predicted_latency": on(ON_15, APPROX),
    "mm_cache": on(ROUTER, EMBEDDINGS),
    "topology": on(ROUTER, TOPOLOGY),
    "multicluster_queue": on(ROUTER, POOLS),
    "multicluster_kv_cache": on(ROUTER, POOLS),
    "multicluster_prefix": on(ROUTER, APPROX),
}
FILTERS: dict[str, dict[str, set[str]]] = {
    **dict.fromkeys(
        (
            *("decode", "prefill", "encode", "label", "label_selector", "context_length", "session_affinity", "endpoint_attribute"),
            *("multicluster_session_affinity", "saturation", "header_test"),
        ),
        NOTHING,
    ),
    "prefix_affinity": {**on(ON_15, APPROX, PREDICTOR), **{line: {APPROX, INFLIGHT} for line in ROUTER}},
    "slo_headroom": on(SINCE_15, PREDICTOR),
    "utilization": on(ROUTER, INFLIGHT),
    "topology": on(ROUTER, TOPOLOGY),
    "concurrency": on(SINCE_15, INFLIGHT),
}
# Parameters without which a plugin does not start; utilization with the one condition that reads more than metrics.
REQUIRED: dict[str, dict[str, t.Any]] = {
    "header_label": {"headerName": "h", "labelKey": "l"},
    "label": {"label": "l", "validValues": ["a"]},
    "label_selector": {"matchLabels": {"a": "b"}},
    "utilization": {"conditions": [{"metric": "active-requests", "maxValue": 5}]},
}
ATTRIBUTE = {
    "scorer": {"attributeKey": "a", "algorithm": {"type": "linear_lower_is_better"}},
    "filter": {"attribute": "a", "algorithm": {"type": "threshold", "threshold": {"operator": "LessThan", "value": 1}}},
}


def types(built: Built) -> set[str]:
    assert not built.problems, [str(problem) for problem in built.problems]
    return {entry["type"] for entry in built.document["plugins"]}


def has(alias: str, aliases: dict[str, str], line: str) -> bool:
    kind = aliases[alias]
    lines, older = catalog.OLDER_TYPES.get(kind, (frozenset(), kind))
    return line in catalog.lines_of(older if line in lines else kind)


@pytest.mark.parametrize(("line", "alias"), [(line, alias) for line in LINES for alias in catalog.SCORER_ALIASES if has(alias, catalog.SCORER_ALIASES, line)])
def test_a_scorer_declares_the_makers_of_what_it_reads(line: str, alias: str) -> None:
    parameters = ATTRIBUTE["scorer"] if alias == "endpoint_attribute" else REQUIRED.get(alias, {})
    others = {"prefix": 1} if (alias, line) == ("no_hit_lru", "scheduler-0.7") else {}
    built = build({"scorers": {alias: {"weight": 1, **parameters}, **others}, "feature_gates": gates(line)}, line, CONTEXT)
    assert types(built) & MAKERS == SCORERS[alias][line]
    assert check.check(built.document, line) == []


@pytest.mark.parametrize(("line", "alias"), [(line, alias) for line in LINES for alias in catalog.FILTER_ALIASES if has(alias, catalog.FILTER_ALIASES, line)])
@pytest.mark.parametrize("disaggregated", [False, True])
def test_a_filter_declares_the_makers_of_what_it_reads(line: str, alias: str, disaggregated: bool) -> None:
    """Separate prefill and decode servers are checked too."""
    parameters = ATTRIBUTE["filter"] if alias == "endpoint_attribute" else REQUIRED.get(alias, {})
    scheduler = {"scorers": {"queue": 1}, "filters": [{alias: parameters}]}
    if disaggregated and line in catalog.lines_of("disagg-profile-handler") and alias not in ("decode", "prefill"):
        scheduler |= {"disaggregation": {"decider": "always"}}
    assert types(build(scheduler, line, CONTEXT)) & MAKERS == FILTERS[alias][line]


def gates(line: str) -> list[str]:
    return ["prepareDataPlugins"] if line == "scheduler-0.7" else []


@pytest.mark.parametrize("line", ROUTER)
@pytest.mark.parametrize(
    ("parameters", "makers"),
    [
        ({}, {APPROX, INFLIGHT}),
        ({"ttft_source": "prefillThroughput", "peak_prefill_throughput": 9000}, {APPROX, INFLIGHT}),
        ({"ttft_source": "latencyPredictor"}, {APPROX, PREDICTOR}),
        ({"ttft_source": "latencyPredictor", "max_ttft_penalty_ms": 0}, {APPROX}),
        ({"max_ttft_penalty_ms": "0"}, {APPROX}),
    ],
)
def test_the_affinity_filter_of_the_router_reads_what_its_source_of_ttft_needs(line: str, parameters: dict[str, t.Any], makers: set[str]) -> None:
    built = build({"scorers": {"queue": 1}, "filters": [{"prefix_affinity": parameters}]}, line, CONTEXT)
    assert types(built) & MAKERS == makers
    assert any("latency predictor, which no role deploys" in note for note in built.notes) == (PREDICTOR in makers)


@pytest.mark.parametrize("line", ROUTER)
def test_sticky_and_token_load_need_no_predictor(line: str) -> None:
    built = build({"scorers": {"token_load": 1}, "filters": ["prefix_affinity"]}, line, CONTEXT)
    assert types(built) & MAKERS == {APPROX, INFLIGHT} and not any("predictor" in note for note in built.notes)


@pytest.mark.parametrize("line", ROUTER)
def test_a_prefix_producer_with_parameters_is_declared_only_once(line: str) -> None:
    """Plugins look the producer up by its default name: of two producers, they would read the one without the parameters."""
    options = {"scorers": {"prefix": {"lru_capacity_per_server": 9}, "latency": 1, "no_hit_lru": 1}, "filters": ["prefix_affinity"]}
    for scheduler in (options, {**options, "disaggregation": {"decider": "always"}}):
        built = build(scheduler, line, CONTEXT)
        assert [entry for entry in built.document["plugins"] if entry["type"] == APPROX] == [{"type": APPROX, "parameters": {"lruCapacityPerServer": 9}}]


def test_no_default_producer_is_declared_if_a_parameter_names_another() -> None:
    name = {"prefix_match_info_producer_name": "precise-prefix-cache-producer"}
    built = build({"scorers": {"precise_prefix": 1}, "filters": [{"prefix_affinity": name}]}, "router-0.10", CONTEXT)
    assert types(built) & MAKERS == {INFLIGHT}


def document(line: str, *plugins: dict[str, t.Any] | str) -> dict[str, t.Any]:
    entries = [item if isinstance(item, dict) else {"type": item} for item in plugins]
    usual = [{"type": "queue-scorer"}, {"type": "max-score-picker"}]
    return {"apiVersion": LINE_FACTS[line].api_versions[0], "kind": "EndpointPickerConfig", "plugins": [*entries, *usual]}


@pytest.mark.parametrize(
    ("line", "plugins", "says"),
    [
        # v0.10.0 pkg/epp/datalayer/data_graph.go: no default producer for UncachedRequestTokens.
        *((line, ["token-load-scorer"], f"needs {INFLIGHT}, which is not declared: the endpoint picker refuses to start") for line in ROUTER),
        ("router-0.10", ["token-load-scorer", {"type": INFLIGHT, "name": "load"}], f"needs {INFLIGHT}"),
        ("router-0.10", ["token-load-scorer", INFLIGHT], ""),
        ("router-0.10", [{"type": "token-load-scorer", "parameters": {"inFlightLoadProducerName": "load"}}, {"type": INFLIGHT, "name": "load"}], ""),
        ("router-0.10", ["multicluster-queue-scorer"], f"needs {POOLS}, which is not declared: the endpoint picker refuses to start"),
        *((line, [kind], "") for line in ROUTER for kind in ("active-request-scorer", "latency-scorer", "mm-embeddings-cache-scorer", "no-hit-lru-scorer")),
        ("gie-1.5", ["token-load-scorer"], f"needs {INFLIGHT}, which is not declared: every server would score the same"),
        ("gie-1.5", ["prefix-cache-affinity-filter", PREDICTOR], f"needs {APPROX}"),
        ("gie-1.5", ["prefix-cache-affinity-filter", PREDICTOR, "prefix-cache-scorer"], ""),
        ("gie-1.5", ["latency-scorer", PREDICTOR], ""),
        ("gie-1.5", [{"type": "prefix-cache-affinity-filter", "parameters": {"maxTTFTPenaltyMs": 0}}, APPROX], ""),
    ],
)
def test_a_document_of_the_user_s_own(line: str, plugins: list[dict[str, t.Any] | str], says: str) -> None:
    """A producer that the release line does not create by itself has to be declared, under the name that the line looks up."""
    problems = [f"{problem.path}: {problem.reason} {problem.fix}" for problem in check.check(document(line, *plugins), line)]
    assert [problem.startswith("plugins[0]:") and says in problem for problem in problems] == [True] * bool(says), problems


def test_every_alias_of_every_line_is_in_the_list() -> None:
    assert set(SCORERS) == set(catalog.SCORER_ALIASES) and set(FILTERS) == set(catalog.FILTER_ALIASES)
    # Pickers, policies and deciders read nothing that another plugin makes; handlers read prefix matches, and the router creates their producer.
    others = {**catalog.PICKER_ALIASES, **catalog.FAIRNESS_ALIASES, **catalog.ORDERING_ALIASES, **catalog.DECIDER_ALIASES, **catalog.HANDLER_ALIASES}
    plugins = {(kind, line): catalog.find_plugin(kind, line) for kind in others.values() for line in LINES}
    reads = {key: catalog.reads(plugin, key[1], {}, optional=False) for key, plugin in plugins.items() if plugin is not None}
    assert {data for of_one in reads.values() for data in of_one} <= {"tokens"}


@pytest.mark.parametrize("line", LINES)
def test_all_data_that_plugins_read_is_produced_by_a_plugin_of_the_line(line: str) -> None:
    plugins = {kind: catalog.find_plugin(kind, line) for kind in catalog.types_of(line)}
    made = {data for plugin in plugins.values() if plugin is not None for data in plugin.makes} | {"metrics"}
    assert {(kind, data) for kind, plugin in plugins.items() if plugin is not None for data in catalog.reads(plugin, line, {}) if data not in made} == set()
