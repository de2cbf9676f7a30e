# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of metrics that the endpoint pickers of each release line register, read from upstream's sources at their tags. For router-0.11 from its tree of
2026-08-22; scheduler-0.7 registers those of GIE 1.4 and its own."""

from __future__ import annotations


def _named(prefix: str, names: str) -> frozenset[str]:
    return frozenset(prefix + name for name in names.split())


_GIE_14 = (
    _named("inference_pool_", "average_kv_cache_utilization average_queue_size ready_pods")
    | _named("inference_objective_", "request_total request_error_total request_duration_seconds request_sizes response_sizes running_requests")
    | _named("inference_objective_", "input_tokens output_tokens normalized_time_per_output_token_seconds request_ttft_seconds")
    | _named("inference_extension_", "scheduler_e2e_duration_seconds scheduler_attempts_total plugin_duration_seconds info")
    | _named("inference_extension_prefix_indexer_", "size hit_ratio hit_bytes")
    | _named("inference_extension_flow_control_", "queue_size queue_bytes request_queue_duration_seconds dispatch_cycle_duration_seconds")
)
_ROUTER_09 = (
    _named("llm_d_epp_", "average_kv_cache_utilization average_queue_size average_running_requests ready_endpoints info")
    | _named("llm_d_epp_", "request_total request_error_total request_duration_seconds request_running request_ttft_seconds request_ntpot_seconds")
    | _named("llm_d_epp_", "scheduler_e2e_duration_seconds scheduler_attempts_total plugin_duration_seconds disagg_decision_total")
    | _named("llm_d_epp_prefix_indexer_", "size hit_ratio hit_bytes")
    | _named("llm_d_epp_flow_control_", "pool_saturation queue_size queue_bytes request_queue_duration_seconds dispatch_cycle_duration_seconds")
)
_ROUTER_10 = (
    _ROUTER_09
    | _named("llm_d_epp_", "inflight_requests inflight_tokens std_dev_kv_cache_utilization std_dev_queue_size std_dev_running_requests")
    | _named("llm_d_epp_flow_control_", "stale_endpoints requests_total")
)
_SHARES = "capacity_utilization_requests capacity_utilization_bytes global_capacity_utilization_requests global_capacity_utilization_bytes"
EXPORTED = {
    "gie-1.5": _GIE_14 | _named("inference_extension_flow_control_", "pool_saturation"),
    "scheduler-0.7": _GIE_14 | _named("llm_d_inference_scheduler_", "disagg_decision_total pd_decision_total"),
    "router-0.9": _ROUTER_09,
    "router-0.10": _ROUTER_10,
    "router-0.11": _ROUTER_10 | _named("llm_d_epp_flow_control_", _SHARES),
}
