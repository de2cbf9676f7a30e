# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a diagnosis reads of a stack: the kinds and objects that its plan makes or uses, and no others. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import dicts, get_path, mapping, text
from ..releases.gateways import GATEWAY_PROVIDERS

METADATA_ONLY = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
DNS = {"labelSelector": "k8s-app in (kube-dns,coredns)"}
# (API version, kind) of what runs in a namespace.
RUNNING = (("v1", "Pod"), ("v1", "Event"), ("apps/v1", "Deployment"))
# What else binds or serves the pods of a deployment.
BINDING = (("v1", "Service"), ("v1", "ResourceQuota"), ("apps/v1", "ReplicaSet"), ("networking.k8s.io/v1", "NetworkPolicy"))
# Policies of endpoint pickers that a rule judges, where the provider has them.
POLICIES = ("EnvoyExtensionPolicy", "BackendTrafficPolicy", "DestinationRule")
List = tuple[str, str, str, dict[str, str], str]  # API version, kind, namespace, query, Accept header
Plan = c.Mapping[str, t.Any]


def lists(plan: Plan) -> list[List]:
    """The lists to read, each once."""
    home, gateway = plan["namespace"], plan["gateway"]
    homes = list(dict.fromkeys((home, plan["scheduler_namespace"])))
    found = [(version, kind, place) for place in homes for version, kind in (*RUNNING, *BINDING)]
    found += [(version, kind, home) for version, kind in sorted(_servers(plan))]
    found += _of_gateway(plan, homes)
    controllers = [each["namespace"] for each in gateway["controllers"]]
    proxies = [gateway["namespace"]] if gateway["gateway_api"] else []
    found += [(version, kind, place) for place in (*proxies, *controllers) for version, kind in RUNNING]
    found += [("v1", "Node", "")]
    if text(get_path(plan, "gpus", "operator")).startswith("nvidia") or _asks_for(plan, "nvidia.com/"):
        found.append(("nvidia.com/v1", "ClusterPolicy", ""))
    asked: list[List] = [(*each, {"limit": "1000"} if each[1] == "Event" else {}, "") for each in dict.fromkeys(found)]
    asked += [("v1", "Secret", place, {"labelSelector": "owner=helm"}, METADATA_ONLY) for place in sorted({place for place, _name in releases(plan)})]
    return [*asked, *((version, kind, "kube-system", DNS, "") for version, kind in (("apps/v1", "Deployment"), ("v1", "Pod")))]


def objects(plan: Plan) -> list[tuple[str, str, str, str]]:
    """(API version, kind, namespace, name) of each object to read by its name; the namespace of a Namespace is its own."""
    gateway = plan["gateway"]
    names = [entry["name"] for entry in plan["prerequisites"]["namespaces"]]
    names += [plan["namespace"], plan["scheduler_namespace"], *((gateway["namespace"], gateway["routes_namespace"]) if gateway["gateway_api"] else ())]
    found = [("v1", "Namespace", name, name) for name in dict.fromkeys(names)]
    if gateway["gateway_api"] and gateway["class_name"]:
        found.append(("gateway.networking.k8s.io/v1", "GatewayClass", "", gateway["class_name"]))
    if plan["platform"] == "openshift":
        found.append(("config.openshift.io/v1", "ClusterOperator", "", "ingress"))
    return found


def releases(plan: Plan) -> list[tuple[str, str]]:
    """(namespace, name) of each Helm release that the plan installs."""
    charts = [*plan["gateway"]["charts"], get_path(plan, "prerequisites", "leader_worker_set", "chart"), get_path(plan, "gpus", "chart")]
    return [(chart["namespace"], chart["release_name"]) for chart in charts if chart]


def _servers(plan: Plan) -> set[tuple[str, str]]:
    """The kinds of pools, of servers and of their autoscalers."""
    servers = [server for service in plan["services"] for server in service.get("servers") or [service["server"]]]
    found = {(server.get("api_version", "apps/v1"), server.get("kind", "Deployment")) for server in servers}
    found |= {(service["pool"]["api_version"], "InferencePool") for service in plan["services"] if service["pool"]["exists"]}
    scaled = {mapping(server.get("autoscaling")).get("provider") for server in servers}
    # An autoscaler of somebody else binds our Deployment as well.
    return found | {("autoscaling/v2", "HorizontalPodAutoscaler")} | ({("keda.sh/v1alpha1", "ScaledObject")} if "keda" in scaled else set())


def _of_gateway(plan: Plan, homes: list[str]) -> list[tuple[str, str, str]]:
    gateway = plan["gateway"]
    found = []
    if gateway["gateway_api"]:
        found += [("gateway.networking.k8s.io/v1", "HTTPRoute", gateway["routes_namespace"]), ("gateway.networking.k8s.io/v1", "Gateway", gateway["namespace"])]
    policies = [row for row in GATEWAY_PROVIDERS[gateway["provider"]]["policies"] if row[1] in POLICIES]
    for version, kind in policies:
        found += [(version, kind, place) for place in (homes if kind == "DestinationRule" else [gateway["routes_namespace"]])]
    parameters = mapping(gateway["parameters"])
    if parameters.get("kind") == "EnvoyProxy":
        found.append(("gateway.envoyproxy.io/v1alpha1", "EnvoyProxy", gateway["namespace"]))
    return found


def _asks_for(plan: Plan, prefix: str) -> bool:
    """Whether servers ask for an accelerator of a vendor."""
    servers = [server for service in plan["services"] for server in service.get("servers") or [service["server"]]]
    parts = [part for server in servers for part in dicts(get_path(server, "template", "spec", "containers"))]
    return any(name.startswith(prefix) for part in parts for name in mapping(get_path(part, "resources", "limits")))
