# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All plugin types of all release lines, our aliases for them, and renamed or removed names, with lookups by type, line and role. Pure."""

from __future__ import annotations

import typing as t

from ...common.scalars import scalar
from .data_layer import DATA
from .flow_control import CONTROL
from .profile_plugins import FILTERS, HANDLERS, PICKERS
from .scorers import SCORERS
from .types import ALL, GIE15, LINES, LLMD, R10_UP, R11_UP, ROUTER, S07, SCHEDULER, SINCE_15, UNTIL_15, Move, Plugin, Reads

PLUGINS: tuple[Plugin, ...] = SCORERS + FILTERS + PICKERS + HANDLERS + DATA + CONTROL

SCORER_ALIASES: dict[str, str] = {
    "queue": "queue-scorer",
    "running_requests": "running-requests-size-scorer",
    "kv_cache": "kv-cache-utilization-scorer",
    "prefix": "prefix-cache-scorer",
    "precise_prefix": "precise-prefix-cache-scorer",
    "load_aware": "load-aware-scorer",
    "active_requests": "active-request-scorer",
    "lora_affinity": "lora-affinity-scorer",
    "session_affinity": "session-affinity-scorer",
    "no_hit_lru": "no-hit-lru-scorer",
    "context_length": "context-length-aware",
    "token_load": "token-load-scorer",
    "latency": "latency-scorer",
    "predicted_latency": "predicted-latency-scorer",
    "mm_cache": "mm-embeddings-cache-scorer",
    "header_label": "header-label-affinity-scorer",
    "endpoint_attribute": "endpoint-attribute-scorer",
    "topology": "topology-affinity-scorer",
    "multicluster_queue": "multicluster-queue-scorer",
    "multicluster_kv_cache": "multicluster-kv-cache-utilization-scorer",
    "multicluster_prefix": "multicluster-prefix-cache-scorer",
}
FILTER_ALIASES: dict[str, str] = {
    "decode": "decode-filter",
    "prefill": "prefill-filter",
    "encode": "encode-filter",
    "label": "by-label",
    "label_selector": "label-selector-filter",
    "context_length": "context-length-aware",
    "prefix_affinity": "prefix-cache-affinity-filter",
    "slo_headroom": "slo-headroom-tier-filter",
    "session_affinity": "session-affinity-filter",
    "endpoint_attribute": "endpoint-attribute-filter",
    "utilization": "utilization-filter",
    "topology": "topology-affinity-filter",
    "multicluster_session_affinity": "multicluster-session-affinity-filter",
    "saturation": "utilization-detector",
    "concurrency": "concurrency-detector",
    "header_test": "header-based-testing-filter",
}
PICKER_ALIASES: dict[str, str] = {"max_score": "max-score-picker", "random": "random-picker", "weighted_random": "weighted-random-picker"}
HANDLER_ALIASES: dict[str, str] = {
    "single": "single-profile-handler",
    "disaggregated": "disagg-profile-handler",
    "pd": "pd-profile-handler",
    "data_parallel": "data-parallel-profile-handler",
    "header_profile": "header-profile-handler",
}
DECIDER_ALIASES: dict[str, str] = {"prefix": "prefix-based-pd-decider", "always": "always-disagg-pd-decider"}
FAIRNESS_ALIASES: dict[str, str] = {
    "strict": "global-strict-fairness-policy",
    "round_robin": "round-robin-fairness-policy",
    "program_aware": "program-aware-fairness",
}
ORDERING_ALIASES: dict[str, str] = {"fcfs": "fcfs-ordering-policy", "edf": "edf-ordering-policy", "slo_deadline": "slo-deadline-ordering-policy"}

# Other accepted spellings, compared without hyphens, underscores, capitals and a trailing "scorer".
OTHER_SPELLINGS: dict[str, str] = {
    "lora": "lora_affinity",
    "precise": "precise_prefix",
    "session": "session_affinity",
    "running": "running_requests",
    "activerequest": "active_requests",
    "kvcacheusage": "kv_cache",
    "preciseprefixcacheproducer": "precise_prefix",
    "sloawarerouting": "predicted_latency",
}
# Types that have another name in some lines, or that another type replaces there: (lines, name there).
OLDER_TYPES: dict[str, tuple[frozenset[str], str]] = {
    "label-selector-filter": (SCHEDULER, "by-label-selector"),
    "precise-prefix-cache-scorer": (R11_UP, "precise-prefix-cache-producer"),
}

_PREDICTOR = "Use latency-scorer with predicted-latency-producer and the filters slo-headroom-tier-filter and prefix-cache-affinity-filter."
_PRECISE = (
    "Declare precise-prefix-cache-producer with its parameters, and a prefix-cache-scorer with prefixMatchInfoProducerName: precise-prefix-cache-producer."
)
_HEADERS = "Take it out: disagg-profile-handler writes the headers itself."
_HANDLER = "Declare disagg-profile-handler, with the decider that deciderPluginName names (by default prefix-based-pd-decider) under deciders.prefill."
_LABEL = "Declare label-selector-filter with matchExpressions: [{key: the label, operator: In, values: [its values]}]."
_NO_PICKER = "No release of the endpoint picker has it. random-picker gives every server the same share over time, at random: preset round_robin uses it."

# Types that are removed, renamed, or of another line: (lines without it, what to write instead).
TYPE_MOVES: tuple[tuple[frozenset[str], Move], ...] = (
    (ALL, Move("round-robin-picker", "random-picker", "", _NO_PICKER)),
    (ALL, Move("kv-cache-scorer", "kv-cache-utilization-scorer", "GIE 1.0")),
    (UNTIL_15, Move("slo-aware-routing", "predicted-latency-scorer", "GIE 1.3")),
    (ROUTER, Move("slo-aware-routing", "latency-scorer", "GIE 1.5", _PREDICTOR)),
    (ALL, Move("slo-aware-profile-handler", "single-profile-handler", "GIE 1.3")),
    (ROUTER, Move("predicted-latency-scorer", "latency-scorer", "router 0.9", _PREDICTOR)),
    (SINCE_15, Move("model-server-protocol-metrics", "core-metrics-extractor", "1.5")),
    (frozenset({S07}), Move("core-metrics-extractor", "model-server-protocol-metrics", "1.5")),
    (ROUTER, Move("model-server-protocol-models", "models-data-extractor", "router 0.9")),
    (SCHEDULER, Move("models-data-extractor", "model-server-protocol-models", "router 0.9")),
    (SCHEDULER, Move("label-selector-filter", "by-label-selector", "router 0.9")),
    (SCHEDULER, Move("token-producer", "tokenizer", "router 0.9")),
    (SCHEDULER, Move("precise-prefix-cache-producer", "precise-prefix-cache-scorer", "router 0.9")),
    # Removed in router 0.11, by reports of its users (llm-d-router issues 2844 and 936); the release notes end before it.
    (R11_UP, Move("precise-prefix-cache-scorer", "precise-prefix-cache-producer", "router 0.11", _PRECISE)),
    (R11_UP, Move("disagg-headers-handler", "disagg-profile-handler", "router 0.11", _HEADERS)),
    (R11_UP, Move("prefill-header-handler", "disagg-profile-handler", "router 0.11", _HEADERS)),
    (R11_UP, Move("pd-profile-handler", "disagg-profile-handler", "router 0.11", _HANDLER)),
    (R11_UP, Move("by-label", "label-selector-filter", "router 0.11", _LABEL)),
    (R11_UP, Move("by-label-selector", "label-selector-filter", "router 0.9")),
    (R11_UP, Move("tokenizer", "token-producer", "router 0.9")),
    (frozenset({S07}), Move("approx-prefix-cache-producer", "prefix-cache-scorer", "1.5", "Here its parameters belong to prefix-cache-scorer.")),
    (frozenset({S07}), Move("utilization-detector", "saturationDetector", "1.5", "Here the thresholds are fields of the section saturationDetector.")),
)

_METERS = "It counted characters; write blockSizeTokens, in tokens."
_INDEX = "These are parameters of approx-prefix-cache-producer: declare that plugin with them."
_DECAY = "Write lasHalfLifeSeconds, seconds until half of the attained service is forgotten: 60 by default, 0 for never."
_MODE = "No release has a mode: preset prefix_aware matches approximately, preset precise_prefix follows KV events."

# Parameters that are removed, renamed or moved: (type, lines, what to write instead). Names are compared without capitals and underscores.
PARAM_MOVES: tuple[tuple[str, frozenset[str], Move], ...] = (
    ("prefix-cache-scorer", ALL, Move("hashBlockSize", "blockSizeTokens", "GIE 1.4", _METERS)),
    ("prefix-cache-scorer", ALL, Move("cacheHitBonus", "", "", "No release reads it: set the weight of the scorer instead.")),
    ("prefix-cache-scorer", ALL, Move("mode", "", "", _MODE)),
    ("prefix-cache-scorer", ROUTER, Move("autoTune", "approx-prefix-cache-producer", "router 0.9", _INDEX)),
    ("prefix-cache-scorer", ROUTER, Move("blockSizeTokens", "approx-prefix-cache-producer", "router 0.9", _INDEX)),
    ("prefix-cache-scorer", ROUTER, Move("blockSize", "approx-prefix-cache-producer", "router 0.9", _INDEX)),
    ("prefix-cache-scorer", ROUTER, Move("maxPrefixBlocksToMatch", "approx-prefix-cache-producer", "router 0.9", _INDEX)),
    ("prefix-cache-scorer", ROUTER, Move("maxPrefixTokensToMatch", "approx-prefix-cache-producer", "router 0.9", _INDEX)),
    ("prefix-cache-scorer", ROUTER, Move("lruCapacityPerServer", "approx-prefix-cache-producer", "router 0.9", _INDEX)),
    ("program-aware-fairness", R11_UP, Move("lasDecayFactor", "lasHalfLifeSeconds", "router 0.11", _DECAY)),
    ("load-aware-scorer", LLMD, Move("queueThreshold", "threshold", "")),
    ("session-affinity-scorer", R10_UP, Move("headerName", "encodedEndpointHeaderConfig.header", "router 0.10")),
    ("session-affinity-filter", R10_UP, Move("headerName", "encodedEndpointHeaderConfig.header", "router 0.10")),
    ("predicted-latency-producer", ROUTER, Move("predictInPrepareData", "predictInProduce", "router 0.9")),
    ("predicted-latency-producer", frozenset({GIE15}), Move("predictInProduce", "predictInPrepareData", "router 0.9")),
)
NESTED_MOVES: tuple[tuple[str, frozenset[str], Move], ...] = (
    (
        "indexerConfig.tokenProcessorConfig",
        LLMD,
        Move("tokenProcessorConfig", "tokenProcessorConfig", "scheduler 0.5", "It is at the top of the plugin's parameters, not inside indexerConfig."),
    ),
)
# Older names of the same parameter, resolved silently: (type, normalized name) to the parameter.
SAME_PARAMS: dict[tuple[str, str], str] = {("load-aware-scorer", "queuethreshold"): "threshold"}

# The maker of each kind of data that plugins read, and the parameter by which a plugin names another maker.
MAKERS: dict[str, tuple[str, str]] = {
    "prefix": ("approx-prefix-cache-producer", "prefixMatchInfoProducerName"),
    "inflight": ("inflight-load-producer", "inFlightLoadProducerName"),
    "uncached": ("inflight-load-producer", "inFlightLoadProducerName"),
    "latency": ("predicted-latency-producer", "latencyPredictionInfoProducerName"),
    "mm": ("mm-embeddings-cache-producer", "producerName"),
    "topology": ("topology-extractor", "topologyProducerName"),
    "pools": ("multicluster-metrics-extractor", ""),
}
# Data whose missing maker the router creates by itself; without a maker of any other data it refuses to start.
BY_ITSELF = frozenset({"prefix", "inflight", "latency", "mm", "tokens"})
# The data source under which an extractor among the makers has to be named.
FED_BY = {"multicluster-metrics-extractor": "multicluster-metrics-data-source"}

_INDEX_BY_TYPE: dict[str, dict[str, Plugin]] = {}
for _plugin in PLUGINS:
    for _line in _plugin.lines:
        _INDEX_BY_TYPE.setdefault(_plugin.type, {})[_line] = _plugin


def find_plugin(plugin_type: str, line: str) -> Plugin | None:
    """The description of a plugin type in a release line, or None when the line does not have it."""
    return _INDEX_BY_TYPE.get(plugin_type, {}).get(line)


def reads(plugin: Plugin, line: str, parameters: t.Mapping[str, t.Any], optional: bool = True) -> list[str]:
    """The data that a plugin reads with these parameters; without `optional`, only the data that it requires."""
    needs = [item if isinstance(item, Reads) else Reads(item) for item in plugin.needs]
    return [
        item.data
        for item in needs
        if line in item.lines
        and (optional or not item.optional)
        and (item.when is None or item.when[1] in _values(plugin, item.when[0], parameters))
        and (item.unless is None or item.unless[1] not in _values(plugin, item.unless[0], parameters))
    ]


def _values(plugin: Plugin, name: str, parameters: t.Mapping[str, t.Any]) -> list[t.Any]:
    """The value of a parameter or its default, in a list; for `list.field`, the field of each entry of that list."""
    head, _dot, field = name.partition(".")
    param = next(item for item in plugin.params if item.name == head)
    value = parameters.get(head, param.default)
    if not field:
        return [scalar(value, param.kind)]
    return [entry.get(field) for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def lines_of(plugin_type: str) -> list[str]:
    """The release lines that have a type, oldest first; [] for an unknown type."""
    return [line for line in LINES if line in _INDEX_BY_TYPE.get(plugin_type, {})]


def roles_of(plugin_type: str) -> set[str]:
    """The roles of a type in any release line; empty for an unknown type."""
    return {role for plugin in _INDEX_BY_TYPE.get(plugin_type, {}).values() for role in plugin.roles}


def types_of(line: str, role: str | None = None) -> list[str]:
    """The types of a release line, sorted; of one role if given."""
    return sorted(name for name, by_line in _INDEX_BY_TYPE.items() if line in by_line and (role is None or role in by_line[line].roles))


def defaults_of(line: str) -> list[str]:
    """The types that the endpoint picker creates by itself if they are not declared."""
    return sorted(name for name, by_line in _INDEX_BY_TYPE.items() if line in by_line and by_line[line].default)


def normalize(word: t.Any) -> str:
    """A name without capitals, hyphens and underscores, for comparing spellings."""
    return str(word).replace("-", "").replace("_", "").lower()
