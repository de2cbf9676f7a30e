# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of GPUs are checked on each node of a pool, wherever the exporters are. A test pod does not replace a pod of others."""

from __future__ import annotations

import json
import types
import urllib.parse

import kubernetes
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ClusterError
from ansible_collections.llm_d.inference.plugins.modules.gpu_checks import missing_metrics, run
from fake_clock import FakeClock
from local_servers import serve

PAGE = 'DCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="gpu-1"} 3\n'
EXPORTER = {
    "metadata": {"name": "dcgm-x7k2p", "namespace": "nvidia", "labels": {"app": "nvidia-dcgm-exporter"}},
    "spec": {"nodeName": "gpu-1", "containers": [{"name": "exporter", "ports": [{"name": "metrics", "containerPort": 9500}]}]},
    "status": {"phase": "Running"},
}
OTHER = {"metadata": {"name": "web", "namespace": "nvidia", "labels": {"app": "web"}}, "spec": {"nodeName": "gpu-2"}, "status": {"phase": "Running"}}


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    monkeypatch.setattr(kubernetes.client.Configuration, "_default", None)


def answer(handler, method, path, body):
    """An API server with two nodes, of which one has an exporter, in a namespace that is not the operator's usual one. It understands selectors."""
    path, _mark, query = path.partition("?")
    if path == "/api/v1/namespaces/nvidia/pods/dcgm-x7k2p:9500/proxy/metrics":
        return 200, {}, PAGE
    nodes = [{"metadata": {"name": name, "labels": {"pool": name}}} for name in ("gpu-1", "gpu-2")]
    lists = {"/api/v1/nodes": nodes, "/api/v1/pods": [EXPORTER, OTHER], "/api/v1/namespaces/gpu-operator/pods": []}
    if path not in lists:
        return 404, {}, "{}"
    pairs = dict(pair.split("=") for pair in urllib.parse.parse_qs(query)["labelSelector"][0].split(","))
    return 200, {}, json.dumps({"items": [item for item in lists[path] if pairs.items() <= item["metadata"]["labels"].items()]})


@pytest.mark.parametrize(
    ("namespace", "pool", "cut", "words"),
    [
        (None, "gpu-1", False, None),
        (None, "gpu-1", True, "DCGM_FI_PROF_GR_ENGINE_ACTIVE"),
        (None, "gpu-2", False, "node gpu-2: no pod of DCGM's exporter runs on it"),
        ("gpu-operator", "gpu-1", False, "node gpu-1: no pod of DCGM's exporter runs on it"),
    ],
)
def test_a_pool_node_without_gpu_metrics_is_reported(namespace, pool, cut, words):
    metrics = {"namespace": namespace, "selector": "app=nvidia-dcgm-exporter", "pools": [{"selector": f"pool={pool}", "cut": cut}]}
    with serve(answer) as url:
        lines = missing_metrics(connect(types.SimpleNamespace(params={"host": url, "api_key": "x-token-12345678"})), metrics)
    assert (not lines) if words is None else (len(lines) == 1 and words in lines[0])


def test_a_foreign_pod_with_the_name_of_a_test_pod_is_not_replaced():
    def foreign_pod(_handler, method, path, _body):
        methods.append(method)
        return (
            200,
            {},
            json.dumps({"kind": "Pod", "metadata": {"name": "gpu-test-a-gpu", "namespace": "llm-d", "labels": {"app.kubernetes.io/part-of": "shop"}}}),
        )

    methods = []
    pod = {"metadata": {"name": "gpu-test-a-gpu", "namespace": "llm-d", "labels": {"app.kubernetes.io/part-of": "llm-d"}}}
    with serve(foreign_pod) as url, pytest.raises(ClusterError, match="there is a Pod llm-d/gpu-test-a-gpu of shop; write another name for the pool a"):
        run(connect(types.SimpleNamespace(params={"host": url, "api_key": "x-token-12345678"})), [{"pool": "a", "resource": "nvidia.com/gpu", "pod": pod}], 0.0)
    assert set(methods) == {"GET"}


def test_a_pod_that_a_finalizer_holds_is_reported_and_not_waited_for_without_end():
    """Before its run and after it: a left pod ends the run with an error, a pod of this run is one of its problems."""
    labels = {"app.kubernetes.io/part-of": "llm-d"}
    made = {"metadata": {"name": "gpu-test-a-gpu", "namespace": "llm-d", "labels": labels}}
    pods = {}

    def held(_handler, method, _path, body):
        if method == "POST":
            metadata = {**json.loads(body)["metadata"], "finalizers": ["keep.example.com/logs"]}
            pods["gpu-test-a-gpu"] = {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "gpu-1"}, "status": {"phase": "Succeeded"}}
        return (200, {}, json.dumps(pods["gpu-test-a-gpu"])) if pods else (404, {}, "{}")

    test = {"pool": "a", "resource": "nvidia.com/gpu", "pod": made}
    with serve(held) as url:
        cluster = connect(types.SimpleNamespace(params={"host": url, "api_key": "x-token-12345678"}), clock=FakeClock())
        succeeded, problems = run(cluster, [test], 0.0)
        assert succeeded == ["pool a: nvidia.com/gpu on gpu-1"]
        assert len(problems) == 1 and "finalizer keep.example.com/logs of the controller of keep.example.com" in problems[0]
        with pytest.raises(ClusterError, match="the test pod gpu-test-a-gpu is being deleted, held by"):
            run(cluster, [test], 0.0)
