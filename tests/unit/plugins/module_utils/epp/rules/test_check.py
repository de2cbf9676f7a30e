"""Every rule on raw documents: what is refused, at which path and with which advice; and what has to be accepted."""

from __future__ import annotations

import copy
import dataclasses
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog import plugins as catalogue
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog import release_lines
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.release_lines import LINE_FACTS, OLD_API
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.types import LINES, ROUTER, Param
from ansible_collections.llm_d.inference.plugins.module_utils.epp.document import parse_config
from ansible_collections.llm_d.inference.plugins.module_utils.epp.rules import check
from ansible_collections.llm_d.inference.plugins.module_utils.epp.rules.shape import Owner, check_tree
from epp_cases import INVALID
from epp_documents import GIE15, QUEUE, R09, R10, R11, S07, VALID, Document, document, pd, precise
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples


def problems_of(made: t.Any, line: str = S07, **context: t.Any) -> dict[str, str]:
    return {problem.path: f"{problem.reason} {problem.fix}" for problem in check.check(made, line, context)}


@pytest.mark.parametrize(("line", "made"), VALID.values(), ids=VALID.keys())
def test_valid_documents_are_accepted(line: str, made: Document) -> None:
    assert problems_of(made, line) == {}


@pytest.mark.parametrize(("line", "made", "path", "words"), INVALID.values(), ids=INVALID.keys())
def test_refused(line: str, made: Document, path: str, words: str) -> None:
    problems = problems_of(made, line)
    assert path in problems, problems
    assert words in problems[path]


@pytest.mark.parametrize(
    ("context", "path", "words"),
    [
        ({"server_args": ["--block-size=16"]}, "plugins[0].parameters.tokenProcessorConfig.blockSize", "--block-size=16"),
        ({"server_args": ["--block-size", "128"]}, "plugins[0].parameters.tokenProcessorConfig.blockSize", "same number on both sides"),
        ({"server_env": {"PYTHONHASHSEED": "0"}}, "plugins[0].parameters.tokenProcessorConfig.hashSeed", "seed 0"),
        ({"engine": "simulator"}, "plugins[0].parameters.kvEventsConfig.zmqEndpoint", "connects to the simulator as well"),
        ({"engine": "vllm", "server_args": ["--block-size=64"]}, "plugins[0].parameters.kvEventsConfig", "publishes no KV events"),
        ({"server_args": ['--kv-events-config={"topic":"kv@10.0.0.1@m"}']}, "plugins[0].parameters.kvEventsConfig.topicFilter", "without a port"),
        ({"server_args": ["--kv-events-config={"]}, "plugins[0].parameters.kvEventsConfig", "not JSON"),
    ],
)
def test_a_model_server_that_contradicts_the_kv_event_settings_is_reported(context: dict[str, t.Any], path: str, words: str) -> None:
    problems = problems_of(document(S07, precise(), "max-score-picker"), S07, **context)
    assert words in problems[path]


def test_a_model_server_that_agrees() -> None:
    context = {
        "engine": "vllm",
        "server_env": {"PYTHONHASHSEED": "42"},
        "server_args": ["--block-size=64", '--kv-events-config={"topic":"kv@$(POD_IP):8000@m"}'],
    }
    assert problems_of(document(S07, precise(), "max-score-picker"), S07, **context) == {}


@pytest.mark.parametrize("line", sorted(ROUTER))
def test_the_router_computes_block_keys_itself(line: str) -> None:
    """README of preciseprefixcache in llm-d-router 0.9: block size and seed need not match the engine."""
    events = {"zmqEndpoint": "tcp://*:5557", "discoverPods": False}
    plugins = [
        {"type": "token-producer", "parameters": {"modelName": "m", "vllm": {"url": "http://localhost:8000"}}},
        {"type": "precise-prefix-cache-producer", "parameters": {"tokenProcessorConfig": {"blockSize": 64}, "kvEventsConfig": events}},
        {"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"}},
        "max-score-picker",
    ]
    args = ["--block-size=16", '--kv-events-config={"topic":"kv@$(POD_IP):8000@m"}']
    for seed in ("", "7", "random"):
        assert problems_of(document(line, *plugins), line, engine="vllm", server_args=args, server_env={"PYTHONHASHSEED": seed}) == {}, seed


@pytest.mark.parametrize("line", [S07])
@pytest.mark.parametrize(
    ("seed", "given", "path"), [("", None, "plugins[0].parameters.tokenProcessorConfig.hashSeed"), ("random", "random", "server_env.PYTHONHASHSEED")]
)
def test_a_seed_of_chance_is_refused_where_it_has_to_match(line: str, seed: str, given: str | None, path: str) -> None:
    made = document(line, precise(tokenProcessorConfig__hashSeed=seed), "max-score-picker")
    assert "a seed of its own" in problems_of(made, line, server_env={"PYTHONHASHSEED": seed}, hash_seed=given)[path]


@pytest.mark.parametrize("line", LINES)
def test_servers_that_tie_are_a_note(line: str) -> None:
    zero = document(line, *QUEUE, profile=[{"pluginRef": "queue-scorer", "weight": 0}, "max-score-picker"])
    implicit = {key: value for key, value in document(line, "max-score-picker").items() if key != "schedulingProfiles"}
    cases = [(document(line, "weighted-random-picker"), "no scorer"), (document(line, "max-score-picker", "header-based-testing-filter"), "no scorer")]
    for made, words in [*cases, (zero, "only weights of 0"), (implicit, "no scorer"), ({**implicit, "plugins": []}, "no scorer")]:
        assert problems_of(made, line) == {}, made
        assert [note for note in check.notes(made, line) if words in note and "picked at random" in note], made
    for made in (document(line, *QUEUE), document(line, "random-picker")):
        assert not [note for note in check.notes(made, line) if "at random" in note]


@pytest.mark.parametrize("line", LINES)
def test_a_harmless_plugin_without_effect_is_a_note_and_no_problem(line: str) -> None:
    """llm-d's guides of predicted latency declare scorers that no profile names, and name a producer in a profile."""
    unused = document(line, *QUEUE, "kv-cache-utilization-scorer", "random-picker", profile=["queue-scorer", "max-score-picker"])
    inside = document(line, *QUEUE, "single-profile-handler", profile=["queue-scorer", "max-score-picker", "single-profile-handler"])
    assert problems_of(unused, line) == {} == problems_of(inside, line)
    assert [note for note in check.notes(unused, line) if "is a scorer that no profile names" in note and "Name it in a profile" in note]
    assert [note for note in check.notes(unused, line) if note.startswith("random-picker is a picker that no profile names")]
    assert "in profile default it has no effect" in "".join(check.notes(inside, line))
    assert not [note for note in check.notes(document(line, *QUEUE), line) if "no effect" in note or "never used" in note]


def test_a_removed_handler_is_reported_without_its_consequences() -> None:
    """KServe's configuration of prefill and decode (kserve issue 6067) in router 0.11: what is gone, and nothing else."""
    older = pd(
        R10,
        handler={"type": "pd-profile-handler", "parameters": {"deciderPluginName": "always-disagg-pd-decider"}},
        decider={"type": "always-disagg-pd-decider"},
    )
    older["plugins"].insert(0, {"type": "prefill-header-handler"})
    assert {path: "gone since router 0.11" in why for path, why in problems_of(older, R11).items()} == {"plugins[0].type": True, "plugins[7].type": True}


@pytest.mark.parametrize(
    ("line", "kind", "fix"),
    [
        (S07, "core-metrics-extractor", "Write model-server-protocol-metrics, its name before 1.5."),
        (S07, "label-selector-filter", "Write by-label-selector, its name before router 0.9."),
        (GIE15, "model-server-protocol-metrics", "Renamed to core-metrics-extractor in 1.5: write core-metrics-extractor."),
    ],
)
def test_a_type_newer_than_the_release_line_gets_its_older_name_as_the_fix(line: str, kind: str, fix: str) -> None:
    assert problems_of(document(line, kind, *QUEUE), line)["plugins[0].type"].endswith(fix)


def test_a_document_of_flow_control_alone_is_right() -> None:
    """The document of a batch gateway: GIE 1.5 adds a profile and max-score-picker; a detector is a filter as well."""
    made = {
        **document(GIE15, {"type": "utilization-detector", "parameters": {"queueDepthThreshold": 2, "kvCacheUtilThreshold": 0.9}}, gates=["flowControl"]),
        "saturationDetector": {"pluginRef": "utilization-detector"},
    }
    del made["schedulingProfiles"]
    assert problems_of(made, GIE15) == {} and "picked at random" in "".join(check.notes(made, GIE15))


@pytest.mark.parametrize(
    ("arguments", "path", "words"),
    [
        (["--v=2", "--kv-cache-usage-percentage-metric=vllm:x"], "epp_args[1]", "kvUsageSpec"),
        (["--total-queued-requests-metric", "x"], "epp_args[0]", "model-server-protocol-metrics"),
        (["--tracing", "false"], "epp_args[0]", "--tracing=false"),
        (["--secure-serving false"], "epp_args[0]", "--secure-serving=false"),
    ],
)
def test_flags_of_the_endpoint_picker(arguments: list[str], path: str, words: str) -> None:
    assert words in problems_of(document(S07, *QUEUE), S07, epp_args=arguments)[path]


@pytest.mark.parametrize(
    ("line", "argument", "words"),
    [
        (R10, "--model-server-metrics-scheme=https", "write scheme in the parameters of metrics-data-source"),
        (R11, "--model-server-metrics-port", "write port"),
        (R09, "--drain-timeout=30s", "router-0.10, router-0.11"),
        (GIE15, "--emit-endpoint-scores", "leave it out"),
        (S07, "--grpc-max-recv-msg-size=1", "router-0.9"),
    ],
)
def test_flags_that_a_line_does_not_have(line: str, argument: str, words: str) -> None:
    assert "the endpoint picker exits" in (reason := problems_of(document(line, *QUEUE), line, epp_args=[argument])["epp_args[0]"]) and words in reason


def test_flags_that_are_right() -> None:
    assert problems_of(document(R09, *QUEUE), R09, epp_args=["--model-server-metrics-scheme=https", "--enable-grpc-stream-metrics"]) == {}
    assert problems_of(document(R10, *QUEUE), R10, epp_args=["--drain-timeout=30s", "--a-flag-of-tomorrow"]) == {}
    assert problems_of(document(S07, *QUEUE), S07, epp_args=["--tracing=false", "--enable-pprof", "--v=2", "--pool-name", "false"]) == {}


def test_experimental_plugins_need_their_flag() -> None:
    made = document(R10, *QUEUE, "session-affinity-scorer")
    assert "--allow-experimental-plugins" in problems_of(made, R10, epp_args=["--v=2"])["epp_args"]
    assert problems_of(made, R10, epp_args=["--allow-experimental-plugins"]) == {} == problems_of(made, R10)
    assert any("experimental" in note for note in check.notes(made, R10))


def test_integer_weights_where_a_line_reads_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line of the table reads integers any more (GIE before 1.4 did); `integer_weights` of the line decides, not its name."""
    monkeypatch.setitem(release_lines.LINE_FACTS, S07, dataclasses.replace(LINE_FACTS[S07], integer_weights=True))
    made = document(S07, *QUEUE, profile=[{"pluginRef": "queue-scorer", "weight": 1.5}, "max-score-picker"])
    assert "whole numbers" in problems_of(made)["schedulingProfiles[0].plugins[0].weight"]
    made["schedulingProfiles"][0]["plugins"][0]["weight"] = 2
    assert problems_of(made) == {}


@pytest.mark.parametrize(
    ("line", "made", "words"),
    [
        (R09, {**document(R09, *QUEUE), "apiVersion": OLD_API}, "deprecated since router 0.9"),
        (R09, document(R09, *QUEUE, saturationDetector={"pluginRef": "utilization-detector"}), "flowControl.saturationDetector replaces it"),
        (R09, document(R09, *QUEUE, {"type": "by-label", "parameters": {"label": "a", "validValues": ["b"]}}), "label-selector-filter"),
        (GIE15, document(GIE15, *QUEUE, gates=["dataLayer"]), "has no effect"),
        (S07, document(S07, {"type": "prefix-cache-scorer", "parameters": {"blockSizeTokens": 64}}, "max-score-picker"), "until a server reports its own"),
        (
            R09,
            document(
                R09,
                {"type": "approx-prefix-cache-producer", "parameters": {"blockSizeTokens": 16, "autoTune": False}},
                "prefix-cache-scorer",
                "max-score-picker",
            ),
            "raised to 64",
        ),
    ],
)
def test_notes(line: str, made: Document, words: str) -> None:
    assert problems_of(made, line) == {}
    assert any(words in note for note in check.notes(made, line))


def test_all_problems_are_reported_at_once() -> None:
    made = document(
        S07, {"type": "queue-scorr"}, {"type": "load-aware-scorer", "parameters": {"threshold": "x"}}, "max-score-picker", "random-picker", gates=["nope"]
    )
    assert set(problems_of({**made, "dataLayer": {}})) >= {
        "plugins[0].type",
        "plugins[1].parameters.threshold",
        "schedulingProfiles[0].plugins[2]",
        "featureGates[0]",
        "dataLayer",
    }


def test_the_check_does_not_modify_the_document() -> None:
    made = pd()
    before = copy.deepcopy(made)
    check.check(made, S07)
    assert made == before


# Any document is checked, and none makes the rules raise.
junk = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.sampled_from(["", "x", "queue-scorer", "default"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "plugins",
                    "type",
                    "name",
                    "parameters",
                    "schedulingProfiles",
                    "pluginRef",
                    "weight",
                    "featureGates",
                    "dataLayer",
                    "sources",
                    "flowControl",
                    "saturationDetector",
                    "extractors",
                    "kvEventsConfig",
                    "deciders",
                    "profiles",
                    "indexerConfig",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@examples(300)
@given(
    st.dictionaries(
        st.sampled_from(["apiVersion", "kind", "plugins", "schedulingProfiles", "featureGates", "dataLayer", "data", "flowControl", "saturationDetector"]), junk
    ),
    st.sampled_from(LINES),
    st.sampled_from(sorted(catalogue.types_of(R10))),
)
def test_no_document_breaks_the_rules(made: Document, line: str, kind: str) -> None:
    check.check(made, line)
    parameters = made.get("dataLayer")
    check.check({**made, "plugins": [{"type": kind, "parameters": parameters}, {"type": "queue-scorer"}]}, line)


def walk(params: t.Iterable[Param]) -> t.Iterator[Param]:
    for param in params:
        yield param
        yield from walk(param.fields)


def test_the_catalogue_is_consistent() -> None:
    """Each type once a line, each parameter once in a place and line, defaults within their own range, references to real roles."""
    pairs: set[tuple[str, str]] = set()
    roles = {role for plugin in catalogue.PLUGINS for role in plugin.roles}
    for plugin in catalogue.PLUGINS:
        for line in plugin.lines:
            assert (plugin.type, line) not in pairs, (plugin.type, line)
            pairs.add((plugin.type, line))
            names = [param.name for param in plugin.params if line in param.lines]
            assert len(names) == len(set(names)), (plugin.type, line, names)
        assert plugin.alpha <= plugin.lines and not (plugin.blind and plugin.params)
        for param in walk(plugin.params):
            assert not param.refers or param.refers in roles
            numbers = [value for value in (param.low, param.high) if value is not None]
            if isinstance(param.default, (int, float)) and not isinstance(param.default, bool) and numbers:
                assert (param.low is None or param.default >= param.low or param.default == 0) and (param.high is None or param.default <= param.high), (
                    plugin.type,
                    param.name,
                )
            if param.choices and param.default is not None:
                assert param.default in param.choices


def test_moves_lead_somewhere() -> None:
    """The replacement of a type exists in the line, and the replaced type does not."""
    for lines, move in catalogue.TYPE_MOVES:
        for line in lines:
            assert catalogue.find_plugin(move.old, line) is None, (move.old, line)
            assert catalogue.find_plugin(move.new, line) or move.how, (move.new, line)
    for kind, lines, move in catalogue.PARAM_MOVES:
        for line in lines & set(catalogue.lines_of(kind)):
            plugin = catalogue.find_plugin(kind, line)
            assert plugin is not None and move.old not in [param.name for param in plugin.params if line in param.lines and not param.obsolete], (
                kind,
                move.old,
                line,
            )


@pytest.mark.parametrize("line", LINES)
def test_every_parameter_can_be_written(line: str) -> None:
    """Each parameter of each type of a line, with a value in range, has the right shape."""
    for kind in catalogue.types_of(line):
        plugin = catalogue.find_plugin(kind, line)
        assert plugin is not None
        for param in plugin.params:
            if line in param.lines and not param.obsolete:
                others = {other.name: value(other, line) for other in plugin.params if other.required and line in other.lines}
                given = {**others, param.name: value(param, line)}
                assert check_tree(given, plugin.params, "", Owner(LINE_FACTS[line], kind)) == [], (kind, given)


def value(param: Param, line: str) -> t.Any:
    """A value that a parameter takes."""
    if param.choices:
        return param.choices[0]
    simple = {"bool": True, "str": "text", "strs": ["text"], "duration": "1s", "quantity": "1Gi", "map": {"a": "b"}, "free": {}, "nanoseconds": 1}
    if param.kind in simple:
        return simple[param.kind]
    if param.kind in ("int", "float"):
        low = param.low if param.low is not None else 0 if param.above is None else param.above
        return int(low) + 1 if param.kind == "int" else (low + min(param.high or 1, 1)) / 2 or 0.5
    inner = {field.name: value(field, line) for field in param.fields if field.required and line in field.lines}
    return [inner] if param.kind == "objects" else inner


def test_an_empty_document_can_be_parsed() -> None:
    config = parse_config({}, S07)
    assert config.plugins == () and [profile.implicit for profile in config.profiles] == [True] and config.named(None) is None
