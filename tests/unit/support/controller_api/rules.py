# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of an object as a whole, and the fields that AWX sets before it stores the object."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from controller_api import credential_types, notifications, prompts, schedules
from controller_api.fields import ENCRYPTED, Refused, Values, invalid, mapping
from controller_api.store import RESOURCES, TEMPLATES, Row, Store, initial
from controller_api.tables import REFUSALS, refuse

BLOCKED = ("HOME", "USER", "_", "TERM", "PATH")
CHARACTERS = {"limit", "scm_branch", "job_tags", "skip_tags"}  # a workflow stores these together


@dataclasses.dataclass
class Change:
    """An object that is created (`old` is None) or changed: the fields of the request, and the resulting values."""

    store: Store
    kind: str
    sent: Values
    new: Values
    old: Row | None

    def names(self) -> Values:
        """The names to which conditions of refusals.yml may refer."""
        keys = {name: self.store.find(field["is"], self.new[name]) for name, field in RESOURCES[self.kind]["fields"].items() if field["is"] in self.store.keys}
        credentials = {name: row for name, row in keys.items() if row and row.kind == "credentials"}
        return {
            "sent": self.sent,
            "new": self.new,
            "old": self.old and self.old.values,
            "to": {name: row.names() for name, row in keys.items() if row},
            "types": {name: self.store.type_of(row).values for name, row in credentials.items()},
            "used": self.old is not None and self.store.used(self.old),
        }


def check(change: Change) -> None:
    """Completes the new object; raises Refused if AWX refuses it."""
    names = EXTRA_NAMES[change.kind](change) if change.kind in EXTRA_NAMES else {}
    refuse(REFUSALS["objects"].get(change.kind, []), {**change.names(), **names}, listed=True)
    if change.kind in COMPLETIONS:
        COMPLETIONS[change.kind](change)
    _check_columns(change)


def _check_columns(change: Change) -> None:
    resource = RESOURCES[change.kind]
    for name, field in resource["fields"].items():
        if field.get("blank") is False and change.new[name] is None:
            raise invalid(name, "This field cannot be blank.")
    columns: list[str] = resource.get("unique") or resource.get("soft", [])
    key = {name: change.new[name] for name in columns}
    if not columns or None in key.values() and "unique" in resource or all(row is change.old for row in change.store.where(change.kind, **key)):
        return
    if "soft" in resource:
        raise invalid("__all__", f"{resource['model'].title().replace(' ', '')} with this ({', '.join(columns)}) combination already exists.")
    labels = [name.replace("_", " ").capitalize() for name in columns]
    text = " and ".join(part for part in (", ".join(labels[:-1]), labels[-1]) if part)
    raise invalid(columns[0] if len(columns) == 1 else "__all__", f"{resource['model']} with this {text} already exists.")


def _project_names(change: Change) -> Values:
    users = change.store.where("job_templates", project=change.old.id) if change.old else []
    taken = [row["local_path"] for row in change.store.where("projects") if row is not change.old]
    return {
        "templates": users,
        "branches": [row.id for row in users if row["ask_scm_branch_on_launch"] or row["scm_branch"]],
        "paths": [path for path in change.store.checkouts if path not in taken],
    }


EXTRA_NAMES: dict[str, c.Callable[[Change], Values]] = {
    "projects": _project_names,
    "credentials": lambda change: {"owners": sorted(name for name in ("organization", "user", "team") if change.new.get(name))},
    "inventory_sources": lambda change: {
        "blocked": [name for name in mapping(change.new["source_vars"]) if name in BLOCKED],
        "foreign": [name for name in ("source_project", "source_path", "scm_branch") if change.sent.get(name)],
    },
}


def _project(change: Change) -> None:
    if not change.new["scm_type"]:
        change.new["scm_url"] = ""
    elif change.old is None:  # the first update sets the path
        change.new["local_path"] = ""


def _credential_type(change: Change) -> None:
    change.new["inputs"] = credential_types.checked(change.new)
    used = change.old is not None and bool(change.store.where("credentials", credential_type=change.old.id))
    refuse(REFUSALS["objects"]["credential_types_in_use"], {**change.names(), "used": used}, listed=True)


def _credential(change: Change) -> None:
    kind = change.store.get("credential_types", change.new["credential_type"])
    change.new["inputs"] = credential_types.checked_inputs(kind, change.new["inputs"], change.old["inputs"] if change.old else None)
    change.new |= {"kind": kind["namespace"], "cloud": kind["kind"] == "cloud", "kubernetes": kind["kind"] == "kubernetes"}


def _notification(change: Change) -> None:
    new, old = change.new, change.old.values if change.old else {}
    notifications.check_messages(change.sent.get("messages"))
    if not old or "notification_configuration" in change.sent:
        before = old.get("notification_configuration") if old.get("notification_type") == new["notification_type"] else None
        new["notification_configuration"] = notifications.configured(new["notification_type"], new["notification_configuration"], before)
    if old and "messages" in change.sent:
        new["messages"] = notifications.merged(new["messages"], old["messages"])


def _inventory(change: Change) -> None:
    change.new["host_filter"] = change.new["host_filter"] or None


def _inventory_source(change: Change) -> None:
    change.new["organization"] = change.old["organization"] if change.old else change.store.get("inventories", change.new["inventory"])["organization"]


def _host(change: Change) -> None:
    name, colon, port = change.new["name"].partition(":")
    if colon and ":" not in port:
        change.new |= {"name": name, "variables": f'{{"ansible_ssh_port": {port}}}'}


def _job_template(change: Change) -> None:
    change.new["organization"] = change.store.get("projects", change.new["project"])["organization"]


def _workflow(change: Change) -> None:
    if change.old and CHARACTERS & set(change.sent):  # those that are not sent are cleared
        change.new |= dict.fromkeys(CHARACTERS - set(change.sent))


def _node(change: Change) -> None:
    template, kept = change.store.find(TEMPLATES, change.new["unified_job_template"]), ("workflow_job_template", "identifier", "all_parents_must_converge")
    if template is None:  # it stores no prompts
        before = change.old.values if change.old else initial(change.kind)
        change.new |= {name: value for name, value in before.items() if name not in kept}
    else:
        _saved(change, template, required=False)


def _schedule(change: Change) -> None:
    if "rrule" in change.sent:
        change.new |= schedules.checked(change.new["rrule"])
    if change.sent != {"enabled": False}:
        _saved(change, change.store.get(TEMPLATES, change.new["unified_job_template"]), required=True)


def _saved(change: Change, template: Row, required: bool) -> None:
    passwords = {question["variable"]: question.get("default") for question in template.questions if question["type"] == "password"}
    answers, before = dict(change.new["extra_data"]), change.old["extra_data"] if change.old else {}
    for name in [name for name, value in answers.items() if value == ENCRYPTED]:
        if name not in passwords:
            raise invalid("extra_data", f'"{ENCRYPTED} is a reserved keyword, may not be used for {name}."')
        if name not in before and not passwords[name]:
            raise invalid("extra_data", f"Provided variable {name} has no database value to replace with.")
        answers[name] = before.get(name, ENCRYPTED)
    if change.old is None or {"inventory", "execution_environment", "extra_data"} & set(change.sent):
        lists = change.old.lists if change.old else {}
        errors = prompts.saved(change.store, template, {**change.new, "extra_data": answers}, lists, required)
        if errors:
            raise Refused(errors)
    change.new["extra_data"] = {name: value for name, value in answers.items() if value != ENCRYPTED}


COMPLETIONS: dict[str, c.Callable[[Change], None]] = {
    "projects": _project,
    "credential_types": _credential_type,
    "credentials": _credential,
    "notification_templates": _notification,
    "inventories": _inventory,
    "inventory_sources": _inventory_source,
    "hosts": _host,
    "job_templates": _job_template,
    "workflow_job_templates": _workflow,
    "workflow_job_template_nodes": _node,
    "schedules": _schedule,
}
