# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way of a value from the user's file to an object is as CONTRIBUTING.md describes it, and stays short.

A real play of role model_service is traced (see traced/sitecustomize.py) with a unique number of replicas.
"""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import plays
import pytest
from plays import ROOT

VALUE = 48611
TEMPLATE = "servers.yml.j2"
MOST_FILES = 12
# Files that receive the value with the plan and do not pass it to the object: {file: its purpose there}.
BRANCHES = {
    "plugins/module_utils/plan/cluster/preflight.py": "the capacity that the preflight checks",
    "plugins/module_utils/plan/gateways/sharing.py": "which services share the requests of a route",
}
INVENTORY = f"""
all:
  hosts:
    sample:
      ansible_connection: local
  vars:
    ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"
    llm_d_charts: {{envoy_gateway: /charts/gateway-helm}}
    llm_d_model_services:
      - name: sim
        model: {{served_name: acme/sim}}
        engine: {{type: simulator}}
        replicas: {VALUE}
"""
PLAY = "- hosts: all\n  gather_facts: false\n  roles:\n    - llm_d.inference.model_service\n"


@pytest.fixture(name="trace", scope="module")
def run_traced(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, t.Any]]:
    """The entries of the trace; the last one is the call of kubernetes.core.k8s."""
    folder = tmp_path_factory.mktemp("traced")
    for name, text in (("hosts.yml", INVENTORY), ("play.yml", PLAY)):
        (folder / name).write_text(text, encoding="utf-8")
    tracer = {"PYTHONPATH": str(ROOT / "tests/contract/traced"), "TRACE_ROOT": str(ROOT), "TRACE": str(folder / "trace"), "TRACE_VALUE": str(VALUE)}
    done = plays.run("-i", str(folder / "hosts.yml"), str(folder / "play.yml"), **tracer)
    assert "no object was handled: traced" in done.stdout, done.stdout + done.stderr
    return [json.loads(line) for line in (folder / "trace").read_text(encoding="utf-8").splitlines()]


def drawn() -> list[tuple[str, list[str]]]:
    """The rows of the table in CONTRIBUTING.md: (file, functions)."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The way of a value")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \d+ \| `([^`]+)` \| (.*?) \|", section, re.MULTILINE)
    return [(file, re.findall(r"`(\w+)`", functions)) for file, functions in rows]


def of_yaml(tasks: list[str]) -> set[str]:
    """YAML files on the way of the value: the template that prints it with to_json (which bypasses the text, and with it the trace), those that name the
    template, and running tasks that name the list of definitions.
    """
    template = ROOT / "roles/model_service/templates" / TEMPLATE
    printed = {str(template.relative_to(ROOT))} if "replicas: {{ server.replicas | to_json }}" in template.read_text(encoding="utf-8") else set()
    role = [path for part in ("defaults", "vars", "tasks") for path in (ROOT / "roles/model_service" / part).glob("*.yml")]
    naming = {str(path.relative_to(ROOT)) for path in role if TEMPLATE in path.read_text(encoding="utf-8")}
    return printed | naming | {path for path in tasks if "objects_definitions" in (ROOT / path).read_text(encoding="utf-8")}


@pytest.mark.rest
def test_the_value_reaches_the_object(trace: list[dict[str, t.Any]]) -> None:
    assert [(item["kind"], item["metadata"]["name"], item["spec"]["replicas"]) for item in trace[-1]["definitions"]] == [("Deployment", "sim-decode", VALUE)]


def test_the_way_is_the_one_in_contributing(trace: list[dict[str, t.Any]]) -> None:
    calls = {(file, function) for entry in trace for file, function in entry["way"]}
    files = {file for file, _function in calls}
    assert set(BRANCHES) <= files, "a branch no longer exists: remove it"
    way = (files - set(BRANCHES)) | of_yaml(trace[-1]["tasks"])
    inventory, *rows = drawn()
    assert inventory[0].startswith("inventories/")
    assert {file for file, _functions in rows} == way
    assert len(rows) == len(way), "a file is listed twice"
    unknown = [(file, name) for file, functions in rows if file.endswith(".py") for name in functions if (file, name) not in calls]
    assert unknown == [], "functions that the value does not pass"


def test_the_way_is_short() -> None:
    assert len(drawn()) <= MOST_FILES


def test_the_branches_do_not_lead_to_objects() -> None:
    """No template prints the demands of the preflight."""
    assert not [path for path in Path(ROOT, "roles").glob("*/templates/*.j2") if "plan.preflight" in path.read_text(encoding="utf-8")]
