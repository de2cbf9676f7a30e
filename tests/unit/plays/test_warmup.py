# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role model_service loads adapters into servers and warms them up at its end, in a real play with real HTTP servers.

The real cluster: molecule/scorers/live and molecule/life/live.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import plays
import pytest
from engine_servers import CachingEngine, LoraServer
from local_servers import closed_port, serve

pytestmark = pytest.mark.rest

PROMPT = "You are the patient assistant of a shop for boots and you answer in one short sentence only, always."
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: llm_d.inference.model_service
      vars:
        # without objects, no cluster is needed
        model_service_plan: >-
          {{ {'llm_d_charts': {'envoy_gateway': '/c'}} | llm_d.inference.service_plan | combine({'warmups': warmups, 'adapters': adapters}) }}
"""


@pytest.fixture(name="play")
def run_play(root, tmp_path):
    def run(warmups, *arguments, adapters=()):
        (tmp_path / "play.yml").write_text(PLAY, encoding="utf-8")
        (tmp_path / "vars.json").write_text(json.dumps({"warmups": warmups, "adapters": list(adapters)}), encoding="utf-8")
        command = [
            *plays.command(),
            "-i",
            "localhost,",
            "-c",
            "local",
            str(tmp_path / "play.yml"),
            "-e",
            f"@{tmp_path / 'vars.json'}",
            "-e",
            f"ansible_python_interpreter={sys.executable}",
            *arguments,
        ]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "no_proxy": "*",
            "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"),
        }
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)

    return run


def warmup(*urls):
    return {"name": "sim", "model": "acme/sim", "api": "chat_completions", "block_size": 16, "prompts": [PROMPT], "config_map": None, "urls": list(urls)}


def test_the_first_run_changes_and_the_second_does_not_and_no_prompt_is_shown(play):
    servers = CachingEngine(), CachingEngine()
    with serve(servers[0]) as one, serve(servers[1]) as other:
        first, second = (play([warmup(one, other)], "-vvv") for _turn in range(2))
    assert first.returncode == second.returncode == 0, first.stdout + first.stderr
    assert "changed=1 " in first.stdout and "changed=0 " in second.stdout and [len(server.prompts) for server in servers] == [2, 2]
    assert "warmed" in first.stdout and PROMPT not in first.stdout + first.stderr + second.stdout + second.stderr


def test_a_cold_cache_is_a_warning_and_does_not_stop_the_play(play):
    done = play([warmup(f"http://127.0.0.1:{closed_port()}")])
    assert done.returncode == 0 and "changed=0 " in done.stdout, done.stdout + done.stderr
    assert "WARNING" in done.stdout + done.stderr and f"prompts[0] ({len(PROMPT)} characters)" in " ".join((done.stdout + done.stderr).split())


def test_the_warm_up_is_skipped_when_no_service_requests_one(play):
    done = play([])
    assert done.returncode == 0 and "changed=0 " in done.stdout and "failed=0" in done.stdout, done.stdout + done.stderr
    after = done.stdout.partition("present | Put the warm-up prompts")[2]
    assert after.splitlines()[1].startswith("skipping: [localhost]"), done.stdout


def test_adapters_are_loaded_once_and_check_mode_only_shows_the_diff(play):
    server = LoraServer(gone="/models/gone")
    with serve(server) as url:
        wanted = [{"name": "sim", "adapters": [{"name": "sql", "source": "/models/sql"}], "urls": [url]}]
        before = play([], "--check", "--diff", adapters=wanted)
        assert server.has == {"gone": "/models/gone"}
        first, second = play([], adapters=wanted), play([], adapters=wanted)
    assert before.returncode == first.returncode == second.returncode == 0, first.stdout + first.stderr
    assert "changed=1 " in before.stdout and f"-{url}: gone from /models/gone" in before.stdout and f"+{url}: sql from /models/sql" in before.stdout, (
        before.stdout
    )
    assert "changed=1 " in first.stdout and "changed=0 " in second.stdout and server.has == {"sql": "/models/sql"}


def test_an_adapter_that_cannot_be_loaded_stops_the_play(play):
    with serve(LoraServer(closed=True)) as url:
        done = play([], adapters=[{"name": "sim", "adapters": [{"name": "sql", "source": "/models/sql"}], "urls": [url]}])
    assert done.returncode != 0 and "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True" in " ".join((done.stdout + done.stderr).split()), done.stdout
