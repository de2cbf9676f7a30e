# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers to a survey are set at their places in the user's file, and everything else stays."""

from __future__ import annotations

import copy
import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.schema.answers import AnswerError, answered

SERVICES = [{"name": "a", "replicas": 2, "model": {"uri": "hf://o/a"}}, {"name": "b"}]


@pytest.mark.parametrize(
    ("value", "answers", "expected"),
    [
        (None, {"": "", "x": None, "[a].y": []}, None),
        ("llm-d", {"": ""}, "llm-d"),
        ("llm-d", {"": "shop"}, "shop"),
        (None, {"slo.ttft": "5"}, {"slo": {"ttft": "5"}}),
        ({"rates": [1]}, {"seconds": "30"}, {"rates": [1], "seconds": "30"}),
        ({"slo": ""}, {"slo.ttft": "5"}, {"slo": {"ttft": "5"}}),
        (SERVICES, {"[a].replicas": "4"}, [{**SERVICES[0], "replicas": "4"}, SERVICES[1]]),
        (SERVICES, {"[c].model.uri": "hf://o/c"}, [*SERVICES, {"name": "c", "model": {"uri": "hf://o/c"}}]),
        (SERVICES[:1], {"[].replicas": "4"}, [{**SERVICES[0], "replicas": "4"}]),
        (None, {"[c].replicas": "1", "[c].model.uri": "x"}, [{"name": "c", "replicas": "1", "model": {"uri": "x"}}]),
        ([], {"[].replicas": "1"}, [{"replicas": "1"}]),
        (None, {"": ["queue", "sticky"]}, ["queue", "sticky"]),
    ],
)
def test_a_survey_answer_is_set_at_its_path(value: t.Any, answers: dict[str, t.Any], expected: t.Any) -> None:
    before = copy.deepcopy(value)
    assert answered(value, answers) == expected
    assert value == before


@pytest.mark.parametrize(
    ("value", "path", "why"),
    [
        (SERVICES, "[].replicas", "the inventory has a, b. Answer the name"),
        ([{"name": "a", "model": "hf://o/a"}], "[a].model.uri", "the inventory has no mapping there"),
        ({"a": 1}, "[a].b", "the inventory has no list there"),
        ([], "[a", "has no dots and brackets"),
        (SERVICES, "[a].b].c", "has no dots and brackets"),
    ],
)
def test_an_answer_without_a_place_is_refused(value: t.Any, path: str, why: str) -> None:
    with pytest.raises(AnswerError, match=why) as error:
        answered(value, {path: "4"})
    assert path in str(error.value)


@pytest.mark.parametrize(
    ("value", "name", "why"), [(SERVICES, "qwen", "it has a, b. Answer one"), ([{"name": "two"}], "tow", "Did you mean 'two'"), (None, "a", "it has none")]
)
def test_a_name_that_the_inventory_does_not_have_is_refused_where_none_is_added(value: t.Any, name: str, why: str) -> None:
    with pytest.raises(AnswerError, match=re.escape(why)):
        answered(value, {f"[{name}].replicas": "4"}, add=False)
    assert answered(value, {f"[{name}].replicas": ""}, add=False) == value
