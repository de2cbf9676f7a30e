"""Prefill and decode servers have a Service each, and the prefill Service is removed with its servers."""

from __future__ import annotations

from ansible_collections.llm_d.inference.plugins.module_utils.common import prometheus_text
from stack import MODEL, SIM, Stack, call

SPLIT = {**SIM, "replicas": 1, "prefill": {"replicas": 2}, "scheduler": {"preset": "disaggregated"}}


def answered(address: str) -> float:
    """The number of requests that a server has answered."""
    samples = prometheus_text.parse(call(f"http://{address}:8000/metrics")[2].decode())
    return prometheus_text.total(samples, "vllm:request_success_total") or 0.0


def test_prefill_servers_answer_at_a_service_of_their_own(stack: Stack) -> None:
    stack.serves(SPLIT)
    services = stack.named("v1", "Service")
    prefill, decode = stack.servers("sim", "prefill"), stack.servers("sim", "decode")
    assert (len(prefill), len(decode)) == (2, 1)
    assert services["sim-prefill"]["metadata"]["labels"]["llm-d.ai/role"] == "prefill"
    for name, pods in (("sim-prefill", prefill), ("sim", decode)):
        before = {pod: answered(address) for pod, address in (prefill | decode).items() if pod in prefill}
        address = services[name]["spec"]["clusterIP"]
        answers = [call(f"http://{address}:8000/v1/completions", {"model": MODEL, "prompt": f"Stage {number}?", "max_tokens": 1}) for number in range(20)]
        assert [status for status, _headers, _body in answers] == [200] * 20
        assert {headers["x-inference-pod"] for _status, headers, _body in answers} == set(pods), name
        by_prefill = sum(answered(each) - before[pod] for pod, each in prefill.items())
        assert (by_prefill >= 20) == (name == "sim-prefill"), (name, by_prefill)
    assert stack.ask("sim", "who answers?") in decode
    assert "changed=0 " in stack.serves(SPLIT)

    stack.serves(SIM)
    assert "sim-prefill" not in stack.named("v1", "Service") and not stack.servers("sim", "prefill")
    assert "changed=0 " in stack.serves(SIM)
