# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan asks of the cluster that it shall run on, for the look before anything is touched. Pure."""

from __future__ import annotations

import typing as t

from .plan_rights import rights
from .plan_weights import BUCKET_KEYS
from .versions import ACCELERATORS
from .versions_gateways import GATEWAY_API, GATEWAY_PROVIDERS, INFERENCE_EXTENSION_MINIMUM

Facts = dict[str, t.Any]

KUBERNETES_MINIMUM = "1.29"  # native sidecars
HELM_MINIMUM = "3.8.0"  # oci:// references
LIBRARIES = {"kubernetes": "24.2.0", "yaml": "5.1"}


def needs(planned: Facts, user: Facts) -> Facts:
    """The demands of a plan, as preflight_judge wants them."""
    gateway = planned["gateway"]
    facts = GATEWAY_PROVIDERS[gateway["provider"]]
    crds = {bundle["name"]: bool(bundle["sources"]) for bundle in planned["prerequisites"]["crds"]}
    groups = planned["prerequisites"]["leader_worker_set"]
    charts = gateway["charts"] + ([groups["chart"]] if groups and groups["chart"] else [])
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
        "provider_crd": gateway["crds"]["probe"],
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
        "storage_classes": _storage_classes(planned, user),
        "leader_worker_set": _leader_worker_set(planned, crds),
        "charts": [{"name": chart["release_name"], "ref": chart["ref"]} for chart in charts],
        "definitions": [{"name": bundle["name"], "probe": bundle["probe"], "sources": bundle["sources"]} for bundle in planned["prerequisites"]["crds"]],
        "helm": user["llm_d_helm"],
        "registry": user["llm_d_image_registry"],
        "rights": rights(planned, user),
    }


def _leader_worker_set(planned: Facts, crds: Facts) -> Facts | None:
    """What is asked of LeaderWorkerSet; None where it is not needed."""
    groups = planned["prerequisites"]["leader_worker_set"]
    if not groups:
        return None
    return {
        **{key: groups[key] for key in ("install", "version", "minimum", "crd", "controller")},
        "brings_crd": crds.get("leader-worker-set", False),
    }


def _accelerators(planned: Facts) -> list[Facts]:
    """What the model servers ask for: {service, resource, per_replica (of one pod), replicas (pods), nodes (pods of one replica), labels, tolerations}."""
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
                            "replicas": server["replicas"] * server["nodes"],
                            "nodes": server["nodes"],
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
                    "replicas": part["replicas"] * part.get("nodes", 1),
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
        if service["model"]["bucket_secret"]:
            path = f"llm_d_model_services[{index}].model.bucket_secret"
            found += [{"name": service["model"]["bucket_secret"], "namespace": home, "key": key, "path": path} for key in BUCKET_KEYS]
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


def _storage_classes(planned: Facts, user: Facts) -> list[Facts]:
    """Storage classes of the claims that we make: {class_name, None for the default one, path}."""
    services = user["llm_d_model_services"] if planned["scope"] != "prerequisites" else []
    return [
        {"class_name": service["storage"]["class_name"], "path": f"llm_d_model_services[{index}].storage.class_name"}
        for index, service in enumerate(services)
        if service["storage"]["claim"]
    ]
