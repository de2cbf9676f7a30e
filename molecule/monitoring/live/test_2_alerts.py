"""Each alert fires during its fault and resolves afterwards; the Alertmanager receives both.

Alerts that take minutes to fire are in tests/contract/test_alerts.py.
"""

from __future__ import annotations

import contextlib
import os
import signal

from live_stack import NAMESPACE, call, until
from watched import MODEL, SERVICE, Watched, load


def test_no_alert_fires_on_a_healthy_stack(stack: Watched) -> None:
    stack.resolves("LlmDServerDown", "LlmDEndpointPickerDown", "LlmDNoReadyServers", "LlmDQueueHigh", "LlmDKvCacheFull", "LlmDRequestErrors")


def test_a_server_that_hangs(stack: Watched) -> None:
    pod = next(iter(stack.servers(SERVICE)))
    processes = stack.processes(pod, "llm-d-inference-sim")
    assert processes
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        stack.fires("LlmDServerDown")
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):  # its liveness probe may have restarted it
                os.kill(process, signal.SIGCONT)
    stack.resolves("LlmDServerDown")


def test_an_endpoint_picker_that_is_gone(stack: Watched) -> None:
    stack.scale(f"{SERVICE}-epp", 0)
    try:
        stack.fires("LlmDEndpointPickerDown")
        until(lambda: "LlmDEndpointPickerDown" in stack.alerts(), 60, "the Alertmanager has the alert")
        alert = stack.alerts()["LlmDEndpointPickerDown"]
    finally:
        stack.scale(f"{SERVICE}-epp", 1)
    stack.resolves("LlmDEndpointPickerDown")
    until(lambda: "LlmDEndpointPickerDown" not in stack.alerts(), 60, "the Alertmanager has resolved the alert")
    # The labels that Alertmanager routes match, and the annotations that users read.
    assert {"severity": "critical", "namespace": NAMESPACE, "model_service": SERVICE}.items() <= alert["labels"].items(), alert
    assert f"{NAMESPACE}/{SERVICE}" in alert["annotations"]["summary"] and alert["annotations"]["runbook_url"].endswith("#llmdendpointpickerdown"), alert


def test_queues(stack: Watched) -> None:
    with load(stack.servers(SERVICE).values(), 16, "Wait for it.", 400):
        stack.fires("LlmDQueueHigh")
    stack.resolves("LlmDQueueHigh")


def test_full_caches(stack: Watched) -> None:
    address = next(iter(stack.servers(SERVICE).values()))
    status, _headers, content = call(f"http://{address}:8000/v1/completions", {"model": MODEL, "prompt": "word " * 100, "max_tokens": 1})
    assert status == 200, content
    used = int(content.split(b'"prompt_tokens":')[1].split(b",")[0].split(b"}")[0])
    words = 15_000 * 100 // used  # the cache has a capacity of 22,400 tokens
    with load(stack.servers(SERVICE).values(), 1, "word " * words, 2000):
        stack.fires("LlmDKvCacheFull")
    stack.resolves("LlmDKvCacheFull")


def test_request_errors_without_ready_servers_fire_alerts(stack: Watched) -> None:
    stack.scale(f"{SERVICE}-decode", 0)
    try:
        for _number in range(400):
            status = call(f"{stack.url(SERVICE)}/v1/completions", {"model": MODEL, "prompt": "Is anybody there?", "max_tokens": 1})[0]
            assert status >= 429, "no server could answer"
            if {"LlmDNoReadyServers", "LlmDRequestErrors"} <= stack.firing():
                break
        stack.fires("LlmDNoReadyServers", "LlmDRequestErrors")
    finally:
        stack.scale(f"{SERVICE}-decode", 2)
    stack.resolves("LlmDNoReadyServers")
    stack.resolves("LlmDRequestErrors", seconds=400)  # its rate covers five minutes
