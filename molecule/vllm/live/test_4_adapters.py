"""LoRA adapters of real servers: loaded, listed, answered with, and followed by the endpoint picker."""

from __future__ import annotations

import json
import threading
import typing as t

import pytest
from live_stack import Stack, call, until
from real import asked, changed, counted, deploy, inventory_service

ONE, TWO = "adapter-one", "adapter-two"
# A server holds one adapter at a time, so that another one has to go elsewhere.
ARGUMENTS = ["--enable-lora", "--max-loras=1", "--max-lora-rank=8", "--lora-modules", *(f"{name}=/models/{name}" for name in (ONE, TWO))]
DONE = "vllm:request_success_total"


@pytest.fixture(scope="module")
def adapters(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Stack]:
    """The stack with adapters, and a scheduler that looks at nothing else."""
    service = inventory_service()
    args, scheduler = service["engine"]["args"] + ARGUMENTS, {**service["scheduler"], "scorers": {"lora_affinity": 1}}
    del scheduler["preset"]
    deploy(tmp_path_factory.mktemp("adapters"), llm_d_model_services=changed(engine={"args": args}, scheduler=scheduler))
    yield stack
    deploy(tmp_path_factory.mktemp("back"))


def running(stack: Stack) -> dict[str, str]:
    """The adapter that each server computes with right now, by pod; servers without one are left out."""
    found = {}
    for pod, address in stack.servers("chat").items():
        page = call(f"http://{address}:8000/metrics")[2].decode()
        rows = [line.rsplit(" ", 1) for line in page.splitlines() if line.startswith("vllm:lora_requests_info{")]
        newest = max(rows, key=lambda row: float(row[1]), default=["", "0"])[0]
        name = newest.partition('running_lora_adapters="')[2].partition('"')[0]
        if name:
            found[pod] = name
    return found


def test_each_server_has_them_and_they_answer(adapters: Stack) -> None:
    for address in adapters.servers("chat").values():
        models = json.loads(call(f"http://{address}:8000/v1/models")[2])["data"]
        assert {ONE, TWO} <= {model["id"] for model in models}
        # A server says how many adapters it takes once it has computed something.
        assert call(f"http://{address}:8000/v1/completions", {"model": TWO, "prompt": "Hello", "max_tokens": 1}, timeout=60)[0] == 200
    assert asked(adapters, "What is the capital of France?", model=ONE, temperature=0, max_tokens=8)["model"] == ONE


def test_requests_follow_their_adapter_and_leave_the_others(adapters: Stack) -> None:
    """While one server computes with an adapter, its requests go there, and those of another adapter do not."""
    long = threading.Thread(target=asked, args=(adapters, "Tell me a long story."), kwargs={"model": ONE, "max_tokens": 400, "ignore_eos": True})
    long.start()
    try:
        until(lambda: ONE in running(adapters).values(), 30, "a server says that it computes with the adapter")
        (home,) = running(adapters)
        before = counted(adapters, DONE)
        for _number in range(4):
            asked(adapters, "Name an animal.", model=ONE, max_tokens=1)
        with_one = counted(adapters, DONE)
        for _number in range(3):
            asked(adapters, "Name an animal.", model=TWO, max_tokens=1)
        with_two = counted(adapters, DONE)
        assert long.is_alive(), "the adapter was in use all the time"
    finally:
        long.join()
    assert {pod: with_one[pod] - before[pod] for pod in before} == {pod: 4.0 if pod == home else 0.0 for pod in before}
    assert with_two[home] == with_one[home], "a server whose one place for adapters is taken is left out"
    assert sum(with_two.values()) - sum(with_one.values()) == 3
