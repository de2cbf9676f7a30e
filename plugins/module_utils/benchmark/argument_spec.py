# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The argument spec of `vllm_perf`, and the same for options that come from elsewhere, such as the user's file."""

from __future__ import annotations

import collections.abc as c
import contextlib
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..common import module_options
from ..common.masking import REGISTERS
from ..common.module_options import PROGRESS, named, option
from ..http import tls
from ..inference.options import APIS, GATEWAY, SERVER, api_key_secret
from .k8s_job_objects import TIMEOUT

_STAGE = {
    "concurrency": option("int", "Requests in flight at once. The next leaves when one has ended."),
    "rate": option("float", "Mean number of requests per second."),
    "to_rate": option("float", "Then the rate grows or falls evenly from C(rate) to this."),
    "seconds": option("float", "How long to send."),
    "requests": option("int", "Number of requests."),
}
_LADDER = {
    "rate": option("float", "The first rate, in requests per second.", default=1),
    "factor": option("float", "Each rate is the one before times this. A search multiplies until the objectives are missed.", default=2),
    "rate_max": option("float", "No rate above this is tried."),
    "seconds": option("float", "How long each rate is sent. Give much longer than one request takes.", default=30),
    "most": option("int", "Number of rates at most.", default=12),
}
OPTIONS: dict[str, t.Any] = {
    "url": option(
        "str",
        "Address of the server or of the gateway in front of it, without C(/v1).",
        "Proxies of the environment are not honoured, since they would be measured too.",
        "Give this, O(gateway) or O(service).",
    ),
    "service": option(
        "dict",
        (
            "Instead of O(url), a Service of the cluster. Requests go to its external address where it has one, else to its cluster IP, which only nodes and"
            " pods reach; see O(job)."
        ),
        options=named("Service", port=option("int", "Its port.", required=True)),
    ),
    "gateway": option("dict", "Instead of O(url), a Gateway of the cluster. Requests go to the address in its status.", options=GATEWAY),
    "path": option("str", "Prefix of the path, before C(/v1), where a gateway routes by path.", default=""),
    "wait": option("float", "Seconds to wait until the Gateway or Service has an address.", default=30),
    "job": option(
        "dict",
        "Measure from inside the cluster, by a Job, instead of from the host where this runs. Everything else stays the same.",
        (
            "The Job, its ConfigMap with the load client and its Secret with the options and the files that they name are removed when it has ended, and on"
            " SIGINT and SIGTERM."
        ),
        options={
            "namespace": option("str", "Namespace of its objects.", required=True),
            "image": option("str", "Any image with C(python3), 3.11 or newer.", required=True),
            "name": option("str", "Prefix of the names of its objects.", default="perf"),
            "labels": option("dict", "Labels of its objects.", default={}),
            "timeout": option("float", "Seconds after which the cluster ends the Job.", default=TIMEOUT),
            "start_timeout": option("float", "Seconds until its pod must run.", default=300),
            "resources": option("dict", "Resources of its container. By default one processor core for each of O(processes), which is then 1 by default."),
            "image_pull_secrets": option("list", "Names of Secrets for the image.", elements="str", default=[], no_log=False),
            "patch": option("dict", "What to add to the template of its pod, as a strategic merge patch."),
            "run_as_user": option("int", "User id. V(0) leaves it to the cluster, which OpenShift requires.", default=65532),
        },
    ),
    "model": option("str", "Name under which the model is served. A LoRA adapter's name is one too. Instead of it, O(models)."),
    "models": option(
        "list",
        "Several models, among which requests are drawn.",
        options={
            "name": option("str", "Name under which it is served.", required=True),
            "weight": option("float", "Its share of the requests, relative to the other weights.", default=1),
        },
        elements="dict",
    ),
    "api": option("str", "Which completions to ask for.", choices=APIS, default="completions"),
    "stream": option(
        "bool",
        (
            "Whether answers are streamed. Without it the first token of an answer comes with the last, so that there is no C(tpot) and no C(itl). Objectives"
            " on them are missed then, and no request is a good one by O(goodput) on them."
        ),
        default=True,
    ),
    "ignore_eos": option("bool", "Whether to ask for exactly the wanted number of tokens. Then a shorter answer is a failure.", default=True),
    "temperature": option("float", "Temperature of sampling.", default=0),
    "extra_body": option("dict", "Fields to add to each request.", default={}),
    "headers": option(
        "dict",
        (
            "Headers to add to each request. Values of those that carry a credential, by their name (C(authorization), C(cookie), C(x-api-key) and the like)"
            " or because they look like one, are not shown."
        ),
        default={},
        # The module hides the credentials among them; the log of an older ansible-core is written before it can.
        no_log=not REGISTERS,
    ),
    "api_key_secret": api_key_secret("The Secret that holds the API key, which is read from it and is no argument of the task. Instead of O(api_key)."),
    **SERVER,
    "workload": option(
        "dict",
        "What is sent. Lengths of prompts are in common English words, a token each or a little more; lengths of answers are in tokens.",
        options={
            "kind": option(
                "str",
                (
                    "V(random) for prompts that share nothing; V(shared_prefix) for groups of prompts behind a long common prefix; V(chats) for conversations"
                    " in which each turn carries all earlier ones; V(trace) for a recorded trace; V(prompts) for a file of your own."
                ),
                choices=["random", "shared_prefix", "chats", "trace", "prompts"],
                default="random",
            ),
            "input_len": option("int", "Words of a prompt, for V(random).", default=64),
            "input_len_max": option("int", "Then lengths are uniformly random from O(workload.input_len) to this."),
            "output_len": option("int", "Tokens of an answer.", default=16),
            "output_len_max": option("int", "Then lengths are uniformly random from O(workload.output_len) to this, for V(random)."),
            "groups": option("int", "Number of shared prefixes, for V(shared_prefix) and V(chats).", default=24),
            "prompts_per_group": option("int", "Different questions behind each prefix, for V(shared_prefix).", default=5),
            "system_prompt_len": option("int", "Words of a shared prefix.", default=1500),
            "question_len": option("int", "Words of a question.", default=40),
            "turns": option("int", "Turns of a conversation, for V(chats).", default=5),
            "turns_max": option("int", "Then the number of turns is uniformly random from O(workload.turns) to this."),
            "think_seconds": option("float", "Seconds from an answer to the next turn.", default=0),
            "path": option("path", "The file of V(trace) or V(prompts), on the host where this runs."),
            "format": option(
                "str",
                (
                    "Format of a trace. V(mooncake) is lines of JSON with C(timestamp) in milliseconds, C(input_length), C(output_length) and C(hash_ids);"
                    " V(burstgpt) is CSV with C(Timestamp) in seconds, C(Request tokens) and C(Response tokens)."
                ),
                choices=["mooncake", "burstgpt"],
                default="mooncake",
            ),
            "block_len": option("int", "Words of the block that one of C(hash_ids) stands for.", default=512),
            "speed": option("float", "How many times faster than it was recorded a trace is sent.", default=1),
            "requests": option("int", "Send only this number of requests of a trace."),
        },
        default={},
    ),
    "stages": option(
        "list",
        "Loads, one after the other. A trace needs none and is then sent at its own times.",
        "In conversations, only the first turns are counted and sent at the rate; the others follow.",
        options=_STAGE,
        elements="dict",
        default=[],
    ),
    "warmup": option(
        "dict",
        "A stage before the others that is sent and not measured, to fill the caches.",
        options=_STAGE,
    ),
    "sweep": option(
        "dict",
        (
            "Instead of O(stages), rate after rate until the server is saturated, which is when answers end at less than 85 % of the pace at which their"
            " requests are due, or when 5 % of the requests fail. How long an answer takes does not count, nor what follows the first turn of a conversation."
        ),
        options=_LADDER,
    ),
    "search": option(
        "dict",
        "Instead of O(stages), look for the highest rate that meets O(slo), by doubling and then halving the gap.",
        options={
            **_LADDER,
            "tolerance": option("float", "How close to the highest rate the result must be, as a share of it, 1 at most.", default=0.05),
        },
    ),
    "arrivals": option(
        "str",
        "In open loops, V(poisson) for independent arrivals, V(constant) for equal gaps.",
        "With either a stage of a rate and seconds has their product of requests, rounded up, and they are sent at that rate, however short it is.",
        choices=["poisson", "constant"],
        default="poisson",
    ),
    "seed": option("int", "Equal seeds give equal lengths, orders and times.", default=42),
    "nonce": option("str", "Part of every prompt, so that no cache holds them. By default it is new in each run."),
    "request_timeout": option("float", "Seconds that one request may take. One that takes longer has failed.", default=300),
    "in_flight": option("int", "Requests that may be in flight at once in an open loop. One more is not sent, and counts as failed.", default=10000),
    "pause": option("float", "Seconds between stages.", default=1),
    "processes": option(
        "int",
        "Processes that send together, where one core is not enough for the load. With N processes each sends every Nth request.",
        (
            "By default 1, and more for a stage that takes more than half of a core, up to the cores that this process may use. For the first stage, which may"
            " be O(warmup), the cost of a request is estimated from O(workload); for the others it was measured."
        ),
    ),
    "max_lag": option(
        "float",
        "Seconds by which 99 % of the requests may be sent late, and by which the client's event loop may run late. More than that counts in every latency.",
        "A stage is invalid where lateness that counts could decide whether an objective of O(slo) is met; without objectives, wherever it counts.",
        default=0.1,
    ),
    "max_lag_share": option(
        "float",
        (
            "The share of a measured latency, 1 at most, that may come from this client. Its lateness at sending and of its event loop, at the same"
            " percentile, counts where it is more than that of a time to first or last token, or between tokens, that O(slo) or O(goodput) names; without"
            " these, and with O(baseline), of the time to first token at p50, p90, p95 or p99."
        ),
        (
            "An objective that is met with the lateness added is met, and one that is missed with it taken off is missed. A stage is invalid where an"
            " objective lies between; without objectives, wherever lateness counts. Lateness below 2 ms never counts. V(0) means no such bound."
        ),
        default=0.1,
    ),
    "slo": option(
        "dict",
        "Objectives. The task fails when a stage misses one; of a sweep or search, when no rate meets them all.",
        (
            "C(METRIC_STAT_ms) is an upper bound in milliseconds, such as C(ttft_p90_ms) or C(tpot_mean_ms). Metrics are C(ttft), C(ttft_from_schedule),"
            " C(tpot), C(itl), C(ntpot), C(e2e), C(e2e_from_schedule), C(queue), C(send_lag); statistics are C(mean), C(max), C(p50), C(p99), C(p99_9) and so"
            " on."
        ),
        (
            "C(error_rate_max) is a share below 1. C(requests_per_s_min), C(output_tokens_per_s_min), C(prompt_tokens_per_s_min), C(total_tokens_per_s_min),"
            " C(goodput_per_s_min) and C(goodput_share_min) are lower bounds."
        ),
        default={},
    ),
    "goodput": option(
        "dict",
        (
            "What makes one request a good one, in milliseconds. C(ttft_ms) and C(e2e_ms) count from when it was due; C(tpot_ms), C(ntpot_ms), and C(itl_ms),"
            " the longest gap, from its answer. Without any, every successful request is good. An answer whose tokens all came in one piece has no time between"
            " them, and does not meet a bound on it, unless it has a single token."
        ),
        default={},
    ),
    "baseline": option(
        "path",
        "The C(result.json) of an earlier run to compare with, on the host where this runs.",
        (
            "Nothing is compared with one of another O(workload), O(api), O(stream), O(ignore_eos), O(extra_body) or O(arrivals). One of other models or"
            " weights, or of another address, O(host_header), O(headers), O(temperature) or O(warmup), is compared, with a warning."
        ),
    ),
    "baseline_max_ratio": option(
        "float",
        "The task fails when a latency is more than this many times the baseline's, or a rate less than its inverse, beyond what chance explains. At least 1.",
        (
            "A figure of too few requests is not compared, with a warning. A p50 needs 6 independent requests in both runs, a p90 36, a p99 368, and more"
            " where requests wait for each other. Means are not compared."
        ),
    ),
    "about": option(
        "dict",
        "More to keep with the result and to show on its page, such as the C(instance), C(namespace), C(cluster) and C(release) of a deployment.",
        default={},
    ),
    "artifacts": option(
        "path",
        (
            "Folder on the host where this runs, for C(result.json), C(requests.csv), C(report.html), and for each stage a benchmark report of llm-d (schema"
            " 0.2.1), C(benchmark_report_0.json) and so on."
        ),
    ),
    "progress_path": PROGRESS,
}
EXCLUSIVE = [("url", "gateway", "service"), ("api_key", "api_key_secret"), ("model", "models"), ("stages", "sweep", "search")]
ONE_OF = [("url", "gateway", "service"), ("model", "models")]
REQUIRED_BY = {"baseline_max_ratio": ["baseline"], **tls.REQUIRED_BY}


def complete(options: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The options with every default, as the module gets them. Raises ValueError with all problems."""
    validation = ArgumentSpecValidator(
        module_options.argument_spec(OPTIONS), mutually_exclusive=EXCLUSIVE, required_one_of=ONE_OF, required_by=REQUIRED_BY
    ).validate(dict(options))
    if validation.error_messages:
        raise ValueError("; ".join(validation.error_messages))
    params: dict[str, t.Any] = validation.validated_parameters
    numbers(params)
    return params


def numbers(params: dict[str, t.Any]) -> None:
    """Convert values of `slo` and `goodput` that are text, as templates return them, to numbers in place. Other values stay."""
    for name in ("slo", "goodput"):
        for key, value in params[name].items():
            if not isinstance(value, str):
                continue  # true is no number, whatever float makes of it
            with contextlib.suppress(TypeError, ValueError):
                params[name][key] = float(value)
