# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of the filter and the module scorer_config for a scheduler block. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

from ...common.objects import dicts, get_path
from ...schema.fields import Problem
from ..config.build import Built
from . import decision


def answer(built: Built, release: str, servers: t.Any, request: t.Any) -> dict[str, t.Any]:
    """{document, text, requires, notes, problems, explanation} as plain data; the explanation is {} without servers."""
    explained = decision.explain_built(built, release, servers, request or {}) if servers and not built.problems else None
    problems = [*built.problems, *(explained.problems if explained is not None else ())]
    return {
        "document": built.document,
        "text": built.text,
        "requires": built.requires,
        "notes": list(built.notes),
        "problems": [dataclasses.asdict(problem) for problem in problems],
        "explanation": _explanation(explained) if explained is not None else {},
    }


def refusal(problems: c.Iterable[c.Mapping[str, t.Any]]) -> str:
    """All problems of an answer as one message."""
    return "The scheduler configuration has mistakes:\n" + "\n".join(f"  {Problem(**problem)}" for problem in problems)


def _explanation(explained: decision.Explanation) -> dict[str, t.Any]:
    return {
        "winners": explained.winners,
        "probabilities": dict(explained.probabilities),
        "text": explained.text,
        "notes": list(explained.notes),
        "decisions": [{**dataclasses.asdict(decision), "winners": decision.winners} for decision in explained.decisions],
    }


def missing_in_deployment(requires: c.Mapping[str, t.Any], deployment: t.Any) -> list[str]:
    """The flags, ports and sidecars that a configuration requires and the endpoint picker's Deployment lacks, as text."""
    pod = get_path(deployment, "spec", "template", "spec")
    containers = [*dicts(get_path(pod, "containers")), *dicts(get_path(pod, "initContainers"))]
    flags = [argument for container in containers for argument in container.get("args") or []]
    names = [container.get("name") for container in containers]
    ports = [port.get("containerPort") for container in containers for port in dicts(container.get("ports"))]
    wanted = get_path(dict(requires), "epp") or {}
    missing = [f"the flag {argument}" for argument in wanted.get("args") or [] if argument not in flags]
    missing += [f"the port {port['port']} ({port['name']})" for port in wanted.get("ports") or [] if port["port"] not in ports]
    return missing + [f"the sidecar {car['name']}" for car in requires.get("sidecars") or [] if car.get("on") == "epp" and car["name"] not in names]
