# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The default pair is one that upstream tested; another pair works and is reported."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.objects import Facts
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.pairs import PAIRS, minor, others
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES
from ansible_collections.llm_d.inference.plugins.module_utils.validation.verdict import table, verdict, versions

DEFAULT = VARIABLES["llm_d_release"].default


def planned(engine: Facts | None = None, **more: t.Any) -> Facts:
    service = {"name": "m", "model": {"uri": "hf://org/model"}, "engine": engine or {}}
    return plan({"llm_d_gateway": {"provider": "istio"}, "llm_d_model_services": [service], **more})


def test_the_default_pair_is_one_that_upstream_tested() -> None:
    result = planned()
    (service,) = result["services"]
    pair = PAIRS[str(DEFAULT)]
    assert service["server"]["image"] == f"docker.io/vllm/vllm-openai:v{pair.vllm}"
    assert minor(result["release"]["crds_version"]) in pair.gie
    assert service["scheduler"]["other_pair"] == "" and "pair" not in " ".join(service["scheduler"]["notes"])
    assert versions(result, None, "1")["other_pairs"] == {}


@pytest.mark.parametrize("vendor", ["nvidia", "amd", "intel"])
@pytest.mark.parametrize("line", [line for line in PAIRS if line in RELEASES])
def test_servers_get_the_vllm_of_their_line(line: str, vendor: str) -> None:
    service = {"name": "m", "model": {"uri": "hf://org/model"}, "accelerator": {"vendor": vendor}}
    (planned_service,) = plan({"llm_d_gateway": {"provider": "istio"}, "llm_d_release": line, "llm_d_model_services": [service]})["services"]
    assert planned_service["server"]["image"].endswith(f":v{PAIRS[line].vllm}") and not planned_service["scheduler"]["other_pair"]


@pytest.mark.parametrize("engine", [{"image": "docker.io/vllm/vllm-openai:v0.33.0"}, {"image": "mine/server:1", "version": "0.33.0"}])
def test_another_pair_works_and_is_named(engine: Facts) -> None:
    result = planned(engine)
    (note,) = [note for note in result["services"][0]["scheduler"]["notes"] if "pair" in note]
    assert "vLLM 0.33.0" in note and PAIRS[str(DEFAULT)].vllm in note
    lines = table(verdict([], [], [], versions(result, None, "1"), ""))
    assert [line for line in lines if line.startswith("note: m: ") and "vLLM 0.33.0" in line]


@pytest.mark.parametrize(
    ("line", "vllm", "gie", "named"),
    [
        ("router-0.10", "0.26.2", "1.5.0", []),  # a patch release is no other pair
        ("router-0.10", None, None, []),  # unknown versions
        ("router-0.10", "0.30.0", "1.6.2", ["vLLM 0.30.0"]),
        ("router-0.10", "0.26.0", "1.4.0", ["inference extension 1.4.0"]),
        ("scheduler-0.7", "0.30.0", "1.4.0", []),  # no page names its pair
    ],
)
def test_versions_that_differ_from_the_tested_pair_are_reported(line: str, vllm: str | None, gie: str | None, named: list[str]) -> None:
    difference = others(line, vllm, gie).partition(" is another pair")[0]
    assert bool(difference) == bool(named) and all(part in difference for part in named)


@pytest.mark.parametrize(("line", "version"), [("router-0.10", "0.10.2"), ("router-0.11", "0.11.4")])
def test_a_simulator_is_that_which_ran_with_the_line(line: str, version: str) -> None:
    image = planned({"type": "simulator"}, llm_d_release=line)["services"][0]["server"]["image"]
    assert image == f"ghcr.io/llm-d/llm-d-inference-sim:v{version}"
