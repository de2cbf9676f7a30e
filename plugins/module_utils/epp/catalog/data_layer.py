# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data producers, data sources, extractors and discovery of each release line. Data only."""

from __future__ import annotations

from .scorers import PRECISE_INDEX
from .types import ALL, LLMD, ON_15, R10_UP, ROUTER, S07, SCHEDULER, SINCE_15, UNTIL_R10, Param, Plugin, Reads

_MATCH = Param("prefixMatchInfoProducerName", "str", lines=ROUTER, refers="producer")
_SEND = (Param("scheme", "str", "http", choices=("http", "https")), Param("insecureSkipVerify", "bool", True))
_TLS = tuple(Param(name, "str", lines=R10_UP) for name in ("caCertPath", "clientCertPath", "clientKeyPath"))
_INTERVAL = Param("interval", "duration", lines=R10_UP)
_RENDER = (Param("url", "str", "http://localhost:8000"), Param("timeout", "duration", "5s"), Param("mmTimeout", "duration", "30s"))
_RESOLUTION = Param("defaultResolution", "object", fields=(Param("width", "int", required=True, low=0), Param("height", "int", required=True, low=0)))
_FACTOR = Param("dynamic", "object", fields=(Param("factor", "int", low=0),))


def _mode(*choices: str) -> Param:
    return Param("mode", "str", choices=choices)


_IMAGE = Param(
    "image", "object", fields=(_mode("dynamic", "static"), _RESOLUTION, Param("static", "object", fields=(Param("staticToken", "int", low=0),)), _FACTOR)
)
_OF_FRAME = (_mode("dynamic", "static"), Param("static", "object", fields=(Param("numTokensPerFrame", "int", low=0),)), _FACTOR)
_FRAMES = (
    _mode("sampled", "strided"),
    *(Param(name, "int", low=0) for name in ("minFrames", "maxFrames")),
    Param("sampled", "object", fields=(Param("sampleFPS", "float", low=0), Param("temporalPatchSize", "int", low=0))),
    Param("strided", "object", fields=(Param("defaultSourceFPS", "float", low=0), Param("frameStride", "int", low=0))),
)
_VIDEO = Param(
    "video",
    "object",
    lines=R10_UP,
    fields=(
        _RESOLUTION,
        Param("defaultDuration", "float", low=0),
        Param("tokensPerFrame", "object", fields=_OF_FRAME),
        Param("frames", "object", fields=_FRAMES),
        Param("maxVideoTokens", "int", low=0),
    ),
)
_TOKENS = (
    Param("modelName", "str"),
    Param("vllm", "object", fields=_RENDER),
    Param("estimate", "object", fields=(_IMAGE, _VIDEO)),
    Param("udsTokenizerConfig", "free", obsolete="The socket tokenizer is deprecated since router 0.9: write vllm.url, the address of a render sidecar."),
)

PRODUCERS: tuple[Plugin, ...] = (
    Plugin(
        "approx-prefix-cache-producer",
        ("producer",),
        ON_15,
        (
            Param("autoTune", "bool", True),
            Param("blockSizeTokens", "int", 16, low=1),
            Param("blockSize", "int", obsolete="blockSize counts characters and is no longer read: write blockSizeTokens, in tokens."),
            Param("maxPrefixBlocksToMatch", "int", 256, low=1),
            Param("maxPrefixTokensToMatch", "int", 0, low=0),
            Param("lruCapacityPerServer", "int", 31250, low=1),
        ),
        makes=("prefix",),
    ),
    Plugin(
        "approx-prefix-cache-producer",
        ("producer",),
        ROUTER,
        (
            Param("autoTune", "bool", True),
            Param("blockSizeTokens", "int", 16, low=1),
            Param("blockSize", "int", obsolete="blockSize counts characters and is no longer read: write blockSizeTokens, in tokens."),
            Param("maxPrefixBlocksToMatch", "int", 2048, low=1),
            Param("maxPrefixTokensToMatch", "int", 131072, low=0),
            Param("lruCapacityPerServer", "int", 31250, low=1),
        ),
        needs=("tokens",),
        makes=("prefix",),
        default=True,
    ),
    Plugin("precise-prefix-cache-producer", ("producer", "extractor"), ROUTER, PRECISE_INDEX, needs=("tokens",), makes=("precise",)),
    Plugin("inflight-load-producer", ("producer",), ON_15, blind=True, makes=("inflight",)),
    Plugin(
        "inflight-load-producer",
        ("producer", "extractor"),
        ROUTER,
        (
            Param("addEstimatedOutputTokens", "bool", False),
            _MATCH,
            Param("outputRatio", "float", low=0, lines=R10_UP),
            Param("maxEstimatedOutputTokens", "int", low=0, lines=R10_UP),
            Param("syncCrossReplicaState", "bool", lines=R10_UP),
        ),
        needs=("tokens", Reads("prefix", optional=True)),
        makes=("inflight", "uncached"),
        default=True,
    ),
    Plugin(
        "predicted-latency-producer",
        ("producer",),
        ON_15,
        (
            Param("samplingMean", "float", 1000, above=0),
            Param("maxDecodeTokenSamplesForPrediction", "int", 0, low=0),
            Param("sloBufferFactor", "float", 1, above=0),
            Param("contextTTL", "nanoseconds", 300_000_000_000),
            Param("streamingMode", "bool", False),
            Param("endpointRoleLabel", "str"),
            Param("predictInPrepareData", "bool", True),
        ),
        needs=(Reads("prefix", optional=True),),
        makes=("latency",),
    ),
    Plugin(
        "predicted-latency-producer",
        ("producer",),
        ROUTER,
        (
            Param("samplingMean", "float", 1000, above=0),
            Param("maxDecodeTokenSamplesForPrediction", "int", 0, low=0),
            Param("sloBufferFactor", "float", 1, above=0),
            Param("contextTTL", "nanoseconds", 300_000_000_000),
            Param("streamingMode", "bool", False),
            Param("endpointRoleLabel", "str"),
            Param("predictInProduce", "bool", True),
            _MATCH,
            Param("inFlightLoadProducerName", "str", lines=R10_UP, refers="producer"),
            Param("useEncoderCacheFeatures", "bool", lines=R10_UP),
            Param("encoderCacheMatchInfoProducerName", "str", lines=R10_UP, refers="producer"),
        ),
        needs=("tokens", "prefix", Reads("inflight", R10_UP), Reads("mm", R10_UP, when=("useEncoderCacheFeatures", True))),
        makes=("latency",),
        default=True,
    ),
    Plugin(
        "tokenizer",
        ("producer", "scorer"),
        SCHEDULER,
        (
            Param("modelName", "str", required=True),
            Param("udsTokenizerConfig", "object", fields=(Param("socketFile", "str"), Param("useTCP", "bool"), Param("modelTokenizerMap", "map"))),
        ),
        makes=("tokens",),
    ),
    Plugin(
        "token-producer",
        ("producer",),
        ROUTER,
        _TOKENS,
        makes=("tokens",),
        default=True,
    ),
    Plugin(
        "tokenizer",
        ("producer",),
        UNTIL_R10,
        _TOKENS,
        deprecated="renamed token-producer in router 0.9, gone in 0.11.",
        makes=("tokens",),
    ),
    Plugin("session-id-producer", ("producer",), ROUTER, (Param("headerName", "str"), Param("cookieName", "str")), makes=("session",)),
    Plugin(
        "mm-embeddings-cache-producer",
        ("producer", "extractor"),
        ROUTER,
        (Param("cacheSizeInMBPerServer", "int", 4096, low=1),),
        needs=("tokens",),
        makes=("mm",),
        default=True,
    ),
    Plugin(
        "burst-prefix-cache-producer",
        ("producer",),
        R10_UP,
        (
            Param("windowDurationMs", "int", 100, low=1),
            Param("maxPerReplica", "int", -1, low=-1),
            Param("blockSizeTokens", "int", 64, low=1),
            Param("maxPrefixTokensToMatch", "int", 0, low=0),
            Param("minColocateBlocks", "int", 0, low=0),
            Param("maxBatchSize", "int", 1000, low=-1),
            Param("balanceBy", "str", "requests", choices=("requests", "tokens")),
        ),
        alpha=R10_UP,
        needs=("tokens",),
        makes=("prefix",),
    ),
    Plugin(
        "p2p-source-producer",
        ("producer",),
        R10_UP,
        (_MATCH, Param("minCachedTokenDelta", "int", 1, low=1), Param("prefillProfileName", "str", "prefill")),
        alpha=R10_UP,
        needs=("prefix",),
    ),
    Plugin(
        "multicluster-approx-prefix-cache-producer",
        ("producer",),
        R10_UP,
        (
            Param("autoTune", "bool", True),
            Param("blockSizeTokens", "int", 16, low=1),
            Param("maxPrefixBlocksToMatch", "int", low=1),
            Param("maxPrefixTokensToMatch", "int", low=0),
            Param("lruCapacityPerServer", "int", low=1),
        ),
        alpha=R10_UP,
        needs=("tokens",),
        makes=("prefix",),
    ),
)

_SPECS = tuple(Param(name, "str") for name in ("queuedRequestsSpec", "runningRequestsSpec", "kvUsageSpec", "loraSpec", "cacheInfoSpec"))
_SPECS_15 = tuple(
    Param(name, "str", lines=SINCE_15) for name in ("cacheBlockSizeLabelName", "cacheNumBlocksLabelName", "cacheBlockSizeSpec", "cacheNumBlocksSpec")
)
_CUSTOM = Param("customMetrics", "objects", lines=ROUTER, fields=(Param("attributeKey", "str", required=True), Param("metricSpec", "str", required=True)))
_ENGINES = (
    Param("engineLabelKey", "str"),
    Param("defaultEngine", "str", "vllm"),
    Param("engineConfigs", "objects", fields=(Param("name", "str", required=True), *_SPECS, *_SPECS_15, _CUSTOM)),
)

DATA_LAYER: tuple[Plugin, ...] = (
    Plugin("metrics-data-source", ("source",), frozenset({S07}), (*_SEND, Param("path", "str", "/metrics"))),
    Plugin(
        "metrics-data-source",
        ("source",),
        SINCE_15,
        (*_SEND, Param("path", "str", "/metrics"), Param("port", "int", low=1, high=65535, lines=R10_UP), _INTERVAL, *_TLS),
        default=True,
    ),
    Plugin("model-server-protocol-metrics", ("extractor",), frozenset({S07}), _ENGINES),
    Plugin("core-metrics-extractor", ("extractor",), SINCE_15, _ENGINES, default=True),
    Plugin("models-data-source", ("source",), LLMD, (*_SEND, Param("path", "str", "/v1/models"), _INTERVAL, *_TLS)),
    Plugin("model-server-protocol-models", ("extractor",), SCHEDULER, blind=True),
    Plugin("models-data-extractor", ("extractor",), ROUTER, blind=True),
    Plugin("k8s-notification-source", ("source",), ALL, (Param("group", "str"), Param("version", "str", required=True), Param("kind", "str", required=True))),
    Plugin("endpoint-notification-source", ("source",), SINCE_15, blind=True),
    Plugin("file-discovery", ("discovery",), ROUTER, (Param("path", "str", required=True), Param("watchFile", "bool", False))),
    Plugin(
        "topology-extractor",
        ("extractor", "producer"),
        R10_UP,
        tuple(Param(name, "str") for name in ("hostname", "rack", "zone", "region")),
        alpha=R10_UP,
        makes=("topology",),
    ),
    Plugin(
        "dcgm-data-source",
        ("source",),
        R10_UP,
        (*_SEND, Param("path", "str", "/metrics"), Param("port", "int", 9400, low=1, high=65535), Param("useNodeAddress", "bool", False), _INTERVAL),
        alpha=R10_UP,
    ),
    Plugin("dcgm-extractor", ("extractor",), R10_UP, blind=True, alpha=R10_UP),
    Plugin("multicluster-file-discovery", ("discovery",), R10_UP, (Param("path", "str", required=True), Param("watchFile", "bool", False)), alpha=R10_UP),
    Plugin("multicluster-metrics-data-source", ("source",), R10_UP, (*_SEND, Param("path", "str", "/metrics"), _INTERVAL, *_TLS), alpha=R10_UP),
    Plugin(
        "multicluster-metrics-extractor",
        ("extractor",),
        R10_UP,
        (Param("kvCacheUtilizationMetric", "str"), Param("queueSizeMetric", "str")),
        alpha=R10_UP,
        makes=("pools",),
    ),
    Plugin("local-syncer", ("syncer",), R10_UP, blind=True, alpha=R10_UP),
)

DATA: tuple[Plugin, ...] = PRODUCERS + DATA_LAYER
