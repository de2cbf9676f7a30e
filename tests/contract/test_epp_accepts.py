"""The real endpoint picker loads our configurations: it accepts those that we build, and refuses those that we refuse, or accepts and misinterprets them.

The binary reads its configuration before it connects to the cluster, so a kubeconfig with an unreachable server is enough:
LLM_D_EPP_BINARY (scheduler-0.7) and LLM_D_GIE_EPP_BINARY (gie-1.5), else the local cluster's cache.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import subprocess
import tempfile
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog import plugins as catalogue
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import PRESETS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.release_lines import LINE_FACTS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build
from ansible_collections.llm_d.inference.plugins.module_utils.epp.rules import check
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import ENGINE_DEFAULTS
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from property_tests import examples

pytestmark = pytest.mark.rest

Document = dict[str, t.Any]

CACHE = Path("/var/cache/llm-d-local/bin")
BINARIES = {"scheduler-0.7": ("LLM_D_EPP_BINARY", CACHE / "epp"), "gie-1.5": ("LLM_D_GIE_EPP_BINARY", CACHE / "epp-gie")}
LOADED = "loaded configuration from file/text successfully"
CONTEXT = {"engine": "vllm", "model": "llama-8b", "block_size": 16}
# Plugins that connect to a companion when they are created, so that their configuration cannot be checked alone.
DIALS = frozenset({"precise-prefix-cache-scorer", "tokenizer", "predicted-latency-scorer", "predicted-latency-producer"})
NOWHERE = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {}}],
}


def binary(line: str) -> Path:
    name, default = BINARIES[line]
    path = Path(os.environ.get(name) or default)
    if not path.is_file():
        pytest.skip(f"no endpoint picker of {line}: set {name} or bring up the local cluster, which builds {default}")
    return path


def verdict(text: str, line: str) -> tuple[bool, str]:
    """(whether the real endpoint picker loads a configuration, its error if it does not)."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kubeconfig").write_text(json.dumps(NOWHERE), encoding="utf-8")
        (Path(folder) / "config.yaml").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [
                binary(line),
                f"--config-file={folder}/config.yaml",
                "--pool-name=x",
                "--pool-namespace=default",
                "--tracing=false",
                "--metrics-port=0",
                "--zap-encoder=json",
            ],
            env={"KUBECONFIG": f"{folder}/kubeconfig", "PATH": os.environ["PATH"], "TMPDIR": folder},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    output = done.stdout + done.stderr
    errors = [entry.get("error", "") for entry in map(_json, output.splitlines()) if entry.get("msg") == "Failed to parse configuration"]
    return LOADED in output, errors[0] if errors else output[-500:] if LOADED not in output else ""


def _json(line: str) -> dict[str, t.Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def dump(document: Document) -> str:
    return yaml.safe_dump(document, sort_keys=False)


@functools.cache
def text_of(preset: str, line: str) -> str:
    built = build({"preset": preset}, line, CONTEXT)
    assert not built.problems
    return built.text


@pytest.mark.parametrize(
    ("line", "preset"), [(line, name) for line in BINARIES for name, facts in PRESETS.items() if line in facts["lines"] and name != "precise_prefix"]
)
def test_the_endpoint_picker_accepts_every_preset(line: str, preset: str) -> None:
    assert verdict(text_of(preset, line), line) == (True, "")


def test_precise_prefix_only_misses_its_tokenizer() -> None:
    """The scorer connects to the tokenizer sidecar when it is created: only the sidecar is missing, and the document is valid."""
    loaded, error = verdict(text_of("precise_prefix", "scheduler-0.7").replace("/tmp/tokenizer/", "/nonexistent/"), "scheduler-0.7")
    assert not loaded and "InitializeTokenizer" in error and "no such file" in error
    document = yaml.safe_load(text_of("precise_prefix", "scheduler-0.7").replace("precise-prefix-cache-scorer", "prefix-cache-scorer"))
    for entry in document["plugins"]:
        entry.pop("parameters", None)
    assert verdict(dump(document), "scheduler-0.7") == (True, "")


@pytest.mark.parametrize("line", BINARIES)
@pytest.mark.parametrize("engine", ENGINE_DEFAULTS)
def test_the_endpoint_picker_accepts_the_metrics_of_each_engine(line: str, engine: str) -> None:
    built = build({"preset": "queue"}, line, {**CONTEXT, "engine": engine})
    assert not built.problems and (engine in ("vllm", "simulator")) == ("engineConfigs" not in built.text)
    assert verdict(built.text, line) == (True, "")


@pytest.mark.parametrize("line", BINARIES)
@pytest.mark.parametrize(
    "scheduler",
    [
        {
            "scorers": {"queue": 0.5, "lora_affinity": 2, "running_requests": 1, "kv_cache": 3},
            "picker": "weighted_random",
            "picker_parameters": {"max_num_of_endpoints": 3},
        },
        {"preset": "balanced", "scorers": {"prefix": {"auto_tune": False, "block_size_tokens": 64, "lru_capacity_per_server": 1000}}},
        {"preset": "queue", "saturation": {"queue_depth": 9, "kv_cache_utilization": 0.7, "staleness": "1s"}},
        {"preset": "balanced", "kv_cache_metric": "vllm:gpu_cache_usage_perc{engine=0}"},
        {
            "preset": "queue",
            "flow_control": {"request_ttl": "30s", "max_bytes": 1000, "bands": [{"priority": 5, "fairness": "round_robin", "ordering": "edf"}]},
        },
    ],
)
def test_the_endpoint_picker_accepts_options_beside_a_preset(line: str, scheduler: Document) -> None:
    built = build(scheduler, line, CONTEXT)
    assert not built.problems
    assert verdict(built.text, line) == (True, "")


@pytest.mark.parametrize(
    "scheduler",
    [
        {"scorers": {"load_aware": {"weight": 1, "threshold": 64}, "active_requests": 1, "session_affinity": 1, "context_length": 1}, "filters": ["decode"]},
        {
            "scorers": {"prefix": 1, "no_hit_lru": {"lru_size": 100}},
            "filters": [{"label": {"label": "a", "valid_values": ["b"]}}, {"label_selector": {"match_labels": {"a": "b"}}}],
        },
        {"preset": "queue", "profile_handler": "data_parallel", "profile_handler_parameters": {"primary_port": 8001}},
        {"preset": "disaggregated", "disaggregation": {"decider": "always", "encode": True, "decode": {"scorers": {"active_requests": 1}, "picker": "random"}}},
        {"scorers": {"prefix": 1}, "disaggregation": {"non_cached_tokens": 100}, "saturation": {"queue_depth": 2}},
    ],
)
def test_the_endpoint_picker_of_llm_d_accepts_its_own_plugins(scheduler: Document) -> None:
    built = build(scheduler, "scheduler-0.7", CONTEXT)
    assert not built.problems, [str(problem) for problem in built.problems]
    assert verdict(built.text, "scheduler-0.7") == (True, "")


def changed(preset: str, change: t.Callable[[Document], t.Any], line: str = "scheduler-0.7") -> Document:
    document: Document = yaml.safe_load(text_of(preset, line))
    change(document)
    return document


def swap(document: Document, kind: str, **entry: t.Any) -> None:
    document["plugins"] = [{**item, **entry} if item["type"] == kind else item for item in document["plugins"]]


def selecting(*expressions: Document, **labels: str) -> tuple[str, Document]:
    """(release line, document with a filter by a label selector)."""
    entry = {"type": "by-label-selector", "parameters": {"matchLabels": labels, "matchExpressions": list(expressions)}}
    return "scheduler-0.7", changed("queue", lambda d: (d["plugins"].append(entry), d["schedulingProfiles"][0]["plugins"].append({"pluginRef": entry["type"]})))


def extracting(*engines: Document, **parameters: str) -> tuple[str, Document]:
    """(release line, document with an extractor of metrics)."""
    entry = {"type": "core-metrics-extractor", "parameters": {"engineConfigs": list(engines), **parameters}}
    return "gie-1.5", changed("queue", lambda d: d["plugins"].append(entry), "gie-1.5")


# Values that plugins parse: (line, document, part of the error; empty if accepted).
PARSED: dict[str, tuple[str, Document, str]] = {
    "In without values": (*selecting({"key": "a", "operator": "In"}), "set can't be empty"),
    "In with values": (*selecting({"key": "a", "operator": "In", "values": ["b"]}), ""),
    "Exists with values": (*selecting({"key": "a", "operator": "Exists", "values": ["b"]}), "must be empty"),
    "Exists": (*selecting({"key": "example.com/a", "operator": "Exists"}), ""),
    "an operator that is none": (*selecting({"key": "a", "operator": "Equals", "values": ["b"]}), "not a valid label selector operator"),
    "a value with a blank": (*selecting({"key": "a", "operator": "NotIn", "values": ["b", "c d"]}), "a valid label must be"),
    "a key with a blank": (*selecting({"key": "a b", "operator": "Exists"}), "name part must consist of"),
    "a label with a blank": (*selecting(a="b c"), "a valid label must be"),
    "a long label": (*selecting(a="b" * 64), "no more than 63"),
    "labels": (*selecting(a="b", c=""), ""),
    "an engine twice": (*extracting({"name": "a"}, {"name": "a"}), "already exists"),
    "the reserved engine": (*extracting({"name": "default"}), "reserved"),
    "an engine without a name": (*extracting({"name": ""}), "cannot be empty"),
    "an unknown engine": (*extracting({"name": "a"}, defaultEngine="b"), "not found in engineConfigs"),
    "an engine of the file": (*extracting({"name": "a"}, defaultEngine="a"), ""),
    "an engine that it knows": (*extracting(defaultEngine="trtllm-serve"), ""),
    "an engine of a newer line": (*extracting(defaultEngine="triton"), "not found in engineConfigs"),
    "a brace that is open": (*extracting({"name": "a", "kvUsageSpec": "x{y=z"}), "parse error"),
    "braces that are closed twice": (*extracting({"name": "a", "kvUsageSpec": "x{y=z}}"}), "parse error"),
    "a blank in a name": (*extracting({"name": "a", "kvUsageSpec": "x y"}), "parse error"),
    "a label without a value": (*extracting({"name": "a", "kvUsageSpec": "x{y}"}), "parse error"),
    "a comma at the end": (*extracting({"name": "a", "kvUsageSpec": "x{y=z,}"}), ""),
    "a label with a dash": (*extracting({"name": "a", "kvUsageSpec": "x{y-w=z}"}), "parse error"),
    "a comma in quotes": (*extracting({"name": "a", "kvUsageSpec": 'x{a="b,c"}'}), ""),
    "a brace in quotes": (*extracting({"name": "a", "kvUsageSpec": 'x{a="b}c"}'}), ""),
    "a quote in quotes": (*extracting({"name": "a", "kvUsageSpec": 'x{a="b\\"c"}'}), ""),
    "a label in quotes": (*extracting({"name": "a", "kvUsageSpec": 'x{"a b"="c"}'}), ""),
    "quotes of one kind": (*extracting({"name": "a", "kvUsageSpec": "x{a='b'}"}), ""),
    "an escape": (*extracting({"name": "a", "kvUsageSpec": 'x{a="\\x41"}'}), ""),
    "an escape that is none": (*extracting({"name": "a", "kvUsageSpec": 'x{a="b\\qc"}'}), "unknown escape sequence"),
    "an equals sign in quotes": (*extracting({"name": "a", "kvUsageSpec": 'x{a="b=c"}'}), "parse error"),
    "nothing but a comma": (*extracting({"name": "a", "kvUsageSpec": "x{,}"}), "parse error"),
    "the name twice": (*extracting({"name": "a", "kvUsageSpec": 'x{__name__="y"}'}), "must not be set twice"),
    "the name twice in quotes": (*extracting({"name": "a", "kvUsageSpec": 'x{"__name__"="y"}'}), "must not be set twice"),
    "a word": (*extracting({"name": "a", "kvUsageSpec": "on"}), "unexpected <on>"),
    "a word in capitals": (*extracting({"name": "a", "kvUsageSpec": "NaN"}), "not a valid metric specification"),
    "a word of an aggregation": (*extracting({"name": "a", "kvUsageSpec": "sum"}), ""),
    "metrics with labels": (*extracting({"name": "a", "kvUsageSpec": ' x:y { z = w , v="u t" } ', "queuedRequestsSpec": "q{}", "loraSpec": ""}), ""),
}


# The endpoint picker accepts offsets, comments and `!=`, and ignores them silently.
LEFT_OUT = ('x{a!="b"}', "x offset 5m", "x # c")


@pytest.mark.parametrize("spec", LEFT_OUT)
def test_metric_syntax_that_the_endpoint_picker_ignores_is_refused(spec: str) -> None:
    line, document = extracting({"name": "a", "kvUsageSpec": spec})
    assert verdict(dump(document), line) == (True, "") and check.check(document, line)


@pytest.mark.parametrize(("line", "document", "words"), PARSED.values(), ids=PARSED.keys())
def test_values_that_plugins_parse_are_refused_where_it_refuses_them(line: str, document: Document, words: str) -> None:
    loaded, error = verdict(dump(document), line)
    assert loaded == (not words) and words in error, error
    assert bool(check.check(document, line)) == bool(words), check.check(document, line)


REFUSED: dict[str, tuple[str, Document, str]] = {
    "unknown type": ("scheduler-0.7", changed("queue", lambda d: d["plugins"].append({"type": "queue-scorr"})), "plugin type 'queue-scorr' is not registered"),
    "renamed type": ("gie-1.5", changed("queue", lambda d: d["plugins"].append({"type": "model-server-protocol-metrics"}), "gie-1.5"), "is not registered"),
    "type of a newer line": ("scheduler-0.7", changed("queue", lambda d: d["plugins"].append({"type": "token-load-scorer"})), "is not registered"),
    "type of llm-d": ("gie-1.5", changed("queue", lambda d: d["plugins"].append({"type": "load-aware-scorer"}), "gie-1.5"), "is not registered"),
    "round-robin-picker": ("scheduler-0.7", changed("round_robin", lambda d: d["plugins"].append({"type": "round-robin-picker"})), "is not registered"),
    "name twice": ("scheduler-0.7", changed("queue", lambda d: d["plugins"].append({"type": "queue-scorer"})), "duplicate plugin name"),
    "no type": ("scheduler-0.7", changed("queue", lambda d: d["plugins"].append({"name": "x"})), "missing a type"),
    "unknown field": ("scheduler-0.7", changed("queue", lambda d: d.update(scheduler={})), "unknown field"),
    "dataLayer in 0.7": ("scheduler-0.7", changed("queue", lambda d: d.update(dataLayer={"sources": []})), "unknown field"),
    "data in 1.5": ("gie-1.5", changed("queue", lambda d: d.update(data={"sources": []}), "gie-1.5"), "unknown field"),
    "thresholds in 1.5": ("gie-1.5", changed("queue", lambda d: d.update(saturationDetector={"queueDepthThreshold": 5}), "gie-1.5"), "unknown field"),
    "API of the router": ("scheduler-0.7", changed("queue", lambda d: d.update(apiVersion="llm-d.ai/v1alpha1")), "no kind"),
    "unknown gate": ("scheduler-0.7", changed("queue", lambda d: d.update(featureGates=["nope"])), "feature gate 'nope' is unknown"),
    "forbidden gate": ("gie-1.5", changed("queue", lambda d: d.update(featureGates=["prepareDataPlugins"]), "gie-1.5"), "unknown or unregistered"),
    "data gate without data": ("scheduler-0.7", changed("queue", lambda d: d.update(featureGates=["dataLayer"])), "must specify the Data section"),
    "undefined reference": (
        "scheduler-0.7",
        changed("queue", lambda d: d["schedulingProfiles"][0]["plugins"].append({"pluginRef": "x"})),
        "references undefined plugin",
    ),
    "profile twice": ("scheduler-0.7", changed("queue", lambda d: d["schedulingProfiles"].append(copy.deepcopy(d["schedulingProfiles"][0]))), "duplicate name"),
    "two pickers": (
        "scheduler-0.7",
        changed(
            "queue", lambda d: (d["plugins"].append({"type": "random-picker"}), d["schedulingProfiles"][0]["plugins"].append({"pluginRef": "random-picker"}))
        ),
        "already have a registered picker",
    ),
    "two handlers": ("scheduler-0.7", changed("queue", lambda d: d["plugins"].append({"type": "data-parallel-profile-handler"})), "multiple profile handlers"),
    "several profiles, single handler": (
        "scheduler-0.7",
        changed("queue", lambda d: d["schedulingProfiles"].append({**d["schedulingProfiles"][0], "name": "b"})),
        "cannot support multiple scheduling profiles",
    ),
    "decider after handler": ("scheduler-0.7", changed("disaggregated", lambda d: d["plugins"].reverse()), "not found"),
    "flat and nested": (
        "scheduler-0.7",
        changed(
            "disaggregated",
            lambda d: swap(d, "disagg-profile-handler", parameters={"deciders": {"prefill": "prefix-based-pd-decider"}, "decodeProfile": "decode"}),
        ),
        "cannot mix",
    ),
    "negative threshold": (
        "scheduler-0.7",
        changed("disaggregated", lambda d: swap(d, "prefix-based-pd-decider", parameters={"nonCachedTokens": -1})),
        "cannot be negative",
    ),
    "characters": ("scheduler-0.7", changed("balanced", lambda d: swap(d, "prefix-cache-scorer", parameters={"blockSize": 64})), "BlockSize"),
    "a text for a number": ("scheduler-0.7", changed("queue", lambda d: swap(d, "max-score-picker", parameters={"maxNumOfEndpoints": "2"})), "failed to parse"),
    "nothing to keep": ("scheduler-0.7", changed("queue", lambda d: d["plugins"].append({"type": "by-label", "parameters": {"label": "a"}})), "validValues"),
    "detector out of range": (
        "gie-1.5",
        changed("queue", lambda d: d["plugins"].append({"type": "utilization-detector", "parameters": {"kvCacheUtilThreshold": 2}}), "gie-1.5"),
        "kvCacheUtilThreshold must be in",
    ),
    "undefined detector": (
        "gie-1.5",
        changed("queue", lambda d: d.update(saturationDetector={"pluginRef": "concurrency-detector"}), "gie-1.5"),
        "undefined plugin",
    ),
}


@pytest.mark.parametrize(("line", "document", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_configurations_that_the_endpoint_picker_refuses_are_refused(line: str, document: Document, words: str) -> None:
    loaded, error = verdict(dump(document), line)
    assert not loaded and words in error, error
    assert check.check(document, line)


SILENT: dict[str, tuple[str, Document, str]] = {
    "unknown parameter": (
        "scheduler-0.7",
        changed("balanced", lambda d: swap(d, "prefix-cache-scorer", parameters={"hashBlockSize": 64})),
        "ignores it silently",
    ),
    "parameters of a blind factory": (
        "gie-1.5",
        changed("queue", lambda d: swap(d, "queue-scorer", parameters={"threshold": 1}), "gie-1.5"),
        "ignored silently",
    ),
    "weight of a picker": (
        "scheduler-0.7",
        changed("queue", lambda d: d["schedulingProfiles"][0]["plugins"][1].update(weight=5)),
        "its weight is ignored silently",
    ),
    "no header handler": ("scheduler-0.7", changed("disaggregated", lambda d: d["plugins"].pop(0)), "no request is disaggregated"),
    "no gate for prefix data": ("scheduler-0.7", changed("disaggregated", lambda d: d.pop("featureGates")), "never disaggregates"),
    "never": ("scheduler-0.7", changed("disaggregated", lambda d: swap(d, "prefix-based-pd-decider", parameters={"nonCachedTokens": 0})), "means never"),
    "characters of the old handler": (
        "scheduler-0.7",
        changed("disaggregated", lambda d: swap(d, "disagg-profile-handler", parameters={"deciders": {"prefill": "prefix-based-pd-decider"}, "threshold": 10})),
        "in tokens",
    ),
    "threshold that is replaced": ("scheduler-0.7", changed("queue", lambda d: d.update(saturationDetector={"kvCacheUtilThreshold": 1.0})), "too large"),
    "scraping switched off": ("gie-1.5", changed("queue", lambda d: d.update(dataLayer={"sources": []}), "gie-1.5"), "disables scraping"),
    "flow control without its gate": ("scheduler-0.7", changed("queue", lambda d: d.update(flowControl={"maxBytes": 5})), "ignored silently"),
    "negative weight": ("scheduler-0.7", changed("queue", lambda d: d["schedulingProfiles"][0]["plugins"][0].update(weight=-1)), "inverts the scorer"),
}


@pytest.mark.parametrize(("line", "document", "words"), SILENT.values(), ids=SILENT.keys())
def test_configurations_that_the_endpoint_picker_misreads_are_refused(line: str, document: Document, words: str) -> None:
    """The endpoint picker starts, and ignores or misinterprets a part of the document."""
    assert verdict(dump(document), line) == (True, "")
    assert any(words in f"{problem.reason} {problem.fix}" for problem in check.check(document, line))


IDLE: dict[str, tuple[Document, str]] = {
    "a scorer that no profile names": (changed("queue", lambda d: d["schedulingProfiles"][0]["plugins"].pop(0)), "never used"),
    "never used": (changed("queue", lambda d: d["plugins"].append({"type": "load-aware-scorer"})), "never used"),
    "handler in a profile": (changed("queue", lambda d: d["schedulingProfiles"][0]["plugins"].append({"pluginRef": "single-profile-handler"})), "no effect"),
}


@pytest.mark.parametrize(("document", "words"), IDLE.values(), ids=IDLE.keys())
def test_settings_that_the_endpoint_picker_does_not_need_are_noted(document: Document, words: str) -> None:
    """Upstream's guides have such documents. They are accepted, and a note names the settings without effect."""
    assert verdict(dump(document), "scheduler-0.7") == (True, "")
    assert check.check(document, "scheduler-0.7") == []
    assert any(words in note for note in check.notes(document, "scheduler-0.7"))


def value(draw: st.DrawFn, param: t.Any, line: str) -> t.Any:
    """A value for a parameter: mostly of the right type, sometimes not."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(["x", 1.5, -3, True, [], {}, 0]))
    if param.choices:
        return draw(st.sampled_from([*param.choices, "other"]))
    if param.kind == "object":
        return parameters(draw, param.fields, line)
    if param.kind == "objects":
        return [parameters(draw, param.fields, line) for _index in range(draw(st.integers(0, 2)))]
    kinds: dict[str, list[t.Any]] = {
        "int": [1, 16, 0, 300],
        "nanoseconds": [1],
        "float": [0.5, 1, 0, 3],
        "bool": [True, False],
        "str": ["text", "queue-scorer", "prefix-cache-scorer"],
        "strs": [["a"]],
        "duration": ["200ms", "1h3s", "5"],
        "quantity": [1000, "1Gi"],
        "map": [{"a": "b"}],
        "free": [{}],
    }
    return draw(st.sampled_from(kinds[param.kind]))


def parameters(draw: st.DrawFn, params: t.Iterable[t.Any], line: str) -> Document:
    here = [param for param in params if line in param.lines]
    chosen = [param for param in here if param.required or draw(st.integers(0, 2)) == 0]
    return {param.name: value(draw, param, line) for param in chosen}


@st.composite
def documents(draw: st.DrawFn, line: str) -> Document:
    """Documents with any types of a line, some of them valid."""
    types = [kind for kind in catalogue.types_of(line) if kind not in DIALS and "picker" not in kind and kind != "request-attribute-reporter"]
    scorers = [kind for kind in catalogue.types_of(line, "scorer") if kind not in DIALS]
    chosen = [draw(st.sampled_from(scorers)), *draw(st.lists(st.sampled_from(types), max_size=2)), draw(st.sampled_from(catalogue.types_of(line, "picker")))]
    plugins, references = [], []
    for kind in chosen:
        plugin = catalogue.find_plugin(kind, line)
        assert plugin is not None
        given_parameters = parameters(draw, plugin.params, line) if plugin.params and draw(st.booleans()) else {}
        plugins.append({"type": kind, **({"parameters": given_parameters} if given_parameters else {})})
        if {"scorer", "filter", "picker"} & set(plugin.roles):
            references.append({"pluginRef": kind, **({"weight": draw(st.sampled_from([1, 0.5]))} if "scorer" in plugin.roles else {})})
    document: Document = {"apiVersion": LINE_FACTS[line].api_versions[0], "kind": "EndpointPickerConfig", "plugins": plugins}
    if draw(st.booleans()):
        document["schedulingProfiles"] = [{"name": "default", "plugins": references}]
    return document


@pytest.mark.parametrize("line", BINARIES)
def test_the_endpoint_picker_accepts_every_document_that_passes_the_rules(line: str) -> None:
    """Random documents, the same in each run: no document that our rules accept may stop the endpoint picker."""
    binary(line)
    passed: list[bool] = []

    @examples(80, suppress_health_check=[HealthCheck.too_slow], database=None, derandomize=True)
    @given(documents(line))
    def judge(document: Document) -> None:
        loaded, error = verdict(dump(document), line)
        refused = bool(check.check(document, line))
        passed.append(not refused)
        assert loaded or refused, error

    judge()
    assert any(passed) and not all(passed), "neither kind of document was tried"
