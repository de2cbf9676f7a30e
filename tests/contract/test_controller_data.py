# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The data for an Automation Controller: it has the job templates of the patterns, refers only to existing objects, and configure_awx.yml sends all of it."""

from __future__ import annotations

import json
import re
import typing as t

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from plays import ROOT

Facts = dict[str, t.Any]
FOLDER = ROOT / "extensions/controller"
PATTERNS = sorted((ROOT / "extensions/patterns").iterdir())


def data() -> dict[str, list[Facts]]:
    """The lists by their names, as Ansible reads them."""
    return {name: items for path in sorted(FOLDER.glob("*.yml")) for name, items in DataLoader().load_from_file(str(path)).items()}


DATA = data()
TEMPLATES = {each["name"]: each for each in DATA["controller_templates"]}


@pytest.mark.parametrize("folder", PATTERNS, ids=lambda folder: folder.name)
def test_a_pattern_and_the_data_have_the_same_job_template(folder: t.Any) -> None:
    (made,) = json.loads((folder / "meta/pattern.json").read_text(encoding="utf-8"))["aap_resources"]["controller_job_templates"]
    ours = TEMPLATES[made["name"]]
    assert ours["survey_spec"] == made["survey"] and ours["survey_enabled"] is True
    assert ours["playbook"] == f"extensions/patterns/{folder.name}/playbooks/{made['playbook']}"
    assert {key: ours[key] for key in made if key not in ("survey", "playbook", "primary")} == {
        key: value for key, value in made.items() if key not in ("survey", "playbook", "primary")
    }


def test_awx_recognizes_the_playbook_of_each_job_template() -> None:
    """AWX lists files that have plays or import playbooks, and none below roles or tasks."""
    for each in TEMPLATES.values():
        text = (ROOT / each["playbook"]).read_text(encoding="utf-8")
        assert re.search(r"^\s*-?\s*(hosts|(ansible\.builtin\.)?import_playbook):", text, re.MULTILINE), each["playbook"]
        assert not {"roles", "tasks"} & set(each["playbook"].split("/"))


def test_all_that_is_named_is_there() -> None:
    names = {kind: {each["name"] for each in items} for kind, items in DATA.items()}
    nodes = [node for flow in DATA["controller_workflows"] for node in flow["simplified_workflow_nodes"]]
    started = {each["unified_job_template"] for each in [*nodes, *DATA["controller_schedules"]] if "unified_job_template" in each}
    assert started <= set(TEMPLATES)
    assert {each["project"] for each in TEMPLATES.values()} | {each["source_project"] for each in DATA["controller_inventory_sources"]} == names[
        "controller_projects"
    ]
    assert {each["inventory"] for each in [*TEMPLATES.values(), *DATA["controller_inventory_sources"]]} == names["controller_inventories"]
    assert {label for each in [*TEMPLATES.values(), *DATA["controller_workflows"]] for label in each["labels"]} == names["controller_labels"]
    identifiers = {node["identifier"] for node in nodes}
    assert {name for node in nodes for key in ("success_nodes", "failure_nodes", "always_nodes") for name in node.get(key, [])} == identifiers - {
        nodes[0]["identifier"]
    }


def test_no_two_of_what_is_started_have_one_name() -> None:
    """The API finds these objects by their names alone."""
    kinds = ("controller_templates", "controller_workflows", "controller_projects", "controller_inventory_sources")
    names = [each["name"] for kind in kinds for each in DATA[kind]]
    assert sorted(set(names)) == sorted(names)


def test_configure_awx_sends_every_key_of_the_data() -> None:
    tasks = yaml.safe_load((ROOT / "playbooks/tasks/configure_awx.yml").read_text(encoding="utf-8"))
    sent: dict[str, set[str]] = {}
    for task in tasks:
        module = next(key for key in task if key.startswith(("awx.", "ansible.")))
        loop = str(task.get("loop", "")).replace("__nodes", "controller_workflows")
        for name in re.findall(r"(?:controller|aap)_[a-z_]+", loop):
            sent.setdefault(name, set()).update(re.findall(r"\bitem\.(?:0\.)?([a-z]\w+)", json.dumps(task[module])))
    assert {name: {key for each in items for key in each if key != "simplified_workflow_nodes"} - sent[name] for name, items in DATA.items()} == {
        name: set() for name in DATA
    }


def test_the_controller_data_contains_no_secret() -> None:
    """Secrets come from a file or from the environment of the user."""
    for path in FOLDER.glob("*.yml"):
        for key, value in re.findall(r"^\s*(kubeconfig|token|oauth_token|password): (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert value in ("''", '""') or "lookup(" in value, (path.name, key)
