"""Compares `explain` with the real endpoint picker: for states set up on the servers, the predicted winners with the pod that answers."""

from __future__ import annotations

import dataclasses
import random
import time
import typing as t
import uuid

from ansible_collections.llm_d.inference.plugins.module_utils.epp.explain.decision import explain
from stack import Stack, call

CONTEXT = {"engine": "simulator", "model": "llm-d/simulated-table", "block_size": 16}
# Seconds for the endpoint picker to read a state that the simulators report at once: it does so every 50 ms, unless the host is busy. Nothing confirms that,
# so a state with a mismatch is set up once more, with enough time; a fault of `explain` recurs then.
SETTLE, AGAIN = 0.4, 4.0
# Each with a preset: a block without one would be merged into that of the file.
BLOCKS: tuple[dict[str, t.Any], ...] = (
    {"preset": "balanced"},
    {"preset": "queue"},
    {"preset": "queue", "scorers": {"running_requests": 2, "kv_cache": 1}},
    {"preset": "prefix_aware", "scorers": {"load_aware": 1, "kv_cache": 3}},
)


@dataclasses.dataclass
class Agreement:
    """Numbers of requests, of those that went to a predicted winner, of those with one possible winner, of states set up twice, and the mismatches."""

    requests: int = 0
    agreed: int = 0
    clear: int = 0
    repeated: int = 0
    mismatches: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)


def show(address: str, state: dict[str, t.Any]) -> None:
    """Make a simulator report a state."""
    fake = {"waiting-requests": state["waiting"], "running-requests": state["running"], "kv-cache-usage": state["kv_usage"]}
    status, _headers, content = call(f"http://{address}:8000/admin/config", {"fake-metrics": fake})
    assert status == 200, content


def drawn(chance: random.Random) -> dict[str, t.Any]:
    """A random state of one server; few values, so that ties occur."""
    return {"waiting": chance.choice([0, 0, 1, 2, 3, 8, 40]), "running": chance.randint(0, 4), "kv_usage": chance.choice([0.0, 0.1, 0.25, 0.5, 0.75, 0.9])}


def measure(stack: Stack, block: dict[str, t.Any], rounds: int, seed: int = 4) -> Agreement:
    """Switch the model service `table` to a scheduler block, then send two requests in each state: a prompt that one server has cached, and a new one."""
    done = stack.switch("table", block)
    assert done.returncode == 0, done.stdout + done.stderr
    stack.obeyed("table")
    chance, result = random.Random(seed), Agreement()
    for _number in range(rounds):
        states = [drawn(chance) for _server in stack.servers("table")]
        sample = ask_twice(stack, block, states, SETTLE)
        if sample.mismatches:
            sample = ask_twice(stack, block, states, AGAIN)
            result.repeated += 1
        result.requests += sample.requests
        result.agreed += sample.requests - len(sample.mismatches)
        result.clear += sample.clear
        result.mismatches += sample.mismatches
    return result


def ask_twice(stack: Stack, block: dict[str, t.Any], states: list[dict[str, t.Any]], settle: float) -> Agreement:
    """Send two requests in one state of the servers: a cached prompt and a new one. The first of `states` is that of the server with the cache."""
    servers, result = stack.servers("table"), Agreement()
    prompt = f"{uuid.uuid4()} " + "the same words again and again " * 60
    home = stack.ask("table", prompt)
    shown = dict(zip(sorted(servers, key=lambda name: name != home), states, strict=True))
    for name, state in shown.items():
        show(servers[name], state)
    time.sleep(settle)
    for text, holder in ((prompt, home), (f"{uuid.uuid4()} " + "other words " * 60, None)):
        table = [{"name": name, **state, "matched_blocks": int(name == holder), "total_blocks": 1} for name, state in shown.items()]
        predicted = explain(block, "scheduler-0.7", table, {"model": CONTEXT["model"]}, CONTEXT).winners
        actual = stack.ask("table", text)
        result.requests += 1
        result.clear += len(predicted) == 1
        if actual not in predicted:
            result.mismatches.append({"predicted": predicted, "actual": actual, "holder": holder, "servers": table})
    return result
