# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text and tables fit a terminal and omit nothing."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.report import text
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.lists(st.text("abcxyz019-_/", min_size=1, max_size=40), min_size=1, max_size=20).map(" ".join)


def letters(lines):
    return "".join("".join(lines).split())


@given(WORDS, st.integers(45, 100), st.sampled_from(["", "  ", "          "]))
def test_wrapped_text_fits_the_width_and_keeps_every_letter(line, width, indent):
    lines = text.wrapped(line, width, indent)
    assert letters(lines) == letters([line]) and all(part.startswith(indent) for part in lines[1:])
    assert all(len(part) <= width or max(map(len, text._pieces(part))) + len(indent) > width or "/" in part for part in lines)


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("a line that is short", ["a line that is short"]),
        ("one two three four five six", ["one two three four", "  five six"]),
        ("see http://10.96.0.20/a/very/long/address for it", ["see", "  http://10.96.0.20/a/very/long/address", "  for it"]),
        ("Plots: /home/you/artifacts/benchmark/report.html", ["Plots:", "  /home/you/artifacts/benchmark/report.html"]),
        ("Pod a-very-long-name-of-a-server is not there", ["Pod a-very-long-", "  name-of-a-server", "  is not there"]),
        ("  the  gaps   stay", ["  the  gaps   stay"]),
        ("", [""]),
    ],
)
def test_where_text_is_wrapped(line, lines):
    assert text.wrapped(line, 20, "  ") == lines


def test_paragraphs_keep_their_indentation():
    line = "  " + "word " * 30
    assert all(part.startswith("  word") and len(part) <= text.LINE for part in text.paragraphs([line])) and text.paragraphs(["", "a"]) == ["", "a"]


def test_a_table_that_fits_is_not_wrapped():
    assert text.aligned([["a name", "b"], ["1", "200"]], left=0) == ["a name    b", "1       200"]


def test_heads_are_wrapped_before_cells():
    rows = [["load", "output tokens per second"], ["rate 8", "120"]]
    assert text.aligned(rows, left=0, width=16) == ["        output", "        tokens", "           per", "load    second", "rate 8     120"]


def test_cells_are_wrapped_where_heads_are_not_enough():
    rows = [["preset", "p90"], ["prefix_aware_with_a_larger_index", "1000 ms"]]
    assert text.aligned(rows, left=0, width=24) == [
        "preset               p90",
        "prefix_aware_    1000 ms",
        "with_a_larger_          ",
        "index                   ",
    ]


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=5), st.integers(0, 2))
def test_aligned_lines_are_equally_wide_and_contain_every_cell(rows, left):
    lines = text.aligned(rows, left)
    assert len({len(line) for line in lines}) == 1 and sorted(letters(lines)) == sorted(letters([cell for row in rows for cell in row]))
