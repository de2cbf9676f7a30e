"""Real servers behind the gateway answer in sentences, keep prefixes, and hold every claim."""

from __future__ import annotations

import json
from pathlib import Path

import plays
from live_stack import Stack
from real import INVENTORY, asked, counted


def test_a_question_is_answered_in_a_sentence(stack: Stack) -> None:
    answer = asked(stack, "What is the capital of France?", temperature=0)["choices"][0]
    assert "Paris" in answer["message"]["content"] and answer["message"]["content"].endswith(".")
    assert answer["finish_reason"] == "stop"


def test_many_answers_that_are_drawn(stack: Stack) -> None:
    said = {asked(stack, "Name an animal.", max_tokens=12, temperature=1.0)["choices"][0]["message"]["content"] for _number in range(4)}
    assert len(said) > 1, "the servers draw tokens"


def test_a_prefix_stays_on_one_server_which_counts_its_hits(stack: Stack) -> None:
    story = "Once upon a time there was a scheduler that knew the queue and the cache of each of its servers. " * 12
    before = counted(stack, "vllm:prefix_cache_hits_total")
    answers = [asked(stack, f"{story} Question {number}: what did it know?", max_tokens=4) for number in range(5)]
    after = counted(stack, "vllm:prefix_cache_hits_total")
    gained = {pod: after[pod] - before[pod] for pod in after if after[pod] > before[pod]}
    tokens = answers[0]["usage"]["prompt_tokens"]
    assert len(gained) == 1, f"one server has the prefix: {gained}"
    assert next(iter(gained.values())) > 4 * 0.8 * tokens, f"all but the first request find most of their {tokens} tokens in the cache: {gained}"


def test_every_claim_holds(stack: Stack, tmp_path: Path) -> None:
    plays.well(INVENTORY, "playbooks/validate.yml", tmp_path)
    verdict = json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8"))
    claims = {claim["id"]: claim["ok"] for claim in verdict["claims"]}
    assert claims and all(claims.values()), claims
    assert {"chat/sticky", "chat/cached", "chat/spread"} <= set(claims), "what only traffic proves is among them"


def test_a_measurement_through_the_gateway(stack: Stack, tmp_path: Path) -> None:
    load = {"workload": {"kind": "shared_prefix", "groups": 2, "prompts_per_group": 4, "system_prompt_len": 120, "question_len": 20, "output_len": 8}}
    plays.well(INVENTORY, "playbooks/benchmark.yml", tmp_path, llm_d_benchmark={**load, "rates": [0.5], "seconds": 24})
    (result,) = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("result.json")]
    (stage,) = result["stages"]
    assert stage["requests"] >= 6 and stage["failed"] == 0
    assert stage["ttft_ms"]["p50"] > 0 and stage["tpot_ms"]["p50"] > 0 and stage["hit_ratio"] > 0.3
