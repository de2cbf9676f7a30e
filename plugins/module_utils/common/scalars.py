# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Booleans and numbers that are given as text, as surveys and -e give them. Pure."""

from __future__ import annotations

import re
import typing as t

BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
# No leading zeros, which YAML reads as octal, and no more digits than any option takes.
_WHOLE = r"[+-]?(0|[1-9][0-9]{0,29})"
_PATTERNS = {"int": re.compile(rf"{_WHOLE}\Z"), "float": re.compile(rf"{_WHOLE}(\.[0-9]{{1,30}})?([eE][+-]?[0-9]{{1,3}})?\Z")}


def scalar(value: t.Any, kind: str) -> t.Any:
    """The boolean or number (bool, int, float) that a text is beyond doubt, blanks around it aside; every other value as it is."""
    if not isinstance(value, str) or kind not in ("bool", *_PATTERNS):
        return value
    text = value.strip()
    if kind == "bool":
        return BOOLEANS.get(text.lower(), value)
    if not _PATTERNS[kind].match(text):
        return value
    return int(text) if _PATTERNS["int"].match(text) else float(text)


def blank(value: t.Any) -> bool:
    """Whether a value is a blank text, as a survey question without an answer gives it."""
    return isinstance(value, str) and not value.strip()


def words(text: str) -> list[str]:
    """The elements of a list that is given as one text, with commas or a line for each."""
    return [part.strip() for part in re.split(r"[,\n]", text) if part.strip()]
