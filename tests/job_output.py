# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of a job, as AWX or a file shows it: without colours, in 80 columns."""

from __future__ import annotations

import collections.abc as c
import re

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Lines that Ansible itself prints: heads, warnings, the position of a task, the recap.
OTHERS = re.compile(r"(TASK|PLAY|\[WARNING\]|\[ERROR\]|included|Origin|[0-9]+ )|\w+ +: ok=")


def plain(output: str) -> list[str]:
    """The lines without colours. Fails for any other control character."""
    text = COLOURS.sub("", output)
    assert not {char for char in text if not (char.isprintable() or char == "\n")}, "a control character"
    return text.split("\n")


def wide(lines: c.Iterable[str]) -> list[str]:
    """Our lines with more than 80 columns, except those with long paths and addresses, which users copy whole."""
    return [line for line in lines if len(line) > 80 and not OTHERS.match(line) and not any("/" in word and len(word) > 30 for word in line.split())]
