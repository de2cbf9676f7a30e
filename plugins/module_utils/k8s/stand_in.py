# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dry runs of stand-ins for what the API server cannot validate itself: objects in a namespace that is missing, pods of a LeaderWorkerSet. Pure."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t

from ..common.objects import Facts, get_path, mapping
from ..releases.lines import LEADER_WORKER_SET
from .apply_results import Change, is_invalid

Trial = tuple[int, Facts]


def trials(done: t.Sequence[Change], namespace: str) -> list[Trial]:
    """(index of the change, a definition to try) for what the API server could not validate in check mode. namespace: one that exists."""
    missing = {change.definition["metadata"].get("namespace") for change in done if change.untried == "namespace"}
    result: list[Trial] = []
    for index, change in enumerate(done):
        if change.untried == "namespace":
            result.append((index, _elsewhere(change.definition, namespace)))
        for pods in _deployments(change.definition):
            result.append((index, _elsewhere(pods, namespace if pods["metadata"]["namespace"] in missing else pods["metadata"]["namespace"])))
    return result


def judged(done: t.Sequence[Change], tried: t.Iterable[tuple[Trial, Change]]) -> list[Change]:
    """The changes, with the results of their trials.

    Only what makes an object invalid counts: quotas, permissions and admission policies are those of the other namespace.
    """
    result = list(done)
    for (index, definition), trial in tried:
        change = result[index]
        if trial.action == "refused" and is_invalid(trial.problem) and change.action != "refused":
            problem = trial.problem.replace(definition["metadata"]["name"], change.definition["metadata"]["name"])
            result[index] = dataclasses.replace(change, action="refused", after={}, problem=problem, untried="")
    return result


def _elsewhere(definition: Facts, namespace: str) -> Facts:
    """The definition in another namespace, with another name of the same length: an object that has its name there is not meant."""
    metadata = definition["metadata"]
    name = str(metadata["name"])
    tail = "".join(chr(ord("a") + int(digit, 16)) for digit in hashlib.sha256(name.encode()).hexdigest())[: max(1, min(8, len(name) - 1))]
    return {**definition, "metadata": {**metadata, "name": name[: len(name) - len(tail)] + tail, "namespace": namespace}}


def _deployments(definition: Facts) -> list[Facts]:
    """A Deployment for each pod template of a LeaderWorkerSet: neither its CRD nor its webhook validates them."""
    if definition["kind"] != LEADER_WORKER_SET["kind"]:
        return []
    parts = mapping(definition["spec"].get("leaderWorkerTemplate"))
    templates = [(mapping(get_path(part, "metadata", "labels")), part) for field, part in parts.items() if field.endswith("Template")]
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": definition["metadata"], "spec": {"selector": {"matchLabels": labels}, "template": template}}
        for labels, template in templates
    ]
