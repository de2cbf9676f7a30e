# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets that cannot be deployed are refused with their place, before the first one is deployed."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import problems
from ansible_collections.llm_d.inference.plugins.plugin_utils.compared_presets import preset_problems

SERVICES = [
    {"name": name, "model": {"served_name": f"acme/{name}"}, "engine": {"type": "simulator"}, "route": {"path": f"/{name}"}} for name in ("sim", "next")
]
USER: dict[str, t.Any] = {"llm_d_model_services": SERVICES}
MISTAKEN: dict[str, t.Any] = {**USER, "llm_d_gatway": {}}


def refused(presets: list[t.Any], service: str = "", user: t.Any = None) -> list[str]:
    file = user or USER
    return [f"{each.path}: {each.reason}" for each in preset_problems(file, {"presets": presets, "service": service}, problems(file))]


@pytest.mark.parametrize("user", [USER, MISTAKEN, {**USER, "llm_d_scheduler_overrides": {"next": {"preset": "queue"}}}])
@pytest.mark.parametrize("presets", [[], ["round_robin", "queue", "balanced", "prefix_aware"], [{"name": "mine", "scorers": {"queue": 2}}]])
def test_deployable_presets_are_not_refused(presets, user):
    assert refused(presets, user=user) == []


@pytest.mark.parametrize(
    ("preset", "path", "words"),
    [
        ("fastest", "compare_presets[1]", "'fastest' is not known here"),
        (5, "compare_presets[1]", "not a string"),
        ({"name": "mine", "preset": "fastest"}, "compare_presets[1].preset", "'fastest' is not known here"),
        ({"name": "mine", "scorers": {"queu": 1}}, "compare_presets[1].scorers", "queu"),
        ({"name": "mine", "scorer": {"queue": 1}}, "compare_presets[1].scorer", "no such option"),
    ],
)
@pytest.mark.parametrize("service", ["", "next"])
def test_presets_that_cannot_be_deployed_are_refused_with_their_path(preset, path, words, service):
    refusals = refused(["queue", preset], service)
    assert refusals and all(each.startswith(path) for each in refusals) and words in refusals[0], refusals


def test_presets_that_the_release_does_not_have_are_all_named():
    refusals = refused(["queue", "precise_prefix", "disaggregated"], user={**USER, "llm_d_release": "gie-1.5"})
    assert [each.partition(":")[0] for each in refusals] == ["compare_presets[1]", "compare_presets[2]"] and "gie-1.5 does not have it" in refusals[0]
