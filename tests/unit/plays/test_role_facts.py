# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""role_facts in a real play: plan, state, connection and definitions of a role."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import plays
import pytest
import yaml

USER = {
    "llm_d_charts": {"envoy_gateway": "/c"},
    "llm_d_kubeconfig": "kube/config",
    "llm_d_benchmark": {"api_key": "sk-of-the-test"},
    "llm_d_model_services": [{"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}],
}
TEMPLATE = "{% for service in plan.services %}\n---\nkind: Thing\nmetadata: {name: {{ service.name }}}\nspec: {{ service.labels | to_json }}\n{% endfor %}\n"


@pytest.fixture(name="facts")
def _facts(root, tmp_path):
    def run(arguments: dict, *options: str, user: dict | None = None, **variables) -> tuple[subprocess.CompletedProcess, dict]:
        """(play, registered result of its task)."""
        (tmp_path / "templates").mkdir(exist_ok=True)
        (tmp_path / "templates/things.yml.j2").write_text(TEMPLATE, encoding="utf-8")
        (tmp_path / "templates/bad.yml.j2").write_text("a: {{ plan.nothing }}\n", encoding="utf-8")
        out = tmp_path / "out.json"
        out.unlink(missing_ok=True)
        tasks = [
            {"llm_d.inference.role_facts": arguments, "register": "facts"},
            {"ansible.builtin.copy": {"dest": str(out), "content": "{{ facts | to_json }}", "mode": "0600"}, "no_log": True},
        ]
        play = {"hosts": "all", "gather_facts": False, "vars": {**(USER if user is None else user), **variables}, "tasks": tasks}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"),
        }
        command = [
            *plays.command(),
            "-i",
            "localhost,",
            "-c",
            "local",
            "play.yml",
            "-e",
            f"ansible_python_interpreter={sys.executable}",
            *options,
        ]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
        return done, json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}

    return run


def test_plan_state_connection_definitions_and_what_is_derived(facts, tmp_path):
    arguments = {"role": "gateway_provider", "definitions": {"one": "things.yml.j2", "two": ["things.yml.j2", "things.yml.j2"]}, "derive": ["targets", "runs"]}
    done, result = facts(arguments, "-vvv")
    assert done.returncode == 0 and "sk-of-the-test" not in done.stdout + done.stderr, done.stdout + done.stderr
    assert result["plan"]["namespace"] == "llm-d" and result["plan"]["benchmark"]["api_key"] == "sk-of-the-test" and result["state"] == "present"
    assert result["connection"] == {"kubeconfig": str(tmp_path / "kube/config")}, "without a context, none is passed"
    (thing,) = result["one"]
    assert result["two"] == [thing, thing] and thing["kind"] == "Thing" and thing["spec"] == result["plan"]["services"][0]["labels"]
    assert {"services", "objects", "gateway"} <= set(result["targets"]) and [run["name"] for run in result["runs"]] == ["sim"]


@pytest.mark.rest
def test_a_plan_and_a_state_passed_by_another_role_are_used(facts):
    """The variables have the form in which another role passes them; an empty plan counts as omitted."""
    given = "{{ {'llm_d_namespace': 'other', 'llm_d_charts': {'envoy_gateway': '/c'}} | llm_d.inference.service_plan }}"
    done, result = facts({"role": "x"}, x_plan=given, x_state="verify")
    assert done.returncode == 0, done.stdout
    assert result["plan"]["namespace"] == "other" and result["state"] == "verify" and result["connection"] == {}
    assert facts({"role": "x"}, x_plan=None)[1]["plan"]["namespace"] == "llm-d"


@pytest.mark.rest
def test_given_variables_replace_those_of_the_host(facts):
    """Given variables also replace a given plan, and extra variables, in which AWX passes the user's file."""
    given, laid = ("-e", '{"llm_d_namespace": "extra", "llm_d_release": "router-0.9"}'), {"llm_d_namespace": "laid"}
    plan = facts({"role": "x", "variables": laid}, *given, x_plan="{{ lookup('llm_d.inference.plan') }}")[1]["plan"]
    assert (plan["namespace"], plan["release"]["name"]) == ("laid", "router-0.9")
    assert facts({"role": "x"}, *given, x_plan="{{ lookup('llm_d.inference.plan', llm_d_namespace='laid') }}")[1]["plan"]["namespace"] == "laid"


def test_mistakes_are_shown(facts):
    done, result = facts({"role": "x"}, user={**USER, "llm_d_release": "no-such"})
    assert done.returncode == 2 and not result and "llm_d_release" in done.stdout and "no-such" in done.stdout


@pytest.mark.rest
def test_a_missing_attribute_or_template_is_reported(facts):
    for name, word in (("bad.yml.j2", "has no attribute 'nothing'"), ("none.yml.j2", "none.yml.j2")):
        done, result = facts({"role": "x", "definitions": {"objects": name}})
        assert done.returncode == 2 and not result and word in " ".join((done.stdout + done.stderr).split()), done.stdout


@pytest.mark.rest
def test_a_value_that_looks_like_a_template_is_not_templated(facts):
    odd = [{**USER["llm_d_model_services"][0], "engine": {"type": "simulator", "env": {"ODD": "{{ '{{' }} x }}"}}}]
    done, result = facts({"role": "x", "definitions": {"objects": "things.yml.j2"}}, llm_d_model_services=odd)
    assert done.returncode == 0 and "{{ x }}" in json.dumps(result["plan"]), done.stdout


@pytest.mark.rest
def test_each_of_several_hosts_has_a_folder_of_its_own(facts):
    _done, one = facts({"role": "x"})
    _done, two = facts({"role": "x"}, "-i", "other,", "--limit", "localhost")
    assert (one["host_folder"], two["host_folder"]) == ("", "/localhost")
