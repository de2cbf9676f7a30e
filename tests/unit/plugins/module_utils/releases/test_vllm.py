# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that versions of vLLM accept, tested with a small table; the recorded table is tested by its shape and by options of every version."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.releases import vllm, vllm_flags

ROWS = """
--alive 0.11.0-0.20.0 str
-asc --api-server-count 0.11.0-0.20.0 int
--block-size 0.11.0-0.15.0 int: 8 16 32
--block-size 0.20.0-0.20.0 int
-cc --compilation-config 0.11.0-0.20.0 json
--enable-prefix-caching 0.11.0-0.20.0 bool
--enforce-eager 0.11.0-0.20.0 flag
--hf-overrides 0.11.0-0.20.0 json
--lora-modules 0.11.0-0.20.0 str+
--max-model-len 0.11.0-0.11.0 size
--max-model-len 0.15.0-0.20.0 size-or-auto
--newer 0.20.0-0.20.0 float
--older 0.11.0-0.11.0 str
--older 0.15.0-0.15.0 str deprecated
--optimization-level 0.15.0-0.15.0 str
-q --quantization 0.11.0-0.15.0 str: awq fp8
-q --quantization 0.20.0-0.20.0 str: awq
  fp8 mxfp4
--tool 0.16.0-0.16.0 str?
-tp --tensor-parallel-size 0.11.0-0.20.0 int
--use --usage-share 0.20.0-0.20.0 float
"""


@pytest.fixture(autouse=True)
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[None]:
    if not request.function.__name__.startswith("test_each_recorded"):
        monkeypatch.setattr(vllm, "OPTIONS", ROWS)
        monkeypatch.setattr(vllm, "VERSIONS", ("0.11.0", "0.15.0", "0.16.0", "0.20.0"))
    for cached in (vllm.options, vllm._rows, vllm._spellings):
        cached.cache_clear()
    yield
    for cached in (vllm.options, vllm._rows, vllm._spellings):
        cached.cache_clear()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--max-model-len=4096"],
        ["--max_model_len=4096"],
        ["--max-model-len", "16k"],
        ["--max-model-len=25.6k"],
        ["--max-model-len", "None"],
        ["--max-model", "16K"],
        ["--enable-prefix-caching", "--enforce-eager"],
        ["--no-enable-prefix-caching"],
        ["--no_enable_prefix_caching"],
        ["-tp", "2"],
        ["-tp=2"],
        ["-qfp8"],
        ["-tp", "-1"],
        ["-cc", '{"mode": 3}'],
        ["-cc.mode=3"],
        ["--hf-overrides.rope_scaling.factor", "2", "--enforce-eager"],
        ["--hf_overrides.rope_scaling.factor=2"],
        ["--hf-overrides.list+=a,b"],
        ['--hf-overrides={"a": {"b": 1}}'],
        ["-O3"],
        ["-O", "3"],
        ["-O.level=3"],
        ["--lora-modules", "a=/models/a", "b=/models/b", "--enforce-eager"],
        ["--alive=--"],
        ["--alive="],
        ["--enforce-eager", "--"],
        ["--alive", "two words"],
        ["--alive", "-two words"],
    ],
)
def test_arguments_that_vllm_accepts_are_not_reported(arguments: list[str]) -> None:
    assert vllm.misfits(arguments, "0.15") == []


@pytest.mark.parametrize(
    ("arguments", "index", "reason", "fix"),
    [
        (["--newer=1"], 0, "vLLM 0.15 knows no --newer; it came in 0.20 or a little before.", "Use an image of vLLM 0.20 or newer, or take it out."),
        (["--tool"], 0, "vLLM 0.15 knows no --tool; it came in 0.16.", "Use an image of vLLM 0.16 or newer, or take it out."),
        (["--enforce-eager", "--block-sise=16"], 1, "vLLM 0.15 knows no --block-sise.", "Did you mean --block-size?"),
        (["--enable_prefix_cashing"], 0, "vLLM 0.15 knows no --enable-prefix-cashing.", "Did you mean --enable-prefix-caching?"),
        (["--xyzzy", "1", "--enforce-eager"], 0, "vLLM 0.15 knows no --xyzzy.", "Take it out."),
        (["--en"], 0, "--en may be --enable-prefix-caching, --enforce-eager.", "Write the whole name."),
        (
            ["--max-model-len=abc"],
            0,
            "--max-model-len=abc is not a whole number, or one such as 16k or auto.",
            "Write a whole number, or one such as 16k or auto.",
        ),
        (["--max-model-len=1.5K"], 0, "--max-model-len=1.5K is not a whole number", "Write a whole number"),
        (["-tp=two"], 0, "-tp=two is not a whole number.", "Write a whole number."),
        (["-tp"], 0, "-tp needs a value.", "Write -tp=VALUE."),
        (["-tp", "--enforce-eager"], 0, "-tp needs a value.", "Write -tp=VALUE."),
        (["--block-size=17"], 0, "--block-size=17 is not one of the choices of vLLM 0.15.", "Write one of 8, 16, 32."),
        (["-q", "fp9"], 0, "-q=fp9 is not one of the choices of vLLM 0.15.", "Did you mean fp8?"),
        (["--quantization=mxfp4"], 0, "is not one of the choices of vLLM 0.15; vLLM 0.20 has it.", "Write one of awq, fp8."),
        (["--hf-overrides={a: 1}"], 0, "--hf-overrides={a: 1} is not JSON.", "Write JSON."),
        (["--block-size.a=1"], 0, "--block-size has no parts: it takes a whole number.", "Write one value."),
        (["--enforce-eager=true"], 0, "--enforce-eager takes no value.", "Write it alone."),
        (
            ["--enable-prefix-caching=false"],
            0,
            "--enable-prefix-caching takes no value.",
            "Write --enable-prefix-caching alone, or --no-enable-prefix-caching.",
        ),
        (["--enforce-eager", "true"], 1, "is no option, and no value of the option before it.", "Take it out, or write it as --OPTION=VALUE."),
        (["--", "--enforce-eager"], 1, "is no option, and no value of the option before it.", "Take it out"),
        (["--lora-modules=a=b", "c=d"], 1, "is no option, and no value of the option before it.", "Take it out"),
        (["--block-size 16"], 0, "is one word with a space in it, which no option has.", "Write --block-size=16."),
        (["--hf-overrides=" + "x" * 99], 0, "--hf-overrides=" + "x" * 37 + "... is not JSON.", "Write JSON."),
    ],
)
def test_arguments_that_vllm_refuses_are_reported_with_a_fix(arguments: list[str], index: int, reason: str, fix: str) -> None:
    (misfit,) = vllm.misfits(arguments, "0.15.0")
    assert misfit.index == index and reason in misfit.reason and fix in misfit.fix


def test_a_removed_option_is_refused_with_the_last_version_that_had_it() -> None:
    (misfit,) = vllm.misfits(["--older=1"], "v0.20.0")
    assert misfit.reason == "vLLM 0.20 knows no --older; it went after 0.15, deprecated since 0.15." and misfit.fix == "Take it out."


@pytest.mark.parametrize(
    ("version", "refused"),
    [
        ("0.15.2", ["--xyzzy"]),  # 0.15 has the one, 0.16 the other
        ("0.15", ["--tool", "--xyzzy"]),
        ("0.16", ["--older", "--xyzzy"]),
        ("0.10.2", []),
        ("0.21", []),
        ("1.2.3", []),
    ],
)
def test_between_two_recorded_versions_only_what_neither_knows_is_refused(version: str, refused: list[str]) -> None:
    assert [misfit.flag for misfit in vllm.misfits(["--older=1", "--tool=1", "--xyzzy=1"], version)] == refused


def test_choices_of_a_platform_that_is_a_plugin_are_its_own() -> None:
    assert vllm.misfits(["--quantization=inc", "--block-size=256"], "0.15", choices=False) == []
    assert len(vllm.misfits(["--quantization=inc", "--block-size=256"], "0.15")) == 2
    assert len(vllm.misfits(["--block-size=many"], "0.15", choices=False)) == 1


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.11.0", "0.11.0"),
        ("vllm/vllm-openai:0.11.0", "0.11.0"),
        ("vllm/vllm-openai-rocm:v0.30", "0.30"),
        ("registry.example.com:5000/team/vllm-cpu:v0.20.0-x86_64", "0.20.0"),
        ("vllm/vllm-openai:v0.20.2-cu129", "0.20.2"),
        ("vllm/vllm-openai:v0.11.0@sha256:0123", "0.11.0"),
        ("rocm/vllm:rocm6.4.1_vllm_0.11.1_20251103", "0.11.1"),
        ("rocm/vllm:7.0.0_rocm_vllm_0.11.0", "0.11.0"),
        ("rocm/vllm:0.20.0_vllm_0.11.0", "0.11.0"),
        ("vllm/vllm-openai:v99.0.0", "99.0.0"),
        ("mine/vllm:v0.15.0", "0.15.0"),
        ("nvcr.io/nvidia/vllm:25.09-py3", None),
        ("registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.2.1", None),
        ("vault.habana.ai/vllm-gaudi:1.22.0", None),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai:nightly", None),
        ("vllm/vllm-openai:nightly-0123abc", None),
        ("vllm/vllm-openai@sha256:0123", None),
        ("registry.example.com:5000/vllm-openai", None),
        ("vllm/vllm-openai:v0.11.0rc1", None),
        ("vllm/vllm-openai:v0.11.0.dev3", None),
        ("ghcr.io/llm-d/llm-d-cuda:v0.7.0", None),
        ("acme/server:v0.11.0", None),
    ],
)
def test_the_version_in_the_tag_of_an_image(image: str, version: str | None) -> None:
    assert vllm.version_of(image) == version


@pytest.mark.parametrize(
    ("arguments", "spelled"),
    [
        (["--lora_modules=a", "--block_size", "64"], ["--lora-modules=a", "--block-size", "64"]),
        (
            ["--max-model=9", "-tp=2", "-tp", "2", "-q=fp8"],
            ["--max-model-len=9", "--tensor-parallel-size=2", "--tensor-parallel-size", "2", "--quantization=fp8"],
        ),
        (["--enable-prefix", "--no_enable_prefix_caching"], ["--enable-prefix-caching", "--no-enable-prefix-caching"]),
        (["--hf_overrides.rope_scaling=a_b"], ['--hf-overrides={"rope_scaling":"a_b"}']),
        (["-cc.a_b.c=1", "--seed=1"], ['--compilation-config={"a_b":{"c":1}}', "--seed=1"]),
        (["-qawq", "-q", "a", "-q=fp8"], ["--quantization=awq", "--quantization", "a", "--quantization=fp8"]),
        (["-as", "0", "-as=0", "-a"], ["--api-server-count", "0", "--api-server-count=0", "--api-server-count"]),
        (["--tensor-parallel-size.a=1", "--lora-modules.a=1", "--x.a b"], ["--tensor-parallel-size.a=1", "--lora-modules.a=1", "--x.a b"]),
        (["--e=9", "--nobody_knows=a_b", "a_b", "-1", "--seed", "-1"], ["--e=9", "--nobody-knows=a_b", "a_b", "-1", "--seed", "-1"]),
        (['--kv-events-config={"a_b": "c=d"}', "--served_model_name a_b"], ['--kv-events-config={"a_b": "c=d"}', "--served-model-name a_b"]),
        (["-O3", "-O", "3", "--"], ["-O3", "-O", "3", "--"]),
    ],
)
def test_options_are_spelled_out(arguments: list[str], spelled: list[str]) -> None:
    assert vllm.spelled_out(arguments, "0.15.0") == spelled


@pytest.mark.parametrize(
    ("arguments", "whole", "count"),
    [
        (["--x.a=1", "--x.b", "t.u=v", "--x.a=[2]", "--x.c.d=true"], {"a": [2], "b": "t.u=v", "c": {"d": True}}, 4),
        (["--x.a=[1]", '--x={"b":2}', "--x", '{"b":3}', "--x.a+=p,q"], {"a": [1, "p", "q"]}, 4),
        (["-cc.a_b.c=1", "-cc.a_b.d=-1", "-cc.a_b.d=x"], {"a_b": {"c": 1, "d": "x"}}, 3),
        (["--x.topic=kv@$(POD_IP):8000@m", "--x.a", "-1", "--x.b"], {"topic": "kv@$(POD_IP):8000@m", "a": -1}, 2),
    ],
)
@pytest.mark.parametrize("version", ["0.15.0", None])
def test_parts_of_json_are_the_whole_of_it(arguments: list[str], whole: dict[str, t.Any], count: int, version: str | None) -> None:
    """vLLM collects them, and gives its parser one JSON after all other arguments."""
    spelled = vllm.spelled_out(arguments, version)
    assert len(spelled) == len(arguments)
    given = [word.removeprefix("--x=").removeprefix("--compilation-config=") for word in spelled if "{" in word]
    assert [json.loads(text) for text in given] == [whole] * len(given) and len(given) == count


def test_without_a_version_whole_names_are_known() -> None:
    spelled = vllm.spelled_out(["--served_model_name=a_b", "--max-model=9", "-tp=2"], None)
    assert spelled == ["--served-model-name=a_b", "--max-model=9", "--tensor-parallel-size=2"]


def test_synonyms_and_prefixes_of_an_option_are_spelled_the_same() -> None:
    assert vllm.spelled_out(["--usage-share=0.5", "--use=0.5", "--usage=0.5"], "0.20.0") == ["--use=0.5"] * 3


def test_values_that_the_parser_would_not_show_are_not_shown_whole() -> None:
    secret = json.dumps({"token": "s" * 60})
    (misfit,) = vllm.misfits([f"--tensor-parallel-size={secret}"], "0.15")
    assert secret not in misfit.reason


@pytest.mark.parametrize("version", vllm_flags.VERSIONS)
def test_each_recorded_vllm_version_has_the_common_options(version: str) -> None:
    options = vllm.options(version)
    assert len(options) > 150
    for name, kind in {
        "--max-model-len": "size", "--tensor-parallel-size": "int", "-tp": "int", "--gpu-memory-utilization": "float", "--enable-prefix-caching": "bool",
        "--no-enable-prefix-caching": "bool", "--kv-transfer-config": "json", "--served-model-name": "str", "--port": "int", "--enforce-eager": "bool",
    }.items():  # fmt: skip
        assert options[name].kind.removesuffix("-or-auto") == kind, name
    assert {option.kind for option in options.values()} <= {"flag", "bool", "str", "json", "float", "int", "size", "int-or-auto", "size-or-auto"}
    assert vllm.misfits(["--max-model-len=abc"], version) and not vllm.misfits(["--max-model-len=16k", "-tp", "2", "--no-enforce-eager"], version)


@pytest.mark.parametrize(
    ("text", "number"), [("16k", 16000), (" 2K", 2048), ("1.5m", 1_500_000), ("7", 7), ("9" * 400 + "k", None), ("9" * 5000, None), ("x", None)]
)
def test_the_whole_number_that_a_value_is(text: str, number: int | None) -> None:
    assert vllm.number_of(text) == number
