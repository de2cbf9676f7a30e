# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether other instances or users need the gateway controllers, classes and namespaces that an instance may have created. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ..common.labels import MANAGED_BY, PART_OF, has_labels
from ..common.objects import Facts, get_path, mapping, text
from .apply_results import object_title


@dataclasses.dataclass
class ControllerUse:
    """Objects of the cluster. workloads: by namespace, those of other instances of this collection, and claims left with their data."""

    gateways: c.Sequence[Facts]
    classes: c.Sequence[Facts]
    namespaces: c.Sequence[Facts]
    workloads: c.Mapping[str, c.Sequence[Facts]]


def shared(use: ControllerUse, controllers: c.Sequence[Facts], labels: Facts, own_namespace: str) -> Facts:
    """{used: names of controllers in use, classes, namespaces: names that must stay, made: GatewayClasses to prune, lines: why each stays}.

    controllers: {name, namespace or None, class_name: the class we use, classes: the classes it creates itself, with the controller that serves each}.
    own_namespace: Gateways there with these labels are about to be deleted and need nothing; empty when none is.
    """
    gateways = [item for item in use.gateways if not (own_namespace and has_labels(item, labels) and get_path(item, "metadata", "namespace") == own_namespace)]
    found: Facts = {"used": [], "classes": sorted({_class(item) for item in gateways}), "namespaces": [], "made": [], "lines": []}
    there = {text(get_path(item, "metadata", "name")): item for item in use.classes}
    for controller in controllers:
        users = _users(controller, gateways, there, use.namespaces, labels)
        if users:
            found["used"].append(controller["name"])
            found["namespaces"] += [controller["namespace"]] if controller["namespace"] else []
            found["lines"].append(f"the controller {controller['name']} stays, and with it what it needs: {first_few(users)}")
        else:
            found["made"] += [name for name, server in controller["classes"].items() if name in there and _server(there[name]) == server]
    for namespace, workloads in use.workloads.items():
        there_too = [*workloads, *(item for item in gateways if get_path(item, "metadata", "namespace") == namespace)]
        if there_too:
            found["namespaces"].append(namespace)
            found["lines"].append(f"the namespace {namespace} stays: {first_few([title_with_instance(item) for item in there_too])}")
    return found


def _users(controller: Facts, gateways: c.Sequence[Facts], classes: c.Mapping[str, Facts], namespaces: c.Sequence[Facts], labels: Facts) -> list[str]:
    """Each object of someone else that needs a controller, as text."""
    own = {controller["class_name"]: controller["name"], **controller["classes"]}
    served = {name for name, item in classes.items() if _server(item) in (controller["name"], own.get(name))} | {name for name in own if name not in classes}
    found = [f"{title_with_instance(item)} is of class {_class(item)}" for item in gateways if _class(item) in served]
    for name, item in classes.items():
        made = name in controller["classes"] and MANAGED_BY not in mapping(get_path(item, "metadata", "labels"))
        if _server(item) == controller["name"] and not made and not has_labels(item, labels):
            found.append(f"{title_with_instance(item)} is another's")
    for item in namespaces:
        theirs = mapping(get_path(item, "metadata", "labels"))
        if get_path(item, "metadata", "name") == controller["namespace"] and theirs.get(MANAGED_BY) == labels.get(MANAGED_BY) and not has_labels(item, labels):
            found.append(f"{title_with_instance(item)} was made by another instance, whose teardown takes it away")
    return found


def _server(item: Facts) -> str:
    return text(get_path(item, "spec", "controllerName"))


def _class(item: Facts) -> str:
    return text(get_path(item, "spec", "gatewayClassName"))


def title_with_instance(item: Facts) -> str:
    """Title of an object, with the instance of this collection that created it, if any."""
    instance = mapping(get_path(item, "metadata", "labels")).get(PART_OF)
    return object_title(item) + (f" of instance {text(instance)}" if instance else "")


def first_few(users: c.Sequence[str], shown: int = 5) -> str:
    """The first few joined, and how many more there are."""
    return "; ".join(users[:shown]) + (f"; and {len(users) - shown} more" if len(users) > shown else "")
