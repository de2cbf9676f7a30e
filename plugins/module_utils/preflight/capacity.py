# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on the limits of a namespace: quotas and limit ranges. Pure."""

from __future__ import annotations

import functools
import typing as t
from decimal import Decimal

from ..common.objects import Facts, dicts, get_path, mapping, text
from ..k8s.platform import amount
from .finding import PreflightFinding

Findings = t.Iterator[PreflightFinding]


def quotas(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The sums of all requests and of all limits are within the quotas of the namespace."""
    for quota in _quotas(facts):
        hard, used = mapping(get_path(quota, "status", "hard")), mapping(get_path(quota, "status", "used"))
        own_use = _own_use(facts, needs)
        for name, limit in hard.items():
            demand = _demand(needs, name)
            if demand and demand > amount(limit) - max(Decimal(0), amount(used.get(name, 0)) - own_use.get(name, Decimal(0))):
                yield PreflightFinding(
                    "quota/exceeded",
                    f"The quota {text(get_path(quota, 'metadata', 'name'))} leaves too little {name} in {needs['namespace']}.",
                    f"{used.get(name, 0)} of {limit} used",
                    f"{demand.normalize():f}",
                    "Have the quota raised, or lower replicas or resources.",
                )


def unstated(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """Where a quota counts CPU or memory, each container specifies it or gets a default from a LimitRange. The quota rejects other pods."""
    defaults = _defaults(facts)
    for quota in _quotas(facts):
        for name in mapping(get_path(quota, "status", "hard")):
            part, resource = _counted(name)
            if resource not in ("cpu", "memory"):
                continue
            # For a container that specifies only a limit, Kubernetes sets the request to the same value.
            parts = ("requests", "limits") if part == "requests" else ("limits",)
            containers = [container for pod in needs["resources"] for container in pod["containers"]]
            lacking = [container["name"] for container in containers if not any(container[each].get(resource) for each in parts)]
            if lacking and resource not in defaults[part]:
                yield PreflightFinding(
                    "quota/unstated",
                    f"The quota {text(get_path(quota, 'metadata', 'name'))} counts {name} in {needs['namespace']}, and rejects pods that do not specify it.",
                    f"not specified for {', '.join(lacking)}",
                    f"resources.{part}.{resource} of each container",
                    "Specify it for the model service and for its scheduler, or have a LimitRange with a default created.",
                )


def _quotas(facts: Facts) -> list[Facts]:
    """The quotas that count our pods: those without a scopeSelector, and with no scopes but NotTerminating and NotBestEffort."""
    return [
        quota for quota in dicts(facts.get("quotas")) if not get_path(quota, "spec", "scopeSelector") and _scopes(quota) <= {"NotTerminating", "NotBestEffort"}
    ]


def _scopes(quota: Facts) -> set[str]:
    scopes = get_path(quota, "spec", "scopes")
    return {text(scope) for scope in scopes} if isinstance(scopes, list) else set()


def _defaults(facts: Facts) -> dict[str, set[str]]:
    """{limits, requests: names of the resources for which a LimitRange of the namespace has a default}. As in Kubernetes, `max` and `min` are defaults too."""
    entries = [limit for item in dicts(facts.get("limit_ranges")) for limit in dicts(get_path(item, "spec", "limits")) if limit.get("type") == "Container"]
    limits = {name for entry in entries for key in ("default", "max") for name in mapping(entry.get(key))}
    requests = {name for entry in entries for key in ("defaultRequest", "min") for name in mapping(entry.get(key))}
    return {"limits": limits, "requests": limits | requests}


def _counted(name: str) -> tuple[str, str]:
    """(`requests` or `limits`, resource) that a name in a quota counts, such as (limits, cpu) for limits.cpu."""
    part, dot, resource = name.partition(".")
    return (part, resource) if dot and part in ("requests", "limits") else ("requests", name)


def _demand(needs: Facts, name: str) -> Decimal:
    """The amount that the planned pods take of a name in a quota."""
    if name in ("pods", "count/pods"):
        return Decimal(sum(pod["replicas"] for pod in needs["resources"]))
    part, resource = _counted(name)
    return sum((_of_pod(pod, part, resource) * pod["replicas"] for pod in needs["resources"]), Decimal(0))


def _of_pod(pod: Facts, part: str, resource: str) -> Decimal:
    """The sum over the containers of a pod that run at the same time."""
    return sum((amount(container[part].get(resource, 0)) for container in pod["containers"] if container["sums"]), Decimal(0))


def _own_use(facts: Facts, needs: Facts) -> dict[str, Decimal]:
    """{name in a quota of the namespace: the amount that our own pods use of it}. A pod that has ended counts as an object alone."""
    used: dict[str, Decimal] = {}
    for pod in dicts(facts.get("pods", facts.get("own_pods"))):
        elsewhere = get_path(pod, "metadata", "namespace") not in (None, needs["namespace"])
        if elsewhere or not needs["labels"].items() <= mapping(get_path(pod, "metadata", "labels")).items():
            continue
        ended = get_path(pod, "status", "phase") in ("Succeeded", "Failed")
        for name in ("count/pods",) if ended else ("pods", "count/pods"):
            used[name] = used.get(name, Decimal(0)) + 1
        if ended:
            continue
        sidecars = [each for each in dicts(get_path(pod, "spec", "initContainers")) if each.get("restartPolicy") == "Always"]
        for container in [*dicts(get_path(pod, "spec", "containers")), *sidecars]:
            for part in ("requests", "limits"):
                for resource, value in mapping(get_path(container, "resources", part)).items():
                    for name in (f"{part}.{resource}", *([resource] if part == "requests" else [])):
                        used[name] = used.get(name, Decimal(0)) + amount(value)
    return used


def limit_ranges(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """Pods and containers are within the maximum and the minimum sizes of the LimitRanges."""
    for entry in [limit for item in dicts(facts.get("limit_ranges")) for limit in dicts(get_path(item, "spec", "limits"))]:
        kind = text(entry.get("type"))
        for name, limits, requests in _bounded(needs, kind):
            for resource, maximum in mapping(entry.get("max")).items():
                size = limits(resource) or requests(resource)
                if size > amount(maximum):
                    yield PreflightFinding(
                        "limit_range/max",
                        f"A LimitRange does not allow that much {resource} for a {kind.lower()} of {name}.",
                        f"{size.normalize():f}",
                        f"at most {maximum}",
                        "Lower its resources, or have the LimitRange raised.",
                    )
            for resource, minimum in mapping(entry.get("min")).items():
                request = requests(resource)
                if request and request < amount(minimum):
                    yield PreflightFinding(
                        "limit_range/min",
                        f"A LimitRange requires more {resource} of each {kind.lower()} of {name}.",
                        f"{request.normalize():f}",
                        f"at least {minimum}",
                        "Raise its requests, or have the LimitRange lowered.",
                    )


def _bounded(needs: Facts, kind: str) -> list[tuple[str, t.Callable[[str], Decimal], t.Callable[[str], Decimal]]]:
    """(name, function for its limit, function for its request of a resource) of every pod or every container, as `kind` says."""
    if kind == "Pod":
        return [(pod["name"], functools.partial(_of_pod, pod, "limits"), functools.partial(_of_pod, pod, "requests")) for pod in needs["resources"]]
    containers = [container for pod in needs["resources"] for container in pod["containers"] if kind == "Container"]
    return [(each["name"], functools.partial(_of_container, each, "limits"), functools.partial(_of_container, each, "requests")) for each in containers]


def _of_container(container: Facts, part: str, resource: str) -> Decimal:
    return amount(container[part].get(resource, 0))


CHECKS = (quotas, unstated, limit_ranges)
