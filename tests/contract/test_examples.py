# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each example of a file in the documents can be planned, with a model service where it has none. Each block of the file is in an example of its own page."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES

from tools import generate

from .gateway_cases import CHARTS

ROOT = Path(__file__).resolve().parents[2]
SERVICE: dict[str, t.Any] = {"llm_d_model_services": [{"name": "a", "model": {"uri": "hf://o/m"}}], "llm_d_charts": CHARTS}
_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples() -> t.Iterator[t.Any]:
    """(name, text) of each block of YAML that begins with a variable of ours."""
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]:
        for number, text in enumerate(_BLOCK.findall(path.read_text(encoding="utf-8")), 1):
            if re.match(r"(#.*\n|\s*\n)*llm_d_\w+:", text):
                yield pytest.param(text, id=f"{path.name}-{number}")


@pytest.mark.parametrize("text", [*examples()])
def test_an_example_can_be_planned(text: str) -> None:
    file = yaml.safe_load(re.sub(r"\"?\{\{.*?\}\}\"?", "planned", text))
    wanted = {**SERVICE, **file}
    assert [str(problem) for problem in problems(wanted)] == []
    assert plan(wanted)["services"]


def test_each_block_of_the_file_has_an_example() -> None:
    shown = generate.examples()
    assert not [name for name, field in VARIABLES.items() if generate.nested_options(field) and name not in shown]
    services = [service for text in shown["llm_d_model_services"] for service in yaml.safe_load(text)["llm_d_model_services"]]
    options = generate.nested_options(VARIABLES["llm_d_model_services"]) or {}
    assert not [name for name, field in options.items() if field.type in ("dict", "map", "list") and not any(name in service for service in services)]


def test_an_example_is_that_of_a_variable() -> None:
    assert not generate.examples().keys() - VARIABLES.keys()
