# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines that are deployed: image, command, and the flags of each for the options of the user's file. Data only; sources.py has the page of each image.

The detection of a running server's engine, and its metrics, are in engines.py.
"""

from __future__ import annotations

import typing as t

from .engines import ENGINES

# Options of the user's file that an engine may have, and their paths in an element of llm_d_model_services.
OPTIONS = {
    "model": "model.uri",
    "served_name": "model.served_name",
    "revision": "model.revision",
    "port": "engine.port",
    "max_model_len": "engine.max_model_len",
    "max_num_seqs": "engine.max_num_seqs",
    "block_size": "engine.block_size",
    "tensor": "accelerator.per_replica",
    "pipeline": "accelerator.pipeline",
    "data": "accelerator.data",
    "expert": "accelerator.expert",
    "gpu_memory_utilization": "engine.gpu_memory_utilization",
    "quantization": "engine.quantization",
    "prefix_caching": "engine.prefix_caching",
}
# Options that engine.args must not repeat.
TUNING = ("gpu_memory_utilization", "quantization", "prefix_caching")
_HUB, _BUCKETS = ("hf", "pvc", "file"), ("s3", "gs")
# The variables with the text of the configuration file and the name of the model, for containers that need a file.
FILE_VARIABLE, NAME_VARIABLE = "ENGINE_CONFIG", "ENGINE_MODEL"
_TRTLLM = f'printf %s "${FILE_VARIABLE}" > "$HOME/engine.yml" && exec trtllm-serve serve "$@"'
_TRITON = (
    f'folder="$HOME/repository/${NAME_VARIABLE}" && mkdir -p "$folder/1" && printf %s "${FILE_VARIABLE}" > "$folder/1/model.json" && '
    """printf 'backend: "vllm"\\ninstance_group [{kind: KIND_MODEL}]\\n' > "$folder/config.pbtxt" && """
    'exec python3 /opt/tritonserver/python/openai/openai_frontend/main.py "$@"'
)

KSERVE, _KSERVE_PORTS = "enable-kserve-frontends", {"kserve-http-port": 8000, "kserve-grpc-port": 8001}
# Of Triton's front end, python/openai/openai_frontend/main.py. KSERVE switches on KServe's API.
TRITON_OPTIONS = (
    *("help", "model-repository", "tokenizer", "backend", "lora-separator", "tritonserver-log-verbose-level", "host", "openai-port", "uvicorn-log-level"),
    *(KSERVE, *_KSERVE_PORTS),
)
_RANKS_ALONE = "data-parallel-multi-port-external-lb"
# Flags of further ports of a server: (the flag that enables the port, its default, its owner). Without an enabling flag the port is always open; without a
# default it is open if the flag is given.
# https://docs.vllm.ai/en/latest/cli/serve/  https://docs.sglang.io/advanced_features/server_arguments.html
# https://github.com/huggingface/text-generation-inference/issues/3062
LISTENERS: dict[str, dict[str, tuple[str, int | None, str]]] = {
    "vllm": {
        "data-parallel-supervisor-port": (_RANKS_ALONE, 9256, "the supervisor of vLLM's ranks"),
        "data-parallel-rpc-port": (_RANKS_ALONE, 29550, "the first of vLLM's ranks"),
        "grpc-port": ("", None, "vLLM's gRPC server"),
    },
    "sglang": {"grpc-port": ("", None, "SGLang's gRPC server"), "nccl-port": ("", None, "the first of SGLang's processes")},
    "tgi": {"prometheus-port": ("", 9000, "TGI's exporter for Prometheus")},
    "triton": {flag: (KSERVE, port, "Triton's KServe API") for flag, port in _KSERVE_PORTS.items()},
}
# The variables that set some of these ports.
LISTENER_VARIABLES = {"sglang": {"grpc-port": "SGLANG_GRPC_PORT"}, "tgi": {"prometheus-port": "PROMETHEUS_PORT"}}


def _script(text: str, name: str) -> tuple[str, ...]:
    """The command for a script; $@ are the arguments of the container."""
    return ("/bin/bash", "-c", text, name)


# Engines whose adapters are set up: arguments that they need, and the environment that lets them load adapters by their API while they run.
# https://docs.vllm.ai/en/latest/features/lora/
ADAPTERS: dict[str, dict[str, t.Any]] = {
    "vllm": {"args": ("--enable-lora",), "env": {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}},
    "simulator": {"args": (), "env": {}},
}
# Further flags whose numbers multiply the accelerators of a server, and the flag with which data-parallel engines share those of tensor parallelism.
# https://docs.vllm.ai/en/latest/serving/context_parallel_deployment/  https://docs.sglang.io/advanced_features/server_arguments.html
CONTEXT = {"vllm": ("prefill-context-parallel-size",), "trtllm": ("cp_size", "context_parallel_size")}
SHARED = {"sglang": "enable-dp-attention"}
# The flag and the variable with which a server requires a key for each request to /v1; health and metrics are open.
# https://docs.vllm.ai/en/latest/usage/security/  https://docs.sglang.io/advanced_features/server_arguments.html
KEYS = {"vllm": ("api-key", "VLLM_API_KEY"), "sglang": ("api-key", ""), "tgi": ("api-key", "API_KEY")}
# Image for our own programs in pods, which are mounted: they need Python 3.11 or newer, and nothing else.
PYTHON_IMAGE = "docker.io/library/python:3.13.9-slim"
# One row for each engine.
#   images: for vendors whose accelerators need another build than `image`. command: None for that of the image.
#   flags: option to its flags. The first is written, the others are synonyms; "" is the first argument. For a boolean: (flag if true, flag if false).
#     A flag for experts that ends in "=" takes the number of accelerators that hold them.
#   file: option to its key in the configuration file; settings: further contents of that file. An option in neither is refused.
#   level: the flag or variable of the log level, and its words for warning, info and debug.
#   always: further arguments; env: further variables; sources: kinds of model.uri that it opens; health, metrics: paths; signals: the metrics that the
#     endpoint picker reads, if they are not the first metric of each signal in engines.py. cached_tokens: whether its answers have the number of prompt
#     tokens from the cache, which a warm-up requires. warning: a note for users who choose it.
#   drain_seconds: default for in-flight requests of a terminating server; own_drain: seconds for which it finishes them by itself after SIGTERM, 0 if
#     unknown (the simulator: pkg/communication/communication.go).
ENGINE_DEFAULTS: dict[str, dict[str, t.Any]] = {
    "vllm": {
        "image": "docker.io/vllm/vllm-openai:v0.30.0",
        # A Gaudi image has the version of vLLM in its name.
        "images": {
            "amd": "docker.io/vllm/vllm-openai-rocm:v0.30.0",
            "intel": "docker.io/vllm/vllm-openai-xpu:v0.30.0",
            "intel_gaudi": "vault.habana.ai/gaudi-docker/1.24.1/ubuntu24.04/habanalabs/vllm-0.26.0-ptupstream-2.11.0:latest",
            "google": "docker.io/vllm/vllm-tpu:v0.29.0",
            "none": "docker.io/vllm/vllm-openai-cpu:v0.30.0",
        },
        "vendor": "nvidia",
        "requests": {"cpu": "2", "memory": "8Gi"},
        "max_model_len": None,
        "startup_timeout": 1800,
        "drain_seconds": 120,
        "own_drain": 0,
        "startup_period": 5,
        # Written for every image of vLLM: entry points of older ones for CUDA ignore a model that is not a flag, and those for TPU and Gaudi run their
        # arguments as a command.
        "command": ("vllm", "serve"),
        "flags": {
            "model": ("",),
            "served_name": ("served-model-name",),
            "port": ("port",),
            "max_model_len": ("max-model-len",),
            "max_num_seqs": ("max-num-seqs",),
            "block_size": ("block-size",),
            "revision": ("revision",),
            "tensor": ("tensor-parallel-size", "tp"),
            "pipeline": ("pipeline-parallel-size", "pp"),
            "data": ("data-parallel-size", "dp"),
            "gpu_memory_utilization": ("gpu-memory-utilization",),
            "quantization": ("quantization", "q"),
            "prefix_caching": ("enable-prefix-caching", "no-enable-prefix-caching"),
            "expert": ("enable-expert-parallel", ""),
        },
        "file": {},
        "settings": {},
        "level": ("VLLM_LOGGING_LEVEL", ("WARNING", "INFO", "DEBUG")),
        # Without it vLLM does not report cached tokens, and cache hits cannot be checked.
        "always": ("--enable-prompt-tokens-details",),
        "env": {"VLLM_CACHE_ROOT": "/model-cache/vllm"},
        "sources": (*_HUB, *_BUCKETS),
        "health": "/health",
        "metrics": "/metrics",
        "signals": None,
        "cached_tokens": True,
        "warning": "",
    },
    "simulator": {
        "image": "ghcr.io/llm-d/llm-d-inference-sim:v0.11.4",
        "images": {},
        "tokenizer_image": "docker.io/llm-d-local/tokenizer:v0.10.2",  # built by local_cluster, with the simulator's tokenizer
        "vendor": "none",
        "requests": {"cpu": "50m", "memory": "64Mi"},
        "max_model_len": 32768,
        "startup_timeout": 120,
        "drain_seconds": 45,
        "own_drain": 30,
        "startup_period": 1,
        "command": None,
        # Its model is a name only.
        "flags": {
            "model": ("model",),
            "served_name": ("served-model-name",),
            "port": ("port",),
            "max_model_len": ("max-model-len",),
            "max_num_seqs": ("max-num-seqs",),
            "block_size": ("block-size",),
        },
        "file": {},
        "settings": {},
        "level": ("--v", ("1", "2", "4")),  # as in klog: its WARN, INFO and DEBUG
        # Without the dummy tokenizer the simulator looks the model up in a model hub.
        "always": ("--force-dummy-tokenizer=true", "--enable-kvcache=true"),
        "env": {},
        "sources": (),
        "health": "/health",
        "metrics": "/metrics",
        "signals": None,
        "cached_tokens": True,
        "warning": "",
    },
    # Flags: python/sglang/srt/arg_groups/fields of 0.5.20.
    "sglang": {
        "image": "docker.io/lmsysorg/sglang:v0.5.20",
        "images": {},
        "vendor": "nvidia",
        "requests": {"cpu": "2", "memory": "8Gi"},
        "max_model_len": None,
        "startup_timeout": 1800,
        "drain_seconds": 120,
        "own_drain": 0,
        "startup_period": 5,
        "command": ("python3", "-m", "sglang.launch_server"),
        "flags": {
            "model": ("model-path", "model"),
            "served_name": ("served-model-name",),
            "port": ("port",),
            "max_model_len": ("context-length",),
            "max_num_seqs": ("max-running-requests",),
            "block_size": ("page-size",),
            "revision": ("revision",),
            "tensor": ("tp-size", "tensor-parallel-size"),
            "pipeline": ("pp-size", "pipeline-parallel-size"),
            "data": ("dp-size", "data-parallel-size"),
            "expert": ("ep-size=", ""),
            "gpu_memory_utilization": ("mem-fraction-static",),
            "quantization": ("quantization",),
            "prefix_caching": ("", "disable-radix-cache"),
        },
        "file": {},
        "settings": {},
        "level": ("--log-level", ("warning", "info", "debug")),
        "always": ("--host=0.0.0.0", "--enable-metrics", "--enable-cache-report"),
        # Otherwise each health check is a request of one token, which waits behind all others.
        "env": {"SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "false"},
        "sources": _HUB,
        "health": "/health",
        "metrics": "/metrics",
        "signals": None,
        "cached_tokens": True,
        "warning": "",
    },
    # Flags: tensorrt_llm/commands/serve.py; its gauges need the two settings, and 1.3.0rc12 or newer. TensorRT instead of PyTorch: --backend=tensorrt.
    "trtllm": {
        "image": "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc28",
        "images": {},
        "vendor": "nvidia",
        "requests": {"cpu": "2", "memory": "16Gi"},
        "max_model_len": None,
        "startup_timeout": 3600,
        "drain_seconds": 120,
        "own_drain": 0,
        "startup_period": 5,
        "command": _script(_TRTLLM, "trtllm-serve"),
        "flags": {
            "model": ("",),
            "served_name": ("served_model_name",),
            "port": ("port",),
            "max_model_len": ("max_seq_len",),
            "max_num_seqs": ("max_batch_size",),
            "revision": ("revision",),
            "tensor": ("tp_size", "tensor_parallel_size"),
            "pipeline": ("pp_size", "pipeline_parallel_size"),
            "expert": ("ep_size=", ""),
            "gpu_memory_utilization": ("kv_cache_free_gpu_memory_fraction", "free_gpu_memory_fraction"),
        },
        "file": {"block_size": "kv_cache_config.tokens_per_block", "prefix_caching": "kv_cache_config.enable_block_reuse"},
        "settings": {"return_perf_metrics": True, "enable_iter_perf_stats": True},
        "level": ("--log_level", ("warning", "info", "debug")),
        "always": ("--host=0.0.0.0", "--config=/model-cache/engine.yml"),
        "env": {},
        "sources": _HUB,
        "health": "/health",
        "metrics": "/prometheus/metrics",
        "signals": None,
        "cached_tokens": True,
        "warning": "",
    },
    # Its front end for the OpenAI API with the back end vLLM, whose arguments are the keys of model.json.
    "triton": {
        "image": "nvcr.io/nvidia/tritonserver:26.05-vllm-python-py3",
        "images": {},
        "vendor": "nvidia",
        "requests": {"cpu": "2", "memory": "8Gi"},
        "max_model_len": None,
        "startup_timeout": 1800,
        "drain_seconds": 120,
        "own_drain": 0,
        "startup_period": 5,
        "command": _script(_TRITON, "triton"),
        "flags": {"model": ("tokenizer",), "port": ("openai-port",)},
        "file": {
            "model": "model",
            "max_model_len": "max_model_len",
            "max_num_seqs": "max_num_seqs",
            "block_size": "block_size",
            "revision": "revision",
            "tensor": "tensor_parallel_size",
            "pipeline": "pipeline_parallel_size",
            "expert": "enable_expert_parallel",
            "gpu_memory_utilization": "gpu_memory_utilization",
            "quantization": "quantization",
            "prefix_caching": "enable_prefix_caching",
        },
        "settings": {"disable_log_stats": False},
        "level": ("--uvicorn-log-level", ("warning", "info", "debug")),
        "always": ("--model-repository=/model-cache/repository",),
        "env": {"VLLM_CACHE_ROOT": "/model-cache/vllm"},
        "sources": _HUB,
        "health": "/health/ready",
        "metrics": "/metrics",
        "signals": {"waiting": "nv_inference_pending_request_count"},
        "cached_tokens": False,
        "warning": (
            "Triton hands each request to vLLM at once and does not export vLLM's queue, so the scorer queue rarely tells its servers apart; the scorer"
            " active_requests counts in the endpoint picker itself"
        ),
    },
    # Flags: text-generation-launcher. It lists its model under the name that it was loaded by.
    "tgi": {
        "image": "ghcr.io/huggingface/text-generation-inference:3.3.7",
        "images": {},
        "vendor": "nvidia",
        "requests": {"cpu": "2", "memory": "8Gi"},
        "max_model_len": None,
        "startup_timeout": 1800,
        "drain_seconds": 120,
        "own_drain": 0,
        "startup_period": 5,
        "command": None,
        "flags": {
            "model": ("model-id",),
            "port": ("port", "p"),
            "max_model_len": ("max-total-tokens",),
            "max_num_seqs": ("max-batch-size",),
            "revision": ("revision",),
            "tensor": ("num-shard",),
            "gpu_memory_utilization": ("cuda-memory-fraction",),
            "quantization": ("quantize",),
        },
        "file": {},
        "settings": {},
        "level": ("LOG_LEVEL", ("warn", "info", "debug")),
        "always": (),
        "env": {"HUGGINGFACE_HUB_CACHE": "/model-cache/huggingface/hub"},
        "sources": _HUB,
        "health": "/health",
        "metrics": "/metrics",
        "signals": None,
        "cached_tokens": False,
        "warning": "Hugging Face only maintains Text Generation Inference, and recommends vLLM or SGLang",
    },
}
LEVELS = ("warning", "info", "debug")
# Engines with KV events, transfers between prefill and decode servers, and groups of several nodes: what the collection sets up for these only.
WHOLE = ("vllm", "simulator")


def has(engine: str, option: str) -> bool:
    """Whether an engine has an option of the user's file."""
    return option in ENGINE_DEFAULTS[engine]["flags"] or option in ENGINE_DEFAULTS[engine]["file"]


def with_option(option: str) -> str:
    """The engines that have an option, as text."""
    *others, last = [name for name in ENGINE_DEFAULTS if has(name, option)]
    return f"{', '.join(others)} or {last}" if others else last


def picker_signals(engine: str) -> dict[str, str]:
    """The metrics that the endpoint picker reads from an engine: {signal: metric}, with labels as name{label=value}."""
    own = ENGINE_DEFAULTS[engine]["signals"]
    if own is not None:
        return dict(own)
    metrics = {}
    for signal, (source, *_others) in ENGINES[engine].signals.items():
        where = ",".join(f"{label}={value}" for label, value in source.where)
        metrics[signal] = source.metric + (f"{{{where}}}" if where else "")
    return metrics
