# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that slow a regular expression down: many beginnings of a match, and no end. And the time that a search of such a text takes."""

from __future__ import annotations

import ast
import collections.abc as c
import re
import time
from re import _constants as codes
from re import _parser as parser

SIZE = 2_000  # characters of the smaller text
TIMES = 8  # length of the longer text divided by that of the smaller one
QUIET = 0.005  # seconds of processor time that a search of the longer text may always take
MOST = 3 * TIMES  # the limit of the ratio of both times, which is 64 for quadratic time


def attacks(pattern: str, flags: int = 0) -> list[str]:
    """Pieces of text: beginnings of a match that stop anywhere, and texts that the pattern repeats.

    Empty for a pattern without a repeat: each attempt to match it ends after a few characters.
    """
    pieces = []
    if not re.search(r"[*+]|\{[0-9]*,[0-9]*\}", pattern):
        return []
    for way in _ways(list(parser.parse(pattern, flags))):
        for end in range(1, len(way) + 1):
            begun = "".join(map(_sample, way[: end - 1]))
            last = _sample(way[end - 1])
            pieces += [begun + last, begun + last + " ", begun + last + '"', begun + last + "-"]
            if way[end - 1][0] in (codes.MAX_REPEAT, codes.MIN_REPEAT):
                pieces.append(last or _sample(way[end - 1], 1))
    return [piece for piece in dict.fromkeys(pieces) if piece.strip("\n")]


def _ways(items: list) -> list[list]:
    """The alternatives of a sequence, with those of its groups, each as one sequence."""
    for index, (code, value) in enumerate(items):
        inner = value[1] if code is codes.BRANCH else [value[3]] if code is codes.SUBPATTERN else None
        if inner is not None:
            return [way for part in inner for way in _ways([*items[:index], *part, *items[index + 1 :]])][:4]
    return [items]


def _sample(item: tuple, least: int = 0) -> str:
    """The shortest text that an item of a parsed pattern matches, or one with `least` repetitions."""
    code, value = item
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.IN:
        return next((chr(char) for char in (*b"x1- ./:=\"'A{", *range(32, 127)) if _in(value, chr(char))), "x")
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return "".join(map(_sample, value[2])) * max(value[0], least)
    if code is codes.SUBPATTERN:
        return "".join(map(_sample, value[3]))
    if code is codes.BRANCH:
        return "".join(map(_sample, value[1][0]))
    return "x" if code in (codes.ANY, codes.NOT_LITERAL) else ""


def _in(items: list, char: str) -> bool:
    classes = {codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_WORD: r"\w"}
    negated = items[0][0] is codes.NEGATE
    held = any(
        value == ord(char)
        if code is codes.LITERAL
        else value[0] <= ord(char) <= value[1]
        if code is codes.RANGE
        else re.match(classes.get(value, r"\W"), char) is not None
        for code, value in items
        if code is not codes.NEGATE
    )
    return held != negated


def superlinear(search: c.Callable[[str], object], piece: str) -> str:
    """A message with the time of a search, if the time grows faster than the length of a text of these pieces; empty otherwise."""
    for start, end in (("", ""), ("", "\x00"), (piece[:1], "\n!")):
        short = start + piece * (SIZE // len(piece) + 1) + end
        long = start + piece * (TIMES * SIZE // len(piece) + 1) + end
        for _try in range(2):
            took = _seconds(search, long)
            if took < QUIET or took < MOST * _seconds(search, short):
                break
        else:
            return f"{piece!r}: {took:.3f} s for {len(long)} characters"
    return ""


def _seconds(search: c.Callable[[str], object], text: str) -> float:
    begin = time.thread_time()
    search(text)
    return time.thread_time() - begin


FUNCTIONS = ("compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "split")


def patterns_in(source: str) -> list[tuple[str, int]]:
    """(pattern, flags) of each literal regular expression in a call of `re` in a Python file; those of match and fullmatch with anchors."""
    tree = ast.parse(source)
    uses: dict[str, set[str]] = {}
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in FUNCTIONS:
            uses.setdefault(node.value.id, set()).add(node.attr)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names[node.value] = node.targets[0].id
    patterns = []
    for node in ast.walk(tree):
        call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
        if not call or node.func.attr not in FUNCTIONS or not isinstance(node.args[0], ast.Constant):
            continue
        named = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute) and part.attr.isupper()}
        flags = sum(getattr(re, name) for name in named & {"IGNORECASE", "MULTILINE", "DOTALL"})
        for function in uses.get(names.get(node, ""), {"search"}) if node.func.attr == "compile" else {node.func.attr}:
            pattern = node.args[0].value.decode("latin-1") if isinstance(node.args[0].value, bytes) else node.args[0].value
            patterns.append(({"match": rf"\A(?:{pattern})", "fullmatch": rf"\A(?:{pattern})\Z"}.get(function, pattern), flags))
    return patterns
