# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether other instances or users need the gateway controllers, classes and namespaces that an instance may have created. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ..common.labels import HOME_LABEL, MANAGED_BY, PART_OF, has_labels, is_ours
from ..common.objects import Facts, get_path, mapping, text
from .apply_results import object_title
from .applyset import Others


@dataclasses.dataclass
class ControllerUse:
    """Objects of the cluster. gateways: None where they cannot be listed; served: by the name of a controller, the objects and pods that it serves;
    unread: by the same, why its users are not known."""

    gateways: c.Sequence[Facts] | None
    classes: c.Sequence[Facts]
    namespaces: c.Sequence[Facts]
    served: c.Mapping[str, c.Sequence[Facts]]
    unread: c.Mapping[str, c.Sequence[str]]


def removable(use: ControllerUse, controllers: c.Sequence[Facts], classes: c.Collection[str], labels: Facts, home: str, beside: Others) -> Facts:
    """{free: the controllers without other users, each with the GatewayClasses that it `made`; classes: those of these names that must stay; lines: why}.

    controllers: rows of plan/cluster/record.py, whose releases are ours if their namespace is. home: the namespace of the file, whose own objects with these
    labels need nothing, since they are deleted or have another controller; empty where they belong to another file. beside: the records of other files.
    """
    gateways = [item for item in use.gateways or [] if not (home and is_ours(item, labels, home))]
    # Gateways that cannot be listed may use any class.
    result: Facts = {"free": [], "classes": sorted({*classes} if use.gateways is None else {*classes} & {_class(item) for item in gateways}), "lines": []}
    by_name = {text(get_path(item, "metadata", "name")): item for item in use.classes}
    holders, unread = beside.holders, [beside.unread] if beside.unread else []
    for controller in controllers:
        holder = holders.get(controller["namespace"])
        users = [*_users(controller, gateways, by_name, use.namespaces, labels), *_served(use.served.get(controller["name"], ()), labels, home)]
        why = [
            *([first_few(users)] if users else []),
            *([f"the file of the record {holder} needs it"] if holder else []),
            *(f"it is not known who else uses it, since {reason}" for reason in [*use.unread.get(controller["name"], ()), *unread]),
        ]
        if why:
            result["lines"] += [f"the controller {controller['name']} stays, and with it what it needs: {line}" for line in why]
        else:
            made = [name for name, server in controller["classes"].items() if name in by_name and _server(by_name[name]) == server]
            result["free"].append({**controller, "made": made})
    # Two releases of one controller have the same users.
    return {**result, "lines": list(dict.fromkeys(result["lines"]))}


def _users(controller: Facts, gateways: c.Sequence[Facts], classes: c.Mapping[str, Facts], namespaces: c.Sequence[Facts], labels: Facts) -> list[str]:
    """Each object of others that needs a controller, as text."""
    own = {controller["class_name"]: controller["name"], **controller["classes"]}
    served = {name for name, item in classes.items() if _server(item) in (controller["name"], own.get(name))} | {name for name in own if name not in classes}
    users = [f"{title_with_instance(item)} is of class {_class(item)}" for item in gateways if _class(item) in served]
    for name, item in classes.items():
        made = name in controller["classes"] and MANAGED_BY not in mapping(get_path(item, "metadata", "labels"))
        if _server(item) == controller["name"] and not made and not has_labels(item, labels):
            users.append(f"{title_with_instance(item)} is another's")
    for item in namespaces:
        marks = [f"{name}={value}" for name, value in controller["mesh"].items() if has_labels(item, {name: value}) and not has_labels(item, labels)]
        users += [f"{title_with_instance(item)} has its pods served ({marks[0]})"] if marks else []
        if get_path(item, "metadata", "name") == controller["namespace"] and not has_labels(item, labels):
            if mapping(get_path(item, "metadata", "labels")).get(MANAGED_BY) == labels.get(MANAGED_BY):
                users.append(f"{title_with_instance(item)} was made by another instance, whose teardown takes it away")
            else:
                users.append(f"{title_with_instance(item)} is not ours, so that the release in it may be of others (helm list -n {controller['namespace']})")
    return users


def _served(items: c.Sequence[Facts], labels: Facts, home: str) -> list[str]:
    """Each object or pod of others that a controller serves; all of them where `home` is empty, since none of ours is about to be deleted."""
    return list(dict.fromkeys(title_with_instance(item) for item in items if not (home and is_ours(item, labels, home))))


def _server(item: Facts) -> str:
    return text(get_path(item, "spec", "controllerName"))


def _class(item: Facts) -> str:
    return text(get_path(item, "spec", "gatewayClassName"))


def title_with_instance(item: Facts) -> str:
    """Title of an object, with the instance of this collection that created it, if any, and the namespace of its file where that is another one."""
    labels = mapping(get_path(item, "metadata", "labels"))
    home = f" in namespace {text(labels[HOME_LABEL])}" if HOME_LABEL in labels else ""
    return object_title(item) + (f" of instance {text(labels[PART_OF])}{home}" if labels.get(PART_OF) else "")


def first_few(users: c.Sequence[str], shown: int = 5) -> str:
    """The first few joined, and how many more there are."""
    return "; ".join(users[:shown]) + (f"; and {len(users) - shown} more" if len(users) > shown else "")
