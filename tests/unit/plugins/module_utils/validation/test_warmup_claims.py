# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a server's prefix cache according to an answer, and the claim that caches are warm."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.inference import warmup_states
from ansible_collections.llm_d.inference.plugins.module_utils.validation import verdict
from ansible_collections.llm_d.inference.plugins.module_utils.validation.warmup_claims import judge

WANTED = [{"name": "tiny"}]


def row(state, **fields):
    numbers = {"warm": (100, 96), "warmed": (100, 16), "short": (9, 0), "unknown": (100, None), "failed": (None, None)}[state]
    tokens, cached = numbers
    return {"prompt": "prompts[0] (400 characters)", "state": state, "tokens": tokens, "cached": cached, "evidence": f"it is {state}", "remedy": "", **fields}


def service(*servers, problem=""):
    rows = [{"server": f"Pod llm-d/{index}", "prompts": list(prompts)} for index, prompts in enumerate(servers)]
    return {"name": "tiny", "problem": problem, "remedy": "mend it" if problem else "", "servers": rows}


def judged(*servers, problem=""):
    return judge({"services": [service(*servers, problem=problem)], "seconds": 0.4}, WANTED)


@pytest.mark.parametrize("tokens, block, count", [(0, 16, 0), (16, 16, 0), (17, 16, 16), (32, 16, 16), (33, 16, 32), (129, 64, 128), (128, 64, 64)])
def test_whole_blocks_before_the_last_token_can_be_kept(tokens, block, count):
    assert warmup_states.reusable(tokens, block) == count


@pytest.mark.parametrize(
    "tokens, cached, state",
    [
        (40, 32, "warm"),
        (32, 16, "warm"),
        (32, 32, "warm"),
        (40, 16, "warmed"),
        (40, 0, "warmed"),
        (16, 0, "short"),
        (16, None, "short"),
        (40, None, "unknown"),
        (None, None, "unknown"),
        (None, 32, "unknown"),
        (0, 0, "unknown"),
        (0, None, "unknown"),
        (40, 900, "unknown"),
    ],
)
def test_states(tokens, cached, state):
    assert warmup_states.state(tokens, cached, 16) == state


def test_prompts_have_names_that_do_not_show_them():
    names = warmup_states.names(["abc", "abc"], {"z": "last", "a": "first"})
    assert list(names.items()) == [
        ("prompts[0] (3 characters)", "abc"),
        ("prompts[1] (3 characters)", "abc"),
        ("config_map a (5 characters)", "first"),
        ("config_map z (4 characters)", "last"),
    ]


def test_the_claim_holds_with_all_prompts_from_the_cache_of_every_server():
    (claim,), skipped = judged([row("warm"), row("warm")], [row("warm"), row("warm")])
    assert claim == {"id": "tiny/warm", "ok": True, "evidence": "2 servers took 2 prompts from the cache: 384 of 400 tokens", "remedy": "", "seconds": 0.4}
    assert skipped == [] and verdict.group_of(claim["id"]) == "caches"


@pytest.mark.parametrize(
    "bad, remedy",
    [(row("warmed"), "site.yml"), (row("failed", remedy="look at the server's log"), "look at the server's log"), (row("short", remedy="longer"), "longer")],
)
def test_the_claim_fails_with_one_prompt_at_one_server(bad, remedy):
    (claim,), skipped = judged([row("warm"), row("warm")], [row("warm"), bad], [row("unknown"), row("unknown")])
    assert claim["ok"] is False and claim["evidence"] == f"Pod llm-d/1: it is {bad['state']}" and remedy in claim["remedy"] and skipped == []
    (claim,), _skipped = judged([bad, bad])
    assert claim["evidence"].endswith("and 1 more")


def test_a_problem_of_the_service_fails_the_claim_despite_warm_prompts():
    (claim,), _skipped = judged([row("warm")], problem="1 of 2 servers exist")
    assert claim["ok"] is False and claim["evidence"] == "1 of 2 servers exist" and claim["remedy"] == "mend it"


def test_servers_that_do_not_report_cached_tokens_are_not_claimed():
    claims, skipped = judged([row("warm")], [row("unknown")])
    assert claims == [] and skipped[0]["id"] == "tiny/warm" and "--enable-prompt-tokens-details" in skipped[0]["why"]


@pytest.mark.parametrize("result", [None, {}, {"failed": True, "msg": "no library"}, {"services": []}, {"skipped": True}])
def test_a_warmup_check_without_results_is_a_failed_claim(result):
    (claim,), _skipped = judge(result, WANTED)
    assert claim["id"] == "tiny/warm" and claim["ok"] is False and claim["remedy"]
    assert judge(result, []) == ([], [])


@pytest.mark.parametrize(
    "states, problem, warm, warnings",
    [
        (["warm", "warmed"], "", True, 0),
        (["warm", "short"], "", False, 1),
        (["unknown", "unknown"], "", False, 1),
        (["warm", "failed"], "", False, 1),
        (["warm"], "1 of 2 servers exist", False, 1),
        ([], "", False, 0),
    ],
)
def test_warm_and_what_is_warned_of(states, problem, warm, warnings):
    target = service([row(state) for state in states], problem=problem)
    assert warmup_states.is_warm(target) is warm and len(warmup_states.warnings(target)) == warnings
