# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user's file may say about benchmarks."""

from __future__ import annotations

from .fields import Field

_BOUND = Field("float", "The bound.", minimum=0)
_ANY = Field("any", "A value.")

_JOB = {
    "image": Field("str", "Any image with Python 3.11 or newer, used as written.", required=True, format="image", example="python:3.12-slim"),
    "timeout": Field("int", "Seconds after which the cluster ends it.", default=3600, minimum=1),
    "resources": Field(
        "map", "Resources of its container. Left out, a processor core for each of O(llm_d_benchmark.processes), one where that is left out.", elements=_ANY
    ),
}

BENCHMARK: dict[str, Field] = {
    "services": Field("list", "Names of the model services to measure. Left out, all of them.", elements=Field("str", "A name.", example="llama-8b")),
    "quick": Field("bool", "Ask every model server for its health, up to a real completion, and send no load.", default=False),
    "concurrency": Field("list", "Requests in flight, one stage for each.", default=[], elements=Field("int", "Requests.", minimum=1, example=64)),
    "rates": Field(
        "list",
        "Requests per second, one stage for each, after those of O(llm_d_benchmark.concurrency). Left out as well, it is C([1, 2, 4, 8]).",
        default=[],
        elements=Field("float", "Requests per second.", minimum=0.001, example=8),
    ),
    "seconds": Field("float", "How long each stage lasts.", default=30, minimum=0.1),
    "warmup_seconds": Field("float", "How long the load of the first stage is sent before, without being measured.", default=10, minimum=0),
    "workload": Field(
        "map", "What is sent: C(workload) of M(llm_d.inference.vllm_perf).", default={}, elements=_ANY, example={"input_len": 512, "output_len": 128}
    ),
    "api": Field("str", "Which completions to ask for.", default="completions", choices=("completions", "chat_completions")),
    "model": Field("str", "Name to ask for, where it is not the served one, such as a LoRA adapter's."),
    "url": Field("str", "Address to send to instead of the gateway's, such as that of a port forwarded to it.", example="http://127.0.0.1:8080"),
    "api_key": Field("str", "Key that the gateway asks for; O(llm_d_benchmark.quick) sends it to every model server, through a forwarded port.", secret=True),
    "validate_certs": Field("bool", "Whether the gateway's certificate must be trusted.", default=True),
    "request_timeout": Field("float", "Seconds that one request may take.", default=300, minimum=0.001),
    "max_lag": Field(
        "float",
        "Seconds within which 99 % of the requests of a stage must leave after their time. Above, the stage is invalid, and the play fails: "
        "this host was too busy for its numbers to say anything about the servers.",
        default=0.1,
        minimum=0.001,
    ),
    "processes": Field(
        "int",
        "Processes that send together, where one core is not enough for the load. Left out, as many as each stage asks for, up to the cores there are.",
        minimum=1,
        maximum=256,
        example=4,
    ),
    "max_lag_share": Field(
        "float",
        "How much of the latencies may be the client's own doing before its numbers are invalid, 0 for any: C(max_lag_share) of M(llm_d.inference.vllm_perf).",
        default=0.1,
        minimum=0,
    ),
    "slo": Field(
        "map",
        "Objectives, as C(slo) of M(llm_d.inference.vllm_perf). The play fails when a stage of any service misses one.",
        default={},
        elements=_BOUND,
        example={"ttft_from_schedule_p90_ms": 500, "error_rate_max": 0.001},
    ),
    "goodput": Field(
        "map",
        "What makes one request a good one, in milliseconds, as C(goodput) of M(llm_d.inference.vllm_perf).",
        default={},
        elements=_BOUND,
        example={"ttft_ms": 500},
    ),
    "baseline": Field("str", "Folder of an earlier run to compare with, such as a copy of C(artifacts/benchmark).", example="benchmark-last-release"),
    "baseline_max_ratio": Field(
        "float",
        "The play fails when a latency is more than so many times the baseline's, or a rate less than its inverse, beyond what chance explains.",
        minimum=1,
        example=1.1,
    ),
    "job": Field("dict", "Send from inside of the cluster, by a Job in the namespace, where this host does not reach the gateway.", options=_JOB),
}
