"""YAML text of plain data: any YAML reader gets the same data back, and the form is the one yamllint wants."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.common.yaml_text import to_yaml
from hypothesis import given
from hypothesis import strategies as st

texts = st.text() | st.sampled_from(
    ["", "yes", "No", "1", "1.5", "0x1f", "1e3", "- a", "a: b", "#x", "kv@", "~", "null", "2026-01-01", "12:30", "=", "a b", "*a", "&a", "!a", "%a"]
)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
data = st.recursive(
    st.none() | st.booleans() | numbers | texts, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)


@given(data)
def test_written_yaml_reads_back_as_the_same_data(value: t.Any) -> None:
    assert yaml.safe_load(to_yaml(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [{"b": 1, "c": [2]}, "x"]}, "a:\n  - b: 1\n    c:\n      - 2\n  - x\n"),
        ({"seed": "42", "on": True, "x": None, "e": {}, "l": []}, 'seed: "42"\n"on": true\nx: null\ne: {}\nl: []\n'),
        ({"z": 1, "a": 0.5, "tiny": 1e-07}, "z: 1\na: 0.5\ntiny: 1.0e-07\n"),
        ([], "[]\n"),
        ([{"k" * 1001: {"a": 1}}], f"- ? {'k' * 1001}\n  :\n    a: 1\n"),
    ],
)
def test_yaml_is_written_in_the_form_that_yamllint_requires(value: t.Any, text: str) -> None:
    assert to_yaml(value) == text
