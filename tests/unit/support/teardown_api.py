# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server with a stack and Envoy Gateway's controller, for plays that remove them."""

from __future__ import annotations

import base64
import json
import urllib.parse

import yaml

MANAGED, PART = "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of"
GATEWAY_API = "gateway.networking.k8s.io"
ROOT = f"/apis/{GATEWAY_API}/v1"
NAMESPACES, CONTROLLER = "/api/v1/namespaces", "envoy-gateway-system"
RECORD = f"{NAMESPACES}/{CONTROLLER}/secrets/sh.helm.release.v1.envoy-gateway.v1"
RBAC, CERTGEN = "/apis/rbac.authorization.k8s.io/v1", "envoy-gateway-gateway-helm-certgen"
HOOKS = {f"{NAMESPACES}/{CONTROLLER}/serviceaccounts/{CERTGEN}", f"{RBAC}/clusterroles/{CERTGEN}:{CONTROLLER}"}  # hooks that Helm does not delete
KINDS = {
    "/api/v1": [
        ("namespaces", "Namespace", False),
        ("secrets", "Secret", True),
        ("pods", "Pod", True),
        ("configmaps", "ConfigMap", True),
        ("services", "Service", True),
        ("serviceaccounts", "ServiceAccount", True),
        ("persistentvolumeclaims", "PersistentVolumeClaim", True),
    ],
    ROOT: [("gateways", "Gateway", True), ("gatewayclasses", "GatewayClass", False)],
    "/apis/apps/v1": [("deployments", "Deployment", True)],
    RBAC: [("clusterroles", "ClusterRole", False)],
}


def labels(instance):
    return {MANAGED: "llm_d.inference", PART: instance}


def typed(path, item):
    """An object as the API server returns it by name, with kind and API version."""
    root = next(root for root in KINDS if path.startswith(f"{root}/"))
    kind = next(kind for name, kind, _place in KINDS[root] if path.split("/")[-2] == name)
    return {**item, "kind": kind, "apiVersion": root.removeprefix("/apis/").removeprefix("/api/")}


def chosen(item_labels, selector):
    """Whether labels match a selector of equalities, inequalities, and keys that must exist or must not."""
    for part in filter(None, selector.split(",")):
        if part.startswith("!"):
            if part[1:] in item_labels:
                return False
            continue
        key, unequal, value = part.partition("!=") if "!=" in part else part.partition("=")
        if (item_labels.get(key) == value if unequal == "!=" else item_labels.get(key) != value) if unequal else key not in item_labels:
            return False
    return True


def request_of(method, plain):
    """(verb, API group, resource, namespace, name) of a request, as RBAC checks it; None if every account may send it."""
    parts = plain.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:]) if parts[0] == "apis" and len(parts) > 2 else ("", [])
    if not rest or rest[0].startswith("selfsubject"):
        return None
    namespace = rest[1] if rest[0] == "namespaces" and len(rest) > 1 else ""
    resource, *name = rest[2:] if namespace and len(rest) > 2 else rest
    verb = {"GET": "get" if name else "list", "POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}[method]
    return verb, group, resource, namespace, (name or [""])[0]


def grants(place, rule, verb, group, resource, namespace, name):
    """Whether a rule of a Role in a namespace, or of a ClusterRole, grants a request."""
    has = ((verb, "verbs"), (group, "apiGroups"), (resource, "resources"))
    return place in ("", namespace) and name in rule.get("resourceNames", [name]) and all({value, "*"} & set(rule[key]) for value, key in has)


class Api:
    """An API server that stores objects by path until they are deleted."""

    def __init__(self):
        self.rules, self.refused, self.answers = None, [], {}  # rules: granted (namespace, rule), None for no RBAC; answers: status by path
        release = {"info": {"status": "deployed"}, "chart": {"metadata": {"version": "1.9.1"}}, "config": {}}
        data = base64.b64encode(base64.b64encode(json.dumps(release).encode())).decode()
        self.kept = {
            f"{NAMESPACES}/llm-d": {"metadata": {"name": "llm-d", "labels": labels("llm-d")}},
            f"{NAMESPACES}/{CONTROLLER}": {"metadata": {"name": CONTROLLER, "labels": labels("llm-d")}},
            f"{ROOT}/gatewayclasses/envoy-gateway": {
                "metadata": {"name": "envoy-gateway", "labels": labels("llm-d")},
                "spec": {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"},
            },
            RECORD: {
                "metadata": {"name": RECORD.rpartition("/")[2], "labels": {"owner": "helm", "name": "envoy-gateway", "status": "deployed", "version": "1"}},
                "data": {"release": data},
            },
            **{
                path: {
                    "metadata": {
                        "name": path.rpartition("/")[2],
                        "labels": {MANAGED: "Helm", "app.kubernetes.io/instance": "envoy-gateway"},
                        **({"namespace": CONTROLLER} if path.startswith(NAMESPACES) else {}),
                    }
                }
                for path in HOOKS
            },
        }

    def answer(self, _handler, method, path, body):
        plain, _mark, query = path.partition("?")
        status, content = self.refusal(method, plain) or (self.applied(plain, query, body) if method == "PATCH" else self.reply(method, plain, query))
        return status, {"Content-Type": "application/json"}, json.dumps(content)

    def refusal(self, method, plain):
        """The answer to a request that is refused; None where it is not."""
        if plain in self.answers:
            return self.answers[plain], {"kind": "Status", "status": "Failure", "code": self.answers[plain], "message": "not now"}
        request = request_of(method, plain) if self.rules is not None else None
        if request is None or any(grants(place, rule, *request) for place, rule in self.rules):
            return None
        self.refused.append(request)
        return 403, {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": f"{request} is forbidden"}

    def applied(self, plain, query, body):
        """The response to a server-side apply."""
        item = yaml.safe_load(body)
        if "dryRun" not in query:
            self.kept[plain] = item
        return 200, item

    def bare(self):
        """Removes the controller and its GatewayClass."""
        self.kept = {path: item for path, item in self.kept.items() if CONTROLLER not in path and "gatewayclasses" not in path}

    def reply(self, method, plain, query):
        if plain == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
            return 201, {"kind": "SelfSubjectAccessReview", "status": {"allowed": True}}
        if plain == "/version":
            return 200, {"major": "1", "minor": "34", "gitVersion": "v1.34.4"}
        if plain == "/api":
            return 200, {"kind": "APIVersions", "versions": ["v1"]}
        if plain == "/apis":
            served = dict(root.split("/")[2:4] for root in KINDS if root.startswith("/apis/"))
            versions = {name: {"groupVersion": f"{name}/{version}", "version": version} for name, version in served.items()}
            groups = [{"name": name, "versions": [version], "preferredVersion": version} for name, version in versions.items()]
            return 200, {"kind": "APIGroupList", "groups": groups}
        if plain in KINDS:
            verbs = ["create", "delete", "get", "list", "patch"]
            kinds = [{"name": name, "singularName": name[:-1], "kind": kind, "namespaced": place, "verbs": verbs} for name, kind, place in KINDS[plain]]
            return 200, {"kind": "APIResourceList", "groupVersion": plain.removeprefix("/apis/").removeprefix("/api/"), "resources": kinds}
        if plain in self.kept:
            if method == "DELETE" and "dryRun" in query:
                return 200, {"kind": "Status", "status": "Success"}
            if method == "DELETE":
                return 200, {"kind": "Status", "status": "Success", "was": bool(self.kept.pop(plain))}
            return 200, typed(plain, self.kept[plain])
        if plain.startswith("/api") and plain.rpartition("/")[2] in {name for kinds in KINDS.values() for name, _kind, _place in kinds}:
            room, _slash, plural = plain.rpartition("/")
            items = [item for path, item in self.kept.items() if path.startswith(f"{room}/") and path.rpartition("/")[0].endswith(f"/{plural}")]
            selector = urllib.parse.parse_qs(query).get("labelSelector", [""])[0]
            return 200, {"kind": "List", "items": [item for item in items if chosen(item["metadata"].get("labels", {}), selector)]}
        return 404, {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}
