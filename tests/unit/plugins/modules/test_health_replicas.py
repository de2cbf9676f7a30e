# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many servers in one call: by URL, or pod by pod through an API server's proxy (a real HTTP server here)."""

from __future__ import annotations

import contextlib
import itertools
import json
import time

import pytest
from ansible_collections.llm_d.inference.plugins.modules import vllm_health, vllm_health_info
from engine_servers import TEXT, TINY, VLLM, cluster, engine, listed, pod
from local_servers import JSON, closed_port, serve

pytestmark = pytest.mark.usefixtures("clock")

SELECTOR = "llm-d.ai/model-service=tiny"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)


REPLICAS = {"namespace": "llm-d", "label_selector": SELECTOR}


def test_all_replicas_of_a_selector(call, monkeypatch):
    with cluster(monkeypatch, engine("vllm"), engine("vllm"), engine("vllm")):
        result = call(vllm_health, replicas={**REPLICAS, "count": 3}, level="metrics", timeout=60)
    assert result["healthy"] is True and "failed" not in result and result["findings"] == []
    assert [entry["server"] for entry in result["servers"]] == ["Pod llm-d/pod-0", "Pod llm-d/pod-1", "Pod llm-d/pod-2"]
    assert result["engine"] == "vllm" and result["version"] == "0.33.0" and result["metrics"]["block_size"] == {"name": "vllm:cache_config_info", "value": 16.0}


def test_all_replicas_of_a_service(call, monkeypatch):
    service = {"kind": "Service", "metadata": {"name": "tiny"}, "spec": {"selector": TINY, "ports": [{"port": 80, "targetPort": "http"}]}}
    with cluster(monkeypatch, engine("vllm"), engine("sglang"), objects={"/api/v1/namespaces/llm-d/services/tiny": service}):
        result = call(vllm_health_info, replicas={"namespace": "llm-d", "service": "tiny"}, level="metrics")
    assert [entry["healthy"] for entry in result["servers"]] == [True, True] and result["healthy"] is False
    assert {"mixed_engine", "mixed_version", "mixed_block_size"} <= {entry["code"] for entry in result["findings"]}
    assert result["engine"] is None and "the servers differ in engine" in result["msg"] and "failed" not in result


@pytest.mark.parametrize(
    "change, message",
    [
        ({"/version": (200, JSON, '{"version":"0.31.0"}')}, "differ in version"),
        ({"/v1/models": (200, JSON, listed("vllm", "acme/other"))}, "differ in models"),
        ({"/metrics": (200, TEXT, VLLM.replace('block_size="16"', 'block_size="64"'))}, "differ in block_size"),
    ],
)
def test_mixed_servers_are_not_healthy(call, monkeypatch, change, message):
    with cluster(monkeypatch, engine("vllm"), engine("vllm", **change)):
        result = call(vllm_health, replicas=REPLICAS, level="metrics", timeout=60, interval=30)
    assert result["failed"] is True and message in result["msg"] and "Remedy: " in result["msg"]


def test_a_failing_server_is_reported_with_the_cause_from_its_log(call, monkeypatch):
    dead = pod(
        "pod-dead",
        f"http://127.0.0.1:{closed_port()}",
        TINY,
        ready=False,
        containerStatuses=[
            {
                "name": "server",
                "restartCount": 5,
                "image": "vllm/vllm-openai:v0.33.0",
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
            }
        ],
    )
    logs = {"pod-dead": "INFO starting\nValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`\n"}
    with cluster(monkeypatch, engine("vllm"), dead, logs=logs):
        result = call(vllm_health, replicas=REPLICAS, timeout=60, interval=30)
    assert result["failed"] is True and "1 of 2 servers, Pod llm-d/pod-dead" in result["msg"] and "F18" in result["msg"] and "memory" in result["msg"]
    assert result["findings"][0]["code"] == "F18" and result["servers"][1]["ready"] is False


def test_too_few_servers_and_none(call, monkeypatch):
    with cluster(monkeypatch, engine("vllm")):
        assert "1 of 2 servers exist" in call(vllm_health, replicas={**REPLICAS, "count": 2}, timeout=60, interval=30)["msg"]
        result = call(vllm_health_info, replicas={"namespace": "llm-d", "label_selector": "a=b"})
    assert result["healthy"] is False and result["servers"] == [] and "no pod is selected" in result["msg"]


def test_a_set_is_waited_for(call, monkeypatch):
    count = itertools.count()

    def late(handler, method, path, body):
        return engine("vllm")(handler, method, path, body) if next(count) >= 3 else (503, {"Content-Type": "text/plain"}, "loading")

    with cluster(monkeypatch, engine("vllm"), late):
        result = call(vllm_health, replicas=REPLICAS, timeout=60, interval=1)
    assert result["healthy"] is True and result["looks"] > 1


def test_several_sets_in_one_call(call, monkeypatch):
    with contextlib.ExitStack() as stack:
        urls = [stack.enter_context(serve(engine("vllm"))) for _number in range(3)]
        other = {"llm-d.ai/model-service": "other"}
        stack.enter_context(cluster(monkeypatch, pod("pod-a", urls[0], TINY), pod("pod-b", urls[1], TINY), pod("pod-c", urls[2], other)))
        groups = [
            {"name": "tiny", "model": "acme/tiny", "replicas": {**REPLICAS, "count": 2}},
            {"name": "other", "model": "acme/small", "replicas": {"namespace": "llm-d", "label_selector": "llm-d.ai/model-service=other"}},
            {"name": "gone", "replicas": {"namespace": "llm-d", "service": "gone"}},
        ]
        result = call(vllm_health_info, groups=groups, level="metrics")
        healthy = call(vllm_health_info, groups=groups[:1], level="metrics")
    tiny, small, gone = result["groups"]
    assert [each["name"] for each in result["groups"]] == ["tiny", "other", "gone"] and result["healthy"] is False and "failed" not in result
    assert tiny["healthy"] is True and len(tiny["servers"]) == 2 and tiny["engine"] == "vllm"
    assert small["healthy"] is False and "not acme/small" in small["checks"][-1]["evidence"]
    assert gone["healthy"] is False and "there is no Service llm-d/gone" in gone["msg"]
    assert healthy["healthy"] is True


def test_a_group_can_require_its_own_metrics_signals(call, monkeypatch):
    page = "".join(line for line in VLLM.splitlines(True) if "lora" not in line)
    with cluster(monkeypatch, engine("vllm", **{"/metrics": (200, TEXT, page)})):
        result = call(
            vllm_health_info,
            level="metrics",
            groups=[{"name": "plain", "replicas": REPLICAS}, {"name": "adapters", "replicas": REPLICAS, "signals": ["waiting", "lora"]}],
        )
    plain, adapters = result["groups"]
    assert plain["healthy"] and not adapters["healthy"] and "vllm:lora_requests_info is not exported" in adapters["checks"][-1]["evidence"]


def test_an_empty_list_of_groups_passes_and_an_invalid_group_is_named(call):
    assert call(vllm_health_info, groups=[])["groups"] == []
    result = call(vllm_health_info, groups=[{"name": "tiny", "replicas": {**REPLICAS, "count": 0}}])
    assert result["failed"] is True and result["msg"].startswith("tiny: replicas.count is 0")
    assert "mutually exclusive" in call(vllm_health_info, groups=[], url="http://127.0.0.1:1")["msg"]


@pytest.mark.timing
def test_servers_are_checked_in_parallel(call):
    def sleepy(handler, method, path, body):
        time.sleep(0.2)
        return engine("vllm")(handler, method, path, body)

    with contextlib.ExitStack() as stack:
        urls = [stack.enter_context(serve(sleepy)) for _number in range(8)]
        start = time.monotonic()
        result = call(vllm_health_info, urls=urls)
    # one after the other, eight servers with five pages each would take eight seconds
    assert result["healthy"] is True and len(result["servers"]) == 8 and time.monotonic() - start < 6


def test_one_pod_and_a_gateway(call, monkeypatch):
    gateway = {
        "kind": "Gateway",
        "apiVersion": "gateway.networking.k8s.io/v1",
        "metadata": {"name": "gw", "namespace": "llm-d"},
        "spec": {"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    }
    objects = {
        "/apis/gateway.networking.k8s.io/v1": {"resources": [{"name": "gateways", "kind": "Gateway", "namespaced": True}]},
        "/apis/gateway.networking.k8s.io/v1/namespaces/llm-d/gateways/gw": gateway,
        "/api/v1/services": {"items": [{"metadata": {"name": "envoy-gw", "namespace": "envoy-gateway-system"}}]},
    }
    with cluster(monkeypatch, engine("vllm"), objects=objects):
        one = call(vllm_health_info, pod={"namespace": "llm-d", "name": "pod-0", "port": "http"})
        through = call(vllm_health_info, gateway={"namespace": "llm-d", "name": "gw"})
        no_listener = call(vllm_health_info, gateway={"namespace": "llm-d", "name": "gw", "listener": "https"})
        absent = call(vllm_health_info, pod={"namespace": "llm-d", "name": "pod-9"})
    assert one["healthy"] is True and one["servers"][0]["server"] == "Pod llm-d/pod-0"
    assert through["healthy"] is True and through["servers"][0]["server"] == "Service envoy-gateway-system/envoy-gw"
    assert "has no listener https; it has http" in no_listener["msg"] and "there is no Pod llm-d/pod-9" in absent["msg"]


def test_info_reports_and_does_not_fail(call):
    result = call(vllm_health_info, url=f"http://127.0.0.1:{closed_port()}", retries=0)
    assert result["healthy"] is False and "failed" not in result and result["checks"][0]["kind"] == "refused" and result["looks"] == 1


def test_vllm_health_info_retries_after_a_503_answer(call):
    calls = []

    def answer(handler, method, path, body):
        calls.append(path)
        return engine("vllm")(handler, method, path, body) if len(calls) > 1 else (503, {"Content-Type": "text/plain"}, "one moment")

    with serve(answer) as url:
        assert call(vllm_health_info, url=url)["healthy"] is True
    assert calls[:2] == ["/health", "/health"]


def test_check_mode_sends_no_completion(call):
    with serve(engine("vllm", **{"/v1/completions": (500, "text/plain", "must not be asked")})) as url:
        result = call(vllm_health_info, check=True, url=url, level="metrics")
        waited = call(vllm_health, check=True, url=url, level="metrics")
    assert result["healthy"] is True and result["level"] == "metrics" and waited["healthy"] is True


def test_an_error_inside_the_stream_of_one_replica(call, monkeypatch):
    def broken(handler, method, path, body):
        if path == "/v1/completions" and json.loads(body).get("stream"):
            return 200, {"Content-Type": "text/event-stream"}, 'data: {"error":{"message":"EngineDeadError","code":500}}\n\ndata: [DONE]\n\n'
        return engine("vllm")(handler, method, path, body)

    with cluster(monkeypatch, engine("vllm"), broken):
        result = call(vllm_health_info, replicas=REPLICAS)
    assert [entry["healthy"] for entry in result["servers"]] == [True, False] and result["checks"][-1]["kind"] == "error_in_stream"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"urls": []}, ""),
        ({"url": "http://a", "retries": -1}, "retries is -1"),
        ({"replicas": {"namespace": "a"}}, "service, label_selector"),
        ({"url": "http://a", "client_key": "/k"}, "client_cert"),
        ({"url": "http://a", "urls": ["http://b"]}, "mutually exclusive"),
        ({"replicas": {"namespace": "a", "service": "b", "count": 0}}, "replicas.count is 0"),
        ({"gateway": {"namespace": "a", "name": "b"}, "host_header": "x.example"}, "host_header cannot be sent through the API server"),
    ],
)
def test_options_that_do_not_fit(call, options, message):
    result = call(vllm_health_info, **options)
    assert (result.get("failed") is True or not message) and message in result.get("msg", "") and "\n" not in result.get("msg", "")
