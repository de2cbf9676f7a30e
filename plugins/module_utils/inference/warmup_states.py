# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of warm-up prompts in prefix caches, from the `usage` of completions. Pure.

States of one prompt on one server: `warm`: it was cached; `warmed`: it was not cached and is now; `short`: it does not fill a block;
`unknown`: the server does not report cached tokens; `failed`: no valid answer.
"""

from __future__ import annotations

import collections.abc as c

from ..common.objects import Facts

WARM, WARMED, SHORT, UNKNOWN, FAILED = "warm", "warmed", "short", "unknown", "failed"
UNREPORTED = "the servers do not report cached tokens (vLLM does with --enable-prompt-tokens-details)"


def reusable(tokens: int, block: int) -> int:
    """Tokens of a prompt that can come from the cache: whole blocks, without the last token, which is always computed."""
    return max(0, tokens - 1) // block * block


def state(tokens: int | None, cached: int | None, block: int) -> str:
    """The state that the `usage` of an answer shows. `block`: tokens in a KV-cache block."""
    if not tokens or (cached or 0) > tokens:  # no prompt has such counts: the server did not fill in the usage
        return UNKNOWN
    if not reusable(tokens, block):
        return SHORT
    if cached is None:
        return UNKNOWN
    return WARM if cached >= reusable(tokens, block) else WARMED


def names(prompts: c.Sequence[str], values: c.Mapping[str, str]) -> dict[str, str]:
    """{name: prompt}. A name states the source of a prompt without its text. The prompts of the option come first, then those of the ConfigMap by key."""
    given = {f"prompts[{index}] ({len(prompt)} characters)": prompt for index, prompt in enumerate(prompts)}
    return {**given, **{f"config_map {key} ({len(values[key])} characters)": values[key] for key in sorted(values)}}


def rows(service: Facts, *states: str) -> list[tuple[str, Facts]]:
    """(server, prompt) for each prompt of a service in one of these states."""
    return [(server["server"], prompt) for server in service["servers"] for prompt in server["prompts"] if prompt["state"] in states]


def is_warm(service: Facts) -> bool:
    """Whether every server has every prompt in its cache."""
    return not service["problem"] and bool(rows(service, WARM, WARMED)) and not rows(service, SHORT, UNKNOWN, FAILED)


def warnings(service: Facts) -> list[str]:
    """One line for each cause that keeps caches of a service cold."""
    lines = [f"{service['name']}: {service['problem']}: {service['remedy']}"] if service["problem"] else []
    lines += [f"{service['name']}: {server}: {prompt['evidence']}: {prompt['remedy']}" for server, prompt in rows(service, FAILED)]
    short = {prompt["prompt"]: prompt for _server, prompt in rows(service, SHORT)}
    lines += [f"{service['name']}: {prompt['evidence']}: {prompt['remedy']}" for prompt in short.values()]
    return lines + ([f"{service['name']}: {UNREPORTED}, so whether the prompts are cached is unknown"] if rows(service, UNKNOWN) else [])
