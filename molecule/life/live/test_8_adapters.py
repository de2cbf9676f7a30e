"""LoRA adapters are added and removed while the servers run: no pod is replaced, and the claim reports a server without them."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import plays
import pytest
from stack import INVENTORY, MODEL, NAMESPACE, Stack, call, sim, until

SQL, CHAT = {"name": "sql", "source": "/models/sql"}, {"name": "chat", "source": "/models/chat"}


def adapted(*adapters: dict[str, str], **options: t.Any) -> dict[str, t.Any]:
    return sim(model={"served_name": MODEL, "adapters": list(adapters), "adapters_at_runtime": True}, **options)


def listed(stack: Stack) -> list[set[str]]:
    """The loaded adapters of each server."""
    answers = [json.loads(call(f"http://{address}:8000/v1/models")[2])["data"] for address in stack.servers("sim").values()]
    return [{model["id"] for model in loaded if model["parent"]} for loaded in answers]


def adapters_claim(folder: Path, service: dict[str, t.Any]) -> dict[str, t.Any]:
    """Run validate.yml; returns its claim `sim/adapters`."""
    plays.run("-i", INVENTORY, "playbooks/validate.yml", "-e", json.dumps({"llm_d_model_services": [service], "llm_d_artifacts_dir": str(folder)}))
    (claim,) = [entry for entry in json.loads((folder / "verdict.json").read_text())["claims"] if entry["id"] == "sim/adapters"]
    return t.cast(dict[str, t.Any], claim)


@pytest.fixture(name="pods", scope="module")
def _pods(stack: Stack) -> t.Iterator[set[str]]:
    """The names of the servers' pods."""
    stack.serves(adapted())
    yield set(stack.servers("sim"))
    stack.serves(sim(), options=("--skip-tags", "validation"))


def test_adapters_are_added_and_removed_without_replacing_a_pod(stack: Stack, pods: set[str]) -> None:
    for adapters in ([SQL], [SQL, CHAT], [CHAT]):
        would = stack.serves(adapted(*adapters), options=("--check", "--diff", "--skip-tags", "validation"))
        assert f"{adapters[-1]['name']} from " in would, would[-3000:]
        stack.serves(adapted(*adapters))  # its verdict requires that each server has them
        assert listed(stack) == [{adapter["name"] for adapter in adapters}] * 2 and set(stack.servers("sim")) == pods
        assert "changed=0 " in stack.serves(adapted(*adapters))
    status, _headers, body = call(f"{stack.url('sim')}/v1/completions", {"model": "chat", "prompt": "Hello", "max_tokens": 1})
    assert status == 200 and json.loads(body)["model"] == "chat"


def test_a_server_that_restarts_has_none_until_the_next_run(stack: Stack, pods: set[str], tmp_path: Path) -> None:
    stack.serves(adapted(CHAT))
    gone = sorted(stack.servers("sim"))[0]
    stack.core.delete_namespaced_pod(gone, NAMESPACE, grace_period_seconds=0)
    until(lambda: len(stack.servers("sim")) == 2 and gone not in stack.servers("sim"), 60, "another server runs")
    assert sorted(map(len, listed(stack))) == [0, 1]
    broken = adapters_claim(tmp_path, adapted(CHAT))
    assert not broken["ok"] and "lacks chat" in broken["evidence"] and "site.yml" in broken["remedy"], broken
    stack.serves(adapted(CHAT))
    assert listed(stack) == [{"chat"}] * 2


def test_a_duplicate_adapter_name_is_refused(stack: Stack) -> None:
    service = adapted(CHAT, {**CHAT, "source": "/models/other"})
    done = plays.run("-i", INVENTORY, "playbooks/site.yml", "-e", json.dumps({"llm_d_model_services": [service]}))
    assert done.returncode != 0 and "model.adapters[1].name: is another adapter already" in " ".join(done.stdout.split()), done.stdout
