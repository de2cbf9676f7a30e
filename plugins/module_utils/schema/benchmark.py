# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the user's file for benchmarks. Data only."""

from __future__ import annotations

from .fields import Field
from .pods import container_field, pod_field

_BOUND = Field("float", "The limit.", minimum=0)
_ANY = Field("any", "A value.")

_JOB = {
    "image": Field("str", "An image with Python 3.11 or newer, used as written.", required=True, format="image", example="python:3.12-slim"),
    "timeout": Field("int", "Seconds after which the cluster stops the Job.", default=3600, minimum=1),
    "resources": Field(
        "map",
        "Resources of the container. If omitted, one CPU core for each of O(llm_d_benchmark.processes), or one core if those are omitted too.",
        elements=_ANY,
    ),
    "pod": pod_field("of the Job"),
    "container": container_field("of the Job"),
}

BENCHMARK: dict[str, Field] = {
    "services": Field("list", "Names of the model services to measure. If omitted, all of them.", elements=Field("str", "A name.", format="dns_label")),
    "quick": Field("bool", "Check the health of every model server, up to a real completion, and send no load.", default=False),
    "concurrency": Field(
        "list", "Numbers of concurrent requests, one stage for each.", default=[], elements=Field("int", "Concurrent requests.", minimum=1, example=64)
    ),
    "rates": Field(
        "list",
        "Request rates in requests per second, one stage for each, after the stages of O(llm_d_benchmark.concurrency). If both are omitted, C([1, 2, 4, 8]).",
        default=[],
        elements=Field("float", "Requests per second.", minimum=0.001, example=8),
    ),
    "seconds": Field("float", "Duration of each stage, in seconds.", default=30, minimum=0.1),
    "warmup_seconds": Field("float", "Seconds for which the load of the first stage is sent before measuring starts.", default=10, minimum=0),
    "workload": Field(
        "map",
        "The prompts to send: the option C(workload) of M(llm_d.inference.vllm_perf).",
        default={},
        elements=_ANY,
        example={"input_len": 512, "output_len": 128},
    ),
    "api": Field("str", "Which completions API to call.", default="completions", choices=("completions", "chat_completions")),
    "model": Field("str", "Model name in the requests, if it is not the served name, such as the name of a LoRA adapter."),
    "url": Field("str", "URL to send requests to instead of the gateway, such as a forwarded port.", example="http://127.0.0.1:8080"),
    "api_key": Field(
        "str",
        (
            "API key of the gateway, if it is not that of the model servers (O(llm_d_api_key)), which is sent otherwise. O(llm_d_benchmark.quick) sends it to"
            " every model server without a key of its own, through a forwarded port."
        ),
        secret=True,
        format="token",
    ),
    "validate_certs": Field("bool", "Verify the TLS certificate of the gateway.", default=True),
    "request_timeout": Field("float", "Timeout of one request, in seconds.", default=300, minimum=0.001),
    "max_lag": Field(
        "float",
        (
            "Maximum delay, in seconds, between the scheduled and the actual send time for 99 % of the requests of a stage. Above it, the delay counts in every"
            " latency: the play fails where it could decide whether an objective is met, since this host was too busy to measure the servers."
        ),
        default=0.1,
        minimum=0.001,
    ),
    "processes": Field(
        "int",
        "Number of sending processes. If omitted, as many as each stage needs, up to the number of CPU cores.",
        minimum=1,
        maximum=256,
        example=4,
    ),
    "max_lag_share": Field(
        "float",
        (
            "Maximum share of the latencies that the client itself may cause before its lateness counts; 0 disables the check. A stage is invalid where"
            " that could decide whether an objective is met. See C(max_lag_share) of M(llm_d.inference.vllm_perf)."
        ),
        default=0.1,
        minimum=0,
        maximum=1,
    ),
    "slo": Field(
        "map",
        "Service level objectives, as in C(slo) of M(llm_d.inference.vllm_perf). The play fails if a stage of any service misses one.",
        default={},
        elements=_BOUND,
        example={"ttft_from_schedule_p90_ms": 500, "error_rate_max": 0.001},
    ),
    "goodput": Field(
        "map",
        "Limits in milliseconds within which a request counts as good, as in C(goodput) of M(llm_d.inference.vllm_perf).",
        default={},
        elements=_BOUND,
        example={"ttft_ms": 500},
    ),
    "baseline": Field("str", "Directory of an earlier run to compare with, such as a copy of C(artifacts/benchmark).", example="benchmark-last-release"),
    "baseline_max_ratio": Field(
        "float",
        (
            "The play fails if a latency exceeds the baseline's by more than this factor, or a rate falls below it by more than this factor, and the"
            " difference is statistically significant."
        ),
        minimum=1,
        example=1.1,
    ),
    "job": Field("dict", "Send the load from a Job in the namespace, for clusters whose gateway this host cannot reach.", options=_JOB),
}
