# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs under a real supervisor: started once, restarted when their configuration changes, with their logs when they exit."""

from __future__ import annotations

import glob
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.modules import supervised

PACKAGES = next(iter(glob.glob("/var/cache/llm-d-local/python/lib/python3*/site-packages")), None)
pytestmark = pytest.mark.skipif(PACKAGES is None, reason="there is no supervisor in /var/cache/llm-d-local: the local cluster was never built here")

HEAD = """[unix_http_server]
file={folder}/s.sock
[supervisord]
pidfile={folder}/supervisord.pid
logfile={folder}/supervisord.log
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://{folder}/s.sock
"""
PROGRAM = """
[program:{name}]
command=/bin/sh -c "{command}"
startsecs={startsecs}
startretries={startretries}
stdout_logfile={folder}/{name}.log
redirect_stderr=true
"""


@pytest.fixture(name="bin_folder")
def supervisor_commands(tmp_path):
    """The commands under a path that is not the local cluster's, whose clean-up would stop what runs from there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("supervisord", "supervisorctl"):
        script = folder / name
        script.write_text(f'#!/bin/sh\nPYTHONPATH={PACKAGES} exec {sys.executable} -m supervisor.{name} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return folder


@pytest.fixture(name="configure")
def supervisor_config(tmp_path, bin_folder):
    """Writes the configuration for some programs; whatever was started is stopped in the end."""
    path = tmp_path / "supervisord.conf"

    def configure(startsecs=0, startretries=0, **programs):
        facts = {"folder": tmp_path, "startsecs": startsecs, "startretries": startretries}
        parts = [PROGRAM.format(name=name, command=command, **facts) for name, command in programs.items()]
        path.write_text(HEAD.format(folder=tmp_path) + "".join(parts), encoding="utf-8")
        return {"config": str(path), "bin": str(bin_folder), "timeout": 20}

    yield configure
    if (tmp_path / "supervisord.pid").exists():
        subprocess.run([bin_folder / "supervisorctl", "-c", path, "shutdown"], check=True, capture_output=True)
        while (tmp_path / "supervisord.pid").exists():
            time.sleep(0.05)


def pid_of(options, program):
    words = [f"{options['bin']}/supervisorctl", "-c", options["config"], "pid", program]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def test_programs_are_started_once(call, configure, tmp_path):
    options = configure(one="exec sleep 100", two="exec sleep 100")
    planned = call(supervised, check=True, **options)
    assert planned["changed"] and not (tmp_path / "supervisord.pid").exists()
    first = call(supervised, **options)
    assert first["changed"] and first["programs"] == {"one": "RUNNING", "two": "RUNNING"}
    pid = pid_of(options, "one")
    second = call(supervised, **options)
    assert not second["changed"] and second["programs"] == first["programs"] and pid_of(options, "one") == pid


@pytest.mark.rest
def test_only_the_program_whose_configuration_changed_restarts(call, configure):
    options = configure(one="exec sleep 100", two="exec sleep 100")
    call(supervised, **options)
    before = pid_of(options, "one"), pid_of(options, "two")
    configure(one="exec sleep 100", two="exec sleep 200")
    for _each in range(2):  # a second check must not hide the change
        assert call(supervised, check=True, **options)["changed"]
    assert (pid_of(options, "one"), pid_of(options, "two")) == before
    assert call(supervised, **options)["changed"]
    assert pid_of(options, "one") == before[0] and pid_of(options, "two") != before[1]
    assert Path("/proc", pid_of(options, "two"), "cmdline").read_bytes() == b"sleep\x00200\x00"
    assert not call(supervised, **options)["changed"]


def test_a_stopped_program_is_started_again(call, configure):
    options = configure(one="exec sleep 100")
    call(supervised, **options)
    subprocess.run([f"{options['bin']}/supervisorctl", "-c", options["config"], "stop", "one"], check=True, capture_output=True)
    result = call(supervised, **options)
    assert result["changed"] and result["programs"] == {"one": "RUNNING"}


def test_a_program_that_exits_is_reported_with_the_end_of_its_log(call, configure, tmp_path):
    options = configure(startsecs=1, good="exec sleep 100", bad="echo first; echo cannot bind to port 6443 >&2; exit 1")
    result = call(supervised, **options)
    assert result["failed"] and result["programs"] == {"good": "RUNNING", "bad": "FATAL"}
    assert "These programs do not run: bad." in result["msg"] and f"bad ({tmp_path}/bad.log): " in result["msg"]
    assert result["msg"].endswith("first | cannot bind to port 6443"), "the end of what its last start wrote, however many there were"


@pytest.mark.timing
def test_a_program_that_never_stays_up_is_reported_at_the_timeout(call, configure):
    options = {**configure(startsecs=1, startretries=50, bad="echo out of luck; exit 1"), "timeout": 5}
    result = call(supervised, **options)
    assert result["failed"] and "bad" in result["programs"] and "out of luck" in result["msg"]


def test_an_invalid_supervisord_configuration_is_reported(call, configure, tmp_path):
    options = configure(one="exec sleep 100")
    Path(options["config"]).write_text("[supervisord]\nlogfile=%(nonsense)s\n[supervisorctl]\nserverurl=unix:///nowhere\n", encoding="utf-8")
    result = call(supervised, **options)
    assert result["failed"] and "supervisord did not start" in result["msg"] and "nonsense" in result["msg"]
    assert not (tmp_path / "supervisord.pid").exists()
