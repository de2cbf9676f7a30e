# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RBAC in front of an API server of the tests: what Roles and bindings do not grant is refused with 403, and noted."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import json
import re
import typing as t
from urllib.parse import parse_qs

from local_servers import JSON

Facts = dict[str, t.Any]
# What every account may do: find out what is served, and what it may do itself.
OPEN = re.compile(r"/(version|api|apis|openapi/.*|api/v1|apis/[^/]+(/v[^/]+)?)")
REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")
VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
PATH = re.compile(
    r"/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?/(?P<resource>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<part>[^/]+).*)?)?"
)


@dataclasses.dataclass(frozen=True)
class Request:
    """What RBAC judges of a request. resource: with the subresource, such as pods/log; namespace: empty for all, or for a kind without."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


def request_of(method: str, url: str) -> Request | None:
    """What a request asks for; None where every account may."""
    path, _mark, query = url.partition("?")
    if OPEN.fullmatch(path):
        return None
    found = re.fullmatch(r"/api/v1/namespaces/(?P<name>[^/]+)", path)
    if found:  # the namespace of a request for a Namespace is its own
        return Request(VERBS[method], "", "namespaces", found["name"], found["name"])
    found = PATH.fullmatch(path)
    assert found, url
    group, resource, name = found["group"] or "", found["resource"], found["name"] or ""
    if resource in REVIEWS:
        return None
    verb = VERBS[method]
    if not name and method == "GET":
        verb = "watch" if parse_qs(query).get("watch") else "list"
    if not name and method == "DELETE":
        verb = "deletecollection"
    return Request(verb, group, f"{resource}/{found['part']}" if found["part"] else resource, found["namespace"] or "", name)


def granted(objects: c.Sequence[Facts], subject: str) -> list[tuple[str, Facts]]:
    """(namespace, rule) of each rule that bindings give to a subject of this name; an empty namespace for all of them."""
    roles = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each["rules"] for each in objects if "rules" in each}
    found = []
    for binding in (each for each in objects if each["kind"] in ("RoleBinding", "ClusterRoleBinding")):
        place = binding["metadata"].get("namespace", "") if binding["kind"] == "RoleBinding" else ""
        reference = binding["roleRef"]
        key = (reference["kind"], place if reference["kind"] == "Role" else "", reference["name"])
        if subject in [each["name"] for each in binding["subjects"]]:
            found += [(place, rule) for rule in roles[key]]
    return found


def allows(rules: c.Sequence[tuple[str, Facts]], asked: Request) -> bool:
    """Whether one of the rules grants a request."""
    return any(place in ("", asked.namespace) and _covers(rule, asked) for place, rule in rules)


def _covers(rule: Facts, asked: Request) -> bool:
    def has(key: str, value: str) -> bool:
        return bool({"*", value} & set(rule.get(key, ())))

    named = rule.get("resourceNames")
    return has("verbs", asked.verb) and has("apiGroups", asked.group) and has("resources", asked.resource) and (not named or asked.name in named)


class Enforcing:
    """An API server that asks `server` what it answers to what the rules grant. `asked`: all requests, `refused`: those with 403."""

    def __init__(self, server: c.Callable[..., t.Any], rules: c.Sequence[tuple[str, Facts]]) -> None:
        self.server, self.rules = server, rules
        self.asked: list[Request] = []
        self.refused: list[Request] = []

    def __call__(self, handler: t.Any, method: str, url: str, body: bytes) -> t.Any:
        if url.endswith("/selfsubjectaccessreviews"):
            return self.review(json.loads(body))
        asked = request_of(method, url)
        if asked is not None:
            self.asked.append(asked)
            if not allows(self.rules, asked):
                self.refused.append(asked)
                where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
                said = f'{asked.resource} is forbidden: User "restricted" cannot {asked.verb} resource "{asked.resource}" in API group "{asked.group}" {where}'
                return 403, {"Content-Type": JSON}, json.dumps({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": said})
        return self.server(handler, method, url, body)

    def review(self, body: Facts) -> t.Any:
        """What a SelfSubjectAccessReview says."""
        wanted = body["spec"]["resourceAttributes"]
        asked = Request(*(wanted.get(key, "") for key in ("verb", "group", "resource", "namespace", "name")))
        return 201, {"Content-Type": JSON}, json.dumps({**body, "status": {"allowed": allows(self.rules, asked)}})
