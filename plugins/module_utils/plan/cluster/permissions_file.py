# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The permissions of a deployment as a file to apply: the account, Roles with its permissions, and their bindings. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ...common.objects import Facts
from ...common.yaml_text import to_yaml
from ...schema.fields import Field, Problem, complete
from .looks import optional_permissions

PREFIX = "list_permissions_"
_RBAC = "rbac.authorization.k8s.io"
_USER = Field("str", "An existing user to bind the Roles to, as the API server knows it.", example="jane")
OPTIONS: dict[str, Field] = {
    "state": Field("str", "Whether the file is there.", default="present", choices=("present", "absent")),
    "account": Field("str", "Name of the ServiceAccount.", format="dns_subdomain", example="deployer"),
    "account_namespace": Field("str", "Its namespace. If omitted, that of the deployment.", format="dns_label", example="ci"),
    "create_account": Field("bool", "Whether the file has the ServiceAccount; false for one that exists.", default=True),
    "token": Field("bool", "Whether the file has a Secret that gets a token of the ServiceAccount, which does not expire.", default=False),
    "user": _USER,
    "group": Field("str", "An existing group to bind the Roles to.", example="ml-platform"),
}
_FLAGS = {"true": True, "false": False}


def chosen(given: c.Mapping[str, t.Any]) -> tuple[Facts, list[Problem]]:
    """(the options with their defaults, mistakes in them). given: {name as users write it: value, possibly a string; an empty one is not set}."""
    own = {str(name).removeprefix(PREFIX): value for name, value in given.items() if value not in ("", None)}
    own = {name: _FLAGS.get(value.lower(), value) if isinstance(value, str) and _is_flag(name) else value for name, value in own.items()}
    options, problems = complete(own, Field("dict", "", options=OPTIONS), "")
    problems = [Problem(f"{PREFIX}{problem.path}", problem.value, problem.reason, problem.fix) for problem in problems]
    existing = [name for name in ("user", "group") if own.get(name)]
    conflicts = [name for name in (*existing[1:], "account", "account_namespace", "token") if existing and own.get(name)]
    why = f"is of a ServiceAccount, and {PREFIX}{existing[0]} names someone else." if existing else ""
    return options, problems + [Problem(f"{PREFIX}{name}", own[name], why, f"Leave it out, or {PREFIX}{existing[0]}.") for name in conflicts]


def _is_flag(name: str) -> bool:
    return name in OPTIONS and OPTIONS[name].type == "bool"


def permissions_file(planned: Facts, options: Facts) -> Facts:
    """{name, content, lines: instructions}. options: as `chosen` returns them."""
    made = objects(planned, options)
    return {"name": f"permissions-{planned['scope']}.yml", "content": _text(planned, made), "lines": _lines(planned, made, options)}


def objects(planned: Facts, options: Facts) -> list[Facts]:
    """The objects of the file, in the order in which they are applied."""
    permissions = [*planned["preflight"]["permissions"], *planned["removal"]["permissions"], *optional_permissions(planned)]
    subject = _subject(planned, options)
    account_objects = _account(subject, options) if subject["kind"] == "ServiceAccount" else []
    role_objects = roles(planned, permissions)
    return [*account_objects, *role_objects, *(_binding(planned, role, subject) for role in role_objects)]


def roles(planned: Facts, permissions: c.Sequence[Facts]) -> list[Facts]:
    """A Role for each namespace of the permissions, and a ClusterRole for those without one."""
    places: dict[str, list[Facts]] = {}
    for permission in permissions:
        places.setdefault(permission.get("namespace") or "", []).append(permission)
    return [_role(planned, place, of_place) for place, of_place in places.items()]


def account_name(planned: Facts) -> str:
    """The name of the ServiceAccount, and of the Role in its namespace."""
    return f"{planned['instance']}-{'administrator' if planned['scope'] == 'prerequisites' else 'deployer'}"


def _role(planned: Facts, namespace: str, permissions: c.Sequence[Facts]) -> Facts:
    # In other namespaces other deployments have Roles too, even such with the same name.
    name = account_name(planned) if namespace == planned["namespace"] else f"{planned['namespace']}:{account_name(planned)}"
    verbs: dict[tuple[str, str, str], list[str]] = {}
    for permission in permissions:
        held = verbs.setdefault((permission.get("group", ""), permission.get("name", ""), permission["resource"]), [])
        if permission["verb"] not in held:
            held.append(permission["verb"])
    resources: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (group, named, resource), rule_verbs in verbs.items():
        resources.setdefault((group, named, tuple(rule_verbs)), []).append(resource)
    groups: dict[tuple[tuple[str, ...], str, tuple[str, ...]], list[str]] = {}
    for (group, named, held_verbs), rule_resources in resources.items():
        groups.setdefault((tuple(rule_resources), named, held_verbs), []).append(group)
    kind, metadata = ("Role", {"name": name, "namespace": namespace}) if namespace else ("ClusterRole", {"name": name})
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": [_rule(where, *what) for what, where in groups.items()]}


def _rule(groups: list[str], resources: tuple[str, ...], name: str, verbs: tuple[str, ...]) -> Facts:
    named = {"resourceNames": [name]} if name else {}
    return {"apiGroups": ["*"] if "*" in groups else groups, "resources": list(resources), **named, "verbs": list(verbs)}


def _binding(planned: Facts, role: Facts, subject: Facts) -> Facts:
    reference = {"apiGroup": _RBAC, "kind": role["kind"], "name": role["metadata"]["name"]}
    default = {"kind": "ServiceAccount", "name": account_name(planned), "namespace": planned["namespace"]}
    # Each subject has a binding of its own, so that a file for one subject does not replace the binding of another.
    suffix = "" if subject == default else f":{subject['kind'].lower()}:{subject.get('namespace', '')}:{subject['name']}".replace("::", ":")
    metadata = {**role["metadata"], "name": role["metadata"]["name"] + re.sub(r"[/%]", "-", suffix)}
    return {"apiVersion": f"{_RBAC}/v1", "kind": f"{role['kind']}Binding", "metadata": metadata, "roleRef": reference, "subjects": [subject]}


def _subject(planned: Facts, options: Facts) -> Facts:
    """The subject to which the Roles are bound."""
    for kind in ("user", "group"):
        if options[kind]:
            return {"kind": kind.capitalize(), "apiGroup": _RBAC, "name": options[kind]}
    namespace = options["account_namespace"] or planned["namespace"]
    return {"kind": "ServiceAccount", "name": options["account"] or account_name(planned), "namespace": namespace}


def _account(subject: Facts, options: Facts) -> list[Facts]:
    """The ServiceAccount and the Secret with its token, as far as the options request them."""
    metadata = {"name": subject["name"], "namespace": subject["namespace"]}
    token = {**metadata, "name": token_name(subject["name"]), "annotations": {"kubernetes.io/service-account.name": subject["name"]}}
    manifests = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}] if options["create_account"] else []
    return manifests + ([{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": token}] if options["token"] else [])


def token_name(account: str) -> str:
    """The name of the Secret with the token of an account."""
    return f"{account}-token"


def _text(planned: Facts, made: list[Facts]) -> str:
    deployment = f"llm_d_instance {planned['instance']} in namespace {planned['namespace']}, llm_d_scope {planned['scope']}"
    head = (
        f"# The permissions that deploying and looking at {deployment} needs.\n# Made by playbooks/list_permissions.yml; kubectl apply -f takes it as it is.\n"
    )
    return head + "".join(f"---\n{to_yaml(item)}" for item in made)


def _lines(planned: Facts, made: list[Facts], options: Facts) -> list[str]:
    places = sorted({item["metadata"]["namespace"] for item in made if "namespace" in item["metadata"]})
    subject = _subject(planned, options)
    place = f"{subject['namespace']}/" if "namespace" in subject else ""
    lines = [f"for: {subject['kind']} {place}{subject['name']}", f"namespaces that must exist (kubectl create namespace NAME): {', '.join(places)}"]
    if subject["kind"] != "ServiceAccount":
        return lines
    if options["token"]:
        secret = f"kubectl get secret {token_name(subject['name'])} --namespace {subject['namespace']}"
        return [*lines, f"its token: {secret} --output 'go-template={{{{.data.token | base64decode}}}}'"]
    return [*lines, f"a token that expires: kubectl create token {subject['name']} --namespace {subject['namespace']}"]
