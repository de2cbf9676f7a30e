# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod template of the endpoint picker, and the options that govern its fields. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...schema.fields import Problem
from ..parts.overlays import ALIKE, Governed, overlay_problems, overlays_of
from ..parts.pod_spec import template_of

CONTAINER = "epp"
GOVERNED = {
    **ALIKE,
    "container.args": Governed("scheduler.args, or an option of scheduler", whole=True),
    "container.command": Governed(whole=True),
    "container.env": Governed("scheduler.env"),
    "container.image": Governed("scheduler.image"),
    "container.lifecycle.preStop": Governed("scheduler.drain_seconds"),
    "container.lifecycle.stopSignal": Governed("scheduler.drain_seconds", whole=True),
    "container.livenessProbe": Governed(),
    "container.ports": Governed("scheduler.grpc_port"),
    "container.readinessProbe": Governed(),
    "container.resources.limits": Governed("scheduler.resources", whole=True),
    "container.resources.requests": Governed("scheduler.resources", whole=True),
    "container.startupProbe": Governed(),
    "container.volumeMounts": Governed(),
    "pod.annotations": Governed(),
    "pod.automountServiceAccountToken": Governed(whole=True),
    "pod.initContainers": Governed("an option of scheduler"),
    "pod.labels": Governed(),
    "pod.serviceAccount": Governed(whole=True),
    "pod.serviceAccountName": Governed(),
    "pod.terminationGracePeriodSeconds": Governed("scheduler.drain_seconds"),
    "pod.volumes": Governed(),
}


def picker_pod_problems(settings: Facts, path: str, ours: Facts) -> list[Problem]:
    """Additions of the user to endpoint pickers that other options decide, or that are incomplete. path: of the scheduler block in the user's file."""
    return overlay_problems(ours, overlays_of(settings, path, CONTAINER), CONTAINER, GOVERNED)


def pod_template(pod: Facts) -> Facts:
    """The template of an endpoint picker."""
    return template_of(CONTAINER, pod, {"labels": pod["labels"], "annotations": pod["checksums"]}, {})
