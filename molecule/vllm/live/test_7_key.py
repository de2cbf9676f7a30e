"""A real engine with an API key: every claim passes with it, a benchmark sends it, and no output contains it."""

from __future__ import annotations

import base64
import json
import typing as t
from pathlib import Path

import plays
import pytest
from live_stack import NAMESPACE, Stack, call
from real import INVENTORY, MODEL, changed, deploy, inventory_service

KEY = "key-of-the-real-engine"
QUESTION = {"model": MODEL, "prompt": "Once", "max_tokens": 2}


@pytest.fixture(name="keyed", scope="module", autouse=True)
def ask_for_a_key(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[list[dict[str, t.Any]]]:
    """The model services, whose servers require the key of a Secret."""
    secret: t.Any = {"metadata": {"name": "clients"}, "data": {"ours": base64.b64encode(KEY.encode()).decode()}}
    stack.core.create_namespaced_secret(NAMESPACE, secret)
    artifacts = tmp_path_factory.mktemp("artifacts")
    services = changed(model={**inventory_service()["model"], "api_key": {"secret": "clients", "key": "ours"}})
    try:
        deploy(artifacts, llm_d_model_services=services)
        yield services
    finally:
        deploy(artifacts)
        stack.core.delete_namespaced_secret("clients", NAMESPACE)


def test_only_requests_with_the_key_are_answered(stack: Stack) -> None:
    url = f"{stack.url('chat')}/v1/completions"
    assert call(url, QUESTION, timeout=120)[0] == 401
    assert call(url, QUESTION, timeout=120, headers={"Authorization": f"Bearer {KEY}"})[0] == 200


def test_every_claim_passes_when_servers_require_the_key(keyed: list[dict[str, t.Any]], tmp_path: Path) -> None:
    done = plays.well(INVENTORY, "playbooks/validate.yml", tmp_path, llm_d_model_services=keyed)
    claims = {claim["id"]: claim["ok"] for claim in json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8"))["claims"]}
    assert {"chat/sticky", "chat/cached", "chat/spread"} <= set(claims) and all(claims.values()), claims
    assert KEY not in done


def test_a_benchmark_sends_it(keyed: list[dict[str, t.Any]], tmp_path: Path) -> None:
    load = {"workload": {"input_len": 32, "output_len": 4}, "rates": [0.5], "seconds": 10, "warmup_seconds": 0, "max_lag": 5, "max_lag_share": 0}
    done = plays.well(INVENTORY, "playbooks/benchmark.yml", tmp_path, llm_d_model_services=keyed, llm_d_benchmark=load)
    (result,) = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("result.json")]
    assert [stage["failed"] for stage in result["stages"]] == [0] and result["stages"][0]["requests"] > 0
    assert KEY not in done
