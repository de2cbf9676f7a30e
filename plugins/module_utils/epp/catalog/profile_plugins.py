# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every filter, picker, profile handler and decider of each release line, with its parameters. Data only."""

from __future__ import annotations

from .scorers import INFLIGHT_NAME, MATCH_NAME, PREDICTION_NAME, SESSION, TOPOLOGY_NAME, fraction
from .types import ALL, LLMD, ON_15, R10_UP, R11_UP, ROUTER, SCHEDULER, SINCE_15, UNTIL_R10, Param, Plugin, Reads

_SELECTOR = (
    Param("matchLabels", "map"),
    Param(
        "matchExpressions",
        "objects",
        fields=(
            Param("key", "str", required=True),
            Param("operator", "str", required=True, choices=("In", "NotIn", "Exists", "DoesNotExist")),
            Param("values", "strs"),
        ),
    ),
)

_BY_LABEL = (Param("label", "str", required=True), Param("validValues", "strs"), Param("allowsNoLabel", "bool", False))

FILTERS: tuple[Plugin, ...] = (
    Plugin("decode-filter", ("filter",), LLMD, blind=True),
    Plugin("prefill-filter", ("filter",), LLMD, blind=True),
    Plugin("encode-filter", ("filter",), LLMD, blind=True),
    Plugin("by-label", ("filter",), SCHEDULER, _BY_LABEL),
    Plugin(
        "by-label",
        ("filter",),
        UNTIL_R10,
        _BY_LABEL,
        deprecated="deprecated since router 0.9, gone in 0.11: use label-selector-filter.",
    ),
    Plugin("by-label-selector", ("filter",), SCHEDULER, _SELECTOR),
    Plugin("by-label-selector", ("filter",), UNTIL_R10, _SELECTOR, deprecated="deprecated since router 0.9, gone in 0.11: use label-selector-filter."),
    Plugin("label-selector-filter", ("filter",), ROUTER, _SELECTOR),
    Plugin(
        "prefix-cache-affinity-filter",
        ("filter",),
        ON_15,
        (
            fraction("affinityThreshold", 0.8),
            fraction("explorationProbability", 0.01),
            Param("maxTTFTPenaltyMs", "float", 5000, low=0),
        ),
        needs=("prefix", Reads("latency", unless=("maxTTFTPenaltyMs", 0))),
    ),
    Plugin(
        "prefix-cache-affinity-filter",
        ("filter",),
        ROUTER,
        (
            fraction("affinityThreshold", 0.8),
            fraction("explorationProbability", 0),
            Param("maxTTFTPenaltyMs", "float", 18000, low=0),
            Param("ttftSource", "str", "prefillThroughput", choices=("prefillThroughput", "latencyPredictor")),
            Param("peakPrefillThroughput", "float", 15928, above=0),
            MATCH_NAME,
            PREDICTION_NAME,
            INFLIGHT_NAME,
        ),
        needs=(
            "prefix",
            Reads("inflight", when=("ttftSource", "prefillThroughput"), unless=("maxTTFTPenaltyMs", 0)),
            Reads("latency", when=("ttftSource", "latencyPredictor"), unless=("maxTTFTPenaltyMs", 0)),
        ),
    ),
    Plugin("slo-headroom-tier-filter", ("filter",), SINCE_15, (fraction("epsilonExploreNeg", 0.01), PREDICTION_NAME), needs=("latency",)),
    Plugin("session-affinity-filter", ("filter",), ROUTER, SESSION, alpha=R10_UP),
    Plugin(
        "endpoint-attribute-filter",
        ("filter",),
        R10_UP,
        (
            Param("attribute", "str", required=True),
            Param("producer", "str", lines=R11_UP),
            Param("onMissing", "str", "Pass", choices=("Pass", "Fail")),
            Param("fallbackOnEmpty", "bool", False),
            Param(
                "algorithm",
                "object",
                required=True,
                fields=(
                    Param("type", "str", required=True, choices=("threshold",)),
                    Param(
                        "threshold",
                        "object",
                        required=True,
                        fields=(
                            Param(
                                "operator",
                                "str",
                                required=True,
                                choices=("LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "Equal", "NotEqual"),
                            ),
                            Param("value", "float", required=True),
                        ),
                    ),
                ),
            ),
        ),
        alpha=R10_UP,
    ),
    Plugin(
        "utilization-filter",
        ("filter",),
        R10_UP,
        (
            Param(
                "conditions",
                "objects",
                required=True,
                low=1,
                fields=(
                    Param("metric", "str", required=True, choices=("active-requests", "running-requests", "waiting-queue", "kv-cache-utilization")),
                    Param("maxValue", "float", required=True, low=0),
                ),
            ),
            Param("fallbackOnEmpty", "bool", False),
            INFLIGHT_NAME,
        ),
        alpha=R10_UP,
        needs=("metrics", Reads("inflight", when=("conditions.metric", "active-requests"))),
    ),
    Plugin(
        "topology-affinity-filter",
        ("filter",),
        R10_UP,
        (Param("minAffinity", "str", "host", choices=("host", "rack", "zone", "region")), TOPOLOGY_NAME),
        alpha=R10_UP,
        needs=(Reads("topology", optional=True),),
    ),
    Plugin("multicluster-session-affinity-filter", ("filter",), R10_UP, SESSION, alpha=R10_UP),
    Plugin("header-based-testing-filter", ("filter",), ALL, blind=True),
)

_HOW_MANY = (Param("maxNumOfEndpoints", "int", 1, low=1),)

PICKERS: tuple[Plugin, ...] = tuple(Plugin(name, ("picker",), ALL, _HOW_MANY) for name in ("max-score-picker", "random-picker", "weighted-random-picker"))

_PROFILES = ("decode", "prefill", "encode")

_MOVED_LIMIT = "It counted characters until scheduler 0.5 and is not read since: write nonCachedTokens, in tokens, at the prefix-based-pd-decider."

_FLAT = (
    Param("decodeProfile", "str"),
    Param("prefillProfile", "str"),
    Param("encodeProfile", "str"),
    Param("deciderPluginName", "str", refers="decider"),
    Param("prefillDeciderPluginName", "str", refers="decider"),
    Param("encodeDeciderPluginName", "str", refers="decider"),
)

HANDLERS: tuple[Plugin, ...] = (
    Plugin("single-profile-handler", ("handler",), ALL, blind=True, default=True),
    Plugin(
        "disagg-profile-handler",
        ("handler",),
        LLMD,
        (
            Param("profiles", "object", fields=tuple(Param(name, "str", name) for name in _PROFILES)),
            Param("deciders", "object", fields=(Param("prefill", "str", refers="decider"), Param("encode", "str", refers="decider"))),
            Param("stageOrder", "str", "decode-first", choices=("decode-first", "prefill-first"), lines=R10_UP),
            Param("threshold", "int", obsolete=_MOVED_LIMIT),
            Param("hashBlockSize", "int", obsolete=_MOVED_LIMIT),
            *_FLAT,
        ),
        needs=(Reads("prefix", optional=True), Reads("tokens", ROUTER)),
    ),
    Plugin(
        "pd-profile-handler",
        ("handler",),
        LLMD - R11_UP,
        (
            Param("decodeProfile", "str", "decode"),
            Param("prefillProfile", "str", "prefill"),
            Param("prefixPluginType", "str", "prefix-cache-scorer"),
            Param("prefixPluginName", "str", refers="scorer"),
            Param("primaryPort", "int", 0, low=0, high=65535),
            Param("deciderPluginName", "str", "prefix-based-pd-decider", refers="decider"),
            MATCH_NAME,
            Param("threshold", "int", obsolete=_MOVED_LIMIT),
            Param("hashBlockSize", "int", obsolete=_MOVED_LIMIT),
        ),
        needs=(Reads("prefix", optional=True), Reads("tokens", ROUTER)),
        deprecated="deprecated: disagg-profile-handler replaces it.",
    ),
    Plugin("data-parallel-profile-handler", ("handler",), LLMD, (Param("primaryPort", "int", 8000, low=1, high=65535),)),
    Plugin("header-profile-handler", ("handler",), R10_UP, (Param("headerName", "str"), Param("defaultProfile", "str")), alpha=R10_UP),
    Plugin("prefix-based-pd-decider", ("decider",), LLMD, (Param("nonCachedTokens", "int", 0, low=0), Param("promptTokens", "int", 0, low=0, lines=R10_UP))),
    Plugin("always-disagg-pd-decider", ("decider",), LLMD, blind=True),
    Plugin("always-disagg-multimodal-decider", ("decider",), LLMD, blind=True),
    Plugin("disagg-headers-handler", ("headers",), SCHEDULER, (Param("prefillProfile", "str", "prefill"), Param("encodeProfile", "str", "encode"))),
    Plugin(
        "prefill-header-handler",
        ("headers",),
        SCHEDULER,
        (Param("prefillProfile", "str", "prefill"), Param("encodeProfile", "str", "encode")),
        deprecated="the old name of disagg-headers-handler.",
    ),
    Plugin(
        "disagg-headers-handler",
        ("headers",),
        UNTIL_R10,
        (Param("prefillProfile", "str", "prefill"), Param("encodeProfile", "str", "encode")),
        deprecated="not needed since router 0.9: disagg-profile-handler writes the headers itself.",
    ),
    Plugin(
        "prefill-header-handler",
        ("headers",),
        UNTIL_R10,
        (Param("prefillProfile", "str", "prefill"), Param("encodeProfile", "str", "encode")),
        deprecated="not needed since router 0.9: disagg-profile-handler writes the headers itself.",
    ),
)
