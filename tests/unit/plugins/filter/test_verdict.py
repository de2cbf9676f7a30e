# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters of the validation role, as Ansible calls them."""

from __future__ import annotations

import re

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.llm_d.inference.plugins.filter import validation_targets, verdict, verdict_table
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan as make_plan
from ansible_collections.llm_d.inference.plugins.modules import routing_proof, vllm_health_info

PLAN = make_plan(
    {
        "llm_d_model_services": [{"name": "a", "model": {"uri": "hf://acme/tiny"}, "engine": {"type": "simulator"}}],
        "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"},
    }
)


def test_the_version_of_the_collection_is_that_of_galaxy_yml(root):
    assert verdict.collection_version() == re.search(r"^version: (\S+)$", (root / "galaxy.yml").read_text(), re.MULTILINE).group(1)


def test_a_verdict_and_its_table():
    found = verdict.verdict(PLAN, {"time": "now"})
    assert found["ok"] is False and found["versions"]["collection"] == verdict.collection_version()
    assert len(verdict_table.verdict_table(found)) == 8  # with the deployment
    assert all("remedy: " in line for line in verdict_table.verdict_table(found, failed=True))


def test_targets():
    found = validation_targets.validation_targets(PLAN)
    assert [entry["name"] for entry in found["services"]] == ["a"] and len(found["objects"]) == 6
    assert found["services"][0]["promises"] == ["spread", "sticky"] and found["services"][0]["plugins"]["Picker"] == ["max-score-picker"]
    assert set(found["servers"][0]) == set(vllm_health_info.SET) and set(found["services"][0]) <= set(routing_proof.SERVICE)


@pytest.mark.parametrize(
    "call",
    [
        lambda: verdict.verdict("x", {}),
        lambda: verdict.verdict({}, None),
        lambda: verdict_table.verdict_table({}),
        lambda: validation_targets.validation_targets({}),
    ],
)
def test_what_is_no_plan_is_said(call):
    with pytest.raises(AnsibleFilterError):
        call()
