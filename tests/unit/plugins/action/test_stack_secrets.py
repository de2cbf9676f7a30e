# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets applied by a real play against a server that keeps them: no value in any output, at any verbosity."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys

import plays
import pytest
import yaml
from ansible.release import __version__
from local_servers import serve

pytestmark = pytest.mark.rest

CORE = tuple(map(int, __version__.split(".")[:2]))
TOKEN, PASSWORD = "hf_" + "q7" * 12, "s3same-" + "z9" * 8
VALUES = [TOKEN, PASSWORD, *(base64.b64encode(text.encode()).decode() for text in (TOKEN, f"robot:{PASSWORD}"))]
FILE = {
    "llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"},
    "llm_d_model_token": TOKEN,
    "llm_d_image_pull_credentials": [{"registry": "registry.example.com:5000", "username": "robot", "password": PASSWORD}],
}
SECRETS = {
    "kind": "APIResourceList",
    "groupVersion": "v1",
    "resources": [{"name": "secrets", "singularName": "secret", "namespaced": True, "kind": "Secret", "verbs": ["create", "delete", "get", "list", "patch"]}],
}
FIXED = {
    "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.4"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "groups": []},
    "/api/v1": SECRETS,
}
ROOM = "/api/v1/namespaces/llm-d/secrets/"


class Store:
    """An API server that keeps Secrets; `refusal` is its answer to every write."""

    def __init__(self):
        self.kept, self.refusal = {}, None

    def answer(self, _handler, method, path, body):
        """Status, headers and body for a request."""
        plain, _mark, query = path.partition("?")
        if plain in FIXED:
            return 200, {"Content-Type": "application/json"}, json.dumps(FIXED[plain])
        if method == "PATCH" and self.refusal:
            return self.refusal["code"], {"Content-Type": "application/json"}, json.dumps({"kind": "Status", "status": "Failure", **self.refusal})
        if method == "PATCH":
            given = json.loads(body)
            stored = {**given, "metadata": {**given["metadata"], "uid": "u", "resourceVersion": "1"}}
            if "dryRun" not in query:
                self.kept[plain] = stored
            return 200, {"Content-Type": "application/json"}, json.dumps(stored)
        if plain in self.kept:
            return 200, {"Content-Type": "application/json"}, json.dumps(self.kept[plain])
        status = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}
        return 404, {"Content-Type": "application/json"}, json.dumps(status)


@pytest.fixture(name="store")
def _store():
    store = Store()
    with serve(store.answer) as store.url:
        yield store


@pytest.fixture(name="play")
def _play(root, tmp_path, store):
    def run(*arguments, interpreter="{{ ansible_playbook_python }}", foreign="refuse", **variables):
        """Runs the play with the most verbose output; gives its exit status, its output, and everything that it has written."""
        log, artifacts = tmp_path / "ansible.log", tmp_path / "artifacts"
        artifacts.unlink(missing_ok=True)
        connection = {"host": store.url, "api_key": "sesame-open"}
        tasks = [
            {"name": "Create the secrets", "llm_d.inference.stack_secrets": {**connection, "foreign": foreign}, "register": "done"},
            {"name": "Show", "ansible.builtin.debug": {"msg": "{{ [done, lookup('llm_d.inference.plan')] }}"}},
            {"name": "Keep", "ansible.builtin.copy": {"content": "{{ done }}", "dest": str(artifacts)}},
        ]
        play = [{"hosts": "all", "gather_facts": False, "tasks": tasks}]
        (tmp_path / "play.yml").write_text(yaml.safe_dump(play), encoding="utf-8")
        host = {"ansible_connection": "local", "ansible_python_interpreter": interpreter, **FILE, **variables}
        (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"localhost": host}}}), encoding="utf-8")
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": ":".join([str(root / "collections"), *sys.path]),
            "ANSIBLE_LOG_PATH": str(log),
            "ANSIBLE_DISPLAY_ARGS_TO_STDOUT": "1",
            "HOME": str(tmp_path),
            "ANSIBLE_NOCOLOR": "1",
        }
        command = [*plays.command(), "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")]
        done = subprocess.run([*command, "-vvvv", "--diff", *arguments], capture_output=True, text=True, env=environment, check=False, cwd=tmp_path)
        kept = "".join(path.read_text(encoding="utf-8") for path in (log, artifacts) if path.exists())
        return done.returncode, done.stdout + done.stderr, done.stdout + done.stderr + kept

    return run


def shown(text):
    return [value for value in VALUES if value in text]


def test_secrets_are_created_once_and_their_values_are_never_shown(play, store):
    rc, output, everything = play()
    assert rc == 0, output
    assert base64.b64decode(store.kept[ROOM + "llm-d-model-token"]["data"]["HF_TOKEN"]).decode() == TOKEN
    assert sorted(store.kept) == [ROOM + "llm-d-image-pull", ROOM + "llm-d-model-token"]
    assert "Secret llm-d/llm-d-model-token (created)" in output and "(hidden)" in output
    assert shown(everything) == []
    rc, output, everything = play()
    assert rc == 0 and '"action": "unchanged"' in output and not re.search(r'"action": "(created|changed)"', output), output
    assert shown(everything) == []


def test_another_value_is_a_change_without_either_value(play, store):
    play()
    rc, output, everything = play(llm_d_model_token="hf_" + "other" * 4)
    assert rc == 0 and "Secret llm-d/llm-d-model-token (changed)" in output and "(hidden, another value)" in output
    assert shown(everything) == [] and "hf_other" not in everything
    assert base64.b64decode(store.kept[ROOM + "llm-d-model-token"]["data"]["HF_TOKEN"]).decode() == "hf_" + "other" * 4


def test_check_mode_writes_nothing(play, store):
    rc, output, everything = play("--check")
    assert rc == 0 and "(created)" in output and store.kept == {} and shown(everything) == []


@pytest.mark.parametrize("pipelining", ["no", "yes"])
def test_a_module_run_by_another_interpreter_shows_no_secret_value(play, store, tmp_path, monkeypatch, pipelining):
    monkeypatch.setenv("ANSIBLE_PIPELINING", pipelining)
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    rc, output, everything = play(interpreter=str(tmp_path / "python"))
    assert rc == 0, output
    piped = f"EXEC /bin/sh -c {tmp_path}/python\n" if CORE >= (2, 21) else f"EXEC /bin/sh -c '{tmp_path}/python && sleep 0'"
    sent_off = "AnsiballZ_k8s.py" if pipelining == "no" else piped
    assert sent_off in output, [line[:120] for line in output.splitlines() if " PUT " in line or " EXEC " in line]
    assert len(store.kept) == 2 and shown(everything) == []


def test_a_refusal_of_the_api_server_is_reported_without_secret_values(play, store):
    store.refusal = {"code": 403, "reason": "Forbidden", "message": 'secrets "llm-d-model-token" is forbidden: User "weak" cannot patch resource'}
    rc, output, everything = play()
    assert rc != 0 and "is forbidden: User" in output and shown(everything) == []


def test_a_foreign_secret_is_refused_or_taken_over(play, store):
    theirs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "llm-d-model-token", "namespace": "llm-d", "labels": {}}, "data": {"HF_TOKEN": "eA=="}}
    store.kept[ROOM + "llm-d-model-token"] = theirs
    rc, output, everything = play()
    assert rc and "- Secret llm-d/llm-d-model-token (of unknown origin)" in output and shown(everything) == [], output
    assert store.kept == {ROOM + "llm-d-model-token": theirs}
    assert play(foreign="take")[0] == 0 and store.kept[ROOM + "llm-d-model-token"]["metadata"]["labels"] and len(store.kept) == 2


def test_a_mistake_in_the_file_shows_no_value(play, store):
    rc, output, everything = play(llm_d_image_pull_credentials=[{"registry": "r.example.com", "usrname": "robot", "password": PASSWORD}])
    assert rc != 0 and "usrname" in output and store.kept == {} and shown(everything) == []
