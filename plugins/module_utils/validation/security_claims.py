# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about the permissions of service accounts and the privileges of pods, from the API server."""

from __future__ import annotations

import collections.abc as c
import time
import typing as t

from ..common.labels import label_selector
from ..common.objects import Facts, dicts, get_path, mapping, text
from ..k8s.errors import ApiError, ClusterError
from .claims import Claim, claim

REVIEWS = "/apis/authorization.k8s.io/v1/namespaces/{}/localsubjectaccessreviews"
# What an endpoint picker must not be permitted to do: (group, resource, subresource, verbs).
FORBIDDEN = (
    ("", "secrets", "", ("get", "list", "watch")),
    ("", "pods", "", ("create", "delete")),
    ("", "pods", "exec", ("create",)),
    ("apps", "deployments", "", ("patch",)),
    ("rbac.authorization.k8s.io", "roles", "", ("create", "escalate")),
)
HOST = ("hostNetwork", "hostPID", "hostIPC")


def needed_permissions(rules: c.Iterable[c.Mapping[str, t.Any]]) -> list[Facts]:
    """The permissions that these rules of a Role grant, as resourceAttributes. Rules with resourceNames are left out. Pure."""
    permissions = []
    for rule in rules:
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                name, _slash, subresource = resource.partition("/")
                permissions += [_permission(group, name, subresource, verb) for verb in rule.get("verbs") or () if not rule.get("resourceNames")]
    return permissions


def forbidden_permissions() -> list[Facts]:
    """The permissions that an endpoint picker must not have. Pure."""
    return [_permission(group, resource, subresource, verb) for group, resource, subresource, verbs in FORBIDDEN for verb in verbs]


def _permission(group: str, resource: str, subresource: str, verb: str) -> Facts:
    return {"group": group, "resource": resource, "verb": verb, **({"subresource": subresource} if subresource else {})}


def permission_text(permission: c.Mapping[str, t.Any]) -> str:
    """A permission as text, such as `create pods/exec`. Pure."""
    return f"{permission['verb']} {permission['resource']}" + (f"/{permission['subresource']}" if permission.get("subresource") else "")


class SecurityCheck:
    """Checks of one namespace. `cluster`: a k8s.client.Cluster; accounts: the namespace of the accounts and their pods, where it differs."""

    def __init__(self, cluster: t.Any, namespace: str, accounts: str | None = None) -> None:
        self._cluster, self._namespace, self._accounts = cluster, namespace, accounts or namespace

    def service(self, service: c.Mapping[str, t.Any]) -> tuple[list[Claim], list[dict[str, str]]]:
        """(claims, not checked) about one model service: {name, account, rules, selectors}."""
        judged: tuple[list[Claim], list[dict[str, str]]] = ([], [])
        for name, check in (("permissions", self._permissions), ("unprivileged", self._pods)):
            start = time.monotonic()
            try:
                judged[0].append({**check(service), "seconds": round(time.monotonic() - start, 3)})
            except ApiError as error:
                if error.status != 403:
                    judged[0].append(claim(f"{service['name']}/{name}", False, str(error), "check the API server"))
                else:
                    judged[1].append({"id": f"{service['name']}/{name}", "why": f"this account has no permission to check it: {error}"})
            except ClusterError as error:
                judged[0].append(claim(f"{service['name']}/{name}", False, str(error), "check the API server"))
        return judged

    def _permissions(self, service: c.Mapping[str, t.Any]) -> Claim:
        needed, forbidden = needed_permissions(service["rules"]), forbidden_permissions()
        answers = self._cluster.parallel(lambda permission: self._may(service["account"], permission), [*needed, *forbidden])
        missing = [permission_text(permission) for permission, allowed in zip(needed, answers[: len(needed)], strict=True) if not allowed]
        excessive = [permission_text(permission) for permission, allowed in zip(forbidden, answers[len(needed) :], strict=True) if allowed]
        account = f"account {self._accounts}/{service['account']}"
        evidence = f"{account} has the {len(needed)} permissions that it needs, and none to {', '.join(map(permission_text, forbidden))}"
        if missing or excessive:
            parts = [f"{account} lacks {', '.join(missing)}" if missing else "", f"{account} may {', '.join(excessive)}" if excessive else ""]
            evidence = "; ".join(filter(None, parts))
        return claim(
            f"{service['name']}/permissions",
            not missing and not excessive,
            evidence,
            "run playbooks/site.yml for missing permissions; for excessive ones, find the RoleBindings and ClusterRoleBindings that name it or its group",
        )

    def _may(self, account: str, permission: Facts) -> bool:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{self._accounts}", "system:authenticated"]
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "LocalSubjectAccessReview",
            "metadata": {"namespace": self._namespace},
            "spec": {
                "user": f"system:serviceaccount:{self._accounts}:{account}",
                "groups": groups,
                "resourceAttributes": {**permission, "namespace": self._namespace},
            },
        }
        return bool(get_path(self._cluster.request("POST", REVIEWS.format(self._namespace), body=review), "status", "allowed"))

    def _pods(self, service: c.Mapping[str, t.Any]) -> Claim:
        pods = [pod for selector in service["selectors"] for pod in self._select(selector)]
        problems = [f"{text(get_path(pod, 'metadata', 'name'))}: {line}" for pod in pods for line in privileges(pod)]
        success = f"none of {len(pods)} pods has a privileged container, a container that may escalate privileges, or a host namespace"
        evidence = "; ".join(problems[:4]) or (success if pods else "no pod exists")
        return claim(
            f"{service['name']}/unprivileged",
            bool(pods) and not problems,
            evidence,
            "run playbooks/site.yml; if it persists, find the admission webhook or patch that changes pods",
        )

    def _select(self, selector: c.Mapping[str, str]) -> list[Facts]:
        query = {"labelSelector": label_selector(selector)}
        namespaces = dict.fromkeys((self._namespace, self._accounts))
        return [pod for namespace in namespaces for pod in dicts(self._cluster.get(f"/api/v1/namespaces/{namespace}/pods", query).get("items"))]


def privileges(pod: c.Mapping[str, t.Any]) -> list[str]:
    """One line for each way in which a pod has access to its node. Pure."""
    spec = mapping(pod.get("spec"))
    findings = [name for name in HOST if spec.get(name)]
    for container in [*dicts(spec.get("initContainers")), *dicts(spec.get("containers"))]:
        context = mapping(container.get("securityContext"))
        if context.get("privileged"):
            findings.append(f"container {container.get('name')} is privileged")
        elif context.get("allowPrivilegeEscalation") is not False:
            findings.append(f"container {container.get('name')} may escalate privileges")
    return findings
