# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts programs on this host, all in one place.

A module's own `run_command` is not available below the modules, has no timeout and gives no output while a program runs; ansible-test requires it
wherever `subprocess` is called.
"""

from __future__ import annotations

import os
import subprocess
import typing as t


def run(
    command: list[str], cwd: str | None = None, env: dict[str, str] | None = None, check: bool = False, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """The exit status and the output of a program, as text. timeout: in seconds.

    Raises OSError where it cannot be started, subprocess.TimeoutExpired, and with check subprocess.CalledProcessError where it fails.
    """
    return subprocess.run(  # pylint: disable=ansible-bad-function
        command, cwd=cwd, env=env, check=check, timeout=timeout, capture_output=True, text=True, errors="replace"
    )


def start(command: list[str], **options: t.Any) -> subprocess.Popen[t.Any]:
    """A program that runs; options are those of subprocess.Popen. Raises OSError where it cannot be started."""
    return subprocess.Popen(command, **options)  # pylint: disable=ansible-bad-function


def search_sbin() -> None:
    """Let this process, and the programs that it starts, find those of root, such as ip and iptables: the PATH of `su` may lack their folders."""
    os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"
