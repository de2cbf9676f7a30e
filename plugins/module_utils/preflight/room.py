# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on nodes: each pod can be scheduled (accelerators, CPU, memory, labels, taints), or nodes for it can be added. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import functools
import re
import typing as t
from decimal import Decimal

from ..common.objects import Facts, dicts, get_path, mapping, number, text
from ..k8s.platform import amount, tolerated
from ..releases.lines import ACCELERATORS
from .finding import PreflightFinding

Findings = t.Iterator[PreflightFinding]
Amounts = dict[str, Decimal]
# What every kubelet reports: a node without one of these has an unknown amount of it. A node has none of any other resource that it does not report.
_BASIC = ("cpu", "memory", "ephemeral-storage")
_OPTION = "llm_d_preflight.node_autoscaler"
_LOWEST = -(2**31)  # the lowest of all priorities
# Labels that a discovery writes once a node exists, so that an autoscaler does not know them for nodes that it would add (karpenter issue 1219).
_DISCOVERS = {label for row in ACCELERATORS.values() if (label := row["product_label"]) and not label.startswith("cloud.google.com/")}
_DISCOVERED = "Where nodes come for the pods, their autoscaler does not know this label before: select them by a label of their pool, in node_selector."
# Taints that Kubernetes and controllers set and remove themselves.
_BY_CONTROLLERS = re.compile(
    r"node\.kubernetes\.io/|node\.cloudprovider\.kubernetes\.io/|karpenter\.sh/"
    r"|(?:ToBeDeleted|DeletionCandidateOf)(?:By)?ClusterAutoscaler|.*/agent-not-ready\Z"
)


def nodes(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """Every pod can be scheduled. Each pod takes its room from the pods after it; the largest pods come first."""
    if "nodes" not in facts:
        return
    rooms = _rooms(facts, needs)
    findings: list[PreflightFinding] = []
    for pod in sorted(needs["pods"], key=_size, reverse=True):
        requests = requested(pod["containers"])
        if needs["installs"]["accelerators"]:  # the operator that we install adds the resource
            requests = {name: value for name, value in requests.items() if "/" not in name or any(name in room["all"] for room in rooms)}
        tolerations = [*pod["tolerations"], *_added_tolerations(requests, platform)]
        wanted = {**pod, "requests": requests, "tolerations": tolerations, "above": _above(pod["priority_class"], facts)}
        if wanted["replicas"] and (finding := _lacking(wanted, rooms)):
            findings.append(finding)
    for finding in dict.fromkeys(findings):
        yield _judged(finding, mapping(facts.get("node_autoscalers")), needs["node_autoscaler"])


def _above(priority_class: str | None, facts: Facts) -> int:
    """The priority below which pods are preempted by pods of a class; the lowest one where the class does not preempt, or could not be read."""
    definition = mapping(mapping(facts.get("named")).get(f"PriorityClass {priority_class}"))
    return _LOWEST if not definition or definition.get("preemptionPolicy") == "Never" else number(definition.get("value"))


def requested(containers: list[Facts]) -> Amounts:
    """The amounts that the scheduler counts for a pod: of all containers that run at the same time, or of one init container where that is more."""
    total: Amounts = {}
    init_containers: list[Amounts] = []
    for container in containers:
        amounts = {name: amount(value) for name, value in {**container["requests"], **container["limits"], **container["requests"]}.items()}
        if not container["sums"]:
            init_containers.append(amounts)
            continue
        for name, value in amounts.items():
            total[name] = total.get(name, Decimal(0)) + value
    for amounts in init_containers:
        total.update({name: max(value, total.get(name, Decimal(0))) for name, value in amounts.items()})
    return {name: value for name, value in total.items() if value}


def _size(pod: Facts) -> tuple[Decimal, ...]:
    amounts = requested(pod["containers"])
    return sum((value for name, value in amounts.items() if "/" in name), Decimal(0)), amounts.get("cpu", Decimal(0)), amounts.get("memory", Decimal(0))


def _rooms(facts: Facts, needs: Facts) -> list[Facts]:
    """{node, labels, taints, cordoned, all, free: amounts by resource, taken: [(priority, amounts) of each pod]} of each node. Our own pods are not
    counted: the new ones replace them."""
    used: dict[str, Amounts] = {}
    taken: dict[str, list[tuple[int, Amounts]]] = {}
    for pod in dicts(facts.get("pods")):
        metadata = mapping(pod.get("metadata"))
        ours = needs["labels"].items() <= mapping(metadata.get("labels")).items() and text(metadata.get("namespace")) in needs["namespaces"]
        if ours or text(get_path(pod, "status", "phase")) in ("Succeeded", "Failed"):
            continue
        node, amounts = text(get_path(pod, "spec", "nodeName")), requested([*_stated(pod, "containers"), *_stated(pod, "initContainers")])
        here = used.setdefault(node, {})
        for name, value in amounts.items():
            here[name] = here.get(name, Decimal(0)) + value
        taken.setdefault(node, []).append((number(get_path(pod, "spec", "priority")), amounts))
    rooms = []
    for each in dicts(facts["nodes"]):
        name, whole = text(get_path(each, "metadata", "name")), mapping(get_path(each, "status", "allocatable"))
        amounts = {resource: amount(value) for resource, value in whole.items() if amount(value)}
        rooms.append(
            {
                "node": name,
                "labels": mapping(get_path(each, "metadata", "labels")),
                "taints": dicts(get_path(each, "spec", "taints")),
                "cordoned": bool(get_path(each, "spec", "unschedulable")),
                "all": amounts,
                "free": {resource: max(Decimal(0), value - used.get(name, {}).get(resource, Decimal(0))) for resource, value in amounts.items()},
                "taken": taken.get(name, []),
            }
        )
    return rooms


def _open(room: Facts, above: int) -> Amounts:
    """The free amounts of a node once pods of a lower priority are preempted."""
    preempted = [amounts for priority, amounts in room["taken"] if priority < above]
    return {name: value + sum((amounts.get(name, Decimal(0)) for amounts in preempted), Decimal(0)) for name, value in room["free"].items()}


def _stated(pod: Facts, key: str) -> list[Facts]:
    """The containers of a pod as `requested` takes them."""
    return [
        {
            "sums": key == "containers" or each.get("restartPolicy") == "Always",
            **{part: mapping(get_path(each, "resources", part)) for part in ("requests", "limits")},
        }
        for each in dicts(get_path(pod, "spec", key))
    ]


def _added_tolerations(requests: Amounts, platform: Facts) -> list[Facts]:
    """The tolerations that GKE adds to pods that request an accelerator."""
    return [{"key": name, "operator": "Exists"} for name in requests if "/" in name] if platform["name"] == "gke" else []


def _lacking(wanted: Facts, rooms: list[Facts]) -> PreflightFinding | None:
    """The finding that not all pods can be scheduled; None where they can, and then their room is taken."""
    requests = wanted["requests"]
    devices = [name for name in requests if "/" in name]
    offering = [room for room in rooms if all(name in room["all"] for name in devices)]
    if not offering:
        return _no_device(wanted, devices, rooms)
    suited = [room for room in offering if wanted["labels"].items() <= room["labels"].items()]
    if not suited:
        return _no_label(wanted, devices, offering)
    usable = [room for room in suited if not room["cordoned"] and all(tolerated(taint, wanted["tolerations"]) for taint in room["taints"])]
    if not usable:
        return _no_toleration(wanted, devices, suited)
    place = functools.partial(_place, wanted["replicas"], usable, wanted["above"])
    if not any(_fits(requests, room["all"]) for room in usable):
        return _too_small(wanted, usable, devices)
    fitting = place(requests, take=True)
    if fitting >= wanted["replicas"]:
        return None
    scarce = [name for name in requests if place({name: requests[name]}, take=False) < wanted["replicas"] - fitting] or list(requests)
    return _no_room(wanted, [name for name in scarce if name in devices] or scarce, fitting, usable)


def _fits(requests: Amounts, available: Amounts) -> int:
    """The number of pods that fit into these amounts."""
    numbers = [int(available.get(name, Decimal(0)) // value) for name, value in requests.items() if name in available or name not in _BASIC]
    return max(0, min(numbers, default=1_000_000))


def _place(replicas: int, rooms: list[Facts], above: int, requests: Amounts, *, take: bool) -> int:
    """The number of pods, up to `replicas`, that fit on the nodes. above: see `_above`; take: whether they take their room."""
    placed = 0
    for room in rooms:
        here = min(_fits(requests, _open(room, above)), replicas - placed)
        placed += here
        for name, value in requests.items() if take else ():
            if name in room["free"]:
                room["free"][name] -= here * value
    return placed


def _no_device(wanted: Facts, devices: list[str], rooms: list[Facts]) -> PreflightFinding:
    lacking = [name for name in devices if not any(name in room["all"] for room in rooms)] or devices
    if not devices:
        return PreflightFinding("nodes/none", f"There is no node for {wanted['service']}.", "none", "a node", "Add nodes.")
    others = sorted({name for room in rooms for name in room["all"] if "/" in name and name not in devices})
    how = "Add nodes with accelerators, or install their device plugin: see docs/gpus.md."
    return PreflightFinding(
        "accelerators/none",
        f"No node has {' and '.join(lacking)}, which {wanted['service']} needs.",
        ", ".join(others) or "none",
        ", ".join(f"{wanted['replicas'] * wanted['requests'][name]:f}" for name in lacking),
        f"Write accelerator.vendor or accelerator.resource for what nodes have, if that is meant. {how}" if others else how,
    )


def _no_label(wanted: Facts, devices: list[str], offering: list[Facts]) -> PreflightFinding:
    values = sorted({str(room["labels"].get(key, "no label")) for room in offering for key in wanted["labels"]})
    rest = (
        f"No node{f' with {devices[0]}' if devices else ''} suits {wanted['service']}.",
        ", ".join(values),
        ", ".join(f"{key}={value}" for key, value in wanted["labels"].items()),
        "Correct accelerator.product or node_selector." + (f" {_DISCOVERED}" if _DISCOVERS & wanted["labels"].keys() else ""),
    )
    return PreflightFinding("accelerators/product", *rest) if devices else PreflightFinding("nodes/labels", *rest)


def _no_toleration(wanted: Facts, devices: list[str], suited: list[Facts]) -> PreflightFinding:
    taints = sorted({f"{taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}" for room in suited for taint in room["taints"]})
    keys = {text(taint.get("key")) for room in suited for taint in room["taints"] if not tolerated(taint, wanted["tolerations"])}
    remedy = "Write tolerations for the model service, or uncordon the nodes." if wanted["server"] else "Remove the taint of a node, or uncordon one."
    if keys and all(map(_BY_CONTROLLERS.match, keys)):
        which = ", ".join(sorted(keys))
        remedy = f"Check the nodes: {which} is set while a node joins, fails or is removed, and must not be tolerated. Run again when it is gone."
    rest = (
        f"The nodes for {_name(wanted)} are tainted or cordoned.",
        ", ".join(taints) or "cordoned",
        "a toleration",
        remedy,
    )
    return PreflightFinding("accelerators/tainted", *rest) if devices else PreflightFinding("nodes/tainted", *rest)


def _too_small(wanted: Facts, usable: list[Facts], devices: list[str]) -> PreflightFinding:
    requests: Amounts = wanted["requests"]
    scarce = [name for name, value in requests.items() if not any(_fits({name: value}, room["all"]) for room in usable)] or list(requests)
    return PreflightFinding(
        "nodes/size",
        f"No node is large enough for {_name(wanted)}, even when nothing else runs on it.",
        "; ".join(f"{room['node']} {_listed({name: room['all'].get(name, Decimal(0)) for name in scarce})}" for room in _largest(usable, scarce)),
        f"{_listed({name: requests[name] for name in scarce})} on one node",
        "Lower accelerator.per_replica, spread a replica by accelerator.nodes, or add larger nodes."
        if set(scarce) & set(devices)
        else f"Lower {wanted['option']}, or add larger nodes.",
    )


def _no_room(wanted: Facts, scarce: list[str], fitting: int, usable: list[Facts]) -> PreflightFinding:
    requests: Amounts = {name: wanted["requests"][name] for name in scarce}
    unit = "replicas" if wanted["nodes"] == 1 else f"parts ({wanted['nodes']} for each replica)"
    count, places = f"There is room for {fitting} of {wanted['replicas']} {unit} of", f"on one node, {wanted['replicas']} times"
    if all("/" in name for name in scarce):
        return PreflightFinding(
            "accelerators/taken",
            f"{count} {wanted['service']}.",
            "free: " + ", ".join(f"{room['node']} {room['free'][scarce[0]]:f} of {room['all'][scarce[0]]:f}" for room in usable),
            f"{' and '.join(f'{value:f} of {name}' for name, value in requests.items())} {places}",
            "Lower replicas, free accelerators, or add nodes.",
        )
    return PreflightFinding(
        "nodes/taken",
        f"{count} {_name(wanted)}.",
        "free: " + "; ".join(f"{room['node']} {_listed({name: room['free'].get(name, Decimal(0)) for name in scarce})}" for room in _largest(usable, scarce)),
        f"{_listed(requests)} {places}",
        f"Lower replicas or {wanted['option']}, end what uses the nodes, or add nodes.",
    )


def _name(wanted: Facts) -> str:
    """The service of a pod of a model server; the name of any other pod."""
    return str(wanted["service"] if wanted["server"] else wanted["name"])


def _largest(rooms: list[Facts], names: c.Sequence[str]) -> list[Facts]:
    """Up to three nodes with the largest free amounts of these resources."""
    return sorted(rooms, key=lambda room: [-room["free"].get(name, Decimal(0)) for name in names])[:3]


def _listed(amounts: Amounts) -> str:
    """Amounts for people, such as `8 cpu, 16Gi memory`."""
    return ", ".join(f"{_shown(name, value)} {name}" for name, value in amounts.items())


def _shown(name: str, value: Decimal) -> str:
    size = next(
        (
            (unit, Decimal(1024**power))
            for power, unit in ((3, "Gi"), (2, "Mi"))
            if (name in _BASIC[1:] or name.startswith("hugepages-")) and value >= 1024**power
        ),
        ("", Decimal(1)),
    )
    return f"{round(value / size[1], 2).normalize():f}{size[0]}"


def _judged(finding: PreflightFinding, autoscalers: Facts, stated: str) -> PreflightFinding:
    """The finding, as a warning where nodes can be added: an autoscaler was observed, or the user says so."""
    active, reasons = autoscalers.get("active") or [], autoscalers.get("without") or []
    source = f"'{_OPTION}: present'" if stated == "present" else "; ".join(active)
    # A cluster without any node is one to which nodes are added.
    if stated == "present" or (stated == "detect" and (active or finding.id == "nodes/none")):
        note = f"Nodes can come: {source}." if source else "No node autoscaler was found; nodes may still come."
        how = f"{note} The run waits for them, and shows what the autoscaler reports; whether it has nodes for these pods is not known here."
        how = f"{how} Otherwise: {finding.how}"
        return dataclasses.replace(finding, how=how, severity="warning")
    note = f"{_OPTION} is 'absent'." if stated == "absent" else f"No node autoscaler was found{': ' if reasons else ''}{'; '.join(reasons)}."
    return dataclasses.replace(
        finding, how=f"{finding.how} {note} Where nodes come when pods need them, write 'node_autoscaler: present' under llm_d_preflight."
    )


CHECKS = (nodes,)
