"""The teardown is refused while a foreign route uses the stack's Gateway, before anything is removed; it can be forced. Foreign objects in the stack's
namespace keep the namespace. An object whose deletion hangs is named with the owner of its finalizer."""

from __future__ import annotations

import time
import typing as t
from concurrent.futures import ThreadPoolExecutor

import plays
import pytest
from stack import INVENTORY, NAMESPACE, SIM, Stack, until

GATEWAY = ("gateway.networking.k8s.io/v1", "Gateway")


@pytest.fixture(name="route")
def _route(stack: Stack) -> t.Iterator[str]:
    """Create a foreign HTTPRoute, in a namespace of its own, that refers to the stack's Gateway; yields its title."""
    stack.cluster.request("POST", "/api/v1/namespaces", body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    spec = {"parentRefs": [{"name": "llm-d-gateway", "namespace": NAMESPACE}], "rules": [{"backendRefs": [{"name": "search", "port": 80}]}]}
    made = {"apiVersion": GATEWAY[0], "kind": "HTTPRoute", "metadata": {"name": "search"}, "spec": spec}
    stack.cluster.request("POST", f"/apis/{GATEWAY[0]}/namespaces/shop/httproutes", body=made)
    yield "HTTPRoute shop/search"
    stack.cluster.request("DELETE", "/api/v1/namespaces/shop")
    until(lambda: "shop" not in stack.named("v1", "Namespace", namespace=""), 60, "the namespace of the route is gone")


def test_refused_with_names_and_forced(stack: Stack, route: str) -> None:
    stack.serves(SIM)
    before = {kind: stack.named(version, kind).keys() for version, kind in (("apps/v1", "Deployment"), GATEWAY, ("v1", "ConfigMap"))}
    done = plays.run("-i", INVENTORY, "playbooks/teardown.yml")
    output = " ".join(done.stdout.split())
    assert done.returncode != 0 and f"{route} leads through the Gateway {NAMESPACE}/llm-d-gateway" in output and "llm_d_force_removal" in output, done.stdout[
        -4000:
    ]
    assert {kind: stack.named(version, kind).keys() for version, kind in (("apps/v1", "Deployment"), GATEWAY, ("v1", "ConfigMap"))} == before
    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, llm_d_force_removal=True)
    until(lambda: NAMESPACE not in stack.named("v1", "Namespace", namespace=""), 60, "the namespace is gone")
    stack.serves(SIM)


FOREIGN: dict[str, dict[str, t.Any]] = {
    "configmaps": {"kind": "ConfigMap", "metadata": {"name": "notes"}},
    "secrets": {"kind": "Secret", "metadata": {"name": "llm-d-hf-token"}},
    "persistentvolumeclaims": {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    },
}


def test_teardown_keeps_a_namespace_that_holds_foreign_objects(stack: Stack) -> None:
    stack.serves(SIM)
    for plural, made in FOREIGN.items():
        stack.cluster.request("POST", f"/api/v1/namespaces/{NAMESPACE}/{plural}", body={"apiVersion": "v1", **made})
    titles = [f"{made['kind']} {NAMESPACE}/{made['metadata']['name']}" for made in FOREIGN.values()]
    for options in (("--check", "--diff"), ()):
        output = " ".join(plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts, *options).split())
        assert f"the namespace {NAMESPACE} stays: it holds 3 objects that are not deleted" in output, output[-4000:]
        assert all(title in output for title in titles), output[-4000:]
    assert not stack.named("apps/v1", "Deployment"), "the collection's objects are removed"
    for plural, made in FOREIGN.items():
        assert made["metadata"]["name"] in stack.named("v1", made["kind"])
        stack.cluster.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/{plural}/{made['metadata']['name']}")
    until(lambda: "data" not in stack.named("v1", "PersistentVolumeClaim"), 60, "the PersistentVolumeClaim is gone")
    plays.well(INVENTORY, "playbooks/teardown.yml", stack.artifacts)
    until(lambda: NAMESPACE not in stack.named("v1", "Namespace", namespace=""), 60, "the namespace is gone")
    stack.serves(SIM)


FINALIZER = "shop.example.com/hold"


def set_finalizers(stack: Stack, names: list[str]) -> None:
    """Set the finalizers of the endpoint picker's Service."""
    path = f"{stack.cluster.path('v1', 'Service', NAMESPACE)}/sim-epp"
    stack.cluster.request("PATCH", path, body={"metadata": {"finalizers": names}}, content_type="application/merge-patch+json")


def test_a_hanging_finalizer_is_reported_with_its_controller(stack: Stack) -> None:
    """The wait ends after `llm_d_wait_timeout`; once the finalizer is removed, the teardown continues in the waiting run, or in the next one."""
    stack.serves(SIM)
    set_finalizers(stack, [FINALIZER])
    done = plays.run("-i", INVENTORY, "playbooks/teardown.yml", "-e", "llm_d_wait_timeout=30")
    output = " ".join(done.stdout.split())
    assert done.returncode and f"sim-epp: being deleted, held by finalizer {FINALIZER} of the controller of shop.example.com" in output, done.stdout[-4000:]
    assert "Traceback" not in output and "sim-epp" in stack.named("v1", "Service")
    with ThreadPoolExecutor(1) as executor:
        teardown = executor.submit(plays.well, INVENTORY, "playbooks/teardown.yml", stack.artifacts)
        time.sleep(8)  # the teardown reaches its wait
        assert not teardown.done() and "sim-epp" in stack.named("v1", "Service")
        set_finalizers(stack, [])
        teardown.result()
    until(lambda: NAMESPACE not in stack.named("v1", "Namespace", namespace=""), 60, "the namespace is gone")
    stack.serves(SIM)
