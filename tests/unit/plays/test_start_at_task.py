# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play that starts behind the task that computes what to do says which one that is."""

from __future__ import annotations

from pathlib import Path

import plays
import pytest
import yaml

ROLES = sorted(path.parts[-3] for path in (plays.ROOT / "roles").glob("*/tasks/main.yml") if "role_facts" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("role", ROLES)
def test_each_role_names_its_first_task(role: str) -> None:
    (block,) = yaml.safe_load((plays.ROOT / f"roles/{role}/tasks/main.yml").read_text(encoding="utf-8"))
    first = block["block"][0]
    said = yaml.safe_load((plays.ROOT / f"roles/{role}/vars/main.yml").read_text(encoding="utf-8"))[first["register"]]
    assert "llm_d.inference.role_facts" in first and f"start at llm_d.inference.{role} : {first['name']}'" in said


def test_a_play_that_starts_behind_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text("- hosts: localhost\n  gather_facts: false\n  roles: [llm_d.inference.validation]\n", encoding="utf-8")
    done = plays.run("-i", "inventories/local", str(tmp_path / "play.yml"), "--start-at-task", "llm_d.inference.validation : Validate the deployment")
    assert done.returncode == 2 and "start at llm_d.inference.validation : Compute what to validate" in done.stdout + done.stderr
