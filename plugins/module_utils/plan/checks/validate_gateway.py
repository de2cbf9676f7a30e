# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes in a completed llm_d_gateway beyond single values. Pure."""

from __future__ import annotations

import re
import typing as t

from ...common.objects import Facts
from ...releases.lines import RELEASES
from ...schema.fields import Problem
from ..engines.draining import proxy_drain_rule
from ..gateways.gateway import class_name, common_host, connection, default_name, listened_hosts, proxy_service, published_host, version
from ..gateways.proxy_pod import proxy_pod_problems
from ..parts.charts import provider_facts
from ..parts.names import gateway_name, scheduler_namespace
from ..parts.references import mirrored

BLOCK = "llm_d_gateway"
_LAST_OLD_POOL = (1, 4)  # the last inference extension with pools of v1alpha2


def gateway_problems(user: Facts) -> list[Problem]:
    """Problems of options of llm_d_gateway that contradict each other, the platform or the release line."""
    checks = (_platform, _versions, _class, _connection, _pool, _pickers, _routes, _listeners, _issuer)
    rest = (_standalone, _route, _rule, proxy_drain_rule, _project, _images)
    problems = [problem for check in (*checks, *rest) for problem in check(user, user[BLOCK], provider_facts(user))]
    return problems or proxy_pod_problems(user)


def hostname_problems(user: Facts, services: t.Iterable[tuple[str, Facts]]) -> list[Problem]:
    """Problems of host names of routes that match no listener of the Gateway. Takes (path, service) pairs."""
    names = listened_hosts(user)
    fix = f"Write a host of {' or '.join(names)}, or give a listener of {BLOCK} this hostname."
    return [
        Problem(f"{path}.route.hostnames[{index}]", host, f"no listener of the gateway answers to '{host}'.", fix)
        for path, service in services
        for index, host in enumerate(service["route"]["hostnames"])
        if not any(common_host(host, name) for name in names)
    ]


def published_problems(user: Facts, services: t.Sequence[tuple[str, Facts]]) -> list[Problem]:
    """The problem of an OpenShift Route with a host name that no model service has. Takes (path, service) pairs."""
    settings = user[BLOCK]
    route, host = settings["openshift_route"], published_host(settings["openshift_route"], settings["listener"])
    named = [service["route"]["hostnames"] for _path, service in services]
    names = list(dict.fromkeys(name for each in named for name in each))
    if not route["enabled"] or not named or not all(named) or (host and any(common_host(host, name) for name in names)):
        return []
    why = f"no model service answers to '{host}'." if host else "is missing: OpenShift would choose one, and each model service has its own hostnames."
    return [Problem(f"{BLOCK}.openshift_route.hostname", route["hostname"], why, f"Write a host of {' or '.join(names)}, or take hostnames of a service out.")]


def proxy_problems(user: Facts, names: t.Mapping[str, str]) -> list[Problem]:
    """Problems of names of the Gateway's objects that Kubernetes rejects, or that objects of model services have. names: {object name: its service}."""
    settings = user[BLOCK]
    name = gateway_name(user, default_name(settings["provider"]))
    made = proxy_service({**settings, "name": name, "class_name": class_name(user)})
    if not settings["create"] or not made:
        return []
    path, problems = f"{BLOCK}.name", []
    if not _SERVICE_NAME.match(made):
        why = f"the proxy's Service would be named '{made}': a Service has at most 63 lower-case letters, digits and '-', and begins with a letter."
        problems.append(Problem(path, name, why, "Write a shorter name that begins with a letter, and a class_name without dots where you write one."))
    parameters = name if settings["service_type"] != "LoadBalancer" else made
    clash = next((each for each in (made, parameters) if each in names), None)
    if clash and settings["namespace"] in (None, user["llm_d_namespace"]):
        why = f"objects of the gateway and of model service '{names[clash]}' would both be named '{clash}' in namespace {user['llm_d_namespace']}."
        problems.append(Problem(path, name, why, "Write another name, or give the gateway a namespace of its own."))
    return problems


_SERVICE_NAME = re.compile(r"(?=.{1,63}\Z)[a-z]([-a-z0-9]*[a-z0-9])?\Z")


def version_parts(text: str) -> tuple[int, ...]:
    """A version as numbers, without what follows a '-' or '+': 1.28.6 is less than 1.29.0."""
    return tuple(int(number) for number in re.findall(r"\d+", re.split(r"[-+]", text.lstrip("v"))[0]))


def _platform(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    if facts["platforms"] and user["llm_d_platform"] not in facts["platforms"]:
        yield Problem(
            f"{BLOCK}.provider",
            settings["provider"],
            f"'{settings['provider']}' is part of {' and '.join(facts['platforms'])}, and llm_d_platform is '{user['llm_d_platform']}'.",
            f"Write 'llm_d_platform: {facts['platforms'][0]}' if that is your cluster, else a provider such as istio or agentgateway.",
        )
    if user["llm_d_platform"] == "openshift" and settings["provider"] == "openshift" and settings["class_name"] == "istio":
        yield Problem(
            f"{BLOCK}.class_name", "istio", "OpenShift keeps the name 'istio' from its own gateway.", "Take it out: openshift-default is the usual one."
        )


def _versions(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    chosen = version(user)
    path = f"{BLOCK}.version"
    if settings["version"] and not facts["version"]:
        yield Problem(path, settings["version"], f"provider {settings['provider']} has no version of its own.", "Take it out.")
    elif chosen and facts["minimum"] and version_parts(chosen) < version_parts(facts["minimum"]):
        needed = facts["minimum"]
        yield Problem(path, chosen, f"{settings['provider']} {chosen} is too old for InferencePools of several models.", f"Write {needed} or newer.")
    if settings["provider"] == "kgateway" and chosen:
        envoy = settings["class_name"] == "kgateway"
        if version_parts(chosen)[:2] >= (2, 3):
            yield Problem(
                path, chosen, "kgateway has no inference extension from 2.3 on.", "Write 'provider: agentgateway', whose class and routes are the same."
            )
        elif version_parts(chosen) == (2, 2, 0):
            yield Problem(path, chosen, "kgateway 2.2.0 breaks inference routing.", "Write 2.2.1.")
        elif envoy and version_parts(chosen) >= (2, 2):
            yield Problem(path, chosen, "kgateway's Envoy class serves InferencePools only up to 2.1.", "Write 2.1.2, or take out class_name.")
        elif not envoy and version_parts(chosen) < (2, 2):
            yield Problem(path, chosen, "the agentgateway class of kgateway is of use only from 2.2.1 on.", "Write 2.2.1, or 'class_name: kgateway'.")


def _class(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    name = settings["class_name"]
    closed = settings["provider"] in ("kgateway", "gke")  # elsewhere a class may have any name
    if name and closed and name not in facts["classes"]:
        yield Problem(
            f"{BLOCK}.class_name",
            name,
            f"'{name}' is no class of {settings['provider']} that serves InferencePools.",
            f"Write {' or '.join(facts['classes'])}.",
        )
    if name and not facts["gateway_api"]:
        yield Problem(f"{BLOCK}.class_name", name, "there is no GatewayClass with provider standalone.", "Take it out.")
    if settings["provider"] != "none" and settings["service_type"] not in facts["service_types"]:
        kinds = " or ".join(facts["service_types"])
        fix = f"Write {kinds}" + (", and class_name gke-l7-rilb for a load balancer inside the network." if settings["provider"] == "gke" else ".")
        yield Problem(f"{BLOCK}.service_type", settings["service_type"], f"is not supported with provider {settings['provider']}.", fix)
    if settings["provider"] == "none" and settings["create"] and not settings["name"]:
        yield Problem(f"{BLOCK}.name", None, "is missing: provider none leads routes to a Gateway of yours.", "Write the name of your Gateway.")


def _connection(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    requested = settings["connection"]
    needed = {"pool": "InferencePool", "ext_proc": "Service"}
    if requested and (needed[requested] not in facts["backends"] or not facts["gateway_api"]):
        usual = connection({**user, BLOCK: {**settings, "connection": None}})
        yield Problem(f"{BLOCK}.connection", requested, f"is not supported with provider {settings['provider']}, which uses '{usual}'.", "Take it out.")
    if requested == "ext_proc" and settings["provider"] == "none":
        yield Problem(
            f"{BLOCK}.connection",
            requested,
            "your gateway is unknown, so that its proxy cannot be configured to call the endpoint picker.",
            "Write 'connection: pool', or name the provider and write 'install: false' and 'create: false'.",
        )
    if settings["picker_tls"] is not None and settings["picker_tls"] != facts["secure_ext_proc"] and settings["provider"] not in ("istio", "openshift", "none"):
        word = "always" if facts["secure_ext_proc"] else "never"
        yield Problem(f"{BLOCK}.picker_tls", settings["picker_tls"], f"{settings['provider']} {word} calls the endpoint picker over TLS.", "Take it out.")


def _pool(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    if settings["pool_version"] not in facts["pool_versions"]:
        yield Problem(
            f"{BLOCK}.pool_version", settings["pool_version"], f"provider {settings['provider']} does not read such pools.", "Take it out, v1 is what it reads."
        )
    elif settings["pool_version"] == "v1alpha2" and version_parts(RELEASES[user["llm_d_release"]]["crds_version"])[:2] > _LAST_OLD_POOL:
        lines = ", ".join(name for name, line in RELEASES.items() if version_parts(line["crds_version"])[:2] <= _LAST_OLD_POOL)
        yield Problem(
            "llm_d_release",
            user["llm_d_release"],
            f"its inference extension {RELEASES[user['llm_d_release']]['crds_version']} has no pools of v1alpha2 any more.",
            f"Write {lines}, or a cluster whose gateway reads v1.",
        )


def _pickers(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    place = scheduler_namespace(user)
    if place == user["llm_d_namespace"] or connection(user) != "pool":
        return
    fix = "Take it out, or write a provider that takes the namespace: envoy_gateway, standalone, or istio with 'connection: ext_proc'."
    why = f"an InferencePool names the Service of its endpoint picker without a namespace, and {settings['provider']} reads it in the namespace of the pool."
    yield Problem("llm_d_scheduler_namespace", place, why, fix)


def _routes(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    home = user["llm_d_namespace"]
    if facts["routes_beside_pools"] and settings["routes_namespace"] not in (None, home):
        yield Problem(
            f"{BLOCK}.routes_namespace",
            settings["routes_namespace"],
            f"the controller of {settings['provider']} looks for the routes of a pool in the pool's namespace, and no Gateway would accept the pools.",
            f"Take it out, or write {home}.",
        )


def _listeners(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    taken: dict[tuple[str, t.Any], str] = {}
    ports: dict[int, tuple[str, str]] = {}
    for path, each in [(f"{BLOCK}.listener", settings["listener"])] + [(f"{BLOCK}.listeners[{n}]", one) for n, one in enumerate(settings["listeners"])]:
        if each["protocol"] == "HTTPS" and not each["tls_secret"] and not settings["certificate_issuer"]:
            yield Problem(
                f"{path}.tls_secret",
                None,
                "is missing: an HTTPS listener needs a certificate.",
                f"Write the name of a Secret of type kubernetes.io/tls, or {BLOCK}.certificate_issuer.",
            )
        if each["protocol"] == "HTTPS" and settings["certificate_issuer"]:
            yield from _issued(settings, path, each)
        if each["protocol"] == "HTTP" and each["tls_secret"]:
            yield Problem(f"{path}.protocol", "HTTP", "would leave the certificate of tls_secret unused.", "Write HTTPS, or take tls_secret out.")
        for key in (("name", each["name"]), ("place", (each["port"], each["hostname"]))):
            if key in taken:
                option = "name" if key[0] == "name" else "port"
                yield Problem(f"{path}.{option}", each[option], f"duplicates {taken[key]}.", "Give each listener a name, and a port or host name of its own.")
            taken.setdefault(key, path)
        if ports.setdefault(each["port"], (each["protocol"], path))[0] != each["protocol"]:
            why = f"{ports[each['port']][1]} speaks {ports[each['port']][0]} on port {each['port']}, and a port speaks one protocol."
            yield Problem(f"{path}.protocol", each["protocol"], why, f"Write {ports[each['port']][0]}, or another port.")


def _issued(settings: Facts, path: str, listener: Facts) -> t.Iterator[Problem]:
    """Problems of a listener for which cert-manager cannot issue a certificate."""
    if not listener["hostname"]:
        yield Problem(f"{path}.hostname", None, "is missing: cert-manager issues a certificate for a host name.", "Write the host name that clients use.")
    elsewhere = listener["tls_secret_namespace"]
    if elsewhere not in (None, settings["namespace"]):
        why = "cert-manager writes the Secrets of a Gateway into the Gateway's own namespace."
        yield Problem(f"{path}.tls_secret_namespace", elsewhere, why, "Take it out.")


def _issuer(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    issuer = settings["certificate_issuer"]
    if not issuer:
        return
    if not settings["create"] or not facts["gateway_api"]:
        why = "the annotation of the issuer belongs on the Gateway, and this file creates none."
        yield Problem(f"{BLOCK}.certificate_issuer", issuer, why, "Take it out; whoever creates the Gateway annotates it.")
    elif all(each["protocol"] != "HTTPS" for each in (settings["listener"], *settings["listeners"])):
        why = "no listener speaks HTTPS, so nothing would be issued."
        yield Problem(f"{BLOCK}.certificate_issuer", issuer, why, "Write 'protocol: HTTPS' in a listener, or take it out.")


def _standalone(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    if facts["gateway_api"]:
        return
    for option in ("namespace", "routes_namespace", "listeners", "name"):
        if settings[option]:
            yield Problem(f"{BLOCK}.{option}", settings[option], "there is no Gateway with provider standalone.", "Take it out.")
    if settings["listener"]["protocol"] != "HTTP":
        yield Problem(f"{BLOCK}.listener.protocol", "HTTPS", "the proxy of provider standalone speaks HTTP.", "Write HTTP, and end TLS in front of it.")
    for index, service in enumerate(user["llm_d_model_services"] or []):
        route = service.get("route") if isinstance(service, dict) else None
        for option, usual in (("path", "/"), ("hostnames", []), ("headers", {}), ("direct_path", None), ("weights", {})):
            if isinstance(route, dict) and route.get(option, usual) not in (usual, None):
                yield Problem(
                    f"llm_d_model_services[{index}].route.{option}",
                    route[option],
                    "with provider standalone each model has an address of its own, and no route.",
                    "Take it out.",
                )


def _route(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    route, path = settings["openshift_route"], f"{BLOCK}.openshift_route"
    if not route["enabled"]:
        return
    if user["llm_d_platform"] != "openshift":
        yield Problem(f"{path}.enabled", True, f"there are no Routes on '{user['llm_d_platform']}'.", "Take it out, or write 'llm_d_platform: openshift'.")
    elif not proxy_service({**settings, "name": settings["name"] or "x", "class_name": settings["class_name"] or "x"}):
        yield Problem(f"{path}.enabled", True, f"the Service of {settings['provider']} has no name that can be known beforehand.", "Use another provider.")
    served, host = settings["listener"]["hostname"], published_host(route, settings["listener"])
    if host and "*" in host:
        why = f"is missing, and '{host}' of the listener" if route["hostname"] is None else f"'{host}'"
        yield Problem(f"{path}.hostname", route["hostname"], f"{why} is no single host name, which a Route has.", f"Write one, such as chat{host[1:]}.")
    elif served and settings["create"] and not common_host(str(host), served):
        right = f"a host of {served}" if "*" in served else served
        why = f"is not what the listener behind it answers to: {served}."
        yield Problem(f"{path}.hostname", host, why, f"Write {right}, or take the hostname of the listener out.")
    terminated = settings["listener"]["protocol"] == "HTTPS"
    if route["termination"] and (route["termination"] == "passthrough") != terminated:
        right = "passthrough" if terminated else "edge"
        protocol = settings["listener"]["protocol"]
        yield Problem(f"{path}.termination", route["termination"], f"the listener behind it speaks {protocol}.", f"Write {right}.")


def _rule(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    rule, path = settings["traffic"], f"{BLOCK}.traffic"
    if not rule:
        return
    if not facts["traffic"] or connection(user) != "ext_proc":
        why = "is for envoy_gateway, and for istio and openshift with 'connection: ext_proc'; other gateways ignore it."
        yield Problem(path, None, why, "Take it out.")
    if rule["session_cookie"] and rule["session_header"]:
        yield Problem(f"{path}.session_header", rule["session_header"], "a session is known by a cookie or by a header.", "Take out one of the two.")


def _project(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    if user["llm_d_request_project"] and user["llm_d_platform"] != "openshift":
        yield Problem(
            "llm_d_request_project", True, f"there are no projects on '{user['llm_d_platform']}'.", "Take it out, or write 'llm_d_platform: openshift'."
        )


def _images(user: Facts, settings: Facts, facts: Facts) -> t.Iterator[Problem]:
    split = {"agentgateway": ("gateway", "proxy"), "kgateway": ("gateway", "proxy"), "envoy_ai_gateway": ("ai_gateway",)}
    for component in split.get(settings["provider"], ()):
        given = user["llm_d_images"].get(component)
        if given and ("@" in given or "/" not in given):
            yield Problem(
                f"llm_d_images.{component}", given, f"the chart of {settings['provider']} takes registry, repository and tag.", "Write registry/repository:tag."
            )
    own, prefix = user["llm_d_images"].get("proxy"), user["llm_d_image_registry"]
    if settings["provider"] == "kgateway" and prefix and not own and not facts["proxy_image"] and settings["create"] and user["llm_d_scope"] != "prerequisites":
        yield Problem(
            "llm_d_images.proxy",
            None,
            "is missing: the proxy that this controller starts would not come from llm_d_image_registry, and its version is not known here.",
            f"Write {mirrored('cr.agentgateway.dev/agentgateway', prefix)}:tag with the version that your kgateway starts,"
            " or 'class_name: kgateway' under llm_d_gateway.",
        )
