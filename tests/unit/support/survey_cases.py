# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters as preflight/facts.py `survey` reads them. Those of other products are assembled from their documentation and sources."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS

Facts = dict[str, t.Any]
GATEWAY_API = {"gateways.gateway.networking.k8s.io": {"version": "1.6.1", "owner": "kubectl"}}
STANDARD = {"standard": {"metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}}
CHARTS = {key: f"/charts/{key}" for key in ("envoy_gateway", "istio", "istio_base", "agentgateway", "kgateway", "gpu_operator")}


def node(name: str, provider: str = "", labels: Facts | None = None, taints: list[Facts] | None = None, **allocatable: t.Any) -> Facts:
    """A node with these allocatable resources; `gpu` is nvidia.com/gpu."""
    amounts = {{"gpu": "nvidia.com/gpu", "amd": "amd.com/gpu", "gaudi": "habana.ai/gaudi"}.get(key, key): str(value) for key, value in allocatable.items()}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"providerID": provider, "taints": taints or []},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", **amounts}, "addresses": [{"type": "InternalIP", "address": "172.18.0.2"}]},
    }


def gateway_class(name: str, controller: str, **labels: str) -> Facts:
    return {name: {"metadata": {"name": name, "labels": labels}, "spec": {"controllerName": controller}}}


def deployment(where: str, image: str, **env: str) -> Facts:
    container = {"image": image, "env": [{"name": name, "value": value} for name, value in env.items()]}
    return {where: {"metadata": {"name": where.partition("/")[2]}, "spec": {"template": {"spec": {"containers": [container]}}}}}


def place(provider: str, class_name: str = "") -> str:
    """namespace/name of the controller of a provider."""
    row = {**GATEWAY_PROVIDERS[provider], **GATEWAY_PROVIDERS[provider]["by_class"].get(class_name, {})}
    return f"{row['namespace']}/{row['controller']['name']}"


def cluster(**changes: t.Any) -> Facts:
    """The facts of a Kubernetes cluster with one node and nothing installed; `changes` adds or replaces facts."""
    facts: Facts = {
        "version": "v1.34.4",
        "groups": {},
        "crds": {},
        "nodes": [node("worker-1")],
        "storage_classes": STANDARD,
        "gateway_classes": {},
        "load_balancers": [],
        "permissions": [],
    }
    facts.update(changes)
    nothing = dict.fromkeys([*(place(name) for name, row in GATEWAY_PROVIDERS.items() if row["controller"]), place("kgateway", "kgateway")])
    return {**facts, "controllers": {**nothing, **changes.get("controllers", {})}}


def with_gateways(classes: Facts, controllers: Facts, **changes: t.Any) -> Facts:
    return cluster(groups={"gateway.networking.k8s.io": ["v1"]}, crds=GATEWAY_API, gateway_classes=classes, controllers=controllers, **changes)


L40S = node("gpu-1", labels={"nvidia.com/gpu.product": "NVIDIA-L40S", "nvidia.com/gpu.present": "true"}, gpu=4)
ENVOY = (gateway_class("eg", "gateway.envoyproxy.io/gatewayclass-controller"), deployment("envoy-gateway-system/envoy-gateway", "envoyproxy/gateway:v1.9.1"))
AI_GATEWAY = deployment("envoy-ai-gateway-system/ai-gateway-controller", "envoyproxy/ai-gateway-controller:v1.0.0")
ISTIO = (
    gateway_class("istio", "istio.io/gateway-controller") | gateway_class("istio-remote", "istio.io/unmanaged-gateway"),
    deployment("istio-system/istiod", "istio/pilot:1.29.2", ENABLE_GATEWAY_API_INFERENCE_EXTENSION="true"),
)
AGENTGATEWAY = (
    gateway_class("agentgateway", "agentgateway.dev/agentgateway"),
    deployment("agentgateway-system/agentgateway", "agentgateway/controller:v1.4.1"),
)


def openshift(version: str, **changes: t.Any) -> Facts:
    return cluster(
        version="v1.33.6",
        groups={"config.openshift.io": ["v1"], "route.openshift.io": ["v1"], "gateway.networking.k8s.io": ["v1"]},
        crds={"gateways.gateway.networking.k8s.io": {"version": "1.3.0", "owner": "ingress-operator"}},
        cluster_version={"status": {"desired": {"version": version}}},
        infrastructure={"status": {"platform": "None"}},
        **changes,
    )


GKE_CLASSES = {
    name: gateway_class(name, "networking.gke.io/gateway")[name]
    for name in ("gke-l7-global-external-managed", "gke-l7-regional-external-managed", "gke-l7-rilb", "gke-l7-gxlb")
}
L4 = node(
    "gke-l4-1",
    "gce://project/europe-west4-b/gke-l4-1",
    labels={"cloud.google.com/gke-accelerator": "nvidia-l4", "cloud.google.com/gke-nodepool": "l4"},
    taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
    gpu=1,
)
NOT_YET = {"labels": {"feature.node.kubernetes.io/pci-10de.present": "true"}}

# name: (facts, required values in the written file)
CASES: dict[str, tuple[Facts, Facts]] = {
    "kind": (
        cluster(version="v1.34.0", nodes=[node("kind-control-plane", "kind://docker/kind/kind-control-plane")]),
        {"provider": "envoy_gateway", "service_type": "ClusterIP", "engine": "simulator"},
    ),
    "kind with MetalLB": (
        cluster(nodes=[node("kind-control-plane", "kind://docker/kind/kind-control-plane")], groups={"metallb.io": ["v1beta1"]}),
        {"provider": "envoy_gateway", "service_type": "LoadBalancer", "engine": "simulator"},
    ),
    "minikube with a GPU": (
        cluster(nodes=[node("minikube", labels={"minikube.k8s.io/name": "minikube"}, gpu=1)]),
        {"provider": "envoy_gateway", "service_type": "ClusterIP", "vendor": "nvidia", "replicas": 1, "operator": "none"},
    ),
    "k3d": (
        cluster(version="v1.33.4+k3s1", nodes=[node("k3d-mine-server-0", "k3s://k3d-mine-server-0")]),
        {"provider": "envoy_gateway", "service_type": "ClusterIP", "engine": "simulator"},
    ),
    "Istio": (with_gateways(*ISTIO, nodes=[L40S]), {"provider": "istio", "install": False, "vendor": "nvidia", "product": "NVIDIA-L40S", "replicas": 2}),
    "Istio without its flag": (
        with_gateways(ISTIO[0], deployment("istio-system/istiod", "istio/pilot:1.29.2")),
        {"provider": "istio", "install": False, "connection": "ext_proc"},
    ),
    "agentgateway": (with_gateways(*AGENTGATEWAY), {"provider": "agentgateway", "install": False, "class_name": None}),
    "Envoy Gateway": (with_gateways(*ENVOY), {"provider": "envoy_gateway", "install": False, "class_name": "eg"}),
    "Envoy AI Gateway": (with_gateways(ENVOY[0], {**ENVOY[1], **AI_GATEWAY}), {"provider": "envoy_ai_gateway", "install": False, "class_name": "eg"}),
    "what is left of Envoy AI Gateway": (with_gateways({}, AI_GATEWAY), {"provider": "envoy_gateway", "install": True}),
    "kgateway 2.2": (
        with_gateways(AGENTGATEWAY[0], deployment(place("kgateway"), "kgateway-dev/agentgateway-controller:v2.2.1")),
        {"provider": "kgateway", "install": False, "class_name": None},
    ),
    "kgateway 2.1": (
        with_gateways(gateway_class("kgateway", "kgateway.dev/kgateway"), deployment("kgateway-system/kgateway", "kgateway-dev/kgateway:v2.1.2")),
        {"provider": "kgateway", "install": False, "class_name": "kgateway"},
    ),
    "several gateways": (
        with_gateways({**ISTIO[0], **AGENTGATEWAY[0], **ENVOY[0]}, {**ISTIO[1], **AGENTGATEWAY[1], **ENVOY[1]}),
        {"provider": "envoy_gateway", "install": False},
    ),
    "an old Envoy Gateway beside Istio": (
        with_gateways({**ISTIO[0], **ENVOY[0]}, {**ISTIO[1], **deployment("envoy-gateway-system/envoy-gateway", "envoyproxy/gateway:v1.3.0")}),
        {"provider": "istio"},
    ),
    "nothing but an old Envoy Gateway": (
        with_gateways(ENVOY[0], deployment("envoy-gateway-system/envoy-gateway", "envoyproxy/gateway:v1.3.0")),
        {"provider": "standalone"},
    ),
    "ours": (
        with_gateways(
            gateway_class("envoy-gateway", "gateway.envoyproxy.io/gatewayclass-controller", **{"app.kubernetes.io/managed-by": "llm_d.inference"}), ENVOY[1]
        ),
        {"provider": "envoy_gateway", "install": True},
    ),
    "OpenShift 4.21": (
        openshift("4.21.3", nodes=[L40S]),
        {"platform": "openshift", "provider": "openshift", "pool_version": "v1", "service_type": "ClusterIP", "vendor": "nvidia", "run_as_user": 0},
    ),
    "OpenShift 4.20": (openshift("4.20.1"), {"provider": "openshift", "pool_version": "v1alpha2", "release": "scheduler-0.7"}),
    "OpenShift 4.18": (openshift("4.18.9"), {"platform": "openshift", "provider": "standalone"}),
    "OpenShift with GPUs without an operator": (openshift("4.21.3", nodes=[node("n", **NOT_YET)]), {"operator": "nvidia_olm", "engine": "vllm", "replicas": 1}),
    "Kubernetes with GPUs without an operator": (cluster(nodes=[node("n", **NOT_YET)]), {"operator": "nvidia_helm", "engine": "vllm", "replicas": 1}),
    "GPU operator that is not ready": (
        cluster(nodes=[node("n", **NOT_YET)], crds={"clusterpolicies.nvidia.com": {"version": None, "owner": "helm"}}),
        {"operator": "none", "engine": "vllm"},
    ),
    "GKE": (
        with_gateways(GKE_CLASSES, {}, version="v1.34.1-gke.2037000", nodes=[L4, L4 | {"metadata": {**L4["metadata"], "name": "gke-l4-2"}}]),
        {
            "platform": "gke",
            "provider": "gke",
            "class_name": "gke-l7-regional-external-managed",
            "service_type": "LoadBalancer",
            "replicas": 2,
            "node_selector": {"cloud.google.com/gke-accelerator": "nvidia-l4"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        },
    ),
    "GKE without the Gateway API": (cluster(version="v1.34.1-gke.2037000"), {"platform": "gke", "provider": "standalone", "service_type": "LoadBalancer"}),
    "EKS with Istio": (with_gateways(*ISTIO, version="v1.34.2-eks-113cf36"), {"platform": "eks", "provider": "istio", "service_type": "LoadBalancer"}),
    "AKS": (
        cluster(nodes=[node("aks-1", labels={"kubernetes.azure.com/cluster": "mine"}, taints=[{"key": "sku", "value": "gpu", "effect": "NoSchedule"}], gpu=1)]),
        {"platform": "aks", "service_type": "LoadBalancer", "tolerations": [{"key": "sku", "value": "gpu", "effect": "NoSchedule"}]},
    ),
    "AMD": (
        cluster(nodes=[node("n", labels={"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}, amd=8)]),
        {"vendor": "amd", "product": "AMD_Instinct_MI300X_OAM", "engine": "vllm", "operator": "none"},
    ),
    "AMD without a device plugin": (cluster(nodes=[node("n", labels={"feature.node.kubernetes.io/amd-gpu": "true"})]), {"engine": "simulator"}),
    "Gaudi": (cluster(nodes=[node("n", gaudi=8)]), {"engine": "vllm", "vendor": "intel_gaudi", "operator": "none"}),
    "MIG slices": (cluster(nodes=[node("n", **{"nvidia.com/mig-3g.20gb": 2})]), {"vendor": "nvidia", "resource": "nvidia.com/mig-3g.20gb", "replicas": 2}),
    "Prometheus and LeaderWorkerSet": (
        cluster(crds=dict.fromkeys(("podmonitors.monitoring.coreos.com", "leaderworkersets.leaderworkerset.x-k8s.io"), {"version": None, "owner": "helm"})),
        {"provider": "envoy_gateway"},
    ),
    "nothing may be listed": ({"version": "v1.34.4", "groups": {}, "permissions": [], "controllers": {}}, {"provider": "standalone", "scope": "namespace"}),
    "OpenShift where nothing may be listed": (
        {"version": "v1.33.6", "groups": {"config.openshift.io": ["v1"]}, "permissions": [], "controllers": {}},
        {"platform": "openshift", "provider": "openshift", "pool_version": "v1", "scope": "namespace"},
    ),
    "GKE where nothing may be listed": (
        {"version": "v1.34.1-gke.2037000", "groups": {}, "permissions": [], "controllers": {}},
        {"platform": "gke", "provider": "gke", "scope": "namespace"},
    ),
    "nodes may not be listed": (
        {key: value for key, value in with_gateways(*ISTIO).items() if key not in ("nodes", "load_balancers")},
        {"provider": "istio", "scope": "cluster", "engine": "simulator", "service_type": "ClusterIP"},
    ),
}
