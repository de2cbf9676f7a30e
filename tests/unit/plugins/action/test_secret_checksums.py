# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that reads a token, applied repeatedly by a real play while the token is replaced and then hidden."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys

import plays
import pytest
import yaml
from api_discovery import FIXED
from local_servers import serve

TOKENS = ["hf_" + "first" * 4, "hf_" + "second" * 4]
SECRET, SERVER = "/api/v1/namespaces/llm-d/secrets/token", "/apis/apps/v1/namespaces/llm-d/deployments/llama-decode"
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "llama-decode", "namespace": "llm-d"},
    "spec": {
        "selector": {"matchLabels": {"app": "x"}},
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {
                "containers": [
                    {"name": "server", "image": "x", "env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "HF_TOKEN"}}}]}
                ]
            },
        },
    },
}


class Api:
    """An API server with a token that is replaced after the second write of the server, and may not be read after the third."""

    def __init__(self):
        self.applied, self.server = [], None

    def answer(self, _handler, method, path, body):
        status, content = self.respond(method, path.partition("?")[0], body)
        return status, {"Content-Type": "application/json"}, json.dumps(content)

    def respond(self, method, plain, body):
        if plain in FIXED:
            return 200, FIXED[plain]
        if plain == SECRET and len(self.applied) < 3:
            token = TOKENS[len(self.applied) > 1]
            return 200, {"kind": "Secret", "metadata": {"name": "token", "uid": "7b0c"}, "data": {"HF_TOKEN": base64.b64encode(token.encode()).decode()}}
        if plain == SECRET:
            return 403, {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": 'secrets "token" is forbidden'}
        if plain == SERVER and method == "PATCH":
            self.server = json.loads(body)
            self.applied.append(self.server["spec"]["template"]["metadata"].get("annotations", {}).get("llm-d.ai/secret-checksum"))
        if plain == SERVER and self.server:
            return 200, {**self.server, "metadata": {**self.server["metadata"], "uid": "u", "resourceVersion": "1", "generation": 1}}
        return 404, {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}


@pytest.fixture(name="api")
def _api():
    api = Api()
    with serve(api.answer) as api.url:
        yield api


def test_only_a_changed_token_changes_the_pod_template_of_its_deployment(root, tmp_path, api):
    apply = {"host": api.url, "api_key": "sesame-open", "definitions": [DEPLOYMENT]}
    tasks = [{"name": f"Apply, time {number}", "llm_d.inference.cluster_objects": apply, "register": f"time_{number}"} for number in range(1, 5)]
    tasks.append({"name": "Show", "ansible.builtin.debug": {"msg": "{{ [time_1, time_2, time_3, time_4] | map(attribute='changed') | join(' ') }}"}})
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": ":".join([str(root / "collections"), *sys.path]), "HOME": str(tmp_path), "ANSIBLE_NOCOLOR": "1"}
    command = [
        *plays.command(),
        "-i",
        "localhost,",
        "-c",
        "local",
        "-vvv",
        "--diff",
        "-e",
        f"ansible_python_interpreter={sys.executable}",
        "play.yml",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=tmp_path, timeout=300)
    output = done.stdout + done.stderr
    assert done.returncode == 0 and "True False True False" in output, output
    first, second, third, fourth = api.applied
    assert first and first == second != third == fourth, api.applied
    shown = [*TOKENS, *(base64.b64encode(token.encode()).decode() for token in TOKENS), "7b0c"]
    assert not [value for value in shown if value in output]
