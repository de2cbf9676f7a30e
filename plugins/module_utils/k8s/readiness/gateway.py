# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness of Gateway API objects and their extensions. Pure. See readiness.judge."""

from __future__ import annotations

import re

from ...common.objects import Context, Facts, Verdict, condition, describe, dicts, generation, get_path, mapping, text, unmet

GROUP = "gateway.networking.k8s.io"

# pattern in the text of a condition, remedy
REMEDIES = (
    (r"not reported yet|not yet for|Waiting|=Unknown|no controller", "check that the gateway's controller runs and is configured with this controllerName"),
    (r"AddressNotAssigned|AddressNotUsable", "set the gateway's service type to ClusterIP, or install a load balancer"),
    (r"NoResources|NoReadyListeners", "check the pods of the gateway's proxy"),
    (r"InvalidParameters", "correct the object that parametersRef names"),
    (r"NotAllowedByListeners", "allow the route's namespace in the listener's allowedRoutes"),
    (r"NoMatchingListenerHostname", "give route and listener a host name in common"),
    (r"NoMatchingParent", "correct parentRefs: name, namespace, sectionName, port"),
    (r"RefNotPermitted|missing a ReferenceGrant", "create a ReferenceGrant in the namespace of the backend"),
    (
        r"ENABLE_GATEWAY_API_INFERENCE_EXTENSION|unsupported backendRef|InvalidKind",
        "let the control plane serve InferencePools (its flag, and the API group it reads), or route to a Service",
    ),
    (r"BackendNotFound|ServiceNotFound", "create the backend that the route names, in the namespace it names"),
    (r"UnsupportedProtocol|UnsupportedValue", "use a protocol or value that this gateway supports"),
    (r"InvalidCertificateRef", "create the TLS Secret that the listener names"),
    (r"PortUnavailable|Conflicted|HostnameConflict|ProtocolConflict", "two objects claim the same place: change one of them"),
    (r"TargetNotFound", "correct targetRefs: the object named there does not exist"),
    (r"InvalidExtensionRef|EndpointPickerRefMissing", "create the Service of the endpoint picker that the pool names"),
    (r"HTTPRouteNotAccepted", "look at the route that leads to the pool"),
    (r"NotSupportedByParent", "this gateway does not serve InferencePools: choose another provider"),
)


def remedy(words: str) -> str:
    """What to do about a condition, from its text; empty when that is not known."""
    for pattern, what in REMEDIES:
        if re.search(pattern, words):
            return what
    return ""


def _no(words: str) -> Verdict:
    return Verdict(False, words, remedy(words))


def gateway_class(obj: Facts, context: Context) -> Verdict:
    """Accepted by its controller."""
    words = unmet(obj.get("status"), ("Accepted",), generation(obj))
    return _no(words) if words else Verdict(True, "accepted")


def gateway(obj: Facts, context: Context) -> Verdict:
    """Accepted and programmed for the current generation, with every listener programmed."""
    status, current = mapping(obj.get("status")), generation(obj)
    words = unmet(status, ("Accepted", "Programmed"), current)
    if words:
        return _no(words)
    statuses = {text(entry.get("name")): entry for entry in dicts(status.get("listeners"))}
    for listener in dicts(get_path(obj, "spec", "listeners")):
        name = text(listener.get("name"))
        words = unmet(statuses.get(name), ("Programmed", "ResolvedRefs"), current) if name in statuses else "Programmed is not reported yet"
        if words:
            return Verdict(False, f"listener {name}: {words}", remedy(words))
    return Verdict(True, "programmed")


def route(obj: Facts, context: Context) -> Verdict:
    """Accepted by every parent it names, with its references resolved."""
    parents = dicts(get_path(obj, "spec", "parentRefs"))
    entries = dicts(get_path(obj, "status", "parents"))
    for parent in parents:
        mine = [entry for entry in entries if same_parent(parent, mapping(entry.get("parentRef")), obj)]
        name = text(parent.get("name")) + (f" section {parent['sectionName']}" if parent.get("sectionName") else "")
        words = _best(mine, generation(obj))
        if words:
            return Verdict(False, f"parent {name}: {words}", remedy(words))
    return Verdict(True, f"accepted by {len(parents)} parent{'' if len(parents) == 1 else 's'}")


def same_parent(wanted: Facts, reported: Facts, obj: Facts) -> bool:
    """Whether both references name the same parent, with the defaults of the Gateway API."""
    home = text(get_path(obj, "metadata", "namespace"))

    def key(ref: Facts) -> tuple[str, ...]:
        group = ref.get("group")
        return (
            GROUP if group is None else text(group),
            text(ref.get("kind")) or "Gateway",
            text(ref.get("namespace")) or home,
            text(ref.get("name")),
            text(ref.get("sectionName")),
            text(ref.get("port")),
        )

    return key(wanted) == key(reported)


def _best(entries: list[Facts], current: int) -> str:
    """Empty when one controller has accepted the route; else why none has.

    Several controllers may write an entry for one parent, and the entry of a policy controller may lack Accepted.
    """
    if not entries:
        return "no controller has taken it up"
    reasons = [unmet(entry, ("Accepted", "ResolvedRefs"), current) for entry in entries]
    if not all(reasons):
        return ""
    accepting = [words for words, entry in zip(reasons, entries, strict=True) if condition(entry, "Accepted")]
    return (accepting or reasons)[0]


def inference_pool(obj: Facts, context: Context) -> Verdict:
    """Refused by no parent. Without a status it is ready: some gateways never report on a pool, others only when a route leads to it."""
    status, current = mapping(obj.get("status")), generation(obj)
    entries = dicts(status.get("parents")) or dicts(status.get("parent"))
    accepted = []
    for entry in entries:
        ref = mapping(entry.get("parentRef"))
        if text(ref.get("kind")) == "Status" and text(ref.get("name")) == "default":
            continue
        for name in ("Accepted", "ResolvedRefs"):
            state = condition(entry, name)
            if state.get("status") == "False":
                words = describe(state)
                return Verdict(False, f"parent {text(ref.get('name'))}: {words}", remedy(words))
        words = unmet(entry, ("Accepted", "ResolvedRefs"), current)
        if words and dicts(entry.get("conditions")):
            return Verdict(False, f"parent {text(ref.get('name'))}: {words}", remedy(words))
        accepted.append(f"{text(ref.get('kind'))} {text(ref.get('namespace'))}/{text(ref.get('name'))}")
    return Verdict(True, f"accepted by {', '.join(sorted(accepted))}" if accepted else "there; no gateway reports on it")


def unreported(obj: Facts, parent: str) -> Verdict | None:
    """The verdict where a Gateway does not report on an InferencePool though its controller does so; None where it does. parent: NAMESPACE/NAME."""
    refs = [mapping(entry.get("parentRef")) for entry in dicts(get_path(obj, "status", "parents"))]
    if parent in [f"{text(ref.get('namespace'))}/{text(ref.get('name'))}" for ref in refs]:
        return None
    return Verdict(False, f"Gateway {parent} does not report on it", "check that the route leads to the pool, and read the log of the gateway's controller")


def policy(obj: Facts, context: Context) -> Verdict:
    """Accepted for every ancestor, of which there is at least one."""
    current = generation(obj)
    ancestors = dicts(get_path(obj, "status", "ancestors"))
    if not ancestors:
        return Verdict(False, "no controller has taken it up", "check that the object in targetRefs exists and belongs to a gateway of this controller")
    for entry in ancestors:
        words = unmet(entry, ("Accepted",), current)
        if words:
            return _no(words)
        overridden = condition(entry, "Overridden")
        if overridden.get("status") == "True":
            return Verdict(False, describe(overridden), "remove the policy that overrides this one, or this one")
    return Verdict(True, "accepted")
