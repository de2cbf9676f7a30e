# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every scorer of each release line, with its parameters. What they score: docs/endpoint-picker.md. Data only."""

from __future__ import annotations

from .types import ALL, LLMD, ON_15, R09, R10_UP, R11_UP, ROUTER, S07, SCHEDULER, SINCE_15, UNTIL_R10, Param, Plugin, Reads

INFLIGHT_NAME = Param("inFlightLoadProducerName", "str", lines=ROUTER, refers="producer")

MATCH_NAME = Param("prefixMatchInfoProducerName", "str", lines=ROUTER, refers="producer")

PREDICTION_NAME = Param("latencyPredictionInfoProducerName", "str", lines=ROUTER, refers="producer")


def fraction(name: str, default: float, lines: frozenset[str] = ALL) -> Param:
    """A parameter from 0 to 1."""
    return Param(name, "float", default, low=0, high=1, lines=lines)


_STRATEGY = Param("headroomSelectionStrategy", "str", "least", choices=("least", "most"))

_COMPOSITE = tuple(Param(f"composite{name}Weight", "float", 1, low=0) for name in ("KV", "Queue", "Prefix"))

_CHARACTERS = "blockSize counts characters and is no longer read: write blockSizeTokens, in tokens (about a quarter of the characters)."


# The approximate prefix index: in the scorer on scheduler-0.7, in a separate producer since 1.5.
PREFIX_INDEX = (
    Param("autoTune", "bool", True),
    Param("blockSizeTokens", "int", 16, low=1),
    Param("blockSize", "int", obsolete=_CHARACTERS),
    Param("maxPrefixBlocksToMatch", "int", 256, low=1),
    Param("maxPrefixTokensToMatch", "int", 0, low=0, lines=SINCE_15),
    Param("lruCapacityPerServer", "int", 31250, low=1),
)

_TOKENIZERS = Param(
    "tokenizersPoolConfig",
    "object",
    lines=SCHEDULER,
    required=True,
    fields=(
        Param("modelName", "str", required=True),
        Param("workersCount", "int", 5, low=1),
        Param("uds", "object", fields=(Param("socketFile", "str"), Param("useTCP", "bool"), Param("modelTokenizerMap", "map"))),
        Param("hf", "free", obsolete="The tokenizer runs in a sidecar since scheduler 0.5: write uds.socketFile."),
        Param("local", "free", obsolete="The tokenizer runs in a sidecar since scheduler 0.5: write uds.socketFile."),
    ),
)

_NO_TOKENIZERS = Param("tokenizersPoolConfig", "free", lines=ROUTER, obsolete="The router gets tokens from a token-producer: declare one and leave this out.")

_REDIS = (Param("address", "str"), Param("backendType", "str", lines=LLMD - R10_UP), Param("enableRDMA", "bool", lines=LLMD - R10_UP))

_INDEXER = (
    Param(
        "kvBlockIndexConfig",
        "object",
        fields=(
            Param("inMemoryConfig", "object", fields=(Param("size", "int", 100_000_000, low=1), Param("podCacheSize", "int", 10, low=1))),
            Param("costAwareMemoryConfig", "object", fields=(Param("size", "str"),)),
            Param("redisConfig", "object", fields=_REDIS),
            Param("valkeyConfig", "object", fields=_REDIS, lines=LLMD - R10_UP),
            Param("enableMetrics", "bool", False),
            Param("metricsLoggingInterval", "nanoseconds", 0),
        ),
    ),
    Param("kvCacheBackendConfigs", "objects", fields=(Param("name", "str", required=True), Param("weight", "float", low=0))),
    _TOKENIZERS,
    _NO_TOKENIZERS,
)
_HASH = Param("hashAlgorithm", "str", "cbor-fnv", choices=("cbor-fnv", "xxh64"), lines=R11_UP)
PRECISE_INDEX = (
    Param(
        "tokenProcessorConfig",
        "object",
        fields=(Param("blockSize", "int", 16, low=1), Param("blockSizeTokens", "int", 16, low=1), Param("hashSeed", "str", ""), _HASH),
    ),
    Param("indexerConfig", "object", required=True, fields=_INDEXER, lines=SCHEDULER),
    Param("indexerConfig", "object", fields=_INDEXER, lines=ROUTER),
    Param(
        "kvEventsConfig",
        "object",
        fields=(
            Param("zmqEndpoint", "str", ""),
            Param("topicFilter", "str", "kv@"),
            Param("concurrency", "int", 4, low=1),
            Param("engineType", "str", "vllm", choices=("vllm", "sglang")),
            Param("discoverPods", "bool", True),
            Param(
                "podDiscoveryConfig",
                "object",
                fields=(
                    Param("podLabelSelector", "str", "llm-d.ai/inference-serving=true"),
                    Param("podNamespace", "str", ""),
                    Param("socketPort", "int", 5557, low=1, high=65535),
                    Param("replaySocketPort", "int", low=1, high=65535, lines=R10_UP),
                ),
            ),
        ),
    ),
    Param("speculativeIndexing", "bool", False),
    Param("speculativeTTL", "duration", "2s"),
)

_PREDICTED_LATENCY = (
    Param("samplingMean", "float", 1000, above=0),
    Param("maxSampledTokens", "int", 0, low=0),
    Param("sloBufferFactor", "float", 1, above=0),
    Param("negHeadroomTTFTWeight", "float", 0.8, low=0),
    Param("negHeadroomTPOTWeight", "float", 0.2, low=0),
    Param("headroomTTFTWeight", "float", 0.8, low=0),
    Param("headroomTPOTWeight", "float", 0.2, low=0),
    _STRATEGY,
    *_COMPOSITE,
    fraction("epsilonExploreSticky", 0.01),
    fraction("epsilonExploreNeg", 0.01),
    fraction("affinityGateTau", 0.8),
    Param("affinityGateTauGlobal", "float", 0.99, above=0, high=1),
    Param("affinityMaxTTFTPenaltyMs", "float", 5000, low=0, lines=ON_15),
    Param("contextTTL", "nanoseconds", 300_000_000_000),
    Param("selectionMode", "str", "linear", choices=("linear", "max")),
    Param("streamingMode", "bool", True),
    Param("endpointRoleLabel", "str"),
)

_SESSION_ID = Param(
    "sessionIdConfig",
    "object",
    lines=R10_UP,
    fields=(
        Param("sources", "objects", fields=(Param("header", "str"), Param("attribute", "str"))),
        Param("evictionTtlSeconds", "float", 300, above=0),
        Param("evictionSweepSeconds", "float", 10, above=0),
    ),
)

SESSION = (
    Param("headerName", "str", "x-session-token", lines=frozenset({R09})),
    Param("strategy", "str", "encoded_endpoint_header", choices=("encoded_endpoint_header", "session_id"), lines=R10_UP),
    Param("encodedEndpointHeaderConfig", "object", lines=R10_UP, fields=(Param("header", "str", "x-session-token"),)),
    _SESSION_ID,
    Param("profileName", "str", lines=ROUTER),
)

TOPOLOGY_NAME = Param("topologyProducerName", "str", refers="extractor")

SCORERS: tuple[Plugin, ...] = (
    Plugin("queue-scorer", ("scorer",), ALL, blind=True, needs=("metrics",)),
    Plugin("running-requests-size-scorer", ("scorer",), ALL, blind=True, needs=("metrics",)),
    Plugin("kv-cache-utilization-scorer", ("scorer",), ALL, blind=True, needs=("metrics",)),
    Plugin("lora-affinity-scorer", ("scorer",), ALL, blind=True, needs=("metrics",)),
    Plugin("prefix-cache-scorer", ("scorer",), frozenset({S07}), PREFIX_INDEX, makes=("prefix",)),
    Plugin("prefix-cache-scorer", ("scorer",), ON_15, PREFIX_INDEX, needs=("prefix",)),
    Plugin(
        "prefix-cache-scorer",
        ("scorer",),
        ROUTER,
        (MATCH_NAME, fraction("matchLengthWeight", 0, lines=R10_UP), Param("matchLengthScaleTokens", "int", 8192, low=1, lines=R10_UP)),
        needs=("prefix",),
    ),
    Plugin("precise-prefix-cache-scorer", ("scorer",), frozenset({S07}), PRECISE_INDEX, makes=("precise",)),
    Plugin(
        "precise-prefix-cache-scorer",
        ("scorer", "extractor"),
        UNTIL_R10,
        PRECISE_INDEX,
        needs=("tokens",),
        makes=("precise",),
        deprecated="It wraps the precise-prefix-cache-producer since router 0.9; declare that one, and a prefix-cache-scorer that names it.",
    ),
    Plugin("load-aware-scorer", ("scorer",), LLMD, (Param("threshold", "int", 128, low=1),), needs=("metrics",)),
    Plugin(
        "active-request-scorer",
        ("scorer",),
        LLMD,
        (
            Param("requestTimeout", "duration", "2m", lines=SCHEDULER),
            Param("requestTimeout", "duration", lines=ROUTER, obsolete="Leave it out: it is not read since router 0.9."),
            Param("idleThreshold", "int", 0, low=0),
            fraction("maxBusyScore", 1),
            INFLIGHT_NAME,
        ),
        needs=(Reads("inflight", ROUTER),),
    ),
    Plugin("session-affinity-scorer", ("scorer",), SCHEDULER, blind=True),
    Plugin("session-affinity-scorer", ("scorer",), ROUTER, SESSION, alpha=R10_UP),
    Plugin(
        "no-hit-lru-scorer",
        ("scorer",),
        LLMD,
        (
            Param("prefixPluginType", "str", "prefix-cache-scorer", lines=SCHEDULER),
            Param("prefixPluginName", "str", "prefix-cache-scorer", lines=SCHEDULER, refers="scorer"),
            # The router accepts both, and reads neither.
            Param("prefixPluginType", "str", lines=ROUTER),
            Param("prefixPluginName", "str", lines=ROUTER),
            Param("lruSize", "int", 1024, low=1),
            MATCH_NAME,
        ),
        needs=(Reads("prefix", optional=True),),
    ),
    Plugin(
        "context-length-aware",
        ("scorer", "filter"),
        LLMD,
        (Param("label", "str", "llm-d.ai/context-length-range"), Param("enableFiltering", "bool", False)),
        needs=(Reads("tokens", ROUTER),),
    ),
    Plugin(
        "token-load-scorer",
        ("scorer",),
        SINCE_15,
        (Param("queueThresholdTokens", "int", 4_194_304, low=1), INFLIGHT_NAME),
        needs=("inflight", Reads("uncached", ROUTER)),
    ),
    Plugin(
        "latency-scorer",
        ("scorer",),
        SINCE_15,
        (Param("ttftWeight", "float", 0.8, low=0), Param("tpotWeight", "float", 0.2, low=0), _STRATEGY, *_COMPOSITE, PREDICTION_NAME, MATCH_NAME),
        needs=("latency", Reads("prefix", optional=True)),
    ),
    Plugin("predicted-latency-scorer", ("scorer",), frozenset({S07}), _PREDICTED_LATENCY, needs=(Reads("prefix", optional=True),)),
    Plugin("predicted-latency-scorer", ("scorer",), ON_15, _PREDICTED_LATENCY, needs=(Reads("prefix", optional=True),), makes=("latency",)),
    Plugin("mm-embeddings-cache-scorer", ("scorer",), ROUTER, (Param("producerName", "str", refers="producer"),), needs=("mm",)),
    Plugin(
        "header-label-affinity-scorer",
        ("scorer",),
        R10_UP,
        (Param("headerName", "str", required=True), Param("labelKey", "str", required=True)),
        alpha=R10_UP,
    ),
    Plugin(
        "endpoint-attribute-scorer",
        ("scorer",),
        R10_UP,
        (
            Param("attributeKey", "str", required=True),
            Param("producer", "str", lines=R11_UP),
            Param(
                "algorithm",
                "object",
                required=True,
                fields=(
                    Param("type", "str", required=True, choices=("linear_lower_is_better", "linear_higher_is_better")),
                    Param(
                        "normalization",
                        "object",
                        fields=(
                            Param("fixedRange", "object", fields=(Param("min", "float", required=True), Param("max", "float", required=True))),
                            Param("adaptiveRange", "object"),
                        ),
                    ),
                ),
            ),
        ),
        alpha=R10_UP,
    ),
    Plugin("topology-affinity-scorer", ("scorer",), R10_UP, (TOPOLOGY_NAME,), alpha=R10_UP, needs=(Reads("topology", optional=True),)),
    Plugin("multicluster-queue-scorer", ("scorer",), R10_UP, blind=True, alpha=R10_UP, needs=("pools",)),
    Plugin("multicluster-kv-cache-utilization-scorer", ("scorer",), R10_UP, blind=True, alpha=R10_UP, needs=("pools",)),
    Plugin("multicluster-prefix-cache-scorer", ("scorer",), R10_UP, (MATCH_NAME,), alpha=R10_UP, needs=("prefix",)),
)
