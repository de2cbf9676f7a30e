"""A trace follows a request through gateway, endpoint picker and server; a collector that fails costs no request."""

from __future__ import annotations

import secrets
import statistics
import time

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from live_stack import NAMESPACE, until
from plays import ROOT
from traced import GATEWAY, PICKER, SENT, SERVER, SERVICE, Traced

LINE = yaml.safe_load((ROOT / "inventories/local/group_vars/all/llm_d.yml").read_text(encoding="utf-8"))["llm_d_release"]


def test_one_request_is_followed_by_its_trace_id(stack: Traced) -> None:
    trace, begun = secrets.token_hex(16), time.time()
    client, _seconds = stack.ask_traced(trace)
    spans = stack.has(trace, GATEWAY, SERVER)
    until(lambda: bool(stack.spans_of(PICKER, begun)), SENT, "spans of the endpoint picker")
    for span in sorted(stack.spans(trace), key=lambda each: each.begin):
        print(f"{span.service} {span.name}: {(span.end - span.begin) / 1e6:.1f} ms, parent {span.parent}")
    gateways = [span for span in spans if span.service == GATEWAY]
    first = min(gateways, key=lambda span: span.begin)
    assert first.parent == client, "the gateway continues the trace of its client"
    assert {span.parent for span in spans if span.service == SERVER} <= {span.id for span in spans}, "the server continues the trace of the gateway"
    assert {pod.service for pod in spans} >= {GATEWAY, SERVER}

    # The endpoint picker's span of this request, the only one, lies within that of the gateway.
    picks = [span for span in stack.spans_of(PICKER, begun) if span.name == "gateway.request"]
    print(f"endpoint picker: {picks}")
    assert len(picks) == 1
    assert first.begin <= picks[0].begin and picks[0].end <= first.end + 1_000_000_000
    assert (picks[0].trace == trace) == RELEASES[LINE]["tracing"]["joins"], f"as the table of releases states for {LINE}"


def test_a_request_that_its_client_leaves_out_is_not_traced(stack: Traced) -> None:
    left_out, traced = secrets.token_hex(16), secrets.token_hex(16)
    stack.ask_traced(left_out, sampled=False)
    stack.ask_traced(traced)
    stack.has(traced, GATEWAY, SERVER)
    assert stack.spans(left_out) == []


@pytest.mark.parametrize("way", ["gone", "hung"])
def test_a_collector_that_does_not_answer_costs_no_request(stack: Traced, way: str) -> None:
    usual = [stack.ask_traced(secrets.token_hex(16))[1] for _number in range(10)]
    before = restarts(stack)
    with getattr(stack, way)():
        begun, without = time.monotonic(), []
        while time.monotonic() < begun + 25:  # longer than the ten seconds after which senders time out and retry
            without.append(stack.ask_traced(secrets.token_hex(16))[1])
    print(f"seconds of a request: {statistics.median(usual):.3f} with the collector")
    print(f"without: {statistics.median(without):.3f}, at most {max(without):.3f}, {len(without)} requests")
    assert len(without) > 5, "all were answered, otherwise ask_traced would have raised"
    assert restarts(stack) == before

    def traced_again() -> bool:
        trace = secrets.token_hex(16)
        stack.ask_traced(trace)
        try:
            stack.has(trace, GATEWAY, SERVER)
        except AssertionError:
            return False
        return True

    until(traced_again, 180, "spans arrive once the collector answers")


def restarts(stack: Traced) -> dict[str, int]:
    """{pod: number of restarts} of the stack."""
    pods = stack.core.list_namespaced_pod(NAMESPACE, label_selector=f"llm-d.ai/model-service={SERVICE}").items
    return {pod.metadata.name: sum(status.restart_count for status in pod.status.container_statuses or []) for pod in pods}
