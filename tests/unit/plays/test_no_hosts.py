# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run without hosts, which Ansible itself does not treat as a failure."""

from __future__ import annotations

from pathlib import Path

import plays


def test_a_misspelled_inventory_ends_the_run() -> None:
    done = plays.run("-i", "inventories/mien", "playbooks/validate.yml")
    assert done.returncode != 0 and "Unable to parse" in done.stderr and "inventories/mien" in done.stderr


def test_an_inventory_without_hosts_is_named_in_the_last_line(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("[all:vars]\nllm_d_namespace=llm-d\n", encoding="utf-8")
    assert plays.run("-i", str(tmp_path), "playbooks/validate.yml").stdout.splitlines()[-1] == "nothing was done: the inventory has no hosts"
    assert "nothing was done" not in plays.run("-i", str(tmp_path), "playbooks/ask_approval.yml").stdout  # a play on this machine


def test_a_run_on_a_host_prints_no_warning_about_missing_hosts() -> None:
    assert "nothing was done" not in plays.run("-i", "paris,", "-c", "local", "playbooks/validate.yml", "--tags", "none").stdout
