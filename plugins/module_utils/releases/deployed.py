# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines that are deployed: image, command, and the flags of each for the options of the user's file. Data only; sources.py has the page of each image.

The detection of a running server's engine, and its metrics, are in engines.py.
"""

from __future__ import annotations

import typing as t

from .engines import ENGINES

# Options of the user's file that an engine may have: name in this table, path in an element of llm_d_model_services.
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
# Options whose flags are refused in engine.args where the option itself is set.
REFUSED_IN_ARGS = ("gpu_memory_utilization", "quantization", "prefix_caching")
# Schemes of model.uri.
_HUB_OR_FOLDER, _BUCKETS = ("hf", "pvc", "file"), ("s3", "gs")
# Environment variables from which a container writes the configuration file of its engine: the text of the file, and the served name of the model.
FILE_VARIABLE, NAME_VARIABLE = "ENGINE_CONFIG", "ENGINE_MODEL"
_TRTLLM = f'printf %s "${FILE_VARIABLE}" > "$HOME/engine.yml" && exec trtllm-serve serve "$@"'
_TRITON = (
    f'folder="$HOME/repository/${NAME_VARIABLE}" && mkdir -p "$folder/1" && printf %s "${FILE_VARIABLE}" > "$folder/1/model.json" && '
    """printf 'backend: "vllm"\\ninstance_group [{kind: KIND_MODEL}]\\n' > "$folder/config.pbtxt" && """
    'exec python3 /opt/tritonserver/python/openai/openai_frontend/main.py "$@"'
)

# The flag that enables the KServe API of Triton's front end, and the flags of its ports, with defaults.
_KSERVE_FLAG, _KSERVE_PORTS = "enable-kserve-frontends", {"kserve-http-port": 8000, "kserve-grpc-port": 8001}
# All options of that front end (python/openai/openai_frontend/main.py).
TRITON_OPTIONS = (
    *("help", "model-repository", "tokenizer", "backend", "lora-separator", "tritonserver-log-verbose-level", "host", "openai-port", "uvicorn-log-level"),
    *(_KSERVE_FLAG, *_KSERVE_PORTS),
)
_MULTI_PORT_FLAG = "data-parallel-multi-port-external-lb"
# Further ports of a server, by engine and by the flag that sets the port: (the flag that enables the port, default port, the part that listens, for messages).
# Without an enabling flag the port is always open; without a default it is open if its own flag is given.
# https://docs.vllm.ai/en/latest/cli/serve/  https://docs.sglang.io/advanced_features/server_arguments.html
# https://github.com/huggingface/text-generation-inference/issues/3062
LISTENERS: dict[str, dict[str, tuple[str, int | None, str]]] = {
    "vllm": {
        "data-parallel-supervisor-port": (_MULTI_PORT_FLAG, 9256, "the supervisor of vLLM's ranks"),
        "data-parallel-rpc-port": (_MULTI_PORT_FLAG, 29550, "the first of vLLM's ranks"),
        "grpc-port": ("", None, "vLLM's gRPC server"),
    },
    "sglang": {"grpc-port": ("", None, "SGLang's gRPC server"), "nccl-port": ("", None, "the first of SGLang's processes")},
    "tgi": {"prometheus-port": ("", 9000, "TGI's exporter for Prometheus")},
    "triton": {flag: (_KSERVE_FLAG, port, "Triton's KServe API") for flag, port in _KSERVE_PORTS.items()},
}
# Environment variables that set some of these ports, by engine and flag.
LISTENER_VARIABLES = {"sglang": {"grpc-port": "SGLANG_GRPC_PORT"}, "tgi": {"prometheus-port": "PROMETHEUS_PORT"}}


def _script(text: str, name: str) -> tuple[str, ...]:
    """The command that runs a shell script. `$@` in the script are the arguments of the container; name: its `$0`."""
    return ("/bin/bash", "-c", text, name)


# Engines for which the plan sets up LoRA adapters: required arguments, and the environment variables that permit loading adapters at runtime.
# https://docs.vllm.ai/en/latest/features/lora/
ADAPTER_SETTINGS: dict[str, dict[str, t.Any]] = {
    "vllm": {"args": ("--enable-lora",), "env": {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}},
    "simulator": {"args": (), "env": {}},
}
# Flags of context parallelism, whose numbers multiply the accelerators of a server; and the flag with which data-parallel ranks use the accelerators of tensor
# parallelism instead of further ones.
# https://docs.vllm.ai/en/latest/serving/context_parallel_deployment/  https://docs.sglang.io/advanced_features/server_arguments.html
CONTEXT_PARALLEL_FLAGS = {"vllm": ("prefill-context-parallel-size",), "trtllm": ("cp_size", "context_parallel_size")}
DP_ATTENTION_FLAG = {"sglang": "enable-dp-attention"}
# (flag, environment variable or "") that make a server require an API key for each request to /v1. Health and metrics need no key.
# https://docs.vllm.ai/en/latest/usage/security/  https://docs.sglang.io/advanced_features/server_arguments.html
API_KEY_SETTINGS = {"vllm": ("api-key", "VLLM_API_KEY"), "sglang": ("api-key", ""), "tgi": ("api-key", "API_KEY")}
# Image for the collection's own programs in pods. The programs are mounted, and need only Python 3.11 or newer.
PYTHON_IMAGE = "docker.io/library/python:3.13.9-slim"
# One row for each engine.
#   image: the default; images: for vendors whose accelerators need another build. vendor: the default accelerator vendor, and that of `image`.
#   requests: default resource requests of the container. max_model_len: default of the option, None if the engine decides.
#   startup_timeout: default seconds until a server must be ready; startup_period: seconds between two startup probes.
#   command: None for that of the image.
#   flags: option to its flags. The first is written, the others are synonyms; "" is the first argument. For a boolean: (flag if true, flag if false).
#     A flag for experts that ends in "=" takes the number of accelerators that hold them.
#   file: option to its key in the configuration file; settings: further contents of that file. An option in neither flags nor file is refused.
#   level: (flag or environment variable of the log level, its values for LOG_LEVELS).
#   always: further arguments; env: further environment variables; sources: schemes of model.uri that it opens; health, metrics: paths; signals: the metrics
#     that the endpoint picker reads, None for the first metric of each signal in engines.py. cached_tokens: whether its answers have the number of prompt
#     tokens from the cache, which a warm-up requires. warning: a note for users who choose it.
#   drain_seconds: default seconds for in-flight requests of a terminating server; own_drain: seconds for which it finishes them by itself after SIGTERM, 0 if
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
        # Set for every image of vLLM: the entry points of older CUDA images ignore the model as the first argument, and those of TPU and Gaudi images run their
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
        "sources": (*_HUB_OR_FOLDER, *_BUCKETS),
        "health": "/health",
        "metrics": "/metrics",
        "signals": None,
        "cached_tokens": True,
        "warning": "",
    },
    "simulator": {
        "image": "ghcr.io/llm-d/llm-d-inference-sim:v0.11.4",
        "images": {},
        "tokenizer_image": "docker.io/llm-d-local/tokenizer:v0.10.2",  # built by role local_cluster, with the simulator's tokenizer
        "vendor": "none",
        "requests": {"cpu": "50m", "memory": "64Mi"},
        "max_model_len": 32768,
        "startup_timeout": 120,
        "drain_seconds": 45,
        "own_drain": 30,
        "startup_period": 1,
        "command": None,
        # It loads no weights: its model is only a name.
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
        # Otherwise each health check generates one token, and waits behind all requests.
        "env": {"SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "false"},
        "sources": _HUB_OR_FOLDER,
        "health": "/health",
        "metrics": "/metrics",
        "signals": None,
        "cached_tokens": True,
        "warning": "",
    },
    # Flags: tensorrt_llm/commands/serve.py. Its gauges need both `settings`, and 1.3.0rc12 or newer. It runs PyTorch; engine.args can set --backend=tensorrt.
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
        "sources": _HUB_OR_FOLDER,
        "health": "/health",
        "metrics": "/prometheus/metrics",
        "signals": None,
        "cached_tokens": True,
        "warning": "",
    },
    # Triton's front end for the OpenAI API, with the back end vLLM. The keys of model.json are arguments of vLLM.
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
        "sources": _HUB_OR_FOLDER,
        "health": "/health/ready",
        "metrics": "/metrics",
        "signals": {"waiting": "nv_inference_pending_request_count"},
        "cached_tokens": False,
        "warning": (
            "Triton hands each request to vLLM at once and does not export vLLM's queue, so the scorer queue rarely tells its servers apart; the scorer"
            " active_requests counts in the endpoint picker itself"
        ),
    },
    # Flags: text-generation-launcher. It serves its model under model-id, and has no option for another name.
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
        "sources": _HUB_OR_FOLDER,
        "health": "/health",
        "metrics": "/metrics",
        "signals": None,
        "cached_tokens": False,
        "warning": "Hugging Face only maintains Text Generation Inference, and recommends vLLM or SGLang",
    },
}
LOG_LEVELS = ("warning", "info", "debug")
# Engines for which the collection also sets up KV events, separate prefill and decode servers, and servers of several nodes.
FULL_SUPPORT = ("vllm", "simulator")


def has_option(engine: str, option: str) -> bool:
    """Whether an engine has an option of OPTIONS."""
    return option in ENGINE_DEFAULTS[engine]["flags"] or option in ENGINE_DEFAULTS[engine]["file"]


def engines_with(option: str) -> str:
    """The engines that have an option, for messages: `vllm, sglang or trtllm`."""
    *others, last = [name for name in ENGINE_DEFAULTS if has_option(name, option)]
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
