# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of a run that callbacks keep."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.plugin_utils.run_facts import INPUTS, failed, stacks, unreachable


def result(action: str = "ansible.builtin.fail", **fields: t.Any) -> t.Any:
    return types.SimpleNamespace(task_name="role : present | Apply", task=types.SimpleNamespace(action=action), result=fields)


@pytest.mark.parametrize(
    ("fields", "msg"),
    [
        ({"msg": "it broke"}, "it broke"),
        ({"msg": ["it broke", "and this, too"]}, "it broke\nand this, too"),
        ({"msg": "One or more items failed", "results": [{"msg": "fine"}, {"failed": True, "msg": "the second broke"}]}, "the second broke"),
        ({"censored": "hidden"}, "hidden"),
        ({}, "it gives no reason"),
    ],
)
def test_the_reason_is_that_of_the_first_failed_item(fields: dict[str, t.Any], msg: str) -> None:
    assert failed(result(**fields)) == {"task": "role : present | Apply", "msg": msg, "problems": None, "reached": None}


def test_mistakes_are_those_of_the_users_file() -> None:
    assert failed(result(INPUTS, msg="1 mistake", problems=[{"path": "x"}]))["problems"] == [{"path": "x"}]
    assert failed(result(msg="1 mistake", problems=[{"path": "x"}]))["problems"] is None


def test_a_host_that_is_not_reached() -> None:
    assert unreachable(result(msg="no route")) == {"task": "role : present | Apply", "msg": "no route", "reached": False}


@pytest.mark.parametrize(
    ("custom", "expected"),
    [({}, {}), ({"_run": {}}, {}), ({"paris": {"inference_stacks": {"x": 1}}}, {}), ({"_run": {"inference_stacks": {"x": 1}}}, {"x": 1})],
)
def test_the_stacks_of_a_run(custom: dict[str, t.Any], expected: dict[str, t.Any]) -> None:
    assert stacks(types.SimpleNamespace(custom=custom)) == expected
