# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gateway of a starting file: the providers that a cluster can serve with, the best one first. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..common.labels import MANAGED_BY
from ..common.objects import Facts, dicts, get_path, mapping, text
from ..k8s.platform import image_version, load_balancer, older, parts
from ..releases.gateways import GATEWAY_API, GATEWAY_PROVIDERS, OPENSHIFT, controllers, variants

_EXTENSION_FLAG = "ENABLE_GATEWAY_API_INFERENCE_EXTENSION"


@dataclass(frozen=True)
class GatewayChoice:
    """One provider for the file. options: of llm_d_gateway, without the provider; why: the evidence in the cluster; problem: why it cannot be used as it is."""

    provider: str
    why: str
    options: Facts = field(default_factory=dict)
    problem: str = ""


def gateway_choices(facts: Facts, platform: Facts) -> list[GatewayChoice]:
    """The choices for a cluster, never empty. Those with a problem are last."""
    own = {"openshift": _openshift, "gke": _gke}.get(platform["name"])
    choices = ([own(facts, platform)] if own else []) + _installed(facts)
    usable, others = [each for each in choices if not each.problem], [each for each in choices if each.problem]
    if usable:
        return [*usable, *others]
    if others:
        return [GatewayChoice("standalone", "A proxy in the endpoint picker's own pod, which needs no controller."), *others]
    if "gateway_classes" not in facts:
        return [GatewayChoice("standalone", "GatewayClasses are not known: no permission to list them. This provider needs none.")]
    return [GatewayChoice("envoy_gateway", "No GatewayClass of a known provider is here: Envoy Gateway and the Gateway API are installed.")]


def service_type(choice: GatewayChoice, facts: Facts, platform: Facts) -> tuple[str, str]:
    """(type of the Service in front of the proxy, why)."""
    kinds = GATEWAY_PROVIDERS[choice.provider]["service_types"]
    if kinds == ["LoadBalancer"]:
        return "LoadBalancer", "the only type of this provider"
    if platform["name"] == "openshift":
        return "ClusterIP", "the Route is in front of it" if choice.provider == "openshift" else "or LoadBalancer, where the cluster has one"
    if platform["flavour"] == "k3s":
        return "ClusterIP", "or LoadBalancer with a free port: on k3s each port of a node serves one Service, and Traefik has 80 and 443"
    if load_balancer(facts, platform):
        return "LoadBalancer", "or ClusterIP, NodePort"
    if "load_balancers" not in facts:
        return "ClusterIP", "or LoadBalancer: not known whether there is one, no permission to list services"
    return "ClusterIP", "or NodePort; nothing here is known to give a LoadBalancer an address"


def _openshift(facts: Facts, platform: Facts) -> GatewayChoice:
    version = text(platform["version"])
    minor = ".".join(version.split(".")[:2])
    row = mapping(OPENSHIFT.get(minor))
    if minor and (older(minor, "4.19") or (row and row["pool_version"] is None)):
        return GatewayChoice("standalone", f"OpenShift {version} has no gateway that reads InferencePools, 4.19 and newer have.")
    if "maistra.io" in mapping(facts.get("groups")):
        return GatewayChoice("standalone", "OpenShift Service Mesh 2 is installed; beside it OpenShift's own gateway does not come up.")
    name = GATEWAY_PROVIDERS["openshift"]["class_name"]
    classes = _classes(facts, GATEWAY_PROVIDERS["openshift"]["controller_name"])
    options: Facts = {"class_name": classes[0]} if classes and name not in classes else {}
    if row.get("pool_version") == "v1alpha2":
        options["pool_version"] = "v1alpha2"
    why = f"OpenShift's own gateway{f', version {version}' if version else '; the version is not known: no permission to read it'}."
    return GatewayChoice("openshift", why, {**options, "openshift_route": {"enabled": True}})


def _gke(facts: Facts, platform: Facts) -> GatewayChoice:
    wanted = GATEWAY_PROVIDERS["gke"]["classes"]
    if "gateway_classes" not in facts:
        return GatewayChoice("gke", "Google's own gateway. GatewayClasses are not known: no permission to list them.")
    classes = [name for name in wanted if name in facts["gateway_classes"]]
    if not classes:
        how = "gcloud container clusters update NAME --gateway-api=standard"
        return GatewayChoice("standalone", f"The Gateway API is not turned on: {how} brings Google's gateway (provider gke).")
    return GatewayChoice("gke", f"Google's own gateway, with {' and '.join(classes)} to choose from.", {"class_name": classes[0]})


def _installed(facts: Facts) -> list[GatewayChoice]:
    """Providers that have a GatewayClass or a controller, in the order of the table of providers."""
    rows = [(provider, row) for provider, known in GATEWAY_PROVIDERS.items() if known["controller"] for row in variants(known)]
    candidates = [(provider, row, _classes(facts, row["controller_name"]), _controller(facts, row)) for provider, row in rows if _extended(facts, row)]
    choices, claimed = {}, set()

    # agentgateway and kgateway share a controller name: the class belongs to the one whose controller exists and has the expected major version.
    # Both providers with Envoy Gateway share one too: the class belongs to the one with an extension, where that exists.
    def precedence(numbered: tuple[int, tuple[str, Facts, list[str], Facts]]) -> tuple[bool, bool, bool]:
        _index, (_provider, row, _names, controller) = numbered
        return not controller, _other_major(row, controller), not row["extension"]

    for index, (provider, row, classes, controller) in sorted(enumerate(candidates), key=precedence):
        if (classes or controller) and row["controller_name"] not in claimed:
            claimed.add(row["controller_name"])
            choices[index] = _choice(provider, row, classes, controller, facts)
    return [choices[index] for index in sorted(choices)]


def _extended(facts: Facts, row: Facts) -> bool:
    """Whether the cluster has the extension that a provider needs, if it needs one."""
    places = [f"{each['namespace']}/{each['name']}" for each in controllers(row)]
    return not row["extension"] or all(mapping(facts.get("controllers")).get(place) for place in places)


def _classes(facts: Facts, controller_name: str) -> list[str]:
    """Names of the GatewayClasses of a controller."""
    items = mapping(facts.get("gateway_classes"))
    return sorted(name for name, item in items.items() if get_path(item, "spec", "controllerName") == controller_name)


def _controller_key(row: Facts) -> str:
    """namespace/name of the Deployment of a provider's controller, which is its key in the facts."""
    return f"{row['namespace']}/{row['controller']['name']}"


def _controller(facts: Facts, row: Facts) -> Facts:
    """The Deployment of a provider's controller; empty where there is none, or it was not read."""
    return mapping(mapping(facts.get("controllers")).get(_controller_key(row)))


def _other_major(row: Facts, controller: Facts) -> bool:
    """Whether a controller has another major version than the one that this collection tests."""
    return parts(image_version(controller) or row["version"])[:1] != parts(row["version"])[:1]


def _choice(provider: str, row: Facts, classes: list[str], controller: Facts, facts: Facts) -> GatewayChoice:
    # A provider with `by_class`, such as kgateway, serves InferencePools only through the class of the row.
    name = row["class_name"] if row["class_name"] in classes or not classes or row["by_class"] else classes[0]
    options: Facts = {} if name == GATEWAY_PROVIDERS[provider]["class_name"] else {"class_name": name}
    version = image_version(controller)
    what = f"{provider} {version}" if version else provider
    if get_path(mapping(facts.get("gateway_classes")).get(name), "metadata", "labels", MANAGED_BY) == "llm_d.inference":
        if mapping(facts.get("running")).get("objects"):
            return GatewayChoice(provider, f"{what} is here, and the deployment that runs here has installed it.", {"install": False, **options})
        return GatewayChoice(provider, f"{what} is here, and this collection has installed it.", options)
    options = {"install": False, **options}
    if provider == "istio" and controller and not _has_flag(controller):
        options["connection"] = "ext_proc"
    evidence = [f"Deployment {_controller_key(row)}"] if controller else []
    evidence += [f"GatewayClass {name}"] if classes else []
    return GatewayChoice(provider, f"{what} is here ({', '.join(evidence)}), and is used as it is.", options, _problem(row, controller, version, facts))


def _problem(row: Facts, controller: Facts, version: str | None, facts: Facts) -> str:
    """Why an existing controller cannot be used; empty where it can."""
    if not controller and _controller_key(row) in mapping(facts.get("controllers")):
        return f"its controller is not Deployment {_controller_key(row)}, where it is expected"
    if version and row["minimum"] and older(version, row["minimum"]):
        return f"{version} is too old, {row['minimum']} or newer is needed"
    if version and row["below"] and not older(version, row["below"]):
        return f"{version} serves no InferencePools, versions before {row['below']} do"
    crd = mapping(mapping(facts.get("crds")).get("gateways.gateway.networking.k8s.io")).get("version")
    if crd and older(crd, GATEWAY_API["minimum"]):
        return f"the Gateway API {crd} is too old, {GATEWAY_API['minimum']} or newer is needed"
    return ""


def _has_flag(controller: Facts) -> bool:
    """Whether istiod runs with the variable that makes it serve InferencePools."""
    containers = dicts(get_path(controller, "spec", "template", "spec", "containers"))
    values: t.Iterator[Facts] = (entry for part in containers for entry in dicts(part.get("env")))
    return any(entry.get("name") == _EXTENSION_FLAG and entry.get("value") == "true" for entry in values)
