# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The claim that the prefix caches hold the prompts of a warm-up. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import Facts
from ..common.text import pluralize
from ..inference.warmup_states import FAILED, SHORT, UNKNOWN, UNREPORTED, WARM, WARMED, rows
from .claims import Judged, claim, not_run

AGAIN = (
    "run playbooks/site.yml, which sends it again; if it is evicted again, the prompts together exceed the cache, prefix caching is off, or block_size "
    "differs from that of the servers"
)


def judge(result: t.Any, wanted: c.Sequence[Facts]) -> Judged:
    """(claims, not checked) from the result of a second run of vllm_warmup; `wanted`: the warm-ups of the plan."""
    services = {entry["name"]: entry for entry in (result.get("services") if isinstance(result, c.Mapping) else None) or ()}
    claims, skipped = [], []
    for service in wanted:
        name = f"{service['name']}/warm"
        observed = services.get(service["name"])
        if observed is None:
            claims.append(not_run(name, result))
            continue
        ok, evidence, remedy = _of_service(observed)
        if ok is None:
            skipped.append({"id": name, "why": evidence})
        else:
            claims.append(claim(name, ok, evidence, remedy, result.get("seconds", 0.0)))
    return claims, skipped


def _of_service(service: Facts) -> tuple[bool | None, str, str]:
    """(whether a service is warm, or None where it is unknown; evidence; remedy)."""
    if service["problem"]:
        return False, service["problem"], service["remedy"]
    cold = rows(service, FAILED, SHORT, WARMED)
    if cold:
        server, prompt = cold[0]
        rest = f", and {len(cold) - 1} more" if len(cold) > 1 else ""
        return False, f"{server}: {prompt['evidence']}{rest}", prompt["remedy"] or AGAIN
    if rows(service, UNKNOWN):
        return None, UNREPORTED, ""
    warm = rows(service, WARM)
    cached, tokens = (sum(prompt[key] for _server, prompt in warm) for key in ("cached", "tokens"))
    counts = f"{pluralize(len(service['servers']), 'server')} took {pluralize(len(warm) // len(service['servers']), 'prompt')} from the cache"
    return True, f"{counts}: {cached} of {tokens} tokens", ""
