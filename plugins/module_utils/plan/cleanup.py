# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to prune: objects of other gateway providers, schedulers and layouts, removed once the present ones serve and only with our labels. Pure."""

from __future__ import annotations

import typing as t

from ..common.labels import PART_OF
from ..common.objects import Facts
from ..releases.gateways import GATEWAY_PROVIDERS, POOL_GROUPS, variants
from .charts import chart_namespace, hook_objects
from .endpoint_picker import events_service, pods_service
from .gateway import GROUP, default_name, shared
from .gateway_policies import service_policies
from .monitoring import VARIABLE as MONITORING
from .monitoring import switched as switched_monitoring
from .multi_node import other_kind

_GATEWAY_V1 = f"{GROUP}/v1"


def to_prune(services: t.Sequence[Facts], user: Facts, gateway: Facts, objects: t.Sequence[Facts], more_controllers: t.Sequence[Facts]) -> Facts:
    """What other gateway providers have, to prune where it has our labels.

    {objects: in the order of their creation, namespaces: a reference to ours, controllers: [{provider, names, classes, namespace, charts}],
    shared: the same controllers as the module controller_use takes them}. objects: further objects; more_controllers: further controllers.
    """
    own = {
        (item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]) for service in services for item in _of_present_provider(service, user, gateway)
    }
    found = _classes(user, gateway) + _gateways(user, gateway)
    found += [item for service in services for item in _of_service(service, user, gateway)]
    unique = {(item["apiVersion"], *_key(item)): item for item in found if _key(item) not in own}
    controllers = _controllers(user, gateway)
    shared = _shared(gateway) if controllers else []
    controllers += list(more_controllers) if user["llm_d_scope"] == "cluster" else []
    return {
        "objects": list(unique.values()) + list(objects),
        "namespaces": own_namespaces(user) if controllers else [],
        "controllers": controllers,
        "shared": shared,
    }


def own_namespaces(user: Facts) -> list[Facts]:
    """A reference to all namespaces with our label."""
    return [{"api_version": "v1", "kind": "Namespace", "label_selector": f"{PART_OF}={user['llm_d_instance']}"}]


def _key(item: Facts) -> tuple[str, str, str]:
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _definition(api_version: str, kind: str, name: str, namespace: str | None) -> Facts:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _other_providers(gateway: Facts) -> list[tuple[str, Facts]]:
    return [(name, facts) for name, facts in GATEWAY_PROVIDERS.items() if name != gateway["provider"]]


def _classes(user: Facts, gateway: Facts) -> list[Facts]:
    """GatewayClasses of other providers; they are cluster-wide, so only with scope cluster."""
    if user["llm_d_scope"] != "cluster":
        return []
    names = {name: None for _provider, facts in _other_providers(gateway) for name in facts["classes"] if name != gateway["class_name"]}
    return [_definition(_GATEWAY_V1, "GatewayClass", name, None) for name in names]


def _gateways(user: Facts, gateway: Facts) -> list[Facts]:
    """Gateways of other providers under the names that we give them, with their parameters, grants and Routes. One with the present name stays."""
    found = []
    for provider, facts in _other_providers(gateway):
        name = user["llm_d_gateway"]["name"] or default_name(provider)
        kinds = list(facts["parameters"])
        if name != gateway["name"] or not gateway["create"]:
            kinds.append((_GATEWAY_V1, "Gateway"))
        mine = {kind for _version, kind in GATEWAY_PROVIDERS[gateway["provider"]]["parameters"]} if name == gateway["name"] else set()
        if facts["gateway_api"]:
            if name != gateway["name"]:
                found += [_definition(f"{GROUP}/v1beta1", "ReferenceGrant", grant, place) for grant, place in _grants(name, user, gateway)]
            if provider == "openshift":
                found.append(_definition("route.openshift.io/v1", "Route", name, gateway["namespace"]))
            found += [_definition(version, kind, name, gateway["namespace"]) for version, kind in kinds if kind not in mine]
    return found


def _grants(name: str, user: Facts, gateway: Facts) -> list[tuple[str, str]]:
    """(name, namespace) of the ReferenceGrants of a Gateway of this name."""
    secrets = [(f"{name}-{listener['name']}", listener["tls_secret"]["namespace"]) for listener in gateway["listeners"] if listener["tls_secret"]]
    return [(f"{name}-routes", user["llm_d_namespace"]), *secrets]


def _of_present_provider(service: Facts, user: Facts, gateway: Facts) -> list[Facts]:
    """Policies that the present provider has for the endpoint picker of a service."""
    made = service_policies(service, user, gateway, "FailClose")
    found = [_definition("", "DestinationRule", rule["name"], user["llm_d_namespace"]) for rule in made["rules"]]
    if made["filter"]:
        found.append(_definition("", "EnvoyFilter", made["filter"]["name"], made["filter"]["namespace"]))
    fixed = [kind for _version, kind in GATEWAY_PROVIDERS[gateway["provider"]]["policies"] if kind not in ("DestinationRule", "EnvoyFilter")]
    places = {"EnvoyExtensionPolicy": gateway["routes_namespace"], "BackendTrafficPolicy": gateway["routes_namespace"]}
    return found + [_definition("", kind, f"{service['name']}-epp", places.get(kind, user["llm_d_namespace"])) for kind in fixed]


def _of_service(service: Facts, user: Facts, gateway: Facts) -> list[Facts]:
    """Policies, routes and pools of a service with any provider; the caller drops those of the present one."""
    home, routes, name = user["llm_d_namespace"], gateway["routes_namespace"], service["name"]
    found = []
    for facts in GATEWAY_PROVIDERS.values():
        for version, kind in facts["policies"]:
            if kind == "DestinationRule":
                found += [_definition(version, kind, each, home) for each in (f"{name}-epp", name)]
            elif kind == "EnvoyFilter":
                filter_name = f"{name}-epp" if gateway["namespace"] == home else f"{home}-{name}-epp"
                found.append(_definition(version, kind, filter_name, gateway["namespace"]))
            else:
                place = routes if kind in ("EnvoyExtensionPolicy", "BackendTrafficPolicy") else home
                found.append(_definition(version, kind, f"{name}-epp", place))
    if gateway["connection"] == "sidecar":
        found.append(_definition(_GATEWAY_V1, "HTTPRoute", name, routes))
        if not gateway["pool"]:
            found.append(_definition(f"{POOL_GROUPS['v1']}/v1", "InferencePool", name, home))
    else:
        found += [_definition("v1", kind, f"{name}-gateway", home) for kind in ("Service", "ConfigMap")]
    if not gateway["picker_by_name"]:
        found.append(_definition("v1", "Service", pods_service(service), home))
    other = "v1alpha2" if gateway["pool_version"] == "v1" else "v1"
    found.append(_definition(f"{POOL_GROUPS[other]}/{other}", "InferencePool", name, home))
    return found


def _controllers(user: Facts, gateway: Facts) -> list[Facts]:
    """Controllers of other providers, ours to remove where their namespace has our labels. Charts are uninstalled in reverse order.

    One in a namespace of the present controllers stays: the present release has its name and has replaced it.
    """
    if user["llm_d_scope"] != "cluster":
        return []
    present = {each["namespace"] for each in gateway["controllers"]}
    found = []
    for provider, facts in _other_providers(gateway):
        rows = [(row, [chart for chart in reversed(row["charts"]) if chart_namespace(row, chart) not in present]) for row in variants(facts)]
        for namespace in dict.fromkeys(chart_namespace(row, chart) for row, charts in rows for chart in charts):
            here = [(row, [chart for chart in charts if chart_namespace(row, chart) == namespace]) for row, charts in rows]
            here = [(row, charts) for row, charts in here if charts]
            found.append(
                {
                    "provider": provider,
                    "names": [row["controller_name"] for row, _charts in here],
                    "classes": [name for row, _charts in here for name in row["default_classes"] if name != gateway["class_name"]],
                    "namespace": namespace,
                    "charts": [
                        {"release_name": chart["release_name"], "namespace": namespace, "hook_objects": hook_objects(chart, namespace)}
                        for _row, charts in here
                        for chart in charts
                    ],
                }
            )
    return found


def _shared(gateway: Facts) -> list[Facts]:
    """Controllers of other providers, whose users are checked before removal. One with the present controller's name is not: its classes stay in use."""
    rows = [row for _provider, facts in _other_providers(gateway) if facts["charts"] for row in variants(facts)]
    found = [{**each, "class_name": row["class_name"]} for row in rows if row["controller_name"] != gateway["controller_name"] for each in shared(row)]
    return [each for index, each in enumerate(found) if each not in found[:index]]


def service_objects_to_prune(service: Facts, servers: list[Facts], required: Facts) -> list[Facts]:
    """Objects to prune: those that another scheduler configuration, number of nodes or service account of this service would have."""
    found = [other_kind(servers[0])]  # prefill servers are on one node always
    if "prefill" not in [server["role"] for server in servers]:
        found.append({"api_version": "apps/v1", "kind": "Deployment", "name": f"{service['name']}-prefill"})
    if service["service_account"]:
        found.append({"api_version": "v1", "kind": "ServiceAccount", "name": service["name"]})
    return found + ([] if required["epp"]["ports"] else [{"api_version": "v1", "kind": "Service", "name": events_service(service)}])


def scheduler_objects(service: Facts, user: Facts) -> list[Facts]:
    """References to all objects that another scheduler configuration of this service may change, create or prune."""
    name = service["name"]
    kinds = [("v1", "ConfigMap", f"{name}-epp"), ("v1", "Service", f"{name}-epp"), ("v1", "Service", events_service(service))]
    kinds += [("apps/v1", "Deployment", f"{name}-{part}") for part in ("epp", "decode", "prefill")]
    kinds += switched_monitoring(name, user[MONITORING])
    return [{"apiVersion": version, "kind": kind, "metadata": {"name": each, "namespace": user["llm_d_namespace"]}} for version, kind, each in kinds]
