# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the user's file for a model, its weights and its model server. Data only."""

from __future__ import annotations

from ..releases.deployed import ENGINE_DEFAULTS
from .environment import environment_field
from .fields import Field
from .pods import container_field, pod_field

_ADAPTER = {
    "name": Field("str", "Name that clients use in requests.", required=True, format="adapter_name"),
    "source": Field(
        "str",
        "A folder in the container of the server, such as one below the mounted weights, or C(ORGANISATION/NAME) of a model repository.",
        required=True,
        format="adapter_source",
    ),
}
MODEL = {
    "uri": Field(
        "str",
        (
            "Source of the weights. C(hf://ORGANISATION/MODEL), C(pvc://CLAIM/PATH) on an existing claim, C(s3://BUCKET/PATH) or C(gs://BUCKET/PATH)"
            " (safetensors, streamed to the accelerator at each start; C(vllm) only), or C(file:///PATH), a directory in"
            " O(llm_d_model_services[].engine.image). Not required for an engine of type C(simulator)."
        ),
        format="model_uri",
    ),
    "served_name": Field(
        "str",
        "Model name that clients use in requests. If omitted, C(ORGANISATION/MODEL) of an C(hf://) URI, or the last path element of any other URI.",
        example="llama-8b",
    ),
    "aliases": Field(
        "map",
        (
            "Other names that clients may use, each with the model that the endpoint picker writes into the request instead: a served name of the"
            " servers, such as that of an adapter. Several with weights share the requests, such as C({chat-v1: 90, chat-v2: 10}) for a canary."
        ),
        default={},
        elements=Field(
            "str",
            "A model.",
            otherwise=Field("map", "Models and their weights.", elements=Field("int", "The weight; 0 for no requests.", minimum=0, maximum=1000000)),
        ),
        example={"chat": "llama-8b"},
    ),
    "adapters": Field(
        "list",
        "LoRA adapters that every server of the service has. Clients request them by name. Only with the engines C(vllm) and C(simulator).",
        default=[],
        elements=Field("dict", "One adapter.", options=_ADAPTER),
    ),
    "adapters_at_runtime": Field(
        "bool",
        (
            "Whether each run loads and unloads O(adapters) by the API of servers that run, instead of when they start: no change of them replaces a pod."
            " A server that starts later has none until the next run, or until O(llm_d_model_services[].warmup.schedule) loads them (docs/adapters.md)."
        ),
        default=False,
    ),
    "api_key": Field(
        "dict",
        (
            "The API key that clients send with their requests (C(Authorization: Bearer)), in a Secret of yours. If omitted, O(llm_d_api_key), if any."
            " Servers check it with the engines C(vllm) and C(tgi); with others your gateway has to check it. Validation, warm-ups and measurements send it."
        ),
        options={
            "secret": Field("str", "Name of the Secret in the namespace.", required=True, format="dns_subdomain", example="llama-8b-api-key"),
            "key": Field("str", "Key that holds the API key.", default="API_KEY", format="secret_key"),
        },
        example={"secret": "llama-8b-api-key"},
    ),
    "revision": Field("str", "Branch, tag or commit of the model repository. If omitted, its main branch."),
    "token_secret": Field(
        "str",
        "Name of a Secret in the namespace with the access token of a gated model, under the key O(token_key).",
        format="dns_subdomain",
        example="llm-d-hf-token",
    ),
    "token_key": Field("str", "Key of O(token_secret) that holds the token.", default="HF_TOKEN", format="secret_key"),
    "bucket_secret": Field(
        "str",
        (
            "Name of a Secret in the namespace with the keys C(AWS_ACCESS_KEY_ID) and C(AWS_SECRET_ACCESS_KEY), for an C(s3://) model. If omitted,"
            " access relies on O(llm_d_model_services[].service_account). Set region and endpoint in O(llm_d_model_services[].engine.env), such as"
            " C(AWS_ENDPOINT_URL)."
        ),
        format="dns_subdomain",
    ),
}

SIMULATOR = {
    "time_to_first_token": Field("str", "Time to first token of every prompt. Not together with O(prefill_time_per_token).", format="duration"),
    "prefill_overhead": Field("str", "Fixed part of the time to first token, in addition to O(prefill_time_per_token).", format="duration"),
    "prefill_time_per_token": Field("str", "Prefill time per prompt token that is not in the KV cache.", format="duration", example="500us"),
    "inter_token_latency": Field("str", "Time between two output tokens.", format="duration", example="20ms"),
    "time_factor_under_load": Field("float", "Slowdown of a fully loaded server, relative to an idle one.", minimum=1),
    "kv_cache_size": Field("int", "Number of blocks in the KV cache of one server.", default=1024, minimum=1),
    "seed": Field("int", "Seed of the simulated responses, for repeatable runs."),
}

ENGINE = {
    "type": Field(
        "str",
        (
            "The model server: C(vllm), C(simulator), which has the API of vLLM and needs no GPU, C(sglang), C(trtllm) (TensorRT-LLM), C(triton) (Triton"
            " with the back end vLLM) or C(tgi) (Text Generation Inference). docs/engines.md has the options of each."
        ),
        default="vllm",
        choices=tuple(ENGINE_DEFAULTS),
    ),
    "image": Field("str", "Image of the model server, used as written. If omitted, the tested image of this collection.", format="image"),
    "version": Field(
        "str",
        (
            "Version of vLLM in O(image). Arguments that it does not accept are refused before anything is changed. If omitted, the version in the"
            " tag of the image; without one there (C(latest), a digest, an image with numbers of its own), arguments are not checked."
        ),
        format="version",
        example="0.30.0",
    ),
    "port": Field("int", "Port of the model server, its Service and the InferencePool.", default=8000, minimum=1024, maximum=65535),
    "max_model_len": Field("int", "Maximum number of tokens of prompt and output together. If omitted, the limit of the model (simulator: 32768).", minimum=1),
    "max_num_seqs": Field(
        "int", "Maximum number of requests that one server processes concurrently (the batch size). If omitted, the engine's default.", minimum=1
    ),
    "block_size": Field(
        "int",
        (
            "Number of tokens in one KV-cache block. If omitted, 16 for the simulator, and what the engine chooses for the model and the accelerator;"
            " except where the endpoint picker has to know it (precise prefix matching), where it is 16, and 32 on CPUs."
        ),
        choices=(8, 16, 32, 64, 128),
    ),
    "prefix_caching": Field(
        "bool",
        (
            "Whether the engine reuses the KV cache of common prefixes (automatic prefix caching). If omitted, its default for the model, which is nearly"
            " always on."
        ),
    ),
    "gpu_memory_utilization": Field(
        "float",
        "Fraction of the accelerator memory that the engine may use; C(trtllm): of what its weights leave free. If omitted, its default.",
        minimum=0.01,
        maximum=1,
    ),
    "quantization": Field(
        "str", "Quantization method, as the engine names it. If omitted, the method in the model's configuration.", format="secret_key", example="fp8"
    ),
    "log_level": Field("str", "Log level of the model server. If omitted, the engine's default.", choices=("warning", "info", "debug")),
    "args": Field(
        "list", "Additional command-line arguments, after all others.", default=[], elements=Field("str", "One argument.", example="--enforce-eager")
    ),
    "env": environment_field(""),
    "drain_seconds": Field(
        "int",
        (
            "Seconds for which a terminating server finishes its in-flight requests and accepts no new ones: no less than the longest answer takes, since"
            " requests that take longer are cut off. vLLM since 0.18 ends as soon as it has none (C(--shutdown-timeout)). If omitted, 120, and 45 for the"
            " simulator."
        ),
        minimum=5,
        maximum=3600,
    ),
    "startup_timeout": Field(
        "int", "Seconds that a server may take to load the model. If omitted, 1800, for C(trtllm) 3600, and 120 for the simulator.", minimum=10, maximum=86400
    ),
    "simulator": Field("dict", "Performance of the simulator. Only with O(type=simulator).", options=SIMULATOR),
}

STORAGE = {
    "claim": Field(
        "bool",
        (
            "Store the downloaded weights of an C(hf://) model on a PersistentVolumeClaim that we create, so that a restarted server on any node reuses"
            " them. All servers of the model share the claim, see O(access_mode)."
        ),
        default=False,
    ),
    "size": Field(
        "quantity",
        "Storage for the weights of an C(hf://) model: on the node of each replica (if omitted, no limit), or of the claim.",
        example="50Gi",
    ),
    "class_name": Field("str", "StorageClass of the claim that we create. If omitted, the default of the cluster.", format="dns_subdomain", example="fast-ssd"),
    "access_mode": Field(
        "str",
        (
            "Access mode of the claim. If omitted, C(ReadWriteOnce), for one server, for a claim that we create; the access mode of the claim of a"
            " C(pvc://) model is then not checked."
        ),
        choices=("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"),
    ),
    "delete_claim": Field(
        "bool",
        "Whether C(playbooks/teardown.yml) deletes the claim that we created. Otherwise the claim and its namespace stay for the next deployment.",
        default=False,
    ),
}

WARMUP = {
    "prompts": Field(
        "list",
        "Common beginnings of requests, such as system prompts, verbatim. Each must be longer than one KV-cache block.",
        default=[],
        elements=Field("str", "One prompt.", example="You are the assistant of Example Ltd. Answer from its handbook only."),
    ),
    "config_map": Field(
        "str",
        "Name of a ConfigMap in the namespace whose values are additional prompts, as C(kubectl create configmap NAME --from-file=FOLDER) creates it.",
        format="dns_subdomain",
        example="llama-8b-prompts",
    ),
    "api": Field(
        "str",
        (
            "API through which clients send these prompts; a chat template puts text before them. C(chat_completions): as the system message of a chat."
            " C(completions): as a prompt."
        ),
        default="chat_completions",
        choices=("chat_completions", "completions"),
    ),
    "schedule": Field(
        "str",
        (
            "When a CronJob in the namespace sends the prompts again, as five fields of cron or a word such as C(@hourly). It is for servers that restart"
            " between runs, and for traffic that pushes prompts out. If omitted, only runs warm them."
        ),
        format="cron",
    ),
    "time_zone": Field("str", "Time zone of O(schedule). If omitted, that of the control plane, which mostly is UTC.", format="time_zone"),
    "suspend": Field("bool", "Whether the CronJob waits until this is C(false) again.", default=False),
    "pod": pod_field("of the CronJob of O(schedule)"),
    "container": container_field("of the CronJob of O(schedule)"),
}
