# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes that the real API accepts silently."""

from __future__ import annotations

import collections.abc as c

from controller_api import surveys
from controller_api.fields import ENCRYPTED, Values
from controller_api.store import RESOURCES, TEMPLATES, Row, Store
from controller_api.tables import REFUSALS, holding

COMMON = {"id", "type", "url", "related", "summary_fields", "created", "modified"}
KEYS = ["type", "question_name", "question_description", "variable", "required", "default", "choices", "min", "max", "new_question"]
BY_NAME = ("credentials", "inventories")  # modules search for these by name alone


def of(store: Store, row: Row, body: Values) -> c.Iterator[str]:
    """The mistakes of an object that is created or changed with this body."""
    resource = RESOURCES[row.kind]
    for name, value in body.items():
        if name in resource.get("read_only", {}):
            if value != row[name]:
                yield f"{name} cannot be set: it stays {row[name]!r}, not {value!r}"
        elif name not in resource["fields"] and name not in COMMON:
            yield f"there is no field {name}"
    alike = store.where(TEMPLATES, name=row.name) if resource.get("list") else store.where(row.kind, name=row.name) if row.kind in BY_NAME else []
    for other in alike:
        if other is not row and (row.kind in BY_NAME or other.values.get("organization") == row.values.get("organization")):
            yield f"{other.url} has the name {row.name!r} too"
    kind = store.find("credential_types", row.values.get("credential_type"))
    project = store.find("projects", row.values.get("project") or row.values.get("source_project"))
    names = {
        "row": row.values,
        "fields": [field["id"] for field in row.values.get("inputs", {}).get("fields", [])],
        "missing": [name for name in kind["inputs"].get("required", []) if not row["inputs"].get(name)] if kind else [],
        "folder": store.checkouts.get(project["scm_url"]) if project else None,
        "project": project and project.names(),
    }
    yield from (complaint["says"] for complaint in holding(REFUSALS["complaints"].get(row.kind, []), names))


def of_survey(row: Row) -> c.Iterator[str]:
    """The mistakes of a survey."""
    if row.survey and not row["survey_enabled"]:
        yield "survey_enabled is false: no launch shows the survey"
    for question in row.survey.get("spec", []):
        name, default = question["variable"], question.get("default", "")
        problems = surveys.answer_problems(question, {name: default}) if default not in ("", ENCRYPTED) and question["type"] != "multiselect" else []
        names = {"question": question, "default": default, "keys": KEYS, "problems": problems}
        yield from (f"{name}: {complaint['says']}" for complaint in holding(REFUSALS["question_complaints"], names))
