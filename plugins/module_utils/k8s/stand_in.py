# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trying objects by a dry run in a namespace that exists, where their own does not yet. Pure."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t

from ..common.objects import Facts
from .apply_results import Change

INVALID = " is invalid: "  # how the API server begins what is wrong with an object itself, and not with where it is


def untried(done: t.Iterable[Change]) -> list[Change]:
    """The changes of a check mode that the API server could not judge, since their namespace is missing."""
    return [change for change in done if change.untried == "namespace"]


def elsewhere(definition: Facts, namespace: str) -> Facts:
    """The definition in another namespace, with another name of the same length: an object that has its name there is not meant."""
    metadata = definition["metadata"]
    name = str(metadata["name"])
    tail = "".join(chr(ord("a") + int(digit, 16)) for digit in hashlib.sha256(name.encode()).hexdigest())[: max(1, min(8, len(name) - 1))]
    return {**definition, "metadata": {**metadata, "name": name[: len(name) - len(tail)] + tail, "namespace": namespace}}


def judged(done: t.Sequence[Change], trials: t.Sequence[Change]) -> list[Change]:
    """The changes, with what their trials elsewhere showed, which are those of untried(done) in order.

    Only what makes an object invalid counts: quotas, permissions and admission policies are those of the other namespace.
    """
    found = iter(trials)
    return [_with_trial(change, next(found)) if change.untried == "namespace" else change for change in done]


def _with_trial(change: Change, trial: Change) -> Change:
    if trial.action != "refused" or INVALID not in trial.problem:
        return change
    problem = trial.problem.replace(trial.definition["metadata"]["name"], change.definition["metadata"]["name"])
    return dataclasses.replace(change, action="refused", after={}, problem=problem, untried="")
