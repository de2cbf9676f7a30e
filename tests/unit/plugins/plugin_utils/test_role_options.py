# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts as values of options of roles."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.plugin_utils.role_options import given, option_problems


@pytest.mark.parametrize("text", ["sticky,follow", "sticky, follow,", "sticky\r\nfollow\n", '["sticky", "follow"]', ["sticky", "follow"]])
def test_a_list_of_words_is_a_text_with_commas_or_lines(text: t.Any) -> None:
    """A name with a line break in it would match no claim, without any message."""
    options, problems = given("canary", {"canary_disregard": text}, lambda value: value)
    assert options["disregard"] == ["sticky", "follow"] and not problems


# The variables that AWX 24.6.1 gives to a job, after `awx_` and `tower_` (awx_meta_vars of awx/main/models): the part before each name, and the names.
OF_AWX = {
    "": ["execution_node"],
    "job_": ["id", "launch_type", "template_id", "template_name", "scm_branch"],
    "project_": ["revision", "scm_branch"],
    "inventory_": ["id", "name"],
    "user_": ["id", "name", "email", "first_name", "last_name"],
    "schedule_": ["id", "name"],
    "parent_job_schedule_": ["id", "name"],
    "workflow_job_": ["id", "name", "launch_type"],
    "webhook_": ["event_type", "event_guid", "event_ref", "status_api", "payload"],
}


@pytest.mark.parametrize("prefix", ["awx_", "tower_"])
def test_awx_variables_of_a_job_are_not_reported_as_misspelled_options(prefix: str) -> None:
    extra = dict.fromkeys((f"{prefix}{part}{name}" for part, names in OF_AWX.items() for name in names), "1")
    assert option_problems(extra, extra.keys(), [], lambda value: value) == []
    assert [each.path for each in option_problems({}, ["awxinventory_name"], [], lambda value: value)] == ["awxinventory_name"]
