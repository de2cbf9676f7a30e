# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for AWX's REST API that refuses what AWX 24.6.1 refuses: the part that the modules of awx.awx need to create all objects of a configuration.

This module is its server on loopback, with logins and a log of changes.
"""

from __future__ import annotations

import base64
import collections.abc as c
import contextlib
import json
import pathlib
import threading
import traceback
import typing as t
import urllib.parse

from local_servers import JSON, serve

from controller_api import jobs, workflows
from controller_api.api import Answer, Api, Request
from controller_api.fields import Refused, Values, forbidden
from controller_api.store import RESOURCES, ROOT, Row, shown_survey

VERSION = "24.6.1"
NOT_LOGGED_IN = Refused({"detail": "Authentication credentials were not provided. To establish a login session, visit /api/login/."}, 401)


class Write(t.NamedTuple):
    """A request that is not a GET, and whether it has changed an object."""

    method: str
    path: str
    body: t.Any
    changed: bool


class Controller:
    """AWX 24.6.1 with one administrator. projects: checkouts of projects by their URL, or by the local path of manual ones.

    Jobs are recorded. They run only with `environment`, a folder with the collections of the execution environment.
    """

    user, password = "admin", "the password of the stand-in"

    def __init__(self, projects: c.Mapping[str, pathlib.Path] | None = None, environment: pathlib.Path | None = None) -> None:
        self.api = Api(projects or {})
        self.writes: list[Write] = []
        self.refused: list[tuple[str, str, int, t.Any]] = []
        self.complaints, self.launches = self.api.complaints, self.api.launches
        self.token: str = self.api.created("tokens", {"description": "of the tests"})[1]["token"]
        self._lock, self._running, self._environment = threading.Lock(), list[threading.Thread](), environment
        if environment:
            self.api.start = self._start
        self._serving = contextlib.ExitStack()
        self.url = ""  # set on entry

    def __enter__(self) -> Controller:
        self.url = self._serving.enter_context(serve(self._respond))
        return self

    def _start(self, job: Row) -> None:
        self._running.append(threading.Thread(target=self._run, args=(job,)))
        self._running[-1].start()

    def _run(self, job: Row) -> None:
        if job.kind == "workflow_jobs":
            workflows.run(self.api.store, job, self._run)
        else:
            jobs.run(self.api.store, job, self._environment)

    def __exit__(self, *_error: object) -> None:
        for approval in self.api.store.where("workflow_approvals", status="pending"):
            approval.values["status"] = "canceled"
        for thread in self._running:
            thread.join()
        self._serving.close()

    def objects(self, kind: str) -> list[Values]:
        """All objects of a kind as in responses, with the names in their `lists` and their `survey_spec`."""
        store = self.api.store
        with self._lock:
            rows = list(store.rows[kind].values())
            names = [{name: [one.name for one in store.listed(row, name)] for name in RESOURCES[kind].get("lists", {})} for row in rows]
            return [{**store.show(row), "lists": lists, "survey_spec": shown_survey(row)} for row, lists in zip(rows, names, strict=True)]

    def _respond(self, handler: t.Any, method: str, target: str, raw: bytes) -> tuple[int, dict[str, str], str]:
        status, body, known = self.answer(method, target, handler.headers.get("Authorization", ""), raw)
        names = {"X-API-Product-Name": "AWX", **({"X-API-Product-Version": VERSION} if known else {})}
        return status, {"Content-Type": JSON, **names}, "" if body is None else json.dumps(body)

    def answer(self, method: str, target: str, login: str, raw: bytes) -> tuple[int, t.Any, bool]:
        """(status, body, whether the caller is known). Requests are handled one after the other."""
        parts = urllib.parse.urlsplit(target)
        with self._lock:
            try:
                body = json.loads(raw) if raw else {}
            except ValueError as error:
                return 400, {"detail": f"JSON parse error - {error}"}, False
            scope = self._scope(login)
            changed = False
            try:
                status, content, changed = self._answer(method, parts, scope, body)
            except Refused as refusal:
                status, content = refusal.status, refusal.body
                self.refused.append((method, target, status, content))
            except Exception:  # a bug of the stand-in, reported to the client
                status, content = 500, {"detail": traceback.format_exc()}
            if method != "GET":
                self.writes.append(Write(method, parts.path, body, changed))
            return status, content, scope is not None

    def _answer(self, method: str, parts: urllib.parse.SplitResult, scope: str | None, body: t.Any) -> Answer:
        path = parts.path
        if method == "GET" and path in ("/api/", f"{ROOT}/", f"{ROOT}/ping/"):
            return 200, _root(path), False
        if scope is None:
            raise NOT_LOGGED_IN
        if method != "GET" and "write" not in scope.split():
            raise forbidden("You do not have permission to perform this action.")
        if path == f"{ROOT}/config/":
            return 200, {"version": VERSION, "time_zone": "UTC", "license_info": {"license_type": "open"}, "eula": "", "become_methods": []}, False
        if not path.startswith(f"{ROOT}/") or not path.endswith("/"):
            raise Refused({"detail": "The requested resource could not be found."}, 404)
        return self.api.answer(Request(method, path, urllib.parse.parse_qsl(parts.query, keep_blank_values=True), body))

    def _scope(self, login: str) -> str | None:
        """The scope of the account with this login; None for an unknown account."""
        scheme, _space, secret = login.partition(" ")
        if scheme == "Basic" and secret == base64.b64encode(f"{self.user}:{self.password}".encode()).decode():
            return "write"
        tokens = self.api.store.where("tokens", token=secret) if scheme == "Bearer" and secret else []
        return str(tokens[0]["scope"]) if tokens else None


def _root(path: str) -> Values:
    if path == "/api/":
        return {"description": "AWX REST API", "current_version": f"{ROOT}/", "available_versions": {"v2": f"{ROOT}/"}}
    if path == f"{ROOT}/":
        return {{"inventories": "inventory"}.get(kind, kind): f"{ROOT}/{kind}/" for kind in RESOURCES}
    return {"ha": False, "version": VERSION, "active_node": "awx", "install_uuid": "0" * 32, "instances": [], "instance_groups": []}
