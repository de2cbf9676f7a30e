# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the user's file for autoscaling. Data only."""

from __future__ import annotations

from .fields import Field


def _target(description: str, maximum: float | None = None) -> Field:
    return Field("float", description, minimum=0.001, maximum=maximum)


METRICS = {
    "queue": _target("Waiting requests per server."),
    "requests": _target("Running requests per server."),
    "kv_cache": _target("KV-cache usage per server, from 0 to 1.", 1),
    "cpu": _target("CPU usage per server, in percent of its CPU request. Only with C(provider: hpa); requires the Kubernetes metrics server.", 1000),
    "requests_per_second": _target("Completed requests per second and server. Only with C(provider: keda)."),
    "ttft_p99": _target("The 99th percentile of the time to first token, in seconds. Only with C(provider: keda)."),
    "gpu": _target(
        (
            "GPU utilization in percent, from DCGM. Only with C(provider: keda) and NVIDIA GPUs. It stays near 100 under any batched load: O(queue) and"
            " O(kv_cache) are better signals."
        ),
        100,
    ),
}

_MIN_DESCRIPTION = "Minimum number of servers; preflight requires capacity for them. New deployments start with 1."
PREFILL_AUTOSCALING = {
    "provider": Field(
        "str",
        (
            "What scales the servers. C(hpa): a HorizontalPodAutoscaler on pod metrics that a metrics adapter serves under the engine's names"
            " (C(vllm:num_requests_waiting)). C(keda): a ScaledObject that queries Prometheus. C(external): a scaler of your own; the replica count is"
            " left unchanged."
        ),
        required=True,
        choices=("hpa", "keda", "external"),
    ),
    "min": Field("int", _MIN_DESCRIPTION, default=1, minimum=1),
    "max": Field("int", "Maximum number of servers. Not with C(provider: external).", minimum=1),
    "metrics": Field("dict", "Target value of each metric. The metric that requires the most servers decides.", default={}, options=METRICS),
    "scale_up_stabilization_seconds": Field(
        "int", "Seconds for which the metrics must require more servers before servers are added.", default=60, minimum=0, maximum=3600
    ),
    "scale_down_stabilization_seconds": Field(
        "int", "Seconds for which the metrics must require fewer servers before servers are removed.", default=300, minimum=0, maximum=3600
    ),
    "prometheus": Field(
        "str",
        (
            "URL at which KEDA queries the Prometheus that scrapes the servers and, for C(min: 0), the endpoint picker. Its series must have the labels"
            " C(namespace) and C(pod)."
        ),
        format="http_url",
        example="http://prometheus.monitoring:9090",
    ),
}
# Only without prefill servers can a service scale to zero (`min: 0`): otherwise it keeps at least one server of each role.
AUTOSCALING = {
    **PREFILL_AUTOSCALING,
    "min": Field(
        "int",
        _MIN_DESCRIPTION
        + (
            " C(0), only with C(provider: keda), removes the last server when no requests arrive. The next request then starts one; until that"
            " is ready, requests end with status 503, and clients have to repeat them (docs/autoscaling.md)."
        ),
        default=1,
        minimum=0,
    ),
    "idle_seconds": Field(
        "int",
        (
            "Seconds without requests after which the last server is removed, at least four times O(llm_d_monitoring.interval). Only with C(min: 0)."
            " If omitted, 300, or four times that interval where it is longer."
        ),
        minimum=120,
        maximum=86400,
    ),
}
