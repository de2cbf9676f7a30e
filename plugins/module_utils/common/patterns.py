# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches untrusted texts, such as logs, in time that is linear in their length. Pure."""

from __future__ import annotations

import re

from .text import printable

LINE = 1 << 14  # characters of a line that are searched
TEXT = 1 << 18  # characters of a text that are searched: with patterns that take linear time this is a budget of time, too
GAP = " ... "


class LinePattern:
    """A pattern for one line: alternatives of regular expressions that are joined by ` ... `, "then, anywhere behind it in the line".

    In a regular expression `a.*b` takes the square of the length of a line of many `a` without `b`: the rest of the line is read again after each. Here it is
    read once: behind the first `a`, since a `b` behind any other is behind that one, too.
    """

    def __init__(self, *alternatives: str, flags: int = 0) -> None:
        self._alternatives = [[re.compile(part, flags) for part in alternative.split(GAP)] for alternative in alternatives]

    def find(self, text: str) -> str | None:
        """The first line that matches one of the alternatives; None where none does."""
        return next((line for line in lines(text) if self.matches(line)), None)

    def matches(self, line: str) -> bool:
        """Whether a line matches one of the alternatives."""
        return self.at(line) is not None

    def at(self, line: str) -> int | None:
        """Where the match of an alternative in a line ends; None where none matches."""
        return next((end for parts in self._alternatives if (end := _end(parts, line)) is not None), None)


def lines(text: str) -> list[str]:
    """The lines of a text that are searched, printable and each cut to LINE characters: all, or of a long text those at both ends."""
    if len(text) > TEXT:
        text = f"{text[: TEXT // 2]}\n{text[-TEXT // 2 :]}"
    return [line[:LINE] for line in printable(text).split("\n")]


def _end(parts: list[re.Pattern[str]], line: str) -> int | None:
    at = 0
    for part in parts:
        match = part.search(line, at)
        if match is None:
            return None
        at = match.end()
    return at
