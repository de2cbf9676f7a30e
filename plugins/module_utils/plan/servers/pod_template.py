# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod template of model servers, and the options that govern its fields. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Facts, mapping
from ...schema.fields import Problem
from ...schema.pods import SHORT_FORMS
from ..engines.stages import NO_ENGINE
from ..parts.overlays import ALIKE, Governed, Overlay, added_environment, overlay_problems, overlays_of, refused
from ..parts.pod_spec import template_of
from .device_claims import NAME as CLAIM

CONTAINER = "server"
# By field of the pod or of this container: the option that decides it.
GOVERNED = {
    **ALIKE,
    "container.args": Governed("engine.args, or an option of engine", whole=True),
    "container.command": Governed("engine.args", whole=True),
    "container.env": Governed("engine.env"),
    "container.image": Governed("engine.image"),
    "container.lifecycle.preStop": Governed("engine.drain_seconds"),
    "container.lifecycle.stopSignal": Governed("engine.drain_seconds", whole=True),
    "container.livenessProbe": Governed("engine.startup_timeout", whole=True),
    "container.ports": Governed("engine.port"),
    "container.readinessProbe": Governed("engine.startup_timeout", whole=True),
    "container.resources.claims": Governed("accelerator.claim"),
    "container.resources.limits": Governed("resources, or accelerator", whole=True),
    "container.resources.requests": Governed("resources, or accelerator", whole=True),
    "container.startupProbe": Governed("engine.startup_timeout", whole=True),
    "container.volumeMounts": Governed("model, storage or cache"),
    "pod.affinity": Governed("accelerator.product"),
    "pod.automountServiceAccountToken": Governed(free=True),
    "pod.initContainers": Governed("scheduler"),
    "pod.labels": Governed("labels"),
    "pod.resourceClaims": Governed("accelerator.claim"),
    "pod.serviceAccount": Governed("service_account", whole=True),
    "pod.serviceAccountName": Governed("service_account"),
    "pod.terminationGracePeriodSeconds": Governed("engine.drain_seconds"),
    "pod.volumes": Governed("model, storage or cache"),
}


def overlays(service: Facts, role: str, path: str) -> list[Overlay]:
    """The user's additions to the servers of a role: short forms, additions for all roles, then those for this one. path: of the service in the user's file."""
    # The additions for decode servers are those of the service itself.
    blocks = [(path, service), *([(f"{path}.{role}", service[role])] if role != "decode" else [])]
    short = {field: service[name] for name, field in SHORT_FORMS.items() if service[name]}
    return [
        Overlay(path, short, names={field: name for name, field in SHORT_FORMS.items()}),
        *(overlay for place, block in blocks for overlay in overlays_of(block, place, CONTAINER)),
    ]


def with_added_environment(service: Facts, path: str) -> tuple[Facts, dict[str, str]]:
    """(the service, with the variables that its additions give to servers in engine.env as well, {their paths in engine.env: where they are written})."""
    view, places = service, dict[str, str]()
    for stage, block in (("", service), ("prefill", service["prefill"])):
        place = f"{path}.{stage}".rstrip(".")
        engine = block["engine"] or NO_ENGINE
        added = {name: value for name, value in added_environment(block, place, CONTAINER).items() if name not in engine["env"]}
        if added:
            own = {**block, "engine": {**engine, "env": {**engine["env"], **{name: value for name, (value, _place) in added.items()}}}}
            view = {**view, stage: own} if stage else own
            places |= {f"{place}.engine.env.{name}": where for name, (_value, where) in added.items()}
    return view, places


def pod_problems(service: Facts, path: str, servers: t.Sequence[Facts]) -> list[Problem]:
    """Problems of the user's additions to servers: other options decide the field, or a part is missing. path: of the service in the user's file."""
    # A short form, and the same field in `pod`.
    duplicates = [(f"{path}.pod.{field}", name) for name, field in SHORT_FORMS.items() if service[name] and field in mapping(service["pod"])]
    problems = {place: refused(place, Governed(name)) for place, name in duplicates}
    for each in servers:
        # The leaders of groups of several nodes stand for their workers, which have no other fields.
        additions = overlays(service, each["role"], path)
        problems |= {problem.path: problem for problem in overlay_problems(each["ours"], additions, CONTAINER, GOVERNED)}
    return [*problems.values()]


def pod_template(pod: Facts) -> Facts:
    """The pod template of a model server, or of the leader or a worker of a group of several nodes. pod: as servers/server.py makes it."""
    claim = [{"name": CLAIM, "resourceClaimTemplateName": pod["device_claim"]}] if pod["device_claim"] else []
    more_spec = {
        **({"imagePullSecrets": pod["image_pull_secrets"]} if pod["image_pull_secrets"] else {}),
        "automountServiceAccountToken": False,
        "affinity": pod["affinity"],
        **({"resourceClaims": claim} if claim else {}),
    }
    return template_of(CONTAINER, pod, {"labels": pod["labels"]}, more_spec)
