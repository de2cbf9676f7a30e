# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of engines and endpoint pickers for Prometheus: each signal with its type, and its metric by engine or release line. Data only.

The signals that the scheduler reads are in engines.py. A signal that an engine or a line does not have is left out.
"""

from __future__ import annotations

import typing as t

from .engines import ENGINES, FIRST_TOKEN, SERVED, MetricSource

Sources = tuple[MetricSource, ...]
# Type of each signal of a server; `ratio` is a gauge between 0 and 1.
SERVER_SIGNALS = {
    "waiting": "gauge",
    "running": "gauge",
    "kv_cache": "ratio",
    "first_token": "histogram",
    "token_interval": "histogram",
    "served": "counter",
    "output_tokens": "counter",
    "prefix_hits": "counter",
    "prefix_queries": "counter",
    "hit_ratio": "ratio",
    "responses": "counter",
}
# Type of each signal of an endpoint picker.
PICKER_SIGNALS = {
    "ready_endpoints": "gauge",
    "pool_queue": "gauge",
    "pool_kv_cache": "ratio",
    "requests": "counter",
    "running": "gauge",
    "held": "gauge",
    "request_errors": "counter",
    "request_duration": "histogram",
    "scheduler_duration": "histogram",
    "scheduler_attempts": "counter",
    "plugin_duration": "histogram",
    "prefix_hit_ratio": "histogram",
    "disagg_decisions": "counter",
    "saturation": "ratio",
    "inflight_requests": "gauge",
    "inflight_tokens": "gauge",
    "stale_endpoints": "gauge",
    "band_requests": "ratio",
    "band_bytes": "ratio",
    "all_requests": "ratio",
    "all_bytes": "ratio",
}


def _sources(*names: str) -> Sources:
    """Sources of a signal; the first that exists counts."""
    return tuple(MetricSource(name) for name in names)


# Up to 0.15 vLLM samples the interval between tokens under the older name, from 0.11 on also under the newer one.
_VLLM = {
    "first_token": _sources(FIRST_TOKEN),
    "token_interval": _sources("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
    "served": _sources(SERVED),
    "output_tokens": _sources("vllm:generation_tokens_total"),
}
# By engine. vLLM's Python front end adds `_total` to the names of counters, and counts its responses by status; the simulator does neither.
_SERVERS: dict[str, dict[str, Sources]] = {
    "vllm": {
        **_VLLM,
        "prefix_hits": _sources("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
        "prefix_queries": _sources("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
        "responses": _sources("http_requests_total"),
    },
    "simulator": {**_VLLM, "prefix_hits": _sources("vllm:prefix_cache_hits"), "prefix_queries": _sources("vllm:prefix_cache_queries")},
    "sglang": {
        "first_token": _sources("sglang:time_to_first_token_seconds"),
        "token_interval": _sources("sglang:inter_token_latency_seconds"),
        "served": _sources("sglang:num_requests_total"),
        "output_tokens": _sources("sglang:generation_tokens_total"),
        "hit_ratio": _sources("sglang:cache_hit_rate"),
    },
    "trtllm": {
        "first_token": _sources("trtllm_time_to_first_token_seconds"),
        "token_interval": _sources("trtllm_time_per_output_token_seconds"),
        "served": _sources("trtllm_request_success_total"),
        "output_tokens": _sources("trtllm_generation_tokens_total"),
        "hit_ratio": _sources("trtllm_kv_cache_hit_rate"),
    },
    "triton": {"served": _sources("nv_inference_request_success")},
    "tgi": {"token_interval": _sources("tgi_request_mean_time_per_token_duration"), "served": _sources("tgi_request_success")},
}
SERVERS: dict[str, dict[str, Sources]] = {
    name: {**{signal: sources for signal, sources in engine.signals.items() if signal in SERVER_SIGNALS}, **_SERVERS[name]} for name, engine in ENGINES.items()
}
# The label of SERVED and `responses` with how a request ended.
FINISHED, STATUS = "finished_reason", "status"

# Metrics of the endpoint picker by family of release lines.
GIE_METRICS = {
    "ready_endpoints": "inference_pool_ready_pods",
    "pool_queue": "inference_pool_average_queue_size",
    "pool_kv_cache": "inference_pool_average_kv_cache_utilization",
    "requests": "inference_objective_request_total",
    "running": "inference_objective_running_requests",
    "held": "inference_extension_flow_control_queue_size",
    "request_errors": "inference_objective_request_error_total",
    "request_duration": "inference_objective_request_duration_seconds",
    "scheduler_duration": "inference_extension_scheduler_e2e_duration_seconds",
    "scheduler_attempts": "inference_extension_scheduler_attempts_total",
    "plugin_duration": "inference_extension_plugin_duration_seconds",
    "prefix_hit_ratio": "inference_extension_prefix_indexer_hit_ratio",
    "disagg_decisions": "llm_d_inference_scheduler_disagg_decision_total",
}
GIE_15_METRICS = {**GIE_METRICS, "saturation": "inference_extension_flow_control_pool_saturation"}
ROUTER_METRICS = {
    "ready_endpoints": "llm_d_epp_ready_endpoints",
    "pool_queue": "llm_d_epp_average_queue_size",
    "pool_kv_cache": "llm_d_epp_average_kv_cache_utilization",
    "requests": "llm_d_epp_request_total",
    "running": "llm_d_epp_request_running",
    "held": "llm_d_epp_flow_control_queue_size",
    "request_errors": "llm_d_epp_request_error_total",
    "request_duration": "llm_d_epp_request_duration_seconds",
    "scheduler_duration": "llm_d_epp_scheduler_e2e_duration_seconds",
    "scheduler_attempts": "llm_d_epp_scheduler_attempts_total",
    "plugin_duration": "llm_d_epp_plugin_duration_seconds",
    "prefix_hit_ratio": "llm_d_epp_prefix_indexer_hit_ratio",
    "disagg_decisions": "llm_d_epp_disagg_decision_total",
    "saturation": "llm_d_epp_flow_control_pool_saturation",
}
ROUTER_10_METRICS = {
    **ROUTER_METRICS,
    "inflight_requests": "llm_d_epp_inflight_requests",
    "inflight_tokens": "llm_d_epp_inflight_tokens",
    "stale_endpoints": "llm_d_epp_flow_control_stale_endpoints",
}
ROUTER_11_METRICS = {
    **ROUTER_10_METRICS,
    "band_requests": "llm_d_epp_flow_control_capacity_utilization_requests",
    "band_bytes": "llm_d_epp_flow_control_capacity_utilization_bytes",
    "all_requests": "llm_d_epp_flow_control_global_capacity_utilization_requests",
    "all_bytes": "llm_d_epp_flow_control_global_capacity_utilization_bytes",
}
# Label values of the endpoint picker's metrics. Mistakes of clients are not failures of the deployment.
ATTEMPTED = ("status", "success")
ERROR_CODE, SERVER_ERROR = "error_code", "ModelServerError"
CLIENT_ERRORS = ("BadRequest", "Unauthorized", "Forbidden", "NotFound", "PreconditionFailed")
DECISION = "decision_type"
# Plugins that look up prefixes in the index of the endpoint picker; the plugin that counts in-flight requests; the gate of flow control, and the detector that
# does not read the servers' metrics; the limits of all priorities together, which have no metrics unless they are set.
PREFIX_PLUGINS = ("prefix-cache-scorer", "approx-prefix-cache-producer")
INFLIGHT_PLUGIN: t.Final = "inflight-load-producer"
FLOW_CONTROL: t.Final = "flowControl"
COUNTING_DETECTOR: t.Final = "concurrency-detector"
LIMITS = {"all_requests": "maxRequests", "all_bytes": "maxBytes"}
# Exported by every process with a client library of Prometheus, but not by the simulator.
STARTED: t.Final = "process_start_time_seconds"
