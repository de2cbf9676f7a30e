# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages on the endpoint picker, from the catalog: release lines, the configuration document, plugins, their parameters, metrics."""

from __future__ import annotations

import typing as t

from plugins.module_utils.epp.catalog import plugins as catalog
from plugins.module_utils.epp.catalog import presets
from plugins.module_utils.epp.catalog.release_lines import (
    BOOLEAN_FLAGS,
    DOCUMENT,
    FIELD_MOVES,
    FIELD_NOTES,
    FORBIDDEN_FLAGS,
    GATE_MOVES,
    LINE_FACTS,
    METRICS_EXTRACTOR,
)
from plugins.module_utils.epp.catalog.types import ALL, GIE15, LINES, LLMD, ROUTER, S07, SINCE_15, Move, Param, Plugin, Reads
from plugins.module_utils.epp.rules.references import ROLE_NAMES
from plugins.module_utils.releases.engines import ENGINES as ENGINE_METRICS
from plugins.module_utils.releases.engines import SIGNALS
from plugins.module_utils.releases.lines import RELEASES
from plugins.module_utils.releases.metrics import PICKER_SIGNALS, SERVER_SIGNALS, SERVERS
from tools.tables import code, table, text_of

# Data that plugins make for others.
DATA: dict[str, str] = {
    "prefix": "Prefix matches of each server",
    "inflight": "Requests and tokens in flight",
    "uncached": "Uncached tokens of the request",
    "latency": "Predicted latencies",
    "mm": "Matches of multimodal embeddings",
    "topology": "Topology of each server",
    "pools": "Metrics of the pools of other clusters",
}
_DATA = """\
What the Go code of each line reads (`Consumes`), with the parameters that decide it. An alias of a scorer or filter declares the makers that are not
declared yet. Tokens of the prompt come from `token-producer`, which the router creates by itself as an estimate; metrics from `metrics-data-source`."""

# What a plugin does; for a scorer, its score of a server, before it is clamped to 0..1.
MEANING: dict[str, str] = {
    "queue-scorer": "(max - n) / (max - min), with n the waiting requests of the server and min, max over the candidates; 1 if all are equal.",
    "running-requests-size-scorer": "The formula of queue-scorer for running requests.",
    "kv-cache-utilization-scorer": "1 - KV-cache usage.",
    "lora-affinity-scorer": "1 if the adapter is loaded, 0.8 if the server has a free adapter slot, 0.6 if the adapter is being loaded, otherwise 0.",
    "prefix-cache-scorer": (
        "Matched leading blocks / blocks of the prompt; 0 if the prompt is shorter than one block. With matchLengthWeight w:"
        " w * min(1, matched tokens / matchLengthScaleTokens)^2 + (1 - w) * that ratio. scheduler-0.7 keeps its index (per server, least recently used) in"
        " the scorer; later lines keep it in a producer."
    ),
    "precise-prefix-cache-scorer": (
        "In scheduler-0.7: (own - min) / (max - min) matched blocks, with min and max over the servers with a match; 1 if those are equal; 0 without a"
        " match. In the router: the score of prefix-cache-scorer."
    ),
    "load-aware-scorer": "0.5 without waiting requests, otherwise 0.5 * (1 - min(waiting, threshold) / threshold).",
    "active-request-scorer": (
        "1 for a server with at most idleThreshold in-flight requests of this endpoint picker, otherwise maxBusyScore * (max - n) / max. max is taken over all"
        " servers in scheduler-0.7, over the candidates in the router. scheduler-0.7 reads a missing maxBusyScore as 0."
    ),
    "session-affinity-scorer": "1 for the server that the session header names (base64 of NAMESPACE/POD-rank-0), otherwise 0.",
    "no-hit-lru-scorer": (
        "0.5 for every server if any has a prefix match. Otherwise 1 - rank / (n - 1), where servers without a cold request so far come first and the others in"
        " order of their last cold request."
    ),
    "context-length-aware": (
        "With a label LOW-HIGH: in range 0.3 + 0.7 * (0.7 / (1 + width / 10000) + 0.3 * (HIGH - tokens) / width), or 1 if LOW equals HIGH; out of range"
        " 0.3 / (1 + distance / 1000). 0.5 without the label, 0 for a malformed one. With enableFiltering it also removes servers whose range does not fit."
    ),
    "token-load-scorer": (
        "1 - min(n, queueThresholdTokens) / queueThresholdTokens, with n the in-flight tokens, in the router plus the uncached tokens of the request."
    ),
    "latency-scorer": "Headroom of the predicted latency against the SLO; without predictions a composite of KV cache, queue and prefix.",
    "predicted-latency-scorer": "Headroom of the predicted latency against the SLO, with affinity gates for prefixes.",
    "mm-embeddings-cache-scorer": "Size of the matched multimodal items / size of all items of the request.",
    "header-label-affinity-scorer": "1 if the pod label labelKey has the value of the request header, otherwise 0.",
    "endpoint-attribute-scorer": "Linear in an attribute of the data layer, over a fixed range or the range of the candidates.",
    "topology-affinity-scorer": "1 for the same host, 0.2 rack, 0.05 zone, 0.02 region.",
    "multicluster-queue-scorer": "queue-scorer over clusters.",
    "multicluster-kv-cache-utilization-scorer": "kv-cache-utilization-scorer over clusters.",
    "multicluster-prefix-cache-scorer": "prefix-cache-scorer over clusters.",
    "decode-filter": "Keeps servers with role decode, prefill-decode, both or encode-prefill-decode, and servers without a role.",
    "prefill-filter": "Keeps servers with role prefill, encode-prefill, prefill-decode, both or encode-prefill-decode.",
    "encode-filter": "Keeps servers with role encode, encode-prefill or encode-prefill-decode.",
    "by-label": "Keeps servers whose label has one of validValues; servers without the label only with allowsNoLabel. Without both it refuses to start.",
    "by-label-selector": "Keeps servers that match a Kubernetes label selector.",
    "label-selector-filter": "Keeps servers that match a Kubernetes label selector.",
    "prefix-cache-affinity-filter": "Keeps servers with a prefix match of at least affinityThreshold, unless the best of them takes maxTTFTPenaltyMs longer "
    "to the first token than another server: by tokens in flight and peakPrefillThroughput (router), or by a latency predictor. Preset sticky.",
    "slo-headroom-tier-filter": "Keeps servers with positive SLO headroom, if there are any.",
    "session-affinity-filter": "Keeps the server of the session.",
    "endpoint-attribute-filter": "Keeps servers whose attribute passes a threshold.",
    "utilization-filter": "Keeps servers below the limits of load metrics.",
    "topology-affinity-filter": "Keeps servers that are close enough in the topology.",
    "multicluster-session-affinity-filter": "session-affinity-filter over clusters.",
    "header-based-testing-filter": "For tests: keeps the addresses that the header test-epp-endpoint-selection lists.",
    "max-score-picker": "Picks the highest total; equal totals are drawn at random.",
    "random-picker": "Picks at random with equal probability; scores are ignored.",
    "weighted-random-picker": "Picks at random with a probability proportional to the total; with equal probability if all totals are 0.",
    "single-profile-handler": "Runs the only profile.",
    "disagg-profile-handler": "Runs the decode profile, then the prefill and encode profiles if their deciders ask for it.",
    "pd-profile-handler": "Runs decode and prefill profiles. Without deciderPluginName it needs a prefix-based-pd-decider of that name.",
    "data-parallel-profile-handler": "Runs one profile and sends the data-parallel rank in the header x-data-parallel-host-port.",
    "header-profile-handler": "Runs the profile that a request header names.",
    "prefix-based-pd-decider": (
        "Prefill on another server if the prompt has at least nonCachedTokens tokens (and promptTokens) and at least nonCachedTokens of them are not cached on"
        " the chosen decode server. 0 means never (in scheduler 0.6 it meant always). Without prefix data it never asks for prefill."
    ),
    "always-disagg-pd-decider": "Always prefill on another server.",
    "always-disagg-multimodal-decider": "Encode on another server for multimodal requests.",
    "disagg-headers-handler": "Writes the header x-prefiller-host-port. In scheduler-0.7, disaggregation never happens without it.",
    "prefill-header-handler": "Writes the header x-prefiller-host-port.",
    "approx-prefix-cache-producer": (
        "Index of routed prompts per server. With autoTune, block size and capacity come from the server's metrics. The router raises blocks to at least"
        " 64 tokens at request time."
    ),
    "precise-prefix-cache-producer": "Index of KV blocks per server, from KV events.",
    "inflight-load-producer": "Requests and tokens in flight per server.",
    "predicted-latency-producer": "Predicted latencies, from predictor sidecars. contextTTL is in nanoseconds.",
    "tokenizer": "Tokens of the prompt, from a tokenizer sidecar.",
    "token-producer": "Tokens of the prompt, from a render service or an estimate (one backend).",
    "session-id-producer": "Session ID from a header or a cookie (exactly one).",
    "mm-embeddings-cache-producer": "Index of multimodal embeddings per server.",
    "burst-prefix-cache-producer": "Prefix matches within a burst of requests.",
    "p2p-source-producer": "Server to fetch KV blocks from, in the header x-kv-cache-source-host-port.",
    "multicluster-approx-prefix-cache-producer": "approx-prefix-cache-producer over clusters.",
    "metrics-data-source": "Scrapes the metrics of the servers.",
    "models-data-source": "Reads /v1/models of the servers.",
    "k8s-notification-source": "Watches objects of one kind.",
    "endpoint-notification-source": "Events of added and removed servers. In the router it must feed the precise producer.",
    "dcgm-data-source": "Scrapes DCGM.",
    "multicluster-metrics-data-source": "metrics-data-source over clusters.",
    "model-server-protocol-metrics": "Load metrics by engine. An entry of engineConfigs replaces the built-in one of that engine.",
    "core-metrics-extractor": "Load metrics by engine. An entry of engineConfigs replaces the built-in one of that engine.",
    "model-server-protocol-models": "Models of each server.",
    "models-data-extractor": "Models of each server.",
    "topology-extractor": "Host, rack, zone and region of each server.",
    "dcgm-extractor": "GPU metrics of each server.",
    "multicluster-metrics-extractor": "Load metrics over clusters.",
    "file-discovery": "Servers from a file.",
    "multicluster-file-discovery": "Clusters from a file.",
    "local-syncer": "State within one replica.",
    "global-strict-fairness-policy": "One queue for all flows.",
    "round-robin-fairness-policy": "Flows take turns.",
    "program-aware-fairness": "Least attained service first, by program.",
    "fcfs-ordering-policy": "First come, first served.",
    "edf-ordering-policy": "Earliest deadline first.",
    "slo-deadline-ordering-policy": "Earliest TTFT SLO first, by request header.",
    "static-usage-limit-policy": "A constant limit of the pool's usage.",
    "priority-holdback-policy": "A lower limit for lower priorities.",
    "soft-reflective-ceiling-policy": "A limit that follows the load.",
    "sheddable-eviction-filter": "Requests of negative priority may be evicted.",
    "priority-then-time-eviction-order-policy": "Lowest priority first, then by time.",
    "utilization-detector": "Saturated if queue depth or KV-cache usage exceed their thresholds.",
    "concurrency-detector": "Saturated by in-flight requests or tokens.",
    "latency-slo-admitter": "Rejects requests that cannot meet their SLO.",
    "probabilistic-admitter": "Drops requests of negative priority with probability min(saturation^power * k, 1).",
    "openai-parser": "OpenAI requests.",
    "vllmgrpc-parser": "vLLM's gRPC requests.",
    "passthrough-parser": "Any payload, without looking into it.",
    "anthropic-parser": "Anthropic requests.",
    "sglanghttp-parser": "The requests of SGLang's own path /generate, as text or tokens.",
    "vllmhttp-parser": "vLLM's /inference/v1/generate.",
    "vertexai-parser": "Vertex AI requests.",
    "request-attribute-reporter": "Reports an attribute (CEL expression) in the response metadata.",
    "agent-identity": "Identity of agents from session headers.",
    "disaggregatedset-rollout-screener": "Keeps a request within one revision during a rollout.",
    "destination-endpoint-served-verifier": "For tests: reports the server that served the request in a response header.",
}
_KINDS = {
    "scorer": "Scorers",
    "filter": "Filters",
    "picker": "Pickers",
    "handler": "Profile handlers",
    "decider": "Deciders of disaggregation",
    "headers": "Writers of disaggregation headers",
    "producer": "Data producers",
    "source": "Data sources",
    "extractor": "Extractors",
    "discovery": "Discovery",
    "syncer": "Syncers",
    "fairness": "Fairness policies (flow control)",
    "ordering": "Ordering policies (flow control)",
    "usage_limit": "Usage-limit policies (flow control)",
    "eviction": "Eviction (flow control)",
    "saturation": "Saturation detectors",
    "admission": "Admission",
    "parser": "Parsers",
    "reporter": "Reporters",
    "request": "Request plugins",
    "test": "Plugins for tests",
}
_ALIASES = (
    ("scorer", catalog.SCORER_ALIASES),
    ("filter", catalog.FILTER_ALIASES),
    ("picker", catalog.PICKER_ALIASES),
    ("handler", catalog.HANDLER_ALIASES),
    ("decider", catalog.DECIDER_ALIASES),
    ("fairness", catalog.FAIRNESS_ALIASES),
    ("ordering", catalog.ORDERING_ALIASES),
)

_INTRO = """\
The endpoint picker (EPP) chooses a model server for each request. Its plugins, their parameters and its metrics differ between the release lines
(`llm_d_release`); this page lists what the collection knows of each line and checks a configuration against. It is generated from
`plugins/module_utils/epp/catalog`, whose facts come from the source code of kubernetes-sigs/gateway-api-inference-extension (1.4.0, 1.5.0),
llm-d/llm-d-inference-scheduler (0.7.1) and llm-d/llm-d-router (0.9.0, 0.10.0, and for 0.11 its tree of 2026-08-22). scheduler-0.7 is built on the
inference extension 1.4; the router is a separate fork."""

_DECISION = """\
A profile runs its filters in order, then all scorers, then the picker. Each score is clamped to 0..1. The total of a server is the sum of
score * weight; it is not normalized by the sum of the weights, so only the ratios of the weights matter. If the filters leave no server, the request
fails. A profile handler may run several profiles; the decode profile chooses the server that answers.
`llm_d.inference.scorer_config` works this out for a table of servers."""

_RULES = """\
- The configuration is read once at startup. A change needs a restart of the pods.
- An unknown field of the document stops the endpoint picker in every line. An unknown parameter of a plugin stops it in the router; the other lines
  ignore it silently.
- A plugin without a `name` is named after its type. Duplicate names, unknown types and references to missing plugins stop the endpoint picker.
- Without `schedulingProfiles`, one profile `default` contains every declared filter, scorer and picker.
- A profile without a picker uses a declared one, else `max-score-picker`. If several are declared, it is undefined which.
- A scorer without a `weight` has weight 1. Weights of filters and pickers are ignored. Weights may be fractions.
- Several profiles require a handler that runs several; more than one handler stops the endpoint picker.
- Up to router-0.9, a decider must be declared before the handler that names it.
- In gie-1.5 a `dataLayer` section without `metrics-data-source` disables scraping: scorers of load then see 0 for every server.
- The router creates a missing producer of most data by itself, and refuses to start without one of the others ([Data](#data-that-plugins-read)); of the
  lines before it, gie-1.5 creates `approx-prefix-cache-producer` for a `prefix-cache-scorer`, and nothing else.
- A boolean flag needs its `=`: `--flag false` sets the flag to true."""

_PRECISE = """\
`precise_prefix` follows the KV events of the servers. These settings must agree on both sides, or no block matches: `block_size` with vLLM's
`--block-size`, `hash_seed` with `PYTHONHASHSEED`. The collection writes both sides from one value.

- The topic of a server's KV events is `kv@ADDRESS:PORT@MODEL`. With the address alone, blocks are indexed and every server scores 0.
- vLLM 0.24 encodes its events otherwise. Lines before router 0.9 read none of them, start all the same, and log `failed to decode vLLM event`; the plan
  refuses the two together where the image or `engine.version` names the version.
- `kv_events: discover`: the endpoint picker connects to each server (vLLM). `kv_events: bind`: the servers connect to it (the simulator).
- `tokenizersPoolConfig.workersCount` must be set: without workers every request hangs.
- In scheduler-0.7 a tokenizer sidecar shares a socket; the router calls a render service (`vllm launch render`) through `token-producer`.
- In scheduler-0.7 `speculativeIndexing` works only with the feature gate `prepareDataPlugins`."""

_PD = """\
Pods have the label `llm-d.ai/role`; all roles are in one InferencePool. The decode profile runs first, the decider compares the uncached tokens on the
chosen server, the prefill profile runs if needed. The request goes to the decode pod, whose sidecar reads `x-prefiller-host-port` and calls that server
first; without the header it serves locally."""

_OPERATION = """\
- Permissions in the namespace: get, list and watch of pods, InferencePools, InferenceObjectives and InferenceModelRewrites; without one of them the
  endpoint picker does not become ready.
- `--ha-enable-leader-election`: only the leader is ready.
- `/metrics` asks for a token (`--metrics-endpoint-auth`, true by default), which needs cluster-wide permissions."""


_PARAMETERS = """\
What the plugins are for: [endpoint-picker.md](endpoint-picker.md). Plugins that are not listed here take no parameters. In the user's file, capitals and
underscores do not matter: `blockSizeTokens` and `block_size_tokens` are the same. `nanoseconds` is a number; `duration` a string such as `200ms`."""


def page() -> str:
    """docs/endpoint-picker.md."""
    lines = ["# Endpoint picker", "", _INTRO, "", "## How a decision is made", "", _DECISION, "", "## Release lines", "", *_release_lines(), _RULES, ""]
    lines += ["## The configuration document", "", *_document(), "## Plugins", ""]
    lines += ["The alias is the name of the plugin in the user's file. Parameters: [endpoint-picker-parameters.md](endpoint-picker-parameters.md).", ""]
    for role, title in _KINDS.items():
        lines += _plugins_of(role, title)
    lines += ["## Data that plugins read", "", _DATA, "", *_data()]
    lines += ["## Renamed and removed", "", *_moves(), "## Flags", "", *_flags(), "## Metrics", "", *_metrics()]
    lines += ["## Precise prefix matching", "", _PRECISE, "", *_options(presets.PRECISE_OPTIONS)]
    lines += ["## Prefill/decode disaggregation", "", _PD, "", *_connectors(), "## Operation", "", _OPERATION]
    return text_of(lines)


def parameters() -> str:
    """docs/endpoint-picker-parameters.md."""
    lines = ["# Parameters of the endpoint picker's plugins", "", _PARAMETERS, ""]
    for role, title in _KINDS.items():
        lines += _parameters_of(role, title)
    return text_of(lines)


def _where(lines: t.Collection[str]) -> str:
    """Release lines in words."""
    names = {ALL: "all", SINCE_15: f"all but {S07}", LLMD: f"all but {GIE15}", ROUTER: "router"}
    return names.get(frozenset(lines)) or ", ".join(line for line in LINES if line in lines)


def _data() -> list[str]:
    rows = []
    for data, (maker, _name) in catalog.MAKERS.items():
        readers = {
            (plugin.type, _condition(item)): plugin.lines & item.lines
            for plugin in catalog.PLUGINS
            for item in (need if isinstance(need, Reads) else Reads(need) for need in plugin.needs)
            if item.data == data
        }
        read_by = [f"{code(kind)}{condition} ({_where(lines)})" for (kind, condition), lines in readers.items()]
        rows.append([DATA[data], code(maker), "yes" if data in catalog.BY_ITSELF else "no", "<br>".join(read_by)])
    return table(["data", "made by", "the router creates the maker by itself", "read by"], rows)


def _condition(item: Reads) -> str:
    conditions = [f"{code(name)} is {code(_word(value))}" for name, value in filter(None, [item.when])]
    conditions += [f"{code(name)} is not {code(_word(value))}" for name, value in filter(None, [item.unless])]
    return f" if {' and '.join(conditions)}" if conditions else ", optional" if item.optional else ""


def _release_lines() -> list[str]:
    rows = []
    for name in LINES:
        facts = LINE_FACTS[name]
        gates = [f"{code(gate)} ({does})" if does else f"{code(gate)} (no effect)" for gate, does in facts.gates.items()]
        rows.append(
            [code(name), "<br>".join(map(code, facts.api_versions)), "<br>".join(gates), "refused" if facts.strict else "ignored", code(facts.data_section)]
        )
    return table(["release line", "`apiVersion`", "feature gates (an unknown one stops it)", "unknown parameters", "data section"], rows)


def _document() -> list[str]:
    rows = [[code(name), *facts, _where(lines)] for (name, *facts), lines in _parameters(DOCUMENT, ALL, "").items()]
    renamed = [[code(move.old), _target(move), _where(lines)] for lines, move in FIELD_MOVES]
    gates = [[f"feature gate {code(move.old)}", move.how, _where(lines)] for lines, move in GATE_MOVES]
    old = [[code(field), text, _where(lines)] for lines, field, text in FIELD_NOTES]
    return [*table(["field", "type", "default", "values", "lines"], rows), *table(["field of another line", "what to write", "in"], [*renamed, *gates, *old])]


def _parameters(params: t.Iterable[Param], lines: t.Collection[str], prefix: str) -> dict[tuple[str, str, str, str], set[str]]:
    """(dotted name, type, default, values) to the release lines where a parameter is like that. Mappings are shown by their keys."""
    merged: dict[tuple[str, str, str, str], set[str]] = {}
    for param in params:
        here = set(lines) & param.lines
        if not here:
            continue
        name = f"{prefix}{param.name}"
        if param.required or not param.fields:
            kind = {"strs": "list of strings", "objects": "list", "free": "any", "str": "string"}.get(param.kind, param.kind)
            merged.setdefault((name, kind, _default(param), _values(param)), set()).update(here)
        for key, nested in _parameters(param.fields, here, f"{name}{'[].' if param.kind == 'objects' else '.'}").items():
            merged.setdefault(key, set()).update(nested)
    return merged


def _values(param: Param) -> str:
    """The values that a parameter accepts, beyond its type."""
    if param.obsolete:
        return f"Refused. {param.obsolete}"
    limits = ((">=", param.low), (">", param.above), ("<=", param.high), ("<", param.below))
    bounds = [f"{sign} {bound:g}" for sign, bound in limits if bound is not None]
    names = [f"name of {ROLE_NAMES[param.refers]}"] if param.refers else []
    return ", ".join([*map(code, map(str, param.choices)), *bounds, *names])


def _default(param: Param) -> str:
    if param.required:
        return "**required**"
    if param.default is None:
        return ""
    return code(_word(param.default))


def _word(value: t.Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _types_of(role: str) -> dict[str, list[Plugin]]:
    """The plugin types whose first role is this one, each with its versions."""
    types: dict[str, list[Plugin]] = {}
    for plugin in catalog.PLUGINS:
        types.setdefault(plugin.type, []).append(plugin)
    return {kind: versions for kind, versions in types.items() if versions[0].roles[0] == role}


def _plugins_of(role: str, title: str) -> list[str]:
    rows = []
    for kind, versions in _types_of(role).items():
        lines = {line for version in versions for line in version.lines}
        rows.append([code(kind), "<br>".join(_aliases(kind)), _where(lines), " ".join([MEANING[kind], *_notes(versions)])])
    return [f"### {title}", "", *table(["type", "alias", "lines", "score" if role == "scorer" else "what it does"], rows)]


def _parameters_of(role: str, title: str) -> list[str]:
    lines: list[str] = []
    for kind, versions in _types_of(role).items():
        merged: dict[tuple[str, str, str, str], set[str]] = {}
        for version in versions:
            for key, where in _parameters(version.params, version.lines, "").items():
                merged.setdefault(key, set()).update(where)
        rows = [[code(name), *facts, _where(where)] for (name, *facts), where in merged.items()]
        lines += [f"### {code(kind)}", "", *table(["parameter", "type", "default", "values", "lines"], rows)] if rows else []
    return [f"## {title}", "", *lines] if lines else []


def _aliases(kind: str) -> list[str]:
    return list(dict.fromkeys(code(alias) for _role, aliases in _ALIASES for alias, target in aliases.items() if target == kind))


def _notes(versions: t.Sequence[Plugin]) -> list[str]:
    """The differences between lines: experimental, deprecated, created by itself."""
    notes = []
    alpha = {line for version in versions for line in version.alpha}
    if alpha:
        notes.append(f"Experimental in {_where(alpha)}: it needs `--allow-experimental-plugins`.")
    notes += [f"In {_where(version.lines)}: {version.deprecated}" for version in versions if version.deprecated]
    created = {line for version in versions if version.default for line in version.lines}
    if created:
        but = {data for version in versions if version.default for data in version.makes} - catalog.BY_ITSELF - {"precise", "session"}
        notes.append(f"Created by itself if not declared ({_where(created)}){', but not for ' + ', '.join(DATA[data].lower() for data in but) if but else ''}.")
    return notes


def _target(move: Move) -> str:
    return move.how or f"{code(move.new)} (renamed in {move.when})".replace(" (renamed in )", "")


def _moves() -> list[str]:
    types = [[code(move.old), _target(move) if move.how else f"{code(move.new)} ({move.when})", _where(lines)] for lines, move in catalog.TYPE_MOVES]
    params = [[f"{code(kind)}: {code(move.old)}", _target(move), _where(lines)] for kind, lines, move in catalog.PARAM_MOVES]
    nested = [[code(place), _target(move), _where(lines)] for place, lines, move in catalog.NESTED_MOVES]
    return [*table(["type", "write instead (since)", "in"], types), *table(["parameter", "write instead", "in"], [*params, *nested])]


def _flags() -> list[str]:
    rows = [[code(f"--{flag}"), f"parameter {code(f'engineConfigs[].{spec}')} of the metrics extractor"] for flag, spec in FORBIDDEN_FLAGS.items()]
    booleans = ", ".join(code(f"--{flag}") for flag in sorted(BOOLEAN_FLAGS))
    extractors = ", ".join(
        f"{code(kind)} ({_where([line for line in LINES if METRICS_EXTRACTOR[line] == kind])})" for kind in dict.fromkeys(METRICS_EXTRACTOR.values())
    )
    return [
        f"These flags stop the endpoint picker of every line. The metrics extractor is {extractors}.",
        "",
        *table(["flag", "write instead"], rows),
        f"Boolean flags: {booleans}.",
        "",
    ]


def _metrics() -> list[str]:
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for line in LINES:
        groups.setdefault(tuple(RELEASES[line]["metrics"].get(name) for name in PICKER_SIGNALS), []).append(line)
    rows = [[name.replace("_", " "), *(code(metrics[index]) for metrics in groups)] for index, name in enumerate(PICKER_SIGNALS)]
    others = [
        [signal.replace("_", " "), *(", ".join(code(source.metric) for source in of.get(signal, ())) for of in SERVERS.values())]
        for signal in SERVER_SIGNALS
        if signal not in SIGNALS
    ]
    signals = [
        [signal.replace("_", " "), code(ENGINE_METRICS["vllm"].signals[signal][0].metric), f"{text[:1].upper()}{text[1:]}."] for signal, text in SIGNALS.items()
    ]
    return [
        "Metrics of the endpoint picker that the collection reads:",
        "",
        *table(["what", *(_where(lines) for lines in groups.values())], rows),
        "Metrics of a vLLM server that it reads, and what happens without them:",
        "",
        *table(["what", "metric", "if missing"], signals),
        "Other metrics of servers, on dashboards and in alerts (of several the first that is there). [engines.md](engines.md) says which can be deployed:",
        "",
        *table(["what", *(ENGINE_METRICS[engine].title for engine in SERVERS)], others),
    ]


def _options(options: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[str]:
    rows = [[code(name), code(facts["path"]), "" if facts["default"] is None else code(str(facts["default"]))] for name, facts in options.items()]
    return table(["parameter of `precise_prefix`", "upstream parameter", "default"], rows)


def _connectors() -> list[str]:
    rows = [[code(line), ", ".join(map(code, names)), code(presets.SIDECAR_SERVER_FLAG[line])] for line, names in presets.CONNECTORS.items()]
    return table(["release line", "`disaggregation.connector`", "flag for the port of the server behind the sidecar"], rows)
