# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds and objects that a diagnosis reads: those that the plan of the stack creates or uses, and no others. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import dicts, get_path, mapping, text
from ..releases.gateways import GATEWAY_PROVIDERS

METADATA_ONLY = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
DNS = {"labelSelector": "k8s-app in (kube-dns,coredns)"}  # the DNS servers of the cluster
# (API version, kind) of workloads and their events.
WORKLOADS = (("v1", "Pod"), ("v1", "Event"), ("apps/v1", "Deployment"))
# Other kinds that limit or serve the pods of a deployment.
AROUND_PODS = (("v1", "Service"), ("v1", "ResourceQuota"), ("apps/v1", "ReplicaSet"), ("networking.k8s.io/v1", "NetworkPolicy"))
# Kinds that connect a gateway to endpoint pickers and that a rule checks, where the provider has them.
POLICIES = ("EnvoyExtensionPolicy", "BackendTrafficPolicy", "DestinationRule")
ListQuery = tuple[str, str, str, dict[str, str], str]  # API version, kind, namespace, query parameters, Accept header
Plan = c.Mapping[str, t.Any]


def lists(plan: Plan) -> list[ListQuery]:
    """The lists to read, each once."""
    gateway = plan["gateway"]
    namespaces = list(dict.fromkeys((plan["namespace"], plan["scheduler_namespace"])))
    kinds = [(version, kind, namespace) for namespace in namespaces for version, kind in (*WORKLOADS, *AROUND_PODS)]
    kinds += [(version, kind, plan["namespace"]) for version, kind in sorted(_server_kinds(plan))]
    kinds += _gateway_kinds(plan, namespaces)
    controllers = [each["namespace"] for each in gateway["controllers"]]
    proxies = [gateway["namespace"]] if gateway["gateway_api"] else []
    kinds += [(version, kind, namespace) for namespace in (*proxies, *controllers) for version, kind in WORKLOADS]
    kinds += [("v1", "Node", "")]
    if text(get_path(plan, "gpus", "operator")).startswith("nvidia") or _requests_accelerators(plan, "nvidia.com/"):
        kinds.append(("nvidia.com/v1", "ClusterPolicy", ""))
    queries: list[ListQuery] = [(*each, {"limit": "1000"} if each[1] == "Event" else {}, "") for each in dict.fromkeys(kinds)]
    of_helm = sorted({namespace for namespace, _name in helm_releases(plan)})
    queries += [("v1", "Secret", namespace, {"labelSelector": "owner=helm"}, METADATA_ONLY) for namespace in of_helm]
    return [*queries, *((version, kind, "kube-system", DNS, "") for version, kind in (("apps/v1", "Deployment"), ("v1", "Pod")))]


def objects(plan: Plan) -> list[tuple[str, str, str, str]]:
    """(API version, kind, namespace, name) of each object to read by its name. A Namespace has its own name as its namespace."""
    gateway = plan["gateway"]
    names = [entry["name"] for entry in plan["prerequisites"]["namespaces"]]
    names += [plan["namespace"], plan["scheduler_namespace"], *((gateway["namespace"], gateway["routes_namespace"]) if gateway["gateway_api"] else ())]
    references = [("v1", "Namespace", name, name) for name in dict.fromkeys(names)]
    if gateway["gateway_api"] and gateway["class_name"]:
        references.append(("gateway.networking.k8s.io/v1", "GatewayClass", "", gateway["class_name"]))
    if plan["platform"] == "openshift":
        references.append(("config.openshift.io/v1", "ClusterOperator", "", "ingress"))
    return references


def helm_releases(plan: Plan) -> list[tuple[str, str]]:
    """(namespace, name) of each Helm release that the plan installs."""
    charts = [*plan["gateway"]["charts"], get_path(plan, "prerequisites", "leader_worker_set", "chart"), get_path(plan, "gpus", "chart")]
    return [(chart["namespace"], chart["release_name"]) for chart in charts if chart]


def _servers(plan: Plan) -> list[dict[str, t.Any]]:
    """The servers of all services."""
    return [server for service in plan["services"] for server in service["servers"]]


def _server_kinds(plan: Plan) -> set[tuple[str, str]]:
    """(API version, kind) of the servers' workloads, of pools and of autoscalers."""
    servers = _servers(plan)
    kinds = {(server.get("api_version", "apps/v1"), server.get("kind", "Deployment")) for server in servers}
    kinds |= {(service["pool"]["api_version"], "InferencePool") for service in plan["services"] if service["pool"]["exists"]}
    scaled = {mapping(server.get("autoscaling")).get("provider") for server in servers}
    # An autoscaler of others also limits our Deployment.
    return kinds | {("autoscaling/v2", "HorizontalPodAutoscaler")} | ({("keda.sh/v1alpha1", "ScaledObject")} if "keda" in scaled else set())


def _gateway_kinds(plan: Plan, namespaces: list[str]) -> list[tuple[str, str, str]]:
    """(API version, kind, namespace) of the Gateway, of routes and of policies. namespaces: those of servers and of endpoint pickers."""
    gateway = plan["gateway"]
    kinds = []
    if gateway["gateway_api"]:
        kinds += [("gateway.networking.k8s.io/v1", "HTTPRoute", gateway["routes_namespace"]), ("gateway.networking.k8s.io/v1", "Gateway", gateway["namespace"])]
    policies = [row for row in GATEWAY_PROVIDERS[gateway["provider"]]["policies"] if row[1] in POLICIES]
    for version, kind in policies:
        kinds += [(version, kind, place) for place in (namespaces if kind == "DestinationRule" else [gateway["routes_namespace"]])]
    parameters = mapping(gateway["parameters"])
    if parameters.get("kind") == "EnvoyProxy":
        kinds.append(("gateway.envoyproxy.io/v1alpha1", "EnvoyProxy", gateway["namespace"]))
    return kinds


def _requests_accelerators(plan: Plan, prefix: str) -> bool:
    """Whether servers request accelerators of a vendor. prefix: the start of its resource names, such as `nvidia.com/`."""
    parts = [part for server in _servers(plan) for part in dicts(get_path(server, "template", "spec", "containers"))]
    return any(name.startswith(prefix) for part in parts for name in mapping(get_path(part, "resources", "limits")))
