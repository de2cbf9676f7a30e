# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that serve no model (warm-ups, benchmarks, GPU tests, cache servers): additions of the user, and the fields that the plan decides. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ...benchmark.k8s_job_objects import pod_template
from ...common.objects import Facts
from ...schema.fields import Problem
from .overlays import ALIKE, Governed, added_references, overlay_problems, overlays_of, planned_pod

GOVERNED = {
    **ALIKE,
    "container.args": Governed(whole=True),
    "container.command": Governed(whole=True),
    "container.env": Governed(),
    "container.image": Governed("llm_d_images, or the option image of a Job", whole=True),
    "container.ports": Governed(whole=True),
    "container.readinessProbe": Governed(),
    "container.resources": Governed("resources, or size"),
    "container.volumeMounts": Governed(),
    "pod.automountServiceAccountToken": Governed(),
    "pod.enableServiceLinks": Governed(free=True),
    "pod.labels": Governed(),
    "pod.nodeSelector": Governed("node_selector"),
    "pod.serviceAccount": Governed(whole=True),
    "pod.serviceAccountName": Governed(),
    "pod.terminationGracePeriodSeconds": Governed(free=True),
    "pod.tolerations": Governed(free=True),
    "pod.volumes": Governed(),
}


class OtherPod(t.NamedTuple):
    """A pod and its block in the user's file. planned: as `planned_pod` returns it; path: of the block."""

    planned: Facts
    block: Facts
    path: str


def pod_of(ours: Facts, block: Facts) -> Facts:
    """The pod with the additions of a block of the user's file, as `planned_pod` returns it."""
    return planned_pod(ours, overlays_of(block, "", _main(ours)))


def other_pods(user: Facts, services: c.Sequence[Facts], gpus: Facts) -> list[OtherPod]:
    """All of these pods. services: {warmup_job, cache_server} of each service; gpus: the planned ones."""
    pods = [OtherPod(made, user["llm_d_gpus"]["checks"], "llm_d_gpus.checks") for made in gpus["checks"]["templates"]]
    for index, (service, made) in enumerate(zip(user["llm_d_model_services"], services, strict=True)):
        path = f"llm_d_model_services[{index}]"
        if made["warmup_job"]:
            pods.append(OtherPod(made["warmup_job"], service["warmup"], f"{path}.warmup"))
        if made["cache_server"]:
            pods.append(OtherPod(made["cache_server"], service["cache"]["shared"]["server"], f"{path}.cache.shared.server"))
    return pods + _benchmarks(user)


def _benchmarks(user: Facts) -> list[OtherPod]:
    job = user["llm_d_benchmark"]["job"]
    if not job:
        return []
    where = {**job, "run_as_user": user["llm_d_run_as_user"], "image_pull_secrets": user["llm_d_image_pull_secrets"]}
    return [OtherPod(pod_of(pod_template("benchmark", {}, None, where), job), job, "llm_d_benchmark.job")]


def other_pod_problems(pods: c.Iterable[OtherPod]) -> list[Problem]:
    """Additions of the user to these pods that are not allowed."""
    problems: dict[str, Problem] = {}
    for planned, block, path in pods:
        main = _main(planned["ours"])
        problems |= {problem.path: problem for problem in overlay_problems(planned["ours"], overlays_of(block, path, main), main, GOVERNED)}
    return [*problems.values()]


def other_pod_references(pods: c.Iterable[OtherPod]) -> list[Facts]:
    """The objects that the additions name, each once: [{kind, name, key, path}]."""
    references = [each for planned, _block, path in pods for each in added_references(planned, path)]
    return [each for index, each in enumerate(references) if each not in references[:index]]


def _main(ours: Facts) -> str:
    return str(ours["spec"]["containers"][0]["name"])
