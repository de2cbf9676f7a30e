# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoints of an InferencePool, the ports of its endpoint picker, and a Pod for probing, as objects. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import Facts, condition, dicts, get_path, number, text
from ..k8s.inference_pools import selector, target_ports

LABEL = "llm-d.inference/conformance-probe"
GATE = "llm-d.inference/conformance-ready"
PORTS = {"health": 9003, "metrics": 9090}
_NOBODY = 65534


def is_ready(pod: Facts) -> bool:
    """Whether a Pod is ready and not being deleted."""
    return not get_path(pod, "metadata", "deletionTimestamp") and condition(pod.get("status"), "Ready").get("status") == "True"


def endpoints(pool: Facts, pods: list[Facts]) -> list[str]:
    """The endpoints that may be picked, ip:port: each port of each ready Pod."""
    ports = target_ports(pool)
    addresses = {text(get_path(pod, "status", "podIP")) for pod in pods if is_ready(pod)} - {""}
    return [endpoint(address, port) for address in sorted(addresses) for port in ports]


def endpoint(address: str, port: int) -> str:
    """An address and a port as ip:port, with brackets around an IPv6 address."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def port_of(service: Facts, port: int, pod: Facts) -> int:
    """The port of a Pod behind a port of its Service."""
    ports = [each for each in dicts(get_path(service, "spec", "ports")) if each.get("port") == port]
    target = ports[0].get("targetPort", port) if ports else port
    if isinstance(target, str):
        named = [item for item in _container_ports(pod) if item.get("name") == target]
        return number(named[0].get("containerPort")) if named else port
    return number(target) or port


def other_port(pod: Facts, what: str) -> int:
    """The port of an endpoint picker's Pod for `health` or `metrics`: that of its probe or of its port of that name, else the usual one."""
    for container in dicts(get_path(pod, "spec", "containers")):
        probed = number(get_path(container, "readinessProbe", "grpc", "port"))
        if what == "health" and probed:
            return probed
    named = [number(item.get("containerPort")) for item in _container_ports(pod) if item.get("name") == what]
    return named[0] if named else PORTS[what]


def _container_ports(pod: Facts) -> list[Facts]:
    return [item for container in dicts(get_path(pod, "spec", "containers")) for item in dicts(container.get("ports"))]


def owner(item: Facts) -> tuple[str, str]:
    """(kind, name) of the controller of an object; two empty strings without one."""
    controllers = [each for each in dicts(get_path(item, "metadata", "ownerReferences")) if each.get("controller")]
    return (text(controllers[0].get("kind")), text(controllers[0].get("name"))) if controllers else ("", "")


def probe(pool: Facts, image: str, grace: int) -> Facts:
    """A Pod that the pool selects. It only waits, and is ready once its gate is set. The pool owns it, so that no other controller adopts it."""
    meta: t.Any = pool["metadata"]
    owned = {"apiVersion": pool["apiVersion"], "kind": pool["kind"], "name": meta["name"], "uid": meta["uid"], "controller": True, "blockOwnerDeletion": False}
    container = {
        "name": "probe",
        "image": image,
        "lifecycle": {"preStop": {"sleep": {"seconds": grace}}},
        "resources": {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "32Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "conformance-probe-", "labels": {**selector(pool), LABEL: meta["name"][:63]}, "ownerReferences": [owned]},
        "spec": {
            "containers": [container],
            "readinessGates": [{"conditionType": GATE}],
            "terminationGracePeriodSeconds": grace + 5,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {"runAsNonRoot": True, "runAsUser": _NOBODY, "runAsGroup": _NOBODY, "seccompProfile": {"type": "RuntimeDefault"}},
        },
    }


def gate(ready: bool, now: str) -> Facts:
    """A patch of the status of such a Pod that makes it ready, or not ready."""
    return {"status": {"conditions": [{"type": GATE, "status": "True" if ready else "False", "lastTransitionTime": now}]}}
