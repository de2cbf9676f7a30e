# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the objects of others that are attached to a stack: every served kind of the groups in `strangers.GROUPS`, and admission webhooks. Read-only.

One list for each kind in all namespaces; where the account has no permission for it, or there are too many objects, lists in the namespaces of the stack, of
the groups that the plan's provider reads. It stops after `SECONDS`.
"""

from __future__ import annotations

import functools
import re
import time

from ..common.objects import Facts, api_group, dicts, get_path, mapping, text
from ..k8s.client import Cluster
from ..k8s.errors import ClusterError
from . import admission
from .snapshot import FORBIDDEN, Snapshot
from .strangers import GROUPS, relevant

SECONDS = 8.0  # for all requests together
MAX_OBJECTS = 500  # of one kind in one list
MAX_SERVICES = 16  # behind webhooks
INCOMPLETE = "too many, or not in time"


class OthersReader:
    """Fills `others` and `endpoints` of a snapshot whose own objects have been read. Unreadable objects are one entry of `unread` for each reason."""

    def __init__(self, cluster: Cluster, snap: Snapshot) -> None:
        self.cluster, self.snap, self.until = cluster, snap, time.monotonic() + SECONDS
        self.failed: dict[str, list[str]] = {}
        self.narrow = False  # whether the account may not list in all namespaces

    @functools.cached_property
    def relevant(self) -> set[str]:
        """The groups to read in the namespaces of the stack."""
        return relevant(self.snap)

    def read(self) -> None:
        """Reads all of these objects, several lists in parallel."""
        wanted = {**GROUPS, admission.GROUP: r"webhookconfigurations$"}
        try:
            groups = [group for group in dicts(self.cluster.get("/apis", timeout=5).get("groups")) if group.get("name") in wanted]
            kinds = [kind for served in self.cluster.parallel(self._kinds, groups) for kind in served]
        except ClusterError as error:
            self._record("API groups", error)
            kinds = []
        chosen = [(version, resource) for version, resource in kinds if re.search(wanted[api_group(version)], resource["name"])]
        for objects in self.cluster.parallel(self._objects, chosen):
            self.snap.others += objects
        services = {service for _configuration, webhook, _kinds in admission.webhooks(self.snap) if (service := admission.service_of(webhook))}
        self.cluster.parallel(self._endpoints, sorted(services)[:MAX_SERVICES])
        if self.narrow:
            self.failed.setdefault(FORBIDDEN, []).append("objects in other namespaces")
        for why, what in self.failed.items():
            # no status: unreadable objects of others are not a finding
            self.snap.unread.append({"what": f"what others attach: {', '.join(sorted(what))}", "message": why, "status": None})

    def _kinds(self, group: Facts) -> list[tuple[str, Facts]]:
        """(API version, resource) of each kind of a group that can be listed, in the preferred version where that serves it."""
        versions = [text(get_path(group, "preferredVersion", "groupVersion")), *(text(entry.get("groupVersion")) for entry in dicts(group.get("versions")))]
        kinds: dict[str, tuple[str, Facts]] = {}
        for version in dict.fromkeys(filter(None, versions)):
            for kind, resource in self.cluster.resources(version).items():
                if "list" in (resource.get("verbs") or ["list"]):
                    kinds.setdefault(kind, (version, resource))
        return list(kinds.values())

    def _objects(self, wanted: tuple[str, Facts]) -> list[Facts]:
        version, resource = wanted
        objects, why = self._list(version, resource, "")
        if why and resource.get("namespaced"):
            self.narrow = self.narrow or why == FORBIDDEN
            if why == FORBIDDEN and api_group(version) not in self.relevant:
                return objects
            gateway = self.snap.plan["gateway"]
            parts = [self._list(version, resource, place) for place in sorted({*self.snap.homes, gateway["namespace"], gateway["routes_namespace"]})]
            objects, why = [*objects, *(item for items, _why in parts for item in items)], next((reason for _items, reason in parts if reason), "")
        if why:
            self.failed.setdefault(why, []).append(text(resource["kind"]))
        return objects

    def _list(self, version: str, resource: Facts, namespace: str) -> tuple[list[Facts], str]:
        """(objects, reason why the list is incomplete) of one list, in one namespace or in all. The reason is empty for a complete list."""
        left = self.until - time.monotonic()
        path = self.cluster.path(version, resource["kind"], namespace or None) if left > 0 else None
        if path is None:
            return [], INCOMPLETE
        try:
            answer = mapping(self.cluster.find(path, {"limit": str(MAX_OBJECTS)}, timeout=left))
        except ClusterError as error:
            return [], FORBIDDEN if getattr(error, "status", None) == 403 else INCOMPLETE
        items = dicts(answer.get("items"))
        for item in items:
            item["apiVersion"], item["kind"] = version, resource["kind"]
        return items, INCOMPLETE if get_path(answer, "metadata", "continue") else ""

    def _endpoints(self, service: tuple[str, str]) -> None:
        """Stores the number of ready endpoints of a Service."""
        namespace, name = service
        path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
        try:
            slices = dicts(mapping(self.cluster.find(path, {"labelSelector": f"kubernetes.io/service-name={name}"}, timeout=5)).get("items"))
        except ClusterError as error:
            self._record(f"endpoints of Service {namespace}/{name}", error)
            return
        ready = [entry for part in slices for entry in dicts(part.get("endpoints")) if get_path(entry, "conditions", "ready") is not False]
        self.snap.endpoints[f"{namespace}/{name}"] = len(ready)

    def _record(self, what: str, error: Exception) -> None:
        forbidden = getattr(error, "status", None) == 403
        self.failed.setdefault(FORBIDDEN if forbidden else str(error), []).append(what)
