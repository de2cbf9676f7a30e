# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else uses a gateway's controller, its class and the namespaces that an instance may have made for all. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

from ..common.labels import MANAGED_BY, PART_OF, has_labels
from ..common.objects import dig, mapping, text
from .apply_results import object_title

Facts = dict[str, t.Any]


@dataclasses.dataclass
class ControllerUse:
    """What was found. gateways, classes, namespaces: objects; workloads: by namespace, objects of other instances of ours, and claims."""

    gateways: c.Sequence[Facts]
    classes: c.Sequence[Facts]
    namespaces: c.Sequence[Facts]
    workloads: c.Mapping[str, c.Sequence[Facts]]


def shared(seen: ControllerUse, controllers: c.Sequence[Facts], labels: Facts, own_namespace: str) -> Facts:
    """{used: names of controllers, classes and namespaces: names of those that must stay, made: names of classes to clear away, lines: why}.

    controllers: {name, namespace or None, class_name: the one that we use, classes: those that it makes by itself, with who serves each}. A Gateway is
    ours, and going, where it bears our labels and stands in `own_namespace`; none is where that is empty.
    """
    gateways = [item for item in seen.gateways if not (own_namespace and has_labels(item, labels) and dig(item, "metadata", "namespace") == own_namespace)]
    found: Facts = {"used": [], "classes": sorted({_class(item) for item in gateways}), "namespaces": [], "made": [], "lines": []}
    there = {text(dig(item, "metadata", "name")): item for item in seen.classes}
    for controller in controllers:
        users = _users(controller, gateways, there, seen.namespaces, labels)
        if users:
            found["used"].append(controller["name"])
            found["namespaces"] += [controller["namespace"]] if controller["namespace"] else []
            found["lines"].append(f"the controller {controller['name']} stays, and with it what it needs: {first_few(users)}")
        else:
            found["made"] += [name for name, server in controller["classes"].items() if name in there and _server(there[name]) == server]
    for namespace, workloads in seen.workloads.items():
        there_too = [*workloads, *(item for item in gateways if dig(item, "metadata", "namespace") == namespace)]
        if there_too:
            found["namespaces"].append(namespace)
            found["lines"].append(f"the namespace {namespace} stays: {first_few([title_with_instance(item) for item in there_too])}")
    return found


def _users(controller: Facts, gateways: c.Sequence[Facts], classes: c.Mapping[str, Facts], namespaces: c.Sequence[Facts], labels: Facts) -> list[str]:
    """Everything of others that needs a controller, in words."""
    own = {controller["class_name"]: controller["name"], **controller["classes"]}
    served = {name for name, item in classes.items() if _server(item) in (controller["name"], own.get(name))} | {name for name in own if name not in classes}
    found = [f"{title_with_instance(item)} is of class {_class(item)}" for item in gateways if _class(item) in served]
    for name, item in classes.items():
        made = name in controller["classes"] and MANAGED_BY not in mapping(dig(item, "metadata", "labels"))
        if _server(item) == controller["name"] and not made and not has_labels(item, labels):
            found.append(f"{title_with_instance(item)} is another's")
    for item in namespaces:
        theirs = mapping(dig(item, "metadata", "labels"))
        if dig(item, "metadata", "name") == controller["namespace"] and theirs.get(MANAGED_BY) == labels.get(MANAGED_BY) and not has_labels(item, labels):
            found.append(f"{title_with_instance(item)} was made by another instance, whose teardown takes it away")
    return found


def _server(item: Facts) -> str:
    return text(dig(item, "spec", "controllerName"))


def _class(item: Facts) -> str:
    return text(dig(item, "spec", "gatewayClassName"))


def title_with_instance(item: Facts) -> str:
    """An object, and the instance of ours that has made it, if any."""
    instance = mapping(dig(item, "metadata", "labels")).get(PART_OF)
    return object_title(item) + (f" of instance {text(instance)}" if instance else "")


def first_few(users: c.Sequence[str], shown: int = 5) -> str:
    """The first few, and how many more there are."""
    return "; ".join(users[:shown]) + (f"; and {len(users) - shown} more" if len(users) > shown else "")
