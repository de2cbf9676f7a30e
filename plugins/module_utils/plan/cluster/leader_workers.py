# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LeaderWorkerSet controller of a cluster: whether it is needed and installed, its chart, and a trial object for its webhook. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Facts
from ...releases.lines import LEADER_WORKER_SET
from ...schema.fields import Problem
from ..checks.validate_gateway import version_parts
from ..parts.chart_values import with_own
from ..parts.references import chart, image

BLOCK = "llm_d_leader_worker_set"


def leader_worker_set(user: Facts, services: t.Sequence[Facts], labels: Facts) -> Facts | None:
    """The controller, its CRD and its chart; None if no service needs it and `install` is not set.

    services: those of the user's file, whatever the scope.
    """
    settings = user[BLOCK]
    needed = _needed(services)
    requested = settings["install"] if settings["install"] is not None else needed and user["llm_d_platform"] not in LEADER_WORKER_SET["platform_namespaces"]
    if not needed and not requested:
        return None
    install = requested and user["llm_d_scope"] != "namespace"
    namespaces = LEADER_WORKER_SET["platform_namespaces"]
    default_namespace = LEADER_WORKER_SET["namespace"]
    namespace = default_namespace if requested else namespaces.get(user["llm_d_platform"], default_namespace)
    return {
        "install": install,
        "version": _version(user),
        "minimum": LEADER_WORKER_SET["minimum"],
        "crd": LEADER_WORKER_SET["crd"],
        "sources": [
            source.format(version=_version(user)) for source, since in LEADER_WORKER_SET["sources"] if version_parts(_version(user)) >= version_parts(since)
        ],
        "controller": {"api_version": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": LEADER_WORKER_SET["controller"]},
        "chart": _chart(user) if install else None,
        "trial": _trial(namespace, labels),
    }


def trial_permissions(planned: Facts | None) -> list[Facts]:
    """Permissions to apply the trial object."""
    if not planned or not planned["install"]:
        return []
    head = {"group": LEADER_WORKER_SET["group"], "resource": LEADER_WORKER_SET["crd"].partition(".")[0], "namespace": planned["controller"]["namespace"]}
    return [{"verb": verb, **head} for verb in ("get", "create", "patch")]


def leader_worker_problems(user: Facts, services: t.Sequence[Facts]) -> list[Problem]:
    """A version that is too old."""
    version, problems = user[BLOCK]["version"], []
    if version and version_parts(version) < version_parts(LEADER_WORKER_SET["minimum"]):
        fix = f"Write {LEADER_WORKER_SET['minimum']} or newer."
        problems.append(
            Problem(f"{BLOCK}.version", version, "does not report the observed generation of an object, so its readiness cannot be determined.", fix)
        )
    return problems


def _needed(services: t.Sequence[Facts]) -> bool:
    return any(service["accelerator"]["nodes"] > 1 for service in services)


def _version(user: Facts) -> str:
    return str(user[BLOCK]["version"] or LEADER_WORKER_SET["version"]).removeprefix("v")


def _chart(user: Facts) -> Facts:
    version = _version(user)
    repository, tag = image(user, "leader_worker_set", LEADER_WORKER_SET["image"].format(version=version)).rsplit(":", 1)
    pull = [{"name": name} for name in user["llm_d_image_pull_secrets"]]
    manager = {"repository": repository, "tag": tag, "pullPolicy": user["llm_d_image_pull_policy"]}
    return {
        "key": "leader_worker_set",
        "release_name": LEADER_WORKER_SET["release_name"],
        "namespace": LEADER_WORKER_SET["namespace"],
        **chart(user, "leader_worker_set", LEADER_WORKER_SET["chart"], version),
        **with_own(user, "leader_worker_set", {"image": {"manager": manager}, "imagePullSecrets": pull}),
    }


def _trial(namespace: str, labels: Facts) -> Facts:
    """An object without effect, which is applied until it is accepted: the controller reports that it is ready before its webhook answers."""
    pod = {"containers": [{"name": "none", "image": "none"}]}
    return {
        "apiVersion": LEADER_WORKER_SET["api_version"],
        "kind": LEADER_WORKER_SET["kind"],
        "metadata": {"name": "llm-d-trial", "namespace": namespace, "labels": labels},
        "spec": {"replicas": 0, "leaderWorkerTemplate": {"size": 1, "workerTemplate": {"spec": pod}}},
    }
