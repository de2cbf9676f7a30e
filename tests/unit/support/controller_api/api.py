# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths of the API: the objects that a request reads or changes."""

from __future__ import annotations

import collections.abc as c
import copy
import pathlib
import typing as t
import urllib.parse
import uuid

from controller_api import complaints, jobs, lists, playbooks, prompts, rules, surveys
from controller_api.fields import Invalid, Refused, Values, forbidden, invalid, mapping, take
from controller_api.store import RESOURCES, ROOT, TABLE, TEMPLATES, UNIFIED, Row, Store, initial, now, shown_survey

Answer = tuple[int, t.Any, bool]  # status, body, whether an object changed
RESERVED = {"page", "page_size", "format", "order", "order_by", "search", "host_filter", "count_disabled", "no_truncate", "limit", "validate"}
NO_PATH = Refused({"detail": "The requested resource could not be found."}, 404)
UPDATED_BY = ("scm_type", "scm_url", "scm_branch", "scm_refspec")


class Request(t.NamedTuple):
    """A request of an administrator."""

    method: str
    path: str
    query: list[tuple[str, str]]
    body: t.Any

    def allow(self, *methods: str) -> None:
        """Raises Refused if a path does not support the method."""
        if self.method not in methods:
            raise Refused({"detail": f'Method "{self.method}" not allowed.'}, 405)

    def page(self, items: list[Values]) -> Answer:
        """One page of a list."""
        query = dict(self.query)
        size, number = min(int(query.get("page_size", 25)), 200), int(query.get("page", 1))
        if number < 1 or number > 1 and (number - 1) * size >= len(items):
            raise Refused({"detail": "Invalid page."}, 404)

        def link(other: int) -> str:
            return f"{self.path}?{urllib.parse.urlencode([*(pair for pair in self.query if pair[0] != 'page'), ('page', other)])}"

        following = link(number + 1) if number * size < len(items) else None
        results = items[(number - 1) * size : number * size]
        shown = {"count": len(items), "next": following, "previous": link(number - 1) if number > 1 else None, "results": results}
        return 200, shown, False


class Api:
    """All objects, and the operations on them. projects: checkouts by URL; `start` runs a launched job in the background."""

    def __init__(self, projects: c.Mapping[str, pathlib.Path]) -> None:
        self.store = Store(projects)
        self.complaints: list[str] = []
        self.launches: list[Values] = []
        self.start: c.Callable[[Row], None] = lambda _job: None
        for kind, rows in TABLE["seeds"].items():
            for values in rows:
                self.store.add(kind, values)
        for name, seed in TABLE["credential_types"].items():
            fields = [{"id": field, "type": "string", **more} for field, more in seed["fields"].items()]
            inputs = {"fields": fields, "required": seed.get("required", [])}
            kept = {"kind": seed["kind"], "namespace": seed["namespace"], "inputs": inputs, "injectors": seed.get("injectors", {})}
            self.store.add("credential_types", {"name": name, "managed": True, **kept})
        galaxy = self.store.where("credential_types", namespace="galaxy_api_token")[0]
        public = {"name": "Ansible Galaxy", "credential_type": galaxy.id, "inputs": {"url": "https://galaxy.ansible.com/"}, "managed": True}
        self.store.get("organizations", 1).lists["galaxy_credentials"] = [self.store.add("credentials", {**public, "kind": galaxy["namespace"]}).id]

    def answer(self, request: Request) -> Answer:
        """The response to a request."""
        kind, *rest = request.path.removeprefix(f"{ROOT}/").strip("/").split("/")
        if request.path == f"{ROOT}/me/":
            return request.page([self.store.show(self.store.get("users", 1))])
        if kind == TEMPLATES and not rest:
            request.allow("GET")
            return self.listing(kind, request)
        if kind not in RESOURCES or len(rest) > 2 or rest and not rest[0].isdecimal():
            raise NO_PATH
        methods = RESOURCES[kind].get("methods", {})
        if not rest:
            if methods.get("list") == []:
                raise NO_PATH
            request.allow(*methods.get("list", ["GET", "POST"]))
            return self.listing(kind, request) if request.method == "GET" else self.created(kind, request.body)
        inside, actions = RESOURCES[kind].get("lists", {}), RESOURCES[kind].get("actions", [])
        if len(rest) == 2 and rest[1] not in (*inside, *actions):
            raise NO_PATH
        row = self.store.get(kind, int(rest[0]))
        if len(rest) == 2:
            return self.associated(request, row, rest[1]) if rest[1] in inside else ACTIONS[rest[1]](self, request, row)
        request.allow(*methods.get("one", ["GET", "PATCH", "DELETE"]))
        return self.one(request, row)

    def listing(self, kind: str, request: Request) -> Answer:
        """The objects of a kind that match a query."""
        known = {name for one in (UNIFIED if kind == TEMPLATES else [kind]) for name in RESOURCES[one]["fields"] | RESOURCES[one].get("read_only", {})}
        filters = [(name, value) for name, value in request.query if name not in RESERVED and not (name == "type" and kind != TEMPLATES)]
        for name in (name.removeprefix("or__") for name, _value in filters):
            if name not in {"id", "type", *known}:
                raise Refused({"detail": f"{_model(kind)} has no field named '{name}'"})
        return request.page([self.store.show(row) for row in self.store.where(kind) if _matches(row, filters)])

    def taken(self, kind: str, body: t.Any, old: Row | None) -> Values:
        """The fields that a body sets, as they are stored; raises Refused if one is invalid."""
        if not isinstance(body, dict):
            raise Refused({"detail": "JSON parse error - not a JSON object"})
        values: Values = {}
        errors: Values = {}
        for name, field in RESOURCES[kind]["fields"].items():
            if old and field.get("fixed"):
                continue
            if name not in body:
                if "default" not in field and not old:
                    errors[name] = ["This field is required."]
                continue
            try:
                values[name] = take(field, copy.deepcopy(body[name]), lambda to, number: self.store.find(to, number) is not None)
            except Invalid as error:
                errors[name] = [str(error)]
        if errors:
            raise Refused(errors)
        return values

    def checked(self, kind: str, body: t.Any, old: Row | None) -> Values:
        """The values of an object that a body creates or changes; raises Refused if AWX refuses them."""
        sent = self.taken(kind, body, old)
        new = {**initial(kind), **(copy.deepcopy(old.values) if old else {}), **sent}
        if new.get("identifier") == "uuid4":
            new["identifier"] = str(uuid.uuid4())
        change = rules.Change(self.store, kind, sent, new, old)
        rules.check(change)
        return change.new

    def created(self, kind: str, body: t.Any) -> Answer:
        """Creates an object."""
        row = self.store.add(kind, self.checked(kind, body, None))
        shown = self.saved(row, body, {})
        if kind == "tokens":
            row.values["token"] = shown["token"] = uuid.uuid4().hex
        return 201, shown, True

    def one(self, request: Request, row: Row) -> Answer:
        """Reads, changes or removes one object."""
        if request.method == "GET":
            return 200, self.store.show(row), False
        if request.method == "DELETE":
            if row.values.get("managed"):
                raise forbidden("You do not have permission to perform this action.")
            self.store.remove(row)
            return RESOURCES[row.kind].get("deleted", 204), None, True
        before, values = row.values, self.checked(row.kind, request.body, row)
        if values.get("unified_job_template") != before.get("unified_job_template"):
            self.store.leave_approval(row)
        row.values = values
        row.hidden["modified"] = now()
        return 200, self.saved(row, request.body, before), row.values != before

    def saved(self, row: Row, body: Values, before: Values) -> Values:
        """The object in the response to a request that has created or changed it."""
        update = self.update(row) if row.kind == "projects" and (not before or any(row[name] != before[name] for name in UPDATED_BY)) else None
        for parent in self.store.where("job_templates", project=row.id) if row.kind == "projects" else []:
            parent.values["organization"] = row["organization"]
        self.complaints += [f"{row.url} ({row.name}): {text}" for text in complaints.of(self.store, row, body)]
        shown = self.store.show(row)
        if update:  # the response is sent before the update ends
            summary = {"id": update.id, "name": update.name, "status": "pending", "failed": False}
            shown |= {"status": "pending", "summary_fields": {**shown["summary_fields"], "current_update": summary, "current_job": summary}}
        return shown

    def update(self, row: Row) -> Row | None:
        """Updates a project at once, from its checkout; fails if there is none. A manual project only gets its playbooks, and has no update."""
        folder = self.store.checkouts.get(row["scm_url"] or row["local_path"])
        row.hidden["playbooks"] = playbooks.playbooks(folder) if folder else []
        if not row["scm_type"]:
            return None
        row.values["local_path"] = row["local_path"] or f"_{row.id}__{row.name.lower().replace(' ', '_')}"
        status = {"status": "successful" if folder else "failed", "scm_revision": playbooks.revision(folder, row["scm_branch"]) if folder else ""}
        row.values |= {**status, "last_job_run": now(), "last_updated": now(), "last_update_failed": not folder, "last_job_failed": not folder}
        return self.store.add("project_updates", {"name": row.name, "project": row.id, "failed": not folder, "started": now(), "finished": now(), **status})

    def associated(self, request: Request, parent: Row, name: str) -> Answer:
        """Reads or changes a list of an object."""
        request.allow("GET", "POST")
        what, numbers = RESOURCES[parent.kind]["lists"][name], parent.lists[name]
        if request.method == "GET":
            return request.page([self.store.show(row) for row in self.store.listed(parent, name)])
        body = request.body
        if not isinstance(body, dict):
            raise Refused("invalid type for post data")
        number, leave = body.get("id"), "disassociate" in body
        if not number and "given" in what:
            raise Refused({"msg": f"{what['given']} 'id' field is missing."})
        if not number and leave:
            raise Refused({"msg": '"id" is required to disassociate'})
        if number and not isinstance(number, int):
            raise Refused({"msg": '"id" field must be an integer.'})
        if not number:
            raise Refused({"detail": "The stand-in creates no objects within a list."}, 501)
        row = self.store.find(what["of"], number)
        if row is None:
            raise Refused({"detail": f"{_model(what['of'])} matching query does not exist."})
        changed = (number in numbers) is leave
        if not leave:
            lists.check(self.store, parent, name, row)
        parent.lists[name] = [other for other in numbers if other != number] + ([] if leave else [number]) if changed else numbers
        if leave and row.kind == "labels" and not any(row.id in other.lists["labels"] for rows in self.store.rows.values() for other in rows.values()):
            self.store.remove(row)  # AWX deletes a label that no object has
        return 204, None, changed

    def playbooks(self, request: Request, row: Row) -> Answer:
        request.allow("GET")
        return 200, row.hidden["playbooks"], False

    def project_update(self, request: Request, row: Row) -> Answer:
        request.allow("GET", "POST")
        if request.method == "GET":
            return 200, {"can_update": bool(row["scm_type"])}, False
        before = row["scm_revision"]
        update = self.update(row)
        if update is None:
            raise Refused({"detail": 'Method "POST" not allowed.'}, 405)
        return 202, {**self.store.show(update), "project_update": update.id}, row["scm_revision"] != before

    def survey_spec(self, request: Request, row: Row) -> Answer:
        request.allow("GET", "POST", "DELETE")
        if request.method == "GET":
            return 200, shown_survey(row), False
        before, row.survey = row.survey, surveys.checked(request.body, row.survey) if request.method == "POST" else {}
        self.complaints += [f"{row.url} ({row.name}): survey: {text}" for text in complaints.of_survey(row)]
        return 200, None, row.survey != before

    def create_approval_template(self, request: Request, row: Row) -> Answer:
        request.allow("GET", "POST")
        if request.method == "GET":
            return 200, {}, False
        status, shown, changed = self.created("workflow_approval_templates", request.body)
        self.store.leave_approval(row)
        row.values["unified_job_template"] = shown["id"]
        return status, shown, changed

    def launch(self, request: Request, row: Row) -> Answer:
        request.allow("GET", "POST")
        needed = [question["variable"] for question in row.questions if question["required"]]
        asks = {name: value for name, value in row.values.items() if name.startswith("ask_")}
        if request.method == "GET":
            free = not needed and not any(asks.values())
            return 200, {**asks, "can_start_without_user_input": free, "survey_enabled": bool(row.questions), "variables_needed_to_start": needed}, False
        try:
            requested = {**request.body, "extra_vars": mapping(request.body.get("extra_vars") or {})}
        except Invalid as error:
            raise invalid("extra_vars", str(error)) from None
        verdict = prompts.judge(self.store, row, requested, by_hand=row.kind == "job_templates")
        project = self.store.find("projects", row.values.get("project"))
        if project and project["last_update_failed"]:
            verdict.errors["playbook"] = ["Missing a revision to run due to failed project update."]
        if verdict.errors:
            raise Refused(verdict.errors)
        variables = prompts.launched(self.store, row, verdict.taken.get("extra_vars", {}))
        if row.kind == "job_templates":
            job = jobs.made(self.store, row, {**verdict.taken, "extra_vars": variables})
        else:
            job = self.store.add("workflow_jobs", {"name": row.name, "workflow_job_template": row.id})
            job.hidden["nodes"] = {}
        kind = RESOURCES[job.kind]["type"]
        self.launches.append({"id": job.id, "template": row.name, "type": kind, "extra_vars": variables, "prompts": verdict.taken})
        self.start(job)
        return 201, {**self.store.show(job), kind: job.id, "ignored_fields": verdict.ignored}, True

    def workflow_nodes(self, request: Request, row: Row) -> Answer:
        """The nodes of a workflow job that have a job; with job__name in the query, those whose job has this name."""
        request.allow("GET")
        started = [(self.store.get("workflow_job_template_nodes", number), job) for number, job in row.hidden["nodes"].items()]
        name = dict(request.query).get("job__name")
        return request.page(
            [
                {
                    "id": node.id,
                    "identifier": node["identifier"],
                    "job": job.id,
                    "related": {"job": job.url},
                    "summary_fields": {"job": self.store.summary(job)},
                }
                for node, job in started
                if name in (None, job.name)
            ]
        )

    def decide(self, request: Request, row: Row, status: str) -> Answer:
        """Approves or denies a step of a workflow."""
        request.allow("POST")
        if row["status"] != "pending":
            raise Refused({"error": "This workflow step has already been approved or denied."})
        row.values["status"] = status
        return 204, None, True


ACTIONS: dict[str, c.Callable[[Api, Request, Row], Answer]] = {
    "playbooks": Api.playbooks,
    "update": Api.project_update,
    "survey_spec": Api.survey_spec,
    "create_approval_template": Api.create_approval_template,
    "launch": Api.launch,
    "workflow_nodes": Api.workflow_nodes,
    "approve": lambda api, request, row: api.decide(request, row, "successful"),
    "deny": lambda api, request, row: api.decide(request, row, "failed"),
}


def _model(kind: str) -> str:
    return str(RESOURCES[kind]["model"]).title().replace(" ", "") if kind in RESOURCES else "UnifiedJobTemplate"


def _matches(row: Row, filters: list[tuple[str, str]]) -> bool:
    """Whether a row matches the filters."""
    either = [_is(row, name.removeprefix("or__"), value) for name, value in filters if name.startswith("or__")]
    every = [_is(row, name, value) for name, value in filters if not name.startswith("or__")]
    return all(every) and (not either or any(either))


def _is(row: Row, name: str, value: str) -> bool:
    if name == "type":
        return RESOURCES[row.kind]["type"] in value.split(",")
    actual = row.id if name == "id" else row.values.get(name)
    return actual is None if value.lower() in ("none", "null") else str(actual) == value or isinstance(actual, bool) and str(actual).lower() == value.lower()
