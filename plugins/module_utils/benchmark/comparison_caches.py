# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the shared prefixes of a comparison fit into the prefix caches of the servers. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import Facts, get_path

UNCOUNTED = "tiers of the KV cache beside the servers' own are not counted"


def sizes(servers: c.Iterable[c.Mapping[str, t.Any]]) -> list[int]:
    """Tokens that the cache of each server holds, of servers whose metrics report it. servers: as vllm_health_info returns them."""
    tokens = []
    for server in servers:
        blocks, size = (get_path(server, "metrics", name, "value") for name in ("blocks", "block_size"))
        if blocks and size:
            tokens.append(int(blocks) * int(size))
    return tokens


def caches(runs: c.Sequence[Facts], servers: c.Sequence[c.Mapping[str, t.Any]]) -> Facts | None:
    """{prefixes, groups, prefix, servers, most, together, fit}: tokens of all shared prefixes and of one, and what the largest cache and all of them hold;
    `fit`: whether all prefixes may be in the caches at once. None where a server does not report the size of its cache, or nothing is shared."""
    capacities, workload = sizes(servers), runs[0].get("workload") or {}
    if not capacities or len(capacities) < len(servers) or not workload.get("groups") or not workload.get("system_prompt_len"):
        return None
    groups, prefix = workload["groups"], round(workload["system_prompt_len"] * _tokens_of_a_word(runs, workload))
    most, together = max(capacities), sum(capacities)
    return {
        "prefixes": groups * prefix, "groups": groups, "prefix": prefix, "servers": len(capacities), "most": most, "together": together,
        "fit": groups * prefix <= together and prefix <= most,
    }  # fmt: skip


def _tokens_of_a_word(runs: c.Iterable[Facts], workload: c.Mapping[str, t.Any]) -> float:
    """Tokens that the servers counted per word of the prompts; 1 where they counted none."""
    stages = [stage for run in runs for stage in run["stages"] if stage.get("prompt_tokens") and stage.get("ok")]
    words = sum(stage["ok"] for stage in stages) * (workload["system_prompt_len"] + workload["question_len"])
    return max(1.0, sum(stage["prompt_tokens"] for stage in stages) / words) if words else 1.0


def misfit(figures: c.Mapping[str, t.Any] | None) -> str | None:
    """A warning that the prefixes do not fit into the caches; None where they do, or where that is unknown. figures: as `caches` returns them."""
    if figures is None or figures["fit"]:
        return None
    whole = f"{figures['groups']} shared prefixes of {figures['prefix']:,} tokens are {figures['prefixes']:,} tokens"
    room = f"the {figures['servers']} servers hold {figures['together']:,} together" if figures["servers"] > 1 else f"the server holds {figures['most']:,}"
    if figures["prefix"] > figures["most"]:
        whole, room = f"a shared prefix has {figures['prefix']:,} tokens", f"no server holds more than {figures['most']:,}"
    return (
        f"The workload does not fit into the caches: {whole}, and {room}. Under every preset prefixes are evicted before they come again, so this says little "
        f"of routing by prefix. Compare with fewer or shorter prefixes (compare_workload) or with larger caches; {UNCOUNTED}."
    )
