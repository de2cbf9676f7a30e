# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The observed state of a stack that a diagnosis works on, and helpers that read its objects. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import math
import typing as t

from ..common.flags import flags_of
from ..common.objects import Facts, condition, dicts, get_path, mapping, moment, text
from ..k8s.drift import Drift
from .finding import Finding

FORBIDDEN = "this account may not read them"  # the message of an unread entry that is no finding


@dataclasses.dataclass
class Snapshot:
    """The observed state of one stack.

    plan: the plan that the lookup returns; objects: by kind; absent: kinds that the API server does not serve; unlisted: (kind, namespace) of lists, and
    (kind, name) of objects without a namespace, that could not be read;
    crds: by name, {served: [versions], deleting, established}, None for a missing one; logs: by 'namespace/pod/container';
    servers: inference.report.server_facts with a service; answers: requests through the gateway,
    {service, url, status, body, evidence, kind, remedy, ok, picked}; differences: findings of inference.replicas.compare with a service;
    metrics: pages of the endpoint pickers by service, {status, text}; unread: {what, place, message, status} of failed reads, place: the namespace;
    drift: the objects that differ from their definitions;
    others: objects of kinds that attach to a stack, ours among them; endpoints: ready ones of Services of webhooks, by 'namespace/name'.
    """

    plan: c.Mapping[str, t.Any]
    objects: dict[str, list[Facts]] = dataclasses.field(default_factory=dict)
    absent: list[str] = dataclasses.field(default_factory=list)
    unlisted: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    crds: dict[str, Facts | None] = dataclasses.field(default_factory=dict)
    logs: dict[str, str] = dataclasses.field(default_factory=dict)
    servers: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    answers: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    differences: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    metrics: dict[str, dict[str, t.Any]] = dataclasses.field(default_factory=dict)
    unread: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    drift: list[Drift] = dataclasses.field(default_factory=list)
    others: list[Facts] = dataclasses.field(default_factory=list)
    endpoints: dict[str, int] = dataclasses.field(default_factory=dict)
    now: str = ""  # UTC, in ISO 8601

    def age(self, pod: Facts) -> float:
        """Seconds since a pod was created; infinite where that is unknown."""
        made, now = moment(get_path(pod, "metadata", "creationTimestamp")), moment(self.now)
        return (now - made).total_seconds() if made and now else math.inf

    @property
    def namespace(self) -> str:
        return text(self.plan["namespace"])

    @property
    def picker_namespace(self) -> str:
        """The namespace of the endpoint pickers."""
        return text(self.plan["scheduler_namespace"])

    @property
    def homes(self) -> list[str]:
        """The namespaces of the servers and of the endpoint pickers, each once."""
        return list(dict.fromkeys((self.namespace, self.picker_namespace)))

    @property
    def services(self) -> list[c.Mapping[str, t.Any]]:
        return list(self.plan["services"])

    def of(self, kind: str, namespace: str | None = None) -> list[Facts]:
        """Objects of a kind, in one namespace or all."""
        objects = self.objects.get(kind) or []
        return [obj for obj in objects if namespace is None or get_path(obj, "metadata", "namespace") in (None, namespace)]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Facts | None:
        """One object, by default in the namespace of the plan."""
        return next((obj for obj in self.of(kind, namespace or self.namespace) if get_path(obj, "metadata", "name") == name), None)

    def read(self, kind: str, place: str = "") -> bool:
        """True when a kind was read in a namespace, or by this name where it has none, so that an object that is not in the snapshot does not exist."""
        return kind in self.objects and (kind, place) not in self.unlisted

    def pods(self, labels: c.Mapping[str, str], namespace: str | None = None) -> list[Facts]:
        """Pods with these labels that are not being deleted."""
        return [pod for pod in self.of("Pod", namespace or self.namespace) if selects(labels, pod) and not get_path(pod, "metadata", "deletionTimestamp")]

    def log(self, pod: Facts, container: str) -> str:
        """The end of the log of a container; empty where none was read."""
        return self.logs.get(f"{text(get_path(pod, 'metadata', 'namespace'))}/{text(get_path(pod, 'metadata', 'name'))}/{container}", "")

    def events(self, obj: Facts) -> list[Facts]:
        """The events of one object."""
        uid, name = get_path(obj, "metadata", "uid"), get_path(obj, "metadata", "name")
        return [
            event
            for event in self.of("Event")
            if (get_path(event, "involvedObject", "uid") == uid if uid else get_path(event, "involvedObject", "name") == name)
        ]


Rule = c.Callable[[Snapshot], c.Iterable[Finding]]


def name_of(obj: Facts) -> str:
    """An object as text: Kind namespace/name."""
    namespace, name = text(get_path(obj, "metadata", "namespace")), text(get_path(obj, "metadata", "name"))
    return f"{text(obj.get('kind'))} {namespace + '/' if namespace else ''}{name}"


def selects(labels: c.Mapping[str, str], obj: Facts) -> bool:
    """True when the object has all these labels; False for no labels."""
    return bool(labels) and mapping(get_path(obj, "metadata", "labels")).items() >= dict(labels).items()


def selector_matches(selector: object, obj: Facts) -> bool:
    """True when a label selector (matchLabels and matchExpressions) selects the object; an empty one selects all."""
    labels = mapping(get_path(obj, "metadata", "labels"))
    if any(labels.get(name) != value for name, value in mapping(get_path(selector, "matchLabels")).items()):
        return False
    for entry in dicts(get_path(selector, "matchExpressions")):
        key, values, operator = text(entry.get("key")), entry.get("values") or [], entry.get("operator")
        held = {"In": labels.get(key) in values, "NotIn": labels.get(key) not in values, "Exists": key in labels, "DoesNotExist": key not in labels}
        if not held.get(text(operator), True):
            return False
    return True


def is_ready(pod: Facts) -> bool:
    """True when a pod's Ready condition is True."""
    return condition(pod.get("status"), "Ready").get("status") == "True"


def listening(pod: Facts) -> set[int]:
    """The ports that the containers of a pod declare."""
    parts = [*dicts(get_path(pod, "spec", "containers")), *dicts(get_path(pod, "spec", "initContainers"))]
    return {port["containerPort"] for part in parts for port in dicts(part.get("ports")) if isinstance(port.get("containerPort"), int)}


def arguments(pod_spec: object) -> list[str]:
    """The commands and arguments of all containers."""
    return [text(argument) for part in dicts(get_path(pod_spec, "containers")) for key in ("command", "args") for argument in part.get(key) or []]


def option(args: c.Iterable[str], name: str) -> str | None:
    """The value of --name=value or --name value, the last one; empty for a flag without a value, None where it is absent."""
    flags = flags_of(args)
    return flags[name] or "" if name in flags else None
