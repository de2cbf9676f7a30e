# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module that runs in the worker must behave as one that is sent to a new process: same result, same check mode, same environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.plugin_utils import in_process
from local_servers import JSON, closed_port, models, serve

SHOWN = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Measure
      llm_d.inference.vllm_perf:
        url: %(url)s
        model: tiny
        wait: 0
        stages: [{rate: 1, requests: 1}]
        headers: {Authorization: "Bearer {{ 'planted' ~ '-key' }}", x-team: tiny}
      failed_when: false
    - name: Validate
      llm_d.inference.stack_validation:
        services: [{name: tiny, model: tiny, url: %(url)s, headers: {Authorization: "Bearer {{ 'planted' ~ '-other' }}"}}]
        wait: 0
      failed_when: false
    - name: Look
      llm_d.inference.cluster_access:
        kubeconfig: %(path)s
      failed_when: false
    - name: Look with a kubeconfig in the file
      llm_d.inference.cluster_access:
        kubeconfig: {kind: Config, users: [{name: me, user: {token: "{{ 'planted' ~ '-token' }}"}}]}
      failed_when: false
    - name: Show
      ansible.builtin.debug:
        msg: "export KUBECONFIG=%(path)s for a tiny Config"
"""
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Write
      llm_d.inference.files:
        files: [{path: %(path)s, content: "one\\n"}]
      environment: {LLM_D_TEST: "1"}
      register: written
    - name: Fail
      llm_d.inference.files:
        links: [%(path)s.link]
      register: failed
      ignore_errors: true
    - name: Show
      ansible.builtin.debug:
        msg: "{{ {'written': written, 'failed': failed} | to_json }}"
"""


def play(root, tmp_path, interpreter: str, *options: str) -> dict:
    """Run the play with an interpreter; return the results of its modules."""
    (tmp_path / "play.yml").write_text(PLAY % {"path": tmp_path / "file"}, encoding="utf-8")
    (tmp_path / "hosts").write_text(f'localhost ansible_connection=local ansible_python_interpreter="{interpreter}"\n', encoding="utf-8")
    command = [*plays.command(), "-i", str(tmp_path / "hosts"), str(tmp_path / "play.yml"), *options]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"), "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    line = next(line for line in done.stdout.splitlines() if '"msg": ' in line and "written" in line)
    return json.loads(json.loads("{" + line.strip().rstrip(",") + "}")["msg"])


@pytest.mark.rest
@pytest.mark.parametrize("sent", [False, True], ids=["in the worker", "sent"])
def test_of_headers_and_kubeconfigs_only_secrets_are_hidden(root, tmp_path, sent):
    """From ansible-core 2.22 on, whatever was a secret once is hidden in all later output of the play."""
    path, interpreter = tmp_path / "kubeconfig", tmp_path / "python" if sent else sys.executable
    (tmp_path / "python").symlink_to(sys.executable)
    (tmp_path / "play.yml").write_text(SHOWN % {"url": f"http://127.0.0.1:{closed_port()}", "path": path}, encoding="utf-8")
    command = [*plays.command(), "-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={interpreter}", str(tmp_path / "play.yml"), "-vvv"]
    environment = plays.environment(ANSIBLE_COLLECTIONS_PATH=str(root / "collections"), ANSIBLE_CALLBACK_RESULT_FORMAT="json")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert f"export KUBECONFIG={path} for a tiny Config" in done.stdout, done.stdout + done.stderr
    assert '"x-team": "tiny"' in done.stdout and "planted-" not in done.stdout + done.stderr


HOSTILE = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Check
      llm_d.inference.vllm_health_info:
        url: %(url)s
        request_timeout: 5
      register: health
    - name: Show
      ansible.builtin.debug:
        msg: "{{ health.findings + health.models }}"
    - name: Wait
      llm_d.inference.vllm_health:
        url: %(url)s
        model: other
        timeout: 0.2
        level: ready
"""
EVIL = "acme/\x1b[31mred\x1b]0;title\x07\x9b2J\u202eevil\r"


@pytest.mark.parametrize("format_", ["json", "yaml"])
def test_control_characters_from_a_server_do_not_reach_the_terminal(root, tmp_path, format_):
    def answer(handler, method, path, body):
        return 200, {"Content-Type": JSON}, models(EVIL) if path == "/v1/models" else "{}"

    with serve(answer) as url:
        (tmp_path / "play.yml").write_text(HOSTILE % {"url": url}, encoding="utf-8")
        command = [*plays.command(), "-i", "localhost,", "-c", "local", "-vvv", str(tmp_path / "play.yml")]
        environment = {
            **os.environ, "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"), "ANSIBLE_CALLBACK_RESULT_FORMAT": format_, "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PYTHON_INTERPRETER": sys.executable, "no_proxy": "*",
        }  # fmt: skip
        done = subprocess.run(command, capture_output=True, env=environment, check=False)
    output = (done.stdout + done.stderr).decode()
    assert done.returncode == 2 and "acme/red" in output, output
    match = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", output)
    assert not match, output[max(0, match.start() - 300) : match.end() + 100]
    assert "u001b" not in output and "x1b" not in output.lower() and "title" not in output, output


def test_objects_of_the_cluster_stay_as_they_are():
    result = in_process.shown({"msg": "\x1b[31mred", "definitions": [{"data": {"a": "\x1b[31m"}}], "lines": ["a\nb", {"x\x07": 1}]})
    assert result == {"msg": "red", "definitions": [{"data": {"a": "\x1b[31m"}}], "lines": ["a\nb", {"x ": 1}]}


@pytest.mark.rest
@pytest.mark.parametrize("options", [(), ("--check",), ("--diff",)])
def test_in_the_worker_and_sent_off_are_the_same(root, tmp_path, options):
    """A link to the interpreter under another name is sent off; the interpreter itself is not."""
    (tmp_path / "python").symlink_to(sys.executable)
    answers = []
    for interpreter in ("{{ ansible_playbook_python }}", str(tmp_path / "python")):
        (tmp_path / "file").unlink(missing_ok=True)
        answers.append(play(root, tmp_path, interpreter, *options))
    here, sent = answers
    assert here == sent
    assert here["written"]["changed"] is True
    assert here["failed"]["failed"] is True and "link_target" in here["failed"]["msg"]
    assert (tmp_path / "file").exists() is ("--check" not in options)


def test_an_interpreter_is_known_by_its_file_and_its_folder(tmp_path):
    """In a virtual environment, python3 of the same folder has the same libraries; the Python that it links to has others."""
    base, here, there = (tmp_path / name for name in ("base", "here", "there"))
    for folder in (base, here, there):
        folder.mkdir()
    (base / "python3.11").touch()
    for folder in (here, there):
        (folder / "python").symlink_to(base / "python3.11")
        (folder / "python3").symlink_to("python")
    (here / "pypy").touch()
    same = [path for path in (here / "python", here / "python3", here / "pypy", there / "python", base / "python3.11") if
            in_process.same_interpreter(str(path), str(here / "python3"))]  # fmt: skip
    assert same == [here / "python", here / "python3"]


@pytest.mark.rest
@pytest.mark.parametrize("name,sent", [("python", False), ("python3", False), ("a link elsewhere", True)])
def test_a_module_runs_in_the_worker_by_any_name_of_its_interpreter(tmp_path, name, sent):
    """-vvv shows EXEC for a module that a shell executes outside of the worker."""
    (tmp_path / "play.yml").write_text(PLAY % {"path": tmp_path / "file"}, encoding="utf-8")
    interpreter = str(tmp_path / "python" if sent else Path(sys.executable).parent / name)
    if sent:
        (tmp_path / "python").symlink_to(sys.executable)
    done = plays.run("-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={interpreter}", "-vvv", str(tmp_path / "play.yml"))
    assert done.returncode == 0 and ("EXEC" in done.stdout) is sent, done.stdout + done.stderr
