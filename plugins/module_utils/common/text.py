# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text for people: secrets redacted, text on one line of limited length, counts with their noun. Pure."""

from __future__ import annotations

import re


def redact(value: str) -> str:
    """The text with everything that looks like a secret replaced."""
    for pattern, instead in _SECRETS:
        value = pattern.sub(instead, value)
    return value


_SECRETS = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"\bhf_[A-Za-z0-9]{8,}", "(removed)"),
        (r"\b(?:sk|ghp|gho|ghs|glpat|nvapi|xox[abp])[-_][A-Za-z0-9_-]{12,}", "(removed)"),
        (r"\bAKIA[A-Z0-9]{12,}", "(removed)"),
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", "(removed)"),
        (r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", r"\1 (removed)"),
        (r"(://[^/\s:@]*:)[^@\s/]+@", r"\1(removed)@"),
        (r"((?:passw(?:or)?d|secret|api[-_]?key|access[-_]?key|credential)s?[\"']?\s*[=:]\s*\[?[\"']?)(?!\(removed\))[^\s\"',;&}]{4,}", r"\1(removed)"),
        # "token" is also a unit of prompts: time-per-token=500us is not a secret
        (r"(token[\"']?\s*[=:]\s*[\"']?)(?!\(removed\))[^\s\"',;&}]{8,}", r"\1(removed)"),
    )
)


def one_line(text: object, limit: int = 400) -> str:
    """Any value as one line of at most `limit` characters: white space folded, the end cut."""
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 4] + " ..."


def shorten(text: str, limit: int = 240) -> str:
    """The same of text that may hold secrets, such as a line of a log: they are redacted first."""
    return one_line(redact(text), limit)


def pluralize(count: int, what: str) -> str:
    """A count with its noun, such as `1 server` or `4 servers`."""
    return f"{count} {what}{'' if count == 1 else 's'}"
