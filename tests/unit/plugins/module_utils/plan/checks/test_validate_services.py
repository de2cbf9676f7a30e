# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes of a service beyond single values."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems

from ..test_build import LLAMA, user

SCHEDULER = "llm_d_model_services[0].scheduler"


def service(**scheduler: t.Any) -> dict[str, t.Any]:
    return user({**LLAMA, "replicas": 1, "prefill": {"replicas": 2}, "scheduler": {"preset": "prefix_aware", **scheduler}})


@pytest.mark.parametrize(("name", "written", "fix"), [
    ("disaggregation", {"prefill": None, "decode": None}, "Write true for the defaults, or leave disaggregation out."),
    ("disaggregation", {"decider": ""}, "Write true for the defaults, or leave disaggregation out."),
    ("flow_control", {"max_bytes": None}, "Write enabled: true inside it for the defaults, or leave flow_control out."),
])  # fmt: skip
def test_a_feature_whose_options_are_all_empty_is_refused(name: str, written: dict[str, t.Any], fix: str) -> None:
    """It may be meant, with its defaults, or not."""
    (problem,) = problems(service(**{name: written}))
    assert (problem.path, problem.value, problem.fix) == (f"{SCHEDULER}.{name}", None, fix)
    assert problem.reason == f"has no value in {', '.join(written)}."


@pytest.mark.parametrize(("written", "stages"), [({"prefill": {}}, 2), ({"prefill": {"scorers": None}, "decode": None}, 2), ({}, 1), (None, 1), (True, 2)])
def test_disaggregation_needs_one_stage_and_an_empty_mapping_disables_it(written: t.Any, stages: int) -> None:
    assert len(plan(service(disaggregation=written))["services"][0]["servers"]) == stages


def test_an_encode_stage_is_refused_also_without_options() -> None:
    (problem,) = problems(service(disaggregation={"encode": {"scorers": None}}))
    assert problem.path.startswith(f"{SCHEDULER}.disaggregation") and "encode" in problem.reason, problem


@pytest.mark.parametrize(("release", "scheduler"), [
    ("scheduler-0.7", {"scorers": {"precise_prefix": {"tokenProcessorConfig": 64}}}),
    ("router-0.10", {"plugins": [{"type": ["a"]}], "saturation": {"queue_depth": 3}}),
    ("router-0.10", {"plugins": [{"type": {"a": 1}, "name": ["b"]}], "flow_control": {"enabled": True}}),
])  # fmt: skip
def test_a_value_of_another_type_is_a_mistake_and_no_traceback(release: str, scheduler: dict[str, t.Any]) -> None:
    mistakes = problems(user({**LLAMA, "scheduler": scheduler}, llm_d_release=release))
    assert mistakes and all(problem.path.startswith(SCHEDULER) for problem in mistakes)
