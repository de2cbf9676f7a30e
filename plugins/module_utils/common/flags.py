# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command-line arguments as a mapping from flag to value. Pure."""

from __future__ import annotations

import re
import typing as t

_FLAG = re.compile(r"--?[A-Za-z]")  # its beginning: -1 is a value


def flags_of(arguments: t.Any) -> dict[str, str | None]:
    """Flag names and values of an argument list, written as `--a=b`, as `--a b`, or as one string "--a b"; None for a flag without a value."""
    words: list[str] = []
    for argument in arguments or []:
        text = str(argument)
        two_in_one = _FLAG.match(text) and "=" not in text.split(" ", maxsplit=1)[0]
        words += re.split(r"\s+", text.strip(), maxsplit=1) if two_in_one else [text]
    flags: dict[str, str | None] = {}
    for index, word in enumerate(words):
        if _FLAG.match(word):
            name, given, value = word.lstrip("-").partition("=")
            after = words[index + 1] if index + 1 < len(words) and not _FLAG.match(words[index + 1]) else None
            flags[name] = value if given else after
    return flags


def place_of(arguments: t.Sequence[str], flag: str, path: str) -> str:
    """The path of a flag in a list of arguments, such as `args[2]`. path: of the list, returned where the list lacks the flag."""
    for index, argument in enumerate(arguments):
        if _FLAG.match(argument) and argument.lstrip("-").replace(" ", "=").split("=", 1)[0] == flag:
            return f"{path}[{index}]"
    return path


def whole_names(arguments: t.Sequence[str], known: t.Collection[str]) -> list[str]:
    """The arguments with abbreviated names written out: argparse accepts an unambiguous prefix of a name. known: names without dashes."""
    expanded = []
    for argument in arguments:
        name, given, rest = re.match(r"([^= ]*)([= ]?)(.*)", argument, re.DOTALL).groups()  # type: ignore[union-attr]
        full = [word for word in known if name.startswith("--") and word.startswith(name[2:])] if name[2:] not in known else []
        expanded.append(f"--{full[0]}{given}{rest}" if len(full) == 1 else argument)
    return expanded
