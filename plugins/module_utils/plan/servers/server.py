# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model servers of one service: their number, pods and routes, derived from one completed element of llm_d_model_services. Pure."""

from __future__ import annotations

import typing as t

from ...common.labels import label_selector
from ...common.objects import Facts
from ...epp.catalog.presets import ROLE_LABEL, SIDECAR_SERVER_PORT
from ...releases.deployed import ENGINE_DEFAULTS
from ...releases.lines import ACCELERATORS
from ..engines.api_keys import api_key_secret, servers_ask
from ..engines.draining import server_drain
from ..engines.engine import engine_image, vendor
from ..engines.multi_node import to_workload
from ..engines.server_arguments import as_written, served_arguments, server_environment
from ..engines.stages import of_prefill
from ..engines.weights import access_mode, volumes
from ..gateways.sharing import PIN, part, part_name, prefix, route_name, rules
from ..parts.overlays import planned_pod
from ..parts.pod_spec import PORT_NAME, container_security, front, labels_in, pod_security, pool_selector
from ..parts.tracing import server_requirements
from .caches import cache_volumes, with_caches, with_memory
from .device_claims import NAME as CLAIM
from .device_claims import device_claim
from .pod_template import overlays, pod_template

# The container port of a model server behind a routing sidecar.
ENGINE_PORT_NAME = "engine"
# Suffix of the name of the HTTPRoute that bypasses the endpoint picker.
DIRECT_SUFFIX = "-direct"


def startup_timeout(service: Facts) -> int:
    """Seconds that a server may take to load its model."""
    return int(service["engine"]["startup_timeout"] or ENGINE_DEFAULTS[service["engine"]["type"]]["startup_timeout"])


def server_targets(planned: Facts, namespace: str) -> Facts:
    """The planned servers of one role as an element of the option `replicas` of the health and warm-up modules.

    count: the expected number of servers; 1 with an autoscaler, where it is the minimum.
    """
    key = {"api_key_secret": planned["api_key_secret"]} if planned["api_key_secret"] else {}
    return {
        "namespace": namespace,
        "label_selector": label_selector(planned["selector"]),
        "port": str(planned["port"]),
        "count": 1 if planned["autoscaling"] else planned["replicas"],
        **key,
    }


def role_settings(service: Facts, role: str) -> Facts:
    """The part of the user's file that describes the servers of a role: the service itself for decode, its block `prefill` for prefill."""
    return service if role == "decode" else t.cast(Facts, service[role])


def min_replicas(service: Facts, role: str) -> int:
    """The number of servers of a role; with autoscaling, the minimum."""
    settings = role_settings(service, role)
    if settings["autoscaling"]:
        return int(settings["autoscaling"]["min"])
    return 1 if settings["replicas"] is None else int(settings["replicas"])


def max_replicas(service: Facts, role: str) -> int:
    """The maximum number of servers of a role; at least 2 with an external autoscaler, which may always add one."""
    scaling = role_settings(service, role)["autoscaling"]
    if not scaling:
        return min_replicas(service, role)
    return max(2, scaling["min"]) if scaling["provider"] == "external" else int(scaling["max"] or scaling["min"])


def server(service: Facts, user: Facts, labels: Facts, required: Facts, role: str = "decode", proxy: Facts | None = None) -> Facts:
    """The workload of the model servers of one role: a Deployment, or a LeaderWorkerSet with its `worker` where a server spans several nodes.

    required: what the scheduler configuration requires (epp/config/requirements.py). proxy: the container of the routing sidecar in front of the
    servers; with it the servers listen on `engine_port`, and the pod still on `port`.
    """
    service = of_prefill(service) if role == "prefill" else service
    engine = service["engine"]
    requirements = with_caches(service, required.get("vllm", {}))
    traced = server_requirements(service, user, f"{service['name']}-{role}")
    draining = server_drain(service, user, role)
    requirements = {**requirements, **{key: [*requirements.get(key, []), *traced[key]] for key in traced}}
    requirements["args"] = [*requirements.get("args", []), *draining.pop("args")]
    port = SIDECAR_SERVER_PORT if proxy else engine["port"]
    port_name = ENGINE_PORT_NAME if proxy else PORT_NAME
    selector = {**pool_selector(service), ROLE_LABEL: role}
    core = {
        "selector": selector,
        "labels": {**service["labels"], **required.get("pod_labels", {}), **labels, **selector},
        "args": [f"--port={port}" if argument.startswith("--port=") else argument for argument in served_arguments(service, requirements)],
        "env": server_environment(service, list(requirements.get("env", []))),
    }
    claimed = device_claim(service, f"{service['name']}-{role}", {**labels, ROLE_LABEL: role})
    pod_volumes, mounts = (of_model + of_cache for of_model, of_cache in zip(volumes(service), cache_volumes(service), strict=True))
    pod = {
        **core,
        "service_account": service["service_account"] or service["name"],
        # Our own service account has the pull secrets. A service account of the user is not changed.
        "image_pull_secrets": [{"name": name} for name in user["llm_d_image_pull_secrets"]] if service["service_account"] else [],
        "image": engine_image(service, user),
        "image_pull_policy": user["llm_d_image_pull_policy"],
        "container_ports": [
            {"name": port_name, "containerPort": port},
            *({"name": item["name"], "containerPort": item["port"]} for item in requirements.get("ports", [])),
        ],
        "init_containers": [proxy] if proxy else [],
        "probes": _probes(service, port_name),
        "pause": draining["pause"],
        "termination_grace": draining["termination_grace"],
        "device_claim": claimed["name"] if claimed else None,
        "resources": {**_resources(service), **({"claims": [{"name": CLAIM}]} if claimed else {})},
        "pod_security": pod_security(user),
        "container_security": container_security(read_only=engine["type"] == "simulator"),
        "affinity": _affinity(service),
        "volumes": pod_volumes,
        "volume_mounts": mounts,
    }
    workload, leader, worker = to_workload(service, core)
    return {
        "name": f"{service['name']}-{role}",
        "role": role,
        **workload,
        "replicas": min_replicas(service, role),
        "service_account": pod["service_account"],
        "port": engine["port"],
        "engine_port": port,
        "port_name": port_name,
        "health_path": ENGINE_DEFAULTS[engine["type"]]["health"],
        "metrics_path": ENGINE_DEFAULTS[engine["type"]]["metrics"],
        "progress_deadline": startup_timeout(service) + 60,
        "strategy": _strategy(service),
        "api_key_secret": api_key_secret(service, user["llm_d_namespace"]) if servers_ask(service) else None,
        "drain_seconds": draining["drain_seconds"],
        "device_claim": claimed if claimed and claimed["made"] else None,
        **_pod(service, role, {**pod, **leader}),
        "worker": _pod(service, role, {**pod, **worker}) if worker else None,
    }


def _pod(service: Facts, role: str, pod: Facts) -> Facts:
    """{selector, labels, args, image, and the pod template as `planned_pod` returns it}."""
    template = pod_template({**pod, "args": as_written(service, pod["args"])})
    kept = {name: pod[name] for name in ("selector", "labels", "args", "image")}
    return {**kept, **planned_pod(template, overlays(service, role, ""))}


def stage(service: Facts, planned: Facts, labels: Facts) -> Facts:
    """The Service of the servers of one role: for decode as the file configures it, for prefill named like its workload. planned: these servers."""
    role = planned["role"]
    named = front(service) if role == "decode" else {"name": planned["name"], "port": planned["port"]}
    return {
        **named,
        "labels": labels if role == "decode" else {**labels, ROLE_LABEL: role},
        "port_name": PORT_NAME,
        "selector": planned["selector"],
        # A number, since old and new pods name the same port differently during a rollout that adds or removes sidecars.
        "target_port": planned["port"],
    }


def routes(service: Facts, sharing: t.Mapping[str, Facts], gateway: Facts, home: str, labels: Facts) -> list[Facts]:
    """The HTTPRoutes of a service. `picked`: whether its endpoint picker picks servers; not on the route of route.direct_path, whose backend is the Service.

    sharing: {name: service} of the services that share requests with others. The first route is the service's own. The route of direct_path follows, then, if
    request IDs divide the requests, a route for its part of each route whose weights name it.
    """
    backends = {each["name"]: _backend(each, gateway) for each in (service, *sharing.values())}
    http_routes = [_route(service, gateway, home, labels, backends)]
    if service["route"]["direct_path"]:
        direct_service = {**service, "route": {**service["route"], "path": service["route"]["direct_path"], "weights": {}}}
        direct = _route(direct_service, {**gateway, "backend": "Service"}, home, labels, {service["name"]: _backend(service, {"backend": "Service"})})
        http_routes.append({**direct, "name": direct["name"] + DIRECT_SUFFIX, "picked": False})
    for owner in sharing.values() if gateway["weights"] == "request_id" else []:
        if owner["name"] != service["name"] and service["name"] in owner["route"]["weights"]:
            shared = _route({**service, "route": {**owner["route"], "weights": {}}}, gateway, home, labels, backends)
            headers = [*shared["headers"], part(owner["name"], owner["route"]["weights"], service["name"])]
            http_routes.append(
                {**shared, "name": part_name(owner["name"], service["name"]) + gateway["routes_suffix"], "rules": [{**shared["rules"][0], "headers": headers}]}
            )
    return http_routes


def _backend(service: Facts, gateway: Facts) -> Facts:
    if gateway["backend"] == "InferencePool":
        return {"group": gateway["pool_group"], "kind": "InferencePool", "name": service["name"], "port": service["engine"]["port"]}
    return {"group": "", "kind": "Service", **front(service)}


def _route(service: Facts, gateway: Facts, home: str, labels: Facts, backends: t.Mapping[str, Facts]) -> Facts:
    path = prefix(service, "path")
    headers = [{"name": name, "value": value} for name, value in service["route"]["headers"].items()]
    return {
        "name": route_name(service, gateway["routes_suffix"]),
        "namespace": gateway["routes_namespace"],
        "labels": labels_in(gateway["routes_namespace"], home, labels),
        "exists": gateway["gateway_api"],
        "path": path,
        "strip_prefix": path != "/",
        "hostnames": service["route"]["hostnames"],
        "headers": headers,
        "pin": {PIN: service["name"]} if service["route"]["weights"] else {},
        "backend": backends[service["name"]],
        "picked": True,
        "rules": rules(service, headers, gateway["weights"], backends),
        "timeouts": service["route"]["timeouts"] if gateway["route_timeouts"] else {},
    }


def _accelerators(service: Facts) -> Facts:
    resource = service["accelerator"]["resource"] or ACCELERATORS[vendor(service)]["resource"]
    if service["accelerator"]["claim"]:
        return {}
    one_pod = service["accelerator"]["per_replica"] // service["accelerator"]["nodes"]
    return {resource: one_pod} if resource and vendor(service) != "none" else {}


def _resources(service: Facts) -> Facts:
    given = service["resources"] or {"requests": ENGINE_DEFAULTS[service["engine"]["type"]]["requests"], "limits": None}
    given = with_memory(service, {part: given[part] or {} for part in ("requests", "limits")})
    accelerators = _accelerators(service)
    parts = {part: {**given[part], **accelerators} for part in ("requests", "limits")}
    return {part: amounts for part, amounts in parts.items() if amounts}


def _affinity(service: Facts) -> Facts:
    product = service["accelerator"]["product"]
    if not product:
        return {}
    match = {"key": ACCELERATORS[vendor(service)]["product_label"], "operator": "In", "values": [product]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [match]}]}}}


def _probes(service: Facts, port_name: str) -> Facts:
    facts = ENGINE_DEFAULTS[service["engine"]["type"]]
    check, period = {"httpGet": {"path": facts["health"], "port": port_name}}, facts["startup_period"]
    return {
        "startup": {**check, "periodSeconds": period, "failureThreshold": -(-startup_timeout(service) // period), "timeoutSeconds": 5},
        "readiness": {**check, "periodSeconds": 5, "failureThreshold": 2, "timeoutSeconds": 5},
        "liveness": {**check, "periodSeconds": 10, "failureThreshold": 6, "timeoutSeconds": 5},
    }


def _strategy(service: Facts) -> Facts:
    # A surge pod needs a spare accelerator, which is rare, and cannot mount a volume that another node uses: the rollout would never finish.
    alone = _accelerators(service) or service["accelerator"]["claim"] or (access_mode(service) or "").startswith("ReadWriteOnce")
    surge, unavailable = (0, 1) if alone else ("25%", 0)
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
