# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which arguments a version of SGLang's server accepts, by the options that were recorded of it (sglang_flags.py). Pure."""

from __future__ import annotations

import collections.abc as c
import difflib
import functools
import re

from ..common.flags import whole_names
from .sglang_flags import OPTIONS


def version_of(image: str) -> str | None:
    """The recorded version in the tag of an image; None for another one."""
    match = re.match(r"v?(\d+\.\d+\.\d+)", image.partition("@")[0].rpartition(":")[2])
    return match.group(1) if match and match.group(1) in OPTIONS and match.group(1) else None


@functools.cache
def options(version: str) -> dict[str, str]:
    """{option: kind} of a recorded version: "=" with a value, "" without one, "?" for an option that parses its value itself."""
    words = f"{OPTIONS['']} {OPTIONS[version]}".split()
    return {word.rstrip("=?"): word[len(word.rstrip("=?")) :] for word in words}


def spelled_out(arguments: c.Sequence[str], version: str | None) -> list[str]:
    """The arguments with whole names: SGLang accepts a prefix of a name that only one option has."""
    return whole_names(arguments, options(version) if version else ())


def misfits(arguments: c.Sequence[str], version: str) -> list[tuple[int, str, str]]:
    """(index, reason, fix) of each argument with a name that the version does not know, or with a value for a flag."""
    known = options(version)
    mistakes = []
    for index, argument in enumerate(arguments):
        if not argument.startswith("--") or " " in argument.partition("=")[0]:
            continue
        name, given, _value = argument[2:].partition("=")
        full = [name] if name in known else [word for word in known if word.startswith(name)]
        if not full:
            near = difflib.get_close_matches(name, known, 1)
            mistakes.append((index, f"SGLang {version} knows no --{name}.", f"Did you mean --{near[0]}?" if near else "Take it out."))
        elif len(full) == 1 and given and not known[full[0]]:
            mistakes.append((index, f"--{full[0]} of SGLang takes no value.", f"Write --{full[0]}, or take it out."))
    return mistakes
