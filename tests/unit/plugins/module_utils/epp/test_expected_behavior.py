# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The promises of each preset, and of configurations without one."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build
from ansible_collections.llm_d.inference.plugins.module_utils.epp.expected_behavior import expected_behavior

CONTEXT = {"engine": "simulator", "model": "acme/tiny", "block_size": 16, "epp_service": "sim-events"}


def promised(block, line="scheduler-0.7"):
    built = build(block, line, CONTEXT)
    assert built.problems == []
    return expected_behavior(built.document, line)


@pytest.mark.parametrize("line", ["gie-1.5", "scheduler-0.7", "router-0.9", "router-0.10"])
@pytest.mark.parametrize(
    ("preset", "promises"),
    [
        ("round_robin", {"spread", "roam"}),
        ("queue", {"spread", "avoid"}),
        ("balanced", {"spread", "sticky"}),
        ("prefix_aware", {"spread", "sticky"}),
        ("default", {"spread", "sticky"}),
        ("precise_prefix", {"spread", "sticky", "follow"}),
        ("disaggregated", {"spread", "sticky", "split"}),
    ],
)
def test_presets(preset, promises, line):
    if line == "gie-1.5" and preset in ("precise_prefix", "disaggregated"):
        assert build({"preset": preset}, line, CONTEXT).problems
        return
    assert set(promised({"preset": preset}, line)["promises"]) == promises


@pytest.mark.parametrize(
    ("block", "promises"),
    [
        ({"preset": "balanced", "picker": "weighted_random"}, {"spread"}),
        ({"preset": "balanced", "picker": "random"}, {"spread", "roam"}),
        ({"scorers": {"kv_cache": 1}}, {"spread"}),
        ({"scorers": {"kv_cache": 1, "load_aware": 1}}, {"spread", "avoid"}),
        ({"scorers": {"queue": 1, "session_affinity": 1}}, {"spread"}),
        ({"scorers": {"session_affinity": 1}}, {"spread"}),
    ],
)
def test_beside_presets(block, promises):
    assert set(promised(block)["promises"]) == promises


def test_plugins_of_every_request_and_of_some():
    behavior = promised({"preset": "disaggregated", "disaggregation": {"decider": "prefix", "non_cached_tokens": 500}})
    assert behavior["plugins"] == {"Filter": ["decode-filter"], "Scorer": ["prefix-cache-scorer", "queue-scorer"], "Picker": ["max-score-picker"]}
    assert behavior["sometimes"]["Filter"] == ["prefill-filter"] and behavior["cold_tokens"] == 500
    assert promised({"preset": "disaggregated", "disaggregation": {"decider": "always"}})["cold_tokens"] == 0


def test_profiles_of_a_handler_that_is_not_modeled_have_few_promises():
    document = build({"preset": "balanced"}, "scheduler-0.7", CONTEXT).document
    copy = {**document["schedulingProfiles"][0], "name": "other"}
    behavior = expected_behavior({**document, "schedulingProfiles": [*document["schedulingProfiles"], copy]}, "scheduler-0.7")
    assert behavior["promises"] == ["spread"] and behavior["plugins"]["Scorer"] == [] and "queue-scorer" in behavior["sometimes"]["Scorer"]
