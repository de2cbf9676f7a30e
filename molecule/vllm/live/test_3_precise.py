"""Precise prefix matching with the KV events of real servers, and the tokenizer of the real model.

vLLM 0.24 changed the encoding of its events, and no endpoint picker that reads the new one can be built here. So the plan refuses the two together, and the
servers use the earlier encoding if an environment variable requests it (roles/local_cluster/files/vllm/earlier_events.py).
"""

from __future__ import annotations

import json
from pathlib import Path

import plays
from live_stack import Stack
from real import INVENTORY, changed, deploy, inventory_service

PRECISE = {"preset": "precise_prefix"}


def test_events_that_the_endpoint_picker_does_not_read_are_refused(stack: Stack) -> None:
    before = stack.servers("chat")
    done = stack.switch("chat", PRECISE)
    assert done.returncode != 0 and "does not read the KV events of vLLM 0.30.0" in done.stdout, done.stdout[-3000:]
    assert stack.servers("chat") == before


def test_requests_follow_the_events_of_the_servers(stack: Stack, tmp_path: Path) -> None:
    service = inventory_service()
    engine = {"version": "0.23.0", "env": {**service["engine"]["env"], "LLM_D_LOCAL_KV_EVENTS": "arrays"}}
    precise = {"llm_d_model_services": changed(engine=engine, scheduler={**service["scheduler"], **PRECISE})}
    try:
        deploy(tmp_path, **precise)
        plays.well(INVENTORY, "playbooks/validate.yml", tmp_path, **precise)
    finally:
        deploy(tmp_path)
    verdict = json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8"))
    claims = {claim["id"]: claim["ok"] for claim in verdict["claims"]}
    assert all(claims.values()), claims
    assert claims["chat/follow"], "requests go to the server whose events report the prefix"
