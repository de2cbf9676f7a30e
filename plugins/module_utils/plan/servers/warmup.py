# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts to load into the prefix caches of model servers, and configurations in which that cannot work. Pure."""

from __future__ import annotations

import typing as t

from ...common.flags import flags_of, place_of
from ...common.objects import Facts
from ...schema.fields import Problem
from ..engines.engine import block_size
from ..engines.validate_arguments import without_cache
from .server import server_targets
from .warmup_job import warmup_job_problems

_RANKS = ("data-parallel-size", "dp", "dp-size")


def warmups(services: t.Sequence[Facts], planned: t.Sequence[Facts], namespace: str) -> list[Facts]:
    """The services with warm-up prompts and servers, as the module vllm_warmup takes them.

    services: those of the user's file, completed; planned: the same services as planned, in the same order.
    """
    return [
        {
            "name": facts["name"],
            "model": facts["model"]["served_name"],
            "api": service["warmup"]["api"],
            "block_size": block_size(service),
            "prompts": service["warmup"]["prompts"],
            "config_map": {"namespace": namespace, "name": service["warmup"]["config_map"]} if service["warmup"]["config_map"] else None,
            # Servers of each role: a decode server that has the prefix needs no prefill of it, and a prefill server computes only the rest of the prompt.
            "replicas": [server_targets(server, namespace) for server in facts["servers"] if server["replicas"]],
        }
        for service, facts in zip(services, planned, strict=True)
        if service["warmup"] and (service["warmup"]["prompts"] or service["warmup"]["config_map"]) and any(server["replicas"] for server in facts["servers"])
    ]


def warmup_problems(service: Facts, path: str, ending: str) -> list[Problem]:
    """Reasons why the servers of a service could not keep its prompts in their caches. ending: the suffix that the plan adds to the name of the service."""
    wanted, block, place = service["warmup"], block_size(service), f"{path}.warmup"
    if wanted is None:
        return []
    problems = []
    reloads = wanted["schedule"] and service["model"]["adapters_at_runtime"]
    if not wanted["prompts"] and not wanted["config_map"] and not reloads:
        problems.append(Problem(place, wanted, "has no prompt to send.", "Write prompts, or config_map with the name of a ConfigMap, or take it out."))
    for index, prompt in enumerate(wanted["prompts"]):
        size = len(prompt.encode())  # a token has at least one byte
        if block and size <= block:
            why = f"its {size} bytes cannot fill a KV-cache block of {block} tokens, and less than a block is not kept."
            problems.append(Problem(f"{place}.prompts[{index}]", prompt, why, "Write a longer prompt, or take it out."))
    for setting, value in without_cache(service, path):
        problems.append(Problem(setting, value, "leaves no prefix cache that could be warmed up.", f"Take it out, or take out {place}."))
    return problems + _ranks(service, path) + warmup_job_problems(service, path, ending)


def _ranks(service: Facts, path: str) -> list[Problem]:
    """Data-parallel ranks: each has its own cache, and the server chooses which rank gets a prompt."""
    why, fix = (
        "gives each accelerator a cache of its own, and no request can choose which of them its prompt reaches.",
        f"Take it out, or take out {path}.warmup.",
    )
    arguments, accelerator = service["engine"]["args"], service["accelerator"]
    problems = [Problem(f"{path}.accelerator.across_nodes", "expert", why, fix)] if accelerator["across_nodes"] == "expert" else []
    problems += [Problem(f"{path}.accelerator.data", accelerator["data"], why, fix)] if accelerator["data"] > 1 else []
    flags = flags_of(arguments)
    return problems + [
        Problem(place_of(arguments, flag, f"{path}.engine.args"), flags[flag], why, fix) for flag in _RANKS if flags.get(flag) not in (None, "1")
    ]
