"""Additions to pods are applied and removed again; servers of a higher priority preempt batch jobs."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

from kubernetes import client
from kubernetes.client.exceptions import ApiException
from live_stack import until
from stack import GATEWAY, NAMESPACE, SIM, Stack

TEMPLATES = {"name": "templates", "mountPath": "/templates", "readOnly": True}
ADDED: dict[str, t.Any] = {
    **SIM,
    "pod": {
        "runtimeClassName": "second",
        "priorityClassName": "inference",
        "annotations": {"k8s.v1.cni.cncf.io/networks": "roce-a"},
        "labels": {"example.com/cost-center": "4711"},
        "volumes": [{"name": "templates", "configMap": {"name": "chat-templates"}}],
    },
    "container": {"volumeMounts": [TEMPLATES]},
    "engine": {**SIM["engine"], "env": {"ACCESS": {"secret": "object-store", "key": "access"}, "NO_PROXY": {"config_map": "proxy-settings"}}},
    "scheduler": {**SIM["scheduler"], "pod": {"priorityClassName": "inference", "runtimeClassName": "second"}},
}
PROXY = {
    **GATEWAY,
    "pod": {"priorityClassName": "inference", "annotations": {"example.com/edge": "yes"}},
    "container": {"resources": {"limits": {"memory": "900Mi"}}},
}


def proxies(stack: Stack) -> list[t.Any]:
    return stack.pods("gateway.envoyproxy.io/owning-gateway-name=llm-d-gateway", "envoy-gateway-system")


def environment(pod: t.Any) -> set[str]:
    """The environment variables of a pod's processes, which run on this host."""
    variables: set[str] = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if pod.metadata.uid in (path / "cgroup").read_text(encoding="utf-8").replace("_", "-"):
                variables |= {*(path / "environ").read_bytes().decode(errors="replace").split("\0")}
    return variables


def test_pods_bear_what_is_added(stack: Stack) -> None:
    _verdict, out = stack.site(ADDED, llm_d_gateway=PROXY)
    assert "planted-access" not in out
    for pod in stack.servers():
        assert (pod.spec.runtime_class_name, pod.spec.priority_class_name, pod.spec.priority) == ("second", "inference", 1000)
        assert pod.metadata.annotations["k8s.v1.cni.cncf.io/networks"] == "roce-a" and pod.metadata.labels["example.com/cost-center"] == "4711"
        (server,) = pod.spec.containers
        assert [mount.name for mount in server.volume_mounts if mount.mount_path == "/templates"] == ["templates"]
        variables = environment(pod)
        assert "ACCESS=planted-access" in variables and "NO_PROXY=127.0.0.1" in variables
    (picker,) = stack.pods("app.kubernetes.io/instance=sim-epp")
    assert (picker.spec.runtime_class_name, picker.spec.priority) == ("second", 1000)
    until(lambda: len(proxies(stack)) == 1 and proxies(stack)[0].spec.priority == 1000, 180, "the proxy has its priority")
    (proxy,) = proxies(stack)
    assert proxy.metadata.annotations["example.com/edge"] == "yes"
    assert {each.name: each.resources.limits for each in proxy.spec.containers}["envoy"] == {"memory": "900Mi"}


def test_a_second_run_with_the_same_additions_changes_nothing(stack: Stack) -> None:
    assert "changed=0 " in stack.site(ADDED, llm_d_gateway=PROXY)[1]


def test_a_batch_pod_is_preempted_by_model_servers(stack: Stack) -> None:
    """The job requests all free memory, so that another server fits only in its place."""
    (node,) = stack.core.list_node().items
    until(lambda: not [pod for pod in everything(stack) if pod.metadata.deletion_timestamp], 180, "the former pods are gone")
    pods = [pod for pod in everything(stack) if pod.status.phase == "Running"]
    taken = sum(mebibytes((each.resources.requests or {}).get("memory", "0")) for pod in pods for each in pod.spec.containers)
    free = mebibytes(node.status.allocatable["memory"]) - taken
    container = {"name": "batch", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"memory": f"{free - 32}Mi"}}}
    spec = {"priorityClassName": "batch", "terminationGracePeriodSeconds": 0, "containers": [container]}
    stack.core.create_namespaced_pod("default", {"metadata": {"name": "batch"}, "spec": spec})
    try:
        until(lambda: stack.core.read_namespaced_pod("batch", "default").status.phase == "Running", 60, "the batch job runs")
        stack.site({**ADDED, "replicas": 3}, llm_d_gateway=PROXY)
        assert len(stack.servers()) == 3
        gone = [pod for pod in stack.core.list_namespaced_pod("default").items if pod.metadata.name == "batch" and not pod.metadata.deletion_timestamp]
        assert not gone
    finally:
        with contextlib.suppress(ApiException):  # already preempted
            stack.core.delete_namespaced_pod("batch", "default")


def everything(stack: Stack) -> list[t.Any]:
    return list(stack.core.list_pod_for_all_namespaces().items)


def mebibytes(amount: str) -> int:
    units = {"Ki": 1 / 1024, "Mi": 1, "Gi": 1024}
    return int(float(amount[:-2]) * units[amount[-2:]]) if amount[-2:] in units else int(amount) // 1024**2


def test_pod_settings_removed_from_the_file_are_removed_from_the_pods(stack: Stack) -> None:
    stack.site(SIM, llm_d_gateway=GATEWAY)
    assert {pod.spec.runtime_class_name for pod in stack.servers()} == {None} and not any(
        "example.com/cost-center" in pod.metadata.labels for pod in stack.servers()
    )
    template = client.AppsV1Api().read_namespaced_deployment("sim-decode", NAMESPACE).spec.template
    assert template.spec.priority_class_name is None and "k8s.v1.cni.cncf.io/networks" not in (template.metadata.annotations or {})
    until(lambda: len(proxies(stack)) == 1 and proxies(stack)[0].spec.priority == 0, 180, "the proxy has no priority")
