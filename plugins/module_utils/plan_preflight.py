# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan asks of the cluster that it shall run on, for the look before anything is touched. Pure."""

from __future__ import annotations

import typing as t

from .versions import ACCELERATORS
from .versions_gateways import GATEWAY_API, GATEWAY_PROVIDERS, INFERENCE_EXTENSION_MINIMUM

Facts = dict[str, t.Any]

KUBERNETES_MINIMUM = "1.29"  # native sidecars
HELM_MINIMUM = "3.8.0"  # oci:// references
LIBRARIES = {"kubernetes": "24.2.0", "yaml": "5.1"}
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


def needs(planned: Facts, user: Facts) -> Facts:
    """The demands of a plan, as preflight_judge wants them."""
    gateway = planned["gateway"]
    facts = GATEWAY_PROVIDERS[gateway["provider"]]
    crds = {bundle["name"]: bool(bundle["sources"]) for bundle in planned["prerequisites"]["crds"]}
    minimum = {"kubernetes": KUBERNETES_MINIMUM, "helm": HELM_MINIMUM, "libraries": dict(LIBRARIES)}
    if gateway["gateway_api"]:
        minimum["gateway_api"] = GATEWAY_API["minimum"]
    if gateway["pool"]:
        minimum["inference_extension"] = INFERENCE_EXTENSION_MINIMUM
    return {
        "platform": planned["platform"],
        "scope": planned["scope"],
        "namespace": planned["namespace"],
        "namespaces": sorted({planned["namespace"], gateway["namespace"], gateway["routes_namespace"]}),
        "labels": planned["labels"],
        "projects": planned["prerequisites"]["projects"],
        "run_as_user": user["llm_d_run_as_user"],
        "minimum": minimum,
        "installs": {
            "gateway_api": crds.get("gateway-api", False),
            "inference_extension": crds.get("inference-extension", False),
            "controller": gateway["install"],
            "accelerators": planned["gpus"]["active"] and planned["gpus"]["install"],
        },
        "provider_crd": facts["crds_probe"],
        "monitors": planned["gpus"]["active"] and user["llm_d_gpus"]["metrics"],
        "gateway": {
            key: gateway[key]
            for key in ("provider", "gateway_api", "pool", "create", "name", "namespace", "class_name", "create_class", "controller_name", "service_type",
                        "pool_version", "pool_group", "backend", "controller", "version")
        }
        | {"minimum": facts["minimum"], "route": bool(gateway["openshift_route"])},
        "accelerators": _accelerators(planned),
        "resources": _resources(planned),
        "secrets": _secrets(planned, user),
        "claims": _claims(planned, user),
        "charts": [{"name": chart["release_name"], "ref": chart["ref"]} for chart in gateway["charts"]],
        "helm": user["llm_d_helm"],
        "registry": user["llm_d_image_registry"],
        "rights": planned["prerequisites"]["rights"] + _rights(planned),
    }


def _accelerators(planned: Facts) -> list[Facts]:
    """What the model servers ask for: {service, resource, per_replica, replicas, node_selector, tolerations}."""
    found = []
    for service in planned["services"]:
        for server in service["servers"]:
            limits = server["resources"].get("limits", {})
            for resource in {facts["resource"] for facts in ACCELERATORS.values()} | {key for key in limits if "/" in key}:
                if resource in limits:
                    found.append(
                        {
                            "service": service["name"],
                            "resource": resource,
                            "per_replica": int(limits[resource]),
                            "replicas": server["replicas"],
                            "labels": _labels(server),
                            "tolerations": server["tolerations"],
                        }
                    )
    return sorted(found, key=lambda item: (item["service"], item["resource"]))


def _labels(server: Facts) -> Facts:
    """Node labels that a server needs, with the product of its affinity."""
    labels = dict(server["node_selector"])
    node = server["affinity"].get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    for term in node.get("nodeSelectorTerms", []):
        labels.update({match["key"]: match["values"][0] for match in term["matchExpressions"]})
    return labels


def _resources(planned: Facts) -> list[Facts]:
    """Requests of every pod: {name, replicas, requests, limits}."""
    found = []
    for service in planned["services"]:
        for part in (*service["servers"], service["scheduler"]):
            found.append(
                {
                    "name": part["name"],
                    "replicas": part["replicas"],
                    "requests": {key: str(value) for key, value in part["resources"].get("requests", {}).items()},
                    "limits": {key: str(value) for key, value in part["resources"].get("limits", {}).items()},
                }
            )
    return found


def _secrets(planned: Facts, user: Facts) -> list[Facts]:
    """Secrets that must be there: {name, namespace, key, path}."""
    home = planned["namespace"]
    made = [secret["metadata"]["name"] for secret in planned["secrets"]["present"]]
    if planned["scope"] == "prerequisites":
        return []
    found = [
        {"name": name, "namespace": home, "key": ".dockerconfigjson", "path": f"llm_d_image_pull_secrets[{index}]"}
        for index, name in enumerate(user["llm_d_image_pull_secrets"])
    ]
    for index, service in enumerate(user["llm_d_model_services"]):
        if service["model"]["token_secret"]:
            model = service["model"]
            found.append(
                {"name": model["token_secret"], "namespace": home, "key": model["token_key"], "path": f"llm_d_model_services[{index}].model.token_secret"}
            )
    for listener in planned["gateway"]["listeners"]:
        if listener["tls_secret"]:
            found.append({**listener["tls_secret"], "key": "tls.crt", "path": "llm_d_gateway.listener.tls_secret"})
    return [wanted for wanted in found if wanted["name"] not in made or wanted["namespace"] != home]


def _claims(planned: Facts, user: Facts) -> list[Facts]:
    found = []
    for index, service in enumerate(user["llm_d_model_services"] if planned["scope"] != "prerequisites" else []):
        uri = service["model"]["uri"] or ""
        if uri.startswith("pvc://"):
            found.append({"name": uri.split("://", 1)[1].split("/", 1)[0], "path": f"llm_d_model_services[{index}].model.uri"})
    return found


def _rights(planned: Facts) -> list[Facts]:
    """Every right that the roles use, each as an access review asks for it."""
    home, rest = planned["namespace"], planned["scope"] != "prerequisites"
    written = _cluster_wide(planned) + (_in_namespaces(planned) if rest else [])
    found = [(verb, group, resource, namespace) for namespace, group, resource in written for verb in _VERBS]
    if rest:
        found += [(verb, group, resource, home) for verb, group, resource in _READ]
        found += _handed_on(planned)
    rights = [{"verb": verb, "group": group, "resource": resource, "namespace": namespace} for verb, group, resource, namespace in dict.fromkeys(found)]
    return rights + _secret_rights(planned)


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


def _in_namespaces(planned: Facts) -> list[tuple[str, str, str]]:
    """What is written outside of the cluster's own room, as (namespace, group, resource)."""
    gateway, home = planned["gateway"], planned["namespace"]
    facts = GATEWAY_PROVIDERS[gateway["provider"]]
    kinds = [(home, group, resource) for group, resource in _WRITTEN]
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
