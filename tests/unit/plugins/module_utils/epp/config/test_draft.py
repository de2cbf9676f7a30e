"""Settings merged at any depth: written values win, other values are kept, and the inputs do not change. The origins of the parts of a document."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.draft import merge, origin_of, set_path


@pytest.mark.parametrize(
    ("base", "over", "merged"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}, "d": 4}, {"a": {"b": 3, "c": 2}, "d": 4}),
        ({"a": {"b": 1}}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
    ],
)
def test_a_written_value_overrides_the_base_value_at_any_depth(base: dict[str, t.Any], over: dict[str, t.Any], merged: dict[str, t.Any]) -> None:
    before = copy.deepcopy((base, over))
    assert merge(base, over) == merged and (base, over) == before


def test_a_path_makes_what_is_missing_and_keeps_what_is_there() -> None:
    target: dict[str, t.Any] = {"a": {"b": 1}}
    set_path(target, "a.c", 2)
    set_path(target, "d.e.f", 3)
    assert target == {"a": {"b": 1, "c": 2}, "d": {"e": {"f": 3}}}


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        ("plugins[1]", "scorers.a"),
        ("plugins[1].parameters.x[0].y", "scorers.a.x[0].y"),
        ("plugins[1].parameters.deep.inner", "scorers.a.word"),
        ("plugins[1].parameters.deep.inner.more", "scorers.a.word.more"),
        ("plugins[1].parameters.deep.innermost", "scorers.a.deep.innermost"),
        ("plugins[11]", "plugins[11]"),
        ("", ""),
    ],
)
def test_the_origin_of_a_path(path: str, origin: str) -> None:
    places = {"plugins[1]": "scorers.a", "plugins[1].parameters": "scorers.a", "plugins[1].parameters.deep.inner": "scorers.a.word"}
    assert origin_of(path, places) == origin and origin_of(path, {"": "up."}) == f"up.{path}"
