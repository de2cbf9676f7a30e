"""A file that this cluster cannot serve is refused before any change; the finding has its problem, place, evidence and remedy."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from stack import NAMESPACE, Stack, assert_failure

OTHER = {"kind": "GatewayClass", "metadata": {"name": "taken"}, "spec": {"controllerName": "example.com/other"}}
GATEWAY: dict[str, t.Any] = {"provider": "envoy_gateway", "service_type": "ClusterIP"}


def refuses(stack: Stack, *words: str, **variables: t.Any) -> None:
    before = stack.versions()
    status, out = stack.play(**variables)
    assert status != 0, out
    assert_failure(out, "Nothing has been touched", *words)
    assert "changed=0 " in out and stack.versions() == before


def test_a_class_of_another_controller(stack: Stack) -> None:
    path = stack.create("gateway.networking.k8s.io/v1", OTHER)
    try:
        refuses(stack, "class/foreign", "Found: example.com/other", "Needed: gateway.envoyproxy.io", llm_d_gateway={**GATEWAY, "class_name": "taken"})
    finally:
        stack.delete(path)


def test_another_platform_than_this_one(stack: Stack) -> None:
    refuses(stack, "platform/other", "Needed: openshift", "Write 'llm_d_platform: kubernetes'", llm_d_platform="openshift")


def test_a_controller_that_shall_be_there_and_is_not(stack: Stack) -> None:
    gateway = {**GATEWAY, "provider": "istio", "install": False}
    refuses(stack, "controller/missing", "Deployment istio-system/istiod", "install: true", llm_d_gateway=gateway)


@pytest.fixture(name="weak")
def _weak(stack: Stack, tmp_path: Path) -> t.Iterator[str]:
    """The kubeconfig of an account that may read and write nothing."""
    role = {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "faults-weak"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "faults-weak", "namespace": "default"}],
    }
    paths = [
        stack.create("v1", {"kind": "ServiceAccount", "metadata": {"name": "faults-weak", "namespace": "default"}}),
        stack.create("rbac.authorization.k8s.io/v1", role),
    ]
    token = stack.cluster.request("POST", f"{paths[0]}/token", body={"spec": {"expirationSeconds": 600}})["status"]["token"]
    config = yaml.safe_load(Path(stack.kubeconfig).read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": token}
    (tmp_path / "weak").write_text(yaml.safe_dump(config), encoding="utf-8")
    yield str(tmp_path / "weak")
    for path in paths:
        stack.delete(path)


def test_a_write_that_is_forbidden(stack: Stack, weak: str) -> None:
    # the play of the local cluster would repair the kubeconfig, so `llm_d_kubeconfig` applies to the later plays only
    refuses(
        stack,
        "permissions/lacking",
        f"system:serviceaccount:default:faults-weak may not create, patch, delete deployments.apps in {NAMESPACE}",
        "Found: denied",
        llm_d_kubeconfig=weak,
    )
