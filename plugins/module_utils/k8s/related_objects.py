# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads objects with few requests, and their pods, events and logs."""

from __future__ import annotations

from dataclasses import dataclass

from ..common.labels import GROUP_LABELS, GROUP_REVISION, label_selector
from ..common.objects import Facts, dicts, generation, get_path, mapping, number, text
from .client import Cluster
from .errors import ApiError, ClusterError

# Large objects: each is read by name, never as a list.
HEAVY = ("CustomResourceDefinition", "Secret")
# Labels of the pods of a gateway: the Gateway API's own label, then Envoy Gateway's pair.
GATEWAY_PODS = (
    "gateway.networking.k8s.io/gateway-name={name}",
    "gateway.envoyproxy.io/owning-gateway-name={name},gateway.envoyproxy.io/owning-gateway-namespace={namespace}",
)
# Objects that accelerator operators act on, with the namespace of the operator's DaemonSets; empty: the object's own namespace.
OPERATED = {("habanalabs.habana.ai", "ClusterPolicy"): "habana-ai-operator", ("amd.com", "DeviceConfig"): ""}
LOG_LINES = 400  # lines of a log that hold the cause: vLLM writes some 150 after it, of every process
CREATORS = 3
EVENTS = "100"  # of one request
REVISION = "deployment.kubernetes.io/revision"


@dataclass(frozen=True)
class Ref:
    """Which objects: one by name, all with some labels, or (every) all of the kind, of which one at least must exist."""

    api_version: str
    kind: str
    namespace: str
    name: str
    generation: int = 0
    labels: str = ""
    every: bool = False
    parent: str = ""  # NAMESPACE/NAME of the Gateway that has to report on it
    least: int = 0  # replicas that the spec of a workload must request

    def __str__(self) -> str:
        name = self.name or (f"with {self.labels}" if self.labels else "of any name")
        return f"{self.kind} {self.namespace}/{name}" if self.namespace else f"{self.kind} {name}"


def references(items: list[Facts]) -> list[Ref]:
    """Refs of definitions, of objects, or of short forms {api_version, kind, name, namespace, label_selector, every, parent, least}.

    Raises ClusterError naming every element that is incomplete.
    """
    refs: list[Ref] = []
    problems: list[str] = []
    for index, item in enumerate(items):
        metadata = mapping(item.get("metadata"))
        labels = item.get("label_selector") or ""
        if isinstance(labels, dict):
            labels = label_selector(labels)
        ref = Ref(
            text(item.get("apiVersion") or item.get("api_version")),
            text(item.get("kind")),
            text(metadata.get("namespace") or item.get("namespace")),
            text(metadata.get("name") or item.get("name")),
            int(metadata.get("generation") or item.get("generation") or 0),
            text(labels),
            bool(item.get("every")),
            text(item.get("parent")),
            number(item.get("least")),
        )
        lacking = [name for name, value in (("apiVersion", ref.api_version), ("kind", ref.kind), ("name", ref.name or ref.labels or ref.every)) if not value]
        if lacking:
            problems.append(f"resources[{index}] lacks {', '.join(lacking)}")
        refs.append(ref)
    if problems:
        raise ClusterError("; ".join(problems))
    return refs


class Observer:
    """Reads the objects of some Refs, and their pods, events and logs.

    skip_forbidden: what the account may not read counts as absent; `forbidden` has these refs with the message of the API server. managed_fields: whether
    objects keep theirs, which show when they were changed.
    """

    def __init__(self, cluster: Cluster, refs: list[Ref], skip_forbidden: bool = False, managed_fields: bool = False) -> None:
        self.cluster = cluster
        self._skip_forbidden, self._managed_fields = skip_forbidden, managed_fields
        self.forbidden: dict[Ref, str] = {}
        self.refs = refs
        self._groups: dict[tuple[str, ...], list[Ref]] = {}
        for ref in refs:
            key = (ref.api_version, ref.kind, ref.namespace, ref.labels, ref.name if ref.kind in HEAVY else "")
            self._groups.setdefault(key, []).append(ref)

    def fetch(self) -> dict[Ref, list[Facts]]:
        """The objects of each Ref: none, one, or all with its labels. One request per kind and namespace."""
        objects: dict[Ref, list[Facts]] = {}
        for part in self.cluster.parallel(self._group, list(self._groups.values())):
            objects.update(part)
        return objects

    def known(self, ref: Ref, refresh: bool = False) -> bool:
        """Whether the API server serves the kind."""
        return self.cluster.resource(ref.api_version, ref.kind, refresh) is not None

    def _group(self, refs: list[Ref]) -> dict[Ref, list[Facts]]:
        first = refs[0]
        single = len(refs) == 1 and bool(first.name) and not first.labels
        path = self.cluster.path(first.api_version, first.kind, first.namespace, first.name if single else None)
        if path is None:
            return {ref: [] for ref in refs}
        try:
            answer = self.cluster.find(path, {"labelSelector": first.labels} if first.labels else None)
        except ApiError as exc:
            if exc.status != 403 or not self._skip_forbidden:
                raise
            answer = None
            self.forbidden.update(dict.fromkeys(refs, str(exc)))
        items = [answer] if single and answer else dicts(mapping(answer).get("items"))
        for item in items:
            # Items of a list lack these.
            item.setdefault("apiVersion", first.api_version)
            item.setdefault("kind", first.kind)
            if not self._managed_fields:
                mapping(item.get("metadata")).pop("managedFields", None)
        if first.labels:
            return dict.fromkeys(refs, items)
        by_name = {get_path(item, "metadata", "name"): item for item in items}
        return {ref: items if ref.every else [by_name[ref.name]] if ref.name in by_name else [] for ref in refs}

    def pods(self, obj: Facts) -> list[Facts]:
        """Pods of the current revision of a workload, or of a Gateway's proxy; [] when they cannot be read.

        Also [] until the controller has observed the current generation, since until then its newest revision is the one before.
        """
        namespace, kind = text(get_path(obj, "metadata", "namespace")), text(obj.get("kind"))
        if kind == "Pod":
            return [obj]
        if kind == "Gateway":
            return self._gateway_pods(text(get_path(obj, "metadata", "name")), namespace)
        if kind == "LeaderWorkerSet":
            return self._group_pods(obj, namespace)
        if (text(obj.get("apiVersion")).partition("/")[0], kind) in OPERATED:
            namespace = OPERATED[text(obj.get("apiVersion")).partition("/")[0], kind] or namespace
            return [pod for pod in self._list(f"/api/v1/namespaces/{namespace}/pods") if _of_daemon_set(pod)]
        selector = selector_text(mapping(get_path(obj, "spec", "selector")))
        if not selector or not namespace or kind not in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"):
            return []
        if kind in ("Deployment", "StatefulSet") and number(get_path(obj, "status", "observedGeneration")) < generation(obj):
            return []
        pods = self._list(f"/api/v1/namespaces/{namespace}/pods", selector)
        if kind == "Deployment":
            sets = self._list(f"/apis/apps/v1/namespaces/{namespace}/replicasets", selector)
            newest = [entry for entry in sets if get_path(entry, "metadata", "annotations", REVISION) == get_path(obj, "metadata", "annotations", REVISION)]
            return [pod for pod in pods if any(owned(pod, entry) for entry in newest)]
        if kind == "StatefulSet" and get_path(obj, "status", "updateRevision"):
            revision = get_path(obj, "status", "updateRevision")
            return [pod for pod in pods if get_path(pod, "metadata", "labels", "controller-revision-hash") == revision]
        return [pod for pod in pods if owned(pod, obj)]

    def leaving(self, obj: Facts) -> bool:
        """Whether pods of a workload, of any revision, are being deleted."""
        selector, namespace = selector_text(mapping(get_path(obj, "spec", "selector"))), text(get_path(obj, "metadata", "namespace"))
        if not selector or not namespace:
            return False
        return any(get_path(pod, "metadata", "deletionTimestamp") for pod in self._list(f"/api/v1/namespaces/{namespace}/pods", selector))

    def _group_pods(self, obj: Facts, namespace: str) -> list[Facts]:
        """Leaders and workers of the current revision, which is a label of the StatefulSet of the leaders, named like the LeaderWorkerSet."""
        if number(get_path(obj, "status", "observedGeneration")) < generation(obj):
            return []
        name = text(get_path(obj, "metadata", "name"))
        sets = self._list(f"/apis/apps/v1/namespaces/{namespace}/statefulsets", f"{GROUP_LABELS}/name={name}")
        revision = next((get_path(entry, "metadata", "labels", GROUP_REVISION) for entry in sets if get_path(entry, "metadata", "name") == name), None)
        return self._list(f"/api/v1/namespaces/{namespace}/pods", f"{GROUP_LABELS}/name={name},{GROUP_REVISION}={revision}") if revision else []

    def creators(self, obj: Facts) -> list[Facts]:
        """The objects that create the pods of a workload without a condition about that, and have not created all of them: their events have the cause."""
        namespace, name = (text(get_path(obj, "metadata", key)) for key in ("namespace", "name"))
        if obj.get("kind") == "LeaderWorkerSet":
            sets = self._list(f"/apis/apps/v1/namespaces/{namespace}/statefulsets", f"{GROUP_LABELS}/name={name}")
        else:
            sets = [obj] if obj.get("kind") in ("StatefulSet", "DaemonSet", "Job") else []
        return [each for each in sets if _created(each) < _wanted(each)][:CREATORS]

    def _gateway_pods(self, name: str, namespace: str) -> list[Facts]:
        # Beside the Gateway, which an account of its namespace may read, else wherever its controller is.
        for path in (f"/api/v1/namespaces/{namespace}/pods", "/api/v1/pods"):
            for selector in GATEWAY_PODS:
                pods = self._list(path, selector.format(name=name, namespace=namespace))
                if pods:
                    return pods
        return []

    def events(self, obj: Facts) -> list[Facts]:
        """Events of one object, oldest first."""
        namespace = text(get_path(obj, "metadata", "namespace")) or "default"
        return self._list(f"/api/v1/namespaces/{namespace}/events", fields=f"involvedObject.uid={text(get_path(obj, 'metadata', 'uid'))}")

    def creations(self, obj: Facts) -> list[Facts]:
        """Events FailedCreate of a Deployment's ReplicaSets, oldest first."""
        namespace, name = (text(get_path(obj, "metadata", key)) for key in ("namespace", "name"))
        if obj.get("kind") != "Deployment":
            return []
        events = self._list(f"/api/v1/namespaces/{namespace}/events", fields="reason=FailedCreate,involvedObject.kind=ReplicaSet")
        return [event for event in events if text(get_path(event, "involvedObject", "name")).rpartition("-")[0] == name]

    def log(self, pod: Facts, container: str, lines: int, previous: bool = False, stamps: bool = False) -> str:
        """The last lines of a container's log, with secrets; empty when it cannot be read. stamps: a time before each line."""
        name, namespace = text(get_path(pod, "metadata", "name")), text(get_path(pod, "metadata", "namespace"))
        query = {"container": container, "tailLines": str(lines), "limitBytes": "200000"}
        if previous:
            query["previous"] = "true"
        if stamps:
            query["timestamps"] = "true"
        try:
            return self.cluster.read_text(f"/api/v1/namespaces/{namespace}/pods/{name}/log", query, timeout=10)
        except ClusterError:
            return ""

    def stamped_log(self, pod: Facts, container: str, lines: int, previous: bool = False) -> tuple[str, str]:
        """(time of the last line, the last lines) of a container's log; empty when it cannot be read."""
        parts = [line.partition(" ") for line in self.log(pod, container, lines, previous, stamps=True).rstrip("\n").split("\n")]
        return parts[-1][0], "\n".join(line for _stamp, _space, line in parts)

    def _list(self, path: str, labels: str = "", fields: str = "") -> list[Facts]:
        """The objects, or EVENTS of the events, that these selectors select."""
        query = {"fieldSelector": fields, "limit": EVENTS} if fields else {"labelSelector": labels}
        try:
            return dicts(mapping(self.cluster.find(path, query)).get("items"))
        except ApiError:
            # The object itself was read; related objects only add to messages.
            return []


def owned(child: Facts, owner: Facts) -> bool:
    """Whether the owner is among the child's owner references."""
    uid = get_path(owner, "metadata", "uid")
    return any(entry.get("uid") == uid for entry in dicts(get_path(child, "metadata", "ownerReferences")))


def _created(obj: Facts) -> int:
    return max(number(get_path(obj, "status", key)) for key in ("replicas", "currentNumberScheduled", "active", "succeeded"))


def _wanted(obj: Facts) -> int:
    return number(get_path(obj, "status", "desiredNumberScheduled"), number(get_path(obj, "spec", "replicas"), 1))


def _of_daemon_set(pod: Facts) -> bool:
    return any(entry.get("kind") == "DaemonSet" for entry in dicts(get_path(pod, "metadata", "ownerReferences")))


def selector_text(selector: Facts) -> str:
    """A label selector of a workload as the labelSelector of a query."""
    parts = [label_selector(mapping(selector.get("matchLabels")))]
    for entry in dicts(selector.get("matchExpressions")):
        key, values = text(entry.get("key")), ",".join(text(value) for value in entry.get("values") or [])
        form = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key, "DoesNotExist": f"!{key}"}
        parts.append(form.get(text(entry.get("operator")), ""))
    return ",".join(part for part in parts if part)
