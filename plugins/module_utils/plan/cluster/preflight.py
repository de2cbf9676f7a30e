# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of a plan on the cluster, for the checks of the package preflight. Pure."""

from __future__ import annotations

from ...common.images import split_host
from ...common.objects import Facts, get_path, mapping
from ...k8s.crds import address
from ...releases.gateways import GATEWAY_API, GATEWAY_PROVIDERS, INFERENCE_EXTENSION_MINIMUM, controllers
from ...releases.lines import MINIMUM, NEWER_GROUP, OBJECTIVE_KINDS, RELEASES
from ..observability.monitoring import VARIABLE as MONITORING
from ..observability.monitoring import crds as monitoring_crds
from ..parts.charts import provider_facts
from ..parts.tracing import collector_service
from .images import needed
from .named_objects import named_objects, storage_classes
from .rbac import permissions
from .record import VARIABLE as PRUNE


def needs(planned: Facts, user: Facts) -> Facts:
    """The requirements of a plan, as preflight/report.py takes them."""
    gateway, pods = planned["gateway"], _pods(planned)
    crds = {bundle["name"]: bool(bundle["sources"]) for bundle in planned["prerequisites"]["crds"]}
    minimum = {**MINIMUM, "libraries": dict(MINIMUM["libraries"])}
    if gateway["gateway_api"]:
        minimum["gateway_api"] = GATEWAY_API["minimum"]
    if gateway["pool"]:
        minimum["inference_extension"] = INFERENCE_EXTENSION_MINIMUM
    return {
        "platform": planned["platform"],
        "scope": planned["scope"],
        "namespace": planned["namespace"],
        "namespaces": sorted({planned["namespace"], planned["scheduler_namespace"], gateway["namespace"], gateway["routes_namespace"]}),
        "made": _made(planned),
        "labels": planned["labels"],
        "adopt": user["llm_d_adopt"],
        "removes_services": user[PRUNE]["services"],
        "projects": planned["prerequisites"]["projects"],
        "run_as_user": user["llm_d_run_as_user"],
        "minimum": minimum,
        "installs": {
            "gateway_api": crds.get("gateway-api", False),
            "inference_extension": crds.get("inference-extension", False),
            "controller": gateway["install"],
            "accelerators": planned["gpus"]["active"] and planned["gpus"]["install"],
        },
        "rewrites": sorted({f"inferencemodelrewrites.{each['rewrites']['api_version'].partition('/')[0]}" for each in planned["services"] if each["rewrites"]}),
        "provider_crd": gateway["crds"]["probe"],
        "monitors": _monitors(planned, user),
        "issues": planned["gateway"]["create"] and bool(planned["gateway"]["annotations"]),
        "user_workload_monitoring": any(service["monitors"] for service in planned["services"]),
        "collector": collector_service(user),
        "gateway": _gateway(gateway, user),
        "pods": pods,
        "resources": [pod for pod in pods if pod["namespace"] == planned["namespace"]],  # those that quotas and limits of the namespace count
        "node_autoscaler": user["llm_d_preflight"]["node_autoscaler"],
        "named": named_objects(planned, user),
        "storage_classes": storage_classes(planned, user),
        "autoscaling": _autoscaling(planned),
        "leader_worker_set": _leader_worker_set(planned, crds),
        "devices": _devices(planned),
        "gpu_operator": _gpu_operator(planned["gpus"], user),
        "charts": _charts(planned),
        "objectives": _objectives(planned, user),
        "definitions": [
            {**{key: bundle[key] for key in ("name", "version", "probe")}, "sources": [address(source) for source in bundle["sources"]]}
            for bundle in planned["prerequisites"]["crds"]
        ],
        "helm": user["llm_d_helm"],
        "wait": user["llm_d_preflight"]["wait"],  # seconds
        "registries": _registries(planned, user),
        # An image with <system> is the driver, whose tag depends on the nodes.
        "images": {
            "names": [name for name in needed(planned)["images"] if "<" not in name],
            "severity": user["llm_d_preflight"]["images"],
            "pull_secrets": list(user["llm_d_image_pull_secrets"]),
        },
        "permissions": permissions(planned, user),
    }


def _objectives(planned: Facts, user: Facts) -> Facts | None:
    """{brings: kinds that the CRDs to install serve in the newer group}; None for endpoint pickers that read only the older group."""
    if not RELEASES[user["llm_d_release"]]["newer_group"]:
        return None
    sources = [address(source) for bundle in planned["prerequisites"]["crds"] for source in bundle["sources"]]
    return {"brings": [kind for kind in OBJECTIVE_KINDS if any(f"{NEWER_GROUP}_{kind}" in source for source in sources)]}


def _gateway(gateway: Facts, user: Facts) -> Facts:
    """Requirements of the Gateway, its class and its controller."""
    facts = provider_facts(user)
    planned = (
        "provider",
        "gateway_api",
        "pool",
        "create",
        "name",
        "namespace",
        "class_name",
        "create_class",
        "controller_name",
        "service_type",
        "pool_version",
        "pool_group",
        "backend",
        "controller",
        "version",
    )
    extension = {key: value for key, value in (gateway["extension"] or {}).items() if key != "crds"}
    return {
        **{key: gateway[key] for key in planned},
        "controllers": [
            {**each, **({"image": gateway["controller_image"], "version": gateway["version"]} if each == gateway["controller"] else extension)}
            for each in gateway["controllers"]
        ],
        "rivals": _rivals(gateway),
        "minimum": facts["minimum"],
        "below": facts["below"],
        "route": bool(gateway["openshift_route"]),
        "requested_version": user["llm_d_gateway"]["version"],
        "releases": [chart["release_name"] for chart in gateway["charts"]],
    }


def _rivals(gateway: Facts) -> list[Facts]:
    """Other providers that install the same controller with another extension: {provider, extension: {namespace, name}, None without one}.

    A Helm release has the values of only one provider, so instances with both cannot share a cluster.
    """
    if not gateway["install"] or not gateway["controller"]:
        return []
    return [
        {"provider": name, "extension": {"namespace": row["extension"]["namespace"], **row["extension"]["controller"]} if row["extension"] else None}
        for name, row in GATEWAY_PROVIDERS.items()
        if gateway["controller"] in controllers(row) and bool(row["extension"]) != bool(gateway["extension"])
    ]


def _made(planned: Facts) -> list[str]:
    """Namespaces that we create if they do not exist."""
    gpus = planned["gpus"]
    return [item["name"] for item in planned["prerequisites"]["namespaces"] + (gpus["namespaces"] if gpus["active"] else [])]


def _monitors(planned: Facts, user: Facts) -> list[Facts]:
    """CRDs of Prometheus and Perses objects in the plan: {crd, what: their purpose, option: of the user's file, operator, instead: what to write}."""
    rows = [(crd, purpose, f"{MONITORING}.{option}") for crd, purpose, option in monitoring_crds(planned["services"])]
    if planned["gpus"]["active"] and user["llm_d_gpus"]["metrics"]:
        rows.append(("servicemonitors.monitoring.coreos.com", "GPUs are to be scraped", "llm_d_gpus.metrics"))
    return [_monitor(*row) for row in rows]


def _monitor(crd: str, purpose: str, option: str) -> Facts:
    block, _dot, name = option.partition(".")
    instead = "take 'perses' out of dashboards" if name == "dashboards" else f"write '{name}: false'"
    return {
        "crd": crd,
        "what": purpose,
        "option": option,
        "operator": "Perses" if name == "dashboards" else "Prometheus",
        "instead": f"{instead} under {block}",
    }


def _charts(planned: Facts) -> list[Facts]:
    """Each chart that may have to be installed: {name, ref, brings: the key of the facts that says whether it is installed}."""
    groups, gpus = planned["prerequisites"]["leader_worker_set"], planned["gpus"]
    charts = [(chart, "controllers") for chart in planned["gateway"]["charts"]]
    charts += [(groups["chart"], "leader_worker_set")] if groups and groups["chart"] else []
    charts += [(gpus["chart"], "gpu_operator")] if gpus["active"] and gpus["chart"] else []
    return [{"name": chart["release_name"], "ref": chart["repo"] or chart["ref"], "brings": brings} for chart, brings in charts]


def _registries(planned: Facts, user: Facts) -> list[str]:
    """Registry hosts of the images."""
    return sorted({split_host(name)[0] for name in needed(planned)["images"]})


def _gpu_operator(gpus: Facts, user: Facts) -> Facts | None:
    """Requirements of the GPU operator; None without an operator that reports its state in an object."""
    if not gpus["active"] or not gpus["ready"]:
        return None
    requirement = {key: gpus["ready"][key] for key in ("api_version", "kind")} | {"version": (gpus["chart"] or {}).get("version")}
    requirement["named"] = bool(user["llm_d_gpus"]["version"])
    return {"install": gpus["install"], "by_chart": bool(gpus["chart"]), "namespace": gpus["namespace"], **requirement}


def _leader_worker_set(planned: Facts, crds: Facts) -> Facts | None:
    """Requirements of the LeaderWorkerSet controller; None if it is not needed."""
    groups = planned["prerequisites"]["leader_worker_set"]
    if not groups:
        return None
    return {
        **{key: groups[key] for key in ("install", "version", "minimum", "crd", "controller")},
        "brings_crd": crds.get("leader-worker-set", False),
    }


def _autoscaling(planned: Facts) -> Facts:
    """{API group that autoscalers need: names of the services that use it}."""
    names: dict[str, list[str]] = {}
    for service in planned["services"]:
        for group in sorted({group for server in service["servers"] if server["autoscaling"] for group in server["autoscaling"]["asks"]}):
            names.setdefault(group, []).append(service["name"])
    return names


def _labels(spec: Facts) -> Facts:
    """Node labels that a pod requires: its node selector, and labels that its affinity requires without an alternative, such as the product."""
    labels = dict(spec.get("nodeSelector") or {})
    node = mapping(get_path(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"))
    terms = node.get("nodeSelectorTerms") or []
    matches = terms[0].get("matchExpressions") or [] if len(terms) == 1 else []
    return labels | {match["key"]: match["values"][0] for match in matches if match["operator"] == "In" and len(match.get("values") or []) == 1}


def _pods(planned: Facts) -> list[Facts]:
    """Each workload that we create: {name, service, server: whether it is of model servers, namespace, replicas: number of pods, nodes: pods of a replica,
    option, labels, tolerations, priority_class, containers}.

    option: of the user's file, with its resources; containers: [{name, sums: whether it runs at the same time as the others, requests, limits}].
    """
    pods = []
    for service in planned["services"]:
        parts = [(server, "resources") for server in service["servers"]]
        parts += [(service["scheduler"], "scheduler.resources"), (service["cache_server"], "cache.shared.resources"), (service["warmup_job"], "resources")]
        for part, option in parts:
            if not part:
                continue
            spec = part["template"]["spec"]
            (main, *others), sidecars = spec["containers"], spec.get("initContainers") or []
            additional = [(each, True) for each in others] + [(each, each.get("restartPolicy") == "Always") for each in sidecars]
            pods.append(
                {
                    "name": part["name"],
                    "service": service["name"],
                    "server": part in service["servers"],
                    "namespace": part.get("namespace", planned["namespace"]),
                    "replicas": part["replicas"] * part.get("nodes", 1),
                    "nodes": part.get("nodes", 1),
                    "option": f"{option} of {service['name']}",
                    "labels": _labels(spec),
                    "tolerations": spec.get("tolerations") or [],
                    "priority_class": spec.get("priorityClassName"),
                    "containers": [
                        _container(part["name"], main.get("resources"), True),
                        *(_container(f"{part['name']}/{each['name']}", each.get("resources"), sums) for each, sums in additional),
                    ],
                }
            )
    return pods


def _devices(planned: Facts) -> list[Facts]:
    """Device claims of the pods of servers: [{device_class: empty for a template of the user, count: devices of all pods, 0 if not known}]."""
    claims = []
    for server in (server for service in planned["services"] for server in service["servers"]):
        made = server["device_claim"]
        exactly = made["made"]["spec"]["spec"]["devices"]["requests"][0]["exactly"] if made else {"deviceClassName": "", "count": 0}
        if made or server["ours"]["spec"].get("resourceClaims"):
            claims.append({"device_class": exactly["deviceClassName"], "count": exactly["count"] * server["replicas"] * server["nodes"]})
    return claims


def _container(name: str, resources: Facts | None, sums: bool) -> Facts:
    stated = {part: {key: str(value) for key, value in (resources or {}).get(part, {}).items()} for part in ("requests", "limits")}
    return {"name": name, "sums": sums, **stated}
