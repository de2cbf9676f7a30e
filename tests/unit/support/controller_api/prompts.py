# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a template that a launch, a node of a workflow or a schedule may replace."""

from __future__ import annotations

import dataclasses
import typing as t

from controller_api import surveys
from controller_api.fields import ENCRYPTED, Values, mapping
from controller_api.store import Row, Store

ANY = ("inventory", "limit", "scm_branch", "labels", "job_tags", "skip_tags", "extra_vars")
JOBS = ("diff_mode", "job_type", "verbosity", "credentials", "execution_environment", "forks", "job_slice_count", "timeout", "instance_groups")
FLAGS = {"extra_vars": "variables", "job_tags": "tags", "credentials": "credential"}  # where the flag is not named after the field
FIELDS = {"job_templates": (*ANY, *JOBS), "workflow_job_templates": ANY}
LISTS = ("labels", "credentials", "instance_groups")


def flag(field: str) -> str:
    """The field of a template that allows a launch to set this field."""
    return f"ask_{FLAGS.get(field, field)}_on_launch"


def needed_passwords(store: Store, credential: Row) -> list[str]:
    """The inputs of a credential that each launch must set."""
    fields = store.type_of(credential)["inputs"].get("fields", [])
    return [field["id"] for field in fields if field.get("ask_at_runtime") and credential["inputs"].get(field["id"]) == "ASK"]


@dataclasses.dataclass
class Verdict:
    """The values of a launch that are accepted (`taken`) and ignored, and the errors, by field."""

    taken: Values = dataclasses.field(default_factory=dict)
    ignored: Values = dataclasses.field(default_factory=dict)
    errors: Values = dataclasses.field(default_factory=dict)


def judge(store: Store, template: Row, requested: Values, required: bool = True, by_hand: bool = False) -> Verdict:
    """Sorts the requested values. required: required questions must be answered; by_hand: a launch, which ignores values that it does not accept."""
    verdict = Verdict()
    if template.kind not in FIELDS:
        verdict.errors = {name: ["Field is not allowed on launch."] for name in requested}
        return verdict
    _variables(template, requested.get("extra_vars", {}), required, by_hand, verdict)
    for name in FIELDS[template.kind]:
        value = requested.get(name)
        if name == "extra_vars" or value is None or _same(store, template, name, value):
            continue
        reason = _refusal(store, template, name, value, requested)
        if reason is None:
            verdict.taken[name] = value
            continue
        verdict.ignored[name] = value
        if not by_hand or template[flag(name)]:
            verdict.errors[name] = [reason]
    if template.kind == "job_templates":
        _resources(store, template, by_hand, verdict)
    return verdict


def _variables(template: Row, requested: Values, required: bool, by_hand: bool, verdict: Verdict) -> None:
    rest, taken, problems = dict(requested), Values(), list[str]()
    for question in template.questions:
        name = question["variable"]
        answer_problems = surveys.answer_problems(question, requested, required)
        problems += answer_problems
        if name in rest:
            (verdict.ignored.setdefault("extra_vars", {}) if answer_problems else taken)[name] = rest.pop(name)
    if problems:
        verdict.errors["variables_needed_to_start"] = problems
    if template["ask_variables_on_launch"]:
        taken, rest = {**taken, **rest}, {}
    own = mapping(template["extra_vars"])
    rest = {name: value for name, value in rest.items() if name not in own or own[name] != value}
    if taken:
        verdict.taken["extra_vars"] = taken
    if rest:
        verdict.ignored["extra_vars"] = {**verdict.ignored.get("extra_vars", {}), **rest}
        if not by_hand:
            model = "Workflow Job Template" if template.kind == "workflow_job_templates" else "Job Template"
            text = f"Variables {', '.join(rest)} are not allowed on launch. Check the Prompt on Launch setting on the {model} to include Extra Variables."
            verdict.errors["extra_vars"] = [text]


def _same(store: Store, template: Row, name: str, value: t.Any) -> bool:
    """Whether a value equals that of the template."""
    if name in LISTS:
        return set(value) <= set(template.lists[name]) if name == "credentials" else list(value) == template.lists[name]
    project = store.find("projects", template.values.get("project"))
    branch = name == "scm_branch" and template[name] == "" and project is not None and value == project["scm_branch"]
    return bool(value == template.values.get(name) or branch)


def _refusal(store: Store, template: Row, name: str, value: t.Any, requested: Values) -> str | None:
    """The reason why a template does not accept this value; None if it does."""
    if not template[flag(name)]:
        return "Field is not configured to prompt on launch."
    project = store.find("projects", template.values.get("project"))
    if name == "scm_branch" and template.kind == "job_templates":
        if project is None:
            return "Project is missing."
        if value != project["scm_branch"] and not project["allow_override"]:
            return "Project does not allow override of branch."
    if name == "job_slice_count" and value > 1:
        inventory = requested.get("inventory") if template["ask_inventory_on_launch"] and requested.get("inventory") else template["inventory"]
        if inventory and min(value, len(store.where("hosts", inventory=inventory))) <= 1:
            return "Job inventory does not have enough hosts for slicing"
    return None


def _resources(store: Store, template: Row, by_hand: bool, verdict: Verdict) -> None:
    passwords = [name for credential in store.listed(template, "credentials") for name in needed_passwords(store, credential)]
    if passwords and not by_hand and not template["ask_credential_on_launch"]:
        verdict.errors["passwords_needed_to_start"] = ["Saved launch configurations cannot provide passwords needed to start."]
    missing = [name for name in ("project", "inventory") if template[name] is None and name not in verdict.taken]
    if missing:
        verdict.errors["resources_needed_to_start"] = [f"Job Template {name} is missing or undefined." for name in missing]


def saved(store: Store, template: Row, values: Values, lists: dict[str, list[int]], required: bool) -> Values:
    """The errors of the values that a node or a schedule stores for its launches, by field."""
    requested = {name: values[name] for name in (*ANY, *JOBS) if values.get(name) is not None}
    requested |= {name: numbers for name, numbers in lists.items() if name in LISTS and numbers}
    if values.get("extra_data"):
        requested["extra_vars"] = values["extra_data"]
    errors = judge(store, template, requested, required=required).errors
    return {"extra_data" if name == "extra_vars" else name: problem for name, problem in errors.items()}


def launched(store: Store, template: Row, requested: Values) -> Values:
    """The variables of the job: the template's, defaults of its survey, then the requested ones."""
    answers = dict(requested)
    for question in template.questions:
        if question["type"] == "password" and answers.get(question["variable"]) == ENCRYPTED:
            answers.pop(question["variable"])
    return {**mapping(template["extra_vars"]), **surveys.defaults(template.questions), **answers}
