# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Valkey server that we deploy as the shared cache of one model service. Pure."""

from __future__ import annotations

from ...common.labels import INSTANCE_LABEL, NAME_LABEL
from ...common.objects import Facts
from ...epp.catalog.presets import ROLE_LABEL
from ...k8s.platform import amount
from ...releases.caches import SERVER_IMAGE, SERVER_PORT
from ..parts.other_pods import pod_of
from ..parts.pod_spec import SERVICE_LABEL, container_security, pod_security
from ..parts.references import image

SUFFIX = "-cache"
NETWORK_POLICY = ("networking.k8s.io/v1", "NetworkPolicy")
_PASSWORD, _DATA, _PORT = "CACHE_PASSWORD", "/data", "redis"
_SPARE = 1.25  # of maxmemory: buffers and fragmentation
_REWRITE = 2.0  # while the log is rewritten, changed pages are in memory twice


def server_url(service: Facts, scheme: str) -> str:
    """The URL at which the servers of the service reach it. scheme: of the client."""
    return f"{scheme}://{service['name']}{SUFFIX}:{SERVER_PORT}"


def cache_server(service: Facts, user: Facts, labels: Facts) -> Facts | None:
    """{name, image, replicas, resources, claim, objects: [{api_version, kind, name, labels, spec}], and the fields of `pod_of`}; None if we deploy none."""
    shared = (service["cache"] or {}).get("shared")
    if not shared or not shared["server"]:
        return None
    name, settings = f"{service['name']}{SUFFIX}", shared["server"]
    selector = {NAME_LABEL: "cache-server", INSTANCE_LABEL: name}
    planned = {"image": image(user, "cache", SERVER_IMAGE), "resources": _resources(settings), "claim": _claim(name, settings["persistence"])}
    port = {"name": _PORT, "port": SERVER_PORT, "targetPort": _PORT, "protocol": "TCP"}
    strategy = {"type": "Recreate"}  # two servers would write to one log
    pod = pod_of({"metadata": {"labels": {**labels, **selector}}, "spec": _pod(user, shared, planned)}, settings)
    kinds: list[tuple[tuple[str, str], Facts]] = [
        (NETWORK_POLICY, _only_its_servers(service, selector)),
        (("v1", "Service"), {"type": "ClusterIP", "selector": selector, "ports": [port]}),
        (("apps/v1", "Deployment"), {"replicas": 1, "strategy": strategy, "selector": {"matchLabels": selector}, "template": pod["template"]}),
    ]
    objects = [{"api_version": version, "kind": kind, "name": name, "labels": {**labels, **selector}, "spec": spec} for (version, kind), spec in kinds]
    return {"name": name, "replicas": 1, **planned, **pod, "objects": objects}


def arguments(settings: Facts, data: str = _DATA, password: str = f"$({_PASSWORD})") -> list[str]:
    """The command line of the server. After its start the server hides the password from the process list."""
    lasting = settings["persistence"] is not None
    options = {
        "requirepass": password,
        "maxmemory": str(int(amount(settings["size"]))),
        "maxmemory-policy": settings["eviction"],
        "appendonly": "yes" if lasting else "no",
        "appendfsync": "everysec",
        "save": "",
        "dir": data,
        "port": str(SERVER_PORT),
    }
    return [part for name, value in options.items() for part in (f"--{name}", value)]


def _pod(user: Facts, shared: Facts, planned: Facts) -> Facts:
    secret = {"name": shared["password_secret"], "key": shared["password_key"]}
    volume: Facts = {"persistentVolumeClaim": {"claimName": planned["claim"]["name"]}} if planned["claim"] else {"emptyDir": {}}
    container = {
        "name": "cache",
        "image": planned["image"],
        "imagePullPolicy": user["llm_d_image_pull_policy"],
        "command": ["valkey-server"],
        "args": arguments(shared["server"]),
        "env": [{"name": _PASSWORD, "valueFrom": {"secretKeyRef": secret}}],
        "ports": [{"name": _PORT, "containerPort": SERVER_PORT}],
        "readinessProbe": {"tcpSocket": {"port": _PORT}, "periodSeconds": 5, "timeoutSeconds": 2},
        "resources": planned["resources"],
        "securityContext": container_security(read_only=True),
        "volumeMounts": [{"name": "data", "mountPath": _DATA}],
    }
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "imagePullSecrets": [{"name": name} for name in user["llm_d_image_pull_secrets"]],
        "securityContext": pod_security(user),
        "containers": [container],
        "volumes": [{"name": "data", **volume}],
    }


def _resources(settings: Facts) -> Facts:
    size = float(amount(settings["size"]))
    factor = _REWRITE if settings["persistence"] else _SPARE
    return {"requests": {"cpu": "500m", "memory": str(int(size * _SPARE))}, "limits": {"memory": str(int(size * factor))}}


def _claim(name: str, persistence: Facts | None) -> Facts | None:
    if not persistence:
        return None
    spec: Facts = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": persistence["size"]}}}
    if persistence["class_name"]:
        spec["storageClassName"] = persistence["class_name"]
    return {"name": name, "spec": spec, "delete": persistence["delete_claim"]}


def _only_its_servers(service: Facts, selector: Facts) -> Facts:
    """The spec of a NetworkPolicy that lets only model servers of the service connect, and lets the cache server open no connections."""
    servers: Facts = {"matchLabels": {SERVICE_LABEL: service["name"]}, "matchExpressions": [{"key": ROLE_LABEL, "operator": "Exists"}]}
    rule = {"from": [{"podSelector": servers}], "ports": [{"port": SERVER_PORT, "protocol": "TCP"}]}
    return {"podSelector": {"matchLabels": selector}, "policyTypes": ["Ingress", "Egress"], "ingress": [rule], "egress": []}
