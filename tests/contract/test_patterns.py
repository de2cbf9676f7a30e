# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patterns of the Automation Controller: they satisfy pattern schema 3.0.0, and their surveys accept only what the user's file accepts."""

from __future__ import annotations

import json
import math
import re
import typing as t
from pathlib import Path

import jsonschema
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import problems
from ansible_collections.llm_d.inference.plugins.module_utils.schema.answers import answered
from plays import ROOT

from tools.patterns import data, field_of

Facts = dict[str, t.Any]
FOLDERS = sorted((ROOT / "extensions/patterns").iterdir())
NAMES = {"deploy_model_service", "change_scheduler", "benchmark", "compare_schedulers", "diagnose", "upgrade", "tear_down"}
CONTEXTS = [
    {"preset": preset, "platform": platform, "uri": uri}
    for preset in ("balanced", "queue")
    for platform in ("kubernetes", "gke", "openshift")
    for uri in ("hf://acme/sim", "pvc://weights/sim")
]
TEXT = {"type": "string", "minLength": 1}


def exactly(**properties: Facts) -> Facts:
    """The schema of a mapping with exactly these keys."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# The requirements of ansible/pattern-service on meta/pattern.json, for the fields that we write; stricter where we write more than required.
QUESTION = {
    **exactly(
        type={"enum": ["text", "textarea", "password", "integer", "float", "multiplechoice", "multiselect"]},
        question_name=TEXT,
        question_description={**TEXT, "pattern": r"^[A-Z].*\.$"},
        variable={**TEXT, "maxLength": 64, "pattern": "^[a-z0-9_]+$"},
        required={"type": "boolean"},
        default={"type": "string"},
    ),
    "additionalProperties": True,
    "if": {"properties": {"type": {"enum": ["multiplechoice", "multiselect"]}}},
    "then": {"required": ["choices"], "properties": {"choices": {"type": "array", "items": TEXT, "minItems": 2, "uniqueItems": True}}},
}
TEMPLATE = exactly(
    name={**TEXT, "maxLength": 200},
    description=TEXT,
    playbook=TEXT,
    primary={"const": True},
    labels={"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True},
    ask_credential_on_launch={"type": "boolean"},
    ask_inventory_on_launch={"type": "boolean"},
    ask_verbosity_on_launch={"type": "boolean"},
    survey=exactly(name=TEXT, description=TEXT, spec={"type": "array", "items": QUESTION, "minItems": 1}),
)
PATTERN = exactly(
    schema_version={"const": "3.0.0"},
    name={**TEXT, "maxLength": 64, "pattern": "^[a-z0-9_]+$"},
    title={**TEXT, "maxLength": 64},
    description={**TEXT, "pattern": r"\.$"},
    short_description={**TEXT, "pattern": r"[^.]$"},
    tags={"type": "array", "items": TEXT, "uniqueItems": True},
    aap_resources=exactly(
        controller_project=exactly(name={**TEXT, "maxLength": 200}, description=TEXT),
        controller_labels={"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True},
        controller_job_templates={"type": "array", "items": TEMPLATE, "minItems": 1},
    ),
)


def pattern(folder: Path) -> Facts:
    return t.cast(Facts, json.loads((folder / "meta/pattern.json").read_text(encoding="utf-8")))


def template(folder: Path) -> Facts:
    return t.cast(Facts, pattern(folder)["aap_resources"]["controller_job_templates"][0])


def test_all_patterns_are_there() -> None:
    assert {folder.name for folder in FOLDERS} == NAMES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_pattern_is_as_the_schema_requires(folder: Path) -> None:
    definition = pattern(folder)
    jsonschema.validate(definition, PATTERN)
    resources = definition["aap_resources"]
    assert definition["name"] == folder.name and (folder / "README.md").is_file()
    assert set(template(folder)["labels"]) <= set(resources["controller_labels"])
    assert sorted(path.name for path in (folder / "playbooks").iterdir()) == [f"{folder.name}.meta.yml", f"{folder.name}.yml"]
    assert template(folder)["playbook"] == f"{folder.name}.yml"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_playbook_uses_each_answer_and_declares_it(folder: Path) -> None:
    text = (folder / f"playbooks/{folder.name}.yml").read_text(encoding="utf-8")
    spec = yaml.safe_load((folder / f"playbooks/{folder.name}.meta.yml").read_text(encoding="utf-8"))["argument_specs"][folder.name]
    variables = [each["variable"] for each in template(folder)["survey"]["spec"]]
    assert set(re.findall(r"survey_\w+", text)) == set(variables) == set(spec["options"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_survey_questions_accept_only_answers_that_the_option_accepts(folder: Path) -> None:
    """Choices and bounds are those of the option; an empty answer has no default that would replace the value of the inventory."""
    for each in template(folder)["survey"]["spec"]:
        about = data()["questions"][each["variable"]]
        field = field_of(about["like"] if "like" in about else about["sets"])
        element = field.elements if field.type == "list" and field.elements else field
        assert each["default"] == ""
        choices = [choice for choice in element.choices if choice not in about.get("without", [])]
        assert each.get("choices", []) == choices or field.type == "bool" and each["choices"] == ["true", "false"]
        if each["type"] in ("integer", "float"):
            assert each.get("min", -math.inf) >= (-math.inf if field.minimum is None else field.minimum)
            assert each.get("max", math.inf) <= (math.inf if field.maximum is None else field.maximum)
        assert (each["type"] == "password") == field.secret
        assert (each["type"] in ("multiselect", "textarea")) == (field_of(about["sets"]).type == "list")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_survey_offers_no_answer_that_the_file_always_refuses(folder: Path) -> None:
    """Each choice, and the longest text, can be deployed with some preset, on some platform, for some model."""
    tried = []
    for each in template(folder)["survey"]["spec"]:
        path = data()["questions"][each["variable"]].get("sets")
        if not path:
            continue
        texts = ["a" * each["max"], "/" + "a" * (each["max"] - 1)] if each["type"] == "text" and "max" in each else []
        too_long = ["a" * (each["max"] + 1), "/" + "a" * each["max"]] if texts else []
        tried += each.get("choices", []) + texts
        assert all(any(accepted(path, text, **context) for context in CONTEXTS) for text in each.get("choices", [])), each["variable"]
        assert not texts or any(accepted(path, text) for text in texts), each["variable"]
        assert not any(accepted(path, text) for text in too_long), each["variable"]
    assert folder.name != "deploy_model_service" or {"triton", "gke", "simulator"} <= set(tried) and "none" not in tried


def accepted(path: str, answer: str, preset: str = "queue", platform: str = "kubernetes", uri: str = "hf://acme/sim") -> bool:
    """Whether the file of a survey with one more answer has no mistake."""
    service = {"name": "sim", "model": {"uri": uri}, "scheduler": {"preset": preset}}
    wanted: dict[str, t.Any] = {"llm_d_platform": platform, "llm_d_model_services": [service]}
    first, inner = re.fullmatch(r"([a-z_]+)(.*)", path).groups()  # type: ignore[union-attr]
    place = inner.replace("[]", "[sim]").replace("{}", "sim").lstrip(".")
    return not problems({**wanted, first: answered(wanted.get(first), {place: answer})})


def test_few_answers_are_required() -> None:
    required = {folder.name: [each["variable"] for each in template(folder)["survey"]["spec"] if each["required"]] for folder in FOLDERS}
    assert max(map(len, required.values())) == 2 and required["deploy_model_service"] == ["survey_service", "survey_model"]
