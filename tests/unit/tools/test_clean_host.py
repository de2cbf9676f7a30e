# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison of the host before and after a cluster. No cluster is brought up: a stand-in for the play records its state."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from own_host import running

TOOLS = ("bash", "cat", "cp", "diff", "dirname", "mkdir", "mktemp", "rm", "sh", "wc")

COMPARED = ["snapshot", "command", "absent", "snapshot"]
ALL = ["containerd", "ip", "nft"]


@pytest.fixture(name="clean_host")
def on_a_host_with(root, tmp_path):
    """A function that runs a command on a clean host with these additional commands, and returns (run, steps in order)."""
    for each in ("tests", "bin", "packages"):
        (tmp_path / each).mkdir()
    for each in ("clean-host", "on-clean-host"):
        shutil.copy(root / "tests" / each, tmp_path / "tests")
    for each in TOOLS:
        (tmp_path / "bin" / each).symlink_to(shutil.which(each))
    playbook = f"""for last; do :; done
echo "${{last#local_cluster_state=}}" >> {tmp_path}/done
[ "$last" = local_cluster_state=absent ] || cp {tmp_path}/packages/* {tmp_path}/bin"""
    scripts = {
        "bin/ansible-playbook": playbook,
        "tests/host-snapshot": f"echo snapshot >> {tmp_path}/done; echo a mount; cat {tmp_path}/left 2>&-; exit 0",
    }

    def run(commands, script):
        programs = {f"{'bin' if each in commands else 'packages'}/{each}": "exit 0" for each in ALL}
        for name, text in {**scripts, **programs}.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            (tmp_path / name).chmod(0o755)
        command = [tmp_path / "tests/on-clean-host", "sh", "-c", f"echo command >> {tmp_path}/done; {script}"]
        ended = subprocess.run(["/usr/bin/env", *command], env={"PATH": str(tmp_path / "bin")}, check=False, capture_output=True, text=True)
        return ended, (tmp_path / "done").read_text(encoding="utf-8").split()

    return run


@pytest.mark.skipif(not Path("/proc/sys/net/bridge").is_dir(), reason="br_netfilter is not loaded here")
def test_a_host_that_had_a_cluster_before_is_compared_at_once(clean_host):
    ended, done = clean_host(ALL, "")
    assert ended.returncode == 0 and ended.stdout.startswith("The host is as it was: 1 "), ended
    assert done == ["absent", *COMPARED]


@pytest.mark.parametrize("missing", ALL)
def test_a_bare_host_gets_lasting_packages_before_the_first_snapshot(clean_host, missing):
    ended, done = clean_host([each for each in ALL if each != missing], "")
    assert ended.returncode == 0, ended
    assert done == ["absent", "present", "absent", *COMPARED]


def test_a_change_left_on_the_host_fails_the_run(clean_host, tmp_path):
    ended, done = clean_host(ALL, f"echo an interface > {tmp_path}/left")
    assert ended.returncode == 1 and "> an interface" in ended.stdout and "FAILED" in ended.stdout and done[-2:] == ["absent", "snapshot"]


def test_one_inside_another_leaves_the_comparison_to_the_outer_one(clean_host, tmp_path):
    ended, done = clean_host(ALL, f"cd {tmp_path} && tests/on-clean-host sh -c 'echo inner >> done'")
    assert ended.returncode == 0, ended
    assert [each for each in done if each != "present"][-5:] == ["snapshot", "command", "inner", "absent", "snapshot"]


def test_the_host_snapshot_counts_processes_of_the_same_name(root, tmp_path):
    name = f"llm-d-{os.getpid()}"
    program = shutil.copy("/bin/sleep", tmp_path / name)

    def process_lines():
        lines = subprocess.run([sys.executable, root / "tests/host-snapshot"], check=True, capture_output=True, text=True).stdout.split("\n")
        return [each for each in lines if name in each]

    with contextlib.ExitStack() as programs:
        for count in (1, 2):
            process = programs.enter_context(subprocess.Popen([program, "60"]))
            programs.callback(process.kill)
            running(process)
            assert process_lines() == [f"process {name} x{count}"]
