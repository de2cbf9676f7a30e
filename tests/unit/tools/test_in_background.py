# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/in-background: what it starts has little of the processors in all its sessions, and leaves no cgroup."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

GROUPS = Path("/sys/fs/cgroup")
TELL = "import os, pathlib; os.setsid(); print(os.nice(0), [line for line in open('/proc/self/cgroup') if 'llm-d-tests.' in line])"


def begun(root: Path, *command: str) -> subprocess.Popen[str]:
    # Where a shell has started these tests in the background, Ctrl-C is off for what they start.
    given = ["env", "--default-signal=INT", root / "tests/in-background", *command]
    return subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def left(process: subprocess.Popen[str]) -> list[Path]:
    return [path for folder in (GROUPS, GROUPS / "cpu") for path in folder.glob(f"llm-d-tests.{process.pid}")]


@pytest.mark.skipif(os.geteuid() != 0, reason="a cgroup takes root")
def test_a_session_of_its_own_does_not_get_out(root: Path) -> None:
    with begun(root, sys.executable, "-c", TELL) as process:
        said, complained = process.communicate()
    niceness, _space, groups = said.partition(" ")
    assert int(niceness) >= 10 and ("llm-d-tests." in groups or "no cgroup" in complained), (said, complained)
    assert not left(process)


def test_the_status_and_ctrl_c_are_those_of_the_command(root: Path) -> None:
    with begun(root, "bash", "-c", "exit 7") as process:
        assert process.wait(10) == 7
    with begun(root, "bash", "-c", "trap 'echo tidied; exit 9' INT; echo here; while :; do sleep 0.1; done") as process:
        assert process.stdout and process.stdout.readline() == "here\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.read() == "tidied\n" and process.wait(10) == 9
    assert not left(process)
