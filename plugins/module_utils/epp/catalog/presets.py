# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The presets of the collection, and the options and settings of precise prefix matching, disaggregation and flow control. Data only."""

from __future__ import annotations

import typing as t

from .types import ALL, LLMD, R09, R10, R10_UP, R11, ROUTER, S07

# Filters, and scorers in the order in which they run. `stages`: with separate prefill and decode servers, the scorers of stages that have none of the preset's
# filters and scorers, as in the router configuration of llm-d's guide pd-disaggregation. `like`: the preset to use on a line without this one; `why`: why the
# line does not have it.
PRESETS: dict[str, dict[str, t.Any]] = {
    "round_robin": {"scorers": {}, "picker": "random", "lines": ALL},
    "queue": {"scorers": {"queue": 1}, "picker": "max_score", "lines": ALL},
    "balanced": {"scorers": {"queue": 1, "kv_cache": 2, "prefix": 3}, "picker": "max_score", "lines": ALL},
    "prefix_aware": {"scorers": {"queue": 2, "kv_cache": 2, "prefix": 3}, "picker": "max_score", "lines": ALL},
    "sticky": {
        "scorers": {"token_load": 1},
        "filters": ("prefix_affinity",),
        "stages": {"encode": {"active_requests": 1}, "decode": {"active_requests": 1}},
        "picker": "max_score",
        "lines": ROUTER,
        "like": "prefix_aware",
        "why": "Only since router 0.9 the filter behind it releases a prefix by the tokens in flight; before it calls a latency predictor.",
    },
    "precise_prefix": {
        "scorers": {"queue": 2, "kv_cache": 2, "precise_prefix": 3},
        "picker": "max_score",
        "lines": LLMD,
        "like": "prefix_aware",
        "why": "Only llm-d matches prefixes by KV events; this endpoint picker estimates matches.",
    },
    "disaggregated": {
        "scorers": {"queue": 1, "prefix": 2},
        "picker": "max_score",
        "lines": LLMD,
        "like": "prefix_aware",
        "disaggregation": {},
        "why": "Only llm-d has separate prefill and decode servers; this endpoint picker has no roles.",
    },
    "default": {"scorers": {"queue": 2, "kv_cache": 2, "prefix": 3}, "picker": "max_score", "lines": ALL},
}
ROUND_ROBIN_NOTE = (
    "The preset round_robin picks a server at random for each request: no release has a round-robin picker. Every server gets the same share over time,"
    " but they do not take turns."
)

# Options of the scheduler block that describe the servers, for every preset: option to the plugin parameter that it sets.
SERVER_OPTIONS = {"peak_prefill_throughput": "peakPrefillThroughput"}
# Properties of the servers that are set on an index declared for another plugin: key of the context to parameter.
INDEX_CONTEXT = {"max_model_len": "maxPrefixTokensToMatch"}

# Options of precise prefix matching to upstream parameters. A default of None: omitted unless set.
PRECISE_OPTIONS: dict[str, dict[str, t.Any]] = {
    "block_size": {"path": "tokenProcessorConfig.blockSize", "default": 16},
    "hash_seed": {"path": "tokenProcessorConfig.hashSeed", "default": "42"},
    "model": {"path": "indexerConfig.tokenizersPoolConfig.modelName", "default": None},
    "tokenizer_workers": {"path": "indexerConfig.tokenizersPoolConfig.workersCount", "default": 5},
    "tokenizer_socket": {"path": "indexerConfig.tokenizersPoolConfig.uds.socketFile", "default": "/tmp/tokenizer/tokenizer-uds.socket"},
    "index_size": {"path": "indexerConfig.kvBlockIndexConfig.inMemoryConfig.size", "default": None},
    "index_pods": {"path": "indexerConfig.kvBlockIndexConfig.inMemoryConfig.podCacheSize", "default": None},
    "index_metrics": {"path": "indexerConfig.kvBlockIndexConfig.enableMetrics", "default": True},
    "speculative": {"path": "speculativeIndexing", "default": None},
    "speculative_ttl": {"path": "speculativeTTL", "default": None},
}
# Transport of KV events. discover: the endpoint picker connects to each server; bind: the servers connect to it.
KV_EVENT_MODES = ("discover", "bind")
PRECISE_EVENTS = {"kv_events_port": 5557, "render_url": "http://localhost:8082"}
PRECISE_TOKENIZER_ONLY = frozenset({"tokenizer_workers", "tokenizer_socket"})  # options of the socket tokenizer, which the router does not have

ROLE_LABEL = "llm-d.ai/role"
SERVING_LABEL = "llm-d.ai/inference-serving"
CONTEXT_LABEL = "llm-d.ai/context-length-range"

NON_CACHED_TOKENS = 16
CONNECTORS: dict[str, tuple[str, ...]] = {
    S07: ("nixlv2", "shared-storage", "sglang"),
    R09: ("nixlv2", "shared-storage", "sglang", "mooncake"),
    **dict.fromkeys((R10, R11), ("nixlv2", "shared-storage", "sglang", "mooncake", "offloading")),
}
# The routing sidecar of a decode server listens on the pool's target port and forwards to the server on this port.
SIDECAR_SERVER_PORT = 8200
SIDECAR_SERVER_FLAG: dict[str, str] = {S07: "--vllm-port", R09: "--vllm-port", R10: "--model-server-port", R11: "--model-server-port"}
SIDE_CHANNEL_PORT = 5600
SEED = "PYTHONHASHSEED"  # with the same value, servers and endpoint picker compute the same key for a block of tokens

# Parameters that are always written, because the real default of these lines differs from the documented one: active-request-scorer of
# scheduler 0.7 reads a missing maxBusyScore as 0, so every server with an in-flight request would score 0.
WRITTEN_DEFAULTS: dict[str, dict[str, t.Any]] = {"active-request-scorer": {"maxBusyScore": 1.0}}
WRITTEN_DEFAULT_LINES = frozenset({S07})
INDEX_HOME = "approx-prefix-cache-producer"
INDEX_MOVED_LINES = ALL - {S07}

SATURATION_OPTIONS = {
    "queue_depth": "queueDepthThreshold",
    "kv_cache_utilization": "kvCacheUtilThreshold",
    "staleness": "metricsStalenessThreshold",
    "headroom": "headroom",
}
FLOW_OPTIONS = {"max_bytes": "maxBytes", "max_requests": "maxRequests", "request_ttl": "defaultRequestTTL", "eviction": "enableEviction"}
BAND_OPTIONS = {"priority": "priority", "max_bytes": "maxBytes", "max_requests": "maxRequests"}

# Notes for users about a scorer: (lines, text).
SCORER_NOTES: dict[str, tuple[tuple[frozenset[str], str], ...]] = {
    "session_affinity": (
        (
            frozenset({S07}),
            (
                "session_affinity: this release adds its token after the response headers were sent, so clients never receive it; they must send "
                "x-session-token themselves: base64 of NAMESPACE/POD-rank-0. Where they cannot, the prefix scorers keep a conversation where its cache is."
            ),
        ),
        (ALL - {S07}, "session_affinity: clients must send back the session header they were given."),
    ),
    "context_length": ((ALL, f"context_length: label the servers with {CONTEXT_LABEL}, such as 0-2048; a server without it scores 0.5."),),
    "lora_affinity": (
        (ALL, "lora_affinity: start the servers with --enable-lora; without adapters every server scores the same."),
        (frozenset({S07}), "lora_affinity: a server that has computed with no adapter yet scores 0, as if it had no place for one."),
    ),
    "precise_prefix": (
        (
            frozenset({S07}),
            (
                "precise_prefix: scores are scaled between the shortest and the longest match, so the server with the shortest match "
                "gets 0, like one without any."
            ),
        ),
    ),
    "endpoint_attribute": (
        (
            R10_UP,
            (
                "endpoint_attribute: a server without the attribute scores 0; customMetrics of core-metrics-extractor write attributes, in a configuration of "
                "your own (plugins and profiles)."
            ),
        ),
    ),
    "active_requests": (
        (ROUTER, "active_requests: it counts requests that went through this endpoint picker; several replicas each see their own."),
        (frozenset({S07}), "active_requests: it counts requests that went through this endpoint picker; several replicas each see their own."),
    ),
}
