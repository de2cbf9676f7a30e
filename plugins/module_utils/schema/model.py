# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the user's file about a model, its weights and what serves it."""

from __future__ import annotations

from ..releases.lines import ENGINE_DEFAULTS
from .fields import Field

MODEL = {
    "uri": Field(
        "str",
        "Where the weights come from. C(hf://ORGANISATION/MODEL), C(pvc://CLAIM/PATH) on a claim that is there, C(s3://BUCKET/PATH) or C(gs://BUCKET/PATH)"
        " (safetensors, streamed into the accelerator at each start), or C(file:///PATH), a folder of O(llm_d_model_services[].engine.image). An engine of"
        " type C(simulator) needs none.",
        format="model_uri",
    ),
    "served_name": Field(
        "str",
        "The name that clients put in C(model). Left out, it is C(ORGANISATION/MODEL) of an C(hf://) URI, or the last part of any other.",
        example="llama-8b",
    ),
    "revision": Field("str", "Branch, tag or commit of the model repository. Left out, its main branch."),
    "token_secret": Field("str", "Secret in the namespace whose key O(token_key) opens a gated model.", format="dns_subdomain", example="llm-d-hf-token"),
    "token_key": Field("str", "Key of O(token_secret) under which the token lies.", default="HF_TOKEN", format="secret_key"),
    "bucket_secret": Field(
        "str",
        "Secret in the namespace whose keys C(AWS_ACCESS_KEY_ID) and C(AWS_SECRET_ACCESS_KEY) open the bucket of an C(s3://) model. Left out, what the cloud"
        " lets O(llm_d_model_services[].service_account) do. Region and endpoint are variables of O(llm_d_model_services[].engine.env), such as"
        " C(AWS_ENDPOINT_URL).",
        format="dns_subdomain",
    ),
}

_SIMULATOR = {
    "time_to_first_token": Field("str", "Time to the first token of any prompt. Not together with O(prefill_time_per_token).", format="duration"),
    "prefill_overhead": Field("str", "Time to the first token that every prompt costs, next to O(prefill_time_per_token).", format="duration"),
    "prefill_time_per_token": Field("str", "Prefill time of each prompt token that is not in the KV cache.", format="duration", example="500us"),
    "inter_token_latency": Field("str", "Time between two tokens.", format="duration", example="20ms"),
    "time_factor_under_load": Field("float", "How much slower a full server is than an idle one.", minimum=1),
    "kv_cache_size": Field("int", "Blocks in the KV cache of one server.", default=1024, minimum=1),
    "seed": Field("int", "Seed of the simulated answers, for runs that can be repeated."),
}

ENGINE = {
    "type": Field(
        "str", "What serves the model: C(vllm), or C(simulator), which answers like vLLM without a GPU.", default="vllm", choices=tuple(ENGINE_DEFAULTS)
    ),
    "image": Field("str", "Image of the model server, used as written. Left out, the tested one of this collection.", format="image"),
    "port": Field("int", "Port of the model server, of its Service and of the InferencePool.", default=8000, minimum=1024, maximum=65535),
    "max_model_len": Field("int", "Longest prompt plus answer in tokens. Left out, the model's own limit (simulator: 32768).", minimum=1),
    "max_num_seqs": Field("int", "Requests that one server works on at the same time, its batch. Left out, the engine's own default.", minimum=1),
    "block_size": Field("int", "Tokens in one KV-cache block.", default=16, choices=(8, 16, 32, 64, 128)),
    "prefix_caching": Field(
        "bool", "Whether vLLM keeps the KV cache of prefixes for other requests. Left out, what the model gets by default: nearly always yes."
    ),
    "gpu_memory_utilization": Field("float", "Part of an accelerator's memory that one vLLM may take. Left out, 0.9.", minimum=0.01, maximum=1),
    "quantization": Field("str", "How the weights are quantized, by vLLM's word. Left out, what the model says of itself.", format="secret_key", example="fp8"),
    "log_level": Field("str", "How much the model server logs. Left out, the engine's own default.", choices=("warning", "info", "debug")),
    "args": Field("list", "Further command-line arguments, after all others.", default=[], elements=Field("str", "One argument.", example="--enforce-eager")),
    "env": Field("map", "Further environment variables.", default={}, keys="env_name", elements=Field("str", "The value.", secret=True)),
    "drain_seconds": Field(
        "int",
        "Seconds that a server which is replaced or removed stays with the answers under way, taking no new ones. One that takes longer is cut off.",
        default=5,
        minimum=5,
        maximum=3600,
    ),
    "startup_timeout": Field(
        "int", "Seconds that a server may take to load its model. Left out, 1800 for vLLM and 120 for the simulator.", minimum=10, maximum=86400
    ),
    "simulator": Field("dict", "How fast the simulator is. Only with O(type=simulator).", options=_SIMULATOR),
}

STORAGE = {
    "claim": Field(
        "bool",
        "Keep what is downloaded of an C(hf://) model on a claim that we make, so that a server that starts again, on whatever node, has it. All servers of the"
        " model share it, see O(access_mode).",
        default=False,
    ),
    "size": Field(
        "quantity",
        "Room for the weights of an C(hf://) model: on the node of each replica, where nothing said is as much as the node has, or of the claim.",
        example="50Gi",
    ),
    "class_name": Field("str", "Storage class of the claim that we make. Left out, the cluster's default.", format="dns_subdomain", example="fast-ssd"),
    "access_mode": Field(
        "str",
        "How the claim may be mounted. Left out, C(ReadWriteOnce), which is for one server, where we make it; where it is that of a C(pvc://) model, it is not"
        " looked at.",
        choices=("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"),
    ),
    "delete_claim": Field(
        "bool", "Whether C(llm_d_state=absent) takes away the claim that we made. Else it stays, with its namespace, for the next time.", default=False
    ),
}

WARMUP = {
    "prompts": Field(
        "list",
        "What many requests begin with, such as system prompts, word for word. Each has to be longer than one KV-cache block.",
        default=[],
        elements=Field("str", "One prompt.", example="You are the assistant of Example Ltd. Answer from its handbook only."),
    ),
    "config_map": Field(
        "str",
        "ConfigMap in the namespace, each of whose values is one more prompt, as C(kubectl create configmap NAME --from-file=FOLDER) makes it.",
        format="dns_subdomain",
        example="llama-8b-prompts",
    ),
    "api": Field(
        "str",
        "By which requests clients send these prompts, since a chat template puts something before them. C(chat_completions): as the system message of a chat."
        " C(completions): as a prompt.",
        default="chat_completions",
        choices=("chat_completions", "completions"),
    ),
}
