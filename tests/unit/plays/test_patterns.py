# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks of the patterns, with answers as a survey of AWX passes them: strings, empty where there is no answer."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from keeping_api_server import PREPARED, KeepingApi
from local_servers import closed_port, serve
from plays import ROOT

Facts = dict[str, t.Any]
PATTERNS = {path.name: path / f"playbooks/{path.name}.yml" for path in sorted((ROOT / "extensions/patterns").iterdir())}
# Variables of the inventory.
SIM: Facts = {"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}, "replicas": 2}
FILE: Facts = {
    "llm_d_namespace": "shop",
    "llm_d_model_services": [SIM],
    "llm_d_charts": {"envoy_gateway": "/charts"},
    "llm_d_preflight": {"images": "ignore"},
}
TWO = {**FILE, "llm_d_model_services": [SIM, {**SIM, "name": "two", "route": {"path": "/two"}}]}
REQUIRED = {"survey_service": "sim", "survey_model": "hf://acme/sim", "survey_preset": "queue", "survey_namespace": "shop"}
Answer = t.Callable[..., t.Any]


def answers(name: str, **given: t.Any) -> Facts:
    """All answers to the survey of a pattern: the required ones, and these."""
    pattern = json.loads((PATTERNS[name].parents[1] / "meta/pattern.json").read_text(encoding="utf-8"))
    spec = pattern["aap_resources"]["controller_job_templates"][0]["survey"]["spec"]
    empty = {each["variable"]: [] if each["type"] == "multiselect" else "" for each in spec}
    return {**empty, **{each["variable"]: REQUIRED[each["variable"]] for each in spec if each["required"]}, **given}


@pytest.fixture(name="job")
def _job(tmp_path: Path) -> Answer:
    """A function that runs the playbook of a pattern, or another with its variables, on an empty cluster."""

    def run(name: str, *arguments: str, instead: str = "", file: Facts | None = None, **given: t.Any) -> t.Any:
        cluster = KeepingApi(ready=True)
        cluster.kept.update(PREPARED)
        with serve(cluster.answer) as api:
            plays.kubeconfig(tmp_path / "kubeconfig", api)
            here = {"llm_d_kubeconfig": str(tmp_path / "kubeconfig"), "llm_d_artifacts_dir": str(tmp_path / "artifacts")}
            hosts = {"all": {"hosts": {"one": {"ansible_connection": "local", **(FILE if file is None else file), **here}}}}
            (tmp_path / "inventory.yml").write_text(yaml.safe_dump(hosts), encoding="utf-8")
            (tmp_path / "answers.json").write_text(json.dumps(answers(name, **given)), encoding="utf-8")
            playbook = PATTERNS[name]
            if instead:
                text = yaml.safe_load(playbook.read_text(encoding="utf-8"))
                text[0]["import_playbook"] = str(ROOT / f"playbooks/{instead}.yml")
                playbook = tmp_path / "playbook.yml"
                playbook.write_text(yaml.safe_dump(text), encoding="utf-8")
            extra = ["-e", f"@{tmp_path / 'answers.json'}", "-e", f"export_path={tmp_path / 'export'}"][: 4 if instead else 2]
            return plays.run("-i", str(tmp_path / "inventory.yml"), str(playbook), *extra, *arguments, HOME=str(tmp_path))

    return run


def exported(folder: Path) -> dict[tuple[str, str], Facts]:
    """The objects of export.yml by kind and name."""
    files = [path.read_text(encoding="utf-8") for path in (folder / "export").rglob("*.y*ml")]
    items = [item for text in files for item in yaml.safe_load_all(text) if isinstance(item, dict) and "metadata" in item]
    return {(item["kind"], item["metadata"]["name"]): item for item in items}


@pytest.mark.rest
@pytest.mark.parametrize("name", PATTERNS)
def test_an_unanswered_survey_runs_with_the_values_of_the_inventory(job: Answer, name: str) -> None:
    """The inventory has only the required variables."""
    least = {key: FILE[key] for key in ("llm_d_model_services", "llm_d_charts", "llm_d_preflight")}
    done = job(name, "--check", file=least, llm_d_image_registry=f"127.0.0.1:{closed_port()}")
    output = done.stdout + done.stderr
    assert "mistake" not in output and "is undefined" not in output and "Traceback" not in output, output
    assert done.returncode == 0 or "prerequisites are missing" in output, output


def test_answers_are_over_the_inventory(job: Answer, tmp_path: Path) -> None:
    given = {"survey_replicas": "3", "survey_preset": "queue", "survey_provider": "istio", "survey_namespace": "", "survey_engine": "simulator"}
    done = job("deploy_model_service", instead="export", survey_service="sim", **given)
    assert done.returncode == 0, done.stdout + done.stderr
    made = exported(tmp_path)
    assert made["Deployment", "sim-decode"]["spec"]["replicas"] == 3 and made["Deployment", "sim-decode"]["metadata"]["namespace"] == "shop"
    assert [item["spec"]["gatewayClassName"] for (kind, _name), item in made.items() if kind == "Gateway"] == ["istio"]


def test_a_service_is_added_beside_those_of_the_inventory(job: Answer, tmp_path: Path) -> None:
    """A run for the new service prunes no service that the inventory lacks: an earlier survey may have added it."""
    given = {"survey_engine": "simulator", "survey_model": "hf://acme/second", "survey_path": "/second"}
    done = job("deploy_model_service", instead="export", survey_service="second", **given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {("Deployment", "sim-decode"), ("Deployment", "second-decode")} <= set(exported(tmp_path))
    assert yaml.safe_load(PATTERNS["deploy_model_service"].read_text(encoding="utf-8"))[0]["vars"]["llm_d_prune"].count("'services': 'false'") == 1


def test_a_survey_alone_is_enough(job: Answer, tmp_path: Path) -> None:
    done = job("deploy_model_service", instead="export", file={}, survey_namespace="new", survey_service="first", survey_engine="simulator")
    assert done.returncode == 0, done.stdout + done.stderr
    assert exported(tmp_path)["Deployment", "first-decode"]["metadata"]["namespace"] == "new"


def test_a_preset_replaces_the_scorers_of_the_inventory(job: Answer, tmp_path: Path) -> None:
    services = [{**SIM, "scheduler": {"scorers": {"queue": 1}}}]
    done = job("change_scheduler", instead="export", file={**FILE, "llm_d_model_services": services}, survey_preset="round_robin")
    assert done.returncode == 0, done.stdout + done.stderr
    (config,) = [item["data"] for (kind, name), item in exported(tmp_path).items() if kind == "ConfigMap" and "epp" in name]
    assert "random-picker" in str(config) and "queue-scorer" not in str(config)


def test_mistakes_are_those_of_the_file(job: Answer) -> None:
    done = job("deploy_model_service", survey_replicas="four", survey_namespace="Shop!", survey_model="qwen")
    output = done.stdout + done.stderr
    assert done.returncode == 2 and "3 mistakes" in output and "Nothing has been touched" in output, output
    for path in ("llm_d_model_services[0].replicas: 'four'", "llm_d_namespace: 'Shop!'", "llm_d_model_services[0].model.uri: 'qwen'"):
        assert path in output


@pytest.mark.rest
@pytest.mark.parametrize(
    ("service", "place", "why"),
    [
        ("", "[]", "the inventory has sim, two. Answer the name of one of them."),
        ("tow", "[tow]", "the inventory has no 'tow': it has sim, two. Did you mean 'two'?"),
        ("x].y", "[x].y]", "a name has no dots and brackets. Answer a name such as qwen."),
    ],
)
def test_an_answer_without_a_place_is_a_mistake_of_the_survey(job: Answer, service: str, place: str, why: str) -> None:
    done = job("upgrade", file=TWO, survey_service=service, survey_engine_image="ghcr.io/acme/engine:1")
    output = " ".join((done.stdout + done.stderr).split())
    mistake = f"1 mistake in your llm_d_* variables. Nothing has been touched. - llm_d_model_services{place}.engine.image: {why}"
    assert done.returncode == 2 and mistake in output and "hostvars" not in output, output


@pytest.mark.rest
@pytest.mark.parametrize(("service", "changed"), [("", ["sim", "two"]), ("two", ["two"])])
def test_a_preset_is_for_all_services_or_for_one(job: Answer, tmp_path: Path, service: str, changed: list[str]) -> None:
    done = job("change_scheduler", instead="export", file=TWO, survey_preset="round_robin", survey_service=service)
    assert done.returncode == 0, done.stdout + done.stderr
    configs = {name: str(item["data"]) for (kind, name), item in exported(tmp_path).items() if kind == "ConfigMap" and name.endswith("-epp")}
    assert sorted(name for name, config in configs.items() if "random-picker" in config) == [f"{name}-epp" for name in changed]


def test_a_list_is_answered_in_lines(job: Answer) -> None:
    done = job("benchmark", survey_rates="1\nfive\n8", survey_quick="")
    output = done.stdout + done.stderr
    assert done.returncode == 2 and "1 mistake" in output and "llm_d_benchmark.rates[1]: 'five'" in output, output


@pytest.mark.rest
@pytest.mark.parametrize(("answer", "status"), [("true", 2), ("false", 0), ("", 0)])
def test_a_boolean_is_answered_in_words(job: Answer, answer: str, status: int) -> None:
    """The diagnosis has findings, which fail the job only if the answer is true."""
    done = job("diagnose", survey_fail=answer, survey_requests="false")
    assert done.returncode == status and "more findings" in done.stdout, done.stdout


def test_several_choices_are_a_list(job: Answer) -> None:
    done = job("compare_schedulers", survey_compared=["queue", "fastest"])
    output = done.stdout + done.stderr
    assert done.returncode == 2 and "1 mistake" in output and "compare_presets[1]: 'fastest'" in output, output
