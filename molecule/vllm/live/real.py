"""The stack of this scenario: one gateway with the model service `chat`."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import plays
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.common import prometheus_text
from live_stack import Stack, call

INVENTORY = "inventories/local-vllm"
MODEL = "smollm2-135m-instruct"


def of_this_scenario() -> Stack:
    """The running stack."""
    return Stack(INVENTORY, {"chat": MODEL})


def inventory_service() -> dict[str, t.Any]:
    """The only model service of the inventory."""
    (service,) = yaml.safe_load((plays.ROOT / INVENTORY / "group_vars/all/vllm.yml").read_text(encoding="utf-8"))["llm_d_model_services"]
    return t.cast("dict[str, t.Any]", service)


def changed(**options: t.Any) -> list[dict[str, t.Any]]:
    """The model services of the inventory, the only one with changed options."""
    service = inventory_service()
    return [{**service, **options, "engine": {**service["engine"], **options.get("engine", {})}}]


def deploy(artifacts: Path, **given: t.Any) -> None:
    """Run site.yml without the validation, which would count the load as its own requests."""
    plays.well(INVENTORY, "site.yml", artifacts, "--skip-tags", "validation", **given)


def chat(stack: Stack, question: str, **options: t.Any) -> dict[str, t.Any]:
    """Send one question through the gateway; returns the response. Tokens are sampled by the server's defaults, unless the options differ."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": question}], "max_tokens": 64, **options}
    status, _headers, content = call(f"{stack.url('chat')}/v1/chat/completions", body, timeout=120)
    assert status == 200, content
    return t.cast("dict[str, t.Any]", json.loads(content))


def counted(stack: Stack, metric: str) -> dict[str, float]:
    """{pod: value of a counter} of the servers."""
    pages = {pod: call(f"http://{address}:8000/metrics")[2].decode() for pod, address in stack.servers("chat").items()}
    return {pod: prometheus_text.total(prometheus_text.parse(page), metric) or 0.0 for pod, page in pages.items()}
