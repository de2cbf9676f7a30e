# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod template of the endpoint picker, and the options that govern its fields. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...schema.fields import Problem
from ..parts.overlays import Governed, overlay_problems, overlays_of

CONTAINER = "epp"
GOVERNED = {
    "container.args": Governed("scheduler.args, or an option of scheduler", whole=True),
    "container.command": Governed(whole=True),
    "container.env": Governed("scheduler.env"),
    "container.image": Governed("scheduler.image"),
    "container.imagePullPolicy": Governed("llm_d_image_pull_policy"),
    "container.lifecycle.preStop": Governed("scheduler.drain_seconds"),
    "container.lifecycle.stopSignal": Governed("scheduler.drain_seconds", whole=True),
    "container.livenessProbe": Governed(),
    "container.ports": Governed("scheduler.grpc_port"),
    "container.readinessProbe": Governed(),
    "container.resources.limits": Governed("scheduler.resources", whole=True),
    "container.resources.requests": Governed("scheduler.resources", whole=True),
    "container.restartPolicy": Governed(whole=True),
    "container.securityContext": Governed(free=True),
    "container.startupProbe": Governed(),
    "container.volumeMounts": Governed(),
    "pod.annotations": Governed(),
    "pod.enableServiceLinks": Governed(free=True),
    "pod.imagePullSecrets": Governed("llm_d_image_pull_secrets", whole=True),
    "pod.initContainers": Governed("an option of scheduler"),
    "pod.labels": Governed(),
    "pod.restartPolicy": Governed(whole=True),
    "pod.securityContext": Governed(free=True),
    "pod.serviceAccount": Governed(whole=True),
    "pod.serviceAccountName": Governed(),
    "pod.terminationGracePeriodSeconds": Governed("scheduler.drain_seconds"),
    "pod.volumes": Governed(),
}


def picker_pod_problems(settings: Facts, path: str, ours: Facts) -> list[Problem]:
    """What the user adds to endpoint pickers and is decided by other options, or is incomplete. path: of the scheduler block in the user's file."""
    return overlay_problems(ours, overlays_of(settings, path, CONTAINER), CONTAINER, GOVERNED)


def pod_template(pod: Facts) -> Facts:
    """The template of an endpoint picker."""
    ports = {**pod["container_ports"], **{port["name"]: port["port"] for port in pod["event_ports"]}}
    container = {
        "name": CONTAINER,
        "image": pod["image"],
        "imagePullPolicy": pod["image_pull_policy"],
        "args": pod["args"],
        "env": pod["env"],
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
        **{f"{name}Probe": probe for name, probe in pod["probes"].items()},
        "lifecycle": {"preStop": {"sleep": {"seconds": pod["drain_seconds"]}}},
        "resources": pod["resources"],
        "securityContext": pod["container_security"],
        "volumeMounts": pod["volume_mounts"],
    }
    spec = {
        "serviceAccountName": pod["service_account"],
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": pod["termination_grace"],
        "securityContext": pod["pod_security"],
        # Native sidecars: started before the endpoint picker, stopped after it.
        **({"initContainers": pod["init_containers"]} if pod["init_containers"] else {}),
        "containers": [container],
        "volumes": pod["volumes"],
    }
    return {"metadata": {"labels": pod["labels"], "annotations": pod["checksums"]}, "spec": spec}
