# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter of the preset sticky in worked decisions, computed by hand from prefixcacheaffinity/plugin.go."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.explain.decision import Explanation, explain

WARM = {"name": "warm", "matched_blocks": 8, "total_blocks": 10}


def worked(servers: list[dict[str, t.Any]], line: str = "router-0.10", **parameters: t.Any) -> Explanation:
    scheduler = {"scorers": {"token_load": 1}, "filters": [{"prefix_affinity": parameters}]}
    made = explain(scheduler, line, servers, {"prompt_tokens": 160}, {"model": "m"})
    assert not made.problems, [str(problem) for problem in made.problems]
    return made


@pytest.mark.parametrize(
    ("servers", "parameters", "winners"),
    [
        ([WARM, {"name": "cold"}], {}, ["warm"]),  # 8 of 10 blocks are 0.8
        ([{**WARM, "matched_blocks": 7}, {"name": "cold"}], {}, ["warm"]),  # all pass, and fewer of its tokens are new
        ([{**WARM, "matched_blocks": 7, "tokens_in_flight": 900}, {"name": "cold"}], {}, ["cold"]),
        ([{**WARM, "tokens_in_flight": 100_000}, {"name": "cold"}], {}, ["warm"]),  # 6.3 s
        # 300,000 / 15,928 are 18.8 s, 18 of which it may be behind
        ([{**WARM, "tokens_in_flight": 300_000}, {"name": "cold"}], {}, ["cold"]),
        ([{**WARM, "tokens_in_flight": 300_000}, {"name": "cold", "tokens_in_flight": 50_000}], {}, ["warm"]),
        ([{**WARM, "tokens_in_flight": 300_000}, {"name": "cold"}], {"peak_prefill_throughput": 30_000}, ["warm"]),
        ([{**WARM, "tokens_in_flight": 300_000}, {"name": "cold"}], {"max_ttft_penalty_ms": 0}, ["warm"]),  # 0: it always sticks
        ([{**WARM, "tokens_in_flight": 18_000}, {"name": "cold"}], {"peak_prefill_throughput": 1000}, ["warm"]),  # exactly the 18 s
        ([{**WARM, "tokens_in_flight": 18_001}, {"name": "cold"}], {"peak_prefill_throughput": 1000}, ["cold"]),
        # of two servers with the prefix the one with fewer tokens in flight, which the gate checks
        ([{**WARM, "tokens_in_flight": 300_000}, {**WARM, "name": "other", "tokens_in_flight": 10}, {"name": "cold"}], {}, ["other"]),
        ([{**WARM, "matched_blocks": 5}, {"name": "cold"}], {"affinity_threshold": 0.5}, ["warm"]),
        ([{**WARM, "tokens_in_flight": 10_000}, {"name": "cold"}], {"affinity_threshold": 0}, ["cold"]),
    ],
)
def test_requests_stay_at_servers_with_their_prefix_until_saturation(servers: list[dict[str, t.Any]], parameters: dict[str, t.Any], winners: list[str]) -> None:
    assert worked(servers, **parameters).winners == winners


def test_the_text_explains_what_the_filter_did() -> None:
    made = worked([WARM, {"name": "cold"}])
    assert made.decisions[0].removed == {"cold": "prefix-cache-affinity-filter"}
    assert "prefix-cache-affinity-filter removes cold." in made.text
    freed = worked([{**WARM, "tokens_in_flight": 300_000}, {"name": "cold", "tokens_in_flight": 159}])
    assert freed.decisions[0].removed == {} and any("make it wait 18835 ms, another one 10 ms" in note for note in freed.notes)
    assert any("With probability 0.25" in note for note in worked([WARM, {"name": "cold"}], exploration_probability=0.25).notes)


def test_a_latency_predictor_is_not_modeled() -> None:
    for line, parameters in (("gie-1.5", {}), ("router-0.10", {"ttft_source": "latencyPredictor"})):
        made = worked([{**WARM, "tokens_in_flight": 300_000}, {"name": "cold"}], line, **parameters)
        assert made.winners == ["warm"] and any("asks a latency predictor" in note for note in made.notes)
