# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each engine gets its own command, arguments, variables and metrics, and options that it does not have are refused with their path in the user's file."""

from __future__ import annotations

import json
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import ENGINE_DEFAULTS, OPTIONS, engines_with, has_option
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.vllm import options as vllm_options
from ansible_collections.llm_d.inference.plugins.module_utils.releases.vllm_flags import VERSIONS as VLLM_VERSIONS
from planned_pods import main, spec

Facts = dict[str, t.Any]
S0 = "llm_d_model_services[0]"
NEW = ("sglang", "trtllm", "triton", "tgi")
# {engine: options of a service that it can be planned with}.
FITTING: Facts = {
    "vllm": {},
    "sglang": {},
    "trtllm": {},
    "triton": {"model": {"uri": "hf://org/model", "served_name": "model"}, "scheduler": {"preset": "queue"}},
    "tgi": {"scheduler": {"preset": "queue"}},
}


def file_of(engine: str, options: Facts | None = None, line: str = "router-0.10", **service: t.Any) -> Facts:
    base = {"name": "a", "model": {"uri": "hf://org/model"}, **FITTING[engine], **service, "engine": {"type": engine, **(options or {})}}
    return {"llm_d_release": line, "llm_d_gateway": {"provider": "none", "name": "g"}, "llm_d_model_services": [base]}


def planned(engine: str, options: Facts | None = None, line: str = "router-0.10", **service: t.Any) -> Facts:
    return plan(file_of(engine, options, line, **service))["services"][0]


def variables(server: Facts) -> Facts:
    return {item["name"]: item.get("value") for item in main(server)["env"]}


ALL: Facts = {"max_model_len": 8192, "max_num_seqs": 64, "gpu_memory_utilization": 0.8, "log_level": "debug"}
WRITTEN: dict[str, list[str]] = {
    "sglang": [
        "--model-path=org/model",
        "--served-model-name=org/model",
        "--revision=v1",
        "--port=8000",
        "--context-length=8192",
        "--max-running-requests=64",
        "--tp-size=4",
        "--mem-fraction-static=0.8",
        "--log-level=debug",
        "--host=0.0.0.0",
        "--enable-metrics",
        "--enable-cache-report",
    ],
    "trtllm": [
        "org/model",
        "--served_model_name=org/model",
        "--revision=v1",
        "--port=8000",
        "--max_seq_len=8192",
        "--max_batch_size=64",
        "--tp_size=4",
        "--kv_cache_free_gpu_memory_fraction=0.8",
        "--log_level=debug",
        "--host=0.0.0.0",
        "--config=/model-cache/engine.yml",
    ],
    "triton": ["--tokenizer=org/model", "--openai-port=8000", "--uvicorn-log-level=debug", "--model-repository=/model-cache/repository"],
    "tgi": [
        "--model-id=org/model",
        "--revision=v1",
        "--port=8000",
        "--max-total-tokens=8192",
        "--max-batch-size=64",
        "--num-shard=4",
        "--cuda-memory-fraction=0.8",
    ],
}


@pytest.mark.parametrize("engine", NEW)
def test_options_are_spelled_as_the_engine_does(engine: str) -> None:
    model = {"uri": "hf://org/model", "revision": "v1", **({"served_name": "model"} if engine == "triton" else {})}
    server = planned(engine, ALL, model=model, accelerator={"per_replica": 4})["server"]
    assert server["args"] == WRITTEN[engine]
    assert main(server)["image"] == ENGINE_DEFAULTS[engine]["image"] and main(server)["resources"]["limits"] == {"nvidia.com/gpu": 4}
    env = variables(server)
    assert env["HOME"] == "/model-cache" and env["HF_HOME"] == "/model-cache/huggingface"
    assert env.get("LOG_LEVEL") == ("debug" if engine == "tgi" else None)
    assert {volume["name"] for volume in spec(server)["volumes"]} == {"model-cache", "shared-memory"}


@pytest.mark.parametrize("engine", NEW)
def test_options_that_the_file_omits_are_not_passed_to_the_engine(engine: str) -> None:
    server = planned(engine)["server"]
    names = {argument.split("=")[0].lstrip("-") for argument in server["args"]}
    flags = ENGINE_DEFAULTS[engine]["flags"]
    assert not names & {name for option in OPTIONS if option not in ("model", "served_name", "port") for name in flags.get(option, ()) if name}
    assert main(server)["startupProbe"]["httpGet"]["path"] == server["health_path"] == ("/health/ready" if engine == "triton" else "/health")


def test_the_configuration_file_has_what_is_no_flag() -> None:
    server = planned("trtllm", {"block_size": 64, "prefix_caching": False})["server"]
    assert json.loads(variables(server)["ENGINE_CONFIG"]) == {
        "return_perf_metrics": True,
        "enable_iter_perf_stats": True,
        "kv_cache_config": {"tokens_per_block": 64, "enable_block_reuse": False},
    }
    assert main(server)["command"][:2] == ["/bin/bash", "-c"] and 'exec trtllm-serve serve "$@"' in main(server)["command"][2]


@pytest.mark.parametrize(("engine", "serves"), [("trtllm", "trtllm-serve"), ("triton", "python3")])
def test_the_files_of_triton_and_trtllm_are_written_at_the_start(engine: str, serves: str, tmp_path: Path) -> None:
    """The command of the container runs here unchanged, with a stub of the server that prints its arguments."""
    server = planned(engine, {"block_size": 32})["server"]
    (tmp_path / serves).write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    (tmp_path / serves).chmod(0o755)
    env = {**variables(server), "HOME": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    run = subprocess.run(
        [*main(server)["command"], *server["args"]], env={key: value for key, value in env.items() if value}, capture_output=True, text=True, check=True
    )
    assert run.stdout.split()[1:] == server["args"]
    if engine == "trtllm":
        assert run.stdout.split()[0] == "serve"
        assert yaml.safe_load((tmp_path / "engine.yml").read_text(encoding="utf-8"))["kv_cache_config"] == {"tokens_per_block": 32}
        return
    folder = tmp_path / "repository/model"
    assert json.loads((folder / "1/model.json").read_text(encoding="utf-8"))["block_size"] == 32
    assert (folder / "config.pbtxt").read_text(encoding="utf-8") == 'backend: "vllm"\ninstance_group [{kind: KIND_MODEL}]\n'


def test_the_keys_of_a_model_of_vllm_are_options_of_vllm() -> None:
    facts = ENGINE_DEFAULTS["triton"]
    keys = {*facts["file"].values(), *facts["settings"]} - {"model"}
    for version in VLLM_VERSIONS[-4:]:
        assert {f"--{key.replace('_', '-')}" for key in keys} <= set(vllm_options(version))


def test_triton_gets_a_model_of_vllm() -> None:
    parts = {"per_replica": 8, "pipeline": 2, "expert": True}
    server = planned("triton", {**ALL, "quantization": "fp8", "prefix_caching": True, "block_size": 32}, accelerator=parts)["server"]
    assert json.loads(variables(server)["ENGINE_CONFIG"]) == {
        "disable_log_stats": False,
        "model": "org/model",
        "max_model_len": 8192,
        "max_num_seqs": 64,
        "block_size": 32,
        "tensor_parallel_size": 4,
        "pipeline_parallel_size": 2,
        "enable_expert_parallel": True,
        "gpu_memory_utilization": 0.8,
        "quantization": "fp8",
        "enable_prefix_caching": True,
    }
    assert variables(server)["ENGINE_MODEL"] == "model"


@pytest.mark.parametrize(
    ("engine", "parts", "there"),
    [
        ("sglang", {"per_replica": 8, "pipeline": 2, "data": 2, "expert": True}, ["--tp-size=2", "--pp-size=2", "--dp-size=2", "--ep-size=2"]),
        ("trtllm", {"per_replica": 8, "pipeline": 2, "expert": True}, ["--tp_size=4", "--pp_size=2", "--ep_size=4"]),
    ],
)
def test_accelerators_are_divided(engine: str, parts: Facts, there: list[str]) -> None:
    assert set(there) <= set(planned(engine, accelerator=parts)["server"]["args"])


def test_prefix_caching_of_sglang_can_only_be_turned_off() -> None:
    assert "--disable-radix-cache" in planned("sglang", {"prefix_caching": False})["server"]["args"]
    assert not [flag for flag in planned("sglang", {"prefix_caching": True})["server"]["args"] if "radix" in flag or flag == "--"]


@pytest.mark.parametrize(
    ("engine", "arguments", "tensor"),
    [
        ("sglang", ["--enable-dp-attention", "--dp-size=4"], ["--tp-size=4"]),  # the engines share them
        ("sglang", ["--enable-dp-attention", "--dp-size=2", "--tp-size=4"], ["--tp-size=4"]),
        ("sglang", ["--dp-size=4"], []),
        ("vllm", ["-pcp=4"], []),
        ("vllm", ["-tp=2", "--prefill_context_parallel_size=2"], ["--tensor-parallel-size=2"]),
        ("trtllm", ["--context_parallel_size=4"], []),
    ],
)
def test_context_and_shared_accelerators_are_counted_as_the_engine_does(engine: str, arguments: list[str], tensor: list[str]) -> None:
    args = planned(engine, {"args": arguments}, accelerator={"per_replica": 4})["server"]["args"]
    assert [argument for argument in args if argument.startswith(("--tp", "-tp", "--tensor"))] == tensor


def test_arguments_of_the_user_win() -> None:
    args = planned("sglang", {"args": ["--tensor-parallel-size=2", "--host=::"]}, accelerator={"per_replica": 2})["server"]["args"]
    assert "--tensor-parallel-size=2" in args and not [flag for flag in args if flag.startswith("--tp-size")]
    assert [flag for flag in args if flag.startswith("--host")] == ["--host=::"]
    assert planned("trtllm", {"args": ["--backend=tensorrt"]})["server"]["args"][-1] == "--backend=tensorrt"


READ: Facts = {
    "sglang": {
        "queuedRequestsSpec": "sglang:num_queue_reqs",
        "runningRequestsSpec": "sglang:num_running_reqs",
        "kvUsageSpec": "sglang:token_usage",
        "cacheBlockSizeSpec": "sglang:page_size",
        "cacheNumBlocksSpec": "sglang:num_pages",
    },
    "trtllm": {
        "queuedRequestsSpec": "trtllm_num_requests_waiting",
        "runningRequestsSpec": "trtllm_num_requests_running",
        "kvUsageSpec": "trtllm_kv_cache_utilization",
        "cacheBlockSizeSpec": "trtllm_kv_cache_tokens_per_block",
        "cacheNumBlocksSpec": "trtllm_kv_cache_max_blocks",
    },
    "triton": {"queuedRequestsSpec": "nv_inference_pending_request_count"},
    "tgi": {"queuedRequestsSpec": "tgi_queue_size", "runningRequestsSpec": "tgi_batch_current_size"},
}


@pytest.mark.parametrize("line", RELEASES)
@pytest.mark.parametrize("engine", NEW)
def test_the_endpoint_picker_reads_the_metrics_of_the_engine(engine: str, line: str) -> None:
    service = planned(engine, line=line)
    document = yaml.safe_load(service["scheduler"]["config"])
    plugins = {item["type"]: item.get("parameters", {}) for item in document["plugins"]}
    extractor = next(parameters for kind, parameters in plugins.items() if kind in ("core-metrics-extractor", "model-server-protocol-metrics"))
    specs = {key: value for key, value in READ[engine].items() if line != "scheduler-0.7" or not key.startswith("cache")}
    assert extractor == {"defaultEngine": engine, "engineConfigs": [{"name": engine, **specs}]}
    path = plugins["metrics-data-source"].get("path", "/metrics")
    assert path == service["server"]["metrics_path"] == ("/prometheus/metrics" if engine == "trtllm" else "/metrics")
    section = document["data" if line == "scheduler-0.7" else "dataLayer"]
    assert [source["pluginRef"] for source in section["sources"]] == ["metrics-data-source"]


def test_plugins_of_the_user_read_the_metrics_of_the_engine() -> None:
    mine = {"plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}, {"type": "single-profile-handler"}]}
    mine["profiles"] = [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}, {"pluginRef": "max-score-picker"}]}]
    assert "tgi_queue_size" in planned("tgi", scheduler=mine)["scheduler"]["config"]


TWO, EIGHT, ROLES = {"accelerator": {"per_replica": 2}}, {"accelerator": {"per_replica": 8}}, {"scheduler": {"preset": "disaggregated"}}
REFUSED: list[tuple[str, str, Facts, Facts, str, str]] = [
    ("quantization", "trtllm", {"quantization": "fp8"}, {}, "engine.quantization", "is no option of TensorRT-LLM"),
    ("block size", "tgi", {"block_size": 16}, {}, "engine.block_size", "write type: vllm, simulator, sglang, trtllm or triton"),
    ("prefix caching", "tgi", {"prefix_caching": True}, {}, "engine.prefix_caching", "is no option of Text Generation Inference"),
    ("settings of the simulator", "sglang", {"simulator": {"seed": 1}}, {}, "engine.simulator", "is not for an engine of type sglang"),
    ("a version", "sglang", {"version": "0.5.20"}, {}, "engine.version", "is a version of vLLM"),
    ("data parallelism", "trtllm", {}, {"accelerator": {"per_replica": 4, "data": 2}}, "accelerator.data", "write type: vllm or sglang"),
    ("stages", "tgi", {}, {"accelerator": {"per_replica": 4, "pipeline": 2}}, "accelerator.pipeline", "write type: vllm, sglang, trtllm or triton"),
    ("experts", "tgi", {}, {"accelerator": {"per_replica": 4, "expert": True}}, "accelerator.expert", "is no option"),
    ("several nodes", "sglang", {}, {"accelerator": {"per_replica": 16, "nodes": 2}}, "accelerator.nodes", "groups of several nodes are not set up for SGLang"),
    ("another vendor", "trtllm", {}, {"accelerator": {"vendor": "amd"}}, "accelerator.vendor", "has no tested image of TensorRT-LLM"),
    ("a bucket", "sglang", {}, {"model": {"uri": "s3://b/m"}}, "model.uri", "cannot be opened by SGLang. Write hf:// or pvc:// or file://"),
    ("a slash", "triton", {}, {"model": {"uri": "hf://org/model"}}, "model.served_name", "Write a name without one, such as model"),
    ("a name", "tgi", {}, {"model": {"uri": "hf://org/model", "served_name": "m"}}, "model.served_name", "Write served_name: org/model"),
    ("the name of a folder", "tgi", {}, {"model": {"uri": "pvc://c/m"}}, "model.served_name", "Write served_name: /models/m"),
    ("its file", "trtllm", {"env": {"ENGINE_CONFIG": "{}"}}, {}, "engine.env.ENGINE_CONFIG", "would not take effect"),
    ("the log level twice", "tgi", {"log_level": "info", "env": {"LOG_LEVEL": "debug"}}, {}, "engine.env.LOG_LEVEL", "duplicates engine.log_level"),
    ("a flag twice", "sglang", {"quantization": "fp8", "args": ["--quantization=awq"]}, {}, "engine.args[0]", "duplicates engine.quantization"),
    ("an unknown argument", "sglang", {"args": ["--context-lenght=9"]}, {}, "engine.args[0]", "SGLang 0.5.20 knows no --context-lenght. Did you mean"),
    ("a flag with a value", "sglang", {"args": ["--enable-metrics=true"]}, {}, "engine.args[0]", "takes no value. Write --enable-metrics"),
    (
        "a warm-up without a cache",
        "sglang",
        {"args": ["--disable-radix-cache"]},
        {"warmup": {"prompts": ["You are the assistant of Example Ltd."]}},
        "engine.args[0]",
        "leaves no prefix cache that could be warmed up",
    ),
    ("another model", "sglang", {"args": ["--model=other"]}, {}, "engine.args[0]", "duplicates model.uri"),
    ("another tokenizer", "triton", {"args": ["--tokenizer=other"]}, {}, "engine.args[0]", "duplicates model.uri"),
    ("another port", "trtllm", {"args": ["--port=9"]}, {}, "engine.args[0]", "contradicts engine.port"),
    ("the beginning of a name", "triton", {"args": ["--openai-po=9100"]}, {}, "engine.args[0]", "contradicts engine.port"),
    ("another address", "triton", {"args": ["--hos=127.0.0.1"]}, {}, "engine.args[0]", "the server listens there only"),
    ("ports of KServe", "triton", {"args": ["--enable-kserve-frontends"]}, {}, "engine.port", "(--kserve-http-port). Write another port, such as 8080."),
    ("another of them", "triton", {"port": 8001, "args": ["--enable-kserve"]}, {}, "engine.port", "listens (--kserve-grpc-port)"),
    (
        "one that is set",
        "triton",
        {"port": 9000, "args": ["--enable-kserve-frontends", "--kserve-grpc-port=9000"]},
        {},
        "engine.port",
        "9000 is where Triton's KServe API",
    ),
    (
        "ports past the last one",
        "vllm",
        {"port": 65530, "args": ["-dp=8", "-dpm"]},
        EIGHT,
        "engine.port",
        "up to 65537, and 65535 is the last one. Write 65528",
    ),
    ("the ranks' supervisor", "vllm", {"port": 9250, "args": ["-dp=8", "-dpm"]}, EIGHT, "engine.port", "9256 is where the supervisor of vLLM's ranks"),
    ("where ranks meet", "vllm", {"args": ["-dp=8", "-dpm", "-dpp", "8007"]}, EIGHT, "engine.port", "(--data-parallel-rpc-port)"),
    ("gRPC beside it", "vllm", {"image": "vllm/vllm-openai:v0.32.0", "args": ["--grpc_port=8000"]}, {}, "engine.port", "where vLLM's gRPC server listens"),
    ("gRPC of SGLang", "sglang", {"args": ["--grpc-port", "8000"]}, {}, "engine.port", "SGLang's gRPC server listens"),
    ("gRPC by a variable", "sglang", {"env": {"SGLANG_GRPC_PORT": "8000"}}, {}, "engine.port", "SGLang's gRPC server listens"),
    ("no port at all", "sglang", {"args": ["--nccl-port=70000"]}, {}, "engine.args[0]", "is no port. Write 65535 or less."),
    ("nor by a variable", "sglang", {"env": {"SGLANG_GRPC_PORT": "70000"}}, {}, "engine.env.SGLANG_GRPC_PORT", "is no port. Write 65535 or less."),
    ("TGI's exporter", "tgi", {"port": 9000}, {}, "engine.port", "9000 is where TGI's exporter for Prometheus listens"),
    ("TGI's exporter elsewhere", "tgi", {"env": {"PROMETHEUS_PORT": "8000"}}, {}, "engine.port", "8000 is where TGI's exporter for Prometheus"),
    ("Ray", "vllm", {"port": 6379}, {"accelerator": {"per_replica": 4, "nodes": 2}}, "engine.port", "6379 is where the nodes of a server meet"),
    (
        "the leader",
        "vllm",
        {"port": 13345},
        {"accelerator": {"per_replica": 4, "nodes": 2, "across_nodes": "expert"}},
        "engine.port",
        "13345 is where the nodes of a server meet",
    ),
    (
        "events of ranks",
        "vllm",
        {"port": 5560, "args": ["-dp=8"]},
        {**EIGHT, "scheduler": {"preset": "precise_prefix"}},
        "engine.port",
        "5560 is where the server publishes its KV events",
    ),
    (
        "a transfer at no port",
        "vllm",
        {"env": {"VLLM_NIXL_SIDE_CHANNEL_PORT": "tcp://10.0.0.1:80"}},
        ROLES,
        "engine.env.VLLM_NIXL_SIDE_CHANNEL_PORT",
        'is no port, and vLLM reads one there. Write one in quotes, such as "5600".',
    ),
    ("ranks behind a sidecar", "vllm", {"port": 8201, "args": ["-dp=2", "-dpm"]}, {**TWO, **ROLES}, "engine.port", "a decode server listens behind"),
    (
        "the address of another",
        "vllm",
        {"env": {"VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1"}},
        ROLES,
        "engine.env.VLLM_NIXL_SIDE_CHANNEL_HOST",
        "which differs between prefill servers",
    ),
    ("context", "vllm", {"args": ["-pcp=2"]}, {}, "engine.args[0]", "--prefill-context-parallel-size=2 needs 2 accelerators"),
    ("context of TensorRT-LLM", "trtllm", {"args": ["--cp_size=2"]}, {}, "engine.args[0]", "needs 2 accelerators"),
    ("shared and divided", "sglang", {"args": ["--enable-dp-attention"]}, {"accelerator": {"per_replica": 2, "data": 2}}, "accelerator.data", "--dp-size in"),
    ("a letter", "tgi", {"args": ["-p9000"]}, {}, "engine.args[0]", "--port=9000 contradicts engine.port, which is 8000"),
    ("a letter and its value", "tgi", {"args": ["-p", "9000"]}, {}, "engine.args[0]", "contradicts engine.port"),
    ("shards by a variable", "tgi", {"env": {"NUM_SHARD": "4"}}, {}, "engine.env.NUM_SHARD", "Take it out, and write it under accelerator.per_replica."),
    (
        "a length by a variable",
        "tgi",
        {"max_model_len": 9, "env": {"MAX_TOTAL_TOKENS": "8"}},
        {},
        "engine.env.MAX_TOTAL_TOKENS",
        "engine.max_model_len, which is 9",
    ),
    ("too many", "trtllm", {"args": ["--tp_size=2"]}, {}, "engine.args[0]", "needs 2 accelerators"),
    ("KV events", "sglang", {}, {"scheduler": {"preset": "precise_prefix"}}, "scheduler", "asks for KV events, which the collection sets up for vLLM only"),
    ("roles", "sglang", {}, {"scheduler": {"preset": "disaggregated"}}, "scheduler", "Write preset: prefix_aware"),
    (
        "use of the cache",
        "tgi",
        {},
        {"scheduler": {"preset": "balanced"}},
        "scheduler",
        "has the scorer kv_cache, and Text Generation Inference",
    ),
    ("a scorer", "tgi", {}, {"scheduler": {"scorers": {"queue": 1, "kv_cache": 1}}}, "scheduler.scorers.kv_cache", "Write preset: queue"),
    ("adapters", "sglang", {}, {"scheduler": {"scorers": {"lora_affinity": 1}}}, "scheduler.scorers.lora_affinity", "exports no metric"),
    ("running requests", "triton", {}, {"scheduler": {"scorers": {"running_requests": 1}}}, "scheduler.scorers.running_requests", "exports no metric"),
    (
        "scaling by the cache",
        "tgi",
        {},
        {"autoscaling": {"provider": "hpa", "max": 3, "metrics": {"kv_cache": 0.5}}},
        "autoscaling.metrics.kv_cache",
        "is not exported by Text Generation Inference",
    ),
]


@pytest.mark.parametrize(("engine", "options", "service", "place", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_unsupported_or_conflicting_engine_options_are_refused_with_their_path(engine: str, options: Facts, service: Facts, place: str, words: str) -> None:
    reported = problems(file_of(engine, options, **service))
    assert [problem.path for problem in reported] == [f"{S0}.{place}"] and words in str(reported[0])


@pytest.mark.parametrize(
    ("engine", "options"),
    [
        ("tgi", {"env": {"MAX_TOTAL_TOKENS": "8", "NUM_SHARD": "1", "PORT": "8000", "MAX_CONCURRENT_REQUESTS": "9"}}),
        ("tgi", {"args": ["-p8000"]}),
        ("triton", {"args": ["--openai-po=8000", "--back=vllm"]}),
        ("triton", {"args": ["--enable-kserve-frontends", "--kserve-http-port=8010"]}),
        ("triton", {"args": ["--kserve-http-port=8000"]}),
        ("tgi", {"port": 9000, "args": ["--prometheus-port=9001"]}),
        ("tgi", {"port": 9000, "env": {"PROMETHEUS_PORT": "9001"}}),
        ("vllm", {"port": 9256}),
        ("vllm", {"args": ["--data-parallel-rpc-port=8000"]}),
        ("vllm", {"port": 65535}),
        ("sglang", {"args": ["--grpc-port=8001"]}),
        ("vllm", {"env": {"VLLM_NIXL_SIDE_CHANNEL_HOST": "$(POD_IP)"}}),
    ],
)
def test_arguments_that_agree_with_the_engine_options_are_accepted(engine: str, options: Facts) -> None:
    assert problems(file_of(engine, options)) == []


@pytest.mark.parametrize("engine", NEW)
def test_an_image_of_ones_own_runs_on_any_accelerator(engine: str) -> None:
    assert main(planned(engine, {"image": "mine/server:v1"}, accelerator={"vendor": "amd"})["server"])["resources"]["limits"] == {"amd.com/gpu": 1}


def test_warnings_about_an_engine_are_in_the_notes() -> None:
    assert "only maintains Text Generation Inference" in planned("tgi")["scheduler"]["notes"][0]
    assert planned("sglang")["scheduler"]["notes"] == []
    warmed = {"prompts": ["You are the assistant of Example Ltd. Answer from its handbook only."]}
    assert planned("sglang", warmup=warmed)["scheduler"]["notes"] == []
    assert "the effect of the warm-up cannot be checked" in planned("triton", warmup=warmed)["scheduler"]["notes"][1]


def test_alerts_and_autoscalers_use_metrics_that_the_engine_exports() -> None:
    scaling = {"provider": "keda", "max": 3, "prometheus": "http://p:9090", "metrics": {"requests_per_second": 2, "queue": 5}}
    service = plan({**file_of("sglang", autoscaling=scaling), "llm_d_monitoring": {"alerts": True, "scrape": True}})["services"][0]
    text = json.dumps([service["server"]["autoscaling"], service["alerts"]])
    assert "sglang:num_requests_total" in text and "vllm:" not in text
    limits = {"alerts": {"ttft_p99": 2}, "scrape": True}
    less = plan({**file_of("tgi"), "llm_d_monitoring": limits})["services"][0]
    names = {rule["alert"] for group in less["alerts"]["groups"] for rule in group["rules"]}
    assert "LlmDQueueHigh" in names and not names & {"LlmDKvCacheFull", "LlmDServerStuck", "LlmDFirstTokenSlow"}
    assert [monitor["path"] for monitor in plan({**file_of("trtllm"), "llm_d_monitoring": limits})["services"][0]["monitors"]] == [
        "/prometheus/metrics",
        "/metrics",
    ]


def test_every_option_belongs_to_an_engine_and_all_have_model_and_port() -> None:
    for name, facts in ENGINE_DEFAULTS.items():
        assert {*facts["flags"], *facts["file"]} <= set(OPTIONS) and has_option(name, "model") and has_option(name, "port")
    assert engines_with("data") == "vllm or sglang" and all(engines_with(option) for option in OPTIONS)
