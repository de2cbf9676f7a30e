"""Precise prefix matching with the KV events of real servers, and the tokenizer of the real model."""

from __future__ import annotations

import json
from pathlib import Path

import plays
from live_stack import Stack
from real import INVENTORY


def test_requests_follow_the_events_of_the_servers(stack: Stack, tmp_path: Path) -> None:
    precise = {"chat": {"preset": "precise_prefix"}}
    done = stack.switch("chat", precise["chat"])
    assert done.returncode == 0, done.stdout[-6000:]
    try:
        plays.well(INVENTORY, "playbooks/validate.yml", tmp_path, llm_d_scheduler_overrides=precise)
    finally:
        back = stack.as_written()
    assert back.returncode == 0, back.stdout[-6000:]
    verdict = json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8"))
    claims = {claim["id"]: claim["ok"] for claim in verdict["claims"]}
    assert all(claims.values()), claims
    assert claims["chat/follow"], "requests go where the servers' own events say that the prefix is"
