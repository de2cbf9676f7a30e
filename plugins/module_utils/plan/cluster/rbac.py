# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All permissions that the roles need: for the access reviews of the preflight, and for the file of plan/cluster/permissions_file.py. Pure."""

from __future__ import annotations

from ...common.objects import Facts, api_group
from ...releases.charts import CHART_WRITES
from ...releases.gateways import GATEWAY_PROVIDERS
from ...releases.lines import LEADER_WORKER_SET
from ..observability.monitoring import crds
from ..parts.charts import provider_facts
from ..servers.device_claims import API_VERSION as CLAIMS
from ..servers.device_claims import KIND as CLAIM

_VERBS = ("get", "list", "create", "patch", "delete")

# (group, resource) of objects that the roles write in the namespace.
_WRITTEN = [
    ("", "configmaps"),
    ("", "services"),
    ("", "serviceaccounts"),
    ("rbac.authorization.k8s.io", "roles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("apps", "deployments"),
]
_AUTOSCALERS = [("hpa", "autoscaling", "horizontalpodautoscalers"), ("keda", "keda.sh", "scaledobjects")]
# (verb, group, resource) that the roles only read in the namespace: pods and their logs, for the state of a rollout and the configuration that an endpoint
# picker has loaded. Metrics of endpoint pickers and completions of model servers go through the proxy of the API server.
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


def permissions(planned: Facts, user: Facts) -> list[Facts]:
    """All permissions that the roles need, as attributes of an access review: {verb, group, resource, namespace, name?}."""
    home, rest = planned["namespace"], planned["scope"] != "prerequisites"
    written = (
        _cluster_wide(planned)
        + _written_by_charts(planned, user)
        + _written_for_operators(planned["gpus"])
        + (_in_namespaces(planned) if rest else [(home, "", "configmaps")])
    )
    rows = [(verb, group, resource, namespace) for namespace, group, resource in written for verb in _VERBS]
    rows += _read_for_charts(planned, user) + _read_for_operators(planned["gpus"])
    if rest:
        rows += [(verb, group, resource, place) for place in dict.fromkeys((home, planned["scheduler_namespace"])) for verb, group, resource in _READ]
        rows += [
            ("create", "", "events", place) for place in dict.fromkeys(place for place, _group, _resource in _in_namespaces(planned)) if user["llm_d_events"]
        ]
        rows += [("get", "", "services/proxy", place) for place in _prometheus_namespaces(planned)]
        rows += [("list", "apps", "statefulsets", home)] if _several_nodes(planned) else []  # to distinguish new pods of a group from old ones
        # KEDA creates a HorizontalPodAutoscaler, and an external autoscaler may.
        rows += [("list", "autoscaling", "horizontalpodautoscalers", home)] if _scaled_by(planned) else []
        # The proxy of the API server does not forward the API key of model servers.
        keyed = any(each["server"]["api_key_secret"] for each in planned["services"])
        rows += [(verb, "", "pods/portforward", home) for verb in ("get", "create") if keyed]
        rows += _granted_to_pickers(planned)
    reviews = [{"verb": verb, "group": group, "resource": resource, "namespace": namespace} for verb, group, resource, namespace in dict.fromkeys(rows)]
    return [*planned["prerequisites"]["permissions"], *reviews, *_on_secrets(planned)]


def _prometheus_namespaces(planned: Facts) -> list[str]:
    """[the namespace of the Prometheus that the claims query through the API server]; [] without one."""
    prometheus = planned["prometheus"]
    return [prometheus["namespace"]] if prometheus and "namespace" in prometheus else []


def _several_nodes(planned: Facts) -> bool:
    """Whether servers span several nodes."""
    return any(server["nodes"] > 1 for service in planned["services"] for server in service["servers"])


def _scaled_by(planned: Facts) -> set[str]:
    """The providers of autoscalers in use."""
    return {server["autoscaling"]["provider"] for service in planned["services"] for server in service["servers"] if server["autoscaling"]}


def _granted_to_pickers(planned: Facts) -> list[tuple[str, str, str, str]]:
    """The permissions of endpoint pickers, since an account can grant only permissions that it has."""
    rules = [rule for service in planned["services"] for rule in service["scheduler"]["rules"]]
    home = planned["namespace"]
    return [(verb, group, resource, home) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]]


def _on_secrets(planned: Facts) -> list[Facts]:
    """Permissions for our own Secrets by name, and to read Secrets with API keys. They cover no other Secrets."""
    rows: list[Facts] = []
    own = [(secret["metadata"]["name"], secret["metadata"]["namespace"]) for secret in planned["secrets"]["present"]]
    own += [(service["warmup_job"]["name"], planned["namespace"]) for service in planned["services"] if service["warmup_job"]]
    for name, namespace in own:
        head = {"group": "", "resource": "secrets", "namespace": namespace}
        rows += [{"verb": verb, **head, "name": name} for verb in ("get", "patch", "delete")] + [{"verb": "create", **head}]
    keys = [key for key in _keys(planned) if (key["name"], key["namespace"]) not in own]
    return rows + [{"verb": "get", "group": "", "resource": "secrets", "namespace": key["namespace"], "name": key["name"]} for key in keys]


def _keys(planned: Facts) -> list[Facts]:
    """The Secrets with API keys, each once."""
    secrets = [service["api_key_secret"] for service in planned["services"] if service["api_key_secret"]]
    return [key for index, key in enumerate(secrets) if key not in secrets[:index]]


def _cluster_wide(planned: Facts) -> list[tuple[str, str, str]]:
    """(namespace, group, resource) of cluster-wide objects that are written; the namespace is empty."""
    return [("", "gateway.networking.k8s.io", "gatewayclasses")] if planned["gateway"]["create_class"] else []


def _charts(planned: Facts, user: Facts) -> list[tuple[str, str]]:
    """(key, namespace) of each chart to install."""
    charts = [
        (row["key"], chart["namespace"]) for row, chart in zip(provider_facts(user)["charts"], planned["gateway"]["charts"], strict=False)
    ]  # no planned charts if we do not install the controller
    gpus, groups = planned["gpus"], planned["prerequisites"]["leader_worker_set"]
    charts += [("leader_worker_set", groups["chart"]["namespace"])] if groups and groups["chart"] else []
    return charts + ([("gpu_operator", gpus["chart"]["namespace"])] if gpus["active"] and gpus["chart"] else [])


def _written_by_charts(planned: Facts, user: Facts) -> list[tuple[str, str, str]]:
    """(namespace, group, resource) of objects that Helm writes. Whether the account may grant the rules of the Roles of a chart shows only at installation."""
    rows = []
    for key, namespace in _charts(planned, user):
        writes = CHART_WRITES[key]
        rows += [(namespace, group, resource) for group, resource in writes["namespaced"]] + [("", group, resource) for group, resource in writes["cluster"]]
    return rows


def _read_for_charts(planned: Facts, user: Facts) -> list[tuple[str, str, str, str]]:
    """Permissions for Helm's own records, and to find other users of a controller before it is removed."""
    rows = [(verb, "", "secrets", namespace) for _key, namespace in _charts(planned, user) for verb in ("get", "list", "create", "update", "delete")]
    if planned["gateway"]["install"] or planned["gateway"]["create_class"]:
        of_gateways = [("gateway.networking.k8s.io", "gateways"), ("gateway.networking.k8s.io", "gatewayclasses")]
        rows += [("list", group, resource, "") for group, resource in (*of_gateways, ("", "namespaces"), ("", "pods"))]
    return rows


def _written_for_operators(gpus: Facts) -> list[tuple[str, str, str]]:
    """(namespace, group, resource) of objects that are written to install a GPU operator with OLM and to configure it."""
    if not gpus["active"]:
        return []
    rows = [(item["namespace"], "operators.coreos.com", resource) for item in gpus["subscriptions"] for resource in ("operatorgroups", "subscriptions")]
    if gpus["device_plugin"] or gpus["mig_manager"]:
        rows.append((gpus["namespace"], "", "configmaps"))
    if gpus["install"] and gpus["node_feature_discovery"]:
        rows.append(("openshift-nfd", "nfd.openshift.io", "nodefeaturediscoveries"))
    if gpus["install"] and gpus["cluster_policy"]:
        rows.append(("", "nvidia.com", "clusterpolicies"))
    if gpus["install"] and gpus["operator"] == "amd":
        rows.append((gpus["namespace"], "amd.com", "deviceconfigs"))
    if gpus["gaudi_policy"]:
        rows.append(("", "habanalabs.habana.ai", "clusterpolicies"))
    return rows + [(test["pod"]["metadata"]["namespace"], "", "pods") for test in gpus["checks"]["pods"]]


def _read_for_operators(gpus: Facts) -> list[tuple[str, str, str, str]]:
    """Permissions to read the objects of an operator, and for nodes, which get the labels of their pool."""
    if not gpus["active"]:
        return []
    rows = [(verb, "operators.coreos.com", "clusterserviceversions", item["namespace"]) for item in gpus["subscriptions"] for verb in ("get", "list")]
    if gpus["approval"]:
        rows += [(verb, "operators.coreos.com", "installplans", item["namespace"]) for item in gpus["subscriptions"] for verb in ("get", "list", "patch")]
    if gpus["install"]:  # to find other users of an operator before it is removed
        rows.append(("list", "", "pods", ""))
        rows += [("list", "operators.coreos.com", "subscriptions", "")] if gpus["subscriptions"] else []
        rows += [("list", "nfd.openshift.io", "nodefeaturediscoveries", "")] if gpus["node_feature_discovery"] else []
    return rows + [(verb, "", "nodes", "") for verb in ("get", "list", "patch") if gpus["pools"]]


def _in_namespaces(planned: Facts) -> list[tuple[str, str, str]]:
    """(namespace, group, resource) of objects that are written in namespaces."""
    gateway, home = planned["gateway"], planned["namespace"]
    facts = GATEWAY_PROVIDERS[gateway["provider"]]
    kinds = [(home, group, resource) for group, resource in _WRITTEN]
    pickers = planned["scheduler_namespace"]
    if pickers != home:
        scraped = [(crd.partition(".")[2], crd.partition(".")[0]) for crd, _what, option in crds(planned["services"]) if option == "scrape"]
        kinds += [(pickers, group, resource) for group, resource in [*(kind for kind in _WRITTEN if kind[0] != "rbac.authorization.k8s.io"), *scraped]]
    servers = [service["cache_server"] for service in planned["services"] if service["cache_server"]]
    kinds += [(home, "networking.k8s.io", "networkpolicies")] if servers else []
    kinds += [(home, "batch", "cronjobs")] if any(service["warmup_job"] for service in planned["services"]) else []
    if any(service["claim"] for service in planned["services"]) or any(server["claim"] for server in servers):
        kinds.append((home, "", "persistentvolumeclaims"))
    if any(server["device_claim"] for service in planned["services"] for server in service["servers"]):
        kinds.append((home, api_group(CLAIMS), _plural(CLAIM)))
    for crd, _what, _option in crds(planned["services"]):
        resource, _dot, group = crd.partition(".")
        kinds.append((home, group, resource))
    kinds += [(home, group, resource) for provider, group, resource in _AUTOSCALERS if provider in _scaled_by(planned)]
    if _several_nodes(planned):
        kinds.append((home, LEADER_WORKER_SET["group"], "leaderworkersets"))
    if gateway["gateway_api"]:
        kinds.append((gateway["routes_namespace"], "gateway.networking.k8s.io", "httproutes"))
    if gateway["pool"]:
        kinds.append((home, gateway["pool_group"], "inferencepools"))
    written = {service["rewrites"]["api_version"].partition("/")[0] for service in planned["services"] if service["rewrites"]}
    kinds += [(home, group, "inferencemodelrewrites") for group in sorted(written)]
    if gateway["create"]:
        kinds.append((gateway["namespace"], "gateway.networking.k8s.io", "gateways"))
    if gateway["parameters"]:
        kinds.append((gateway["namespace"], gateway["parameters"]["group"], _plural(gateway["parameters"]["kind"])))
    kinds += [(grant["namespace"], "gateway.networking.k8s.io", "referencegrants") for grant in gateway["grants"]]
    if gateway["openshift_route"]:
        kinds.append((gateway["namespace"], "route.openshift.io", "routes"))
    places = {"EnvoyExtensionPolicy": gateway["routes_namespace"], "BackendTrafficPolicy": gateway["routes_namespace"], "EnvoyFilter": gateway["namespace"]}
    for version, kind in facts["policies"]:
        namespaces = dict.fromkeys((home, pickers)) if kind == "DestinationRule" else [places.get(kind, home)]
        kinds += [(room, api_group(version), _plural(kind)) for room in namespaces]
    return kinds


def _plural(kind: str) -> str:
    """The resource of a kind, such as gateways of Gateway."""
    lower = kind.lower()
    if lower.endswith("s"):  # GatewayParameters
        return lower
    return f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}s"
