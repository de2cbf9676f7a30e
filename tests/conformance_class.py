"""The objects that the official conformance suite needs on the local cluster in addition to Envoy AI Gateway: a class, and the CRD of pools of its version.

Import `plays` first: it makes the checkout importable as a collection.
"""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import FIELD_MANAGER
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS
from kubernetes import client

from tools.manifests import user_file

CACHE = Path("/var/cache/llm-d-local")
# `conformance_wait`: a gateway of the cluster answers within seconds, and each test that fails takes as long. The proxies run in the controller's namespace.
SUITE: dict[str, t.Any] = {
    "conformance_program": str(CACHE / "bin/conformance"),
    "conformance_gateway_class": "conformance",
    "conformance_placeholder_image": "registry.k8s.io/pause:3.10",
    "conformance_wait": 60,
    "conformance_fail": False,
}
_FACTS = GATEWAY_PROVIDERS["envoy_ai_gateway"]
_GROUP = "gateway.envoyproxy.io"
_POOLS = "inferencepools.inference.networking.k8s.io"


@contextlib.contextmanager
def plain_class() -> t.Iterator[None]:
    """A class whose Gateways have an address without a load balancer, as the suite does not request one. Objects of a killed run are deleted first."""
    api, name, home = client.CustomObjectsApi(), SUITE["conformance_gateway_class"], _FACTS["namespace"]
    # The image of the local cluster: it is built from packages, which follow the tested version later.
    proxy = user_file("local")["llm_d_images"]["proxy"]
    kubernetes = {"envoyService": {"type": "ClusterIP"}, "envoyDeployment": {"container": {"image": proxy}}}
    parameters = {"apiVersion": f"{_GROUP}/v1alpha1", "kind": "EnvoyProxy", "metadata": {"name": name}}
    spec = {
        "controllerName": _FACTS["controller_name"],
        "parametersRef": {"group": _GROUP, "kind": "EnvoyProxy", "name": name, "namespace": home},
    }
    item = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": name}, "spec": spec}

    def remove() -> None:
        with contextlib.suppress(client.ApiException):
            api.delete_cluster_custom_object("gateway.networking.k8s.io", "v1", "gatewayclasses", name)
        with contextlib.suppress(client.ApiException):
            api.delete_namespaced_custom_object(_GROUP, "v1alpha1", home, "envoyproxies", name)

    remove()
    try:
        api.create_namespaced_custom_object(
            _GROUP, "v1alpha1", home, "envoyproxies", {**parameters, "spec": {"provider": {"type": "Kubernetes", "kubernetes": kubernetes}}}
        )
        api.create_cluster_custom_object("gateway.networking.k8s.io", "v1", "gatewayclasses", item)
        yield
    finally:
        remove()


@contextlib.contextmanager
def pools_of_the_suite() -> t.Iterator[None]:
    """Install the CRD of pools of the suite's version; at the end, the older one of the local cluster again."""
    _define(CACHE / "assets/crds/inference-pool.yaml")
    try:
        yield
    finally:
        _define(CACHE / "assets/crds/inference-extension/inference.networking.k8s.io_inferencepools.yaml")


def _define(path: Path) -> None:
    api, wanted = client.ApiextensionsV1Api(), yaml.safe_load(path.read_text(encoding="utf-8"))
    there = api.read_custom_resource_definition(_POOLS)
    kept = {"resourceVersion": there.metadata.resource_version, "labels": there.metadata.labels or {}}
    annotations = {**(there.metadata.annotations or {}), **wanted["metadata"]["annotations"]}
    made = {**wanted, "metadata": {**wanted["metadata"], **kept, "annotations": annotations}}
    # As our field manager: the collection does not remove a CRD that another manager has changed.
    api.replace_custom_resource_definition(_POOLS, made, field_manager=FIELD_MANAGER)
