# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of all resources, and their form in responses."""

from __future__ import annotations

import collections
import collections.abc as c
import copy
import dataclasses
import datetime
import pathlib
import typing as t

from controller_api.fields import ENCRYPTED, Refused, Values
from controller_api.tables import table

TABLE = table("resources.yml")
RESOURCES: dict[str, Values] = TABLE["resources"]
UNIFIED = [kind for kind, resource in RESOURCES.items() if "unified" in resource]
TEMPLATES = "unified_job_templates"
ROOT = "/api/v2"


def now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclasses.dataclass
class Row:
    """One object. values: its fields and read-only values; lists: identifiers of associated objects; hidden: values that no response has."""

    kind: str
    id: int
    values: Values
    lists: dict[str, list[int]] = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    survey: Values = dataclasses.field(default_factory=dict)
    hidden: Values = dataclasses.field(default_factory=dict)
    created: str = dataclasses.field(default_factory=now)

    def __getitem__(self, field: str) -> t.Any:
        return self.values[field]

    @property
    def url(self) -> str:
        return f"{ROOT}/{self.kind}/{self.id}/"

    @property
    def name(self) -> str:
        return str(self.values.get("name") or self.values.get("identifier") or self.values.get("username") or "")

    def names(self) -> Values:
        """The names to which conditions may refer."""
        return {"kind": self.kind, **self.values, **self.hidden, "id": self.id, "lists": self.lists}

    @property
    def questions(self) -> list[Values]:
        """The questions that a launch asks."""
        return self.survey.get("spec", []) if self.values.get("survey_enabled") else []


def initial(kind: str) -> Values:
    """The values of a new object without those of a request."""
    resource = RESOURCES[kind]
    return copy.deepcopy({**{name: field.get("default") for name, field in resource["fields"].items()}, **resource.get("read_only", {})})


class Store:
    """All rows by kind and identifier."""

    keys = (*RESOURCES, TEMPLATES)  # kinds to which a field may refer

    def __init__(self, checkouts: c.Mapping[str, pathlib.Path]) -> None:
        self.checkouts = checkouts
        self.rows: dict[str, dict[int, Row]] = {kind: {} for kind in RESOURCES}
        self.last: collections.Counter[str] = collections.Counter()

    def add(self, kind: str, values: Values) -> Row:
        """A new row with these values, defaults for the others."""
        sequence = TEMPLATES if kind in UNIFIED else kind
        self.last[sequence] += 1
        row = Row(kind, self.last[sequence], {**initial(kind), **copy.deepcopy(values)})
        self.rows[kind][row.id] = row
        return row

    def find(self, kind: str, number: int | None) -> Row | None:
        """The row of this kind with this identifier, if there is one."""
        kinds = UNIFIED if kind == TEMPLATES else [kind]
        return next((self.rows[kind][number] for kind in kinds if number is not None and number in self.rows.get(kind, {})), None)

    def get(self, kind: str, number: int | None) -> Row:
        """The row of this kind with this identifier; raises Refused if there is none."""
        row = self.find(kind, number)
        if row is None:
            raise Refused({"detail": "Not found."}, 404)
        return row

    def where(self, kind: str, /, **values: t.Any) -> list[Row]:
        """The rows of a kind with these values."""
        kinds = [one for one in UNIFIED if RESOURCES[one].get("list")] if kind == TEMPLATES else [kind]
        return [row for one in kinds for row in self.rows[one].values() if all(row.values.get(name) == value for name, value in values.items())]

    def type_of(self, credential: Row) -> Row:
        """The type of a credential."""
        return self.get("credential_types", credential["credential_type"])

    def listed(self, row: Row, name: str) -> list[Row]:
        """The rows in this list of a row."""
        return [self.get(RESOURCES[row.kind]["lists"][name]["of"], number) for number in row.lists[name]]

    def pointing(self, row: Row) -> c.Iterator[tuple[Row, str, bool]]:
        """Rows that refer to this one: (row, its field, whether it is removed with this one)."""
        for kind, resource in RESOURCES.items():
            for name, field in resource["fields"].items():
                if field["is"] == row.kind or field["is"] == TEMPLATES and row.kind in UNIFIED:
                    yield from ((other, name, field.get("cascade", False)) for other in self.where(kind, **{name: row.id}))

    def used(self, credential: Row) -> bool:
        """Whether any object uses this credential."""
        attached = (row for kind in RESOURCES for row in self.rows[kind].values() if credential.id in row.lists["credentials"])
        return any(True for _row in attached) or any(True for _place in self.pointing(credential))

    def remove(self, row: Row) -> None:
        """Removes a row, its dependent rows, and all references to it."""
        self.rows[row.kind].pop(row.id, None)
        for other, name, cascade in list(self.pointing(row)):
            if cascade:
                self.remove(other)
            else:
                other.values[name] = None
        for kind, resource in RESOURCES.items():
            for name, row_list in resource.get("lists", {}).items():
                for other in self.rows[kind].values() if row_list["of"] == row.kind else ():
                    other.lists[name] = [number for number in other.lists[name] if number != row.id]
        self.leave_approval(row)

    def leave_approval(self, node: Row) -> None:
        """Removes the approval that belongs to a node, if it has one."""
        approval = self.find("workflow_approval_templates", node.values.get("unified_job_template"))
        if approval:
            self.remove(approval)

    def show(self, row: Row) -> Values:
        """A row as in responses, with masked secrets."""
        resource = RESOURCES[row.kind]
        fields = {name: field for name, field in resource["fields"].items() if not field.get("hidden")}
        keys = {name: field["is"] for name, field in fields.items() if field["is"] in self.keys}
        if "organization" in row.values:
            keys["organization"] = "organizations"
        pointed = {name: self.find(kind, row.values[name]) for name, kind in keys.items()}
        lists, actions = resource.get("lists", {}), resource.get("actions", [])
        values = {name: copy.deepcopy(row.values[name]) for name in [*fields, *resource.get("read_only", {})]}
        return {
            "id": row.id,
            "type": resource["type"],
            "url": row.url,
            "related": {**{name: f"{row.url}{name}/" for name in [*lists, *actions]}, **{name: other.url for name, other in pointed.items() if other}},
            "summary_fields": {name: self.summary(other) for name, other in pointed.items() if other},
            "created": row.created,
            "modified": row.hidden.get("modified", row.created),
            **masked(self, row, values),
            **{name: list(row.lists[name]) for name, one in lists.items() if one.get("shown")},
        }

    def summary(self, row: Row) -> Values:
        """The summary of a row in responses about other rows."""
        unified = RESOURCES[row.kind].get("unified")
        return {"id": row.id, "name": row.name, "description": row.values.get("description", ""), **({"unified_job_type": unified} if unified else {})}


def masked(store: Store, row: Row, values: Values) -> Values:
    """The values of a row with its secrets masked."""
    if row.kind == "credentials":
        _mask(values["inputs"], secrets(store.type_of(row)), but="ASK")
    elif row.kind == "notification_templates":
        kinds = TABLE["notification_types"][row["notification_type"]]
        _mask(values["notification_configuration"], [name for name, kind in kinds.items() if kind[0] == "password"])
    elif values.get("extra_data"):
        template = store.find(TEMPLATES, row["unified_job_template"])
        _mask(values["extra_data"], [question["variable"] for question in (template.questions if template else []) if question["type"] == "password"])
    elif row.kind == "tokens":
        values["token"] = "************"
    return values


def shown_survey(row: Row) -> Values:
    """The survey of a template as in responses."""
    survey: Values = copy.deepcopy(row.survey)
    for question in survey.get("spec", []):
        _mask(question, ["default"] if question["type"] == "password" else [])
    return survey


def secrets(credential_type: Row) -> list[str]:
    """The inputs of a credential type that are secret."""
    return [field["id"] for field in credential_type["inputs"].get("fields", []) if field.get("secret")]


def _mask(values: Values, names: list[str], but: str = "") -> None:
    for name in names:
        if values.get(name) and values[name] != but:
            values[name] = ENCRYPTED
