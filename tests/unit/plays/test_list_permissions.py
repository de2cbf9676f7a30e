# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/list_permissions.yml as a user runs it: a file that is written once, shown in check mode, removed on request, and instructions to apply it."""

from __future__ import annotations

import json
import re
import sys
import typing as t
from pathlib import Path

import plays
import pytest
import yaml

USER: dict[str, t.Any] = {"llm_d_scope": "namespace", "llm_d_model_services": [{"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}]}


def permissions(folder: Path, *arguments: str, **variables: t.Any) -> tuple[str, int, int]:
    """(output, changed tasks, exit status) of the playbook."""
    given = {**USER, "llm_d_artifacts_dir": str(folder), "ansible_python_interpreter": sys.executable, **variables}
    done = plays.run("-i", "localhost,", "-c", "local", "playbooks/list_permissions.yml", "-e", json.dumps(given), *arguments)
    changed = re.search(r"changed=(\d+)", done.stdout)
    return done.stdout + done.stderr, int(changed.group(1)) if changed else -1, done.returncode


@pytest.mark.rest
def test_the_file_is_written_shown_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "permissions-namespace.yml"
    output, changed, _status = permissions(tmp_path, "--check", "--diff")
    assert changed == 1 and not path.exists() and f"would write: {path}" in output and "+kind: RoleBinding" in output
    output, changed, _status = permissions(tmp_path, list_permissions_token="true")
    assert changed == 1 and f"written: {path}" in output and f"kubectl apply -f {path}" in output and "kubectl get secret llm-d-deployer-token" in output
    before = path.read_bytes()
    assert [item["kind"] for item in yaml.safe_load_all(before)] == ["ServiceAccount", "Secret", "Role", "RoleBinding"]
    output, changed, _status = permissions(tmp_path, list_permissions_token="true")
    assert changed == 0 and f"unchanged: {path}" in output and path.read_bytes() == before
    _output, changed, _status = permissions(tmp_path, "--check", list_permissions_state="absent")
    assert changed == 1 and path.read_bytes() == before
    output, changed, _status = permissions(tmp_path, list_permissions_state="absent")
    assert changed == 1 and not path.exists() and "kubectl apply" not in output
    assert permissions(tmp_path, list_permissions_state="absent")[1] == 0


def test_a_mistake_is_reported_and_no_file_is_written(tmp_path: Path) -> None:
    output, changed, status = permissions(tmp_path, list_permissions_user="jane", list_permissions_token="true")
    output = " ".join(output.split())
    assert status and changed == 0 and "list_permissions_token: is of a ServiceAccount, and list_permissions_user names someone else." in output, output
    assert not list(tmp_path.iterdir()) and "Traceback" not in output
