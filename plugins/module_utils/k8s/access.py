# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests about the account at an API server: whether it answers, as which account it authenticates the credentials, and what that account may do."""

from __future__ import annotations

from ..common.objects import Facts, get_path, text
from .client import FIRST_TIMEOUT, Cluster
from .errors import ApiError, ClusterError, not_an_api_server


def reach(cluster: Cluster) -> tuple[str, str]:
    """(version of the API server, name of the account, empty where the API server is too old to return it). Raises ClusterError where it cannot be used."""
    user = _account_name(cluster)
    if user == "system:anonymous":
        raise ClusterError(
            f"the Kubernetes API server {cluster.server} received a request without credentials: give a kubeconfig with a user, or K8S_AUTH_API_KEY"
        )
    version = cluster.get("/version").get("gitVersion")
    if not version:
        raise not_an_api_server(cluster.server, "no version")
    return text(version), user


def allowed(cluster: Cluster, permission: Facts) -> bool:
    """Whether the account has a permission: {verb, group, resource, namespace, name?}. Raises ClusterError."""
    attributes = {name: permission[name] for name in ("verb", "group", "resource", "namespace", "name") if permission.get(name)}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}
    answer = cluster.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body=body)
    return bool(get_path(answer, "status", "allowed"))


def _account_name(cluster: Cluster) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        answer = cluster.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body, timeout=FIRST_TIMEOUT)
    except ApiError as exc:
        if exc.status == 401:
            raise
        return ""
    return text(get_path(answer, "status", "userInfo", "username"))
