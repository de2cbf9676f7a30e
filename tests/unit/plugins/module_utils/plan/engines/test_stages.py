# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prefill servers that differ from decode servers: their own options, settings that must be equal in both, and the paths of mistakes."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.engines.stages import AGREED_FLAGS, AGREED_VARIABLES
from planned_pods import main, spec

Facts = dict[str, t.Any]
SPLIT: Facts = {
    "name": "a",
    "model": {"uri": "hf://o/m"},
    "accelerator": {"per_replica": 4, "product": "H200"},
    "resources": {"requests": {"cpu": "8", "memory": "64Gi"}},
    "engine": {"max_num_seqs": 256, "args": ["--enforce-eager"], "env": {"BOTH": "1", "LEVEL": "1"}},
    "scheduler": {"preset": "disaggregated"},
}
SHAPE: Facts = {
    "replicas": 4,
    "accelerator": {"per_replica": 1, "product": "L40S"},
    "resources": {"requests": {"cpu": "2", "memory": "16Gi"}},
    "engine": {"max_num_seqs": 16, "gpu_memory_utilization": 0.95, "args": ["--max-num-batched-tokens=16384"], "env": {"LEVEL": "2"}},
    "pod": {"priorityClassName": "low"},
}
SIM: Facts = {"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "scheduler": {"preset": "disaggregated"}}


def file_of(prefill: Facts | None = None, service: Facts | None = None, **options: t.Any) -> Facts:
    return {"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [{**(service or SPLIT), "prefill": prefill or {}, **options}]}


def stages(*given: t.Any, **options: t.Any) -> tuple[Facts, Facts]:
    """The planned (decode, prefill) servers."""
    decode, prefill = plan(file_of(*given, **options))["services"][0]["servers"]
    return decode, prefill


def refusals(*given: t.Any, **options: t.Any) -> dict[str, str]:
    parts = (str(problem).removeprefix("llm_d_model_services[0].").partition(": ") for problem in problems(file_of(*given, **options)))
    return {path: rest for path, _colon, rest in parts}


def values(server: Facts, *names: str) -> list[str | None]:
    """The values of these environment variables of the server's container."""
    env = {item["name"]: item.get("value") for item in main(server)["env"]}
    return [env.get(name) for name in names]


def test_prefill_options_change_prefill_servers_and_no_decode_servers() -> None:
    before, (decode, prefill) = stages(), stages(SHAPE)
    assert decode == before[0] and prefill["replicas"] == 4
    server = main(prefill)
    assert server["resources"] == {"requests": {"cpu": "2", "memory": "16Gi", "nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 1}}
    assert main(decode)["resources"]["limits"] == {"nvidia.com/gpu": 4}
    prefill_args, decode_args = server["args"], main(decode)["args"]
    assert (
        "--max-num-seqs=16" in prefill_args
        and "--gpu-memory-utilization=0.95" in prefill_args
        and not [each for each in prefill_args if "tensor-parallel" in each]
    )
    assert prefill_args[-2:] == ["--enforce-eager", "--max-num-batched-tokens=16384"]
    assert (
        "--max-num-seqs=256" in decode_args
        and "--tensor-parallel-size=4" in decode_args
        and decode_args[-1] == "--enforce-eager"
        and not [each for each in decode_args if "memory" in each]
    )
    assert values(prefill, "BOTH", "LEVEL") == ["1", "2"] and values(decode, "BOTH", "LEVEL") == ["1", "1"]
    (term,) = spec(prefill)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["L40S"] and spec(prefill)["priorityClassName"] == "low"


def test_prefill_servers_inherit_the_options_that_prefill_omits() -> None:
    decode, prefill = stages({"engine": {"args": ["--seed=1"]}, "accelerator": {"data": 2}})
    assert main(prefill)["resources"] == main(decode)["resources"] and "--data-parallel-size=2" in main(prefill)["args"]
    assert "--tensor-parallel-size=2" in main(prefill)["args"] and "--max-num-seqs=256" in main(prefill)["args"]


def test_simulated_prefill_servers_have_other_times() -> None:
    decode, prefill = stages({"engine": {"simulator": {"time_to_first_token": "2s"}, "max_num_seqs": 2}}, SIM)
    assert (
        "--time-to-first-token=2s" in main(prefill)["args"]
        and "--kv-cache-size=1024" not in main(prefill)["args"]
        and "--max-num-seqs=2" in main(prefill)["args"]
    )
    assert not [each for each in main(decode)["args"] if each.startswith(("--time", "--max-num-seqs"))]
    engine = {**SIM["engine"], "simulator": {"kv_cache_size": 64, "seed": 3}}
    _decode, prefill = stages({"engine": {"simulator": {"seed": 4}}}, SIM, engine=engine)
    assert {"--kv-cache-size=64", "--seed=4"} <= {*main(prefill)["args"]}


@pytest.mark.parametrize("flag", AGREED_FLAGS)
def test_arguments_common_to_both_stages_are_refused_under_prefill(flag: str) -> None:
    for args in ([f"--{flag}=x"], [f"--{flag}", "x"], ["--seed=1", f"--{flag.replace('-', '_')}=x"]):
        ((path, message),) = refusals({"engine": {"args": args}}).items()
        assert path == f"prefill.engine.args[{len(args) - 1 if args[0] == '--seed=1' else 0}]" and message.startswith("is of both stages: "), message


@pytest.mark.parametrize("argument", ["--attention-config.backend=FLASHINFER", '-ac={"backend":"FLASHINFER"}', "--hf-overrides.rope_theta=5", "-qfp8"])
def test_parts_and_short_forms_of_arguments_common_to_both_stages_are_refused(argument: str) -> None:
    ((path, message),) = refusals({"engine": {"args": ["--seed=1", argument]}}).items()
    assert path == "prefill.engine.args[1]" and message.startswith("is of both stages: ")


@pytest.mark.parametrize("name", AGREED_VARIABLES)
def test_variables_that_both_agree_on_are_written_once(name: str) -> None:
    assert list(refusals({"engine": {"env": {name: "x"}}})) == [f"prefill.engine.env.{name}"]


@pytest.mark.parametrize(
    ("prefill", "options", "path", "reason"),
    [
        ({"engine": {"block_size": 32}}, {}, "prefill.engine.block_size", "there is no such option"),
        ({"engine": {"type": "simulator"}}, {}, "prefill.engine.type", "there is no such option"),
        ({"accelerator": {"vendor": "amd"}}, {}, "prefill.accelerator.vendor", "there is no such option"),
        ({"max_num_seqs": 4}, {}, "prefill.max_num_seqs", "there is no such option. Write it under engine."),
        ({"engine": {"args": ["--no-such-flag"]}}, {}, "prefill.engine.args[0]", "vLLM 0."),
        (
            {"engine": {"args": ["--max-num-seqs=3"], "max_num_seqs": 4}},
            {},
            "prefill.engine.args[0]",
            "--max-num-seqs=3 contradicts engine.max_num_seqs, which is 4",
        ),
        ({"engine": {"args": ["--max-num-seqs=3"]}}, {}, "prefill.engine.args[0]", "--max-num-seqs=3 contradicts engine.max_num_seqs, which is 256"),
        ({"engine": {"env": {"A": {"key": "x"}}}}, {}, "prefill.engine.env.A", "names no Secret"),
        ({"engine": {"env": {"VLLM_API_KEY": "x"}}}, {}, "prefill.engine.env.VLLM_API_KEY", "gives the servers an API key"),
        ({"engine": {"args": ["--api-key=x"]}}, {}, "prefill.engine.args[0]", "gives the servers an API key"),
        ({"engine": {"simulator": {"seed": 1}}}, {}, "prefill.engine.simulator", "is not for an engine of type vllm"),
        ({"accelerator": {"per_replica": 2, "resource": "nvidia.com/mig-1g.5gb"}}, {}, "prefill.accelerator.per_replica", "a process sees one MIG slice only"),
        ({"resources": {"limits": {"nvidia.com/gpu": 3}}}, {}, "prefill.resources.limits.nvidia.com/gpu", "contradicts accelerator.per_replica (4)"),
        ({"accelerator": {"per_replica": 2}}, {"engine": {"args": ["--tensor-parallel-size=4"]}}, "engine.args[0]", ""),
        (
            {"accelerator": {"per_replica": 2}},
            {"resources": {"limits": {"nvidia.com/gpu": 4}}},
            "resources.limits.nvidia.com/gpu",
            "contradicts accelerator.per",
        ),
        ({"engine": {"max_num_seqs": 0}}, {}, "prefill.engine.max_num_seqs", "0 is less than 1"),
    ],
)
def test_a_mistake_is_reported_where_it_is_written(prefill: Facts, options: Facts, path: str, reason: str) -> None:
    reported = refusals(prefill, **options)
    assert list(reported) == [path] and reported[path].startswith(reason), reported


def test_mistakes_of_both_stages_are_reported_together_and_each_once() -> None:
    twice = {"max_num_seqs": 4, "args": ["--max-num-seqs=3"]}
    assert sorted(refusals({"engine": {"env": {"VLLM_API_KEY": "x"}}}, engine=twice)) == ["engine.args[0]", "prefill.engine.env.VLLM_API_KEY"]
    assert list(refusals({"engine": {"max_num_seqs": 9}}, engine=twice)) == ["engine.args[0]"]
    assert list(refusals({"engine": {"args": ["--seed=1"]}}, engine={"args": ["--no-such-flag"]})) == ["engine.args[0]"]


def test_a_platform_whose_gpu_runtime_is_not_the_default_gets_a_warning() -> None:
    def notes(platform: str = "k3s", **variables: t.Any) -> list[str]:
        file = {**file_of({}, {**SPLIT, **variables.pop("service", {})}), "llm_d_platform": platform, **variables}
        return [note for note in plan(file)["services"][0]["scheduler"]["notes"] if "runtime class" in note]

    (note,) = notes()
    assert note == (
        "a: k3s gives GPUs to pods of the runtime class nvidia, unless that is its default runtime. Write 'pod: {runtimeClassName: nvidia}', or have NVIDIA's"
        " operator installed."
    )
    operated = {"llm_d_gpus": {"operator": "nvidia_helm"}, "llm_d_charts": {"envoy_gateway": "/c", "gpu_operator": "/c"}}
    assert notes("kubernetes") == notes("microk8s") == notes(**operated) == notes(service={"pod": {"runtimeClassName": "other"}}) == []
    assert notes(service={"engine": {"type": "simulator"}, "model": {"served_name": "m"}, "accelerator": {}}) == [] and notes("rke2")


def test_a_note_explains_stages_that_divide_the_model_differently() -> None:
    def notes(*given: t.Any, **options: t.Any) -> list[str]:
        return [note for note in plan(file_of(*given, **options))["services"][0]["scheduler"]["notes"] if "divide the model" in note]

    (note,) = notes(SHAPE)
    assert "among 1 accelerators and decode servers among 4." in note and "Mamba" in note
    assert notes() == notes({"accelerator": {"per_replica": 8, "data": 2}}) == notes(SHAPE, scheduler={"preset": "queue"}) == notes({"replicas": 3}, SIM) == []
