# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of extensions/patterns, from tools/patterns.yml, the schema of the user's file and the argument specs of the roles."""

from __future__ import annotations

import json
import math
import re
import typing as t
from pathlib import Path

import yaml

from plugins.module_utils.plan.checks.validate_services import LONGEST_NAME
from plugins.module_utils.schema.fields import FORMATS, Field
from plugins.module_utils.schema.variables import VARIABLES
from plugins.plugin_utils.role_options import options_of, owner
from tools.manifests import BANNER, Dumper

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "extensions/patterns"
SCHEMA_VERSION = "3.0.0"
SERVICE = "survey_service"
_BOOLEANS = ["true", "false"]
_ANY = 2000  # a format that accepts a text of this length has no bound
Facts = dict[str, t.Any]


def data() -> Facts:
    """{questions, patterns} of tools/patterns.yml."""
    return t.cast(Facts, yaml.safe_load((ROOT / "tools/patterns.yml").read_text(encoding="utf-8")))


def field_of(path: str) -> Field:
    """The option at a path of the user's file, or of a role."""
    first, *rest = re.sub(r"(\[\]|\{\})", r".\1", path).split(".")
    field = VARIABLES[first] if first.startswith("llm_d_") else options_of(owner(first))[first]
    for step in rest:
        inner = field.elements if field.type in ("list", "map") else (field.options or {})[step]
        assert inner is not None, path
        field = inner
    return field


def question(variable: str, about: Facts, required: bool, empty: str = "") -> Facts:
    """A question of a survey. Its type, choices and bounds are those of the option, so that no answer within them is refused. empty: what no answer means, if
    it is not the value of the inventory."""
    field = field_of(about["sets"])
    listed = field.type == "list"
    one = field_of(about["like"]) if "like" in about else (listed and field.elements) or field
    choices = [choice for choice in map(str, one.choices) if choice not in about.get("without", [])] or (_BOOLEANS if one.type == "bool" else [])
    kind = "password" if one.secret else {"int": "integer", "float": "float"}.get(one.type, "text")
    if choices:
        kind = "multiselect" if listed else "multiplechoice"
    elif listed:
        kind = "textarea"
    text = about["text"] if required else f"{about['text']} {empty or _left_out(field)}"
    # Bounds in AWX are whole numbers.
    bounds = {"min": one.minimum and math.ceil(one.minimum), "max": one.maximum and math.floor(one.maximum)}
    if kind not in ("integer", "float"):
        bounds = {"max": LONGEST_NAME if variable == SERVICE else _longest(one) if kind == "text" else None}
    limits = {key: bound for key, bound in bounds.items() if bound is not None}
    return {
        "type": kind,
        "question_name": about["name"],
        "question_description": text,
        "variable": variable,
        "required": required,
        **({"choices": choices} if choices else {}),
        **limits,
        "default": "",
    }


def _longest(field: Field) -> int | None:
    """The length of the longest name or path that a format accepts; None if it accepts any, or no such text."""
    texts = [begin + "a" * (length - 1) for begin in ("a", "/") for length in range(1, _ANY)]
    taken = [len(text) for text in texts if field.format and FORMATS[field.format].pattern.match(text)]
    return max(taken) if taken and max(taken) < _ANY - 1 else None


def survey(pattern: Facts, questions: Facts) -> list[Facts]:
    """The questions of a pattern; those that must be answered come first."""
    return [
        question(name, questions[name], name in pattern["requires"], _no_service(pattern, questions) if name == SERVICE else "")
        for name in survey_variables(pattern)
    ]


def _no_service(pattern: Facts, questions: Facts) -> str:
    """What a survey means that names no model service: the other answers belong to an element of a list, or to the key * of a mapping."""
    for_all = any("{}" in questions[name]["sets"] for name in survey_variables(pattern))
    return "If empty, all model services that the inventory does not override by name." if for_all else "If empty, the only one of the inventory."


def survey_variables(pattern: Facts) -> list[str]:
    """The variables of the survey of a pattern."""
    return [*pattern["requires"], *pattern["asks"]]


def _left_out(field: Field) -> str:
    if field.default in (None, "", [], {}):
        return "If empty, the value of the inventory."
    default = field.default if isinstance(field.default, str) else json.dumps(field.default)
    return f"If empty, the value of the inventory, or {', '.join(field.default) if field.type == 'list' else default}."


def definition(name: str, pattern: Facts, questions: Facts) -> Facts:
    """meta/pattern.json."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "title": pattern["title"],
        "description": pattern["description"],
        "short_description": pattern["short_description"],
        "tags": pattern["tags"],
        "aap_resources": {
            "controller_project": {"name": "llm_d.inference", "description": "The collection llm_d.inference"},
            "controller_labels": ["llm_d.inference"],
            "controller_job_templates": [
                {
                    "name": f"llm-d: {pattern['title']}",
                    "description": pattern["short_description"],
                    "playbook": f"{name}.yml",
                    "primary": True,
                    "labels": ["llm_d.inference"],
                    "ask_credential_on_launch": True,
                    "ask_inventory_on_launch": True,
                    "ask_verbosity_on_launch": True,
                    "survey": {
                        "name": pattern["title"],
                        "description": pattern["short_description"],
                        "spec": survey(pattern, questions),
                    },
                }
            ],
        },
    }


def playbook(pattern: Facts, questions: Facts) -> str:
    """The playbook, which puts the answers into the variables of the inventory."""
    places: dict[str, list[str]] = {}
    for variable in survey_variables(pattern):
        path = questions[variable]["sets"]
        first, inner = re.fullmatch(r"([a-z_]+)(.*)", path).groups()  # type: ignore[union-attr]
        if variable != SERVICE:  # it names the service to which the other answers belong
            places.setdefault(first, []).append(_place(inner, variable))
    for path, value in pattern.get("sets", {}).items():
        first, _dot, inner = path.partition(".")
        places.setdefault(first, []).append(f"'{inner}': {value!r}")
    lines = [f"- name: {pattern['title']}", f"  import_playbook: ../../../../playbooks/{pattern['runs']}.yml", "  vars:"]
    for first, answers in places.items():
        before = f"hostvars[inventory_hostname].{first} | default({_if_left_out(first)})"
        only = "" if pattern.get("adds") or not answers[0].startswith("'['") else ", add=false"
        lines += [f"    {first}: >-", f"      {{{{ {before} | llm_d.inference.answered({{", *(f"        {each}," for each in answers), f"      }}{only}) }}}}"]
    return "\n".join(["---", f"# {BANNER}", *lines]) + "\n"


def _place(inner: str, variable: str) -> str:
    """`path: answer` of a question, as Jinja."""
    answer = f"{variable} | default('')"
    if inner.startswith("{}"):
        return f"({SERVICE} | default('*', true)) ~ '{inner.removeprefix('{}')}': {answer}"
    if not inner.startswith("[]"):
        return f"'{inner.lstrip('.')}': {answer}"
    return f"'[' ~ ({SERVICE} | default('')) ~ ']{inner.removeprefix('[]')}': {answer}"


def _if_left_out(name: str) -> str:
    """The default of a variable that the inventory leaves out, as Jinja. In the user's file, null or an empty text is a mistake."""
    field = field_of(name)
    return json.dumps(field.default).replace("null", "none").replace('"', "'")


def arguments(name: str, pattern: Facts, questions: Facts) -> str:
    """NAME.meta.yml: the variables of the playbook."""
    spec = {"short_description": pattern["short_description"], "description": [pattern["description"]]}
    spec["options"] = {each["variable"]: _argument(each) for each in survey(pattern, questions)}
    spec["examples"] = f"ansible-playbook -i inventories/mine extensions/patterns/{name}/playbooks/{name}.yml\n"
    document = {"short_description": pattern["short_description"], "description": pattern["description"], "argument_specs": {name: spec}}
    return f"---\n# {BANNER}\n" + yaml.dump(document, Dumper=Dumper, sort_keys=False, width=150, allow_unicode=True)


def _argument(entry: Facts) -> Facts:
    """An answer as an option of a play: a text, or a list where several choices are selected."""
    spec = {"type": "str", "required": entry["required"], "description": entry["question_description"]}
    if "choices" in entry:
        spec["choices"] = [*entry["choices"], *([] if entry["required"] else [""])]
    return {**spec, "type": "list", "elements": "str"} if entry["type"] == "multiselect" else spec


def readme(name: str, pattern: Facts, questions: Facts) -> str:
    """README.md: what the pattern does, what it creates, how it is used."""
    made = definition(name, pattern, questions)["aap_resources"]["controller_job_templates"][0]
    rows = []
    for each in survey(pattern, questions):
        cells = [
            each["question_name"],
            "yes" if each["required"] else "",
            each["question_description"] + _bounds(each),
            f"`{questions[each['variable']]['sets']}`",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    lines = [
        f"<!-- {BANNER} -->",
        f"# {pattern['title']}",
        "",
        pattern["description"],
        "",
        "## What it creates",
        "",
        f"The project `llm_d.inference`, and the job template `{made['name']}` with a survey.",
        "",
        "## How to use it",
        "",
        "1. Give the inventory one host for each cluster, with the variables of [your file](../../../docs/user-file.md).",
        "2. Launch the job template with that inventory and a credential of the type OpenShift or Kubernetes API Bearer Token, or the one with a kubeconfig"
        " that `playbooks/configure_awx.yml` creates.",
        "3. Answer the survey. An empty answer keeps what the inventory has.",
        "",
        "| question | required | answer | sets |",
        "|---|---|---|---|",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def _bounds(entry: Facts) -> str:
    if "choices" in entry and entry["choices"] != _BOOLEANS:
        return (" Any of " if entry["type"] == "multiselect" else " One of ") + ", ".join(f"`{each}`" for each in entry["choices"]) + "."
    if entry["type"] == "text":
        return f" At most {entry['max']} characters." if "max" in entry else ""
    if "max" in entry:
        return f" From {entry['min']} to {entry['max']}."
    return f" At least {entry['min']}." if "min" in entry else ""


def generated() -> dict[Path, str]:
    """The expected content of every file of the patterns."""
    source, files = data(), dict[Path, str]()
    questions = source["questions"]
    for name, pattern in source["patterns"].items():
        folder = FOLDER / name
        files[folder / "meta/pattern.json"] = json.dumps(definition(name, pattern, questions), indent=2) + "\n"
        files[folder / f"playbooks/{name}.yml"] = playbook(pattern, questions)
        files[folder / f"playbooks/{name}.meta.yml"] = arguments(name, pattern, questions)
        files[folder / "README.md"] = readme(name, pattern, questions)
    return files
