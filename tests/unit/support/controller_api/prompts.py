# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch, a node of a workflow or a schedule may say beyond its template."""

from __future__ import annotations

import dataclasses
import typing as t

from controller_api import surveys
from controller_api.fields import ENCRYPTED, Values, mapping
from controller_api.store import Row, Store

ANY = ("inventory", "limit", "scm_branch", "labels", "job_tags", "skip_tags", "extra_vars")
JOBS = ("diff_mode", "job_type", "verbosity", "credentials", "execution_environment", "forks", "job_slice_count", "timeout", "instance_groups")
FLAGS = {"extra_vars": "variables", "job_tags": "tags", "credentials": "credential"}  # where the flag is not named after the field
ASKED = {"job_templates": (*ANY, *JOBS), "workflow_job_templates": ANY}
LISTS = ("labels", "credentials", "instance_groups")


def flag(field: str) -> str:
    """The field of a template that says whether another one is asked for."""
    return f"ask_{FLAGS.get(field, field)}_on_launch"


def needed_passwords(store: Store, credential: Row) -> list[str]:
    """The inputs of a credential that are asked for at each launch."""
    fields = store.type_of(credential)["inputs"].get("fields", [])
    return [field["id"] for field in fields if field.get("ask_at_runtime") and credential["inputs"].get(field["id"]) == "ASK"]


@dataclasses.dataclass
class Verdict:
    """What of a launch is taken, what is left out, and what is an error."""

    taken: Values = dataclasses.field(default_factory=dict)
    ignored: Values = dataclasses.field(default_factory=dict)
    errors: Values = dataclasses.field(default_factory=dict)


def judge(store: Store, template: Row, said: Values, required: bool = True, by_hand: bool = False) -> Verdict:
    """What a template makes of what is `said`; `required` questions are to be answered, and a launch `by_hand` leaves out what it cannot take."""
    verdict = Verdict()
    if template.kind not in ASKED:
        verdict.errors = {name: ["Field is not allowed on launch."] for name in said}
        return verdict
    _variables(template, said.get("extra_vars", {}), required, by_hand, verdict)
    for name in ASKED[template.kind]:
        value = said.get(name)
        if name == "extra_vars" or value is None or _same(store, template, name, value):
            continue
        refused = _refused(store, template, name, value, said)
        if refused is None:
            verdict.taken[name] = value
            continue
        verdict.ignored[name] = value
        if not by_hand or template[flag(name)]:
            verdict.errors[name] = [refused]
    if template.kind == "job_templates":
        _resources(store, template, by_hand, verdict)
    return verdict


def _variables(template: Row, said: Values, required: bool, by_hand: bool, verdict: Verdict) -> None:
    rest, taken, problems = dict(said), Values(), list[str]()
    for question in template.questions:
        name = question["variable"]
        wrong = surveys.wrong_answers(question, said, required)
        problems += wrong
        if name in rest:
            (verdict.ignored.setdefault("extra_vars", {}) if wrong else taken)[name] = rest.pop(name)
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
    """Whether this is what the template says anyway."""
    if name in LISTS:
        return set(value) <= set(template.lists[name]) if name == "credentials" else list(value) == template.lists[name]
    project = store.find("projects", template.values.get("project"))
    branch = name == "scm_branch" and template[name] == "" and project is not None and value == project["scm_branch"]
    return bool(value == template.values.get(name) or branch)


def _refused(store: Store, template: Row, name: str, value: t.Any, said: Values) -> str | None:
    """Why a template does not take this value, if it does not."""
    if not template[flag(name)]:
        return "Field is not configured to prompt on launch."
    project = store.find("projects", template.values.get("project"))
    if name == "scm_branch" and template.kind == "job_templates":
        if project is None:
            return "Project is missing."
        if value != project["scm_branch"] and not project["allow_override"]:
            return "Project does not allow override of branch."
    if name == "job_slice_count" and value > 1:
        inventory = said.get("inventory") if template["ask_inventory_on_launch"] and said.get("inventory") else template["inventory"]
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
    """The errors of what a node or a schedule keeps for its launches, by field."""
    said = {name: values[name] for name in (*ANY, *JOBS) if values.get(name) is not None}
    said |= {name: numbers for name, numbers in lists.items() if name in LISTS and numbers}
    if values.get("extra_data"):
        said["extra_vars"] = values["extra_data"]
    errors = judge(store, template, said, required=required).errors
    return {"extra_data" if name == "extra_vars" else name: problem for name, problem in errors.items()}


def launched(store: Store, template: Row, said: Values) -> Values:
    """The variables of the job: the template's, defaults of its survey, then what is said."""
    answers = dict(said)
    for question in template.questions:
        if question["type"] == "password" and answers.get(question["variable"]) == ENCRYPTED:
            answers.pop(question["variable"])
    return {**mapping(template["extra_vars"]), **surveys.defaults(template.questions), **answers}
