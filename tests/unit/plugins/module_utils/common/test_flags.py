# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of a command line: which words are flags, and which are values."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.flags import flags_of, place_of


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--seed=7"], {"seed": "7"}),
        (["--seed", "7"], {"seed": "7"}),
        (["--seed 7"], {"seed": "7"}),
        (["--seed", "-1"], {"seed": "-1"}),
        (["--seed -1", "-v", "--eager"], {"seed": "-1", "v": None, "eager": None}),
        (None, {}),
    ],
)
def test_flags_have_the_values_behind_them(arguments: list[str] | None, expected: dict[str, str | None]) -> None:
    assert flags_of(arguments) == expected


def test_a_value_with_the_name_of_a_flag_is_not_its_place() -> None:
    assert place_of(["--served-model-name", "port", "--port=1"], "port", "args") == "args[2]"
    assert place_of(["--a"], "port", "args") == "args"
