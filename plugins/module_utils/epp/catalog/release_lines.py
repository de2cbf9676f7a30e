# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The EndpointPickerConfig document of each release line: API versions, feature gates, fields, renames, flags. Data only."""

from __future__ import annotations

from .types import ALL, GIE15, ON_15, R09, R10, R10_UP, R11, R11_UP, ROUTER, S07, SINCE_15, UNTIL_15, UNTIL_R10, Line, Move, Param

OLD_API = "inference.networking.x-k8s.io/v1alpha1"
NEW_API = "llm-d.ai/v1alpha1"
NEWEST_API = "llm-d.ai/v1"  # of upstream's current guides; by llm-d.ai/docs/dev/architecture/router/configuration it differs under dataLayer only
KIND = "EndpointPickerConfig"

_FLOW = "enables the flow-control layer"
_GATES_15 = {"dataLayer": "", "flowControl": _FLOW, "enableLegacyMetrics": "uses the scraping of releases before 1.5"}

_GATES_10 = {"flowControl": _FLOW, "haPopulateNonLeaderDatastore": "on unless =false: keeps the data of replicas that are not the leader up to date"}

LINE_FACTS: dict[str, Line] = {
    S07: Line(
        S07,
        (OLD_API,),
        {"dataLayer": "the data section", "flowControl": _FLOW, "prepareDataPlugins": "runs the data producers before scheduling"},
        inline_saturation=True,
        data_by_gate=True,
        data_section="data",
    ),
    GIE15: Line(GIE15, (OLD_API,), _GATES_15, clears_metrics=True),
    R09: Line(R09, (NEW_API, OLD_API), {"dataLayer": "", "flowControl": _FLOW}, strict=True, header_handler=False, own_keys=True),
    R10: Line(R10, (NEW_API, OLD_API), _GATES_10, gate_values=True, strict=True, ordered=False, header_handler=False, own_keys=True),
    R11: Line(R11, (NEW_API, OLD_API), _GATES_10, gate_values=True, strict=True, ordered=False, header_handler=False, own_keys=True),
}

_REF = Param("pluginRef", "str", required=True)
_BAND = (
    Param("priority", "int"),
    Param("maxBytes", "int", low=0, lines=frozenset({S07})),
    Param("maxBytes", "quantity", lines=SINCE_15),
    Param("maxRequests", "quantity", lines=SINCE_15),
    Param("fairnessPolicyRef", "str", refers="fairness"),
    Param("orderingPolicyRef", "str", refers="ordering"),
)
_SOURCES = Param(
    "sources",
    "objects",
    fields=(
        Param("pluginRef", "str", required=True, refers="source"),
        Param("extractors", "objects", fields=(Param("pluginRef", "str", required=True, refers="extractor"),)),
    ),
)
_DETECTOR = (Param("pluginRef", "str", refers="saturation"),)

# The document as a tree of parameters. Decoding is strict in every release: an unknown field stops the EPP.
DOCUMENT: tuple[Param, ...] = (
    Param("apiVersion", "str", required=True),
    Param("kind", "str", required=True, choices=(KIND,)),
    Param("featureGates", "strs"),
    Param("plugins", "objects", required=True, fields=(Param("name", "str"), Param("type", "str", required=True), Param("parameters", "free"))),
    Param("schedulingProfiles", "objects", fields=(Param("name", "str", required=True), Param("plugins", "objects", fields=(_REF, Param("weight", "float"))))),
    Param(
        "saturationDetector",
        "object",
        lines=frozenset({S07}),
        fields=(
            Param("queueDepthThreshold", "int", 5, low=1),
            Param("kvCacheUtilThreshold", "float", 0.8, above=0, below=1),
            Param("metricsStalenessThreshold", "duration", "200ms"),
        ),
    ),
    Param("saturationDetector", "object", lines=SINCE_15, fields=_DETECTOR),
    Param("data", "object", lines=frozenset({S07}), fields=(_SOURCES,)),
    Param(
        "dataLayer",
        "object",
        lines=SINCE_15,
        fields=(
            _SOURCES,
            Param("injectDefaults", "bool", True, lines=ROUTER),
            Param("discovery", "object", lines=UNTIL_R10, fields=(Param("pluginRef", "str", required=True, refers="discovery"),)),
            # Regrouped by llm-d-router pull 2434, after the tree that this table is from; the old spelling is still accepted.
            Param(
                "discovery",
                "object",
                lines=R11_UP,
                fields=(
                    Param("pluginRef", "str", refers="discovery"),
                    Param("endpoints", "object", fields=(Param("pluginRef", "str", required=True, refers="discovery"),)),
                    Param("peers", "free"),
                ),
            ),
            Param("crossReplicaSyncerPluginRef", "str", lines=R10_UP, refers="syncer"),
            Param("crossReplicaSyncInterval", "duration", lines=R10_UP),
        ),
    ),
    Param(
        "flowControl",
        "object",
        fields=(
            Param("maxBytes", "int", low=0, lines=frozenset({S07})),
            Param("maxBytes", "quantity", lines=SINCE_15),
            Param("maxRequests", "quantity", lines=SINCE_15),
            Param("defaultRequestTTL", "duration"),
            Param("noEndpointRequestTTL", "duration", lines=R11_UP),
            Param("defaultPriorityBand", "object", fields=_BAND),
            Param("defaultNegativePriorityBand", "object", fields=_BAND, lines=ROUTER),
            Param("priorityBands", "objects", fields=_BAND),
            Param("usageLimitPolicyPluginRef", "str", lines=SINCE_15, refers="usage_limit"),
            Param("saturationDetector", "object", lines=ROUTER, fields=_DETECTOR),
            Param("enableEviction", "bool", lines=R10_UP),
        ),
    ),
    Param("parser", "object", lines=SINCE_15, fields=(Param("pluginRef", "str", required=True, refers="parser"),)),
    Param("requestHandler", "object", lines=ROUTER, fields=(Param("parsers", "objects", fields=(Param("pluginRef", "str", required=True, refers="parser"),)),)),
)

_FLAT = "With this apiVersion the fields are dataLayer.crossReplicaSyncerPluginRef and dataLayer.crossReplicaSyncInterval."
_TO_DETECTOR = "Since 1.5 the thresholds are parameters of the plugin utilization-detector; name that plugin in saturationDetector.pluginRef."

# Fields of other releases: (lines without the field, what to write there).
FIELD_MOVES: tuple[tuple[frozenset[str], Move], ...] = (
    (SINCE_15, Move("data", "dataLayer", "1.5")),
    (frozenset({S07}), Move("dataLayer", "data", "1.5", "This line is older: it calls the section data.")),
    (SINCE_15, Move("saturationDetector.queueDepthThreshold", "utilization-detector", "1.5", _TO_DETECTOR)),
    (SINCE_15, Move("saturationDetector.kvCacheUtilThreshold", "utilization-detector", "1.5", _TO_DETECTOR)),
    (SINCE_15, Move("saturationDetector.metricsStalenessThreshold", "utilization-detector", "1.5", _TO_DETECTOR)),
    (
        frozenset({S07}),
        Move(
            "saturationDetector.pluginRef",
            "saturationDetector",
            "1.5",
            "This line takes the thresholds themselves: queueDepthThreshold, kvCacheUtilThreshold, metricsStalenessThreshold.",
        ),
    ),
    (UNTIL_R10, Move("dataLayer.discovery.endpoints", "discovery.pluginRef", "router 0.11", "This line is older: write dataLayer.discovery.pluginRef.")),
    (R10_UP, Move("dataLayer.crossReplica", "", "", _FLAT)),
    (UNTIL_15, Move("requestHandler", "parser", "router 0.9", "This line is older: it takes one parser, as parser.pluginRef.")),
    (UNTIL_15, Move("flowControl.saturationDetector", "saturationDetector", "router 0.9", "This line is older: write saturationDetector at the top.")),
)

# Feature gates of other releases: (lines without the gate, what to do there).
GATE_MOVES: tuple[tuple[frozenset[str], Move], ...] = (
    (SINCE_15, Move("prepareDataPlugins", "", "1.5", "Leave it out: since 1.5 data producers always run.")),
    (R10_UP, Move("dataLayer", "", "router 0.10", "Leave it out: the data layer is always on.")),
    (ROUTER, Move("enableLegacyMetrics", "", "router 0.9", "Leave it out: the scraping of before 1.5 is gone.")),
)

# Deprecated fields that still work: (lines, field, note).
FIELD_NOTES: tuple[tuple[frozenset[str], str, str], ...] = (
    (ROUTER, "saturationDetector", "saturationDetector at the top is deprecated since router 0.9; flowControl.saturationDetector replaces it."),
    (ROUTER, "parser", "parser is deprecated since router 0.9; requestHandler.parsers replaces it."),
)

# Flags that stop the EPP of every line (since GIE 1.4), and the parameter of the metrics extractor that replaced each.
FORBIDDEN_FLAGS: dict[str, str] = {
    "total-queued-requests-metric": "queuedRequestsSpec",
    "total-running-requests-metric": "runningRequestsSpec",
    "kv-cache-usage-percentage-metric": "kvUsageSpec",
    "lora-info-metric": "loraSpec",
    "cache-info-metric": "cacheInfoSpec",
}
# Flags that only some lines have (pkg/epp/server/options.go): flag to these lines. The endpoint picker exits if it gets an unknown flag.
_SCRAPING = ("model-server-metrics-port", "model-server-metrics-path", "model-server-metrics-scheme", "model-server-metrics-https-insecure-skip-verify")
LINE_FLAGS: dict[str, frozenset[str]] = {
    **dict.fromkeys(_SCRAPING, ALL - R10_UP),
    **dict.fromkeys(("enable-grpc-stream-metrics", "grpc-max-recv-msg-size", "grpc-max-send-msg-size"), ROUTER),
    **dict.fromkeys(("allow-experimental-plugins", "drain-timeout", "emit-endpoint-scores", "metrics-cert-dir", "metrics-client-ca-file"), R10_UP),
    **dict.fromkeys(("tls-cipher-suites", "tls-min-version"), R10_UP),
}
# The parameter of metrics-data-source that replaces each flag of scraping.
FLAG_MOVES: dict[str, str] = dict(zip(_SCRAPING, ("port", "path", "scheme", "insecureSkipVerify"), strict=True))
METRICS_EXTRACTOR: dict[str, str] = {S07: "model-server-protocol-metrics"} | dict.fromkeys((*ON_15, *ROUTER), "core-metrics-extractor")
BOOLEAN_FLAGS = frozenset(
    {
        "disable-endpoint-subset-filter",
        "metrics-endpoint-auth",
        "enable-pprof",
        "secure-serving",
        "enable-cert-reload",
        "health-checking",
        "ha-enable-leader-election",
        "tracing",
        "model-server-metrics-https-insecure-skip-verify",
        "allow-experimental-plugins",
        "emit-endpoint-scores",
        "enable-grpc-stream-metrics",
    }
)
