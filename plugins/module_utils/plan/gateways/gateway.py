# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gateway: controller, class, listeners, parameters and grants. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...releases.gateways import GATEWAY_PROVIDERS, POOL_GROUPS, controllers
from ...releases.lines import RELEASES
from ..engines.draining import proxy_drain
from ..parts.charts import charts, provider_facts, split_image
from ..parts.names import PICKER_SUFFIXES, gateway_name, scheduler_namespace
from ..parts.pod_spec import labels_in
from ..parts.references import image
from ..parts.tracing import gateway_tracing, tracing_warnings
from .proxy_pod import proxy_pod

DEFAULT_NAME = "llm-d-gateway"
GROUP = "gateway.networking.k8s.io"
CERT_MANAGER = "cert-manager.io"


def gateway(user: Facts, labels: Facts) -> Facts:
    """Everything about the gateway that does not belong to one service. labels: of the instance."""
    settings = user["llm_d_gateway"]
    provider = settings["provider"]
    facts = provider_facts(user)
    installed = charts(user)
    home = user["llm_d_namespace"]
    place = settings["namespace"] or home
    secure = facts["secure_ext_proc"] if settings["picker_tls"] is None else settings["picker_tls"]
    wanted = facts["gateway_api"] and settings["create"] and provider != "none"
    planned = {
        "provider": provider,
        "gateway_api": facts["gateway_api"],
        "pool": facts["gateway_api"] or not RELEASES[user["llm_d_release"]]["endpoint_selector"],
        "install": bool(installed),
        "create": wanted and user["llm_d_scope"] != "prerequisites",
        "version": version(user),
        "name": gateway_name(user, default_name(provider)),
        "namespace": place,
        "labels": labels_in(place, home, labels),
        "class_name": class_name(user),
        "create_class": wanted and user["llm_d_scope"] != "namespace" and provider != "gke",
        "controller_name": facts["controller_name"],
        "annotations": _annotations(settings["certificate_issuer"]),
        "service_type": settings["service_type"],
        "controller_image": image(user, "gateway", facts["controller_image"]) if facts["controller_image"] else None,
        "proxy_image": _proxy_image(user, facts),
        "proxy_pod": proxy_pod(user, wanted),
        "proxy_drain": f"{drain}s" if (drain := proxy_drain(settings)) is not None else None,
        "connection": connection(user),
        "backend": "InferencePool" if connection(user) == "pool" else "Service",
        "pool_version": settings["pool_version"],
        "pool_group": POOL_GROUPS[settings["pool_version"]],
        "picker_by_name": facts["picker_by_name"],
        "pool_status": facts["pool_status"],
        "failure_modes": failure_modes(user),
        "secure_ext_proc": secure,
        "picker_suffix": PICKER_SUFFIXES["sidecar" if connection(user) == "sidecar" else "tls" if secure else "plain"],
        "ext_proc": {**facts["ext_proc"], "destination_header": RELEASES[user["llm_d_release"]]["destination_header"]},
        "route_timeouts": facts["route_timeouts"],
        "weights": facts["weights"],
        "routes_namespace": settings["routes_namespace"] or home,
        "routes_suffix": routes_suffix(user),
        "controller": {**facts["controller"], "namespace": facts["namespace"]} if facts["controller"] else None,
        "controllers": controllers(facts),
        "extension": _extension(user, facts["extension"]) if facts["extension"] else None,
        "crds": {key: facts[f"crds_{key}"] for key in ("name", "probe", "sources")},
        "charts": installed,
        "chart": installed[-1] if installed else {"version": version(user)},
        "warnings": [*facts["warnings"], *tracing_warnings(user, user["llm_d_model_services"], facts, wanted)],
        "tracing": gateway_tracing(user, facts, wanted),
        "traffic": settings["traffic"] if facts["traffic"] and connection(user) == "ext_proc" else None,
    }
    planned["listeners"] = [_listener(each, settings["certificate_issuer"], planned) for each in [settings["listener"], *settings["listeners"]]]
    planned["listener"] = planned["listeners"][0]
    planned["allowed_routes"] = _allowed_routes(planned)
    planned["proxies"] = _proxies(user, planned, facts)
    planned["parameters_image"] = _parameters_image(user, planned)
    patches = bool(planned["proxy_pod"] and planned["proxy_pod"]["template"] != planned["proxy_pod"]["ours"])
    planned["parameters"] = _parameters(planned, provider, bool(user["llm_d_image_pull_secrets"]), patches)
    rest = user["llm_d_scope"] != "prerequisites"
    planned["openshift_route"] = _openshift_route(settings["openshift_route"], planned) if rest else None
    planned["grants"] = [{**grant, "labels": labels_in(grant["namespace"], home, labels)} for grant in _grants(user, planned)] if rest else []
    return planned


def _extension(user: Facts, row: Facts) -> Facts:
    """{version, image, crds} of the controller that extends the provider's own."""
    return {"version": row["version"], "image": image(user, "ai_gateway", row["image"]), "crds": dict(row["crds"])}


def default_name(provider: str) -> str:
    """The name of the Gateway: different for each provider, so that a new gateway starts next to the old one."""
    return DEFAULT_NAME if provider == "envoy_gateway" else f"{DEFAULT_NAME}-{provider.replace('_', '-')}"


def routes_suffix(user: Facts) -> str:
    """The suffix of the names of routes: different where the names of Gateways are, so that an old Gateway keeps its routes until they are pruned."""
    return "" if user["llm_d_gateway"]["name"] else default_name(user["llm_d_gateway"]["provider"]).removeprefix(DEFAULT_NAME)


def version(user: Facts) -> str | None:
    """The version of the provider's controller: the configured one, else the tested one."""
    chosen = user["llm_d_gateway"]["version"] or provider_facts(user)["version"]
    return str(chosen) if chosen else None


def class_name(user: Facts) -> str | None:
    """The GatewayClass: the configured one, else the provider's default."""
    chosen = user["llm_d_gateway"]["class_name"] or provider_facts(user)["class_name"]
    return str(chosen) if chosen else None


def connection(user: Facts) -> str:
    """How the proxy reaches the endpoint picker: pool, ext_proc, or sidecar for a proxy in the endpoint picker's own pod."""
    settings = user["llm_d_gateway"]
    if settings["provider"] == "standalone":
        return "sidecar"
    usual = GATEWAY_PROVIDERS[settings["provider"]]["backends"][0]
    return settings["connection"] or ("pool" if usual == "InferencePool" else "ext_proc")


def listened_hosts(user: Facts) -> list[str]:
    """The host names of the listeners, each once; '*' for any, and for a Gateway that the plan does not create."""
    settings = user["llm_d_gateway"]
    if not settings["create"] or settings["provider"] in ("none", "standalone"):
        return ["*"]
    return list(dict.fromkeys(each["hostname"] or "*" for each in [settings["listener"], *settings["listeners"]]))


def common_host(one: str, other: str) -> str | None:
    """The host names that both match, as one name; None where there is none. '*' matches any, '*.' at the beginning one label or more."""
    for wide, name in ((one, other), (other, one)):
        if wide in ("*", name) or (wide.startswith("*.") and name.removeprefix("*").endswith(wide[1:])):
            return name
    return None


def failure_modes(user: Facts) -> list[str]:
    """The failure modes that the provider supports while the endpoint picker is down, the default first."""
    return list(GATEWAY_PROVIDERS[user["llm_d_gateway"]["provider"]]["failure_modes"])


def _annotations(issuer: Facts | None) -> dict[str, str]:
    """Annotations of the Gateway, for which cert-manager creates a Certificate for each HTTPS listener."""
    return {f"{CERT_MANAGER}/{'cluster-issuer' if issuer['kind'] == 'ClusterIssuer' else 'issuer'}": issuer["name"]} if issuer else {}


def _listener(given: Facts, issuer: Facts | None, planned: Facts) -> Facts:
    name = given["tls_secret"] or (f"{planned['name']}-{given['name']}-tls" if issuer and given["protocol"] == "HTTPS" else None)
    secret = {"name": name, "namespace": given["tls_secret_namespace"] or planned["namespace"]} if name else None
    return {**{key: given[key] for key in ("name", "port", "protocol", "hostname")}, "tls_secret": secret}


def _allowed_routes(planned: Facts) -> Facts:
    """allowedRoutes of the listeners: only the namespace of the plan's routes."""
    if planned["routes_namespace"] == planned["namespace"]:
        return {"namespaces": {"from": "Same"}}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": planned["routes_namespace"]}}
    return {"namespaces": {"from": "Selector", "selector": selector}}


def _proxies(user: Facts, planned: Facts, facts: Facts) -> list[Facts]:
    """References to the Deployments that a controller creates for the Gateway, where the permissions of the scope include reading them."""
    labels = facts["owning_labels"]
    if not labels or not planned["create"] or (user["llm_d_scope"] == "namespace" and facts["proxy_namespace"] == "controller"):
        return []
    selector = {labels["name"]: planned["name"]}
    if "namespace" in labels:
        selector[labels["namespace"]] = planned["namespace"]
    namespace = facts["namespace"] if facts["proxy_namespace"] == "controller" else planned["namespace"]
    return [{"api_version": "apps/v1", "kind": "Deployment", "namespace": namespace, "label_selector": selector}]


def _parameters(planned: Facts, provider: str, pull: bool, patches: bool) -> Facts | None:
    """The Gateway's infrastructure.parametersRef; None where the defaults are enough. pull: whether the proxy's image needs credentials; patches: whether
    the user adds something to its pods."""
    if not planned["create"]:
        return None
    if planned["controller_name"] == "gateway.envoyproxy.io/gatewayclass-controller":
        return {"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": planned["name"]}
    custom = pull or patches or bool(planned["parameters_image"]) or planned["service_type"] != "LoadBalancer"
    if custom and planned["controller_name"] == "agentgateway.dev/agentgateway":
        return {"group": "agentgateway.dev", "kind": "AgentgatewayParameters", "name": planned["name"]}
    if custom and provider == "kgateway":
        return {"group": "gateway.kgateway.dev", "kind": "GatewayParameters", "name": planned["name"]}
    if (patches or planned["service_type"] != "LoadBalancer") and provider in ("istio", "openshift"):
        return {"group": "", "kind": "ConfigMap", "name": planned["name"]}
    return None


def _proxy_image(user: Facts, facts: Facts) -> str | None:
    """The image of the proxies that a controller starts; None where the controller chooses it."""
    if not facts["proxy_image"]:
        return user["llm_d_images"].get("proxy") if user["llm_d_gateway"]["provider"] == "kgateway" else None
    return image(user, "proxy", facts["proxy_image"])


def _parameters_image(user: Facts, planned: Facts) -> Facts | None:
    """The proxy's image for the parameters of the Gateway: kgateway's charts have no value for it. None where an adopted controller keeps its own."""
    chosen = planned["install"] or user["llm_d_image_registry"] or user["llm_d_images"].get("proxy")
    if planned["provider"] != "kgateway" or not planned["proxy_image"] or not chosen:
        return None
    return {**split_image(planned["proxy_image"]), "pullPolicy": user["llm_d_image_pull_policy"]}


def proxy_service(planned: Facts) -> str | None:
    """Name of the Service in front of the proxy; None where the controller generates it."""
    if planned["provider"] in ("istio", "openshift"):
        return f"{planned['name']}-{planned['class_name']}"
    return planned["name"] if planned["provider"] in ("agentgateway", "kgateway") else None


def published_host(route: Facts, listener: Facts) -> str | None:
    """The host name of an OpenShift Route; None where OpenShift generates one."""
    host: str | None = route["hostname"] or listener["hostname"]
    return host


def _openshift_route(given: Facts, planned: Facts) -> Facts | None:
    if not given["enabled"]:
        return None
    listener = planned["listener"]
    return {
        "name": planned["name"],
        "hostname": published_host(given, listener),
        "timeout": given["timeout"],
        "termination": given["termination"] or ("passthrough" if listener["protocol"] == "HTTPS" else "edge"),
        "service": proxy_service(planned),
        "port": listener["name"],
    }


def _grants(user: Facts, planned: Facts) -> list[Facts]:
    """ReferenceGrants: {name, namespace, from: [{group, kind, namespace}], to: [{group, kind, name?}]}."""
    grants = []
    home, routes = user["llm_d_namespace"], planned["routes_namespace"]
    if planned["gateway_api"] and routes != home:
        sources = [{"group": GROUP, "kind": "HTTPRoute", "namespace": routes}]
        if planned["provider"] == "envoy_gateway":  # its policy is in the namespace of the routes and refers to the endpoint picker's Service
            sources.append({"group": "gateway.envoyproxy.io", "kind": "EnvoyExtensionPolicy", "namespace": routes})
        pool = {"group": planned["pool_group"], "kind": "InferencePool"}
        targets = ([pool] if planned["backend"] == "InferencePool" else []) + [{"group": "", "kind": "Service"}]
        grants.append({"name": f"{planned['name']}-routes", "namespace": home, "from": sources, "to": targets})
    pickers = scheduler_namespace(user)
    if planned["provider"] == "envoy_gateway" and pickers not in (routes, home):
        source = {"group": "gateway.envoyproxy.io", "kind": "EnvoyExtensionPolicy", "namespace": routes}
        grants.append({"name": f"{planned['name']}-{home}", "namespace": pickers, "from": [source], "to": [{"group": "", "kind": "Service"}]})
    for listener in planned["listeners"] if planned["create"] else []:
        secret = listener["tls_secret"]
        if secret and secret["namespace"] != planned["namespace"]:
            source = {"group": GROUP, "kind": "Gateway", "namespace": planned["namespace"]}
            target = {"group": "", "kind": "Secret", "name": secret["name"]}
            grants.append({"name": f"{planned['name']}-{listener['name']}", "namespace": secret["namespace"], "from": [source], "to": [target]})
    return grants
