"""LoRA adapters of real servers: loaded, listed and answered with, under a scheduler that scores by them."""

from __future__ import annotations

import json
from pathlib import Path

from live_stack import Stack, call
from real import asked, changed, deploy, inventory_service

ONE, TWO = "adapter-one", "adapter-two"
ARGUMENTS = ["--enable-lora", "--max-loras=1", "--max-lora-rank=8", "--lora-modules", *(f"{name}=/models/{name}" for name in (ONE, TWO))]


def test_each_server_has_them_and_they_answer(stack: Stack, tmp_path: Path) -> None:
    service = inventory_service()
    scheduler = {"scorers": {"lora_affinity": 1}, "resources": service["scheduler"]["resources"]}
    deploy(tmp_path, llm_d_model_services=changed(engine={"args": service["engine"]["args"] + ARGUMENTS}, scheduler=scheduler))
    try:
        for address in stack.servers("chat").values():
            models = json.loads(call(f"http://{address}:8000/v1/models")[2])["data"]
            assert {ONE, TWO} <= {model["id"] for model in models}
        for name in (ONE, TWO):
            assert asked(stack, "What is the capital of France?", model=name, temperature=0, max_tokens=8)["model"] == name
        pages = [call(f"http://{address}:8000/metrics")[2].decode() for address in stack.servers("chat").values()]
        assert any("vllm:lora_requests_info{" in page and 'max_lora="1"' in page for page in pages), "what the scorer reads is there"
    finally:
        deploy(tmp_path)
