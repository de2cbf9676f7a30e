# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The presets to compare, as the user writes them."""

from __future__ import annotations

from ansible_collections.llm_d.inference.plugins.filter.comparison import comparison_cases


def test_names_and_blocks():
    own = {"name": "own", "preset": "queue", "scorers": {"queue": 2}}
    assert comparison_cases(["round_robin", own]) == [
        {"name": "round_robin", "scheduler": {"preset": "round_robin"}}, {"name": "own", "scheduler": {"preset": "queue", "scorers": {"queue": 2}}},
    ]  # fmt: skip
    assert comparison_cases([]) == [] and own["name"] == "own"


def test_an_invalid_preset_name_keeps_its_place_among_the_cases():
    """A name that is missing, or that no file can have, is neither split nor dropped."""
    assert [case["name"] for case in comparison_cases([{"preset": "queue"}, "two words", 3])] == ["", "two words", "3"]
