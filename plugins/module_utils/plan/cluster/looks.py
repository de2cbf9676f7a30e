# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Permissions without which no deployment fails: what validation, diagnosis and benchmarks ask for where they may, and to keep other runs waiting. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...releases.gateways import attaching

_EVERYWHERE = ""
Right = tuple[str, str, str, str]  # verb, group, resource, namespace
# Of what runs in a namespace: why it does not run, what binds it, and an answer or metrics of it where this host has no way to its address.
_RUNNING = [
    ("get", "", "namespaces"),
    ("list", "", "pods"),
    ("list", "", "events"),
    ("list", "", "configmaps"),
    ("list", "", "resourcequotas"),
    ("list", "apps", "deployments"),
    ("list", "apps", "replicasets"),
    ("list", "networking.k8s.io", "networkpolicies"),
    ("get", "", "services"),
    ("list", "", "services"),
    ("get", "", "pods/log"),
    *((verb, "", resource) for resource in ("pods/proxy", "services/proxy", "pods/portforward") for verb in ("get", "create")),
]
# Of the cluster, each with the group and its resources; read by accounts with permissions in it.
_CLUSTER = [
    ("", "nodes namespaces pods services"),
    ("apps", "deployments"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations validatingwebhookconfigurations"),
    ("discovery.k8s.io", "endpointslices"),
    ("networking.k8s.io", "networkpolicies"),
    ("storage.k8s.io", "storageclasses"),
]
# By a Lease one run at a time changes an instance.
_LEASES = [(verb, "coordination.k8s.io", "leases") for verb in ("get", "create", "patch", "delete")]
_OPENSHIFT = ("config.openshift.io", "clusterversions clusteroperators infrastructures")


def looks(planned: Facts) -> list[Facts]:
    """These permissions, as attributes of an access review: {verb, group, resource, namespace}. Without a namespace for files of the whole cluster only."""
    found = [(*right, planned["namespace"]) for right in _LEASES]
    found += [] if planned["scope"] == "prerequisites" else _in_namespaces(planned)
    found += [] if planned["scope"] == "namespace" else _in_the_cluster(planned)
    return [{"verb": verb, "group": group, "resource": resource, "namespace": namespace} for verb, group, resource, namespace in dict.fromkeys(found)]


def _in_namespaces(planned: Facts) -> list[Right]:
    home, pickers, gateway = planned["namespace"], planned["scheduler_namespace"], planned["gateway"]
    homes = [home, pickers]
    edges = [gateway["namespace"], gateway["routes_namespace"]] if gateway["gateway_api"] else []
    # Proxies run beside the Gateway, but those of Envoy Gateway, which run beside their controller.
    found = [(*right, place) for place in (*homes, *edges[:1]) for right in _RUNNING]
    found += [(verb, "", resource, edge) for edge in edges for verb, resource in (("get", "namespaces"), ("list", "events"))]
    found += [(verb, "gateway.networking.k8s.io", "gateways", edge) for edge in edges[:1] for verb in ("get", "list")]
    found += [("list", *kind, place) for place in (*homes, *edges) for kind in _attached(gateway["provider"])]
    found += [("list", "", "limitranges", home), ("list", "autoscaling", "horizontalpodautoscalers", home)]
    found += [("get", "", "persistentvolumeclaims", place) for place in homes]
    # Whether an endpoint picker has the permissions that it needs, and no others.
    found.append(("create", "authorization.k8s.io", "localsubjectaccessreviews", home))
    if planned["benchmark"]["job"]:
        found += [(verb, "batch", "jobs", home) for verb in ("get", "create", "patch", "delete")] + [("create", "", "secrets", home)]
    return found


def _attached(provider: str) -> list[tuple[str, str]]:
    """(group, resource) of what others may attach to a stack: every kind of the provider's groups, and policies between pods."""
    kinds = {"networking.k8s.io": "networkpolicies", "cilium.io": "ciliumnetworkpolicies"}
    return [(group, kinds.get(group, "*")) for group in attaching(provider)]


def _in_the_cluster(planned: Facts) -> list[Right]:
    gateway = planned["gateway"]
    rows = [*_CLUSTER, *([_OPENSHIFT] if planned["platform"] == "openshift" else [])]
    found = [(verb, group, resource, _EVERYWHERE) for group, resources in rows for resource in resources.split() for verb in ("get", "list")]
    found += [("list", *kind, _EVERYWHERE) for kind in _attached("none")]
    found += [("get", "gateway.networking.k8s.io", "gatewayclasses", _EVERYWHERE)]
    return found + [(*right, place) for place in dict.fromkeys(each["namespace"] for each in gateway["controllers"]) for right in _RUNNING]
