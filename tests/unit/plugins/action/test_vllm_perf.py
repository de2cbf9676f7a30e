# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement in a real ansible-playbook: its progress is shown while it runs, and whatever ends the run ends the load."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import plays
import pytest
from local_servers import SSE, chunk, serve, stream

pytestmark = pytest.mark.timing

USAGE = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}


class Server:
    """Answers completions after a while; records the time of the last request."""

    def __init__(self):
        self.requests, self.last = 0, 0.0
        self._lock = threading.Lock()

    def __call__(self, handler, _method, path, _body):
        with self._lock:
            self.requests, self.last = self.requests + 1, time.monotonic()
        time.sleep(0.05)
        return 200, {"Content-Type": SSE}, stream(chunk("To "), chunk("day", "length"), USAGE)


@pytest.fixture(name="start")
def start_play(root, tmp_path):
    """Starts a play of one measurement, in a session of its own."""
    running = []

    def start(url, interpreter=sys.executable, **options):
        options = {"url": url, "model": "acme/tiny", "workload": {"input_len": 4, "output_len": 2}, "max_lag": 5, "max_lag_share": 0, **options}
        tasks = [
            {"name": "Measure", "llm_d.inference.vllm_perf": options, "register": "measured"},
            {"name": "Tell", "ansible.builtin.debug": {"msg": "{{ measured.verdict }} {{ measured.stages[0].ok }}"}},
        ]
        (tmp_path / "play.json").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
        command = [
            *plays.command(),
            "-i",
            "localhost,",
            "-c",
            "local",
            str(tmp_path / "play.json"),
            "-e",
            f"ansible_python_interpreter={interpreter}",
        ]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "no_proxy": "*",
            "TMPDIR": str(tmp_path),
            "PYTHONUNBUFFERED": "1",  # as on a terminal: into a pipe, ansible-playbook writes by the block
            "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"),
        }
        running.append(
            subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        )
        return running[-1]

    yield start
    for pid in of_the_run(tmp_path):
        os.kill(pid, signal.SIGKILL)
    for process in running:
        process.wait(10)


def of_the_run(folder: pathlib.Path) -> list[int]:
    """The processes whose environment names the folder of a run: ansible-playbook, its workers, which have sessions of their own, and theirs."""
    pids = []
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (place / "environ").read_bytes():
                pids.append(int(place.name))
        except OSError:
            continue
    return pids


def test_progress_is_shown_while_it_runs(start):
    server = Server()
    with serve(server) as url:
        process = start(url, stages=[{"rate": 20, "seconds": 7}], arrivals="constant", slo={"error_rate_max": 0})
        lines, times = [], []
        for line in process.stdout:
            lines.append(line.rstrip())
            times.append(time.monotonic())
    shown = [(moment, line) for moment, line in zip(times, lines, strict=False) if line.startswith("    rate 20: ")]
    assert process.wait(10) == 0 and any("passed 140" in line for line in lines), "\n".join(lines)
    assert len(shown) >= 3 and all("in flight" in line and "failed" in line for _moment, line in shown)
    assert "TTFT p90" in shown[-1][1] and "/s)" in shown[0][1]
    # as it goes, and not all at the end
    assert shown[-1][0] - shown[0][0] > 3


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(("number", "apart"), [(signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGKILL, False), (signal.SIGKILL, True)])
def test_the_load_ends_when_the_playbook_is_interrupted_or_killed(start, tmp_path, number, processes, apart):
    """SIGKILL leaves no time to react. The module runs in Ansible's worker or, with `apart`, in a process of its own."""
    server, interpreter = Server(), sys.executable
    if apart:
        interpreter = tmp_path / "python"
        interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        interpreter.chmod(0o755)
    with serve(server) as url:
        process = start(url, interpreter, stages=[{"rate": 20, "seconds": 120}], processes=processes, artifacts=str(tmp_path / "out"))
        late = time.monotonic() + 60
        while server.requests < 30:
            assert time.monotonic() < late and process.poll() is None
            time.sleep(0.05)
        # ansible-playbook, its worker, the module where it runs apart, and those that send
        assert len(of_the_run(tmp_path)) >= 2 + apart + (processes if processes > 1 else 0)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        end = time.monotonic() + 15
        while of_the_run(tmp_path) and time.monotonic() < end:
            time.sleep(0.1)
        assert of_the_run(tmp_path) == []
        output, count = process.stdout.read(), server.requests
        time.sleep(1)
        assert server.requests == count and process.wait(10) != 0 and "Traceback" not in output, output
