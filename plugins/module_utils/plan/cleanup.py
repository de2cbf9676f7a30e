# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What another provider would have left behind: removed when the present one serves, if it bears our labels. Pure."""

from __future__ import annotations

import typing as t

from ..common.labels import PART_OF
from ..releases.gateways import GATEWAY_PROVIDERS, POOL_GROUPS
from .charts import hook_leftovers
from .endpoint_picker import events_service
from .gateway import GROUP, default_name, shared
from .gateway_policies import service_policies
from .monitoring import API_VERSION, KIND
from .multi_node import other_kind

Facts = dict[str, t.Any]
_GATEWAY_V1 = f"{GROUP}/v1"


def leftovers(services: t.Sequence[Facts], user: Facts, gateway: Facts, unwanted: t.Sequence[Facts], retired: t.Sequence[Facts]) -> Facts:
    """{objects: definitions in the order of their creation, namespaces: a reference to ours, controllers: [{provider, names, classes, namespace, charts}],
    shared: these controllers as the module controller_use wants them}.

    unwanted: further objects, retired: further controllers.
    """
    own = {(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]) for service in services for item in _present(service, user, gateway)}
    found = _classes(user, gateway) + _gateways(user, gateway)
    found += [item for service in services for item in _of_service(service, user, gateway)]
    unique = {(item["apiVersion"], *_key(item)): item for item in found if _key(item) not in own}
    controllers = _controllers(user, gateway)
    shared = _shared(gateway) if controllers else []
    controllers += list(retired) if user["llm_d_scope"] == "cluster" else []
    return {
        "objects": list(unique.values()) + list(unwanted),
        "namespaces": own_namespaces(user) if controllers else [],
        "controllers": controllers,
        "shared": shared,
    }


def own_namespaces(user: Facts) -> list[Facts]:
    """A reference to all namespaces that bear our label."""
    return [{"api_version": "v1", "kind": "Namespace", "label_selector": f"{PART_OF}={user['llm_d_instance']}"}]


def _key(item: Facts) -> tuple[str, str, str]:
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _definition(api_version: str, kind: str, name: str, namespace: str | None) -> Facts:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _others(gateway: Facts) -> list[tuple[str, Facts]]:
    return [(name, facts) for name, facts in GATEWAY_PROVIDERS.items() if name != gateway["provider"]]


def _classes(user: Facts, gateway: Facts) -> list[Facts]:
    """Cluster-wide, so only where we write there at all."""
    if user["llm_d_scope"] != "cluster":
        return []
    names = {name: None for _provider, facts in _others(gateway) for name in facts["classes"] if name != gateway["class_name"]}
    return [_definition(_GATEWAY_V1, "GatewayClass", name, None) for name in names]


def _gateways(user: Facts, gateway: Facts) -> list[Facts]:
    """Gateways under the names that we give them, with what hangs on them. One that the present provider took over by name stays."""
    found = []
    for provider, facts in _others(gateway):
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
    """(name, namespace) of the grants that a gateway of this name would have."""
    secrets = [(f"{name}-{listener['name']}", listener["tls_secret"]["namespace"]) for listener in gateway["listeners"] if listener["tls_secret"]]
    return [(f"{name}-routes", user["llm_d_namespace"]), *secrets]


def _present(service: Facts, user: Facts, gateway: Facts) -> list[Facts]:
    """What the present provider has beside an endpoint picker."""
    made = service_policies(service, user, gateway, "FailClose")
    found = [_definition("", "DestinationRule", rule["name"], user["llm_d_namespace"]) for rule in made["rules"]]
    if made["filter"]:
        found.append(_definition("", "EnvoyFilter", made["filter"]["name"], made["filter"]["namespace"]))
    fixed = [kind for _version, kind in GATEWAY_PROVIDERS[gateway["provider"]]["policies"] if kind not in ("DestinationRule", "EnvoyFilter")]
    places = {"EnvoyExtensionPolicy": gateway["routes_namespace"], "BackendTrafficPolicy": gateway["routes_namespace"]}
    return found + [_definition("", kind, f"{service['name']}-epp", places.get(kind, user["llm_d_namespace"])) for kind in fixed]


def _of_service(service: Facts, user: Facts, gateway: Facts) -> list[Facts]:
    """All that any provider could have beside an endpoint picker; what the present one has is taken out of it later."""
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
    other = "v1alpha2" if gateway["pool_version"] == "v1" else "v1"
    found.append(_definition(f"{POOL_GROUPS[other]}/{other}", "InferencePool", name, home))
    return found


def _controllers(user: Facts, gateway: Facts) -> list[Facts]:
    """Controllers of other providers; theirs are ours to remove where their namespace bears our labels. The last chart goes first."""
    if user["llm_d_scope"] != "cluster":
        return []
    return [
        {
            "provider": provider,
            "names": [row["controller_name"] for row in _rows(facts)],
            "classes": [name for row in _rows(facts) for name in row["default_classes"] if name != gateway["class_name"]],
            "namespace": facts["namespace"],
            "charts": [
                {"release_name": chart["release_name"], "namespace": facts["namespace"], "leftovers": hook_leftovers(chart, facts["namespace"])}
                for row in _rows(facts)
                for chart in reversed(row["charts"])
            ],
        }
        for provider, facts in _others(gateway)
        if facts["charts"]
    ]


def _shared(gateway: Facts) -> list[Facts]:
    """Their controllers to look after. One of the present name is served by the present one, which takes over its classes."""
    rows = [row for _provider, facts in _others(gateway) if facts["charts"] for row in _rows(facts)]
    return [{**shared(row), "class_name": row["class_name"]} for row in rows if row["controller_name"] != gateway["controller_name"]]


def _rows(facts: Facts) -> list[Facts]:
    """A provider's row of the table as it is for each of its classes."""
    return [facts, *({**facts, **more, "class_name": name} for name, more in facts["by_class"].items())]


def service_leftovers(service: Facts, servers: list[Facts], required: Facts) -> list[Facts]:
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
    kinds += [(API_VERSION, KIND, f"{name}-{part}") for part in ("decode", "prefill") if user["llm_d_monitoring"]["scrape"]]
    return [{"apiVersion": version, "kind": kind, "metadata": {"name": each, "namespace": user["llm_d_namespace"]}} for version, kind, each in kinds]
