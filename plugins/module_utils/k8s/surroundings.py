# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the surroundings of an object that is not ready, from which prospects.prospect computes whether it can still become ready."""

from __future__ import annotations

from ..common.objects import Context, Facts, condition, dicts, get_path, mapping, text
from . import node_autoscalers
from .errors import ApiError
from .pod_failures import container_key, containers, pod_failure, unreplaced
from .pod_prospects import Around
from .readiness.gateway import GROUP
from .related_objects import LOG_LINES, Observer

PODS = 3  # pods of an object that are checked, those with a failure first: of many replicas that fail, most fail alike
# Seconds between two reads of the log of a program that runs, and lines of it: repeated messages are at its end.
AGAIN, TAIL = 3.0, 60


class Surroundings:
    """Reads for one wait. What an account may not read is left out."""

    def __init__(self, observer: Observer) -> None:
        self._observer, self._cluster, self._clock = observer, observer.cluster, observer.cluster.clock
        self._logs: dict[tuple[str, int, bool], tuple[float, str]] = {}
        self._autoscaled: bool | None = None

    def of(self, obj: Facts, context: Context) -> Around:
        """The surroundings of an object. context: with the pods of its current revision."""
        unready = [pod for pod in unreplaced(context.pods) if condition(pod.get("status"), "Ready").get("status") != "True"]
        pods = sorted(unready, key=lambda pod: pod_failure(pod) is None)[:PODS]
        claims = {name: claim for pod in pods for name, claim in self._claims(pod).items()}
        watched = [*pods, *(claim for claim in claims.values() if claim)]
        events = dict(zip(map(_uid, watched), self._cluster.parallel(self._observer.events, watched), strict=True))
        if creators := self._observer.creators(obj):
            events[_uid(obj)] = [event for each in creators for event in self._observer.events(each)]
        logs = {container_key(pod, entry): self._log(pod, entry) for pod in pods for entry in containers(pod) if entry.get("ready") is not True}
        known = context.restarts, context.again, context.leaving, self._has_autoscaler(pods)
        return Around(self._cluster.server_time(), pods, events, logs, claims, self._absent(obj), *known)

    def _has_autoscaler(self, pods: list[Facts]) -> bool:
        """Whether the cluster has a node autoscaler, read once, and only when no node takes one of the pods."""
        if self._autoscaled is None and any(condition(pod.get("status"), "PodScheduled").get("status") == "False" for pod in pods):
            self._autoscaled = bool(node_autoscalers.observe(self._cluster)["active"])
        return bool(self._autoscaled)

    def _claims(self, pod: Facts) -> dict[str, Facts | None]:
        """The claims of a pod that no node takes."""
        if condition(pod.get("status"), "PodScheduled").get("status") == "True" or get_path(pod, "spec", "nodeName"):
            return {}
        namespace = text(get_path(pod, "metadata", "namespace"))
        names = [name for volume in dicts(get_path(pod, "spec", "volumes")) if (name := text(get_path(volume, "persistentVolumeClaim", "claimName")))]
        claims: dict[str, Facts | None] = {}
        for name in names:
            try:
                claims[f"{namespace}/{name}"] = self._cluster.find(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
            except ApiError:
                continue
        return claims

    def _log(self, pod: Facts, entry: Facts) -> str:
        """The end of the log of the run that ended last, read once, or of the current one, read again after AGAIN seconds."""
        state, runs = mapping(entry.get("state")), "running" in mapping(entry.get("state"))
        count = entry.get("restartCount") or 0
        if not runs and not count and "terminated" not in state:
            return ""
        key = (container_key(pod, entry), count, runs)
        then, known = self._logs.get(key, (-AGAIN, ""))
        if (known and not runs) or self._clock.now() - then < AGAIN:
            return known
        previous = not runs and "terminated" not in state
        log = self._observer.log(pod, text(entry.get("name")), TAIL if runs else LOG_LINES, previous)
        self._logs[key] = (self._clock.now(), log)
        return log

    def _absent(self, obj: Facts) -> list[str]:
        """Objects that an object of the Gateway API names, and without which no controller takes it up."""
        if not text(obj.get("apiVersion")).startswith(f"{GROUP}/"):
            return []
        home, wanted = text(get_path(obj, "metadata", "namespace")), []
        if obj.get("kind") == "Gateway":
            wanted.append(("GatewayClass", "", text(get_path(obj, "spec", "gatewayClassName"))))
        for parent in dicts(get_path(obj, "spec", "parentRefs")):
            if parent.get("kind", "Gateway") == "Gateway" and parent.get("group", GROUP) == GROUP:
                wanted.append(("Gateway", text(parent.get("namespace")) or home, text(parent.get("name"))))
        return [f"{kind} {f'{namespace}/' if namespace else ''}{name}" for kind, namespace, name in wanted if not self._there(kind, namespace, name)]

    def _there(self, kind: str, namespace: str, name: str) -> bool:
        try:
            path = self._cluster.path(f"{GROUP}/v1", kind, namespace, name)
            return path is None or self._cluster.find(path) is not None
        except ApiError:
            return True


def _uid(obj: Facts) -> str:
    return text(get_path(obj, "metadata", "uid"))
