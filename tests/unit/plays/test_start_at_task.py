# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play that is started after its first task, which computes the plan, names that task."""

from __future__ import annotations

import typing as t
from pathlib import Path

import plays
import pytest
import yaml

ROLES = sorted(path.parts[-3] for path in (plays.ROOT / "roles").glob("*/tasks/main.yml") if "register:" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("role", ROLES)
def test_the_error_message_of_each_role_names_its_first_task(role: str) -> None:
    (block,) = yaml.safe_load((plays.ROOT / f"roles/{role}/tasks/main.yml").read_text(encoding="utf-8"))
    first = block["block"][0]
    message = yaml.safe_load((plays.ROOT / f"roles/{role}/vars/main.yml").read_text(encoding="utf-8"))[first["register"]]
    assert f"start at llm_d.inference.{role} : {first['name']}'" in message


def set_by(task: dict[str, t.Any]) -> set[str]:
    """The variables that a task sets."""
    return {*task.get("ansible.builtin.set_fact", {}), *([task["register"]] if "register" in task else [])}


@pytest.mark.parametrize("playbook", sorted(path.name for path in (plays.ROOT / "playbooks").glob("*.yml")))
def test_the_error_message_of_each_play_names_its_first_task(playbook: str) -> None:
    for play in yaml.safe_load((plays.ROOT / "playbooks" / playbook).read_text(encoding="utf-8")):
        tasks = play.get("tasks", [])
        for name in (name for task in tasks[:-1] for name in set_by(task)):
            assert f"start at {tasks[0]['name']}'" in play["vars"][name]


@pytest.mark.rest
@pytest.mark.parametrize(
    ("playbook", "task", "first"),
    [
        ("export", "Write the files", "start at Compute the objects"),
        ("list_images", "Show images, charts and CRDs", "start at Compute the plan"),
        ("canary", "llm_d.inference.canary : Show the steps", "start at llm_d.inference.canary : Compute the steps"),
        ("canary", "llm_d.inference.canary : Take the steps", "start at llm_d.inference.canary : Compute the steps"),
        ("watch", "llm_d.inference.prerequisites : Compute what to deploy", "start at llm_d.inference.diagnose : Compute what to diagnose"),
    ],
)
def test_a_playbook_started_after_its_first_task_names_that_task(playbook: str, task: str, first: str) -> None:
    done = plays.run("-i", "inventories/local", f"playbooks/{playbook}.yml", "--start-at-task", task)
    assert done.returncode == 2 and first in " ".join((done.stdout + done.stderr).split()), done.stdout


@pytest.mark.rest
def test_tags_that_skip_the_comparison_for_drift_are_refused() -> None:
    done = plays.run("-i", "inventories/local", "playbooks/watch.yml", "--tags", "model_service")
    assert done.returncode == 2 and "nothing was compared: leave out --tags" in " ".join((done.stdout + done.stderr).split()), done.stdout


def test_a_role_started_after_its_first_task_names_that_task(tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text("- hosts: localhost\n  gather_facts: false\n  roles: [llm_d.inference.validation]\n", encoding="utf-8")
    done = plays.run("-i", "inventories/local", str(tmp_path / "play.yml"), "--start-at-task", "llm_d.inference.validation : Validate the deployment")
    assert done.returncode == 2 and "start at llm_d.inference.validation : Compute what to validate" in done.stdout + done.stderr
