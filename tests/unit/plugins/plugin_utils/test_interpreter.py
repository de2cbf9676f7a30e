# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python that is too old for modules is reported; a crash on another one keeps its own error."""

from __future__ import annotations

import sys
from pathlib import Path

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.plugin_utils import interpreter

CRASHED = {"failed": True, "exception": "SyntaxError", "module_stderr": "SyntaxError"}
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - llm_d.inference.files:
        files: []
"""


def python(folder: Path, version: str) -> str:
    """A program that reports this version of Python, and that can run nothing."""
    path = folder / "python"
    path.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exec echo {version}\necho SyntaxError >&2\nexit 1\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("version", ["3.6", "3.9", "3.10", "2.7"])
def test_a_python_that_is_too_old_is_named(tmp_path: Path, version: str) -> None:
    old = python(tmp_path, version)
    message = interpreter.too_old(CRASHED, old)
    assert f"ansible_python_interpreter is {old}, which is Python {version}" in message and "Python 3.11 or newer" in message


def test_only_failures_of_an_old_python_are_attributed_to_it(tmp_path: Path) -> None:
    old = python(tmp_path, "3.9")
    assert interpreter.too_old({"failed": True, "msg": "no"}, old) == "", "the module ran"
    for words in (
        "ansible-core requires a minimum of Python version 3.9. Current version: 3.8",
        "Ansible requires Python 3.9 or newer on the target. Current version: 3.8.18 (default, May  9 2026, 07:33:04) [GCC 12.2.0]",
        "the Python library 'kubernetes' is missing for /usr/bin/python3.9: install it there (pip install kubernetes)",
    ):
        assert "which is Python 3.9" in interpreter.too_old({"failed": True, "msg": words}, old)
    assert interpreter.too_old({"changed": False}, old) == "" == interpreter.too_old(CRASHED, None)
    assert interpreter.too_old(CRASHED, sys.executable) == "" == interpreter.too_old(CRASHED, str(tmp_path / "none"))
    assert interpreter.too_old(CRASHED, python(tmp_path, "what?")) == ""


@pytest.mark.rest
def test_a_play_reports_a_python_that_is_too_old(tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text(PLAY, encoding="utf-8")
    old = python(tmp_path, "3.8")
    done = plays.run("-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={old}", str(tmp_path / "play.yml"))
    output = " ".join((done.stdout + done.stderr).split())
    assert done.returncode and f"ansible_python_interpreter is {old}, which is Python 3.8" in output and "deserialization" not in output, output
