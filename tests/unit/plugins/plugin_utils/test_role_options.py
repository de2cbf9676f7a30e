# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a text stands for in an option of a role."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.plugin_utils.role_options import given


@pytest.mark.parametrize("text", ["sticky,follow", "sticky, follow,", "sticky\r\nfollow\n", '["sticky", "follow"]', ["sticky", "follow"]])
def test_a_list_of_words_is_a_text_with_commas_or_lines(text: t.Any) -> None:
    """A name with a line break in it would be no claim's, and nobody would be told."""
    options, wrong = given("canary", {"canary_disregard": text}, lambda value: value)
    assert options["disregard"] == ["sticky", "follow"] and not wrong
