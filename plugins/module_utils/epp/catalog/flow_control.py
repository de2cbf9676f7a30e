# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flow control, saturation, admission, parsing and reporting plugins of each release line. Data only."""

from __future__ import annotations

from .types import ALL, R10_UP, R11_UP, ROUTER, SINCE_15, UNTIL_R10, Param, Plugin

_INFLIGHT = Param("inFlightLoadProducerName", "str", lines=ROUTER, refers="producer")
_PREDICTION = Param("latencyPredictionInfoProducerName", "str", lines=ROUTER, refers="producer")
_LOAD = (Param("queueDepthThreshold", "int", 5, low=1), Param("kvCacheUtilThreshold", "float", 0.8, above=0, high=1))

FLOW: tuple[Plugin, ...] = (
    Plugin("global-strict-fairness-policy", ("fairness",), ALL, blind=True, default=True),
    Plugin("round-robin-fairness-policy", ("fairness",), ALL, blind=True),
    Plugin(
        "program-aware-fairness",
        ("fairness",),
        ROUTER,
        (
            Param("strategy", "str", "las", choices=("las",)),
            Param("lasWeightService", "float", 0.8, low=0),
            Param("lasWeightHeadWait", "float", 0.2, low=0),
            Param("lasDecayFactor", "float", 0.99997, above=0, high=1, lines=UNTIL_R10),
            Param("lasHalfLifeSeconds", "float", 0, low=0, lines=UNTIL_R10),
            Param("lasHalfLifeSeconds", "float", 60, low=0, lines=R11_UP),
            Param("evictionTtlSeconds", "float", 3600, low=0),
            Param("evictionSweepSeconds", "float", 300, above=0),
        ),
    ),
    Plugin("fcfs-ordering-policy", ("ordering",), ALL, blind=True, default=True),
    Plugin("edf-ordering-policy", ("ordering",), ALL, blind=True),
    Plugin("slo-deadline-ordering-policy", ("ordering",), SINCE_15, blind=True),
    Plugin("static-usage-limit-policy", ("usage_limit",), SINCE_15, (Param("threshold", "float", 1, above=0, high=1),), default=True),
    Plugin(
        "priority-holdback-policy",
        ("usage_limit",),
        R10_UP,
        (
            Param("shape", "str", "linear", choices=("linear",)),
            Param("domain", "str", "rank", choices=("rank", "value")),
            Param("minCeiling", "float", required=True, low=0, below=1),
            Param("maxCeiling", "float", 1, above=0, high=1),
        ),
        alpha=R10_UP,
    ),
    Plugin("soft-reflective-ceiling-policy", ("usage_limit",), R10_UP, alpha=R10_UP),
    Plugin("sheddable-eviction-filter", ("eviction",), R10_UP, blind=True, alpha=R10_UP),
    Plugin("priority-then-time-eviction-order-policy", ("eviction",), R10_UP, blind=True, alpha=R10_UP),
)

SATURATION: tuple[Plugin, ...] = (
    Plugin(
        "utilization-detector",
        ("saturation", "filter"),
        SINCE_15,
        (*_LOAD, Param("metricsStalenessThreshold", "duration", "200ms"), Param("headroom", "float", 0, low=0)),
        default=True,
    ),
    Plugin(
        "concurrency-detector",
        ("saturation", "filter"),
        SINCE_15,
        (
            Param("maxConcurrency", "int", 100, low=1),
            Param("headroom", "float", 0, low=0),
            Param("concurrencyMode", "str", "requests", choices=("requests", "tokens")),
            Param("maxTokenConcurrency", "int", 1_000_000, low=1),
            _INFLIGHT,
        ),
        needs=("inflight",),
    ),
)

REQUESTS: tuple[Plugin, ...] = (
    Plugin("latency-slo-admitter", ("admission",), SINCE_15, (_PREDICTION,), needs=("latency",)),
    Plugin("probabilistic-admitter", ("admission",), ROUTER, (*_LOAD, Param("power", "float", 5, above=0), Param("k", "float", 300, above=0))),
    Plugin("openai-parser", ("parser",), SINCE_15, blind=True, default=True),
    Plugin("vllmgrpc-parser", ("parser",), SINCE_15, blind=True),
    Plugin("passthrough-parser", ("parser",), SINCE_15 - R11_UP, blind=True),
    Plugin("passthrough-parser", ("parser",), R11_UP, blind=True, default=True),
    Plugin("anthropic-parser", ("parser",), ROUTER, blind=True, default=True),
    Plugin("vllmhttp-parser", ("parser",), ROUTER, blind=True, default=True),
    Plugin("sglanghttp-parser", ("parser",), R11_UP, blind=True),
    Plugin("vertexai-parser", ("parser",), ROUTER, blind=True),
    Plugin(
        "request-attribute-reporter",
        ("reporter",),
        ALL,
        (
            Param(
                "attributes",
                "objects",
                required=True,
                fields=(
                    Param("key", "object", required=True, fields=(Param("namespace", "str", "envoy.lb"), Param("name", "str", required=True))),
                    Param("expression", "str", required=True),
                    Param("condition", "str"),
                ),
            ),
        ),
        single_entry="attributes",
    ),
    Plugin("agent-identity", ("request",), ROUTER, (Param("additionalSessionHeaders", "strs"),), alpha=R10_UP),
    Plugin(
        "disaggregatedset-rollout-screener",
        ("request",),
        R10_UP,
        (
            Param("scope", "object", required=True, fields=(Param("labelSelector", "str", required=True),)),
            Param(
                "headerSelectors",
                "objects",
                fields=(
                    *(Param(name, "str", required=True) for name in ("name", "headerName", "labelKey")),
                    Param("mode", "str", required=True, choices=("strict", "prefer")),
                ),
            ),
            Param(
                "revisionGating",
                "object",
                required=True,
                fields=(
                    Param("revisionLabelKey", "str"),
                    Param("roleLabelKey", "str"),
                    Param("mode", "str", required=True, choices=("sum", "max-role", "disabled")),
                    Param("requireRoles", "object", fields=(Param("values", "strs", required=True, low=1),)),
                ),
            ),
        ),
        alpha=R10_UP,
    ),
    Plugin("destination-endpoint-served-verifier", ("test",), ALL, blind=True),
)

CONTROL: tuple[Plugin, ...] = FLOW + SATURATION + REQUESTS
