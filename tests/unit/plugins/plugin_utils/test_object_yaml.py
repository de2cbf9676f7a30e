# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of objects as people read them in a diff."""

from __future__ import annotations

import difflib

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.plugin_utils.object_yaml import object_yaml
from hypothesis import given
from hypothesis import strategies as st

CONFIG = "kind: EndpointPickerConfig\nplugins:\n  - type: queue-scorer\nschedulingProfiles:\n  - name: default\n"


@pytest.mark.parametrize(
    "text",
    [
        CONFIG,
        CONFIG.rstrip(),
        CONFIG.replace("  - name", "\t- name"),
        CONFIG.replace("plugins:", "plugins: "),
        CONFIG + "\n\n",
        "\n" + CONFIG,
        "  indented: first\n" + CONFIG,
        CONFIG.replace("default", "größer → 5"),
        CONFIG.replace("default", "x" * 300),
        "# a line with a 'quote', a \"quote\", a \\ and a trailing colon:\n" + CONFIG,
    ],
)
def test_a_text_of_several_lines_is_a_literal_block(text):
    shown = object_yaml({"data": {"config.yaml": text, "other": "one line"}})
    lines = shown.splitlines()
    assert lines[1].startswith("  config.yaml: |") and lines[-1] == "  other: one line"
    assert [line.strip() for line in lines[2:-1]] == [line.strip() for line in text.splitlines()] and "\\" not in shown.replace("a \\ and", "")
    assert yaml.safe_load(shown)["data"]["config.yaml"] == text


def test_a_diff_shows_the_line_that_changed():
    before, after = (object_yaml({"data": {"config.yaml": CONFIG + f"weight: {weight}\n"}}) for weight in (2, 6))
    changed = [line for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0) if line[:3] not in ("---", "+++") and line[0] in "+-"]
    assert changed == ["-    weight: 2", "+    weight: 6"]


def test_a_long_line_is_not_folded():
    assert object_yaml({"args": ["word " * 60 + "end"]}).count("\n") == 2


def test_an_empty_or_missing_object_yields_an_empty_text():
    assert object_yaml({}) == object_yaml(None) == ""


@given(st.text(st.sampled_from("ab:-#'\"{}[]&*!|>%@` \n\tü"), max_size=40))
def test_any_text_reads_back(text):
    lines = [line for line in text.split("\n") if not line.strip()]
    shown = object_yaml({"data": {"k": text}})
    assert ": |" in shown or "\n" not in text
    assert any(lines) or yaml.safe_load(shown) == {"data": {"k": text}}  # a line of blanks alone does not always
