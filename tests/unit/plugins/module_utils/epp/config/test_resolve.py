# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preset sticky: a prefix stays where it is until the servers there are saturated."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.types import ALL, LINES, ROUTER
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import Built, build
from ansible_collections.llm_d.inference.plugins.module_utils.epp.expected_behavior import expected_behavior

Facts = dict[str, t.Any]
FILTER, INDEX, INFLIGHT = "prefix-cache-affinity-filter", "approx-prefix-cache-producer", "inflight-load-producer"
SPEED = {"peak_prefill_throughput": 22000}
UNMEASURED, PULLED = "playbooks/calibrate.yml measures", "a scorer of prefixes pulls it back"


def made(scheduler: Facts, line: str = "router-0.10", **context: t.Any) -> Built:
    built = build(scheduler, line, {"engine": "vllm", "model": "m", "port": 8000, **context})
    assert not built.problems, [str(problem) for problem in built.problems]
    return built


def parameters(built: Built) -> Facts:
    return {entry["type"]: entry.get("parameters", {}) for entry in built.document["plugins"]}


def profile(built: Built, index: int = 0) -> list[tuple[str, float | None]]:
    return [(entry["pluginRef"], entry.get("weight")) for entry in built.document["schedulingProfiles"][index]["plugins"]]


@pytest.mark.parametrize("line", sorted(ROUTER))
def test_the_sticky_preset_equals_the_optimized_baseline_of_upstream(line: str) -> None:
    """The filter, one scorer of load and no prefix scorer; both producers listed, or the endpoint picker does not start."""
    built = made({"preset": "sticky"}, line, max_model_len=40960)
    assert profile(built) == [(FILTER, None), ("token-load-scorer", 1), ("max-score-picker", None)]
    assert parameters(built) == {
        INFLIGHT: {},
        "token-load-scorer": {},
        INDEX: {"maxPrefixTokensToMatch": 40960},
        FILTER: {},
        "max-score-picker": {},
        "single-profile-handler": {},
    }
    assert built.requires["sidecars"] == [] and built.requires["epp"]["args"] == []
    assert expected_behavior(built.document, line)["promises"] == ["spread", "sticky"]
    assert parameters(made({"preset": "sticky"}, line))[INDEX] == {}, "an unknown length is not set"


@pytest.mark.parametrize("line", sorted(ALL - ROUTER))
def test_a_line_without_it_names_the_nearest(line: str) -> None:
    (problem,) = build({"preset": "sticky"}, line, {"model": "m"}).problems
    assert problem.path == "preset" and "latency predictor" in problem.reason
    assert "prefix_aware" in problem.fix and all(other in problem.fix for other in LINES if other in ROUTER)


def test_where_answers_take_longer_requests_count() -> None:
    built = made({"preset": "sticky", "scorers": {"token_load": 0, "active_requests": 1}})
    assert profile(built) == [(FILTER, None), ("active-request-scorer", 1), ("max-score-picker", None)]
    assert INFLIGHT in parameters(built) and INDEX in parameters(built)


DISAGGREGATED = [
    ({}, ["token-load-scorer"], ["active-request-scorer"]),
    ({"scorers": {"token_load": 2}}, ["token-load-scorer"], ["active-request-scorer"]),
    ({"scorers": {"token_load": 0, "active_requests": 1}}, ["active-request-scorer"], ["active-request-scorer"]),
    ({"scorers": {"queue": 1}}, ["token-load-scorer", "queue-scorer"], ["active-request-scorer", "queue-scorer"]),
    ({"filters": [{"prefix_affinity": {"affinity_threshold": 0.9}}]}, ["token-load-scorer"], ["active-request-scorer"]),
    ({"disaggregation": {"decode": {"scorers": {"kv_cache": 1}}}}, ["token-load-scorer"], ["kv-cache-utilization-scorer"]),
]


@pytest.mark.parametrize("line", sorted(ROUTER))
@pytest.mark.parametrize(("scheduler", "prefill", "decode"), DISAGGREGATED)
def test_only_prefill_servers_keep_a_prefix(line: str, scheduler: Facts, prefill: list[str], decode: list[str]) -> None:
    """Upstream's guide pd-disaggregation does the same: prompts go to servers that have their prefix, answers to those with the fewest requests."""
    built = made({"preset": "sticky", "disaggregation": True, **scheduler}, line)
    first, second = ([name for name, _weight in profile(built, index)] for index in (0, 1))
    assert first == ["prefill-filter", FILTER, *prefill, "max-score-picker"] and second == ["decode-filter", *decode, "max-score-picker"]
    assert {INFLIGHT, INDEX} <= parameters(built).keys() and expected_behavior(built.document, line)["promises"] == ["spread", "split"]


def test_encode_servers_keep_no_prefix_either_and_other_filters_are_everywhere() -> None:
    built = made({"preset": "sticky", "disaggregation": {"encode": True}, "filters": ["saturation"]})
    assert [[name for name, _weight in profile(built, index)][1:-2] for index in range(3)] == [
        ["utilization-detector"],
        [FILTER, "utilization-detector"],
        ["utilization-detector"],
    ]
    own = made({"scorers": {"token_load": 1}, "filters": ["prefix_affinity"], "disaggregation": True})
    assert all(FILTER in [name for name, _weight in profile(own, index)] for index in (0, 1)), "a filter of the user's own"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], {"peakPrefillThroughput": 22000}),
        (["prefix_affinity"], {"peakPrefillThroughput": 22000}),
        ([{"prefix_affinity": {"affinity_threshold": 0.9, "max_ttft_penalty_ms": 5000}}], {"affinityThreshold": 0.9, "maxTTFTPenaltyMs": 5000}),
        ([{"prefix-cache-affinity-filter": {"peakPrefillThroughput": 9}}], {"peakPrefillThroughput": 9}),
    ],
)
def test_a_filter_of_the_user_s_is_laid_over_the_preset_s(filters: list[t.Any], expected: Facts) -> None:
    built = made({"preset": "sticky", "filters": filters, **SPEED})
    assert parameters(built)[FILTER] == {"peakPrefillThroughput": 22000, **expected}
    assert [name for name, _weight in profile(built)].count(FILTER) == 1


def test_other_filters_are_placed_after_the_filter_of_the_preset() -> None:
    assert [name for name, _weight in profile(made({"preset": "sticky", "filters": ["saturation"]}))][:2] == [FILTER, "utilization-detector"]


@pytest.mark.parametrize("scheduler", [{"preset": "balanced"}, {"preset": "queue"}, {"scorers": {"prefix": 1}}, {}])
def test_the_speed_of_the_servers_may_stand_beside_any_preset(scheduler: Facts) -> None:
    """Presets can be compared with one file."""
    assert made({**scheduler, **SPEED}).text == made(scheduler).text


def test_peak_prefill_throughput_reaches_the_filter_of_lines_that_support_it() -> None:
    assert parameters(made({"scorers": {"token_load": 1}, "filters": ["prefix_affinity"], **SPEED}))[FILTER] == {"peakPrefillThroughput": 22000}
    assert parameters(made({"scorers": {"token_load": 1}, "filters": ["prefix_affinity"], **SPEED}, "gie-1.5"))[FILTER] == {}


@pytest.mark.parametrize(
    ("speed", "words"), [(0, "less than 1"), (-1, "less than 1"), ("fast", "not a whole number"), (1.5, "not a whole number"), (True, "not a")]
)
def test_an_invalid_peak_prefill_throughput_is_refused(speed: t.Any, words: str) -> None:
    (problem,) = build({"preset": "sticky", "peak_prefill_throughput": speed}, "router-0.10").problems
    assert problem.path == "peak_prefill_throughput" and words in problem.reason


def test_a_numeric_string_is_accepted_as_peak_prefill_throughput() -> None:
    assert parameters(made({"preset": "sticky", "peak_prefill_throughput": "22000"}))[FILTER] == {"peakPrefillThroughput": 22000}


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ({"preset": "sticky"}, [UNMEASURED]),
        ({"preset": "sticky", **SPEED}, []),
        ({"preset": "sticky", **SPEED, "scorers": {"prefix": 3}}, [PULLED]),
        ({"preset": "sticky", **SPEED, "scorers": {"precise_prefix": 3}}, [PULLED]),
        ({"preset": "sticky", **SPEED, "scorers": {"queue": 1}}, []),
        ({"preset": "sticky", "filters": [{"prefix_affinity": {"max_ttft_penalty_ms": 0}}]}, []),  # it always sticks, without an estimate
        ({"preset": "prefix_aware", **SPEED}, []),
        ({"plugins": [{"type": FILTER}, {"type": "token-load-scorer"}, {"type": INFLIGHT}]}, [UNMEASURED]),
    ],
)
def test_a_sticky_setup_that_upstream_advises_against_gets_a_note(scheduler: Facts, expected: list[str]) -> None:
    notes = made(scheduler).notes
    assert [note for note in (UNMEASURED, PULLED) if any(note in each for each in notes)] == expected, notes


@pytest.mark.parametrize(
    ("filters", "sticky"),
    [
        ({}, True),
        ({"affinity_threshold": 0.5}, True),
        ({"affinity_threshold": 0.95}, False),  # more than requests with one prefix have in common
        ({"affinity_threshold": 0}, False),
        ({"exploration_probability": 0.01}, False),
    ],
)
def test_sticky_is_promised_only_if_the_filter_options_keep_requests_sticky(filters: Facts, sticky: bool) -> None:
    built = made({"preset": "sticky", "filters": [{"prefix_affinity": filters}]})
    assert ("sticky" in expected_behavior(built.document, "router-0.10")["promises"]) == sticky


DECODE = [("decode-filter", None), ("active-request-scorer", 1), ("max-score-picker", None)]


@pytest.mark.parametrize("line", sorted(ROUTER))
def test_disaggregated_sticky_picks_prefill_by_prefix_and_decode_by_load(line: str) -> None:
    """llm-d's guide pd-disaggregation does so since July 2026: the prefix cache is that of the prefill servers."""
    built = made({"preset": "sticky", "disaggregation": {"decider": "always", "encode": True}}, line, max_model_len=8192)
    encode, prefill, decode = (profile(built, index) for index in range(3))
    assert prefill == [("prefill-filter", None), (FILTER, None), ("token-load-scorer", 1), ("max-score-picker", None)]
    assert decode == DECODE and encode == [("encode-filter", None), *DECODE[1:]]
    assert parameters(built)[INDEX] == {"maxPrefixTokensToMatch": 8192} and INFLIGHT in parameters(built)
    assert "sticky" not in expected_behavior(built.document, line)["promises"]


def test_stages_of_disaggregated_servers_have_what_the_user_names() -> None:
    own = made({"preset": "sticky", "scorers": {"token_load": 0, "queue": 1}, "disaggregation": {"decode": {"scorers": {"kv_cache": 1}}}})
    assert profile(own)[2] == ("queue-scorer", 1) and profile(own, 1)[1:-1] == [("kv-cache-utilization-scorer", 1)]
    everywhere = made({"preset": "sticky", "scorers": {"queue": 1}, "disaggregation": True, "filters": [{"label_selector": {"matchLabels": {"a": "b"}}}]})
    assert profile(everywhere, 1)[:2] == [("decode-filter", None), ("label-selector-filter", None)] and ("queue-scorer", 1) in profile(everywhere, 1)
    balanced = made({"preset": "balanced", "disaggregation": True})
    assert profile(balanced)[1:] == profile(balanced, 1)[1:]


def test_an_alias_is_offered_in_every_line_that_has_it() -> None:
    """precise_prefix is another plugin since router 0.11."""
    (problem,) = build({"scorers": {"precise_prefix": 1}}, "gie-1.5").problems
    assert "scheduler-0.7, router-0.9, router-0.10, router-0.11" in problem.fix
