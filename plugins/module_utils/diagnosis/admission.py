# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about admission webhooks of others: those that do not answer, and their changes to our pods. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.labels import has_labels
from ..common.objects import Facts, api_group, dicts, get_path, mapping, text
from .finding import NOTE, REFUSED, SUSPECT, Finding, finding
from .snapshot import Snapshot, is_ready, name_of, selector_matches
from .strangers import GATEWAY_API, failing, is_ours, origin, pods_of

GROUP = "admissionregistration.k8s.io"
KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
Webhook = tuple[Facts, Facts, list[str]]  # configuration, one of its webhooks, our kinds that it is called for


def _resources(snap: Snapshot) -> c.Iterator[tuple[str, str, str]]:
    """(API group, resource, kind) of the objects of a deployment."""
    yield from (("", "pods", "Pod"), ("", "services", "Service"), ("", "configmaps", "ConfigMap"))
    yield from (("apps", "deployments", "Deployment"), ("apps", "replicasets", "ReplicaSet"))
    yield from ((GATEWAY_API, "gateways", "Gateway"), (GATEWAY_API, "httproutes", "HTTPRoute"))
    for group in sorted({api_group(service["pool"]["api_version"]) for service in snap.services}):
        yield group, "inferencepools", "InferencePool"


def webhooks(snap: Snapshot, *kinds: str) -> c.Iterator[Webhook]:
    """The webhooks that the API server calls when our objects are created or changed."""
    namespace = next((obj for obj in snap.of("Namespace") if get_path(obj, "metadata", "name") == snap.namespace), None)
    if namespace is None:
        return
    for configuration in snap.others:
        if configuration.get("kind") not in (kinds or KINDS):
            continue
        for webhook in dicts(configuration.get("webhooks")):
            if not selector_matches(webhook.get("namespaceSelector") or {}, namespace):
                continue
            called = [
                kind
                for group, resource, kind in _resources(snap)
                if any(_covers(rule, group, resource) for rule in dicts(webhook.get("rules")))
                and any(selector_matches(webhook.get("objectSelector") or {}, obj) for obj in _mine(snap, kind))
            ]
            if called:
                yield configuration, webhook, called


def _covers(rule: c.Mapping[str, t.Any], group: str, resource: str) -> bool:
    def has(key: str, *values: str) -> bool:
        return any(value in values for value in rule.get(key) or [])

    return (
        has("operations", "*", "CREATE", "UPDATE")
        and has("apiGroups", "*", group)
        and has("resources", "*", "*/*", resource)
        and rule.get("scope") in (None, "*", "Namespaced")
    )


def _mine(snap: Snapshot, kind: str) -> list[Facts]:
    """Objects of ours of a kind, or one with the labels of the deployment where there is none."""
    objects = [obj for obj in snap.of(kind, snap.namespace) if has_labels(obj, snap.plan["labels"])]
    return objects or [{"metadata": {"labels": snap.plan["labels"]}}]


def service_of(webhook: c.Mapping[str, t.Any]) -> tuple[str, str] | None:
    """(namespace, name) of the Service of a webhook without whose answer requests are rejected; None for other webhooks."""
    ref = mapping(get_path(webhook, "clientConfig", "service"))
    strict = webhook.get("failurePolicy") in (None, "Fail")
    return (text(ref.get("namespace")), text(ref.get("name"))) if ref and strict else None


def silent(snap: Snapshot) -> c.Iterator[Finding]:
    """Webhooks that must answer before an object of ours is created or changed, and whose Service has no ready endpoint."""
    messages = " ".join(text(event.get("message")) for event in snap.of("Event") if "failed calling webhook" in text(event.get("message")))
    for configuration, webhook, kinds in webhooks(snap):
        service = service_of(webhook)
        if service is None or snap.endpoints.get("/".join(service)) != 0:
            continue
        lines = [f"webhook {text(webhook.get('name'))} is called for {', '.join(kinds)} of {snap.namespace}, with failurePolicy Fail"]
        lines += [f"Service {'/'.join(service)} has no ready endpoint", origin(snap, configuration)]
        lines += ["its matchConditions may leave ours out"] if webhook.get("matchConditions") else []
        weight = REFUSED + 1 if text(webhook.get("name")) in messages else SUSPECT + 4
        yield finding("F32", name_of(configuration), lines, weight, "an admission webhook does not answer, so objects cannot be created or changed")


def injected(snap: Snapshot) -> c.Iterator[Finding]:
    """Pods of ours that differ from the template that they were created from: a webhook changed them."""
    templates = {
        (text(get_path(obj, "metadata", "namespace")), text(get_path(obj, "metadata", "name"))): get_path(obj, "spec", "template", "spec")
        for obj in snap.of("ReplicaSet")
    }
    changed: dict[tuple[str, ...], list[Facts]] = {}
    for pod in pods_of(snap):
        owner = next((entry for entry in dicts(get_path(pod, "metadata", "ownerReferences")) if entry.get("kind") == "ReplicaSet"), {})
        template = templates.get((text(get_path(pod, "metadata", "namespace")), text(owner.get("name"))))
        if isinstance(template, dict) and has_labels(pod, snap.plan["labels"]):
            lines = _differences(template, mapping(pod.get("spec")))
            if lines:
                changed.setdefault(tuple(lines), []).append(pod)
    if not changed:
        return
    callers = [name_of(configuration) for configuration, _hook, kinds in webhooks(snap, KINDS[0]) if "Pod" in kinds and not is_ours(snap, configuration)]
    suspects = f"called for pods of {snap.namespace}: {', '.join(dict.fromkeys(callers))}" if callers else "no webhook that is called for them could be found"
    for lines_, pods in changed.items():
        weight = SUSPECT + 4 if failing(snap) or not all(is_ready(pod) for pod in pods) else NOTE
        where = ", ".join(name_of(pod) for pod in pods)
        yield finding("stranger", where, [*lines_, suspects], weight, "an admission webhook of someone else changed pods of the stack")


def _differences(template: Facts, spec: Facts) -> list[str]:
    """A line for each container and field of a pod that was added or changed. Values of environment variables are not shown."""
    lines = []
    for key in ("initContainers", "containers"):
        planned = {part.get("name"): part for part in dicts(template.get(key))}
        for part in dicts(spec.get(key)):
            before = planned.get(part.get("name"))
            if before is None:
                lines.append(f"container {text(part.get('name'))} was added, image {text(part.get('image'))}")
                continue
            lines += [f"container {text(part.get('name'))} has another {field}" for field in ("command", "args") if part.get(field) != before.get(field)]
            if part.get("image") != before.get("image"):
                lines.append(f"container {text(part.get('name'))} has image {text(part.get('image'))}, the template {text(before.get('image'))}")
            added = {text(entry.get("name")) for entry in dicts(part.get("env"))} - {text(entry.get("name")) for entry in dicts(before.get("env"))}
            lines += [f"container {text(part.get('name'))} has more variables: {', '.join(sorted(added))}"] if added else []
    return lines


RULES = (silent, injected)
