# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about GatewayClass, Gateway, routes, and the policies that connect them to the endpoint picker. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.objects import Context, Facts, Verdict, dicts, get_path, mapping, text
from ..k8s.pod_failures import log_failure
from ..k8s.readiness.gateway import gateway as judge_gateway
from ..k8s.readiness.gateway import gateway_class as judge_class
from ..k8s.readiness.gateway import inference_pool as judge_pool
from ..k8s.readiness.gateway import policy as judge_policy
from ..k8s.readiness.gateway import route as judge_route
from .finding import MISSING, NOTE, SUSPECT, WIRING, Finding, finding
from .snapshot import Snapshot, name_of
from .strangers import every, labelled, place, proxies_of, targets

# (pattern in the reason why an object is not ready, code of the finding). The first match wins.
REASON_CODES = (
    (r"RefNotPermitted|missing a ReferenceGrant|not permitted by any ReferenceGrant", "F10"),
    (r"ENABLE_GATEWAY_API_INFERENCE_EXTENSION|unsupported backendRef|InvalidKind|NotSupportedByParent", "F9"),
    (r"BackendNotFound|ServiceNotFound", "absent"),
    (r"InvalidExtensionRef|EndpointPickerRefMissing", "absent"),
)
ISTIO_NETWORKING = "networking.istio.io"
CONTEXT = Context()  # empty: the verdicts on gateways depend on the object alone


def gateways(snap: Snapshot) -> c.Iterator[Finding]:
    """The GatewayClass and the Gateway of the plan. Nothing where the plan has no Gateway, since each model has its own address."""
    wanted = snap.plan["gateway"]
    if not wanted["gateway_api"]:
        return
    if wanted["class_name"] and snap.read("GatewayClass", wanted["class_name"]):
        obj = next((entry for entry in snap.of("GatewayClass") if get_path(entry, "metadata", "name") == wanted["class_name"]), None)
        if obj is None:
            yield finding("F7", f"GatewayClass {wanted['class_name']}", ["not there"], MISSING + 1, "the GatewayClass of the plan is missing")
        else:
            yield from _judged(judge_class(obj, CONTEXT), "F7", obj, WIRING + 2)
            controller = text(get_path(obj, "spec", "controllerName"))
            if controller != wanted["controller_name"]:
                yield finding("F7", name_of(obj), [f"controllerName is {controller}, planned: {wanted['controller_name']}"], WIRING + 2)
    if not snap.read("Gateway", wanted["namespace"]):
        return
    obj = snap.get("Gateway", wanted["name"], wanted["namespace"])
    if obj is None:
        yield finding("absent", f"Gateway {wanted['namespace']}/{wanted['name']}", ["not there"], MISSING, "the Gateway is missing")
        return
    if wanted["class_name"] and get_path(obj, "spec", "gatewayClassName") != wanted["class_name"]:
        yield finding(
            "F7",
            name_of(obj),
            [f"gatewayClassName is {text(get_path(obj, 'spec', 'gatewayClassName'))}, planned: {wanted['class_name']}"],
            WIRING + 3,
            "the Gateway belongs to another class",
            "set gatewayClassName to that of the plan: run playbooks/site.yml",
        )
    yield from _judged(judge_gateway(obj, CONTEXT), "F7", obj, WIRING + 1)


def _judged(verdict: Verdict, code: str, obj: Facts, weight: int) -> c.Iterator[Finding]:
    """A finding where the object is not ready: with the code of the reason, or with `code` where REASON_CODES has none for it."""
    if not verdict.ready:
        code = next((known for pattern, known in REASON_CODES if re.search(pattern, verdict.reason)), code)
        yield finding(code, name_of(obj), [verdict.reason], weight, "" if code != "absent" else "it references an object that does not exist", verdict.remedy)


def routes(snap: Snapshot) -> c.Iterator[Finding]:
    """Routes of the plan that are missing, not accepted, attached to another gateway, or lead to another backend."""
    gateway = snap.plan["gateway"]
    for service in snap.services:
        wanted = service["route"]
        namespace = wanted["namespace"]
        if not wanted["exists"] or not snap.read("HTTPRoute", namespace):
            continue
        obj = snap.get("HTTPRoute", wanted["name"], namespace)
        if obj is None:
            yield finding("absent", f"HTTPRoute {namespace}/{wanted['name']}", ["not there"], MISSING, f"the route of {service['name']} is missing")
            continue
        yield from _judged(judge_route(obj, CONTEXT), "F8", obj, WIRING)
        parents = [(text(ref.get("namespace")) or namespace, text(ref.get("name"))) for ref in dicts(get_path(obj, "spec", "parentRefs"))]
        if (gateway["namespace"], gateway["name"]) not in parents:
            shown = ", ".join("/".join(parent) for parent in parents) or "no gateway"
            yield finding(
                "F8",
                name_of(obj),
                [f"parentRefs names {shown}, not {gateway['namespace']}/{gateway['name']}"],
                WIRING + 1,
                "the route is attached to another gateway",
            )
        yield from _matches(snap, obj, wanted)
        yield from _backends(snap, obj, wanted, service)


def _matches(snap: Snapshot, obj: Facts, wanted: c.Mapping[str, t.Any]) -> c.Iterator[Finding]:
    """The path and the host names of a route, where they are not as planned."""
    paths = [text(get_path(match, "path", "value")) or "/" for rule in dicts(get_path(obj, "spec", "rules")) for match in dicts(rule.get("matches"))] or ["/"]
    if wanted["path"] not in paths:
        yield finding(
            "F23",
            name_of(obj),
            [f"it matches {', '.join(paths)}, planned: {wanted['path']}"],
            WIRING,
            "the route does not match the planned path",
            "run playbooks/site.yml, or write the path into your file",
        )
    hosts, planned = [text(name) for name in get_path(obj, "spec", "hostnames") or []], list(wanted.get("hostnames") or [])
    if sorted(hosts) != sorted(planned):
        yield finding(
            "F23",
            name_of(obj),
            [f"its host names are {', '.join(hosts) or 'none'}, planned: {', '.join(planned) or 'none'}"],
            WIRING - 1,
            "the route has other host names",
            "run playbooks/site.yml, or write the host names into your file",
        )


def _backends(snap: Snapshot, obj: Facts, wanted: c.Mapping[str, t.Any], service: c.Mapping[str, t.Any]) -> c.Iterator[Finding]:
    """The backend of a route and its port, where they are not as planned."""
    backend = wanted["backend"]
    refs = [ref for rule in dicts(get_path(obj, "spec", "rules")) for ref in dicts(rule.get("backendRefs"))]
    named = [(text(ref.get("kind")) or "Service", text(ref.get("name")), ref.get("port")) for ref in refs]
    planned = [entry for entry in named if entry[:2] == (backend["kind"], backend["name"])]
    if not planned:
        shown = ", ".join(f"{kind} {name}" for kind, name, _port in named) or "nothing"
        yield finding(
            "F26",
            name_of(obj),
            [f"its backend is {shown}, planned: {backend['kind']} {backend['name']}"],
            WIRING + 1,
            "the route leads to another backend",
            "route to the planned backend: run playbooks/site.yml",
        )
    elif backend["kind"] == "Service" and backend.get("port") not in [port for _kind, _name, port in planned]:
        yield finding("F22", name_of(obj), [f"it uses port {planned[0][2]} of Service {backend['name']}, planned: {backend.get('port')}"], WIRING + 1)


def policies(snap: Snapshot) -> c.Iterator[Finding]:
    """With Envoy Gateway: the policies by which it queries the picker (EnvoyExtensionPolicy) and routes to its choice (BackendTrafficPolicy)."""
    if snap.plan["gateway"]["provider"] != "envoy_gateway":
        return
    namespace = snap.plan["gateway"]["routes_namespace"]
    for service in snap.services:
        name, epp = service["route"]["name"], service["scheduler"]
        if snap.read("EnvoyExtensionPolicy", namespace):
            extensions = _targeting(snap, "EnvoyExtensionPolicy", name)
            if not extensions:
                yield finding(
                    "F26",
                    f"EnvoyExtensionPolicy {namespace}/{epp['name']}",
                    [f"no policy targets HTTPRoute {name}"],
                    MISSING - 1,
                    f"the gateway does not query the endpoint picker of {service['name']}",
                )
            for obj in extensions:
                yield from _judged(judge_policy(obj, CONTEXT), "F26", obj, WIRING)
                yield from _queried_service(obj, epp, snap)
        if snap.read("BackendTrafficPolicy", namespace):
            yield from _destination(snap, service, _targeting(snap, "BackendTrafficPolicy", name))


def _queried_service(obj: Facts, epp: c.Mapping[str, t.Any], snap: Snapshot) -> c.Iterator[Finding]:
    """An EnvoyExtensionPolicy that queries another Service than the endpoint picker."""
    refs = [(text(ref.get("name")), ref.get("port")) for part in dicts(get_path(obj, "spec", "extProc")) for ref in dicts(part.get("backendRefs"))]
    if refs and (epp["name"], epp["ports"]["grpc"]) not in refs:
        yield finding(
            "F26",
            name_of(obj),
            [f"it queries {', '.join(f'{name}:{port}' for name, port in refs)}, planned: {epp['name']}:{epp['ports']['grpc']}"],
            WIRING + 1,
            "the gateway queries another Service than the endpoint picker",
        )


def _destination(snap: Snapshot, service: c.Mapping[str, t.Any], traffic_policies: list[Facts]) -> c.Iterator[Finding]:
    """BackendTrafficPolicies of a route that are not accepted, or that do not route to the endpoint in the picker's header."""
    header = snap.plan["gateway"]["ext_proc"]["destination_header"]
    taken = [text(entry.get("header")) for obj in traffic_policies for entry in dicts(get_path(obj, "spec", "loadBalancer", "endpointOverride", "extractFrom"))]
    where = name_of(traffic_policies[0]) if traffic_policies else f"BackendTrafficPolicy {service['route']['namespace']}/{service['scheduler']['name']}"
    if header not in taken:
        observation = f"no policy targets HTTPRoute {service['route']['name']}"
        if traffic_policies:
            observation = f"it takes the endpoint from {', '.join(taken) or 'no header'}"
        yield finding(
            "F26",
            where,
            [f"{observation}; the picker names the endpoint in the header {header}"],
            WIRING + 2,
            f"the gateway queries the endpoint picker of {service['name']} but ignores its choice",
        )
    for obj in traffic_policies:
        yield from _judged(judge_policy(obj, CONTEXT), "F26", obj, WIRING)


def _targeting(snap: Snapshot, kind: str, route: str) -> list[Facts]:
    """The policies of a kind that target the route of this name."""
    namespace = snap.plan["gateway"]["routes_namespace"]
    return [obj for obj in snap.of(kind, namespace) if any(_is_route(ref, route) for ref in dicts(get_path(obj, "spec", "targetRefs")))]


def _is_route(target: Facts, name: str) -> bool:
    return target.get("name") == name and target.get("kind") == "HTTPRoute"


def proxies(snap: Snapshot) -> c.Iterator[Finding]:
    """The gateway's proxy: its routing type, a pre-release image, and errors about the picker's TLS in its log."""
    gateway = snap.plan["gateway"]
    for obj in snap.of("EnvoyProxy", gateway["namespace"]):
        if get_path(obj, "metadata", "name") == gateway["name"] and get_path(obj, "spec", "routingType") == "Service":
            yield finding("F52", name_of(obj), ["routingType Service"], WIRING + 1)
    for pod in proxies_of(snap):
        for container in dicts(get_path(pod, "spec", "containers")):
            image, log = text(container.get("image")), snap.log(pod, text(container.get("name")))
            if re.search(r":[^/:]*\b(alpha|beta|rc)", image):
                yield finding("F47", name_of(pod), [f"image {image}"], SUSPECT)
            failure = log_failure("\n".join(line for line in log.splitlines() if "ext_proc" in line))
            # the log may be about the past: it counts only while requests fail
            if failure and failure.code == "F11" and any(not entry["ok"] for entry in snap.answers):
                yield finding("F11", name_of(pod), [failure.what], SUSPECT, remedy=failure.remedy)


def pools_status(snap: Snapshot) -> c.Iterator[Finding]:
    """Pools that a gateway has rejected."""
    for service in snap.services:
        obj = snap.get("InferencePool", service["pool"]["name"])
        if obj is not None:
            yield from _judged(judge_pool(obj, CONTEXT), "F9", obj, WIRING)


def istio(snap: Snapshot) -> c.Iterator[Finding]:
    """DestinationRules for our Services where the provider is not Istio, and those that contradict the picker's TLS."""
    names = {name for _group, kind, _namespace, name in targets(snap) if kind == "Service"}
    listed = [obj for namespace in snap.homes for obj in every(snap, ISTIO_NETWORKING, "DestinationRule") if place(obj)[0] == namespace]
    rules = [obj for obj in listed if text(get_path(obj, "spec", "host")).partition(".")[0] in names or labelled(snap, obj)]
    if rules and snap.plan["gateway"]["provider"] not in ("istio", "openshift"):
        yield finding("F41", ", ".join(name_of(obj) for obj in rules), [f"the provider is {snap.plan['gateway']['provider']}"], NOTE)
    for obj in rules:
        for service in snap.services:
            if text(get_path(obj, "spec", "host")).partition(".")[0] == service["scheduler"]["name"]:
                mode = _tls_mode(obj, service["scheduler"]["ports"]["grpc"])
                secure = "--secure-serving=false" not in service["scheduler"]["args"]
                if secure != (mode not in ("", "DISABLE")):
                    yield finding("F11", name_of(obj), [f"tls mode {mode or 'unset'}, the picker is {'with' if secure else 'without'} TLS"], WIRING + 2)


def _tls_mode(rule: Facts, port: int) -> str:
    """The TLS mode of a DestinationRule for a port: that of the port's own settings, which replace all others; empty where none is set."""
    policy = mapping(get_path(rule, "spec", "trafficPolicy"))
    own = next((each for each in dicts(policy.get("portLevelSettings")) if get_path(each, "port", "number") == port), policy)
    return text(get_path(own, "tls", "mode"))


def grants(snap: Snapshot) -> c.Iterator[Finding]:
    """Backends of our routes in another namespace that has no ReferenceGrant for them."""
    names = {(each["namespace"], each["name"]) for service in snap.services for each in service["routes"]}
    for obj in (obj for obj in snap.of("HTTPRoute") if place(obj) in names):
        for rule in dicts(get_path(obj, "spec", "rules")):
            for ref in dicts(rule.get("backendRefs")):
                other, kind, name = text(ref.get("namespace")), text(ref.get("kind")) or "Service", text(ref.get("name"))
                if other and other != place(obj)[0] and snap.read("ReferenceGrant", other) and not _granted(snap, place(obj)[0], other, kind, name):
                    yield finding("F10", name_of(obj), [f"backend {kind} {other}/{name}, no ReferenceGrant there"], WIRING + 1)


def _granted(snap: Snapshot, route_namespace: str, namespace: str, kind: str, name: str) -> bool:
    """Whether a ReferenceGrant in `namespace` permits routes of `route_namespace` to use this backend."""
    for grant in snap.of("ReferenceGrant", namespace):
        allowed = any(part.get("namespace") == route_namespace and part.get("kind") == "HTTPRoute" for part in dicts(get_path(grant, "spec", "from")))
        if allowed and any(part.get("kind") == kind and mapping(part).get("name") in (None, name) for part in dicts(get_path(grant, "spec", "to"))):
            return True
    return False


RULES = (gateways, routes, policies, proxies, pools_status, istio, grants)
