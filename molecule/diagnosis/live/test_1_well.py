"""A healthy stack has no finding, idle or under load. An unreachable API server or a missing namespace is the only cause."""

from __future__ import annotations

import json
import threading

from ansible_collections.llm_d.inference.plugins.module_utils.common import prometheus_text as prometheus
from live_stack import call, until
from stack import MODEL, Stack
from strangers import neighbours


def test_an_idle_stack(stack: Stack) -> None:
    report = stack.diagnose(diagnose_evidence=True)
    assert report["findings"] == [] and report["not_read"] == [], report
    print(f"{report['seconds']} s, {report['looked_at']}")
    assert "summary.txt" in {path.name for path in (stack.artifacts / "diagnose").iterdir()}


def test_a_stack_with_neighbours(stack: Stack) -> None:
    undo = neighbours(stack)
    try:
        report = stack.diagnose()
    finally:
        for remove in undo:
            remove()
    assert report["findings"] == [], report


def waiting(stack: Stack) -> float:
    """The number of requests in the servers' queues."""
    pages = [call(f"http://{address}:8000/metrics")[2].decode() for address in stack.servers().values()]
    return sum(prometheus.total(prometheus.parse(page), "vllm:num_requests_waiting") or 0 for page in pages)


def test_a_stack_under_full_load(stack: Stack) -> None:
    stop, url, statuses, queue_lengths, reports = threading.Event(), f"{stack.gateway()}/v1/completions", [], [], []

    def load() -> None:
        while not stop.is_set():
            statuses.append(call(url, {"model": MODEL, "prompt": "on and on " * 50, "max_tokens": 64}, 60)[0])

    threads = [threading.Thread(target=load, daemon=True) for _number in range(24)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: waiting(stack) > 0, 30, "requests wait in the queue")
        for _number in range(3):
            queue_lengths.append(waiting(stack))
            reports.append(stack.diagnose())
        queue_lengths.append(waiting(stack))  # the load outlasts the last diagnosis
        assert all(thread.is_alive() for thread in threads), "a client thread has failed"
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    print(f"{len(statuses)} requests; in the queue before each diagnosis and after the last one: {queue_lengths}")
    assert all(length > 0 for length in queue_lengths), queue_lengths
    assert set(statuses) == {200} and len(statuses) > 100
    assert [entry["findings"] for entry in reports] == [[], [], []], json.dumps(reports, indent=1)


def test_no_api_server(stack: Stack, tmp_path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {"token": "none"}}],
            }
        ),
        encoding="utf-8",
    )
    report = stack.diagnose(llm_d_kubeconfig=str(kubeconfig))
    assert [entry["code"] for entry in report["findings"]] == ["api"] and "\n" not in report["summary"]


def test_a_namespace_that_is_not_there(stack: Stack) -> None:
    report = stack.diagnose(llm_d_namespace="nowhere")
    assert report["findings"][0]["code"] == "namespace"
    assert [entry["code"] for entry in report["findings"] if entry["kind"] == "cause"] == ["namespace"]
