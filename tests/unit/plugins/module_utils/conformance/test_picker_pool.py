# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoints of a pool, the ports of its endpoint picker, and the Pod for probing."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.conformance import picker_pool

Facts = dict[str, t.Any]
POOL: Facts = {
    "apiVersion": "inference.networking.k8s.io/v1",
    "kind": "InferencePool",
    "metadata": {"name": "p" * 70, "uid": "5d1f"},
    "spec": {
        "selector": {"matchLabels": {"app": "x"}},
        "targetPorts": [{"number": 8000}, {"number": 8001}],
        "endpointPickerRef": {"name": "p-epp", "port": {"number": 9002}, "failureMode": "FailOpen"},
    },
}
OLD: Facts = {"spec": {"selector": {"app": "x"}, "targetPortNumber": 8000, "extensionRef": {"name": "p-epp"}}}


def pod(address: str, ready: str = "True", **metadata: str) -> Facts:
    return {"metadata": metadata, "status": {"podIP": address, "conditions": [{"type": "Ready", "status": ready}]}}


def test_each_port_of_each_ready_pod_is_an_endpoint() -> None:
    pods = [pod("10.0.0.2"), pod("10.0.0.1"), pod("10.0.0.3", "False"), pod("10.0.0.4", deletionTimestamp="now"), pod(""), {"metadata": {}}, pod("fd00::1")]
    offered = [f"{host}:{port}" for host in ("10.0.0.1", "10.0.0.2", "[fd00::1]") for port in (8000, 8001)]
    assert picker_pool.endpoints(POOL, pods) == offered
    assert picker_pool.endpoints(OLD, pods[:1]) == ["10.0.0.2:8000"]


@pytest.mark.parametrize(("target", "port"), [(9002, 9002), (9102, 9102), ("grpc", 9202), ("none", 9002), (None, 9002)])
def test_the_target_port_of_the_picker_service_is_resolved(target: Facts | int | str | None, port: int) -> None:
    service = {"spec": {"ports": [{"port": 1}, {"port": 9002, **({} if target is None else {"targetPort": target})}]}}
    running = {"spec": {"containers": [{"ports": [{"name": "grpc", "containerPort": 9202}]}]}}
    assert picker_pool.port_of(service, 9002, running) == port


def test_ports_of_health_and_metrics() -> None:
    container = {"readinessProbe": {"grpc": {"port": 9103}}, "ports": [{"name": "metrics", "containerPort": 9190}]}
    running = {"spec": {"containers": [{"name": "sidecar"}, container]}}
    assert (picker_pool.other_port(running, "health"), picker_pool.other_port(running, "metrics")) == (9103, 9190)
    assert (picker_pool.other_port({}, "health"), picker_pool.other_port({}, "metrics")) == (9003, 9090)


def test_the_probe_pod_belongs_only_to_its_inference_pool() -> None:
    made = picker_pool.probe(POOL, "pause:1", 13)
    assert made["metadata"]["labels"] == {"app": "x", picker_pool.LABEL: "p" * 63}
    assert picker_pool.owner(made) == ("InferencePool", "p" * 70)
    assert made["spec"]["readinessGates"] == [{"conditionType": picker_pool.GATE}]
    assert made["spec"]["terminationGracePeriodSeconds"] > made["spec"]["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"] == 13
    assert picker_pool.owner({}) == ("", "")
    assert picker_pool.gate(True, "now")["status"]["conditions"][0]["status"] == "True"
