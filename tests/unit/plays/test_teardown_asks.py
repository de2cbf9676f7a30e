# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/teardown.yml asks on a terminal before it removes anything, and goes on where there is none."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import time

import plays
import pytest

pytestmark = pytest.mark.timing

ASKS = b"Enter removes it; Ctrl-C, then A, leaves it"
BEGUN = b"TASK [llm_d.inference."


def command(tmp_path, hosts=("localhost",), **given):
    """Nothing is there that could be removed: the first contact with the cluster fails. given: variables."""
    (tmp_path / "hosts").write_text("".join(f"{name} ansible_connection=local llm_d_context={name}\n" for name in hosts), encoding="utf-8")
    return plays.command("-i", str(tmp_path / "hosts"), "playbooks/teardown.yml", "-e", json.dumps({"llm_d_kubeconfig": f"{tmp_path}/none", **given}))


def on_a_terminal(tmp_path, keys=(), hosts=("localhost",), user=(), **more):
    """The output of the teardown, on a terminal of its own, when keys are pressed once it asks. user: variables, more: its environment."""
    given, environment, keys = command(tmp_path, hosts, **dict(user)), plays.environment(**more), list(keys)
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(plays.ROOT)
        os.execvpe(given[0], given, environment)
    said, end = b"", time.monotonic() + 120
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            said += os.read(terminal, 4096)
        except OSError:  # nobody has the terminal open any more
            break
        while ASKS in said and keys:
            time.sleep(0.5)  # it forgets what was typed before it reads
            os.write(terminal, keys.pop(0))
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    os.waitpid(pid, 0)
    return said


def test_ctrl_c_leaves_everything(tmp_path):
    said = on_a_terminal(tmp_path, [b"\x03", b"a"])
    assert ASKS in said and BEGUN not in said and b"created for these hosts goes, in the namespace llm-d." in said, said


def test_all_clusters_are_named_where_there_are_several(tmp_path):
    said = on_a_terminal(tmp_path, [b"\x03", b"a"], hosts=("paris", "berlin"))
    assert b"created for paris, berlin goes, each in its own namespace." in said and BEGUN not in said, said


def test_the_namespace_of_the_file_is_named(tmp_path):
    said = on_a_terminal(tmp_path, [b"\x03", b"a"], user={"llm_d_namespace": "team-a"})
    assert b"goes, in the namespace team-a." in said and BEGUN not in said, said


def test_who_has_confirmed_it_is_not_asked(tmp_path):
    said = on_a_terminal(tmp_path, user={"teardown_confirmed": True})
    assert BEGUN in said and ASKS not in said


def test_enter_removes(tmp_path):
    said = on_a_terminal(tmp_path, [b"\r"])
    assert BEGUN in said.partition(ASKS)[2], said


def test_nobody_is_asked_where_there_is_no_terminal(tmp_path):
    done = subprocess.run(command(tmp_path), cwd=plays.ROOT, env=plays.environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
    assert BEGUN in done.stdout and ASKS not in done.stdout + done.stderr


def test_nobody_is_asked_by_awx(tmp_path):
    """Its jobs have a terminal."""
    said = on_a_terminal(tmp_path, AWX_ISOLATED_DATA_DIR="/runner/artifacts/1")
    assert BEGUN in said and ASKS not in said
