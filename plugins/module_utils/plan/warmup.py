# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which prompts shall lie in the prefix caches of which servers, and where that cannot be. Pure."""

from __future__ import annotations

import typing as t

from ..common.flags import flags_of
from ..schema.fields import Problem
from .server import server_targets
from .validate_arguments import place_of, without_cache

Facts = dict[str, t.Any]
_RANKS = ("data-parallel-size", "dp")


def warmups(services: t.Sequence[Facts], planned: t.Sequence[Facts], namespace: str) -> list[Facts]:
    """The services with prompts and servers, as the module vllm_warmup takes them. Takes completed services and, in the same order, planned ones."""
    return [
        {
            "name": facts["name"],
            "model": facts["model"]["served_name"],
            "api": service["warmup"]["api"],
            "block_size": service["engine"]["block_size"],
            "prompts": service["warmup"]["prompts"],
            "config_map": {"namespace": namespace, "name": service["warmup"]["config_map"]} if service["warmup"]["config_map"] else None,
            # Those of every role: a decode server that has a prefix needs no prefill of it, and a prefill server begins behind it.
            "replicas": [server_targets(server, namespace) for server in facts["servers"] if server["replicas"]],
        }
        for service, facts in zip(services, planned)
        if service["warmup"] and any(server["replicas"] for server in facts["servers"])
    ]


def warmup_problems(service: Facts, path: str) -> list[Problem]:
    """Why the servers of a service could not keep its prompts."""
    wanted, block, place = service["warmup"], service["engine"]["block_size"], f"{path}.warmup"
    if wanted is None:
        return []
    found = []
    if not wanted["prompts"] and not wanted["config_map"]:
        found.append(Problem(place, wanted, "has no prompt to send.", "Write prompts, or config_map with the name of a ConfigMap, or take it out."))
    for index, prompt in enumerate(wanted["prompts"]):
        size = len(prompt.encode())  # no token is less than a byte
        if size <= block:
            why = f"its {size} bytes cannot fill a KV-cache block of {block} tokens, and less than a block is not kept."
            found.append(Problem(f"{place}.prompts[{index}]", prompt, why, "Write a longer prompt, or take it out."))
    for where, value in without_cache(service, path):
        found.append(Problem(where, value, "leaves no prefix cache that could be warmed up.", f"Take it out, or take out {place}."))
    return found + _ranks(service, path)


def _ranks(service: Facts, path: str) -> list[Problem]:
    """A server of several data-parallel ranks has a cache in each, and chooses itself which of them a prompt reaches."""
    why, fix = "gives each accelerator a cache of its own, and nobody can choose which of them a prompt reaches.", f"Take it out, or take out {path}.warmup."
    arguments, accelerator = service["engine"]["args"], service["accelerator"]
    found = [Problem(f"{path}.accelerator.across_nodes", "expert", why, fix)] if accelerator["across_nodes"] == "expert" else []
    theirs = flags_of(arguments)
    return found + [Problem(place_of(arguments, flag, f"{path}.engine.args"), theirs[flag], why, fix) for flag in _RANKS if theirs.get(flag) not in (None, "1")]
