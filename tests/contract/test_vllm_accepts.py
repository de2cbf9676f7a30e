# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each recorded version of vLLM accepts every planned argument, or the plan refuses the combination with the reason."""

from __future__ import annotations

import functools
import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import PRESETS
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import ENGINE_DEFAULTS
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.vllm import VERSIONS, misfits, neighbours, options, version_of
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render
from plays import ROOT

Facts = dict[str, t.Any]
TEMPLATE = ROOT / "roles/model_service/templates/servers.yml.j2"
OWN = "registry.example.com/team/server:1"  # without a version
MODEL = {"uri": "hf://org/model"}
# Options that change the command line.
WAYS: dict[str, Facts] = {
    "plain": {},
    "tuned": {
        "model": {**MODEL, "revision": "v1", "served_name": "m"},
        "engine": {
            "port": 9000, "max_model_len": 4096, "max_num_seqs": 64, "block_size": 32, "prefix_caching": True, "gpu_memory_utilization": 0.8,
            "quantization": "fp8", "log_level": "debug",
        },
    },
    "without prefix caching": {"engine": {"prefix_caching": False}},
    "adapters": {"model": {"uri": "hf://o/m", "adapters": [{"name": "a", "source": "/models/a"}, {"name": "b", "source": "o/b"}]}},
    "adapters at run time": {"model": {"uri": "hf://o/m", "adapters_at_runtime": True}},
    "lora": {"engine": {"args": ["--enable-lora", "--max-loras=4", "--max-lora-rank", "32", "--lora-modules", "a=/models/a", "b=/models/b"]}},
    "warm-up": {"warmup": {"prompts": ["You are the patient assistant of a shop for boots, and you answer in one sentence."]}},
    "tensor parallel": {"accelerator": {"per_replica": 4}},
    "tensor and pipeline parallel": {"accelerator": {"per_replica": 4, "pipeline": 2}},
    "data and expert parallel": {"accelerator": {"per_replica": 8, "data": 4, "expert": True}},
    "two nodes, pipeline": {"accelerator": {"per_replica": 16, "nodes": 2}},
    "two nodes, expert": {"accelerator": {"per_replica": 16, "nodes": 2, "across_nodes": "expert"}},
    "cached by vllm": {"cache": {"device_size": "4Gi", "cpu_size": "8Gi"}},
    "cached by LMCache": {"cache": {"cpu_size": "8Gi", "disk": {"size": "50Gi"}}},
    "bucket": {"model": {"uri": "s3://bucket/org/model"}},
    "volume": {"model": {"uri": "pvc://claim/org/model"}},
    "cpu": {"accelerator": {"vendor": "none"}},
}  # fmt: skip


def file_of(preset: str, release: str, way: str, **engine: t.Any) -> Facts:
    service = {"name": "a", "model": MODEL, "scheduler": {"preset": preset}, **WAYS[way]}
    service["engine"] = {"image": OWN, **service.get("engine", {}), **engine}
    return {"llm_d_release": release, "llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": [service]}


@functools.cache
def rendered() -> dict[tuple[str, str, str], list[list[str]]]:
    """(preset, release line, way) -> the arguments of `vllm serve` after the model, for each kind of pod."""
    by_case = {}
    for preset in PRESETS:
        for release in RELEASES:
            for way in WAYS:
                file = file_of(preset, release, way)
                if not problems(file):
                    by_case[preset, release, way] = [line for item in render(TEMPLATE, plan(file)) for line in lines(item)]
    return by_case


def lines(item: Facts) -> t.Iterator[list[str]]:
    spec = item.get("spec", {})
    groups = spec.get("leaderWorkerTemplate", {})
    for template in (spec.get("template"), groups.get("leaderTemplate"), groups.get("workerTemplate")):
        container = template["spec"]["containers"][0] if template else {}
        script = container.get("command", [""])[2] if container.get("command", [""])[0] == "/bin/bash" else " ".join(container.get("command", []))
        if "vllm serve" in script:
            assert not container["args"][0].startswith("-"), "the model comes first"
            # A flag in the script of a worker, whose value is computed by its shell.
            in_script = [f"{flag}=1" for flag in re.findall(r"(--[a-z-]+)=", script.partition("vllm serve")[2])]
            yield [*in_script, *container["args"][1:]]


def test_rendered_arguments_cover_all_presets_and_release_lines() -> None:
    by_case = rendered()
    assert {key[0] for key in by_case} == set(PRESETS) and {key[1] for key in by_case} == set(RELEASES) and {key[2] for key in by_case} == set(WAYS)
    assert all(by_case.values())
    flags = {argument.partition("=")[0] for rows in by_case.values() for line in rows for argument in line}
    assert {"--kv-events-config", "--kv-transfer-config", "--data-parallel-start-rank", "--pipeline-parallel-size", "--enable-prompt-tokens-details"} <= flags


@pytest.mark.parametrize("version", VERSIONS)
def test_each_vllm_version_accepts_every_argument_or_the_plan_refuses_it(version: str) -> None:
    for key, rows in rendered().items():
        rejected = [misfit for line in rows for misfit in misfits(line, version)]
        names = {argument.partition("=")[0] for line in rows for argument in line if argument.startswith("--")}
        assert {name for name in names if name not in options(version)} == {misfit.flag for misfit in rejected if misfit.flag not in options(version)}
        refused = problems(file_of(*key, version=version)) if rejected or key[:2] == ("precise_prefix", "scheduler-0.7") else []
        refused = [problem for problem in refused if "does not read the KV events" not in problem.reason]
        assert bool(refused) == bool(rejected), (key, refused, rejected)
        for misfit in rejected:
            assert any(misfit.reason in problem.reason and problem.fix for problem in refused), (key, misfit)


def test_the_default_image_is_recorded() -> None:
    """Otherwise its arguments are not checked, or only against the neighbouring versions."""
    version = version_of(ENGINE_DEFAULTS["vllm"]["image"])
    assert version and len(neighbours(version)) == 1, f"python tools/record_vllm.py {version}"


def test_the_default_image_knows_all_of_them() -> None:
    """Combinations without a custom image are planned with the version of the default image."""
    for preset, release, way in rendered():
        if way != "cpu" and (preset, RELEASES[release]["events_as_maps"]) != ("precise_prefix", False):
            service = {**file_of(preset, release, way)["llm_d_model_services"][0]}
            service["engine"] = {name: value for name, value in service["engine"].items() if name != "image"}
            assert problems({**file_of(preset, release, way), "llm_d_model_services": [service]}) == [], (preset, release, way)
