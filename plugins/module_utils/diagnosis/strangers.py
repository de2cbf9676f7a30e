# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about objects of others that are attached to the gateway, routes, Services, pools or pods of a stack. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.labels import HOME_LABEL, MANAGED_BY, PART_OF, has_labels
from ..common.objects import Facts, api_group, condition, describe, dicts, get_path, group_of, mapping, text
from ..releases.gateways import ATTACHMENT_GROUPS, attachment_groups
from .finding import NOTE, SUSPECT, Finding, finding
from .snapshot import Snapshot, name_of, selector_matches, selects

GATEWAY_API = "gateway.networking.k8s.io"
# API groups whose objects attach to gateways, routes, Services, pools or pods, with the resources to read of each (a regular expression; empty: all).
GROUPS = {
    **dict.fromkeys(ATTACHMENT_GROUPS, ""),
    GATEWAY_API: r"^(?!gatewayclasses$)",  # a class attaches to nothing
    "networking.gke.io": r"policies$",
    "networking.k8s.io": r"^networkpolicies$",
    "cilium.io": r"policies$",  # the group also has an object for each pod
}
# Kinds that other rules check.
ELSEWHERE = ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "Gateway", "NetworkPolicy", "InferencePool", "ListenerSet", "XListenerSet")
# Istio's kinds that concern every pod of their namespace where they select none; in the root namespace every pod of the mesh.
NAMESPACE_WIDE = (
    "AuthorizationPolicy", "EnvoyFilter", "PeerAuthentication", "ProxyConfig", "RequestAuthentication", "Sidecar", "Telemetry", "WasmPlugin",
)  # fmt: skip
PATCHES = ("EnvoyPatchPolicy", "EnvoyFilter")  # can change any setting
PROXY_LABELS = (f"{GATEWAY_API}/gateway-name", "gateway.envoyproxy.io/owning-gateway-name")  # on the pods of a Gateway's proxy
OWNING_NAMESPACE = "gateway.envoyproxy.io/owning-gateway-namespace"
SELECTORS = ("selector", "podSelector", "workloadSelector", "endpointSelector")
ISTIO = (".istio.io", ("istio", "openshift"))  # suffix of its groups, and the providers whose proxies it configures
ROOT_NAMESPACE = "istio-system"
# How near an object is to ours: (weight while requests succeed, while some fail); 0 is no finding.
AIMED = (SUSPECT, SUSPECT + 8)  # names a route, Service or pool of ours, or patches the proxy
NEAR = (NOTE, SUSPECT + 4)  # names our Gateway, or selects pods of ours
WIDE = (0, SUSPECT)  # concerns many, ours among them
Level = tuple[int, int]
Key = tuple[str, str, str, str]  # group, kind, namespace, name


def relevant(snap: Snapshot) -> set[str]:
    """The groups whose objects can change this stack: those of its provider, and of Istio where a pod is in its mesh."""
    meshed = any(_meshed(snap, pod) for pod in pods_of(snap))
    return {*attachment_groups(snap.plan["gateway"]["provider"]), *(group for group in GROUPS if meshed and group.endswith(ISTIO[0]))}


def place(obj: Facts) -> tuple[str, str]:
    """(namespace, name)."""
    return text(get_path(obj, "metadata", "namespace")), text(get_path(obj, "metadata", "name"))


def every(snap: Snapshot, group: str, *kinds: str) -> list[Facts]:
    """Objects of these kinds in the groups that start with `group`, from both lists of the snapshot, each once."""
    objects = [obj for kind in kinds for obj in snap.of(kind)] + [obj for obj in snap.others if obj.get("kind") in kinds and group_of(obj).startswith(group)]
    return list({(obj.get("kind"), *place(obj)): obj for obj in objects}.values())


def failing(snap: Snapshot) -> bool:
    """True when a request through the gateway failed."""
    return any(not entry["ok"] for entry in snap.answers)


def targets(snap: Snapshot) -> dict[Key, Level]:
    """The objects of the plan that an object of others can name, and how near that object is then."""
    gateway, home = snap.plan["gateway"], snap.namespace
    levels: dict[Key, Level] = {}
    if gateway["gateway_api"]:
        # a Gateway of others has policies of its owner
        levels[GATEWAY_API, "Gateway", gateway["namespace"], gateway["name"]] = NEAR if gateway["create"] else WIDE
        levels[GATEWAY_API, "GatewayClass", "", text(gateway["class_name"])] = WIDE
    for service in snap.services:
        for each in service["routes"]:
            levels[GATEWAY_API, "HTTPRoute", each["namespace"], each["name"]] = AIMED
        levels[api_group(service["pool"]["api_version"]), "InferencePool", home, service["pool"]["name"]] = AIMED
        for stage in service["stages"]:
            levels["", "Service", home, stage["name"]] = AIMED
        for name in (service["scheduler"]["name"], get_path(service, "scheduler", "proxy", "name")):
            if name:
                levels["", "Service", snap.picker_namespace, name] = AIMED
    return levels


def labelled(snap: Snapshot, obj: Facts) -> bool:
    """True for an object with the labels of this deployment; False for a deployment of the same name for another namespace."""
    return has_labels(obj, snap.plan["labels"]) and get_path(obj, "metadata", "labels", HOME_LABEL) in (None, snap.namespace)


def is_ours(snap: Snapshot, obj: Facts) -> bool:
    """True for an object of this deployment, for one that such an object owns, and for one that the gateway's controller creates for the Gateway."""
    namespace, name = place(obj)
    if labelled(snap, obj) or (group_of(obj), text(obj.get("kind")), namespace, name) in targets(snap):
        return True
    if selects({f"{GATEWAY_API}/gateway-name": snap.plan["gateway"]["name"]}, obj):
        return True
    owners = dicts(get_path(obj, "metadata", "ownerReferences"))
    known = {(entry.get("kind"), entry.get("name")) for entry in owners}
    if any((kind, other) in known and place_ in ("", namespace) for _group, kind, place_, other in targets(snap)):
        return True
    uids = {entry.get("uid") for entry in owners} - {None}
    held = (item for items in (*snap.objects.values(), snap.others) for item in items)
    return bool(uids) and any(get_path(item, "metadata", "uid") in uids and has_labels(item, snap.plan["labels"]) for item in held)


def origin(snap: Snapshot, obj: Facts) -> str:
    """The owner and the creation time of an object of others, as text, as far as its metadata shows them."""
    labels = mapping(get_path(obj, "metadata", "labels"))
    instance, manager = labels.get(PART_OF), labels.get(MANAGED_BY)
    if manager and manager == snap.plan["labels"].get(MANAGED_BY):
        same = instance == snap.plan["labels"].get(PART_OF)
        who = "with the labels of this deployment, but not in its plan" if same else f"of the deployment {text(instance)}"
    else:
        managers = [text(entry.get("manager")) for entry in dicts(get_path(obj, "metadata", "managedFields")) if not entry.get("subresource")]
        named = list(dict.fromkeys([name for name in (*managers, manager) if name]))
        who = "not of this deployment" + (f", made by {', '.join(named)}" if named else "")
    made = text(get_path(obj, "metadata", "creationTimestamp"))
    return who + (f", created {made}" if made else "")


def in_effect(obj: Facts) -> bool:
    """False when every controller that reports on a policy, filter or listener set rejects it."""
    status = mapping(obj.get("status"))
    reports = [condition(entry, "Accepted") for key in ("ancestors", "parents") for entry in dicts(status.get(key))] or [condition(status, "Accepted")]
    statuses = [entry.get("status") for entry in reports if entry]
    return set(statuses) != {"False"}


def references(obj: Facts) -> c.Iterator[tuple[str, Key, str]]:
    """(field, referenced object, section) of each reference of an object to another, in the fields by which controllers attach it."""
    namespace, spec = place(obj)[0], mapping(obj.get("spec"))
    for field in ("targetRef", "targetRefs", "parentRef", "parentRefs", "poolRef"):
        for ref in dicts([spec.get(field)]) + dicts(spec.get(field)):
            usual = {"poolRef": ("inference.networking.k8s.io", "InferencePool"), "parentRef": (GATEWAY_API, "Gateway")}.get(field.removesuffix("s"), ("", ""))
            kind = text(ref.get("kind")) or usual[1]
            group = text(ref.get("group")) if "group" in ref else usual[0]
            home = "" if kind == "GatewayClass" else text(ref.get("namespace")) or namespace
            yield field, (group, kind, home, text(ref.get("name"))), text(ref.get("sectionName"))


def _hosts(snap: Snapshot, obj: Facts) -> c.Iterator[tuple[str, Key, str]]:
    """Services of ours that an object of Istio names by their address: (field, Service, section)."""
    if not group_of(obj).endswith(ISTIO[0]):
        return
    spec, own = mapping(obj.get("spec")), place(obj)[0]
    given = [("host", text(spec.get("host")))] + [("hosts", text(host)) for host in spec.get("hosts") or [] if isinstance(spec.get("hosts"), list)]
    for key in targets(snap):
        if key[1] != "Service":
            continue
        names = {f"{key[3]}.{key[2]}", f"{key[3]}.{key[2]}.svc", f"{key[3]}.{key[2]}.svc.cluster.local"} | ({key[3]} if own == key[2] else set())
        for field, host in given:
            if host in names or (host.startswith("*.") and any(name.endswith(host[1:]) for name in names)):
                yield field, key, ""


def _targeted(snap: Snapshot, obj: Facts) -> c.Iterator[tuple[str, Level]]:
    """(evidence, how near) of each of our objects that an object names, by reference, address or label."""
    known = targets(snap)
    listeners = {listener["name"] for listener in snap.plan["gateway"].get("listeners") or [snap.plan["gateway"]["listener"]]}
    for field, key, section in (*references(obj), *_hosts(snap, obj)):
        level = known.get(key)
        if level is None or (key[1] == "Gateway" and section and section not in listeners):
            continue
        # objectives of applications name pools by design
        level = WIDE if field == "poolRef" else AIMED if obj.get("kind") in PATCHES else level
        yield f"its {field} names {_shown(key)}" + (f", {section}" if section else ""), level
    for selector in dicts(get_path(obj, "spec", "targetSelectors")):
        for (group, kind, namespace, name), level in known.items():
            mine = next((item for item in every(snap, group, kind) if place(item) == (namespace, name)), None)
            if (text(selector.get("group")), selector.get("kind"), place(obj)[0]) == (group, kind, namespace) and mine and selector_matches(selector, mine):
                yield f"its targetSelectors select {_shown((group, kind, namespace, name))}", level


def _shown(key: Key) -> str:
    return f"{key[1]} {key[2] + '/' if key[2] else ''}{key[3]}"


def proxies_of(snap: Snapshot) -> list[Facts]:
    """The pods of the gateway's proxy. A Gateway of the same name in another namespace may have its pods in the same namespace."""
    gateway = snap.plan["gateway"]
    named = [pod for pod in snap.of("Pod") if any(selects({label: gateway["name"]}, pod) for label in PROXY_LABELS)]
    return [pod for pod in named if get_path(pod, "metadata", "labels", OWNING_NAMESPACE) in (None, gateway["namespace"])]


def pods_of(snap: Snapshot) -> list[Facts]:
    """The pods that requests pass: proxies of the gateway, endpoint pickers, model servers."""
    pods = proxies_of(snap)
    for service in snap.services:
        pods += snap.pods(service["pool"]["selector"]) + snap.pods(service["scheduler"]["selector"], snap.picker_namespace)
    return pods


def _selected(snap: Snapshot, obj: Facts) -> c.Iterator[tuple[str, Level]]:
    """(evidence, how near) where an object selects pods of ours by labels."""
    namespace, kind, spec = place(obj)[0], text(obj.get("kind")), mapping(obj.get("spec"))
    istio = group_of(obj).endswith(ISTIO[0])
    selector = next((spec[key] for key in SELECTORS if isinstance(spec.get(key), dict)), None)
    if selector is None and (kind not in NAMESPACE_WIDE or any(references(obj)) or spec.get("targetSelectors")):
        return
    labels = _plain_selector(selector or {})
    controller = text(mapping(snap.plan["gateway"].get("controller")).get("namespace"))
    root = istio and namespace in (ROOT_NAMESPACE, controller)
    pods = [
        pod
        for pod in pods_of(snap)
        if (not namespace or root or place(pod)[0] == namespace) and (not istio or _meshed(snap, pod)) and selector_matches(labels, pod)
    ]
    if pods:
        some = ", ".join(name_of(pod) for pod in pods[:3]) + (f" and {len(pods) - 3} more" if len(pods) > 3 else "")
        narrow = any(labels.values())
        yield f"it selects {some}" if narrow else f"it concerns all pods, also {some}", (AIMED if kind in PATCHES else NEAR) if narrow else WIDE


def _plain_selector(selector: Facts) -> Facts:
    """A selector as {matchLabels, matchExpressions}: Istio writes `labels` or the labels themselves, Cilium puts the source before each label."""
    if not {"matchLabels", "matchExpressions"} & set(selector):
        selector = {"matchLabels": mapping(selector["labels"]) if isinstance(selector.get("labels"), dict) else selector}
    labels = {text(name).removeprefix("k8s:").removeprefix("any:"): value for name, value in mapping(selector.get("matchLabels")).items()}
    named = [{**entry, "key": text(entry.get("key")).removeprefix("k8s:").removeprefix("any:")} for entry in dicts(selector.get("matchExpressions"))]
    return {"matchLabels": labels, "matchExpressions": named}


def _meshed(snap: Snapshot, pod: Facts) -> bool:
    """True when Istio configures the pod: it is a proxy of an Istio gateway, has a sidecar, or is in the ambient mesh."""
    parts = [*dicts(get_path(pod, "spec", "containers")), *dicts(get_path(pod, "spec", "initContainers"))]
    return (
        (snap.plan["gateway"]["provider"] in ISTIO[1] and selects({f"{GATEWAY_API}/gateway-name": snap.plan["gateway"]["name"]}, pod))
        or any(part.get("name") == "istio-proxy" for part in parts)
        or get_path(pod, "metadata", "annotations", "ambient.istio.io/redirection") == "enabled"
    )


def attached(snap: Snapshot) -> c.Iterator[Finding]:
    """Policies, filters and patches of others that name our objects or select our pods."""
    for obj in snap.others:
        if group_of(obj) not in GROUPS or obj.get("kind") in ELSEWHERE or is_ours(snap, obj) or not in_effect(obj):
            continue
        reasons = [*_targeted(snap, obj), *_selected(snap, obj)]
        weight = max((level[failing(snap)] for _line, level in reasons), default=0)
        if weight:
            conditions = [describe(entry) for part in dicts(get_path(obj, "status", "ancestors")) for entry in dicts(part.get("conditions")) if _adverse(entry)]
            yield finding("stranger", name_of(obj), [*(line for line, _level in reasons), origin(snap, obj), *conditions], weight, _what(obj))


def _adverse(entry: c.Mapping[str, t.Any]) -> bool:
    return entry.get("status") == "True" if entry.get("type") in ("Overridden", "Conflicted") else entry.get("status") == "False"


def _what(obj: Facts) -> str:
    return f"{'an' if text(obj.get('kind'))[:1] in 'AEIOU' else 'a'} {text(obj.get('kind'))} of someone else changes how the stack is reached"


def workloads(snap: Snapshot) -> c.Iterator[Finding]:
    """Pods of other workloads with the labels by which a pool or Service of ours selects its own."""
    sets = {place(obj): obj for obj in snap.of("ReplicaSet", snap.namespace)}
    for service in snap.services:
        planned = {server["name"] for server in service["servers"]} | {service["scheduler"]["name"]}
        foreign: dict[str, list[Facts]] = {}
        for pod in snap.pods(service["pool"]["selector"]):
            owner = _controller(pod)
            made_by = _controller(sets.get((snap.namespace, text(owner.get("name"))), {})) if owner.get("kind") == "ReplicaSet" else owner
            if made_by.get("kind") == "Deployment" and made_by.get("name") not in planned:
                foreign.setdefault(f"Deployment {snap.namespace}/{text(made_by.get('name'))}", []).append(pod)
            elif not owner:
                foreign.setdefault(name_of(pod), []).append(pod)
        for where, pods in foreign.items():
            labels = ", ".join(f"{name}={value}" for name, value in service["pool"]["selector"].items())
            yield finding(
                "stranger",
                where,
                [f"{', '.join(name_of(pod) for pod in pods[:3])}: labels {labels}", origin(snap, pods[0])],
                SUSPECT + 8,
                f"pods of someone else are among the servers of {service['name']}",
                f"give those pods other labels than {labels}, or remove them",
            )


def _controller(obj: Facts) -> Facts:
    return next((entry for entry in dicts(get_path(obj, "metadata", "ownerReferences")) if entry.get("controller", True)), {})


RULES = (attached, workloads)
