# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy stack as an API server returns it: the output of the roles' templates for a plan, with statuses recorded from a real cluster."""

from __future__ import annotations

import copy
import json
import re
import typing as t
import urllib.parse
from pathlib import Path

from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.snapshot import Snapshot
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render
from engine_servers import ApiServer
from recorded import recorded

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = [ROOT / "roles/gaie_scheduler/templates/scheduler.yml.j2", ROOT / "roles/model_service/templates/servers.yml.j2"]
NAMESPACE, CONTROLLER = "llm-d", "envoy-gateway-system"
CRDS = ("gateways.gateway.networking.k8s.io", "inferencepools.inference.networking.k8s.io", "envoyproxies.gateway.envoyproxy.io")
READY = [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}, {"type": "Initialized", "status": "True"}]
EPP_METRICS = """# TYPE inference_extension_scheduler_attempts_total counter
inference_extension_scheduler_attempts_total{status="success"} 20
inference_objective_request_total{model_name="llm-d/simulated-8b"} 20
inference_pool_ready_pods{name="sim"} 4
"""


def planned(gateway: dict[str, t.Any] | None = None, scheduler_namespace: str | None = None, **service: t.Any) -> dict[str, t.Any]:
    """The plan of a file with one simulated service."""
    wanted = {"name": "sim", "model": {"served_name": "llm-d/simulated-8b"}, "replicas": 2, "engine": {"type": "simulator", "block_size": 16}, **service}
    return plan(
        {
            "llm_d_release": "scheduler-0.7",
            "llm_d_scheduler_namespace": scheduler_namespace,
            "llm_d_charts": {"envoy_gateway": "/charts"},
            "llm_d_gateway": {"service_type": "ClusterIP", **(gateway or {})},
            "llm_d_model_services": [wanted],
        }
    )


def pod_of(deployment: dict[str, t.Any], number: int) -> dict[str, t.Any]:
    """A ready pod of a Deployment."""
    template, name = deployment["spec"]["template"], f"{deployment['metadata']['name']}-744dfd47c8-4bn{number}t"
    spec = copy.deepcopy(template["spec"])
    states = [{"name": part["name"], "ready": True, "restartCount": 0, "image": part.get("image", ""), "state": {"running": {}}} for part in spec["containers"]]
    owner = {
        "kind": "ReplicaSet",
        "name": f"{deployment['metadata']['name']}-744dfd47c8",
        "uid": f"uid-set-{deployment['metadata']['name']}",
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": deployment["metadata"]["namespace"],
            "uid": f"uid-{name}",
            "labels": dict(template["metadata"]["labels"]),
            "ownerReferences": [owner],
        },
        "spec": spec,
        "status": {"phase": "Running", "conditions": copy.deepcopy(READY), "containerStatuses": states},
    }


def set_of(deployment: dict[str, t.Any]) -> dict[str, t.Any]:
    """The ReplicaSet of a Deployment."""
    name, count = deployment["metadata"]["name"], deployment["spec"]["replicas"]
    metadata = {
        "name": f"{name}-744dfd47c8",
        "namespace": deployment["metadata"]["namespace"],
        "uid": f"uid-set-{name}",
        "labels": dict(deployment["spec"]["template"]["metadata"]["labels"]),
    }
    return {"kind": "ReplicaSet", "metadata": metadata, "spec": {"replicas": count}, "status": {"replicas": count, "readyReplicas": count}}


def healthy(made: dict[str, t.Any] | None = None) -> Snapshot:
    """A snapshot of a healthy stack."""
    made = made or planned()
    items = [item for template in TEMPLATES for item in render(template, made)]
    items += [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "envoy-gateway", "namespace": CONTROLLER},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": "eg"}},
                "template": {"metadata": {"labels": {"app": "eg"}}, "spec": {"containers": [{"name": "eg"}]}},
            },
        }
    ]
    items += [
        recorded("gateway"),
        recorded("gatewayclass"),
        {"kind": "Namespace", "metadata": {"name": CONTROLLER}, "status": {"phase": "Active"}},
        recorded("namespace"),
        *({"kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}} for name in {made["scheduler_namespace"]} - {made["namespace"]}),
        {"kind": "Node", "metadata": {"name": "local", "labels": {}}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}},
    ]
    objects: dict[str, list[dict]] = {kind: [] for kind in ("Pod", "Event", "NetworkPolicy", "ReferenceGrant", "ResourceQuota", "ReplicaSet", "EnvoyProxy")}
    for item in items:
        objects.setdefault(item["kind"], []).append(_with_status(item))
    for deployment in objects["Deployment"]:
        objects["Pod"] += [pod_of(deployment, number) for number in range(deployment["spec"]["replicas"])]
        objects["ReplicaSet"].append(set_of(deployment))
    labels = {"gateway.envoyproxy.io/owning-gateway-name": "llm-d-gateway", "gateway.envoyproxy.io/owning-gateway-namespace": NAMESPACE}
    objects["Pod"].append(
        {
            "kind": "Pod",
            "metadata": {"name": "envoy-llm-d-gateway-7d9-x2x", "namespace": CONTROLLER, "uid": "uid-proxy", "labels": labels},
            "spec": {"containers": [{"name": "envoy", "image": "envoyproxy/envoy:distroless-v1.39.1", "ports": [{"containerPort": 10080}]}]},
            "status": {"phase": "Running", "conditions": copy.deepcopy(READY), "containerStatuses": [{"name": "envoy", "ready": True, "restartCount": 0}]},
        }
    )
    snap = Snapshot(made, objects, crds={name: {"served": ["v1"], "deleting": False, "established": True} for name in CRDS})
    snap.servers = [server(pod["metadata"]["name"]) for pod in objects["Pod"] if "sim-decode" in pod["metadata"]["name"]]
    snap.answers = [{"service": "sim", "url": "http://10.216.0.161", "status": 200, "body": "{}", "ok": True, "evidence": "200", "remedy": "", "picked": True}]
    snap.metrics = {"sim": {"status": 200, "text": EPP_METRICS}}
    return snap


def _with_status(item: dict[str, t.Any]) -> dict[str, t.Any]:
    """The object with the status that its controller writes, as recorded on the local cluster."""
    item.setdefault("metadata", {}).setdefault("uid", f"uid-{item['kind']}-{item['metadata'].get('name')}")
    item["metadata"].setdefault("generation", 1)
    recording = {"HTTPRoute": "httproute", "EnvoyExtensionPolicy": "envoyextensionpolicy", "BackendTrafficPolicy": "backendtrafficpolicy"}.get(item["kind"])
    if recording:
        item["status"] = recorded(recording)["status"]
    elif item["kind"] == "Deployment":
        count = item["spec"].setdefault("replicas", 2)  # an autoscaler sets them where the definition does not
        item["status"] = {"observedGeneration": 1, "replicas": count, "readyReplicas": count, "availableReplicas": count, "updatedReplicas": count}
    return item


def server(pod: str, **fields: t.Any) -> dict[str, t.Any]:
    """A server as inference.report.server_facts returns it, with its service."""
    names = ("health", "models", "completions", "completions_streamed", "metrics")
    metrics = {
        "waiting": ("vllm:num_requests_waiting", 0.0),
        "running": ("vllm:num_requests_running", 0.0),
        "kv_cache": ("vllm:kv_cache_usage_perc", 0.0),
        "block_size": ("vllm:cache_config_info", 16.0),
        "blocks": ("vllm:cache_config_info", 1024.0),
    }
    return {
        "service": "sim",
        "server": f"Pod llm-d/{pod}",
        "ready": True,
        "healthy": True,
        "level": "metrics",
        "engine": "simulator",
        "version": None,
        "notes": [],
        "models": [{"id": "llm-d/simulated-8b", "max_model_len": 32768}],
        "metrics": {name: {"name": metric, "value": value} for name, (metric, value) in metrics.items()},
        "checks": [{"name": name, "ok": True, "evidence": "", "ms": 3.0, "remedy": "", "kind": ""} for name in names],
        **fields,
    }


def broken_server(snap: Snapshot, index: int, check: str, kind: str, evidence: str, level: str = "ready") -> None:
    """Makes one server of a snapshot fail at one check."""
    entry = snap.servers[index]
    entry["checks"] = [{"name": check, "ok": False, "evidence": evidence, "ms": 5000.0, "remedy": "look at its log", "kind": kind}]
    entry.update(healthy=False, level=level)


PLURALS = {
    "v1": ("pods", "services", "events", "persistentvolumeclaims", "resourcequotas", "nodes", "namespaces", "secrets", "configmaps"),
    "apps/v1": ("deployments", "replicasets"),
    "networking.k8s.io/v1": ("networkpolicies",),
    "autoscaling/v2": ("horizontalpodautoscalers",),
    "gateway.networking.k8s.io/v1": ("httproutes", "gateways", "gatewayclasses"),
    "gateway.networking.k8s.io/v1beta1": ("referencegrants",),
    "gateway.envoyproxy.io/v1alpha1": ("envoyextensionpolicies", "backendtrafficpolicies", "envoyproxies"),
    "inference.networking.k8s.io/v1": ("inferencepools",),
}
KINDS = {
    "pods": "Pod",
    "services": "Service",
    "events": "Event",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "resourcequotas": "ResourceQuota",
    "nodes": "Node",
    "namespaces": "Namespace",
    "secrets": "Secret",
    "configmaps": "ConfigMap",
    "deployments": "Deployment",
    "replicasets": "ReplicaSet",
    "networkpolicies": "NetworkPolicy",
    "horizontalpodautoscalers": "HorizontalPodAutoscaler",
    "httproutes": "HTTPRoute",
    "gateways": "Gateway",
    "gatewayclasses": "GatewayClass",
    "referencegrants": "ReferenceGrant",
    "envoyextensionpolicies": "EnvoyExtensionPolicy",
    "backendtrafficpolicies": "BackendTrafficPolicy",
    "envoyproxies": "EnvoyProxy",
    "inferencepools": "InferencePool",
}
CLUSTER_WIDE = ("nodes", "namespaces", "gatewayclasses")


def plural(kind: str) -> str:
    """The name of a kind in paths."""
    return next((name for name, known in KINDS.items() if known == kind), kind.lower() + "s")


def _namespaced(plural: str) -> bool:
    return plural not in CLUSTER_WIDE and not plural.endswith("webhookconfigurations")


class StackServer(ApiServer):
    """An API server with the objects of a snapshot, which proxies to the servers of pods with the annotation test/url.

    without: API versions that it does not serve; refuses: kinds that may not be listed, or `in all namespaces`: no list of all namespaces.
    """

    def __init__(
        self,
        snap: Snapshot,
        logs: dict[str, str] | None = None,
        without: t.Sequence[str] = (),
        refuses: t.Sequence[str] = (),
        planned: t.Sequence[dict[str, t.Any]] = (),
    ) -> None:
        """planned: objects as planned, in addition to those of the snapshot."""
        super().__init__(snap.of("Pod"), logs=logs)
        self.snap, self.without, self.refuses, self.methods = snap, without, refuses, set()
        self.planned = {(plural(obj["kind"]), obj["metadata"]["name"]): obj for obj in planned}
        self.requests: list[str] = []

    def __call__(self, handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        if "/proxy/" not in path:
            self.methods.add(method)
        self.requests.append(path)
        path, _mark, query = path.partition("?")
        if (answer := self.of_others(path, urllib.parse.parse_qs(query))) is not None:
            return answer
        if path == "/version":
            return self.json({"gitVersion": "v1.34.2"})
        if path.startswith("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"):
            facts = self.snap.crds.get(path.rpartition("/")[2])
            made = facts and {
                "spec": {"versions": [{"name": name, "served": True} for name in facts["served"]]},
                "status": {"conditions": [{"type": "Established", "status": "True"}]},
                "metadata": {"name": path.rpartition("/")[2]},
            }
            return self.json(made) if made else self.status(404, "NotFound", "not found")
        if (tuple(path.split("/")[-2:])) in self.planned:
            return self.json(self.planned[path.split("/")[-2], path.split("/")[-1]])
        group = path.removeprefix("/apis/") if path.startswith("/apis/") else path.removeprefix("/api/")
        kinds = {obj["kind"] for obj in self.planned.values() if obj["apiVersion"] == group} - {KINDS[name] for name in PLURALS.get(group, ())}
        if kinds:
            more = [{"name": plural(kind), "kind": kind, "namespaced": True} for kind in sorted(kinds)]
            return self.json({"resources": [*more, *({"name": name, "kind": KINDS[name], "namespaced": _namespaced(name)} for name in PLURALS.get(group, ()))]})
        if group in PLURALS:
            served = [] if group in self.without else PLURALS[group]
            return self.json({"resources": [{"name": name, "kind": KINDS[name], "namespaced": name not in CLUSTER_WIDE} for name in served]})
        match = re.fullmatch(r"/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?", path)
        if match and match.group(2) in KINDS:
            return self.listed(*match.groups(), urllib.parse.parse_qs(query))
        return super().__call__(handler, method, path + ("?" + query if query else ""), body)

    def of_others(self, path: str, query: dict[str, list[str]]) -> t.Any:
        """The response for objects of others in the snapshot: API groups, kinds, lists, endpoints of their Services; None for other paths."""
        versions: dict[str, dict[str, str]] = {
            version: {name: KINDS[name] for name in plurals} for version, plurals in PLURALS.items() if "/" in version and version not in self.without
        }
        for obj in self.planned.values():
            if "/" in obj["apiVersion"] and obj["apiVersion"] not in self.without:
                versions.setdefault(obj["apiVersion"], {})[plural(obj["kind"])] = obj["kind"]
        for obj in self.snap.others:
            versions.setdefault(obj["apiVersion"], {})[re.sub("y$", "ie", obj["kind"].lower()) + "s"] = obj["kind"]
        if path == "/apis":
            names = dict.fromkeys(version.partition("/")[0] for version in versions)
            entries = [{"groupVersion": version, "version": version.partition("/")[2]} for version in versions]
            by_group = {name: [entry for entry in entries if entry["groupVersion"].partition("/")[0] == name] for name in names}
            return self.json({"groups": [{"name": name, "versions": served, "preferredVersion": served[0]} for name, served in by_group.items()]})
        if path.removeprefix("/apis/") in versions:
            kinds = versions[path.removeprefix("/apis/")].items()
            return self.json({"resources": [{"name": name, "kind": kind, "namespaced": _namespaced(name), "verbs": ["list"]} for name, kind in kinds]})
        if match := re.fullmatch(r"/apis/discovery.k8s.io/v1/namespaces/([^/]+)/endpointslices", path):
            names = [key.partition("/")[2] for key in self.snap.endpoints if key.startswith(match.group(1) + "/")]
            wanted = query["labelSelector"][0].partition("=")[2]
            count = self.snap.endpoints[f"{match.group(1)}/{wanted}"] if wanted in names else 0
            return self.json({"items": [{"endpoints": [{"conditions": {"ready": number < count}} for number in range(2)]}]})
        match = re.fullmatch(r"/apis/([^/]+/[^/]+)(?:/namespaces/([^/]+))?/([a-z]+)", path)
        kind = versions.get(match.group(1), {}).get(match.group(3)) if match else None
        if kind is None or match.group(3) in KINDS:
            return None
        if kind in self.refuses or ("in all namespaces" in self.refuses and not match.group(2)):
            return self.status(403, "Forbidden", f"{kind} is forbidden")
        items = [obj for obj in self.snap.others if obj["kind"] == kind and match.group(2) in (None, obj["metadata"].get("namespace"))]
        shown = [{key: value for key, value in obj.items() if key not in ("apiVersion", "kind")} for obj in items]
        limit = int(query.get("limit", ["500"])[0])
        return self.json({"items": shown[:limit], "metadata": {"continue": "more"} if len(shown) > limit else {}})

    def listed(self, namespace: str | None, plural: str, name: str | None, query: dict[str, list[str]]) -> t.Any:
        kind = KINDS[plural]
        if kind in self.refuses or ("in all namespaces" in self.refuses and not namespace and plural not in CLUSTER_WIDE):
            return self.status(403, "Forbidden", f'{plural} is forbidden: User "viewer" cannot list resource "{plural}"')
        items = [obj for obj in self.snap.of(kind) if namespace is None or obj["metadata"].get("namespace") == namespace]
        if name:
            items = [obj for obj in items if obj["metadata"]["name"] == name]
            return self.json(items[0]) if items else self.status(404, "NotFound", f"{plural} {name} not found")
        selector = query.get("labelSelector", [""])[0]
        pairs = dict(pair.split("=") for pair in selector.split(",") if "=" in pair)
        if " in (" in selector:
            items = [obj for obj in items if obj["metadata"].get("labels", {}).get("k8s-app") in ("kube-dns", "coredns")]
        return self.json({"kind": f"{kind}List", "items": [obj for obj in items if pairs.items() <= obj["metadata"].get("labels", {}).items()]})

    @staticmethod
    def json(content: t.Any) -> t.Any:
        return 200, {"Content-Type": "application/json"}, json.dumps(content)
