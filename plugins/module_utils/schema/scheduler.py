# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the user's file for the endpoint picker of a model service. Data only.

What differs between release lines is in the catalog of the endpoint picker: plugins, their parameters, and the bounds of what sets one.
"""

from __future__ import annotations

from .environment import environment_field
from .fields import Field
from .pods import container_field, pod_field

PRESETS = ("round_robin", "queue", "balanced", "prefix_aware", "sticky", "precise_prefix", "disaggregated", "default")

RESOURCES = {
    "requests": Field("map", "Resource requests of the container, such as C({cpu: 2, memory: 8Gi}).", elements=Field("quantity", "An amount.")),
    "limits": Field("map", "Resource limits of the container.", elements=Field("quantity", "An amount.")),
}

_ANY = Field("any", "A value.")
_SCORERS = Field("any", "A weight, or a mapping of C(weight) and the parameters of the scorer.")

_STAGE = Field(
    "dict",
    "Of this stage only.",
    options={
        "scorers": Field("map", "Weights of scorers, instead of those of the other stages.", elements=_SCORERS, example={"active_requests": 1}),
        "picker": Field("str", "Alias of the picker.", example="weighted_random"),
    },
)

_DISAGGREGATION = Field(
    "dict",
    "Settings of disaggregation.",
    replaced={"threshold": "non_cached_tokens: the minimum number of uncached tokens for which a prefill server is used (about a quarter of the characters)"},
    options={
        "decider": Field("str", "C(prefix): a prefill server is used by the number of uncached tokens; C(always). If omitted, C(prefix).", example="always"),
        "non_cached_tokens": Field("int", "Minimum number of uncached tokens for which a prefill server is used. If omitted, 16.", example=64),
        "prompt_tokens": Field("int", "Minimum number of tokens of a prompt for which a prefill server is used, if the release supports it.", example=512),
        "connector": Field("str", "How KV caches are transferred, as the routing sidecar calls it. If omitted, C(nixlv2).", example="shared-storage"),
        "prefill": Field("bool", "The prefill stage.", otherwise=_STAGE),
        "decode": Field("bool", "The decode stage.", otherwise=_STAGE),
        "encode": Field("bool", "An encode stage, for multimodal requests. Our roles set up no servers for it.", otherwise=_STAGE),
        "stage_order": Field("str", "Which stage is decided first, if the release supports it.", choices=("decode-first", "prefill-first")),
    },
)

_SATURATION = {
    "queue_depth": Field("int", "Number of waiting requests.", minimum=1, example=5),
    "kv_cache_utilization": Field("float", "Share of the KV cache in use.", example=0.8),
    "staleness": Field("any", "Age of metrics, as a duration.", example="200ms"),
    "headroom": Field("float", "Share above the other thresholds that is still used, if the release supports it.", minimum=0, example=0.2),
}

_BAND = {
    "priority": Field("int", "Priority of its requests.", example=10),
    "max_bytes": Field("any", "Bytes of the requests in its queues, a number or a quantity.", example=1000000),
    "max_requests": Field("any", "Number of requests in its queues, if the release supports it.", example=100),
    "fairness": Field("str", "Alias of its fairness policy.", example="round_robin"),
    "ordering": Field("str", "Alias of its ordering policy.", example="edf"),
}

_FLOW_CONTROL = {
    "enabled": Field("bool", "Whether requests are queued. If omitted, C(true)."),
    "max_bytes": Field("any", "Bytes of the requests in all queues, a number or a quantity.", example=1000000),
    "max_requests": Field("any", "Number of requests in all queues, if the release supports it.", example=100),
    "request_ttl": Field("any", "Longest wait of a request, as a duration.", example="30s"),
    "eviction": Field("bool", "Whether requests are evicted, if the release supports it."),
    "default_band": Field("dict", "The band of priorities that have none.", options=_BAND),
    "default_negative_band": Field("dict", "The band of negative priorities that have none, if the release supports it.", options=_BAND),
    "bands": Field("list", "Bands of requests by priority.", elements=Field("dict", "One band.", options=_BAND)),
    "usage_limit": Field("float", "Share of the capacity that is used, if the release supports it.", example=0.9),
}

# How the endpoint picker decides.
DECIDING = {
    "preset": Field(
        "str",
        (
            "Scheduling preset. If omitted, C(default), which is what the release does without a configuration; with O(scorers), O(filters), O(picker)"
            " or O(disaggregation), only those apply. C(round_robin) picks a server at random for each request; no release takes turns. C(sticky) keeps a"
            " prefix on the servers that have it until they are saturated."
        ),
        choices=PRESETS,
        example="balanced",
    ),
    "scorers": Field(
        "map",
        "Weights of scorers, by alias, on top of the preset, or alone without one. A weight of 0 removes a scorer.",
        elements=_SCORERS,
        example={"queue": 1, "prefix": 3},
    ),
    "picker": Field("str", "Alias of the picker, which chooses among the scored servers.", example="max_score"),
    "picker_parameters": Field("map", "Parameters of the picker.", elements=_ANY),
    "profile_handler": Field("str", "Alias of the profile handler, which runs the scheduling profiles.", example="single"),
    "profile_handler_parameters": Field("map", "Parameters of the profile handler.", elements=_ANY),
    "filters": Field(
        "list", "Filters to run before the scorers, on top of those of the preset: aliases, or mappings of one alias to its parameters.", elements=_ANY
    ),
    "disaggregation": Field("bool", "Prefill/decode disaggregation, if the release supports it: C(true), or how.", otherwise=_DISAGGREGATION),
    "saturation": Field("dict", "Thresholds above which the endpoint picker considers a server saturated.", options=_SATURATION),
    "flow_control": Field("dict", "Flow control (queueing) in the endpoint picker, if the release supports it.", options=_FLOW_CONTROL),
    "kv_cache_metric": Field(
        "str",
        (
            "Name of the KV-cache usage metric of the model servers, if it is not C(vllm:kv_cache_usage_perc), the name since vLLM 0.11. With labels,"
            " C(name{label=value})."
        ),
        example="vllm:gpu_cache_usage_perc",
    ),
    "peak_prefill_throughput": Field(
        "int",
        (
            "Prompt tokens per second that one server computes when it has nothing else to do. By it the filter C(prefix_affinity) (C(preset: sticky)) takes"
            " the tokens in flight for the time that a request waits. C(playbooks/calibrate.yml) measures it. If omitted, upstream's: 15928, of Qwen3-32B on"
            " two H100. Configurations without that filter do not read it."
        ),
        minimum=1,
        maximum=10_000_000,
        example=22000,
    ),
    "feature_gates": Field("list", "Feature gates of the endpoint picker.", elements=Field("str", "Name of a feature gate.", format="feature_gate")),
    "plugins": Field("list", "For experts: the plugins of the configuration, as the release spells them, instead of all options above.", elements=_ANY),
    "profiles": Field("list", "For experts: the scheduling profiles, which refer to O(plugins).", elements=_ANY),
    "document": Field("map", "For experts: the complete EndpointPickerConfig. It is validated for the release like a generated one.", elements=_ANY),
}

# How the endpoint picker runs.
RUNNING = {
    "replicas": Field(
        "int",
        (
            "Number of endpoint pickers, all of which are active. Each keeps its own view of prefixes and in-flight requests, so more than one reduces"
            " prefix affinity. See C(docs/versions.md) for why there is no leader election."
        ),
        default=1,
        minimum=1,
        maximum=10,
    ),
    "image": Field("str", "Image of the endpoint picker, used as written. If omitted, the image of the release line.", format="image"),
    "grpc_port": Field("int", "Port at which the gateway reaches the endpoint picker.", default=9002, minimum=1024, maximum=65535),
    "verbosity": Field("int", "Log level of the endpoint picker: 2 is normal, 4 is debug, 5 is trace.", default=2, minimum=0, maximum=10),
    "failure_mode": Field(
        "str",
        "What the gateway does with requests when no endpoint picker responds. If omitted, C(FailOpen) if the gateway supports it, else C(FailClose).",
        choices=("FailOpen", "FailClose"),
    ),
    "drain_seconds": Field(
        "int",
        (
            "Seconds for which a terminating endpoint picker keeps its in-flight requests before it receives SIGTERM; it then takes up to 30 more. A"
            " response that takes longer than both is cut off when the scheduler changes. If omitted, as many as it takes that both are what"
            " O(llm_d_model_services[].engine.drain_seconds) gives servers, and at least 30."
        ),
        minimum=5,
        maximum=3600,
    ),
    "args": Field(
        "list", "Additional command-line arguments of the endpoint picker.", default=[], elements=Field("str", "One argument.", example="--tracing=true")
    ),
    "env": environment_field(" of the endpoint picker"),
    "resources": Field("dict", "Resources of one endpoint picker. If omitted, those of upstream's chart for production.", options=RESOURCES),
    "tokenizer_resources": Field(
        "dict", "Resources of the tokenizer beside an endpoint picker, for precise prefix matching. If omitted, 2 CPU and 4 GiB of memory.", options=RESOURCES
    ),
    "pod": pod_field("of the endpoint picker"),
    "container": container_field("of the endpoint picker"),
}

SCHEDULER = {**DECIDING, **RUNNING}
