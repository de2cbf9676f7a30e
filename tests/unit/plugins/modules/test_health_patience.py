# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wait tolerates short failures of the API server and objects that appear later; errors that no wait resolves fail at once, with a clear message."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.clock import SYSTEM
from ansible_collections.llm_d.inference.plugins.module_utils.inference.endpoints import wait_for_gateway, wait_for_service
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError, ClusterError
from ansible_collections.llm_d.inference.plugins.modules import vllm_health
from engine_servers import ApiServer, cluster, engine

REPLICAS = {"namespace": "llm-d", "label_selector": "llm-d.ai/model-service=tiny"}
POD = {"namespace": "llm-d", "name": "pod-0"}
SERVICE = {
    "kind": "Service",
    "metadata": {"name": "tiny"},
    "spec": {"selector": {"llm-d.ai/model-service": "tiny"}, "ports": [{"port": 80, "targetPort": "http"}]},
}
pytestmark = pytest.mark.usefixtures("clock")

PLUGINS = Path(__file__).resolve().parents[4] / "plugins"


@pytest.fixture(name="first")
def first_answers(monkeypatch):
    """Makes the API server answer its first requests whose path ends in `end` with these statuses; gives the paths of all requests."""

    def begin(*answers, end=""):
        left, paths, real = list(answers), [], ApiServer.__call__

        def answer(self, handler, method, path, body):
            paths.append(path)
            if left and "/proxy/" not in path and path.partition("?")[0].endswith(end):
                status = left.pop(0)
                return ApiServer.status(status, "Trouble", f"{status} for the test") if status else None
            return real(self, handler, method, path, body)

        monkeypatch.setattr(ApiServer, "__call__", answer)
        return paths

    return begin


@pytest.mark.parametrize("place", [{"replicas": REPLICAS}, {"pod": POD}, {"replicas": {"namespace": "llm-d", "service": "tiny"}}])
@pytest.mark.parametrize("answers", [(503,), (500, 504, 502), (None,), (503, None, 429)])
def test_hiccups_of_the_api_server_are_borne(call, monkeypatch, first, place, answers):
    first(*answers)
    with cluster(monkeypatch, engine("vllm"), objects={"/api/v1/namespaces/llm-d/services/tiny": SERVICE}):
        result = call(vllm_health, **place, timeout=60, interval=0.1)
    assert result["healthy"] is True and "failed" not in result


def test_an_overloaded_api_server_fails_the_wait_at_its_timeout(call, monkeypatch, first, clock):
    first(*[503] * 1000)
    with cluster(monkeypatch, engine("vllm")):
        result = call(vllm_health, replicas=REPLICAS, timeout=20, interval=1)
    assert result["failed"] is True and "overloaded or not ready (503)" in result["msg"] and sum(clock.sleeps) == 20


@pytest.mark.parametrize(
    ("place", "end"),
    [({"pod": POD}, "/pods/pod-0"), ({"replicas": {"namespace": "llm-d", "service": "tiny"}}, "/services/tiny"), ({"replicas": REPLICAS}, "/pods")],
)
def test_a_missing_target_that_appears_later_is_waited_for(call, monkeypatch, first, place, end):
    with cluster(monkeypatch, engine("vllm"), objects={"/api/v1/namespaces/llm-d/services/tiny": SERVICE}) as api:
        pods, api.pods = api.pods, [] if end == "/pods" else api.pods
        paths = first(*([404] * 3 if end != "/pods" else []), end=end)
        if end == "/pods":
            monkeypatch.setattr(api, "pods", Later(paths, pods, 3))
        result = call(vllm_health, **place, timeout=60, interval=0.1)
    assert result["healthy"] is True and result["looks"] > 3


class Later:
    """Pods that exist from the `after`-th request on."""

    def __init__(self, paths, pods, after):
        self.paths, self.pods, self.after = paths, pods, after

    def __iter__(self):
        return iter(self.pods if sum("/pods?" in path for path in self.paths) > self.after else [])

    def __getitem__(self, index):
        return self.pods[index]


def test_a_pod_that_never_appears_is_reported_at_the_timeout(call, monkeypatch):
    with cluster(monkeypatch):
        result = call(vllm_health, pod=POD, timeout=50, interval=10)
    assert result["failed"] is True and result["looks"] == 6 and result["waited"] == 50
    assert "there is no Pod llm-d/pod-0. Remedy: correct pod.namespace or pod.name" in result["msg"]


@pytest.mark.parametrize(
    ("status", "place", "message"),
    [
        (401, {"replicas": REPLICAS}, "does not accept the credentials (401)"),
        (403, {"replicas": REPLICAS}, "forbids GET /api/v1/namespaces/llm-d/pods (403)"),
        (403, {"pod": POD}, "forbids GET /api/v1/namespaces/llm-d/pods/pod-0 (403)"),
        (None, {"replicas": {**REPLICAS, "namespace": "gone"}}, "there is no namespace gone: correct replicas.namespace"),
        (None, {"pod": {**POD, "namespace": "gone"}}, "there is no namespace gone: correct pod.namespace"),
    ],
)
def test_an_error_that_waiting_cannot_resolve_fails_at_once(call, monkeypatch, first, status, place, message):
    paths = first(*([status] * 100 if status else []))
    with cluster(monkeypatch, *([engine("vllm")] if status else [])):
        result = call(vllm_health, **place, timeout=600, interval=0.1)
    assert result["failed"] is True and message in result["msg"] and len(paths) <= 2


def test_no_right_to_use_the_proxy_fails_at_once(call, monkeypatch):
    with cluster(monkeypatch, engine("vllm")):
        monkeypatch.setattr(ApiServer, "proxy", lambda self, *rest: self.status(403, "Forbidden", "no"))
        result = call(vllm_health, replicas=REPLICAS, timeout=600, interval=0.1)
    assert result["failed"] is True and result["looks"] == 1 and "pods/proxy" in result["msg"].replace("services/proxy", "pods/proxy")


class Refusing:
    """A reader that answers with this status, and counts the requests; the namespace exists or not."""

    def __init__(self, status, namespace=True):
        self.status, self.namespace, self.requests, self.clock = status, namespace, 0, SYSTEM

    def get(self, path):
        self.requests += 1
        status = self.status if not path.endswith("/namespaces/llm-d") or self.status != 404 else None if self.namespace else 404
        if status:
            raise ApiError(f"answered {status}", status, "", "")
        return {}


@pytest.mark.parametrize(("status", "namespace"), [(401, True), (403, True), (404, False)])
def test_an_address_is_not_awaited_without_access_or_namespace(status, namespace):
    message = "there is no namespace llm-d" if status == 404 else f"answered {status}"
    outcome = wait_for_gateway(Refusing(status, namespace), {"namespace": "llm-d", "name": "gw"}, 600)
    assert message in outcome["message"] and outcome["url"] is None
    with pytest.raises(ClusterError, match=message):
        wait_for_service(Refusing(status, namespace), {"namespace": "llm-d", "name": "s", "port": 80}, 600)


@pytest.mark.parametrize("status", [404, 503])
def test_an_address_is_awaited_while_the_api_server_answers_404_or_503(clock, status):
    for wait in (lambda reader: wait_for_gateway(reader, {"namespace": "llm-d", "name": "gw"}, 30),
                 lambda reader: wait_for_service(reader, {"namespace": "llm-d", "name": "s", "port": 80}, 30)):  # fmt: skip
        clock.sleeps.clear()
        wait(Refusing(status))
        assert sum(clock.sleeps) == 31


# Loops that sleep and need no patience of the cluster: (file, why).
OTHERS = {
    "module_utils/benchmark/runner.py": "of its own requests",
    "modules/host_residue.py": "of this host",
    "modules/supervised.py": "of this host",
    "plugin_utils/run_files.py": "of this host",
    "module_utils/k8s/client.py": "patience itself",
    "module_utils/inference/health.py": "polls servers; targets.py is patient",
    "module_utils/inference/endpoints.py": "goes on after all that may pass, with any reader",
    "module_utils/validation/monitoring_claims.py": "asks Prometheus",
    "module_utils/validation/probe_traffic.py": "sends requests to gateways",
    "module_utils/validation/routing_probe.py": "sends requests to gateways",
    "module_utils/validation/shares.py": "sends requests to gateways; the counters are read from pods, each once",
}


def test_every_loop_that_waits_is_patient():
    waiting = set()
    for path in sorted(PLUGINS.rglob("*.py")):
        if path.is_symlink() or {"local_cluster", "loadgen"} & set(path.parts):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        loops = [node for node in ast.walk(tree) if isinstance(node, ast.While)]
        if any(isinstance(part, ast.Attribute) and part.attr == "sleep" for loop in loops for part in ast.walk(loop)):
            waiting.add(str(path.relative_to(PLUGINS)))
    impatient = {name for name in waiting if "be_patient(" not in (PLUGINS / name).read_text(encoding="utf-8")}
    assert len(waiting) > 12 and impatient - set(OTHERS) == set()
