# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text on one line: folded, cut at a limit, and without secrets where it may hold some."""

from __future__ import annotations

from ansible_collections.llm_d.inference.plugins.module_utils.common.text import one_line, pluralize, shorten


def test_one_line_folds_and_cuts():
    assert one_line("a\n  b") == "a b" and len(one_line("x" * 1000)) == 400
    assert one_line("x" * 20, 20) == "x" * 20 and one_line("x" * 21, 20) == "x" * 16 + " ..."


def test_shorten_redacts_before_it_cuts():
    assert shorten("password=hunter22\n next") == "password=(removed) next"
    assert len(shorten("x" * 1000)) == 240
    assert "hunter22" not in shorten("y" * 230 + " password=hunter22")


def test_pluralize():
    assert [pluralize(count, "server") for count in (0, 1, 2)] == ["0 servers", "1 server", "2 servers"]
