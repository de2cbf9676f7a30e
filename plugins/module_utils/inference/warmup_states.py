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

Facts = c.Mapping[str, t.Any]

WARM, WARMED, SHORT, UNKNOWN, FAILED = "warm", "warmed", "short", "unknown", "failed"
UNTOLD = "the servers do not say what they took from their cache (vLLM does with --enable-prompt-tokens-details)"


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
