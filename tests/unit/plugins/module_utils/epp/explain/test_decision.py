"""Worked decisions: the numbers of each scorer, who wins with which probability, and the words; hand-computed from the endpoint picker's source."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import operator
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog import plugins as catalogue
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.plugins import SCORER_ALIASES
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import PRESETS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.types import GIE15, LINES, R09, R10, S07
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build
from ansible_collections.llm_d.inference.plugins.module_utils.epp.explain.answer import refusal
from ansible_collections.llm_d.inference.plugins.module_utils.epp.explain.decision import Explanation, explain, explain_built
from ansible_collections.llm_d.inference.plugins.module_utils.epp.explain.scores import FORMULAS, REQUEST, SERVER
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

MODEL = {"model": "m"}
THREE = [
    {"name": "a", "waiting": 3, "running": 2, "kv_usage": 0.5, "matched_blocks": 10, "total_blocks": 10},
    {"name": "b", "waiting": 0, "running": 5, "kv_usage": 0.1},
    {"name": "c", "waiting": 9, "running": 2, "kv_usage": 0.9, "matched_blocks": 5},
]


def worked(scheduler: dict[str, t.Any], servers: t.Any = None, request: t.Any = None, line: str = S07) -> Explanation:
    made = explain(scheduler, line, servers or THREE, request, MODEL)
    assert not made.problems, [str(problem) for problem in made.problems]
    return made


def scores(made: Explanation, scorer: str, decision: int = 0) -> dict[str, float | None]:
    return {row.server: share.score for row in made.decisions[decision].rows for share in row.shares if share.scorer == scorer}


def totals(made: Explanation, decision: int = 0) -> dict[str, float]:
    return {row.server: row.total for row in made.decisions[decision].rows}


@pytest.mark.parametrize(
    ("scorers", "servers", "request_", "line", "expected"),
    [
        # queue: (max - own) / (max - min), all alike 1
        ({"queue": 1}, [{"name": "a", "waiting": 3}, {"name": "b"}, {"name": "c", "waiting": 9}], {}, S07, {"a": 6 / 9, "b": 1.0, "c": 0.0}),
        ({"queue": 1}, [{"name": "a", "waiting": 4}, {"name": "b", "waiting": 4}], {}, R10, {"a": 1.0, "b": 1.0}),
        ({"queue": 1}, [{"name": "a", "waiting": 7}], {}, S07, {"a": 1.0}),
        ({"running_requests": 1}, [{"name": "a", "running": 1}, {"name": "b", "running": 5}], {}, S07, {"a": 1.0, "b": 0.0}),
        # kv_cache: 1 - usage
        ({"kv_cache": 1}, [{"name": "a", "kv_usage": 0.25}, {"name": "b", "kv_usage": 1.0}], {}, S07, {"a": 0.75, "b": 0.0}),
        # prefix: matched / total; 0 when the prompt fills no block
        ({"prefix": 1}, [{"name": "a", "matched_blocks": 3, "total_blocks": 4}, {"name": "b"}], {}, S07, {"a": 0.75, "b": 0.0}),
        ({"prefix": 1}, [{"name": "a"}, {"name": "b"}], {}, GIE15, {"a": 0.0, "b": 0.0}),
        # precise up to 0.7: stretched between the shortest and longest match; no match is not part of it
        (
            {"precise_prefix": 1},
            [{"name": "a", "matched_blocks": 8, "total_blocks": 10}, {"name": "b", "matched_blocks": 4}, {"name": "c", "matched_blocks": 2}, {"name": "d"}],
            {},
            S07,
            {"a": 1.0, "b": 2 / 6, "c": 0.0, "d": 0.0},
        ),
        ({"precise_prefix": 1}, [{"name": "a", "matched_blocks": 1, "total_blocks": 10}, {"name": "b"}], {}, S07, {"a": 1.0, "b": 0.0}),
        ({"precise_prefix": 1}, [{"name": "a", "matched_blocks": 1, "total_blocks": 10}, {"name": "b"}], {}, R09, {"a": 0.1, "b": 0.0}),
        # router 0.10: part by ratio, part by the square of the length
        (
            {"prefix": {"match_length_weight": 0.5, "match_length_scale_tokens": 320}},
            [{"name": "a", "matched_blocks": 10, "total_blocks": 20}],
            {"block_size": 16},
            R10,
            {"a": 0.5 * 0.25 + 0.5 * 0.5},
        ),
        # load_aware: 0.5 when nothing waits, down to 0 at the threshold
        ({"load_aware": 1}, [{"name": "a"}, {"name": "b", "waiting": 64}, {"name": "c", "waiting": 500}], {}, S07, {"a": 0.5, "b": 0.25, "c": 0.0}),
        ({"load_aware": {"threshold": 10}}, [{"name": "a", "waiting": 5}], {}, S07, {"a": 0.25}),
        # active_requests: (max - own) / max, idle 1, busy ones scaled
        (
            {"active_requests": 1},
            [{"name": "a", "active_requests": 2}, {"name": "b", "active_requests": 8}, {"name": "c"}],
            {},
            S07,
            {"a": 0.75, "b": 0.0, "c": 1.0},
        ),
        (
            {"active_requests": {"idle_threshold": 2, "max_busy_score": 0.5}},
            [{"name": "a", "active_requests": 2}, {"name": "b", "active_requests": 4}, {"name": "c", "active_requests": 8}],
            {},
            R09,
            {"a": 1.0, "b": 0.25, "c": 0.0},
        ),
        # lora_affinity: loaded 1, room 0.8, being loaded 0.6, else 0
        (
            {"lora_affinity": 1},
            [
                {"name": "a", "loras": ["x"], "max_loras": 1},
                {"name": "b", "loras": ["y"], "max_loras": 2},
                {"name": "c", "loras": ["y"], "waiting_loras": ["x"], "max_loras": 2},
                {"name": "d", "loras": ["y"], "max_loras": 1},
            ],
            {"model": "x"},
            S07,
            {"a": 1.0, "b": 0.8, "c": 0.6, "d": 0.0},
        ),
        ({"session_affinity": 1}, [{"name": "a"}, {"name": "b"}], {"session": "b"}, S07, {"a": 0.0, "b": 1.0}),
        ({"session_affinity": 1}, [{"name": "a"}, {"name": "b"}], {}, S07, {"a": 0.0, "b": 0.0}),
        # context_length: in range 0.3 and up, out of range below 0.3, no label 0.5, malformed 0
        (
            {"context_length": 1},
            [
                {"name": "a", "labels": {"llm-d.ai/context-length-range": "0-2000"}},
                {"name": "b", "labels": {"llm-d.ai/context-length-range": "2000-8000"}},
                {"name": "c"},
                {"name": "d", "labels": {"llm-d.ai/context-length-range": "big"}},
            ],
            {"prompt_tokens": 1000},
            S07,
            {"a": 0.3 + 0.7 * (0.7 / 1.2 + 0.3 * 0.5), "b": 0.15, "c": 0.5, "d": 0.0},
        ),
        # token_load: the router adds the uncached tokens of this request
        (
            {"token_load": {"queue_threshold_tokens": 1000}},
            [{"name": "a", "tokens_in_flight": 250}, {"name": "b"}],
            {"prompt_tokens": 100},
            GIE15,
            {"a": 0.75, "b": 1.0},
        ),
        (
            {"token_load": {"queue_threshold_tokens": 1000}},
            [{"name": "a", "tokens_in_flight": 250, "matched_blocks": 5}, {"name": "b"}],
            {"prompt_tokens": 100, "block_size": 16},
            R09,
            {"a": 1 - 270 / 1000, "b": 0.9},
        ),
        (
            {"header_label": {"header_name": "X-Zone", "label_key": "zone"}},
            [{"name": "a", "labels": {"zone": "1"}}, {"name": "b", "labels": {"zone": "2"}}],
            {"headers": {"x-zone": "2"}},
            R10,
            {"a": 0.0, "b": 1.0},
        ),
    ],
)
def test_scores(scorers: dict[str, t.Any], servers: list[t.Any], request_: dict[str, t.Any], line: str, expected: dict[str, float]) -> None:
    assert scores(worked({"scorers": scorers}, servers, request_, line), next(iter(scorers))) == pytest.approx(expected)


def test_no_hit_lru_prefers_the_server_with_the_oldest_cold_request() -> None:
    servers = [{"name": "a", "last_cold": 1}, {"name": "b", "last_cold": 0}, {"name": "c"}, {"name": "d"}]
    made = worked({"scorers": {"prefix": 1, "no_hit_lru": 1}}, servers)
    assert scores(made, "no_hit_lru") == pytest.approx({"c": 1.0, "d": 2 / 3, "b": 1 / 3, "a": 0.0})
    warm = [{**server, "matched_blocks": 1, "total_blocks": 2} if server["name"] == "a" else server for server in servers]
    assert set(scores(worked({"scorers": {"prefix": 1, "no_hit_lru": 1}}, warm), "no_hit_lru").values()) == {0.5}
    assert scores(worked({"scorers": {"prefix": 1, "no_hit_lru": 1}}, [{"name": "a"}]), "no_hit_lru") == {"a": 1.0}


def test_a_whole_decision() -> None:
    """balanced: queue 1, kv_cache 2, prefix 3; totals are plain sums, at most 6."""
    made = worked({"preset": "balanced"})
    assert totals(made) == pytest.approx({"a": 6 / 9 + 2 * 0.5 + 3 * 1.0, "b": 1.0 + 2 * 0.9, "c": 2 * 0.1 + 3 * 0.5})
    assert made.winners == ["a"] and made.probabilities == {"a": 1.0, "b": 0.0, "c": 0.0}
    row = made.decisions[0].rows[0]
    assert [(share.scorer, share.weight, share.formula) for share in row.shares] == [
        ("queue", 1, "(9 - 3) / (9 - 0)"),
        ("kv_cache", 2, "1 - 0.5"),
        ("prefix", 3, "10 / 10 blocks"),
    ]
    # One after the other, as endpoint pickers add them; sum() of Python 3.12 and later rounds less.
    assert functools.reduce(operator.add, (share.share for share in row.shares), 0.0) == row.total


def test_the_default_has_at_most_seven() -> None:
    best = worked({"preset": "default"}, [{"name": "a", "matched_blocks": 4, "total_blocks": 4}, {"name": "b", "waiting": 1, "kv_usage": 0.5}])
    assert totals(best)["a"] == 7


def test_ties_are_drawn_by_lot() -> None:
    made = worked({"preset": "queue"}, [{"name": "a"}, {"name": "b"}, {"name": "c", "waiting": 1}])
    assert made.winners == ["a", "b"] and made.probabilities == {"a": 0.5, "b": 0.5, "c": 0.0}
    assert "a, b tie with 1.000" in made.text


def test_a_single_cold_start_is_a_tie_of_all() -> None:
    assert worked({"preset": "prefix_aware"}, [{"name": "a"}, {"name": "b"}, {"name": "c"}]).probabilities == pytest.approx(
        {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}
    )


def test_weighted_random_draws_in_proportion() -> None:
    made = worked({"preset": "balanced", "picker": "weighted_random"})
    sums = totals(made)
    assert made.probabilities == pytest.approx({name: total / sum(sums.values()) for name, total in sums.items()})


def test_weighted_random_is_uniform_when_all_scores_are_zero() -> None:
    made = worked({"scorers": {"prefix": 1}, "picker": "weighted_random"}, [{"name": "a"}, {"name": "b"}])
    assert made.probabilities == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize("line", LINES)
def test_round_robin_is_random_and_even(line: str) -> None:
    made = worked({"preset": "round_robin"}, line=line)
    assert made.probabilities == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    assert any("round_robin picks a server at random" in note for note in made.notes)


def test_the_random_picker_ignores_scores() -> None:
    made = worked({"preset": "balanced", "picker": "random"})
    assert len(set(made.probabilities.values())) == 1 and totals(made)["a"] > totals(made)["c"]


ROLES = [
    {"name": "p1", "role": "prefill", "waiting": 2},
    {"name": "p2", "role": "prefill"},
    {"name": "d1", "role": "decode", "matched_blocks": 2, "total_blocks": 40},
    {"name": "d2"},
    {"name": "x", "role": "encode"},
]


def test_disaggregation_of_a_long_cold_prompt() -> None:
    made = worked({"preset": "disaggregated", "disaggregation": {"non_cached_tokens": 100}}, ROLES, {"prompt_tokens": 640, "block_size": 16})
    decode, prefill = made.decisions
    assert (decode.profile, prefill.profile) == ("decode", "prefill")
    assert made.winners == ["d1"] and prefill.winners == ["p2"]
    assert decode.removed == {"p1": "decode-filter", "p2": "decode-filter", "x": "decode-filter"}
    assert "Of 640 tokens 32 are cached on d1: 608 left, at least 100: a prefill server takes part." in made.text


@pytest.mark.parametrize(
    ("request_", "matched", "line", "settings_", "words"),
    [
        ({"prompt_tokens": 640}, 38, S07, {"non_cached_tokens": 100}, "32 left, fewer than 100: no prefill server"),
        ({"prompt_tokens": 99}, 0, S07, {"non_cached_tokens": 100}, "99 left, fewer than 100: no prefill server"),
        ({"prompt_tokens": 100}, 0, S07, {"non_cached_tokens": 100}, "at least 100: a prefill server"),
        ({"prompt_characters": 400}, 0, S07, {"non_cached_tokens": 100}, "Of 100 tokens 0 are cached"),
        ({"prompt_tokens": 300}, 0, R10, {"non_cached_tokens": 100, "prompt_tokens": 500}, "fewer than promptTokens (500)"),
        ({}, 0, S07, {}, "set request.prompt_tokens"),
        ({}, 0, S07, {"decider": "always"}, "always uses a prefill server"),
    ],
)
def test_the_decider_uses_a_prefill_server_from_enough_uncached_tokens(
    request_: dict[str, t.Any], matched: int, line: str, settings_: dict[str, t.Any], words: str
) -> None:
    servers = [{"name": "p", "role": "prefill"}, {"name": "d", "role": "decode", "matched_blocks": matched, "total_blocks": 40}]
    made = worked({"preset": "disaggregated", "disaggregation": settings_}, servers, request_, line)
    assert words in made.text
    assert len(made.decisions) == (2 if ": a prefill" in words or "always" in words or "Of 100" in words else 1)


def test_encode_only_for_what_needs_it() -> None:
    settings_ = {"encode": True, "decider": "always"}
    assert [item.profile for item in worked({"preset": "disaggregated", "disaggregation": settings_}, ROLES, {"multimodal": True}).decisions] == [
        "decode",
        "encode",
        "prefill",
    ]
    assert [item.profile for item in worked({"preset": "disaggregated", "disaggregation": settings_}, ROLES).decisions] == ["decode", "prefill"]


def test_filters() -> None:
    servers = [{"name": "a", "labels": {"zone": "1"}}, {"name": "b", "labels": {"zone": "2"}}, {"name": "c"}]
    for filters in (
        [{"label": {"label": "zone", "valid_values": ["2"]}}],
        [{"label_selector": {"matchLabels": {"zone": "2"}}}],
        [{"label_selector": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["2"]}]}}],
        [{"label_selector": {"matchExpressions": [{"key": "zone", "operator": "Exists"}, {"key": "zone", "operator": "NotIn", "values": ["1"]}]}}],
    ):
        made = worked({"preset": "queue", "filters": filters}, servers)
        assert made.winners == ["b"] and set(made.decisions[0].removed) == {"a", "c"}, filters
    absent = [{"label_selector": {"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}}]
    assert worked({"preset": "queue", "filters": absent}, servers).winners == ["c"]


def test_a_request_fails_when_the_filters_leave_no_server() -> None:
    made = worked({"preset": "queue", "filters": ["prefill"]}, [{"name": "a", "role": "decode"}])
    assert made.winners == [] and "the request fails" in made.text


def test_long_prompts_may_be_filtered() -> None:
    servers = [
        {"name": "a", "labels": {"llm-d.ai/context-length-range": "0-2000"}},
        {"name": "b", "labels": {"llm-d.ai/context-length-range": "2001-9000"}},
        {"name": "c"},
    ]
    made = worked({"scorers": {"context_length": {"enable_filtering": True}}}, servers, {"prompt_tokens": 4000})
    assert set(made.decisions[0].removed) == {"a"}


def test_a_score_that_is_not_computed_is_noted_and_can_be_given() -> None:
    made = worked({"scorers": {"topology": 1, "queue": 1}}, [{"name": "a"}, {"name": "b", "waiting": 3}], line=R10)
    assert scores(made, "topology") == {"a": None, "b": None} and any("topology" in note for note in made.notes)
    given_ = worked(
        {"scorers": {"topology": 5, "queue": 1}}, [{"name": "a", "scores": {"topology": 0.2}}, {"name": "b", "waiting": 3, "scores": {"topology": 1}}], line=R10
    )
    assert given_.winners == ["b"] and not any("topology" in note and "count as 0" in note for note in given_.notes)


def test_scores_given_by_hand_are_clamped() -> None:
    made = worked({"scorers": {"queue": 2}}, [{"name": "a", "scores": {"queue": 7}}, {"name": "b", "scores": {"queue": -1}}])
    assert totals(made) == {"a": 2.0, "b": 0.0}


@pytest.mark.parametrize(
    ("servers", "request_", "path"),
    [
        ([], {}, "servers"),
        ([{"waiting": 1}], {}, "servers[0].name"),
        ([{"name": "a"}, {"name": "a"}], {}, "servers[1].name"),
        ([{"name": "a", "wating": 1}], {}, "servers[0].wating"),
        ([{"name": "a", "kv_usage": 50}], {}, "servers[0].kv_usage"),
        ([{"name": "a", "waiting": "three"}], {}, "servers[0].waiting"),
        ([{"name": "a"}], {"prompt_token": 3}, "request.prompt_token"),
        ([3], {}, "servers[0]"),
        ([{"name": "a", "waiting": math.inf}], {}, "servers[0].waiting"),
        ([{"name": "a", "waiting": math.nan}], {}, "servers[0].waiting"),
        ([{"name": "a", "waiting": 10**400}], {}, "servers[0].waiting"),
        ([{"name": "a", "kv_usage": math.nan}], {}, "servers[0].kv_usage"),
        ([{"name": "a", "labels": "x=y"}], {}, "servers[0].labels"),
        ([{"name": "a", "labels": {"x": ["y"]}}], {}, "servers[0].labels.x"),
        ([{"name": "a", "labels": {3: "y"}}], {}, "servers[0].labels.3"),
        ([{"name": "a", "scores": {"queue": "high"}}], {}, "servers[0].scores.queue"),
        ([{"name": "a", "scores": {"queue": math.nan}}], {}, "servers[0].scores.queue"),
        ([{"name": "a", "scores": [1]}], {}, "servers[0].scores"),
        ([{"name": "a", "loras": "one"}], {}, "servers[0].loras"),
        ([{"name": "a", "loras": [{}]}], {}, "servers[0].loras[0]"),
        ([{"name": "a", "role": ["decode"]}], {}, "servers[0].role"),
        ([{"name": "a"}], {"prompt_tokens": math.inf}, "request.prompt_tokens"),
        ([{"name": "a"}], {"block_size": 0}, "request.block_size"),
        ([{"name": "a"}], {"headers": ["x"]}, "request.headers"),
        ([{"name": "a"}], {"model": {}}, "request.model"),
        ([{"name": "a"}], {"multimodal": "perhaps"}, "request.multimodal"),
        ([{"name": "a"}], "prompt", "request"),
    ],
)
def test_bad_tables_are_refused(servers: list[t.Any], request_: dict[str, t.Any], path: str) -> None:
    made = explain({"preset": "queue"}, S07, servers, request_)
    assert path in [problem.path for problem in made.problems] and made.decisions == ()


TABLE_OF_MISTAKES = [
    {"name": "a", "waiting": math.inf, "labels": "x=y", "scores": {"queue": "high"}},
    {"name": "b", "kv_usage": math.nan},
]


def test_all_mistakes_of_a_table_are_reported_at_once_with_their_values() -> None:
    made = explain(
        {"preset": "queue"}, S07, [{"name": "a", "waiting": math.inf, "labels": "x=y", "scores": {"queue": "high"}}, {"name": "b", "kv_usage": math.nan}]
    )
    assert made.text.splitlines() == [
        "servers[0].waiting: .inf is a number, not a whole number. Write a whole number, at least 0.",
        "servers[0].labels: 'x=y' is a string, not a mapping (key: value). Write a mapping (key: value).",
        "servers[0].scores.queue: 'high' is a string, not a number. Write a number.",
        "servers[1].kv_usage: .nan is not a number. Write a number from 0 to 1.",
    ]


# Whatever a YAML file or a Jinja expression can hold.
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(10**300, 10**400) | st.floats() | st.text(max_size=6) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.integers() | st.none() | st.booleans(), inner, max_size=3),
    max_leaves=5,
)


@examples(300)
@given(
    st.lists(st.dictionaries(st.sampled_from(sorted(SERVER.options or {})), anything, max_size=4) | anything, max_size=3) | anything,
    st.dictionaries(st.sampled_from(sorted(REQUEST.options or {})), anything, max_size=4) | anything,
    st.sampled_from(LINES),
)
def test_any_table_is_explained_or_refused_with_its_place(servers: t.Any, request_: t.Any, line: str) -> None:
    named = [{"name": f"s{index}", **row} if isinstance(row, dict) else row for index, row in enumerate(servers)] if isinstance(servers, list) else servers
    built = build({"preset": "default"}, line, MODEL)
    made = explain_built(built, line, named, request_)
    assert bool(made.problems) != bool(made.decisions)
    for problem in made.problems:
        assert problem.path.startswith(("servers", "request")) and problem.reason and problem.fix
    refusal([dataclasses.asdict(problem) for problem in made.problems])
    json.dumps(made.text)


valid = st.fixed_dictionaries(
    {},
    optional={
        "waiting": st.integers(0, 10**15),
        "kv_usage": st.floats(0, 1),
        "matched_blocks": st.integers(0, 10**15),
        "total_blocks": st.integers(0, 10**15),
        "loras": st.none() | st.lists(st.text(max_size=3), max_size=3),
        "max_loras": st.integers(0, 10**15),
        "active_requests": st.integers(0, 10**15),
        "tokens_in_flight": st.integers(0, 10**15),
        "last_cold": st.none() | st.integers(0, 10**15),
        "labels": st.dictionaries(st.sampled_from(["llm-d.ai/context-length-range", "llm-d.ai/role"]), st.text(alphabet="0123456789- \u00b2x", max_size=8)),
        "scores": st.none() | st.dictionaries(st.sampled_from(["queue", "prefix"]), st.floats(-(10**15), 10**15)),
    },
)


@examples(200)
@given(
    st.lists(valid, min_size=1, max_size=3),
    st.fixed_dictionaries(
        {}, optional={"prompt_tokens": st.integers(0, 10**15), "block_size": st.integers(1, 10**15), "model": st.none() | st.text(max_size=3)}
    ),
    st.sampled_from(LINES),
    st.sampled_from(sorted(SCORER_ALIASES)),
)
def test_any_valid_table_is_explained_by_every_scorer(rows: list[dict[str, t.Any]], request_: dict[str, t.Any], line: str, scorer: str) -> None:
    built = build({"scorers": {scorer: 1, "queue": 1}}, line, MODEL)
    if built.problems:
        return
    made = explain_built(built, line, [{"name": f"s{index}", **row} for index, row in enumerate(rows)], request_)
    assert made.decisions and not made.problems, [str(problem) for problem in made.problems]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("weight", [math.inf, math.nan, 10**400])
def test_a_weight_that_is_no_ordinary_number_is_refused(line: str, weight: float) -> None:
    assert [problem.path for problem in build({"scorers": {"queue": weight}}, line, MODEL).problems] == ["scorers.queue"]
    profile = {"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": weight}]}
    raw = {"plugins": [{"type": "queue-scorer"}], "profiles": [profile]}
    assert any(problem.path.endswith(".weight") for problem in build(raw, line, MODEL).problems)


def test_a_bad_configuration_is_refused() -> None:
    made = explain({"preset": "queu"}, S07, THREE)
    assert [problem.path for problem in made.problems] == ["preset"] and "Did you mean 'queue'?" in made.text


def test_the_text() -> None:
    assert (
        worked({"preset": "balanced"}).text == "Profile default: max-score-picker takes the highest total; equal totals are drawn at random.\n"
        "server  queue x1        kv_cache x2     prefix x3       total  chance\n"
        "a       0.667 -> 0.667  0.500 -> 1.000  1.000 -> 3.000  4.667  100%\n"
        "b       1.000 -> 1.000  0.900 -> 1.800  0.000 -> 0.000  2.800  0%\n"
        "c       0.000 -> 0.000  0.100 -> 0.200  0.500 -> 1.500  1.700  0%\n"
        "a wins with 4.667 of 6.\n"
        "  a, queue: (9 - 3) / (9 - 0) = 0.667, times 1 = 0.667\n"
        "  a, kv_cache: 1 - 0.5 = 0.500, times 2 = 1.000\n"
        "  a, prefix: 10 / 10 blocks = 1.000, times 3 = 3.000\n"
    )


def test_every_formula_is_of_a_scorer() -> None:
    scorers = {kind for line in LINES for kind in catalogue.types_of(line, "scorer")}
    assert set(FORMULAS) <= scorers


tables = st.lists(
    st.fixed_dictionaries(
        {
            "waiting": st.integers(0, 200),
            "running": st.integers(0, 200),
            "kv_usage": st.floats(0, 1),
            "matched_blocks": st.integers(0, 20),
            "total_blocks": st.just(20),
            "active_requests": st.integers(0, 50),
            "role": st.sampled_from([None, "decode", "prefill", "both"]),
        }
    ),
    min_size=1,
    max_size=6,
).map(lambda rows: [{"name": f"s{index}", **row} for index, row in enumerate(rows)])


@examples(150)
@given(tables, st.sampled_from(sorted(PRESETS)), st.sampled_from(LINES), st.sampled_from(["max_score", "weighted_random", "random"]))
def test_any_decision_is_a_probability(servers: list[dict[str, t.Any]], preset: str, line: str, picker: str) -> None:
    """Chances add up to 1, scores stay within 0 and 1, and the best total is among the winners of the max-score picker."""
    if line not in PRESETS[preset]["lines"] or preset == "round_robin":
        return
    made = worked({"preset": preset, "picker": picker}, servers, {"prompt_tokens": 320}, line)
    for decision in made.decisions:
        if decision.rows:
            assert sum(row.probability for row in decision.rows) == pytest.approx(1)
            assert all(0 <= (share.score or 0) <= 1 for row in decision.rows for share in row.shares)
            if picker == "max_score":
                best = max(row.total for row in decision.rows)
                assert {row.server for row in decision.rows if row.total == best} == set(decision.winners)
