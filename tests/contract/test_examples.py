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
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster import permissions_file
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES
from ansible_collections.llm_d.inference.plugins.plugin_utils.role_options import PLAYBOOKS, options_of

from tools import generate

from .gateway_cases import CHARTS
from .test_plugins import OURS, options
from .test_plugins import problems as unknown

ROOT = Path(__file__).resolve().parents[2]
SERVICE: dict[str, t.Any] = {"llm_d_model_services": [{"name": "a", "model": {"uri": "hf://o/m"}}], "llm_d_charts": CHARTS}
_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ANY = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PLAYBOOK = re.compile(r"\bplaybooks/(\w+)\.yml|\bllm_d\.inference\.(\w+)|\s(\w+)\.yml\b")

# Examples of objects of others: how they begin, and what they are.
ELSEWHERE = {
    "rules:\n  - seriesQuery": "the configuration of prometheus-adapter, as in molecule/autoscaling/definitions",
    "inference_stacks:": "statistics of a run, as in tests/unit/plays/test_reports.py",
    "spec: # of the pod": "a pod specification of AWX",
    "- name: Deploy what the survey asks for": "a play, as extensions/patterns has them",
    "apiVersion: v1\nkind: ServiceAccount": "a Role, which tests/unit/plugins/module_utils/plan/cluster/test_rbac.py reads",
}


def blocks() -> t.Iterator[t.Any]:
    """(text) of each block of YAML of the documents that is not in ELSEWHERE."""
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]:
        for number, text in enumerate(_BLOCK.findall(path.read_text(encoding="utf-8")), 1):
            if not text.startswith(tuple(ELSEWHERE)):
                yield pytest.param(text, id=f"{path.name}-{number}")


def mistakes(example: t.Any) -> list[str]:
    """The mistakes of an example: a file, options of a model service, variables of a role, or tasks."""
    if isinstance(example, list):
        return [
            problem for task in example for name in task if name.startswith(OURS) for problem in unknown(task[name], options(name.removeprefix(OURS)), name)
        ]
    if all(name.startswith("compare_") for name in example):
        return [f"{name} is no option" for name in example if name not in options_of("compare")]
    if not all(name.startswith("llm_d_") for name in example):
        (service,) = SERVICE["llm_d_model_services"]
        example = {"llm_d_model_services": [{**service, **example, "model": {**service["model"], **example.get("model", {})}}]}
    wanted = {**SERVICE, **example}
    return [str(problem) for problem in problems(wanted)] or ([] if plan(wanted)["services"] else ["it has no model service"])


@pytest.mark.parametrize("text", [*blocks()])
def test_an_example_can_be_planned(text: str) -> None:
    assert mistakes(yaml.safe_load(re.sub(r"\"?\{\{.*?\}\}\"?", "planned", text))) == []


def test_each_block_of_options_has_an_example() -> None:
    shown = generate.examples()
    assert not [name for name, field in VARIABLES.items() if generate.nested_options(field) and name not in shown]
    services = [service for text in shown["llm_d_model_services"] for service in yaml.safe_load(text)["llm_d_model_services"]]
    options = generate.nested_options(VARIABLES["llm_d_model_services"]) or {}
    assert not [name for name, field in options.items() if field.type in ("dict", "map", "list") and not any(name in service for service in services)]


def test_an_example_is_that_of_a_variable() -> None:
    assert not generate.examples().keys() - VARIABLES.keys()


def commands() -> set[str]:
    """Each command with ansible-playbook in the documents."""
    lines: set[str] = set()
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]:
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        lines |= {line for language, block in _ANY.findall(text) if language in ("", "console", "shell") for line in block.splitlines()}
        lines |= set(re.findall(r"`([^`\n]+)`", _ANY.sub("", text)))
    return {line for line in lines if re.search(r"\bansible-playbook\s", line)}


def test_commands_run_playbooks_and_set_options_that_there_are() -> None:
    playbooks = {path.stem for path in (ROOT / "playbooks").glob("*.yml")} | {"NAME"}
    options = {*VARIABLES, *(name for of in PLAYBOOKS.values() for name in of)}
    options |= {name for path in (ROOT / "roles").iterdir() for name in options_of(path.name)} | {
        f"{permissions_file.PREFIX}{name}" for name in permissions_file.OPTIONS
    }
    lost = set()
    for command in commands():
        run = {"".join(names) for names in _PLAYBOOK.findall(command)} - {""}
        given = set(re.findall(r"-e\s+'?(?:\{\s*\"?)?(\w+)", command))
        lost |= {f"{name}: {command}" for name in (run - playbooks) | (given - options)}
    assert len(commands()) > 40 and not lost


def test_the_documented_mistakes_are_reported_as_shown() -> None:
    file = {
        "llm_d_gatway": {},
        "llm_d_model_services": [
            {"name": "a", "model": {"uri": "hf://o/m"}, "replica": 2, "scheduler": {"preset": "balancd"}},
            {"name": "b", "model": {"uri": "hf://o/m"}, "replicas": "four"},
        ],
    }
    shown = (ROOT / "docs/your-cluster.md").read_text(encoding="utf-8").partition("## Mistakes")[2]
    assert [str(problem) for problem in problems(file)] == re.findall(r"^  - (llm_d_.*)$", shown, re.MULTILINE)
