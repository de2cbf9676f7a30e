# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the user's file about who scales the servers of a model."""

from __future__ import annotations

from .fields import Field


def _target(description: str, maximum: float | None = None) -> Field:
    return Field("float", description, minimum=0.001, maximum=maximum)


METRICS = {
    "queue": _target("Requests that wait in one server."),
    "requests": _target("Requests that one server works on."),
    "kv_cache": _target("Part of the KV cache of one server that is in use.", 1),
    "cpu": _target("Processor time of one server in percent of what it requests. Only with C(provider: hpa); needs the metrics server.", 1000),
    "requests_per_second": _target("Requests that one server completes in a second. Only with C(provider: keda)."),
    "ttft_p99": _target("Seconds to the first token that one request of a hundred exceeds. Only with C(provider: keda)."),
    "gpu": _target(
        "Utilization of a GPU in percent, by DCGM. Only with C(provider: keda), on NVIDIA. It is near 100 at any load that is batched: O(queue) or"
        " O(kv_cache) say more.",
        100,
    ),
}

AUTOSCALING = {
    "provider": Field(
        "str",
        "Who scales. C(hpa): a HorizontalPodAutoscaler, by pod metrics that an adapter serves as the engine names them"
        " (C(vllm:num_requests_waiting)). C(keda): a ScaledObject, which asks Prometheus. C(external): someone else, whose number we leave alone.",
        required=True,
        choices=("hpa", "keda", "external"),
    ),
    "min": Field("int", "Least number of servers, for which there has to be room. New ones begin with 1.", default=1, minimum=1),
    "max": Field("int", "Largest number of servers. Not with C(provider: external).", minimum=1),
    "metrics": Field("dict", "What is kept by more or fewer servers; the metric that asks for most of them wins.", default={}, options=METRICS),
    "scale_up_stabilization_seconds": Field(
        "int", "Seconds for which more servers must have been wanted before there are.", default=60, minimum=0, maximum=3600
    ),
    "scale_down_stabilization_seconds": Field(
        "int", "Seconds for which fewer servers must have been wanted before there are.", default=300, minimum=0, maximum=3600
    ),
    "prometheus": Field(
        "str",
        "Where KEDA finds the Prometheus that scrapes the servers, and marks their series with C(namespace) and C(pod).",
        format="http_url",
        example="http://prometheus.monitoring:9090",
    ),
}
