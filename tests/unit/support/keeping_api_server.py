# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server that stores applied objects, for plays that deploy one model service in the namespace llm-d."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

from api_discovery import VERBS
from local_servers import JSON

SPACE, NAMESPACE = "/api/v1/namespaces/llm-d", "llm-d"
KINDS = {
    "v1": {
        "Namespace": "namespaces",
        "Secret": "secrets",
        "ServiceAccount": "serviceaccounts",
        "ConfigMap": "configmaps",
        "Service": "services",
        "Pod": "pods",
        "Event": "events",
        "Node": "nodes",
    },
    "apps/v1": {"Deployment": "deployments", "ReplicaSet": "replicasets"},
    "rbac.authorization.k8s.io/v1": {"Role": "roles", "RoleBinding": "rolebindings"},
    "gateway.networking.k8s.io/v1": {"HTTPRoute": "httproutes", "Gateway": "gateways"},
    "inference.networking.k8s.io/v1": {"InferencePool": "inferencepools"},
    "apiextensions.k8s.io/v1": {"CustomResourceDefinition": "customresourcedefinitions"},
}
PREPARED = {
    "/api/v1/nodes/one": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}, "status": {"allocatable": {"cpu": "64", "memory": "256Gi"}}},
    SPACE: {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}, "status": {"phase": "Active"}},
    f"/apis/gateway.networking.k8s.io/v1/namespaces/{NAMESPACE}/gateways/theirs": {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "theirs", "namespace": NAMESPACE},
        "spec": {"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    },
} | {
    f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind}.{group}": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind}.{group}", "annotations": {f"{mark}/bundle-version": version}},
        "spec": {"group": group, "versions": [{"name": "v1", "served": True}]},
    }
    for kind, group, mark, version in (
        ("gateways", "gateway.networking.k8s.io", "gateway.networking.k8s.io", "v1.4.0"),
        ("httproutes", "gateway.networking.k8s.io", "gateway.networking.k8s.io", "v1.4.0"),
        ("inferencepools", "inference.networking.k8s.io", "inference.networking.k8s.io", "v1.3.0"),
    )
}


class KeepingApi:
    """An API server that stores applied objects. Every Deployment has one pod: a ready one with `ready`, else one in CrashLoopBackOff.

    kept: objects by path; refuses: kinds that are refused with a message that contains the object; dry_runs: by kind, status and message of a dry run.
    """

    def __init__(self, refuses=(), ready=False, dry_runs=None):
        self.kept, self.refuses, self.ready, self.dry_runs = {}, refuses, ready, dry_runs or {}

    def answer(self, _handler, method, url, body):
        path, _mark, query = url.partition("?")
        status, content = self.reply(method, path, query, body)
        return status, {"Content-Type": JSON}, json.dumps(content)

    def reply(self, method, path, query, body):
        groups = [version for version in KINDS if "/" in version]
        if path == "/version":
            return 200, {"major": "1", "minor": "34", "gitVersion": "v1.34.4"}
        if path == "/api":
            return 200, {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            entries = [{"groupVersion": version, "version": "v1"} for version in groups]
            return 200, {
                "kind": "APIGroupList",
                "groups": [{"name": entry["groupVersion"].split("/")[0], "versions": [entry], "preferredVersion": entry} for entry in entries],
            }
        version = path.removeprefix("/apis/").removeprefix("/api/")
        if version in KINDS:
            return 200, {
                "kind": "APIResourceList",
                "groupVersion": version,
                "resources": [
                    {"name": name, "singularName": kind.lower(), "namespaced": kind not in ("Namespace", "Node"), "kind": kind, "verbs": VERBS}
                    for kind, name in KINDS[version].items()
                ],
            }
        if path.endswith("selfsubjectaccessreviews"):
            return 201, {"kind": "SelfSubjectAccessReview", "status": {"allowed": True}}
        if method == "PATCH":
            return self.apply(path, query, json.loads(body))
        if method == "DELETE" and path in self.kept:
            item = self.kept[path] if "dryRun" in query else self.kept.pop(path)
            return 200, {"kind": "Status", "status": "Success", "details": {"name": item["metadata"]["name"]}}
        if path in self.kept:
            return 200, self.kept[path]
        if path.rpartition("/")[2] in {name for kinds in KINDS.values() for name in kinds.values()}:
            return 200, {
                "kind": "List",
                "metadata": {},
                "items": [item for key, item in self.kept.items() if key.startswith(f"{path}/") and selected(item, query)],
            }
        if "/log" in path:
            return 200, {}
        return 404, {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}

    def apply(self, path, query, item):
        if item["kind"] in self.refuses:
            return 422, {"kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422, "message": f"Invalid value: {json.dumps(item)}"}
        if "dryRun" in query and item["kind"] in self.dry_runs:
            code, message = self.dry_runs[item["kind"]]
            return code, {"kind": "Status", "status": "Failure", "reason": "NotFound" if code == 404 else "x", "code": code, "message": message}
        managed = [{"manager": "llm_d.inference", "operation": "Apply", "fieldsV1": {f"f:{key}": {} for key in item if key not in ("apiVersion", "kind")}}]
        made = {**item, "metadata": {**item["metadata"], "uid": path, "resourceVersion": "1", "generation": 1, "managedFields": managed}}
        if "dryRun" not in query:
            self.kept[path] = made
            if item["kind"] == "Deployment":
                wanted = item["spec"].get("replicas", 1)
                counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), wanted) if self.ready else {}
                made["status"] = {"observedGeneration": 1, **counts}
                self.pod(made)
            if item["kind"] == "HTTPRoute" and self.ready:
                conditions = [{"type": kind, "status": "True", "observedGeneration": 1, "reason": "x", "message": ""} for kind in ("Accepted", "ResolvedRefs")]
                made["status"] = {"parents": [{"parentRef": item["spec"]["parentRefs"][0], "controllerName": "x", "conditions": conditions}]}
        return 200, made

    def pod(self, owner):
        template, name = owner["spec"]["template"], owner["metadata"]["name"] + "-1"
        replica_set = {"name": name, "namespace": NAMESPACE, "uid": f"set-{name}", "ownerReferences": [{"uid": owner["metadata"]["uid"]}]}
        self.kept[f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets/{name}"] = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": replica_set}
        ended = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
        names = [container["name"] for container in template["spec"]["containers"]]
        metadata = {**template["metadata"], "name": name, "namespace": NAMESPACE, "uid": name, "ownerReferences": [{"uid": f"set-{name}"}]}
        state = {"ready": True, "restartCount": 0, "state": {"running": {}}} if self.ready else {"ready": False, "restartCount": 9, "state": ended}
        status = {"phase": "Running", "containerStatuses": [{"name": each, **state} for each in names]}
        self.kept[f"{SPACE}/pods/{name}"] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"], "status": status}


def empty(_handler, _method, path, _body):
    """The responses of an API server without objects."""
    if path == "/version":
        return 200, {"Content-Type": JSON}, json.dumps({"major": "1", "minor": "34", "gitVersion": "v1.34.4"})
    return 404, {"Content-Type": JSON}, json.dumps({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"})


def selected(item, query):
    """Whether a Pod has the labels of a labelSelector such as a=b,c=d; True for other kinds."""
    wanted = dict(pair.split("=") for pair in parse_qs(query).get("labelSelector", [""])[0].split(",") if "=" in pair)
    return item["kind"] != "Pod" or wanted.items() <= item["metadata"]["labels"].items()
