# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of roles and playbooks reach tasks with their types: a survey and -e give strings, and the string "false" is true unless it is converted."""

from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.plugin_utils.role_options import PLAYBOOKS, RESULTS, options_of
from plays import ROOT

ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
# Roles whose tasks only pass options to modules and other roles, which convert strings themselves; exceptions are explained in the tasks.
THEMSELVES = {"objects", "local_cluster"}


def texts(*patterns: str) -> dict[str, str]:
    """The text of each file without its comments."""
    paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return {str(path.relative_to(ROOT)): re.sub(r"(^|\s)#.*", "", path.read_text(encoding="utf-8")) for path in paths}


def expressions(text: str) -> str:
    """The parts of a file that Jinja evaluates: expressions, and the conditions of tasks."""
    conditions = re.findall(r"^ *(?:when|that|failed_when|until|loop):((?:.*\n)(?: +- .*\n)*)", text, re.MULTILINE)
    return "\n".join(re.findall(r"{{.*?}}", text, re.DOTALL) + conditions)


@pytest.mark.parametrize("role", sorted({*ROLES} - THEMSELVES))
def test_tasks_read_the_options_that_role_facts_returns(role: str) -> None:
    typed = {name for name, field in options_of(role).items() if field.type in ("bool", "int", "float", "dict", "list") and not name.endswith("_runs")}
    uses = {
        f"{path}: {name}"
        for path, text in texts(f"roles/{role}/tasks/*.yml", f"roles/{role}/vars/*.yml", f"roles/{role}/templates/*").items()
        for name in typed
        if re.search(rf"(?<![\w.]){name}\b", expressions(text))
    }
    assert not uses, f"write __{role}_facts.options.NAME, which has the right type"


def test_the_options_of_playbooks_are_known() -> None:
    own = {f"{name}_" for name in PLAYBOOKS}
    files = texts("playbooks/**/*.yml", "extensions/controller/*.yml").values()
    read = {name for text in files for name in re.findall(r"\b[a-z]\w+", expressions(text)) if name.startswith(tuple(own))}
    magic = {"inventory_dir", "inventory_hostname", "inventory_written"}
    assert read - magic == {name for options in PLAYBOOKS.values() for name in options}


@pytest.mark.parametrize("playbook", sorted(path.name for path in (ROOT / "playbooks").glob("*.yml")))
def test_every_play_checks_its_options_first(playbook: str) -> None:
    first = yaml.safe_load((ROOT / "playbooks" / playbook).read_text(encoding="utf-8"))[0]
    if "ansible.builtin.import_playbook" not in first:
        role = (first.get("roles") or [{}])[0].get("role")
        assert "llm_d.inference.inputs" in (role, *first.get("pre_tasks", [{}])[-1])


def test_the_facts_that_roles_set_are_known() -> None:
    """They have the prefix of a role, and are no options."""
    roles = tuple(f"{role}_" for role in ROLES)
    names = set()
    for text in texts("roles/*/tasks/*.yml", "playbooks/**/*.yml").values():
        names |= set(re.findall(r"^ *register: ([a-z]\w*)", text, re.MULTILINE))
        for block in re.findall(r"ansible\.builtin\.set_fact:\n((?: {4,}\S.*\n)+)", text):
            names |= set(re.findall(r"^ +([a-z]\w+):", block, re.MULTILINE))
    assert {name for name in names if name.startswith((*roles, "inventory_"))} - {each for role in ROLES for each in options_of(role)} == RESULTS


def test_every_role_has_options_of_its_prefix_alone() -> None:
    assert all(name.startswith(f"{role}_") for role in ROLES for name in options_of(role))
    assert options_of("no_role") == {}
