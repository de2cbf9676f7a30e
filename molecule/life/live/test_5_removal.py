"""The teardown is refused while a route of somebody else leads through our Gateway, before anything is removed; it can be forced."""

from __future__ import annotations

import typing as t

import plays
import pytest
from stack import INVENTORY, NAMESPACE, SIM, Stack, until

GATEWAY = ("gateway.networking.k8s.io/v1", "Gateway")


@pytest.fixture(name="route")
def _route(stack: Stack) -> t.Iterator[str]:
    """Title of a route of somebody else, in a namespace of its own."""
    stack.cluster.request("POST", "/api/v1/namespaces", body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    spec = {"parentRefs": [{"name": "llm-d-gateway", "namespace": NAMESPACE}], "rules": [{"backendRefs": [{"name": "search", "port": 80}]}]}
    made = {"apiVersion": GATEWAY[0], "kind": "HTTPRoute", "metadata": {"name": "search"}, "spec": spec}
    stack.cluster.request("POST", f"/apis/{GATEWAY[0]}/namespaces/shop/httproutes", body=made)
    yield "HTTPRoute shop/search"
    stack.cluster.request("DELETE", "/api/v1/namespaces/shop")
    until(lambda: "shop" not in stack.named("v1", "Namespace", namespace=""), 60, "the namespace of the route is gone")


def test_refused_with_names_and_forced(stack: Stack, route: str) -> None:
    stack.serves(SIM)
    there = {kind: stack.named(version, kind).keys() for version, kind in (("apps/v1", "Deployment"), GATEWAY, ("v1", "ConfigMap"))}
    done = plays.run("-i", INVENTORY, "playbooks/teardown.yml")
    said = " ".join(done.stdout.split())
    assert done.returncode != 0 and f"{route} leads through the Gateway {NAMESPACE}/llm-d-gateway" in said and "llm_d_force_removal" in said, done.stdout[
        -4000:
    ]
    assert {kind: stack.named(version, kind).keys() for version, kind in (("apps/v1", "Deployment"), GATEWAY, ("v1", "ConfigMap"))} == there
    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, llm_d_force_removal=True)
    until(lambda: NAMESPACE not in stack.named("v1", "Namespace", namespace=""), 60, "the namespace is gone")
    stack.serves(SIM)
