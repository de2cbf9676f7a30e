# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server of a fixed number of replicas is left to an autoscaler, by a real play: our changes never alter its number.

The API server here owns and drops spec.replicas by the rules of server-side apply; molecule/providers/live/test_autoscaling.py has a real one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.parse

import plays
import pytest
import yaml
from api_discovery import FIXED
from local_servers import serve

PATH, OURS = "/apis/apps/v1/namespaces/llm-d/deployments/sim-decode", "llm_d.inference"
SCALED = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "sim-decode", "namespace": "llm-d"}, "spec": {"selector": {}, "template": {}}}
FIXED_NUMBER = {**SCALED, "spec": {**SCALED["spec"], "replicas": 4}}


class Api:
    """Keeps one Deployment. `others`: {number of a PATCH: replicas to which an autoscaler scales just before it}."""

    def __init__(self, others=()):
        self.others, self.replicas, self.owners, self.history, self.patches = dict(others), None, set(), [], []

    def answer(self, _handler, method, path, body):
        plain, _mark, query = path.partition("?")
        status, content = self.respond(method, plain, {key: values[0] for key, values in urllib.parse.parse_qs(query).items()}, body)
        return status, {"Content-Type": "application/json"}, json.dumps(content)

    def respond(self, method, plain, query, body):
        if plain in FIXED:
            return 200, FIXED[plain]
        if plain == PATH and method == "PATCH":
            return self.apply(json.loads(body)["spec"].get("replicas"), query)
        if plain == PATH and self.replicas is not None:
            return 200, self.shown(self.replicas, self.owners)
        if plain == PATH.rpartition("/")[0]:
            return 200, {"items": [self.shown(self.replicas, self.owners)] if self.replicas is not None else []}
        return 404, {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}

    def apply(self, wanted, query):
        if len(self.patches) in self.others and not query.get("dryRun"):
            self.replicas, self.owners = self.others[len(self.patches)], {"kube-controller-manager"}
        manager, owners, replicas = query["fieldManager"], set(self.owners), self.replicas
        if wanted is None:
            owners.discard(manager)
            replicas = replicas if owners or self.owners == owners and replicas is not None else 1
        elif owners - {manager} and wanted != replicas and query.get("force") != "true":
            return 409, {"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409, "message": "Apply failed with 1 conflict: .spec.replicas"}
        else:
            owners, replicas = {manager} | (owners if wanted == replicas else set()), wanted
        if not query.get("dryRun"):
            self.patches.append((manager, wanted))
            self.owners, self.replicas = owners, replicas
            self.history.append(replicas)
        return 200, self.shown(replicas, owners)

    @staticmethod
    def shown(replicas, owners):
        managed = [{"manager": name, "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}}}} for name in sorted(owners)]
        metadata = {**SCALED["metadata"], "uid": "u", "resourceVersion": "1", "generation": 1, "managedFields": managed}
        return {**SCALED, "metadata": metadata, "spec": {**SCALED["spec"], "replicas": replicas}}


@pytest.fixture(name="run")
def _run(root, tmp_path):
    def run(api, *definitions, check=()):
        """The `changed` of each task."""
        with serve(api.answer) as url:
            tasks = [
                {
                    "name": f"Apply {number}",
                    "register": f"time_{number}",
                    "check_mode": number in check,
                    "llm_d.inference.cluster_objects": {"host": url, "api_key": "sesame-open", "definitions": [item]},
                }
                for number, item in enumerate(definitions)
            ]
            names = ", ".join(f"time_{number}" for number in range(len(definitions)))
            tasks.append({"name": "Show", "ansible.builtin.debug": {"msg": f"{{{{ [{names}] | map(attribute='changed') | join(' ') }}}}"}})
            (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
            environment = {
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": ":".join([str(root / "collections"), *sys.path]),
                "HOME": str(tmp_path),
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            }
            command = [
                *plays.command(),
                "-i",
                "localhost,",
                "-c",
                "local",
                "-e",
                f"ansible_python_interpreter={sys.executable}",
                "play.yml",
            ]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=tmp_path, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.rpartition('"msg": "')[2].partition('"')[0].split()

    return run


def test_ownership_of_replicas_is_given_up_without_changing_their_number(run):
    api = Api(others={3: 6})
    # fixed, dry run of what follows, scaled (given up first), scaled while an autoscaler takes it, scaled by that, fixed once more
    changed = run(api, FIXED_NUMBER, SCALED, SCALED, SCALED, SCALED, FIXED_NUMBER, check={1})
    assert api.patches == [(OURS, 4), (f"{OURS}-replicas", 4), *[(OURS, None)] * 3, (OURS, 4)]
    assert api.history == [4, 4, 4, 6, 6, 4] and api.owners == {OURS}
    assert changed[:3] == ["True", "False", "False"] and changed[4:] == ["False", "True"]


@pytest.mark.rest
def test_an_autoscaler_that_is_quicker_than_we_are_keeps_what_it_wants(run):
    api = Api(others={1: 6})
    run(api, FIXED_NUMBER, SCALED)
    assert api.patches == [(OURS, 4), (OURS, None)] and api.history == [4, 6] and api.owners == {"kube-controller-manager"}


@pytest.mark.rest
def test_a_new_autoscaled_deployment_has_one_replica_without_a_field_owner(run):
    api = Api()
    assert run(api, SCALED, SCALED) == ["True", "False"] and api.history == [1, 1] and api.owners == set()
