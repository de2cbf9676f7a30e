# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""configure_awx.yml and ask_approval.yml with missing settings. tests/contract/test_controller.py runs them in AWX."""

from __future__ import annotations

from pathlib import Path

import plays
import pytest

URL = ("-e", "configure_awx_inventory_url=https://git.example.com/stack.git")
NO_LOGIN = {"CONTROLLER_HOST": "", "CONTROLLER_OAUTH_TOKEN": "", "CONTROLLER_PASSWORD": ""}
LOGIN = {"CONTROLLER_HOST": "http://127.0.0.1:9", "CONTROLLER_OAUTH_TOKEN": "t"}


def refused(*given: str, **where: str) -> str:
    """The output of a run that changes nothing, in one line."""
    done = plays.run("playbooks/configure_awx.yml", *given, **where)
    assert done.returncode != 0 and "changed=0" in done.stdout
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.rest
@pytest.mark.parametrize("given", [(), ("-e", "configure_awx_inventory_url=")])
def test_a_missing_required_variable_is_reported_by_its_name(given: tuple[str, ...]) -> None:
    assert "configure_awx_inventory_url: is missing. Write a string, such as 'https://git.example.com/stack.git'." in refused(*given, **LOGIN)


def test_a_missing_login_and_a_missing_kubeconfig_are_reported_together() -> None:
    shown = refused(*URL, "-e", "configure_awx_kubeconfig=/not/there", **NO_LOGIN)
    assert "CONTROLLER_HOST is not set" in shown and "there is no login" in shown
    assert "configure_awx_kubeconfig: there is no file /not/there" in shown


@pytest.mark.rest
def test_a_kubeconfig_that_names_files_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("clusters:\n- cluster:\n    certificate-authority: /home/me/ca.crt\n", encoding="utf-8")
    given = (*URL, "-e", f"configure_awx_kubeconfig={path}")
    assert "it names files of this machine: give the output of kubectl config view --raw --flatten --minify" in refused(*given, **LOGIN)
    path.write_text("clusters:\n- cluster:\n    certificate-authority-data: aGVsbG8=\n", encoding="utf-8")
    done = plays.run("playbooks/configure_awx.yml", *given, **LOGIN)
    assert "Create all of it" in done.stdout and "files of this machine" not in done.stdout  # it fails there without the modules


def test_the_approval_playbook_passes_the_syntax_check_without_awx_modules() -> None:
    done = plays.run("-i", "inventories/local", "playbooks/ask_approval.yml", "--syntax-check", ANSIBLE_COLLECTIONS_PATH="collections")
    assert done.returncode == 0, done.stderr
