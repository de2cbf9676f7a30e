# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of reports for a terminal, wrapped to its width; tables, also as Markdown, of which the first row is the head; the subject of a report. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ..common.text import one_line

MARGIN = 11  # columns that Ansible's callbacks put around a line: eight spaces, as JSON also quotes and a comma
WIDTH = 80  # columns of what is printed
LINE = WIDTH - MARGIN  # columns that text and tables may take
GAP = "  "
LEAST = 7  # columns of a name that has to be broken
_PIECES = re.compile(r"[^\s_/-]*[_/-]?")
_WHOLE = re.compile(r"[\"'(\[]*(?:[a-z]+://|/)")  # the start of an address or an absolute path
_WORDS = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")  # of a shell command


def wrapped(line: str, width: int = LINE, indent: str = "") -> list[str]:
    """A line as lines of at most `width` columns, the further ones behind `indent`. A name that is longer than that is broken behind one of - _ / where it has
    one. An address or an absolute path stays whole, to be copied."""
    head = line[: len(line) - len(line.lstrip())]
    lines, empty = [head], True
    for gap, word in re.findall(r"(\s*)(\S+)", line[len(head) :]):
        whole = _WHOLE.match(word) or len(indent) + len(word) <= width
        for index, piece in enumerate([word] if whole else _pieces(word)):
            space = gap if index == 0 and not empty else ""
            if empty or len(lines[-1]) + len(space) + len(piece) <= width:
                lines[-1] += space + piece
            else:
                lines.append(indent + piece)
            empty = False
    return lines


def cut(line: str, width: int = WIDTH) -> str:
    """A line of at most `width` columns, the last of which shows that it was cut."""
    return line if len(line) <= width else line[: width - 1] + "…"


def paragraphs(lines: c.Iterable[str]) -> list[str]:
    """Lines of text, each wrapped; what is indented stays so."""
    return [part for line in lines for part in wrapped(line, indent=" " * (len(line) - len(line.lstrip())))]


def command(line: str, width: int = LINE) -> list[str]:
    """A shell command, to be copied, as lines of at most `width` columns where its words allow it. JSON is broken between its members."""
    arguments: list[str] = []
    for word in _WORDS.findall(line):
        option = arguments and arguments[-1] in ("  -H", "  -d")  # whose value stays beside it
        if arguments and word not in ("-H", "-d") and (option or len(arguments[-1]) + len(word) + 3 <= width):
            arguments[-1] += f" {word}"
        else:
            arguments.append(f"  {word}" if arguments else word)
    lines = [each.replace(', "', ',\n    "') if each.startswith("  -d ") and len(each) > width else each for each in arguments]
    parts = [part for index, each in enumerate(lines) for part in (each + (" \\" if index < len(lines) - 1 else "")).split("\n")]
    return [piece for part in parts for piece in (part.replace('": "', '":\n    "', 1) if len(part) > width else part).split("\n")]


def aligned(rows: c.Sequence[c.Sequence[str]], left: int, width: int = LINE) -> list[str]:
    """Lines in columns of together at most `width`: where they are wider, heads are wrapped, then cells; nothing is left out. left: the column that begins
    on the left, which the others do not."""
    head, *body = rows
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    gap, room = GAP, width - len(GAP) * (len(columns) - 1)
    if sum(widths) > room:
        widths = [max([_longest(name.split()), *map(len, column[1:])]) for name, column in zip(head, columns, strict=True)]
    if sum(widths) > room:
        gap, room = " ", width - (len(columns) - 1)
    least = [
        min(_longest(_pieces(" ".join(column))), LEAST if place == left else size) for place, (column, size) in enumerate(zip(columns, widths, strict=True))
    ]
    while sum(widths) > room and any(size > smallest for size, smallest in zip(widths, least, strict=True)):
        widest = max((place for place, size in enumerate(widths) if size > least[place]), key=lambda place: widths[place])
        widths[widest] -= 1
    return [line for number, row in enumerate(rows) for line in _lines(row, widths, left, gap, bottom=not number and bool(body))]


def _lines(row: c.Sequence[str], widths: c.Sequence[int], left: int, gap: str, bottom: bool) -> list[str]:
    """A row as lines, its cells wrapped. bottom: whether short cells stand on the last of them."""
    cells = [_broken(cell, size) for cell, size in zip(row, widths, strict=True)]
    high = max(map(len, cells))
    full = [[""] * (high - len(cell)) + cell if bottom else cell + [""] * (high - len(cell)) for cell in cells]
    return [
        gap.join(cell[line].ljust(size) if place == left else cell[line].rjust(size) for place, (cell, size) in enumerate(zip(full, widths, strict=True)))
        for line in range(high)
    ]


def _broken(cell: str, width: int) -> list[str]:
    """A cell as lines of at most `width` columns, broken at spaces, behind one of - _ /, and anywhere where there is neither."""
    lines = [""]
    for word in cell.split():
        for index, piece in enumerate(_pieces(word)):
            space = " " if index == 0 and lines[-1] else ""
            if len(lines[-1]) + len(space) + len(piece) <= width:
                lines[-1] += space + piece
                continue
            parts = [piece[start : start + width] for start in range(0, len(piece), width)]
            lines = [*lines[:-1], *([lines[-1]] if lines[-1] else []), *parts]
    return lines


def _pieces(text: str) -> list[str]:
    return [piece for piece in _PIECES.findall(text) if piece]


def _longest(words: c.Iterable[str]) -> int:
    return max(map(len, words), default=0)


def markdown(rows: c.Sequence[c.Sequence[str]], left: int) -> list[str]:
    """Lines of a table. left: as for `aligned`."""
    rule = "|" + "|".join("---" if column == left else "---:" for column in range(len(rows[0]))) + "|"
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return [head, rule, *body]


def subject(about: c.Mapping[str, t.Any]) -> str:
    """The deployment of a report, {instance, namespace, cluster, release}, on one line; empty where the report does not name it."""
    if not about.get("instance"):
        return ""
    where = f" on {about['cluster']}" if about.get("cluster") else ""
    return one_line(f"{about['instance']} in namespace {about['namespace']}{where}, {about['release']}")
