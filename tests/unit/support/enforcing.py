# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RBAC in front of an API server of the tests: requests that Roles and bindings do not grant are refused with 403, and recorded."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import json
import re
import typing as t
from urllib.parse import parse_qs

from local_servers import JSON

Facts = dict[str, t.Any]
# Every account may discover the API, and review its own permissions.
OPEN = re.compile(r"/(version|api|apis|openapi/.*|api/v1|apis/[^/]+(/v[^/]+)?)")
REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")
VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
PATH = re.compile(
    r"/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?/(?P<resource>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<part>[^/]+).*)?)?"
)


@dataclasses.dataclass(frozen=True)
class Request:
    """A request as RBAC checks it. resource: with the subresource, such as pods/log; namespace: empty for all namespaces, or for a kind without one."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


def request_of(method: str, url: str) -> Request | None:
    """A request as RBAC checks it; None if every account may send it."""
    path, _mark, query = url.partition("?")
    if OPEN.fullmatch(path):
        return None
    match = re.fullmatch(r"/api/v1/namespaces/(?P<name>[^/]+)", path)
    if match:  # the namespace of a request for a Namespace is its own
        return Request(VERBS[method], "", "namespaces", match["name"], match["name"])
    match = PATH.fullmatch(path)
    assert match, url
    group, resource, name = match["group"] or "", match["resource"], match["name"] or ""
    if resource in REVIEWS:
        return None
    verb = VERBS[method]
    if not name and method == "GET":
        verb = "watch" if parse_qs(query).get("watch") else "list"
    if not name and method == "DELETE":
        verb = "deletecollection"
    return Request(verb, group, f"{resource}/{match['part']}" if match["part"] else resource, match["namespace"] or "", name)


def granted(objects: c.Sequence[Facts], subject: str) -> list[tuple[str, Facts]]:
    """(namespace, rule) of each rule that bindings grant to a subject of this name; an empty namespace for all namespaces."""
    roles = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each["rules"] for each in objects if "rules" in each}
    grants = []
    for binding in (each for each in objects if each["kind"] in ("RoleBinding", "ClusterRoleBinding")):
        place = binding["metadata"].get("namespace", "") if binding["kind"] == "RoleBinding" else ""
        reference = binding["roleRef"]
        key = (reference["kind"], place if reference["kind"] == "Role" else "", reference["name"])
        if subject in [each["name"] for each in binding["subjects"]]:
            grants += [(place, rule) for rule in roles[key]]
    return grants


def allows(rules: c.Sequence[tuple[str, Facts]], request: Request) -> bool:
    """Whether one of the rules grants a request."""
    return any(place in ("", request.namespace) and _covers(rule, request) for place, rule in rules)


def _covers(rule: Facts, request: Request) -> bool:
    def has(key: str, value: str) -> bool:
        return bool({"*", value} & set(rule.get(key, ())))

    named = rule.get("resourceNames")
    return has("verbs", request.verb) and has("apiGroups", request.group) and has("resources", request.resource) and (not named or request.name in named)


class Enforcing:
    """An API server that passes requests that the rules grant to `server`. `requests`: all requests that RBAC checks; `refused`: those with 403."""

    def __init__(self, server: c.Callable[..., t.Any], rules: c.Sequence[tuple[str, Facts]]) -> None:
        self.server, self.rules = server, rules
        self.requests: list[Request] = []
        self.refused: list[Request] = []

    def __call__(self, handler: t.Any, method: str, url: str, body: bytes) -> t.Any:
        if url.endswith("/selfsubjectaccessreviews"):
            return self.review(json.loads(body))
        request = request_of(method, url)
        if request is not None:
            self.requests.append(request)
            if not allows(self.rules, request):
                self.refused.append(request)
                where = f'in the namespace "{request.namespace}"' if request.namespace else "at the cluster scope"
                denied = f'User "restricted" cannot {request.verb} resource "{request.resource}" in API group "{request.group}" {where}'
                message = f"{request.resource} is forbidden: {denied}"
                return 403, {"Content-Type": JSON}, json.dumps({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": message})
        return self.server(handler, method, url, body)

    def review(self, body: Facts) -> t.Any:
        """The response to a SelfSubjectAccessReview."""
        attributes = body["spec"]["resourceAttributes"]
        request = Request(*(attributes.get(key, "") for key in ("verb", "group", "resource", "namespace", "name")))
        return 201, {"Content-Type": JSON}, json.dumps({**body, "status": {"allowed": allows(self.rules, request)}})
