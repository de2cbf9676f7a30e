# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An endpoint picker in a Pod: its ports are forwarded through the API server, and obstacles are reported."""

from __future__ import annotations

import collections.abc as c
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.picker_bench import PickerBench
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.picker_checks import PickerRequest, Skipped
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import Cluster
from engine_servers import ApiServer, pod
from fake_clock import FakeClock
from kubernetes.client import Configuration
from local_servers import serve
from stub_picker import StubPicker

Facts = dict[str, t.Any]
LABELS = {"app": "picker"}
POOL: Facts = {
    "metadata": {"name": "sim", "namespace": "llm-d"},
    "spec": {"selector": {"matchLabels": {"app": "sim"}}, "targetPorts": [{"number": 80}], "endpointPickerRef": {"name": "sim-epp", "port": {"number": 9002}}},
}
SERVICE = {"metadata": {"name": "sim-epp"}, "spec": {"selector": LABELS, "ports": [{"port": 9002, "targetPort": 9102}]}}
OPTIONS: Facts = {
    "model": "m", "bound": 1, "address": "", "health_address": "", "metrics_address": "", "probe_image": "", "stop": False, "url": "", "headers": {},
    "validate_certs": True, "ca_path": None,
}  # fmt: skip


@pytest.fixture
def deployed() -> c.Iterator[tuple[ApiServer, PickerBench, StubPicker]]:
    stub = StubPicker(lambda: {"": ["10.0.0.1:80"], "unready": [], "terminating": []})
    pods = [pod("gone", "http://127.0.0.1:1", LABELS, ready=False), pod("picker", f"http://{stub.address}", LABELS)]
    pods.append(pod("server", "http://127.0.0.1:1", {"app": "sim"}, podIP="10.0.0.1"))
    api = ApiServer(pods, {"/api/v1/namespaces/llm-d/services/sim-epp": SERVICE})
    with serve(api) as url:
        configuration = Configuration()
        configuration.host = url
        bench = PickerBench(Cluster(configuration, {}), POOL, OPTIONS)
        yield api, bench, stub
        bench.close()
        assert api.closed(), "no port stays forwarded"
    stub.close()


def test_small_and_large_requests_pass_through_a_forwarded_port(deployed: tuple[ApiServer, PickerBench, StubPicker]) -> None:
    api, bench, _stub = deployed
    body = b'{"messages": "' + b"x" * (2 << 20) + b'"}'
    large, small = bench.ask([PickerRequest(body), PickerRequest(b"{}")])
    assert bench.endpoints == large.endpoints == small.endpoints == ["10.0.0.1:80"] and large.body == body
    assert {(name, port) for _key, name, port in api.port_forwards} == {("picker", 9102)}, "the ready Pod, and the port behind that of the Service"
    assert bench.health("liveness") == "SERVING" and api.port_forwards[-1][1:] == ("picker", 9003)


def test_obstacles_are_reported(deployed: tuple[ApiServer, PickerBench, StubPicker]) -> None:
    api, bench, _stub = deployed
    api.refuses = 403
    assert "not here" in bench.ask([PickerRequest()])[0].error
    api.refuses, picker = 0, api.pods.pop(1)
    assert "no ready Pod of the endpoint picker" in bench.ask([PickerRequest()])[0].error
    del api.objects["/api/v1/namespaces/llm-d/services/sim-epp"]
    assert "the Service llm-d/sim-epp, which does not exist" in bench.ask([PickerRequest()])[0].error
    api.pods.append(picker)
    for forbidden in (bench.probe, bench.stopped):
        with pytest.raises(Skipped, match="not allowed: conformance_"), forbidden():
            pass


def test_a_broken_connection_to_the_endpoint_picker_is_reopened(deployed: tuple[ApiServer, PickerBench, StubPicker]) -> None:
    _api, bench, stub = deployed
    assert bench.ask([PickerRequest()])[0].endpoints
    stub.break_with("leaks")
    broken = [bench.break_off(PickerRequest(b"{}" * 300, piece=10)) for _index in range(4)]
    assert broken[-1].error
    stub.break_with()
    assert bench.ask([PickerRequest()])[0].endpoints


def test_waiting_ends_when_the_condition_holds_or_after_the_bound() -> None:
    """The condition is checked again, and the seconds until it holds are returned."""
    clock, times = FakeClock(), list[float]()
    bench = PickerBench(Cluster(Configuration(), {}, clock=clock), POOL, {**OPTIONS, "bound": 7})

    def check() -> bool:
        times.append(clock.time)
        return len(times) == 3

    assert bench.until(check) == clock.time - times[0] > 0
    assert bench.until(lambda: False) is None and 7 < clock.time - times[-1] < 8
