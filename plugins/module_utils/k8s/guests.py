# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of others would stop working if our gateways and claims were removed. Pure."""

from __future__ import annotations

import collections.abc as c

from ..common.labels import has_labels
from ..common.objects import Facts, dicts, get_path, text
from .shared_controllers import title_with_instance

_GATEWAY = ("gateway.networking.k8s.io", "Gateway")
Name = tuple[str, str]  # namespace, name


def routes_of_others(gateways: c.Container[Name], routes: c.Iterable[Facts], labels: Facts) -> list[str]:
    """Each route without our labels that a gateway of these serves, as text."""
    found = []
    for route in routes:
        served = [parent for parent in dicts(get_path(route, "spec", "parentRefs")) if _parent(parent, route) in gateways]
        if served and not has_labels(route, labels):
            found.append(f"{title_with_instance(route)} leads through the Gateway {'/'.join(_parent(served[0], route))}")
    return found


def _parent(parent: Facts, route: Facts) -> Name:
    if (parent.get("group", _GATEWAY[0]), parent.get("kind", _GATEWAY[1])) != _GATEWAY:
        return "", ""
    return text(parent.get("namespace") or get_path(route, "metadata", "namespace")), text(parent.get("name"))


def users_of_claims(claims: c.Container[Name], workloads: c.Iterable[Facts], labels: Facts) -> list[str]:
    """Each Pod, Deployment or StatefulSet without our labels that mounts a claim of these, as text."""
    found = []
    for item in workloads:
        spec = item.get("spec") if item.get("kind") == "Pod" else get_path(item, "spec", "template", "spec")
        names = [text(get_path(volume, "persistentVolumeClaim", "claimName")) for volume in dicts(get_path(spec, "volumes"))]
        mounted = [name for name in names if (text(get_path(item, "metadata", "namespace")), name) in claims]
        if mounted and not has_labels(item, labels):
            found.append(f"{title_with_instance(item)} mounts the PersistentVolumeClaim {mounted[0]}")
    return found
