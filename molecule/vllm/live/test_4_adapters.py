"""LoRA adapters of real servers are loaded, listed and used, and the endpoint picker follows them."""

from __future__ import annotations

import json
import typing as t

import pytest
from live_stack import Stack, call, until
from real import changed, chat, counted, deploy, inventory_service

ONE, TWO = "adapter-one", "adapter-two"
# A server holds one adapter at a time, so that another one must be on another server.
ARGUMENTS = ["--enable-lora", "--max-loras=1", "--max-lora-rank=8", "--lora-modules", *(f"{name}=/models/{name}" for name in (ONE, TWO))]


@pytest.fixture(scope="module", name="adapters")
def _adapters(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Stack]:
    """The stack with adapters and a scheduler that scores nothing else."""
    service = inventory_service()
    scheduler = {"scorers": {"lora_affinity": 1}, "resources": service["scheduler"]["resources"]}
    deploy(tmp_path_factory.mktemp("adapters"), llm_d_model_services=changed(engine={"args": service["engine"]["args"] + ARGUMENTS}, scheduler=scheduler))
    yield stack
    deploy(tmp_path_factory.mktemp("back"))


def last_computed(address: str) -> str:
    """The adapter that a server used last. The endpoint picker ignores series without an adapter and keeps the previous adapter."""
    rows = [line.rsplit(" ", 1) for line in call(f"http://{address}:8000/metrics")[2].decode().splitlines() if line.startswith("vllm:lora_requests_info{")]
    computed = [(float(value), labels.partition('running_lora_adapters="')[2].partition('"')[0]) for labels, value in rows]
    return max([(when, name) for when, name in computed if name], default=(0.0, ""))[1]


def test_each_server_lists_the_adapters_and_requests_to_them_are_answered(adapters: Stack) -> None:
    for address in adapters.servers("chat").values():
        models = json.loads(call(f"http://{address}:8000/v1/models")[2])["data"]
        assert {ONE, TWO} <= {model["id"] for model in models}
    for name in (ONE, TWO):
        assert chat(adapters, "What is the capital of France?", model=name, temperature=0, max_tokens=8)["model"] == name


@pytest.mark.parametrize("turned", [False, True])
def test_requests_follow_their_adapter(adapters: Stack, turned: bool) -> None:
    """The two servers use one adapter each, and exchange them in the second case: only the adapter explains the choice of the endpoint picker."""
    names = [TWO, ONE] if turned else [ONE, TWO]
    homes = dict(zip(sorted(adapters.servers("chat")), names, strict=True))
    for pod, name in homes.items():
        address = adapters.servers("chat")[pod]
        # A server reports an adapter between two steps of a request, so one token is not enough.
        body = {"model": name, "prompt": "Hello", "max_tokens": 16, "ignore_eos": True}
        assert call(f"http://{address}:8000/v1/completions", body, timeout=60)[0] == 200
        until(lambda address=address, name=name: last_computed(address) == name, 30, "the server reports the adapter that it used")
    for name in names:
        before = counted(adapters, "vllm:request_success_total")
        for _number in range(5):
            chat(adapters, "Name an animal.", model=name, max_tokens=1)
        after = counted(adapters, "vllm:request_success_total")
        assert {pod: after[pod] - before[pod] for pod in homes} == {pod: 5.0 if home == name else 0.0 for pod, home in homes.items()}, homes
