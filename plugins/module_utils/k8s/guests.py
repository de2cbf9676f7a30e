# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of others that would stop working if our Gateways and PersistentVolumeClaims were removed. Pure."""

from __future__ import annotations

import collections.abc as c

from ..common.labels import has_labels, is_ours
from ..common.objects import Facts, dicts, get_path, mapping, number, text
from ..common.text import pluralize
from .shared_controllers import title_with_instance

GROUPS = ("gateway.networking.k8s.io", "gateway.networking.x-k8s.io")
_LISTENER_SETS = ("ListenerSet", "XListenerSet")
Name = tuple[str, str]  # namespace, name
Parent = tuple[str, str, str]  # kind, namespace, name


def is_attached_kind(kind: str) -> bool:
    """Whether objects of a kind of the Gateway API are attached to Gateways: routes and ListenerSets."""
    return kind.endswith("Route") or kind in _LISTENER_SETS


def attached(gateway: Name, items: c.Iterable[Facts]) -> list[Facts]:
    """The ListenerSets of a Gateway, and the routes that lead through the Gateway or one of these sets."""
    objects = list(items)
    parents: set[Parent] = {("Gateway", *gateway)}
    sets = [item for item in objects if item.get("kind") in _LISTENER_SETS and _parent(mapping(get_path(item, "spec", "parentRef")), item) in parents]
    parents |= {(text(item.get("kind")), *_name(item)) for item in sets}
    return sets + [item for item in objects if any(_parent(parent, item) in parents for parent in dicts(get_path(item, "spec", "parentRefs")))]


def others_attached(gateways: c.Iterable[Name], items: c.Iterable[Facts], labels: Facts, home: str) -> list[str]:
    """A line for each object that is attached to one of these Gateways and is not ours. labels, home: as for `is_ours`."""
    lines: dict[str, str] = {}
    objects = list(items)
    for gateway in gateways:
        for item in attached(gateway, objects):
            if not is_ours(item, labels, home):
                verb = "adds listeners to" if item.get("kind") in _LISTENER_SETS else "leads through"
                lines.setdefault(title_with_instance(item), f"{title_with_instance(item)} {verb} the Gateway {'/'.join(gateway)}")
    return list(lines.values())


def unlisted_attachments(gateway: Facts, items: c.Iterable[Facts]) -> str:
    """How many objects other than these `items` are at least attached to a Gateway by its status, as text; empty where there are none, or it has no status.

    A route counts at each of its listeners, so that a sum over the listeners is too large: the listener with the most other routes counts.
    """
    known = attached(_name(gateway), items)
    sets = [item for item in known if item.get("kind") in _LISTENER_SETS]
    listeners = dicts(get_path(gateway, "status", "listeners"))
    routes = [number(each.get("attachedRoutes")) - sum(_is_at(item, gateway, text(each.get("name"))) for item in known) for each in listeners]
    rest = [(max(routes, default=0), "more route"), (number(get_path(gateway, "status", "attachedListenerSets")) - len(sets), "more ListenerSet")]
    return " and ".join(pluralize(count, what) for count, what in rest if count > 0)


def _is_at(item: Facts, gateway: Facts, listener: str) -> bool:
    """Whether a route names a listener of a Gateway, or the whole Gateway."""
    parents = [parent for parent in dicts(get_path(item, "spec", "parentRefs")) if _parent(parent, item) == ("Gateway", *_name(gateway))]
    return any(text(parent.get("sectionName")) in ("", listener) for parent in parents)


def _parent(parent: Facts, item: Facts) -> Parent:
    """What a parentRef of an object names; empty where that is outside of the Gateway API."""
    if parent.get("group", GROUPS[0]) not in GROUPS:
        return "", "", ""
    place = text(parent.get("namespace") or get_path(item, "metadata", "namespace"))
    return text(parent.get("kind", "Gateway")), place, text(parent.get("name"))


def _name(item: Facts) -> Name:
    return text(get_path(item, "metadata", "namespace")), text(get_path(item, "metadata", "name"))


def users_of_claims(claims: c.Container[Name], workloads: c.Iterable[Facts], labels: Facts) -> list[str]:
    """A line for each workload without our labels that mounts one of these PersistentVolumeClaims."""
    users = []
    for item in workloads:
        spec_paths = {"Pod": ("spec",), "CronJob": ("spec", "jobTemplate", "spec", "template", "spec")}
        spec = get_path(item, *spec_paths.get(text(item.get("kind")), ("spec", "template", "spec")))
        names = [text(get_path(volume, "persistentVolumeClaim", "claimName")) for volume in dicts(get_path(spec, "volumes"))]
        mounted = [name for name in names if (text(get_path(item, "metadata", "namespace")), name) in claims]
        if mounted and not has_labels(item, labels):
            users.append(f"{title_with_instance(item)} mounts the PersistentVolumeClaim {mounted[0]}")
    return users
