# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoint picker of one service and its InferencePool, derived from one completed element of llm_d_model_services. Pure."""

from __future__ import annotations

import functools
import hashlib
import json
import typing as t

from . import scorers
from .plan_server import container_security, image, pod_security, pool_selector, served_name

Facts = dict[str, t.Any]

CONFIG_DIR = "/config"
CONFIG_KEY = "config.yaml"
NAME_LABEL = "app.kubernetes.io/name"
INSTANCE_LABEL = "app.kubernetes.io/instance"
PORTS = {"grpc": 9002, "health": 9003, "metrics": 9090}
# Seconds that an endpoint picker gives the answers under way once it is told to end; no release before router 0.10 lets us say how many.
OWN_DRAIN = 30
# What of a scheduler block is about running the endpoint picker; all the rest says how it decides.
RUNNING = ("replicas", "image", "verbosity", "failure_mode", "drain_seconds", "resources")


def configuration(service: Facts, release: str) -> scorers.Built:
    """The EndpointPickerConfig of a service, what it requires elsewhere, and its problems (paths relative to the scheduler block)."""
    deciding = {key: value for key, value in service["scheduler"].items() if key not in RUNNING and value not in (None, {}, [])}
    engine = service["engine"]
    context = {
        "engine": engine["type"],
        "model": served_name(service["model"]),
        "block_size": engine["block_size"],
        "port": engine["port"],
        "epp_service": f"{service['name']}-epp",
        "server_args": engine["args"],
        "server_env": engine["env"],
    }
    return _build(json.dumps([deciding, context], default=str), release)


@functools.lru_cache(maxsize=16384)
def _build(asked: str, release: str) -> scorers.Built:
    """The checks and the plan both ask for it; it is built once. The result is read, never changed."""
    deciding, context = json.loads(asked)
    return scorers.build(deciding, release, context)


def pool(service: Facts, user: Facts, release: Facts, gateway: Facts) -> Facts:
    """The InferencePool: which pods, which port, and what happens without an endpoint picker."""
    return {
        "name": service["name"],
        "api_version": release["pool_api_version"],
        "selector": pool_selector(service),
        "target_ports": [service["engine"]["port"]],
        "failure_mode": service["scheduler"]["failure_mode"] or gateway["failure_modes"][0],
    }


def scheduler(service: Facts, user: Facts, release: Facts, gateway: Facts, labels: Facts, built: scorers.Built) -> Facts:
    """The Deployment, Service, Role and configuration of the endpoint picker."""
    settings = service["scheduler"]
    name = f"{service['name']}-epp"
    selector = {NAME_LABEL: "endpoint-picker", INSTANCE_LABEL: name}
    required = built.requires.get("epp", {})
    return {
        "name": name,
        "service_account": name,
        "replicas": settings["replicas"],
        "selector": selector,
        "labels": {**labels, **selector},
        "image": settings["image"] or image(user, "epp", release["epp_image"]),
        "image_pull_policy": user["llm_d_image_pull_policy"],
        "args": _arguments(service, user, release, gateway) + list(required.get("args", [])),
        "env": _environment(list(required.get("env", []))),
        "config": built.text,
        "config_dir": CONFIG_DIR,
        "config_key": CONFIG_KEY,
        "config_file": f"{CONFIG_DIR}/{CONFIG_KEY}",
        "checksum": hashlib.sha256(built.text.encode()).hexdigest(),
        "ports": dict(PORTS),
        "probes": _probes(),
        "rules": release["rules"],
        "resources": {part: amounts for part, amounts in settings["resources"].items() if amounts},
        "pod_security": pod_security(user),
        "container_security": container_security(read_only=True),
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "drain_seconds": settings["drain_seconds"],
        "termination_grace": settings["drain_seconds"] + OWN_DRAIN + 10,
        "notes": list(built.notes),
    }


def _arguments(service: Facts, user: Facts, release: Facts, gateway: Facts) -> list[str]:
    """Flags of the endpoint picker. A boolean needs its '=': a bare `false` would be ignored (epp.md section 5)."""
    secure = "true" if gateway["secure_ext_proc"] else "false"
    return [
        f"--pool-name={service['name']}",
        f"--pool-namespace={user['llm_d_namespace']}",
        f"--pool-group={release['pool_group']}",
        f"--config-file={CONFIG_DIR}/{CONFIG_KEY}",
        f"--grpc-port={PORTS['grpc']}",
        f"--grpc-health-port={PORTS['health']}",
        f"--metrics-port={PORTS['metrics']}",
        f"--secure-serving={secure}",
        "--metrics-endpoint-auth=false",  # it would need cluster-wide rights for token reviews
        "--tracing=false",
        "--zap-encoder=json",
        f"--v={service['scheduler']['verbosity']}",
    ]


def _environment(required: list[Facts]) -> list[Facts]:
    own = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    return required if own["name"] in [item["name"] for item in required] else [own, *required]


def _probes() -> Facts:
    """Health answers only once the InferencePool has been read, so liveness starts after startup has been seen."""
    check = {"grpc": {"port": PORTS["health"], "service": "envoy.service.ext_proc.v3.ExternalProcessor"}}
    return {
        "startup": {**check, "periodSeconds": 1, "failureThreshold": 120, "timeoutSeconds": 2},
        "readiness": {**check, "periodSeconds": 2, "failureThreshold": 3, "timeoutSeconds": 2},
        "liveness": {**check, "periodSeconds": 10, "failureThreshold": 5, "timeoutSeconds": 2},
    }
