"""`explain` against the real endpoint picker: states set up on the servers, the predicted winner against the pod that answers."""

from __future__ import annotations

import random
import time
import typing as t
import uuid

import pytest
from stack import Stack, call

from ansible_collections.llm_d.inference.plugins.module_utils.epp_explain import explain

CONTEXT = {"engine": "simulator", "model": "llm-d/simulated-table", "block_size": 16}
# The simulator shows a new state at once, the endpoint picker reads it every 50 ms.
SETTLE = 0.4
BLOCKS = (
    {"preset": "balanced"},
    {"preset": "queue"},
    {"scorers": {"running_requests": 2, "kv_cache": 1}},
    {"scorers": {"load_aware": 1, "kv_cache": 3, "prefix": 2}},
)
STATES, ASKED = 30, 2


def show(address: str, state: dict[str, t.Any]) -> None:
    fake = {"waiting-requests": state["waiting"], "running-requests": state["running"], "kv-cache-usage": state["kv_usage"]}
    status, _headers, content = call(f"http://{address}:8000/admin/config", {"fake-metrics": fake})
    assert status == 200, content


def drawn(chance: random.Random) -> dict[str, t.Any]:
    """A state of one server; small numbers, so that ties and near ties happen."""
    return {"waiting": chance.choice([0, 0, 1, 2, 3, 8, 40]), "running": chance.randint(0, 4), "kv_usage": chance.choice([0.0, 0.1, 0.25, 0.5, 0.75, 0.9])}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: "+".join([*block.get("scorers", {}), block.get("preset", "")]).strip("+"))
def test_explain_agrees_with_the_endpoint_picker(stack: Stack, block: dict[str, t.Any]) -> None:
    done = stack.switch("table", block)
    assert done.returncode == 0, done.stdout + done.stderr
    chance, servers = random.Random(4), stack.servers("table")
    assert len(servers) == 4
    agreed, asked, clear, wrong = 0, 0, 0, []
    for _number in range(STATES):
        prompt = f"{uuid.uuid4()} " + "the same words again and again " * 60
        home = stack.ask("table", prompt)  # from now on this pod is known to have the prompt
        states = {name: drawn(chance) for name in servers}
        for name, state in states.items():
            show(servers[name], state)
        time.sleep(SETTLE)
        # first the prompt that one of them knows, then one that nobody knows
        for text, knows in ((prompt, home), (f"{uuid.uuid4()} " + "other words " * 60, None)):
            table = [{"name": name, **state, "matched_blocks": int(name == knows), "total_blocks": 1} for name, state in states.items()]
            predicted = explain(block, "scheduler-0.7", table, {"model": CONTEXT["model"]}, CONTEXT).winners
            actual = stack.ask("table", text)
            asked, agreed, clear = asked + 1, agreed + (actual in predicted), clear + (len(predicted) == 1)
            if actual not in predicted:
                wrong.append({"predicted": predicted, "actual": actual, "servers": table})
    print(f"explain: {agreed} of {asked} agree, {clear} of them with one possible winner")
    assert wrong == []
    assert clear > asked / 3
