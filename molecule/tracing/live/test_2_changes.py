"""A collector whose name does not resolve costs no request; tracing can be disabled and enabled again."""

from __future__ import annotations

import secrets
import time
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from traced import GATEWAY, INVENTORY, SENT, SERVER, SERVICE, Traced

FILE = plays.ROOT / "inventories/local-vllm/group_vars/all/vllm.yml"


def deploy(stack: Traced, artifacts: Path, env: t.Mapping[str, str] | None = None, **given: t.Any) -> str:
    """Run site.yml with one server and other variables until the gateway calls the endpoint picker; returns the output. env: of the endpoint picker."""
    (service,) = yaml.safe_load(FILE.read_text(encoding="utf-8"))["llm_d_model_services"]
    services = [{**service, "replicas": 1, "scheduler": {**service["scheduler"], "env": env or {}}}]
    output = plays.well(INVENTORY, "site.yml", artifacts, "--skip-tags", "validation", llm_d_model_services=services, **given)
    stack.obeyed(SERVICE)
    return output


@pytest.fixture(scope="module", autouse=True)
def as_it_was(stack: Traced, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[None]:
    """Restore the stack of the inventory at the end."""
    yield
    plays.well(INVENTORY, "site.yml", tmp_path_factory.mktemp("after"), "--skip-tags", "validation")


def test_a_collector_without_a_name_costs_no_request(stack: Traced, tmp_path: Path) -> None:
    output = deploy(stack, tmp_path, llm_d_tracing={"endpoint": "no-collector.tracing:4317", "sampling": 1})
    assert "Service tracing/no-collector, port 4317" in " ".join(output.split()), "the preflight warns; long lines are folded"
    for _number in range(10):
        stack.ask_traced(secrets.token_hex(16))


def test_no_spans_are_sent_when_tracing_is_switched_off(stack: Traced, tmp_path: Path) -> None:
    """Endpoint pickers of the scheduler lines would send a tenth of their spans."""
    deploy(stack, tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel-collector.tracing:4317"}, llm_d_tracing={})
    time.sleep(SENT / 4)  # earlier spans have been sent
    begun = time.time()
    for _number in range(60):  # a sampling of a tenth takes none of them in two of a thousand runs
        stack.ask_traced(secrets.token_hex(16))
    time.sleep(SENT / 4)
    names = (GATEWAY, "llm-d-inference-scheduler", SERVER)  # the second is the default name of the endpoint picker
    assert {name: stack.spans_of(name, begun) for name in names} == dict.fromkeys(names, [])


def test_requests_are_traced_when_tracing_is_switched_on_again(stack: Traced, tmp_path: Path) -> None:
    deploy(stack, tmp_path)
    trace = secrets.token_hex(16)
    stack.ask_traced(trace)
    stack.has(trace, GATEWAY, SERVER)
