# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Optional permissions, without which a deployment succeeds: for validation, diagnosis and benchmarks, and for the Lease against concurrent runs. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...releases.gateways import attachment_groups

_EVERYWHERE = ""
Permission = tuple[str, str, str, str]  # verb, group, resource, namespace
# For pods in a namespace: why they do not run, which limits and policies apply to them, and their answers or metrics if this host cannot reach their address.
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
# (group, its resources), read in the whole cluster by accounts with permissions for it.
_CLUSTER = [
    ("", "nodes namespaces pods services"),
    ("apps", "deployments"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations validatingwebhookconfigurations"),
    ("discovery.k8s.io", "endpointslices"),
    ("networking.k8s.io", "networkpolicies"),
    ("storage.k8s.io", "storageclasses"),
]
# A Lease lets only one run at a time change an instance.
_LEASES = [(verb, "coordination.k8s.io", "leases") for verb in ("get", "create", "patch", "delete")]
_OPENSHIFT = ("config.openshift.io", "clusterversions clusteroperators infrastructures")


def optional_permissions(planned: Facts) -> list[Facts]:
    """The permissions as attributes of an access review: {verb, group, resource, namespace}. Scope namespace has none without a namespace."""
    rows = [(*permission, planned["namespace"]) for permission in _LEASES]
    rows += [] if planned["scope"] == "prerequisites" else _in_namespaces(planned)
    rows += [] if planned["scope"] == "namespace" else _in_the_cluster(planned)
    return [{"verb": verb, "group": group, "resource": resource, "namespace": namespace} for verb, group, resource, namespace in dict.fromkeys(rows)]


def _in_namespaces(planned: Facts) -> list[Permission]:
    home, pickers, gateway = planned["namespace"], planned["scheduler_namespace"], planned["gateway"]
    homes = [home, pickers]
    edges = [gateway["namespace"], gateway["routes_namespace"]] if gateway["gateway_api"] else []
    # Proxies run in the namespace of the Gateway, except those of Envoy Gateway, which run in that of their controller.
    rows = [(*permission, place) for place in (*homes, *edges[:1]) for permission in _RUNNING]
    rows += [(verb, "", resource, edge) for edge in edges for verb, resource in (("get", "namespaces"), ("list", "events"))]
    rows += [(verb, "gateway.networking.k8s.io", "gateways", edge) for edge in edges[:1] for verb in ("get", "list")]
    rows += [("list", *kind, place) for place in (*homes, *edges) for kind in _attached(gateway["provider"])]
    rows += [("list", "", "limitranges", home), ("list", "autoscaling", "horizontalpodautoscalers", home)]
    rows += [("get", "", "persistentvolumeclaims", place) for place in homes]
    # To check whether an endpoint picker has the permissions that it needs, and no others.
    rows.append(("create", "authorization.k8s.io", "localsubjectaccessreviews", home))
    if planned["benchmark"]["job"]:
        rows += [(verb, "batch", "jobs", home) for verb in ("get", "create", "patch", "delete")] + [("create", "", "secrets", home)]
    return rows


def _attached(provider: str) -> list[tuple[str, str]]:
    """(group, resource) of objects that others may attach to a stack: all kinds of the groups of the provider, and network policies."""
    kinds = {"networking.k8s.io": "networkpolicies", "cilium.io": "ciliumnetworkpolicies"}
    return [(group, kinds.get(group, "*")) for group in attachment_groups(provider)]


def _in_the_cluster(planned: Facts) -> list[Permission]:
    gateway = planned["gateway"]
    groups = [*_CLUSTER, *([_OPENSHIFT] if planned["platform"] == "openshift" else [])]
    rows = [(verb, group, resource, _EVERYWHERE) for group, resources in groups for resource in resources.split() for verb in ("get", "list")]
    rows += [("list", *kind, _EVERYWHERE) for kind in _attached("none")]
    rows += [("get", "gateway.networking.k8s.io", "gatewayclasses", _EVERYWHERE)]
    return rows + [(*permission, place) for place in dict.fromkeys(each["namespace"] for each in gateway["controllers"]) for permission in _RUNNING]
