# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server's answer to a warm-up prompt says of its prefix cache; and whether all of them together are warm. Pure.

States of one prompt at one server: `warm`: it was in the cache; `warmed`: it was not, and has been put there; `short`: it does not fill a block;
`unknown`: the server does not say what it took from its cache; `failed`: no good answer.
"""

from __future__ import annotations

import collections.abc as c
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.claims import Judged, claim, in_words, unrun

Facts = c.Mapping[str, t.Any]

WARM, WARMED, SHORT, UNKNOWN, FAILED = "warm", "warmed", "short", "unknown", "failed"
UNTOLD = "the servers do not say what they took from their cache (vLLM does with --enable-prompt-tokens-details)"
AGAIN = ("run playbooks/site.yml, which sends it again; when it is not kept then either, all prompts together are longer than the cache, or it is off, or "
         "block_size is not that of the servers")


def reusable(tokens: int, block: int) -> int:
    """Tokens of a prompt that a server can take from its cache: whole blocks, and never the last token, from which it goes on."""
    return max(0, tokens - 1) // block * block


def state(tokens: int | None, cached: int | None, block: int) -> str:
    """What an answer says, by its `usage`."""
    if tokens is None:
        return UNKNOWN
    if not reusable(tokens, block):
        return SHORT
    if cached is None:
        return UNKNOWN
    return WARM if cached >= reusable(tokens, block) else WARMED


def names(prompts: c.Sequence[str], values: c.Mapping[str, str]) -> dict[str, str]:
    """Prompts by a name that tells where they stand, without showing them: those of the file, then those of the ConfigMap in the order of its keys."""
    found = {f"prompts[{index}] ({len(prompt)} characters)": prompt for index, prompt in enumerate(prompts)}
    return {**found, **{f"config_map {key} ({len(values[key])} characters)": values[key] for key in sorted(values)}}


def rows(service: Facts, *states: str) -> list[tuple[str, Facts]]:
    """(server, prompt) for each prompt of a service that is in one of these states."""
    return [(server["server"], prompt) for server in service["servers"] for prompt in server["prompts"] if prompt["state"] in states]


def is_warm(service: Facts) -> bool:
    """Whether every prompt lies in the cache of every server now."""
    return not service["wrong"] and bool(rows(service, WARM, WARMED)) and not rows(service, SHORT, UNKNOWN, FAILED)


def warnings(service: Facts) -> list[str]:
    """What keeps caches of a service cold, a line for each."""
    found = [f"{service['name']}: {service['wrong']}: {service['remedy']}"] if service["wrong"] else []
    found += [f"{service['name']}: {server}: {prompt['evidence']}: {prompt['remedy']}" for server, prompt in rows(service, FAILED)]
    short = {prompt["prompt"]: prompt for _server, prompt in rows(service, SHORT)}
    found += [f"{service['name']}: {prompt['evidence']}: {prompt['remedy']}" for prompt in short.values()]
    return found + ([f"{service['name']}: {UNTOLD}, so whether the prompts are there is not known"] if rows(service, UNKNOWN) else [])


def judge(result: t.Any, wanted: c.Sequence[Facts]) -> Judged:
    """What vllm_warmup returned when it asked again for what it had sent before; `wanted`: the warm-ups of the plan."""
    seen = {entry["name"]: entry for entry in (result.get("services") if isinstance(result, c.Mapping) else None) or ()}
    claims, skipped = [], []
    for service in wanted:
        name = f"{service['name']}/warm"
        found = seen.get(service["name"])
        if found is None:
            claims.append(unrun(name, result))
            continue
        ok, evidence, remedy = _of_service(found)
        if ok is None:
            skipped.append({"id": name, "why": evidence})
        else:
            claims.append(claim(name, ok, evidence, remedy, result.get("seconds", 0.0)))
    return claims, skipped


def _of_service(found: Facts) -> tuple[bool | None, str, str]:
    """Whether a service is warm, None where nobody can tell, with evidence and remedy."""
    if found["wrong"]:
        return False, found["wrong"], found["remedy"]
    bad = rows(found, FAILED, SHORT, WARMED)
    if bad:
        server, prompt = bad[0]
        more = f", and {len(bad) - 1} more like that" if len(bad) > 1 else ""
        return False, f"{server}: {prompt['evidence']}{more}", prompt["remedy"] or AGAIN
    if rows(found, UNKNOWN):
        return None, UNTOLD, ""
    warm = rows(found, WARM)
    cached, tokens = (sum(prompt[key] for _server, prompt in warm) for key in ("cached", "tokens"))
    counts = f"{in_words(len(found['servers']), 'server')} took {in_words(len(warm) // len(found['servers']), 'prompt')} from the cache"
    return True, f"{counts}: {cached} of {tokens} tokens", ""
