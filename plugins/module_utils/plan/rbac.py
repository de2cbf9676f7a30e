# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every right that the roles use, for the access reviews before anything is touched and for the Roles to grant. Pure."""

from __future__ import annotations

import typing as t

from ..releases.charts import CHART_WRITES
from ..releases.gateways import GATEWAY_PROVIDERS
from ..releases.lines import LEADER_WORKER_SET
from .charts import provider_facts
from .monitoring import CRD as POD_MONITORS

Facts = dict[str, t.Any]

_VERBS = ("get", "list", "create", "patch", "delete")

# What the roles write in the namespace, as (group, resource).
_WRITTEN = [
    ("", "configmaps"),
    ("", "services"),
    ("", "serviceaccounts"),
    ("rbac.authorization.k8s.io", "roles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("apps", "deployments"),
]
_AUTOSCALERS = [("hpa", "autoscaling", "horizontalpodautoscalers"), ("keda", "keda.sh", "scaledobjects")]
# What they read there beside: pods and their logs say what became of a Deployment, and which configuration an endpoint picker has loaded;
# its counters are read through the API server, and each model server is asked for a completion that way.
_READ = [
    ("get", "", "pods"),
    ("list", "", "pods"),
    ("get", "", "pods/log"),
    ("list", "", "events"),
    ("list", "apps", "replicasets"),
    ("get", "", "services/proxy"),
    ("get", "", "pods/proxy"),
    ("create", "", "pods/proxy"),
]


def rights(planned: Facts, user: Facts) -> list[Facts]:
    """Every right that the roles use, each as an access review asks for it: {verb, group, resource, namespace, name?}."""
    home, rest = planned["namespace"], planned["scope"] != "prerequisites"
    written = _cluster_wide(planned) + _of_charts(planned, user) + _of_operators(planned["gpus"]) + (_in_namespaces(planned) if rest else [])
    found = [(verb, group, resource, namespace) for namespace, group, resource in written for verb in _VERBS]
    found += _beside_charts(planned, user) + _beside_operators(planned["gpus"])
    if planned["prerequisites"]["namespaces"]:
        found.append(("list", "", "persistentvolumeclaims", ""))  # a namespace with weights in it stays
    if rest:
        found += [(verb, group, resource, home) for verb, group, resource in _READ]
        found += [("list", "apps", "statefulsets", home)] if _grouped(planned) else []  # which pods of a group are the new ones
        # KEDA acts by one, and so may someone else.
        found += [("list", "autoscaling", "horizontalpodautoscalers", home)] if _scaled_by(planned) else []
        found += _handed_on(planned)
    asked = [{"verb": verb, "group": group, "resource": resource, "namespace": namespace} for verb, group, resource, namespace in dict.fromkeys(found)]
    return planned["prerequisites"]["rights"] + asked + _secret_rights(planned)


def _grouped(planned: Facts) -> bool:
    """Whether some servers span several nodes."""
    return any(server["nodes"] > 1 for service in planned["services"] for server in service["servers"])


def _scaled_by(planned: Facts) -> set[str]:
    """Who scales servers."""
    return {server["autoscaling"]["provider"] for service in planned["services"] for server in service["servers"] if server["autoscaling"]}


def _handed_on(planned: Facts) -> list[tuple[str, str, str, str]]:
    """What an endpoint picker may do: nobody may give another account rights that he does not have."""
    rules = planned["release"]["rules"] if planned["services"] else []
    home = planned["namespace"]
    return [(verb, group, resource, home) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]]


def _secret_rights(planned: Facts) -> list[Facts]:
    """Our own Secrets by name, and no other."""
    found: list[Facts] = []
    for secret in planned["secrets"]["present"]:
        head = {"group": "", "resource": "secrets", "namespace": secret["metadata"]["namespace"]}
        found += [{"verb": verb, **head, "name": secret["metadata"]["name"]} for verb in ("get", "patch", "delete")] + [{"verb": "create", **head}]
    return found


def _cluster_wide(planned: Facts) -> list[tuple[str, str, str]]:
    return [("", "gateway.networking.k8s.io", "gatewayclasses")] if planned["gateway"]["create_class"] else []


def _charts(planned: Facts, user: Facts) -> list[tuple[str, str]]:
    """(key, namespace) of each chart to install."""
    found = [(row["key"], chart["namespace"]) for row, chart in zip(provider_facts(user)["charts"], planned["gateway"]["charts"])]
    gpus, groups = planned["gpus"], planned["prerequisites"]["leader_worker_set"]
    found += [("leader_worker_set", groups["chart"]["namespace"])] if groups and groups["chart"] else []
    return found + ([("gpu_operator", gpus["chart"]["namespace"])] if gpus["active"] and gpus["chart"] else [])


def _of_charts(planned: Facts, user: Facts) -> list[tuple[str, str, str]]:
    """What Helm writes. The rules of the roles among it are the API server's to judge: who may grant what, it says at the installation."""
    found = []
    for key, namespace in _charts(planned, user):
        writes = CHART_WRITES[key]
        found += [(namespace, group, resource) for group, resource in writes["namespaced"]] + [("", group, resource) for group, resource in writes["cluster"]]
    return found


def _beside_charts(planned: Facts, user: Facts) -> list[tuple[str, str, str, str]]:
    """Helm's own records, and the look at who else uses a controller before it goes."""
    found = [(verb, "", "secrets", namespace) for _key, namespace in _charts(planned, user) for verb in ("get", "list", "create", "update", "delete")]
    if planned["gateway"]["shared"]:
        found += [("list", "gateway.networking.k8s.io", resource, "") for resource in ("gateways", "gatewayclasses")] + [("list", "", "namespaces", "")]
    return found


def _of_operators(gpus: Facts) -> list[tuple[str, str, str]]:
    """What brings a GPU operator by OLM and says what it shall do."""
    if not gpus["active"]:
        return []
    found = [(item["namespace"], "operators.coreos.com", resource) for item in gpus["subscriptions"] for resource in ("operatorgroups", "subscriptions")]
    if gpus["device_plugin"] or gpus["mig_manager"]:
        found.append((gpus["namespace"], "", "configmaps"))
    if gpus["install"] and gpus["node_feature_discovery"]:
        found.append(("openshift-nfd", "nfd.openshift.io", "nodefeaturediscoveries"))
    if gpus["install"] and gpus["cluster_policy"]:
        found.append(("", "nvidia.com", "clusterpolicies"))
    if gpus["install"] and gpus["operator"] == "amd":
        found.append((gpus["namespace"], "amd.com", "deviceconfigs"))
    if gpus["gaudi_policy"]:
        found.append(("", "habanalabs.habana.ai", "clusterpolicies"))
    return found + [(test["pod"]["metadata"]["namespace"], "", "pods") for test in gpus["checks"]["pods"]]


def _beside_operators(gpus: Facts) -> list[tuple[str, str, str, str]]:
    """What is read of an operator, and nodes, which bear the labels of their pool."""
    if not gpus["active"]:
        return []
    found = [(verb, "operators.coreos.com", "clusterserviceversions", item["namespace"]) for item in gpus["subscriptions"] for verb in ("get", "list")]
    if gpus["approval"]:
        found += [(verb, "operators.coreos.com", "installplans", item["namespace"]) for item in gpus["subscriptions"] for verb in ("get", "list", "patch")]
    if gpus["install"]:  # the look at who else uses an operator before it goes
        found.append(("list", "", "pods", ""))
        found += [("list", "operators.coreos.com", "subscriptions", "")] if gpus["subscriptions"] else []
        found += [("list", "nfd.openshift.io", "nodefeaturediscoveries", "")] if gpus["node_feature_discovery"] else []
    return found + [(verb, "", "nodes", "") for verb in ("get", "list", "patch") if gpus["pools"]]


def _in_namespaces(planned: Facts) -> list[tuple[str, str, str]]:
    """What is written outside of the cluster's own room, as (namespace, group, resource)."""
    gateway, home = planned["gateway"], planned["namespace"]
    facts = GATEWAY_PROVIDERS[gateway["provider"]]
    kinds = [(home, group, resource) for group, resource in _WRITTEN]
    if any(service["claim"] for service in planned["services"]):
        kinds.append((home, "", "persistentvolumeclaims"))
    if any(service["monitors"] for service in planned["services"]):
        kinds.append((home, POD_MONITORS.partition(".")[2], POD_MONITORS.partition(".")[0]))
    kinds += [(home, group, resource) for provider, group, resource in _AUTOSCALERS if provider in _scaled_by(planned)]
    if _grouped(planned):
        kinds.append((home, LEADER_WORKER_SET["group"], "leaderworkersets"))
    if gateway["gateway_api"]:
        kinds.append((gateway["routes_namespace"], "gateway.networking.k8s.io", "httproutes"))
    if gateway["pool"]:
        kinds.append((home, gateway["pool_group"], "inferencepools"))
    if gateway["create"]:
        kinds.append((gateway["namespace"], "gateway.networking.k8s.io", "gateways"))
    if gateway["parameters"]:
        kinds.append((gateway["namespace"], gateway["parameters"]["group"], _plural(gateway["parameters"]["kind"])))
    kinds += [(grant["namespace"], "gateway.networking.k8s.io", "referencegrants") for grant in gateway["grants"]]
    if gateway["openshift_route"]:
        kinds.append((gateway["namespace"], "route.openshift.io", "routes"))
    places = {"EnvoyExtensionPolicy": gateway["routes_namespace"], "BackendTrafficPolicy": gateway["routes_namespace"], "EnvoyFilter": gateway["namespace"]}
    return kinds + [(places.get(kind, home), version.rpartition("/")[0], _plural(kind)) for version, kind in facts["policies"]]


def _plural(kind: str) -> str:
    lower = kind.lower()
    if lower.endswith("s"):  # GatewayParameters
        return lower
    return f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}s"
