# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No secret of the user's file is in the output of a play: with -vvv, in a diff, in check mode, in evidence, after a failure."""

from __future__ import annotations

import itertools
import json
import re
import sys

import plays
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import Field
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES
from keeping_api_server import KeepingApi
from local_servers import serve

pytestmark = pytest.mark.rest

PLANTED = {
    "llm_d_model_services[].engine.env": "planted-in-the-engine",
    "llm_d_model_services[].prefill.engine.env": "planted-in-the-prefill-servers",
    "llm_d_model_services[].scheduler.env": "planted-in-the-scheduler",
    "llm_d_api_key": "planted-in-the-key",
    "llm_d_benchmark.api_key": "planted-in-the-benchmark",
    "llm_d_image_pull_credentials[].password": "planted-in-the-registry",
    "llm_d_model_token": "planted-in-the-token",
}


def secrets(field: Field, path: str):
    """The paths of the options that are or hold a secret."""
    if field.secret or (field.type == "map" and field.elements and field.elements.secret):
        yield path
    for name, option in (field.options or {}).items():
        yield from secrets(option, f"{path}.{name}")
    if field.type == "list" and field.elements:
        yield from secrets(field.elements, f"{path}[]")


def user_file(suffix: str = "") -> dict:
    """A file with every planted value. suffix: of each value."""
    value = {place: text + suffix for place, text in PLANTED.items()}
    return {
        "llm_d_scope": "namespace",
        "llm_d_wait_timeout": 1,
        "llm_d_gateway": {"provider": "none", "name": "theirs"},
        "llm_d_model_token": value["llm_d_model_token"],
        "llm_d_api_key": value["llm_d_api_key"],
        "llm_d_image_pull_credentials": [
            {"registry": "registry.example.com", "username": "me", "password": value["llm_d_image_pull_credentials[].password"]},
        ],
        "llm_d_benchmark": {"api_key": value["llm_d_benchmark.api_key"]},
        "llm_d_model_services": [
            {
                "name": "a",
                "model": {"uri": "hf://org/model"},
                "engine": {
                    "startup_timeout": 10,
                    "env": {"IN_THE_FILE": value["llm_d_model_services[].engine.env"], "SAME": "planted-twice"},
                    "args": [f"--hf-token=planted-in-an-argument{suffix}", "--hf_token", f"planted-behind-one{suffix}"],
                },
                "prefill": {"engine": {"env": {"IN_PREFILL": value["llm_d_model_services[].prefill.engine.env"]}}},
                "container": {"env": [{"name": "ADDED", "value": f"planted-in-the-container{suffix}"}]},
                "pod": {"containers": [{"name": "side", "image": "example.com/side:1", "env": [{"name": "A", "value": f"planted-in-a-sidecar{suffix}"}]}]},
                "scheduler": {
                    "preset": "disaggregated",
                    "env": {"IN_THE_PICKER": value["llm_d_model_services[].scheduler.env"]},
                    "args": [f"--their-token=planted-in-the-picker{suffix}"],
                },
            },
        ],
    }


# As AWX keeps a job's events: all of each result and each item, at any verbosity.
EVENTS = """
import json, os
from ansible.plugins.callback import CallbackBase

class CallbackModule(CallbackBase):
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "events"

    def _kept(self, result, ignore_errors=False):
        with open(os.environ["EVENTS"], "a", encoding="utf-8") as file:
            file.write(json.dumps({"task": result.task_name, "result": result.result}, default=str) + "\\n")

    v2_runner_on_ok = v2_runner_on_failed = v2_runner_on_skipped = v2_runner_on_unreachable = v2_runner_retry = _kept
    v2_runner_item_on_ok = v2_runner_item_on_failed = v2_runner_item_on_skipped = v2_on_file_diff = _kept
"""


@pytest.fixture(name="play")
def _play(root, tmp_path):
    def run(api, user, *options):
        """(output of the roles, files of the roles and of a callback). Each role runs, even after a failure of the one before."""
        artifacts, roles = tmp_path / "artifacts", ("inputs", "prerequisites", "gaie_scheduler", "model_service", "compare", "calibrate")
        tasks = [
            {
                "block": [{"name": role, "ansible.builtin.include_role": {"name": f"llm_d.inference.{role}"}}],
                "rescue": [{"ansible.builtin.debug": {"msg": "failed"}}],
            }
            for role in roles
        ]
        (tmp_path / "callbacks").mkdir(exist_ok=True)
        (tmp_path / "callbacks/events.py").write_text(EVENTS, encoding="utf-8")
        with serve(api.answer) as url:
            plays.kubeconfig(tmp_path / "config", url, "planted-in-the-kubeconfig")
            capture = {
                "name": "evidence",
                "ansible.builtin.include_role": {"name": "llm_d.inference.objects", "tasks_from": "capture"},
                "vars": {"objects_artifacts": str(artifacts), "objects_definitions": "{{ facts.objects + facts.servers }}"},
            }
            (tmp_path / "templates").mkdir(exist_ok=True)
            for role, name in (("gaie_scheduler", "scheduler"), ("gaie_scheduler", "provider_none"), ("model_service", "servers")):
                text = (root / f"roles/{role}/templates/{name}.yml.j2").read_text(encoding="utf-8")
                (tmp_path / f"templates/{name}.yml.j2").write_text(text, encoding="utf-8")
            facts = {"role": "x", "definitions": {"objects": "scheduler.yml.j2", "servers": "servers.yml.j2"}}
            tasks += [
                {"llm_d.inference.stack_secrets": {}, "ignore_errors": True},
                {"name": "facts", "llm_d.inference.role_facts": facts, "register": "facts"},
                capture,
            ]
            defaults = {"group/llm_d.inference.cluster": {"kubeconfig": str(tmp_path / "config")}}
            play = {"hosts": "all", "gather_facts": False, "module_defaults": defaults, "tasks": tasks}
            (tmp_path / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
            given = {"compare_presets": [], **user, "llm_d_kubeconfig": str(tmp_path / "config"), "llm_d_artifacts_dir": str(artifacts)}
            (tmp_path / "user.yml").write_text(yaml.safe_dump(given), encoding="utf-8")
            done = plays.run(
                "-i",
                "localhost,",
                "-c",
                "local",
                "-e",
                f"@{tmp_path}/user.yml",
                "-e",
                f"ansible_python_interpreter={sys.executable}",
                str(tmp_path / "play.yml"),
                *options,
                no_proxy="*",
                HOME=str(tmp_path),
                ANSIBLE_CALLBACK_RESULT_FORMAT="yaml",
                ANSIBLE_CALLBACK_PLUGINS=str(tmp_path / "callbacks"),
                ANSIBLE_CALLBACKS_ENABLED="events",
                EVENTS=str(tmp_path / "events.json"),
            )
        events = (tmp_path / "events.json").read_text(encoding="utf-8")
        assert len(events.splitlines()) > 20, events
        files = {path.name: path.read_text(encoding="utf-8") for path in artifacts.rglob("*") if path.is_file()} if artifacts.exists() else {}
        return done.stdout + done.stderr, {**files, "events.json": events}

    return run


def around(text: str, word: str) -> list[str]:
    """The surroundings of a word in a text, at most three."""
    return [text[max(0, at - 300) : at + 80] for at in range(len(text)) if text.startswith(word, at)][:3]


def test_every_secret_of_the_schema_is_planted():
    assert sorted(path for name, field in VARIABLES.items() for path in secrets(field, name)) == sorted(PLANTED)
    assert all(text in json.dumps(user_file()) for text in PLANTED.values())


def test_no_secret_of_a_stack_that_is_ready_is_in_any_output(play):
    """The output includes that of waits that succeed."""
    printed, files = play(KeepingApi(ready=True), user_file(), "--diff", "-vvv")
    for place, text in {**{f"file {name}": text for name, text in files.items()}, "output": printed}.items():
        assert "planted" not in text, (place, around(text, "planted"))
    assert re.search(r"resources:\n +- +api_version: apps/v1\n +kind: Deployment\n +name: a-decode\n", printed), "the wait for the servers has succeeded"
    events = [json.loads(line) for line in files["events.json"].splitlines()]
    assert any("a-decode" in json.dumps(event["result"].get("invocation")) for event in events), "the events have the arguments of the modules"
    compared = [entry["action"] for event in events for entry in event["result"].get("objects", ()) if entry["name"] == "a-compare"]
    assert [action for action, _times in itertools.groupby(compared)] == ["absent", "created", "deleted"], "a comparison has saved and restored the objects"
    assert any(event["task"].endswith("server | List the pods") for event in events), "calibration has listed the servers"


@pytest.mark.parametrize("refuses", [(), ("Deployment",)])
def test_no_secret_is_in_any_output(play, refuses):
    api = KeepingApi(refuses)
    output = ""
    runs = [(user_file(), ()), (user_file("-2"), ("--check",))]
    for user, options in runs[:1] if refuses else runs:
        printed, files = play(api, user, "--diff", "-vvv", *options)
        for place, text in {**{f"file {name}": text for name, text in files.items()}, "output": printed}.items():
            assert "planted" not in text, (place, options, around(text, "planted"))
        output += printed
    if refuses:
        assert "- Deployment llm-d/a-epp-tls: Invalid value" in output and "(hidden)" in output
        return
    assert PLANTED["llm_d_model_services[].engine.env"] in json.dumps(api.kept), "the values were sent"
    assert any("CrashLoopBackOff" in text for text in files.values()) and any("IN_THE_FILE" in text for text in files.values()), "evidence was written"
    for name in ("IN_THE_FILE", "IN_THE_PICKER"):
        pattern = rf"^- +- value: \(hidden\)\n\+ +- value: \(hidden, another value\)\n +name: {name}$"
        assert re.search(pattern, output, re.MULTILINE), f"the diff shows that {name} changes"
