# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about pools and their selectors, the picker's arguments and configuration, NetworkPolicies, and block sizes. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.objects import Facts, dicts, get_path, mapping, text
from ..epp.catalog.release_lines import LINE_FACTS
from ..k8s import inference_pools
from .finding import MISSING, SUSPECT, SYMPTOM, WIRING, Finding, finding
from .snapshot import Snapshot, arguments, is_ready, listening, name_of, option, selector_matches
from .strangers import failing, is_ours, origin, proxies_of

# arguments by which the picker finds its pool
POOL_ARGUMENTS = ("pool-name", "pool-namespace", "pool-group")


def pools(snap: Snapshot) -> c.Iterator[Finding]:
    """Pools of the plan that are missing, select other pods, or name another port than the servers'."""
    if not snap.read("InferencePool", snap.namespace):
        return
    for service in snap.services:
        wanted = service["pool"]
        obj = snap.get("InferencePool", wanted["name"])
        if obj is None:
            yield finding("absent", f"InferencePool {snap.namespace}/{wanted['name']}", ["not there"], MISSING, f"the pool of {service['name']} is missing")
            continue
        yield from _selection(snap, obj, inference_pools.selector(obj), wanted["selector"], "pool")
        ports = set(inference_pools.target_ports(obj)) - {0}
        if ports != set(wanted["target_ports"]):
            yield finding(
                "F22",
                name_of(obj),
                [f"target ports {_numbers(ports)}, planned: {_numbers(wanted['target_ports'])}"],
                WIRING + 3,
                "the pool has another port than the servers",
            )
        else:
            yield from _declared_ports(snap, obj, inference_pools.selector(obj), ports)
        picker = get_path(obj, "spec", "endpointPickerRef") or get_path(obj, "spec", "extensionRef")
        name, port = text(get_path(picker, "name")), get_path(picker, "port", "number") or get_path(picker, "portNumber")
        if name and (name != service["pool"]["picker"] or port not in (None, service["scheduler"]["ports"]["grpc"])):
            yield finding(
                "F26",
                name_of(obj),
                [f"endpointPickerRef names {name}:{port}, planned: {service['pool']['picker']}"],
                WIRING + 2,
                "the pool names another endpoint picker",
            )


def _numbers(values: c.Iterable[int]) -> str:
    return ", ".join(str(value) for value in sorted(values)) or "none"


def _selection(snap: Snapshot, obj: Facts, labels: c.Mapping[str, str], planned: c.Mapping[str, str], what: str) -> c.Iterator[Finding]:
    home = text(get_path(obj, "metadata", "namespace"))
    if not snap.read("Pod", home):
        return
    chosen = snap.pods(labels, home)
    shown = ", ".join(f"{name}={value}" for name, value in labels.items()) or "nothing"
    if not chosen:
        different = dict(labels) != dict(planned)
        weight = WIRING + 4 if different else SYMPTOM + 3
        yield finding(
            "F21",
            name_of(obj),
            [f"its selector is {shown}, and no pod has these labels"],
            weight,
            f"the {what} selects no pod",
            "set the selector to the labels of its pods: run playbooks/site.yml" if different else "check why its pods do not run: see their Deployment",
        )
    elif not any(is_ready(pod) for pod in chosen):
        yield finding(
            "F21",
            name_of(obj),
            [f"none of {len(chosen)} pods with {shown} is ready"],
            SYMPTOM + 2,
            f"the {what} has no ready pod",
            "find out why the pods are not ready",
        )


def _declared_ports(snap: Snapshot, obj: Facts, labels: c.Mapping[str, str], ports: set[int]) -> c.Iterator[Finding]:
    for pod in snap.pods(labels):
        declared = listening(pod)
        if declared and not ports & declared:
            yield finding(
                "F22",
                f"{name_of(obj)}, {name_of(pod)}",
                [f"the pool uses port {_numbers(ports)}, the pod's containers declare {_numbers(declared)}"],
                WIRING + 2,
            )
            return


def services(snap: Snapshot) -> c.Iterator[Finding]:
    """Services of model pods and pickers that are missing, select no pod, or use a wrong port."""
    for service in snap.services:
        epp, proxy = service["scheduler"], service["scheduler"].get("proxy")
        # Without prefill servers the decode servers prefill, so a Service that selects none is not a problem.
        stages = [stage for stage, server in zip(service["stages"], service["servers"], strict=True) if server["role"] == "decode" or server["replicas"]]
        pairs = [(stage, "Service of the servers", snap.namespace) for stage in stages]
        pairs += [({"name": epp["name"]}, "Service of the endpoint picker", snap.picker_namespace)]
        for wanted, what, home in pairs + ([(proxy, "Service of the proxy", snap.picker_namespace)] if proxy else []):
            if not snap.read("Service", home):
                continue
            obj = snap.get("Service", wanted["name"], home)
            if obj is None:
                yield finding("absent", f"Service {home}/{wanted['name']}", ["not there"], MISSING, f"the {what} is missing")
                continue
            planned = wanted.get("selector") or (service["scheduler"]["selector"] if "epp" in wanted["name"] else mapping(get_path(obj, "spec", "selector")))
            yield from _selection(snap, obj, mapping(get_path(obj, "spec", "selector")), planned, what)
            for port in dicts(get_path(obj, "spec", "ports")):
                yield from _target(snap, obj, port)


def _target(snap: Snapshot, obj: Facts, port: c.Mapping[str, t.Any]) -> c.Iterator[Finding]:
    target = port.get("targetPort") or port.get("port")
    for pod in snap.pods(mapping(get_path(obj, "spec", "selector")), text(get_path(obj, "metadata", "namespace"))):
        parts = [*dicts(get_path(pod, "spec", "containers")), *dicts(get_path(pod, "spec", "initContainers"))]
        names = {entry.get("name") for part in parts for entry in dicts(part.get("ports"))}
        declared = listening(pod)
        if declared and target not in names and target not in declared:
            yield finding(
                "F22",
                f"{name_of(obj)}, {name_of(pod)}",
                [f"targetPort {target}, the pod's containers declare {_numbers(declared)}"],
                WIRING + 2,
                "the Service uses a port on which no container listens",
            )
            return


def shared(snap: Snapshot) -> c.Iterator[Finding]:
    """Pods that a pool of ours and another pool select, and pickers that both name."""
    listed, names = snap.of("InferencePool", snap.namespace), {service["pool"]["name"] for service in snap.services}
    for index, one in enumerate(listed):
        for other in [each for each in listed[index + 1 :] if {get_path(one, "metadata", "name"), get_path(each, "metadata", "name")} & names]:
            mine = {text(get_path(pod, "metadata", "name")) for pod in snap.pods(inference_pools.selector(one))}
            both = sorted(mine & {text(get_path(pod, "metadata", "name")) for pod in snap.pods(inference_pools.selector(other))})
            if both:
                yield finding("F29", f"{name_of(one)}, {name_of(other)}", [f"both select {', '.join(both[:3])}"], WIRING, "two pools select the same pods")
            pickers = [text(get_path(obj, "spec", "endpointPickerRef", "name")) for obj in (one, other)]
            if pickers[0] and pickers[0] == pickers[1]:
                yield finding(
                    "F29", f"{name_of(one)}, {name_of(other)}", [f"both name the endpoint picker {pickers[0]}"], WIRING, "two pools share one endpoint picker"
                )


def pickers(snap: Snapshot) -> c.Iterator[Finding]:
    """Differences of the picker's arguments and configuration from the plan."""
    for service in snap.services:
        epp = service["scheduler"]
        obj = snap.get("Deployment", epp["name"], snap.picker_namespace)
        if obj is not None:
            spec = get_path(obj, "spec", "template", "spec")
            yield from _tls(obj, arguments(spec), epp["args"])
            yield from _differing(obj, arguments(spec), epp["args"])
        config = snap.get("ConfigMap", epp["name"], snap.picker_namespace)
        if config is None and snap.read("ConfigMap", snap.picker_namespace):
            yield finding(
                "absent", f"ConfigMap {snap.picker_namespace}/{epp['name']}", ["not there"], MISSING, "the endpoint picker's configuration is missing"
            )


def _tls(obj: Facts, actual: list[str], planned: list[str]) -> c.Iterator[Finding]:
    secure, wanted = [(option(args, "secure-serving") or "true") != "false" for args in (actual, planned)]
    if secure != wanted:
        yield finding(
            "F11",
            name_of(obj),
            [f"the picker serves {'with' if secure else 'without'} TLS, the gateway connects {'with' if wanted else 'without'}"],
            WIRING + 3,
        )


def _differing(obj: Facts, actual: list[str], planned: list[str]) -> c.Iterator[Finding]:
    for name in POOL_ARGUMENTS:
        have, want = option(actual, name), option(planned, name)
        if have != want:
            lines = [f"--{name} is {'missing' if have is None else have or 'set'}, planned: {'none' if want is None else want or 'set'}"]
            yield finding("F5", name_of(obj), lines, WIRING + 3, "the endpoint picker watches another pool")


def prefixes(snap: Snapshot) -> c.Iterator[Finding]:
    """Block sizes and hash seeds that differ between picker and servers, or among servers, on release lines where they must be the same."""
    own_keys = LINE_FACTS[snap.plan["release"]["name"]].own_keys
    for service in snap.services:
        if own_keys and not service["cache_server"]:  # servers that share a cache name its blocks by the seed
            continue
        members = snap.pods(service["pool"]["selector"])
        seeds, blocks = _values(members, _seed), _values(members, lambda pod: option(arguments(pod.get("spec")), "block-size"))
        if len(seeds) > 1:
            yield finding(
                "F28",
                f"pods of {service['name']}",
                [f"PYTHONHASHSEED is {', '.join(sorted(seeds))}"],
                SUSPECT,
                "the servers hash prefixes with different seeds",
            )
        config = text(service["scheduler"]["config"])
        for size in set(re.findall(r"\b(?:blockSizeTokens|blockSize):\s*(\d+)", config)):
            if not own_keys and blocks and blocks != {size} and "autoTune: true" not in config:
                yield finding(
                    "F28",
                    f"endpoint picker of {service['name']}",
                    [f"its block size is {size}, that of the servers {', '.join(sorted(blocks))}"],
                    SUSPECT,
                    "picker and servers divide prefixes into blocks of different sizes",
                )


def _values(members: list[Facts], read: c.Callable[[Facts], str | None]) -> set[str]:
    return {value for value in map(read, members) if value}


def _seed(pod: Facts) -> str | None:
    entries = [entry for part in dicts(get_path(pod, "spec", "containers")) for entry in dicts(part.get("env"))]
    return next((text(entry.get("value")) for entry in entries if entry.get("name") == "PYTHONHASHSEED"), None)


def network(snap: Snapshot) -> c.Iterator[Finding]:
    """NetworkPolicies that select pods of the stack and that together do not admit the traffic on their ports."""
    known = {name_of(policy): policy for policy in (*snap.of("NetworkPolicy"), *snap.others) if policy.get("kind") == "NetworkPolicy"}
    for members, direction, ports, what in _traffic(snap):
        blocked: dict[tuple[str, ...], Facts] = {}
        for pod in members:
            mine = [policy for policy in known.values() if _restricts(policy, direction, pod)]
            # rules add up: one policy that admits the traffic is enough
            if mine and not any(_admits(policy, direction, ports) for policy in mine):
                blocked.setdefault(tuple(name_of(policy) for policy in mine), pod)
        for names, pod in blocked.items():
            owners = [f"{name}: {origin(snap, known[name])}" for name in names if not is_ours(snap, known[name])]
            yield finding(
                "policy",
                ", ".join([*names, name_of(pod)]),
                [f"no {direction.lower()} rule admits port {_numbers(ports)} {what}", *owners],
                WIRING + 2 if failing(snap) else SUSPECT,
            )


def _traffic(snap: Snapshot) -> c.Iterator[tuple[list[Facts], str, set[int], str]]:
    """(pods, direction, ports, peer as text) of the traffic that requests need."""
    proxies = proxies_of(snap)
    for service in snap.services:
        epp, ports, grpc = service["scheduler"], set(service["pool"]["target_ports"]), {service["scheduler"]["ports"]["grpc"]}
        yield snap.pods(service["pool"]["selector"]), "Ingress", ports, "of the servers"
        yield snap.pods(epp["selector"], snap.picker_namespace), "Ingress", grpc, "of the endpoint picker"
        yield snap.pods(epp["selector"], snap.picker_namespace), "Egress", ports, "of the servers"
        yield proxies, "Egress", ports, "of the servers"
        yield proxies, "Egress", grpc, "of the endpoint picker"


def _restricts(policy: Facts, direction: str, pod: Facts) -> bool:
    """True when a policy selects the pod and restricts this direction: by default ingress, and egress where it has such rules."""
    spec = mapping(policy.get("spec"))
    kinds = spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    same = get_path(policy, "metadata", "namespace") == get_path(pod, "metadata", "namespace")
    return same and direction in kinds and selector_matches(spec.get("podSelector") or {}, pod)


def _admits(policy: Facts, direction: str, ports: set[int]) -> bool:
    """True when a rule admits traffic on one of the ports. Its peers are not checked: a rule can select the gateway in many ways."""
    for rule in dicts(get_path(policy, "spec", direction.lower())):
        named = dicts(rule.get("ports"))
        if not named or any(entry.get("port") is None or isinstance(entry["port"], str) or _within(entry, ports) for entry in named):
            return True
    return False


def _within(entry: c.Mapping[str, t.Any], ports: set[int]) -> bool:
    return any(entry["port"] <= port <= (entry.get("endPort") or entry["port"]) for port in ports)


RULES = (pools, services, shared, pickers, prefixes, network)
