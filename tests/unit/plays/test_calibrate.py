# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calibrate role measures the prefill throughput, and writes the line for the user's file.

molecule/scorers/live and molecule/vllm/live have the real servers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t

import plays
import pytest
import yaml
from local_servers import SSE, chunk, serve, stream

pytestmark = pytest.mark.rest
ROLE = plays.ROOT / "roles/calibrate"
WANTED = ("measure | Send prompts as long as", "measure | Compute the prefill throughput", "measure | Write the options", "report | ")


def tasks() -> t.Iterator[dict[str, t.Any]]:
    """The tasks of the role that need no cluster."""
    for file in ("measure", "report"):
        for task in yaml.safe_load((ROLE / f"tasks/{file}.yml").read_text(encoding="utf-8")):
            if task["name"].startswith(WANTED):
                included = task.get("ansible.builtin.include_tasks")
                yield {**task, "ansible.builtin.include_tasks": str(ROLE / "tasks" / included)} if included else task


def test_prefill_throughput_is_measured_with_prompts_scaled_to_max_model_len(tmp_path, root):
    requests = []

    def answer(_handler, _method, _path, body):
        requests.append(json.loads(body))
        count = len(requests[-1]["prompt"].split())
        usage = {"prompt_tokens": count, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 100 if count > 100 else 0}}
        return 200, {"Content-Type": SSE}, stream(chunk("To", "length"), {"choices": [], "usage": usage})

    facts = {"llm_d.inference.role_facts": {"role": "calibrate", "derive": ["runs", "targets"]}, "register": "__calibrate_facts"}
    play = {"hosts": "localhost", "gather_facts": False, "vars_files": [str(ROLE / f"{name}/main.yml") for name in ("defaults", "vars")]}
    with serve(answer) as url:
        given = {
            "llm_d_artifacts_dir": str(tmp_path / "artifacts"),
            "llm_d_gateway": {"provider": "standalone"},
            "llm_d_model_services": [{"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}}],
            "ansible_python_interpreter": sys.executable,
            # facts that other tasks of the role set
            "__calibrate_url": url,
            "__calibrate_health": {"models": [{"id": "acme/sim", "max_model_len": 400}]},
            "__calibrate_engine": {"type": "simulator"},
            "__calibrate_report": {"ok": True, "summary": "load", "lines": ["load"], "table": "| load |\n", "stages": [], "largest": 0.1},
        }
        (tmp_path / "vars.json").write_text(json.dumps(given), encoding="utf-8")
        (tmp_path / "play.yml").write_text(
            json.dumps([{**play, "tasks": [facts, *(each for each in tasks() if "Compare" not in each["name"])]}]), encoding="utf-8"
        )
        command = [*plays.command(), "-i", "localhost,", "-c", "local", "play.yml", "-e", "@vars.json"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1", "no_proxy": "*"}
        environment["ANSIBLE_COLLECTIONS_PATH"] = str(root / "collections")
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "changed=0" in done.stdout, done.stdout + done.stderr
    folder = tmp_path / "artifacts/calibrate/sim"
    speed = yaml.safe_load((folder / "scheduler.yml").read_text(encoding="utf-8"))["scheduler"]["peak_prefill_throughput"]
    assert isinstance(speed, int) and speed > 0
    assert json.loads((folder / "results.json").read_text(encoding="utf-8"))["prefill"] == {"peak_prefill_throughput": speed, "prompt_tokens": 200}
    assert f"under scheduler of sim: peak_prefill_throughput: {speed}" in " ".join(done.stdout.split())
    # three quarters of the 400 tokens, as words; 100 of them are cached
    assert [(len(each["prompt"].split()), each["max_tokens"]) for each in requests if each["prompt"] != "Hello"] == [(300, 1)] * 8
