"""Stand-ins for istiod and the router of OpenShift: an Envoy for each Gateway, configured from routes, pools and DestinationRules; Routes are admitted."""

from __future__ import annotations

import hashlib
import json
import typing as t

import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.gateways import standalone as envoy
from api import Api, condition

Facts = dict[str, t.Any]
CONTROLLER = "openshift.io/gateway-controller/v1"
GATEWAY_API = "gateway.networking.k8s.io"
ROOT = f"/apis/{GATEWAY_API}/v1"
HEADER = "x-gateway-destination-endpoint"
IMAGE = "docker.io/envoyproxy/envoy:distroless-v1.39.1"
TYPE = "type.googleapis.com/envoy"
EXT_PROC = {"destination_header": HEADER, "body_mode": "FULL_DUPLEX_STREAMED", "message_timeout": "1000s"}
DOMAIN = "svc.cluster.local"


def step(api: Api) -> None:
    """Reconcile each object once."""
    classes = [item for item in api.items(f"{ROOT}/gatewayclasses") if item["spec"]["controllerName"] == CONTROLLER]
    for item in classes:
        accepted = condition("Accepted", True, "Accepted", "Handled by the stand-in of OpenShift's controller", item["metadata"]["generation"])
        api.status({**item, "apiVersion": f"{GATEWAY_API}/v1", "kind": "GatewayClass"}, {"conditions": [accepted]})
    names = {item["metadata"]["name"] for item in classes}
    routes = api.items(f"{ROOT}/httproutes")
    for item in api.items(f"{ROOT}/gateways"):
        if item["spec"]["gatewayClassName"] in names and not item["metadata"].get("deletionTimestamp"):
            _gateway(api, {**item, "apiVersion": f"{GATEWAY_API}/v1", "kind": "Gateway"}, routes)
    for item in api.items("/apis/route.openshift.io/v1/routes"):
        _admit(api, {**item, "apiVersion": "route.openshift.io/v1", "kind": "Route"})


def _gateway(api: Api, gateway: Facts, routes: list[Facts]) -> None:
    """Apply the proxy of a Gateway, and write the status of the Gateway and of its routes once the proxy runs with them."""
    home, generation = gateway["metadata"]["namespace"], gateway["metadata"]["generation"]
    name = f"{gateway['metadata']['name']}-{gateway['spec']['gatewayClassName']}"
    parameters = gateway["spec"].get("infrastructure", {}).get("parametersRef")
    given = api.find(f"/api/v1/namespaces/{home}/configmaps/{parameters['name']}") if parameters else {"data": {}}
    if given is None:
        api.status(gateway, {"conditions": [condition("Accepted", False, "InvalidParameters", f"no ConfigMap {parameters['name']}", generation)]})
        return
    mine = [item for item in routes if _leads_here(item, gateway)]
    backends = {item["metadata"]["name"]: _backend(api, item) for item in mine}
    served = [(item, backends[item["metadata"]["name"]]) for item in mine if backends[item["metadata"]["name"]]]
    for item in _proxy(gateway, name, yaml.safe_load(given["data"].get("service", "{}")), bootstrap(served)):
        api.apply(item, "istiod")
    done = _rolled_out(api, f"/apis/apps/v1/namespaces/{home}/deployments/{name}")
    listeners = [
        {
            "name": listener["name"],
            "attachedRoutes": len(mine),
            "supportedKinds": [{"group": GATEWAY_API, "kind": "HTTPRoute"}],
            "conditions": [condition(kind, kind != "Programmed" or done, kind, "", generation) for kind in ("Accepted", "Programmed", "ResolvedRefs")],
        }
        for listener in gateway["spec"]["listeners"]
    ]
    # As istiod does for a Service without an external address.
    address = [{"type": "Hostname", "value": f"{name}.{home}.{DOMAIN}"}]
    conditions = [condition("Accepted", True, "Accepted", "", generation), condition("Programmed", done, "Programmed" if done else "Pending", "", generation)]
    api.status(gateway, {"addresses": address, "conditions": conditions, "listeners": listeners})
    for item in mine:
        _report(api, item, gateway, backends[item["metadata"]["name"]], done)


def _leads_here(route: Facts, gateway: Facts) -> bool:
    home = route["metadata"]["namespace"]
    wanted = (gateway["metadata"]["name"], gateway["metadata"]["namespace"])
    return any((parent["name"], parent.get("namespace", home)) == wanted for parent in route["spec"].get("parentRefs", []))


def _backend(api: Api, route: Facts) -> Facts | None:
    """The endpoint picker of a route's pool: {pool, address, port, tls, open}; None where an object is missing."""
    reference = route["spec"]["rules"][0]["backendRefs"][0]
    home = reference.get("namespace", route["metadata"]["namespace"])
    pool = api.find(f"/apis/{reference['group']}/v1/namespaces/{home}/inferencepools/{reference['name']}") if reference["kind"] == "InferencePool" else None
    if not pool:
        return None
    picker = pool["spec"]["endpointPickerRef"]
    service = api.find(f"/api/v1/namespaces/{home}/services/{picker['name']}")
    if not service:
        return None
    rules = api.items(f"/apis/networking.istio.io/v1/namespaces/{home}/destinationrules")
    host = f"{picker['name']}.{home}.{DOMAIN}"
    tls = any(rule["spec"]["host"] == host and rule["spec"]["trafficPolicy"]["tls"]["mode"] == "SIMPLE" for rule in rules)
    return {
        "pool": {**pool, "apiVersion": f"{reference['group']}/v1", "kind": "InferencePool"},
        "address": service["spec"]["clusterIP"],
        "port": picker["port"]["number"],
        "tls": tls,
        "open": picker.get("failureMode") == "FailOpen",
    }


def bootstrap(served: list[tuple[Facts, Facts]]) -> Facts:
    """Envoy's configuration: the endpoint picker of its pool chooses the server of each route's requests. Pure."""
    configuration = envoy.configuration(EXT_PROC, 0)
    manager = configuration["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    strip, ask, router = manager["http_filters"]
    servers, picker, admin = configuration["static_resources"]["clusters"]
    filters, entries, clusters = [strip], [], [servers, admin]
    for route, backend in sorted(served, key=lambda pair: -len(_prefix(pair[0]))):
        name = f"{route['metadata']['namespace']}.{route['metadata']['name']}"
        typed = {**ask["typed_config"], "grpc_service": {"envoy_grpc": {"cluster_name": name}, "timeout": "10s"}}
        filters.append({"name": f"ext_proc.{name}", "disabled": True, "typed_config": typed})
        switch = {f"ext_proc.{name}": {"@type": f"{TYPE}.extensions.filters.http.ext_proc.v3.ExtProcPerRoute", "overrides": {}}}
        action: Facts = {"cluster": "servers", "timeout": "0s"}
        rewrites = [each["urlRewrite"]["path"]["replacePrefixMatch"] for each in route["spec"]["rules"][0].get("filters", []) if each["type"] == "URLRewrite"]
        if rewrites:
            action["regex_rewrite"] = {"pattern": {"regex": f"^{_prefix(route)}/*"}, "substitution": rewrites[0]}
        prefix = _prefix(route).rstrip("/")
        entries.append({"match": {"path_separated_prefix": prefix} if prefix else {"prefix": "/"}, "route": action, "typed_per_filter_config": switch})
        clusters.append(_picker(picker, name, backend))
    manager["http_filters"] = [*filters, router]
    manager["route_config"]["virtual_hosts"][0]["routes"] = entries
    configuration["static_resources"]["clusters"] = clusters
    return configuration


def _prefix(route: Facts) -> str:
    return route["spec"]["rules"][0]["matches"][0]["path"]["value"]


def _picker(template: Facts, name: str, backend: Facts) -> Facts:
    endpoint = {"endpoint": {"address": {"socket_address": {"address": backend["address"], "port_value": backend["port"]}}}}
    cluster = {**template, "name": name, "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]}}
    if backend["tls"]:
        context = {"@type": f"{TYPE}.extensions.transport_sockets.tls.v3.UpstreamTlsContext", "common_tls_context": {"alpn_protocols": ["h2"]}}
        cluster["transport_socket"] = {"name": "envoy.transport_sockets.tls", "typed_config": context}
    return cluster


def _proxy(gateway: Facts, name: str, wished: Facts | None, configuration: Facts) -> list[Facts]:
    """ConfigMap, Deployment and Service of a proxy, for restricted pod security. The Gateway owns them."""
    metadata = gateway["metadata"]
    labels = {f"{GATEWAY_API}/gateway-name": metadata["name"]}
    owner = {"apiVersion": gateway["apiVersion"], "kind": "Gateway", "name": metadata["name"], "uid": metadata["uid"]}
    meta = {"name": name, "namespace": metadata["namespace"], "labels": labels, "ownerReferences": [owner]}
    text = json.dumps(configuration, sort_keys=True)
    container = {
        "name": "istio-proxy",
        "image": IMAGE,
        "args": ["--config-path", f"{envoy.FOLDER}/{envoy.KEY}", "--disable-hot-restart", "--log-level", "warn"],
        "ports": [{"name": "proxy", "containerPort": envoy.PORT}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": envoy.READY_PORT}, "periodSeconds": 1},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "config", "mountPath": envoy.FOLDER}],
    }
    pod = {
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": name}}],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    }
    notes = {"standin/configuration": hashlib.sha256(text.encode()).hexdigest()}
    ports = [{"name": each["name"], "port": each["port"], "targetPort": envoy.PORT} for each in gateway["spec"]["listeners"]]
    kind = (wished or {}).get("spec", {}).get("type", "LoadBalancer")
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {envoy.KEY: text}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels, "annotations": notes}, "spec": pod}},
        },
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"type": kind, "selector": labels, "ports": ports}},
    ]


def _rolled_out(api: Api, path: str) -> bool:
    """Whether each pod of the Deployment has the newest configuration and is ready."""
    deployment = api.call("GET", path)
    status, wanted = deployment.get("status", {}), deployment["spec"]["replicas"]
    counts = [status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")]
    return status.get("observedGeneration", 0) >= deployment["metadata"]["generation"] and counts == [wanted] * 3


def _report(api: Api, route: Facts, gateway: Facts, backend: Facts | None, done: bool) -> None:
    """Write the status of a route and its pool, which are accepted once the proxy has them."""
    generation = route["metadata"]["generation"]
    resolved = condition("ResolvedRefs", bool(backend), "ResolvedRefs" if backend else "BackendNotFound", "", generation)
    parent = next(each for each in route["spec"]["parentRefs"] if each["name"] == gateway["metadata"]["name"])
    if backend and not done:
        return
    status = {"controllerName": CONTROLLER, "parentRef": parent, "conditions": [condition("Accepted", True, "Accepted", "", generation), resolved]}
    api.status({**route, "apiVersion": f"{GATEWAY_API}/v1", "kind": "HTTPRoute"}, {"parents": [status]})
    if backend:
        pool = backend["pool"]
        pool_generation = pool["metadata"]["generation"]
        reference = {"group": GATEWAY_API, "kind": "Gateway", "name": gateway["metadata"]["name"], "namespace": gateway["metadata"]["namespace"]}
        conditions = [condition("Accepted", True, "Accepted", "", pool_generation), condition("ResolvedRefs", True, "ResolvedRefs", "", pool_generation)]
        api.status(pool, {"parents": [{"controllerName": CONTROLLER, "parentRef": reference, "conditions": conditions}]})


def _admit(api: Api, route: Facts) -> None:
    """Admit a Route, and assign a host where it has none."""
    host = route["spec"].get("host") or f"{route['metadata']['name']}-{route['metadata']['namespace']}.apps.shape.local"
    admitted = {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    api.status(route, {"ingress": [{"host": host, "routerName": "default", "wildcardPolicy": "None", "conditions": [admitted]}]})
