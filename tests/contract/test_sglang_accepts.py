# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each recorded version of SGLang accepts the planned arguments; its flags were read from the declarations of that version."""

from __future__ import annotations

import runpy
import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import ENGINE_DEFAULTS
from ansible_collections.llm_d.inference.plugins.module_utils.releases.sglang import misfits, options, version_of
from ansible_collections.llm_d.inference.plugins.module_utils.releases.sglang_flags import OPTIONS

VERSIONS = [version for version in OPTIONS if version]
EVERY: dict[str, t.Any] = {
    "name": "a",
    "model": {"uri": "hf://org/model", "revision": "v1"},
    "accelerator": {"per_replica": 8, "pipeline": 2, "data": 2, "expert": True},
    "engine": {
        "type": "sglang",
        "max_model_len": 8192,
        "max_num_seqs": 64,
        "block_size": 64,
        "prefix_caching": False,
        "gpu_memory_utilization": 0.8,
        "quantization": "fp8",
        "log_level": "debug",
    },
}


def test_the_default_image_is_recorded() -> None:
    assert version_of(ENGINE_DEFAULTS["sglang"]["image"]) in VERSIONS
    assert version_of("lmsysorg/sglang:v0.5.23-cu129-amd64") == "0.5.23" and version_of("mine/sglang:latest") is None is version_of("mine/sglang:v9.9.9")


@pytest.mark.parametrize("version", VERSIONS)
def test_each_sglang_version_accepts_every_planned_argument(version: str) -> None:
    file = {"llm_d_gateway": {"provider": "none", "name": "g"}, "llm_d_model_services": [EVERY]}
    arguments = plan(file)["services"][0]["server"]["args"]
    assert len(arguments) == 18 and misfits(arguments, version) == []
    for argument in arguments:
        name, given, _value = argument[2:].partition("=")
        assert options(version)[name] == given, argument


@pytest.mark.parametrize("version", VERSIONS)
def test_every_spelling_in_the_row_is_an_option(version: str) -> None:
    names = {name.rstrip("=") for names in ENGINE_DEFAULTS["sglang"]["flags"].values() for name in names if name}
    assert names <= set(options(version))


def test_beginnings_and_options_of_one_version() -> None:
    assert misfits(["--context-len=9", "stray", "--served-model-name x"], VERSIONS[0]) == []
    only = (OPTIONS["0.5.23"].split())[0].rstrip("=?")
    assert misfits([f"--{only}"], "0.5.23") == [] and misfits([f"--{only}"], "0.5.20")


def test_declarations_are_read(root: Path) -> None:
    tool = runpy.run_path(str(root / "tools/record_sglang.py"))
    text = """
class Fields:
    model_path: A[str, Arg(help="x", aliases=["--model"])]
    enable_metrics: A[bool, "x"] = False
    tp: A[Optional[int], Arg(help="x", cli_name="--tp-size")] = None
    hidden: A[str, Arg(help="x", no_cli=True)] = ""
    own: A[Optional[bool], Arg(help="x", action=Own)] = None
    plain: int = 1
"""
    assert set(tool["declared"](text)) == {"model-path=", "model=", "enable-metrics", "tp-size=", "own"}
    parser = 'parser.add_argument("--config", type=str)\nparser.add_argument("--on", action="store_true")\n'
    assert list(tool["added"](parser)) == ["config=", "on"]
    assert tool["data_file"]({"1": {"a=", "b"}, "2": {"a="}}).endswith('    "": """\na=\n""",\n    "1": """\nb\n""",\n    "2": """\n\n""",\n}\n')
