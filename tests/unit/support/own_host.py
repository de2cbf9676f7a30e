# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel resources for tests that run as root, separate from those of the host."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import time
from pathlib import Path

import pytest

CLONE_NEWNET = 0x40000000
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes bridges, mounts and cgroups, for which it must be root")


def sh(*words):
    """Runs a command that must succeed; gives its output."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def running(process):
    """Waits until a new process has its name and arguments, which are missing for an instant after its start; returns the process."""
    while process.poll() is None and not Path("/proc", str(process.pid), "cmdline").read_bytes():
        time.sleep(0.001)
    return process


@contextlib.contextmanager
def network_namespace():
    """Puts this thread and its children into an empty network namespace, in which they cannot reach the bridges, routes and tables of the host."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", "rb") as home:
        if libc.unshare(CLONE_NEWNET):
            pytest.skip(f"cannot make a network namespace here: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            assert libc.setns(home.fileno(), CLONE_NEWNET) == 0
