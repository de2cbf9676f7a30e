"""A collector that is not there by its name costs no request, what is switched off sends nothing, and what is switched on again is traced."""

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
    """The output of a run with another file, with one server, once the gateway asks its endpoint picker. env: of the endpoint picker."""
    (service,) = yaml.safe_load(FILE.read_text(encoding="utf-8"))["llm_d_model_services"]
    services = [{**service, "replicas": 1, "scheduler": {**service["scheduler"], "env": env or {}}}]
    output = plays.well(INVENTORY, "site.yml", artifacts, "--skip-tags", "validation", llm_d_model_services=services, **given)
    stack.obeyed(SERVICE)
    return output


@pytest.fixture(scope="module", autouse=True)
def as_it_was(stack: Traced, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[None]:
    """The file of the inventory afterwards."""
    yield
    plays.well(INVENTORY, "site.yml", tmp_path_factory.mktemp("after"), "--skip-tags", "validation")


def test_a_collector_without_a_name_costs_no_request(stack: Traced, tmp_path: Path) -> None:
    said = deploy(stack, tmp_path, llm_d_tracing={"endpoint": "no-collector.tracing:4317", "sampling": 1})
    assert "Service tracing/no-collector, port 4317" in " ".join(said.split()), "the preflight warns; long lines are folded"
    for _number in range(10):
        stack.ask_traced(secrets.token_hex(16))


def test_what_is_switched_off_sends_nothing(stack: Traced, tmp_path: Path) -> None:
    """Endpoint pickers of the scheduler lines would send a tenth of their spans."""
    deploy(stack, tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel-collector.tracing:4317"}, llm_d_tracing={})
    time.sleep(SENT / 4)  # what was under way before has been sent
    begun = time.time()
    for _number in range(60):  # of which a tenth is none in two runs of a thousand
        stack.ask_traced(secrets.token_hex(16))
    time.sleep(SENT / 4)
    names = (GATEWAY, "llm-d-inference-scheduler", SERVER)  # that of the endpoint picker is its own where it is given none
    assert {name: stack.spans_of(name, begun) for name in names} == dict.fromkeys(names, [])


def test_what_is_switched_on_again_is_traced(stack: Traced, tmp_path: Path) -> None:
    deploy(stack, tmp_path)
    trace = secrets.token_hex(16)
    stack.ask_traced(trace)
    stack.has(trace, GATEWAY, SERVER)
