# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments that the planned version of vLLM does not accept are refused at their place in the user's file."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.engines import validate_vllm
from ansible_collections.llm_d.inference.plugins.module_utils.releases.vllm import Misfit
from planned_pods import main

Facts = dict[str, t.Any]
PLACE = "llm_d_model_services[0]"
MISSPELLED = ["--seed", "1", "--max_num_sequences=3"]


def file_of(service: Facts, **variables: t.Any) -> Facts:
    service = {"name": "a", "model": {"uri": "hf://org/model"}, **service}
    return {"llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": [service], **variables}


def refusals(service: Facts, **variables: t.Any) -> list[tuple[str, str]]:
    return [(problem.path, str(problem)) for problem in problems(file_of(service, **variables))]


@pytest.mark.parametrize(
    ("engine", "variables", "refused"),
    [
        ({"image": "vllm/vllm-openai:v0.15.0"}, {}, True),
        ({"image": "mine/vllm-openai:v0.15.0-cu129"}, {}, True),
        ({"image": "mine/vllm-openai:latest"}, {}, False),
        ({"image": f"mine/vllm-openai@sha256:{'01' * 32}"}, {}, False),
        ({"image": "mine/vllm-openai:latest", "version": "0.15"}, {}, True),
        ({"image": "mine/vllm-openai:v99.0.0"}, {}, False),
        ({"image": "mine/llm-d-cuda:v0.15.0"}, {}, False),
        ({}, {}, True),
        ({}, {"llm_d_images": {"vllm": "mine/vllm:nightly"}}, False),
        ({}, {"llm_d_images": {"vllm": "mine/vllm:v0.15.0"}}, True),
        ({"version": "v0.15.0"}, {"llm_d_images": {"vllm": "mine/vllm:nightly"}}, True),
    ],
)
def test_the_version_is_that_of_the_option_or_of_the_images_tag(engine: Facts, variables: Facts, refused: bool) -> None:
    reported = refusals({"engine": {"args": MISSPELLED, **engine}}, **variables)
    assert [path for path, _text in reported] == ([f"{PLACE}.engine.args[2]"] if refused else [])
    assert not refused or "knows no --max-num-sequences. Did you mean --max-num-seqs?" in reported[0][1]


@pytest.mark.parametrize(
    ("service", "place", "words"),
    [
        ({"engine": {"image": "mine/server:1", "version": "0.15.0", "args": ["--max-model-length=9"]}}, "engine.args[0]", "Did you mean --max-model-len?"),
        (
            {"engine": {"image": "mine/server:1", "version": "0.15.0", "args": ["--seed=one"]}},
            "engine.args[0]",
            "--seed=one is not a whole number. Write a whole number.",
        ),
        ({"engine": {"image": "mine/server:1", "version": "0.15.0", "args": ["--seed 1"]}}, "engine.args[0]", "Write --seed=1."),
        (
            {"engine": {"image": "mine/server:1", "version": "0.15.0", "args": ["--kv-cache-dtype=quick"]}},
            "engine.args[0]",
            "is not one of the choices of vLLM 0.15",
        ),
        (
            {"engine": {"image": "mine/server:1", "version": "0.15.0", "args": ["--xyzzy=1"]}, "scheduler": {"preset": "disaggregated"}},
            "engine.args[0]",
            "vLLM 0.15 knows no --xyzzy. Take it out.",
        ),
        (
            {
                "engine": {"image": "mine/server:1", "version": "0.15.0", "args": ["--xyzzy=1"]},
                "accelerator": {"per_replica": 4, "nodes": 2, "across_nodes": "expert"},
            },
            "engine.args[0]",
            "vLLM 0.15 knows no --xyzzy. Take it out.",
        ),
        (
            {"engine": {"type": "simulator", "version": "0.15.0"}, "model": {"served_name": "m"}},
            "engine.version",
            "is a version of vLLM, and",
        ),
        ({"engine": {"version": "new"}}, "engine.version", "a version such as 1.29.2"),
    ],
)
def test_a_mistake_is_named_once_at_its_place(service: Facts, place: str, words: str) -> None:
    ((path, text),) = refusals(service)
    assert path == f"{PLACE}.{place}" and words in text


@pytest.mark.parametrize(
    ("flag", "service", "place"),
    [
        ("--kv-events-config", {"scheduler": {"preset": "precise_prefix"}}, "scheduler"),
        ("--block-size", {"scheduler": {"preset": "precise_prefix"}}, "scheduler"),
        ("--block-size", {"engine": {"block_size": 32}}, "engine.block_size"),
        ("--kv-transfer-config", {"scheduler": {"preset": "disaggregated"}}, "scheduler"),
        ("--enable-prompt-tokens-details", {}, "engine.type"),
        ("--no-enable-prefix-caching", {"engine": {"prefix_caching": False}}, "engine.prefix_caching"),
        ("--max-num-seqs", {"engine": {"max_num_seqs": 3}}, "engine.max_num_seqs"),
        ("--quantization", {"engine": {"quantization": "fp8"}}, "engine.quantization"),
        ("--revision", {"model": {"uri": "hf://org/model", "revision": "v1"}}, "model.revision"),
        ("--load-format", {"model": {"uri": "s3://bucket/model"}}, "model.uri"),
        ("--tensor-parallel-size", {"accelerator": {"per_replica": 2}}, "accelerator.per_replica"),
        ("--pipeline-parallel-size", {"accelerator": {"per_replica": 4, "nodes": 2}}, "accelerator.nodes"),
        ("--data-parallel-start-rank", {"accelerator": {"per_replica": 4, "nodes": 2, "across_nodes": "expert"}}, "accelerator.across_nodes"),
        ("--port", {}, "engine.port"),
    ],
)
def test_an_argument_that_an_option_brings_is_refused_there(flag: str, service: Facts, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(arguments: t.Sequence[str], version: str, choices: bool) -> list[Misfit]:
        return [Misfit(index, flag, "is gone.", "Take it out.") for index, argument in enumerate(arguments) if argument.partition("=")[0] == flag]

    assert refusals(service) == []
    monkeypatch.setattr(validate_vllm, "misfits", without)
    ((path, text),) = refusals(service)
    assert path == f"{PLACE}.{place}" and f"brings {flag}: is gone. Take it out." in text


def test_a_platform_that_is_a_plugin_of_vllm_has_choices_of_its_own() -> None:
    engine = {"image": "mine/vllm-gaudi:v0.15.0", "args": ["--kv-cache-dtype=own"]}
    assert refusals({"engine": engine, "accelerator": {"vendor": "intel_gaudi"}}) == []
    ((path, text),) = refusals({"engine": engine})
    assert path == f"{PLACE}.engine.args[0]" and "is not one of the choices of vLLM 0.15" in text


@pytest.mark.parametrize(
    ("line", "engine", "scheduler", "refused"),
    [
        ("scheduler-0.7", {"image": "mine/server:1", "version": "0.24.0"}, {"preset": "precise_prefix"}, True),
        ("scheduler-0.7", {"image": "mine/vllm-openai:v0.30.0"}, {"preset": "precise_prefix"}, True),
        ("scheduler-0.7", {"image": "mine/server:1", "version": "0.24"}, {"scorers": {"precise_prefix": 1}}, True),
        ("scheduler-0.7", {"image": "mine/server:1", "version": "0.23.1"}, {"preset": "precise_prefix"}, False),
        ("scheduler-0.7", {"image": "mine/vllm-openai:latest"}, {"preset": "precise_prefix"}, False),
        ("scheduler-0.7", {"image": "mine/server:1", "version": "0.24.0"}, {"preset": "prefix_aware"}, False),
        ("scheduler-0.7", {"type": "simulator"}, {"preset": "precise_prefix"}, False),
        ("router-0.9", {"image": "mine/server:1", "version": "0.24.0"}, {"preset": "precise_prefix"}, False),
    ],
)
def test_kv_events_that_the_endpoint_picker_does_not_read_are_refused(line: str, engine: Facts, scheduler: Facts, refused: bool) -> None:
    """Otherwise it drops all of them, and precise prefix matching matches nothing."""
    reported = refusals({"engine": engine, "scheduler": scheduler}, llm_d_release=line)
    assert [path for path, _text in reported] == ([f"{PLACE}.scheduler"] if refused else []), reported
    assert not refused or ("their encoding changed in 0.24.0" in reported[0][1] and "llm_d_release: router-0.9 or router-0.10" in reported[0][1])


@pytest.mark.parametrize(
    ("engine", "variables", "refused"),
    [
        ({"image": "vllm/vllm-openai:v0.15.0", "version": "0.15"}, {}, False),
        ({"image": "vllm/vllm-openai:v0.15.1", "version": "0.15"}, {}, False),
        ({"image": "vllm/vllm-openai:v0.15.0", "version": "v0.15.0"}, {}, False),
        ({"image": "vllm/vllm-openai:nightly", "version": "0.15"}, {}, False),
        ({"image": "vllm/vllm-openai:v0.15.0", "version": "0.15.1"}, {}, True),
        ({"image": "vllm/vllm-openai:v0.15.0", "version": "0.14"}, {}, True),
        ({"image": "registry.example.com:5000/mirror/vllm/vllm-openai-rocm:v0.15.0", "version": "0.15.1"}, {}, True),
        ({"version": "0.15.0"}, {}, True),
        ({"version": "0.15.0"}, {"llm_d_images": {"vllm": "mirror.example.com/vllm/vllm-openai:v0.15.0"}}, False),
        ({"version": "0.15.0"}, {"llm_d_images": {"vllm": "mirror.example.com/vllm/vllm-openai:v0.16.0"}}, True),
        ({"image": "nvcr.io/nvidia/vllm:25.09-py3", "version": "0.11.0"}, {}, False),
        ({"image": "registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.2.1", "version": "0.11.0"}, {}, False),
        ({"image": "vault.habana.ai/vllm-gaudi:1.22.0", "version": "0.11.0"}, {}, False),
        ({"image": "rocm/vllm:7.0.0_rocm_vllm_0.11.0", "version": "0.11.0"}, {}, False),
        ({"image": "mine/vllm:2.0", "version": "0.15.0"}, {}, False),
        ({"image": "mine/vllm-openai:v0.15.0", "version": "0.15.1"}, {}, False),
    ],
)
def test_a_version_that_is_not_the_images_is_refused(engine: Facts, variables: Facts, refused: bool) -> None:
    reported = refusals({"engine": engine}, **variables)
    assert [path for path, _text in reported] == ([f"{PLACE}.engine.version"] if refused else []) and (not refused or "whose tag says" in reported[0][1])


@pytest.mark.parametrize(
    ("arguments", "index", "words"),
    [
        (["--served_model_name=other"], 0, "contradicts model.served_name"),
        (["--seed=1", "--served_model=other"], 1, "contradicts model.served_name"),
        (["--block_size", "64"], 0, "contradicts engine.block_size"),
        (["--max_model_len=9"], 0, "contradicts engine.max_model_len"),
        (["--max-num_seqs", "9"], 0, "contradicts engine.max_num_seqs"),
        (["--por=9"], 0, "contradicts engine.port"),
        (["--tensor_parallel_size=4"], 0, "needs 4 accelerators"),
        (["--tensor-para=4"], 0, "needs 4 accelerators"),
        (["--no_enable_prefix_caching"], 0, "duplicates engine.prefix_caching"),
        (["-q=fp8"], 0, "duplicates engine.quantization"),
        (["--seed=1", "-qfp8"], 1, "duplicates engine.quantization"),
        (["-n2"], 0, "--nnodes: "),
        (["-r1"], 0, "--node-rank: "),
        (["-as", "0"], 0, "--api-server-count: "),
    ],
)
def test_a_contradiction_is_refused_in_every_spelling_that_vllm_accepts(arguments: list[str], index: int, words: str) -> None:
    options = {"block_size": 16, "max_model_len": 4096, "max_num_seqs": 8, "prefix_caching": True, "quantization": "awq"}
    ((path, text),) = refusals({"engine": {**options, "args": arguments}, "accelerator": {"per_replica": 2}})
    assert path == f"{PLACE}.engine.args[{index}]" and words in text


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("16384", None),
        ("16K", None),
        (" 16K", None),
        ("16.384k", None),
        ("16k", "write engine.max_model_len: 16000."),
        ("1M", "write engine.max_model_len: 1048576."),
        ("auto", "Take it out, or take out engine.max_model_len."),
    ],
)
def test_numbers_are_compared_as_vllm_reads_them(written: str, fix: str | None) -> None:
    reported = refusals({"engine": {"max_model_len": 16384, "args": [f"--max-model-len={written}"]}})
    assert [path for path, _text in reported] == ([f"{PLACE}.engine.args[0]"] if fix else []) and (not fix or fix in reported[0][1])


def test_an_option_that_arguments_set_in_another_spelling_is_not_repeated() -> None:
    service = {"name": "a", "model": {"uri": "hf://org/model"}, "engine": {"args": ["--max_model_len=9", "-tp", "1"]}}
    (made,) = plan(file_of(service))["services"]
    assert [argument for argument in made["server"]["args"] if "max" in argument] == ["--max-model-len=9"]
    assert made["server"]["args"][-2:] == ["--tensor-parallel-size", "1"]


@pytest.mark.parametrize("nodes", [1, 2])
def test_servers_get_arguments_as_they_are_written(nodes: int) -> None:
    """Spelling out arguments changes no pod: otherwise a later version of the collection that knows more arguments would restart all servers."""
    written = ["--max_model_len=9", "--compilation_config.level=3", "-cc.mode", "1", "--max-num-se", "7", "--seed=1"]
    accelerator = {"vendor": "nvidia", "per_replica": 2, "nodes": nodes}
    service = {"name": "a", "model": {"uri": "hf://org/model"}, "accelerator": accelerator, "engine": {"args": written}}
    server = plan(file_of(service))["services"][0]["server"]
    assert main(server)["args"] == [*server["args"][: -len(written)], *written] and "--max-model-len=9" in server["args"]
    assert not server["worker"] or main(server["worker"])["args"] == [], "with Ray a worker serves nothing by itself"


def test_a_port_argument_that_the_sidecar_uses_is_replaced_for_the_server() -> None:
    prefill = {"replicas": 1}
    service = {"name": "a", "model": {"uri": "hf://org/model"}, "accelerator": {"vendor": "nvidia", "per_replica": 1}, "prefill": prefill}
    made = plan(file_of({**service, "scheduler": {"preset": "disaggregated"}, "engine": {"args": ["--port=8000", "--seed=1"]}}))["services"][0]["server"]
    assert main(made)["args"][-2:] == ["--port=8200", "--seed=1"]


@pytest.mark.parametrize(
    ("preset", "arguments", "words"),
    [
        ("precise_prefix", ["--kv-events-config.enable_kv_cache_events=false"], "they are not switched on here"),
        ("precise_prefix", ["--kv-events-config.endpoint=tcp://*:6000"], "they are not switched on here"),
        ("precise_prefix", ["--seed=1", "--kv_events_config.replay_endpoint", "tcp://*:5600"], 'Write "enable_kv_cache_events": true in it, or take it out'),
        ("precise_prefix", ["--kv-events-config.enable_kv_cache_events=true"], "has no topic kv@ADDRESS:PORT@MODEL"),
        (
            "precise_prefix",
            ['--kv-events-config={"enable_kv_cache_events": true, "topic": "kv@$(POD_IP):8000@m"}', "--kv-events-config.a=1"],
            "not switched on",
        ),
        (
            "disaggregated",
            ["--kv-transfer-config.kv_buffer_size=5e9"],
            'names no kv_connector: decode servers would get nothing from prefill servers. Write "kv_c',
        ),
        ("disaggregated", ['--kv-transfer-config={"kv_role": "kv_both"}'], "names no kv_connector"),
        ("disaggregated", ["--kv-transfer-config={"], "names no kv_connector"),
    ],
)
def test_json_that_replaces_what_the_scheduler_needs_is_refused_whole_or_in_parts(preset: str, arguments: list[str], words: str) -> None:
    ((path, text),) = refusals({"engine": {"args": arguments}, "scheduler": {"preset": preset}})
    assert path == f"{PLACE}.engine.args[{1 if arguments[0] == '--seed=1' else 0}]" and words in text


@pytest.mark.parametrize(
    ("preset", "arguments"),
    [
        ("prefix_aware", ["--kv-events-config.enable_kv_cache_events=false"]),
        ("disaggregated", ["--kv-transfer-config.kv_connector=Own", "--kv-transfer-config.kv_role=kv_both"]),
        ("precise_prefix", [f"--kv-events-config.{part}" for part in ("enable_kv_cache_events=true", "publisher=zmq", "topic=kv@$(POD_IP):8000@org/model")]),
    ],
)
def test_json_arguments_that_fit_the_scheduler_are_accepted_and_merged(preset: str, arguments: list[str]) -> None:
    assert refusals({"engine": {"args": arguments}, "scheduler": {"preset": preset}}) == []
    (made,) = plan(file_of({"engine": {"args": arguments}, "scheduler": {"preset": preset}}))["services"]
    name = arguments[0].partition(".")[0]
    given = {argument for argument in made["server"]["args"] if argument.startswith(name)}
    assert len(given) == 1, "one configuration, however often it is written"
