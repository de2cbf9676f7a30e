# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs and what they write."""

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common import programs


def test_program_output_that_is_not_utf_8_is_read_as_text():
    done = programs.run(["printf", r"a\377b"])

    assert (done.returncode, done.stdout, done.stderr) == (0, "a\N{REPLACEMENT CHARACTER}b", "")


def test_a_program_that_fails():
    assert programs.run(["sh", "-c", "echo no >&2; exit 3"]).returncode == 3
    with pytest.raises(subprocess.CalledProcessError) as error:
        programs.run(["sh", "-c", "echo no >&2; exit 3"], check=True)

    assert (error.value.returncode, error.value.stderr) == (3, "no\n")


def test_a_program_runs_in_the_given_folder_and_environment(tmp_path):
    assert programs.run(["/bin/sh", "-c", 'pwd; echo "$GIVEN"'], cwd=str(tmp_path), env={"GIVEN": "this"}).stdout == f"{tmp_path}\nthis\n"


def test_a_program_that_is_missing():
    with pytest.raises(FileNotFoundError):
        programs.run(["no-such-program"])
