"""Each finding of the preflight: provoked by what a real cluster would show, and not reported for a healthy cluster."""

from __future__ import annotations

import ast
import base64
import copy
import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.platform import amount, detect, tolerated
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.cluster import exempt, proxy_of
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.facts import _padded
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.report import judge, report, summary

Facts = dict[str, t.Any]
CHARTS = {key: f"/charts/{key}" for key in ("envoy_gateway", "istio", "istio_base", "agentgateway", "kgateway")}
LLAMA = {
    "name": "llama",
    "model": {"uri": "hf://meta-llama/Llama-3.1-8B-Instruct", "token_secret": "hf"},
    "replicas": 2,
    "accelerator": {"product": "NVIDIA-L40S"},
    "scheduler": {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}},
}
GPU = "nvidia.com/gpu"
NODE = {
    "metadata": {"name": "gpu-1", "labels": {"kubernetes.io/hostname": "gpu-1", "nvidia.com/gpu.product": "NVIDIA-L40S", "nvidia.com/gpu.count": "4"}},
    "spec": {"providerID": "aws:///eu-central-1a/i-0abc"},
    "status": {"allocatable": {"cpu": "47810m", "memory": "191046Mi", GPU: "4", "pods": "110"}},
}
PLAIN = {"metadata": {"name": "cpu-1", "labels": {}}, "status": {"allocatable": {"cpu": "3920m", "memory": "15Gi", "pods": "110"}}}
SIMULATOR: dict[str, t.Any] = {"name": "sim", "model": {"uri": "hf://o/m"}, "engine": {"type": "simulator"}, "scheduler": LLAMA["scheduler"]}
SIMULATED = {"llm_d_model_services": [SIMULATOR]}
ISTIOD = {
    "metadata": {"name": "istiod", "namespace": "istio-system", "labels": {"app.kubernetes.io/managed-by": "Helm"}},
    "spec": {
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "discovery",
                        "image": "registry.example.com/istio/pilot:1.29.2",
                        "env": [{"name": "ENABLE_GATEWAY_API_INFERENCE_EXTENSION", "value": "true"}],
                    }
                ]
            }
        }
    },
}
ISTIO_CLASS = {
    "metadata": {"name": "istio"},
    "spec": {"controllerName": "istio.io/gateway-controller"},
    "status": {"conditions": [{"type": "Accepted", "status": "True", "reason": "Accepted"}]},
}
HEALTHY: Facts = {
    "version": "v1.34.4",
    "user": "admin",
    "groups": {"gateway.networking.k8s.io": ["v1", "v1beta1"], "inference.networking.k8s.io": ["v1"], "metallb.io": ["v1beta1"]},
    "crds": {
        "gateways.gateway.networking.k8s.io": {"version": "1.6.1", "owner": "llm_d.inference"},
        "inferencepools.inference.networking.k8s.io": {"version": "1.4.0", "owner": "llm_d.inference"},
        "destinationrules.networking.istio.io": {"version": None, "owner": "helm"},
    },
    "nodes": [NODE],
    "pods": [],
    "namespaces": {"llm-d": {"metadata": {"name": "llm-d", "labels": {}}, "status": {"phase": "Active"}}},
    "quotas": [],
    "limit_ranges": [],
    "storage_classes": {},
    "named": {"Secret llm-d/hf": {"keys": {"HF_TOKEN": False}}},
    "permissions": [{"verb": "create", "group": "apps", "resource": "deployments", "namespace": "llm-d", "allowed": True}],
    "gateway_classes": {"istio": ISTIO_CLASS},
    "gateway": None,
    "controllers": {"istio-system/istiod": ISTIOD, "envoy-gateway-system/envoy-gateway": None},
    "load_balancers": [],
    "host": {"helm": "3.19.0", "libraries": {"kubernetes": "37.0.2", "yaml": "6.0.2"}, "charts_missing": [], "silent_registries": {}, "proxy": None},
}
FILE: Facts = {"llm_d_charts": CHARTS, "llm_d_model_services": [LLAMA]}
OPENSHIFT_FILE: Facts = {"llm_d_platform": "openshift", "llm_d_run_as_user": 0, "llm_d_gateway": {"provider": "openshift", "service_type": "ClusterIP"}}
ADOPTED: Facts = {"llm_d_gateway": {"provider": "istio", "install": False}}
AI_ADOPTED: Facts = {"llm_d_gateway": {"provider": "envoy_ai_gateway", "install": False}}


def openshift(version: str, group: str, **facts: t.Any) -> Facts:
    """The facts of an OpenShift cluster of a release."""
    gateway_api = {"4.20": "1.2.1", "4.21": "1.3.0"}.get(version[:4])
    groups = {
        "config.openshift.io": ["v1"],
        "route.openshift.io": ["v1"],
        "gateway.networking.k8s.io": ["v1"],
        group: ["v1alpha2" if "x-k8s" in group else "v1"],
    }
    return {
        "version": "v1.33.6",
        "groups": groups,
        "cluster_version": {"status": {"desired": {"version": version}}},
        "crds": {
            "gateways.gateway.networking.k8s.io": {"version": gateway_api, "owner": "ingress-operator"},
            f"inferencepools.{group}": {"version": "1.4.0", "owner": "x"},
        },
        "gateway_classes": {},
        "controllers": {},
        **facts,
    }


def istiod(version: str, release: str = "istiod", **namespace: str) -> Facts:
    """An istiod Deployment with this version, Helm release and namespace labels."""
    container = {**ISTIOD["spec"]["template"]["spec"]["containers"][0], "image": f"registry.example.com/istio/pilot:{version}"}
    metadata = {**ISTIOD["metadata"], "annotations": {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "istio-system"}}
    return {
        "controllers": {"istio-system/istiod": {"metadata": metadata, "spec": {"template": {"spec": {"containers": [container]}}}}},
        "namespaces": {**HEALTHY["namespaces"], "istio-system": {"metadata": {"name": "istio-system", "labels": namespace}, "status": {"phase": "Active"}}},
    }


KGATEWAY: Facts = {"llm_d_gateway": {"provider": "kgateway", "install": False}}


def ai_gateway(version: str | None, envoy_gateway: str = "1.9.1") -> Facts:
    """Envoy Gateway with its class and CRDs, and its extension in a version of its own, or without it."""
    deployments = {
        name: {"spec": {"template": {"spec": {"containers": [{"image": f"r/{name}:v{tag}"}]}}}} for name, tag in (("x", version), ("gateway", envoy_gateway))
    }
    return {
        "controllers": {
            "envoy-gateway-system/envoy-gateway": deployments["gateway"],
            "envoy-ai-gateway-system/ai-gateway-controller": deployments["x"] if version else None,
        },
        "gateway_classes": {"envoy-gateway": {**ISTIO_CLASS, "spec": {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"}}},
        **crds_with("envoyproxies.gateway.envoyproxy.io"),
    }


OTHERS = {**plan(FILE)["labels"], "app.kubernetes.io/part-of": "other"}


def envoy_gateway_of(labels: Facts) -> Facts:
    """Envoy Gateway without its extension, in a namespace with these labels."""
    namespaces = {"envoy-gateway-system": {"metadata": {"name": "envoy-gateway-system", "labels": labels}, "status": {"phase": "Active"}}}
    return {**ai_gateway(None), "namespaces": {**HEALTHY["namespaces"], **namespaces}}


def kgateway(name: str, version: str) -> Facts:
    """A controller of kgateway that someone else installed."""
    container = {"name": "controller", "image": f"registry.example.com/kgateway-dev/{name}:v{version}"}
    probes = ("agentgatewayparameters.agentgateway.dev", "gatewayparameters.gateway.kgateway.dev")
    return {
        "controllers": {f"{name}-system/{name}": {"metadata": {"name": name}, "spec": {"template": {"spec": {"containers": [container]}}}}},
        "crds": {**HEALTHY["crds"], **{probe: {"version": None, "owner": "helm"} for probe in probes}},
    }


def busy(count: int) -> Facts:
    """A pod of others that holds accelerators."""
    return {
        "metadata": {"name": "training", "namespace": "other", "labels": {}},
        "status": {"phase": "Running"},
        "spec": {"nodeName": "gpu-1", "containers": [{"resources": {"requests": {GPU: str(count)}, "limits": {GPU: str(count)}}}]},
    }


def findings(user: Facts, cluster: Facts) -> list[str]:
    facts = {**copy.deepcopy(HEALTHY), **copy.deepcopy(cluster)}
    return [finding.id for finding in judge(facts, plan({**FILE, **user})["preflight"])]


def tainted(key: str) -> Facts:
    return {**NODE, "spec": {"taints": [{"key": key, "effect": "NoSchedule"}]}}


def crds(**versions: str | None) -> Facts:
    names = {"gateway": "gateways.gateway.networking.k8s.io", "pool": "inferencepools.inference.networking.k8s.io"}
    merged = copy.deepcopy(HEALTHY["crds"])
    for key, version in versions.items():
        merged[names[key]] = {"version": version, "owner": "kubectl"} if version else None
    return {"crds": {name: entry for name, entry in merged.items() if entry}}


NO_SOURCES = {"llm_d_crd_sources": {"gateway_api": [], "inference_extension": []}}
V1, OLD = "inference.networking.k8s.io", "inference.networking.x-k8s.io"
QUOTA = {
    "metadata": {"name": "team"},
    "status": {"hard": {"requests.nvidia.com/gpu": "1", "pods": "50"}, "used": {"requests.nvidia.com/gpu": "0", "pods": "3"}},
}
GATEWAY = {"metadata": {"name": "llm-d-gateway", "labels": {"app": "other"}}, "spec": {"gatewayClassName": "istio"}}


SPANNING: Facts = {
    "llm_d_charts": {**CHARTS, "leader_worker_set": "/charts/lws"},
    "llm_d_model_services": [{**LLAMA, "accelerator": {**LLAMA["accelerator"], "per_replica": 2, "nodes": 2}}],
}
SPANNING_ADOPTED: Facts = {**SPANNING, "llm_d_leader_worker_set": {"install": False}}
LWS = "leaderworkersets.leaderworkerset.x-k8s.io"


def scaled(provider: str, metric: str, **options: t.Any) -> Facts:
    """A file whose servers are scaled by a metric."""
    service = {key: value for key, value in LLAMA.items() if key != "replicas"}
    return {"llm_d_model_services": [{**service, "autoscaling": {"provider": provider, "max": 3, "metrics": {metric: 1}, **options}}]}


def lws(version: str | None = None, image: str | None = "0.9.0", **namespace: str) -> Facts:
    """A cluster with LeaderWorkerSet. version: of its CRD, where this collection installed it; image: of its controller; namespace: labels of its namespace."""
    controller = {"spec": {"template": {"spec": {"containers": [{"name": "manager", "image": f"registry.example.com/lws/lws:v{image}"}]}}}}
    lws_namespace = {"metadata": {"name": "lws-system", "labels": namespace}, "status": {"phase": "Active"}}
    return {
        "crds": {**HEALTHY["crds"], LWS: {"version": version, "owner": "kubectl"}},
        "leader_worker_set": {"namespace": lws_namespace, "controller": controller if image else None},
    }


def our_lws(version: str) -> Facts:
    """A cluster with LeaderWorkerSet as this collection installs it."""
    return lws(version, version, **plan(FILE)["labels"])


def with_group(cluster: Facts, group: str) -> Facts:
    """The same cluster, with one more API group."""
    return {**cluster, "groups": {**cluster["groups"], group: ["v2"]}}


CPU = {"hard": {"limits.cpu": "64"}, "used": {"limits.cpu": "0"}}
LIMITS = {"metadata": {"name": "team"}, "spec": {"hard": CPU["hard"]}, "status": CPU}
POLICY = {"metadata": {"name": "cluster-policy"}}
NEWER = {"metadata": {"name": "cluster-policy", "labels": {"app.kubernetes.io/version": "v26.7.1", "app.kubernetes.io/managed-by": "Helm"}}}
BY_HELM: Facts = {"llm_d_gpus": {"operator": "nvidia_helm"}, "llm_d_charts": {**CHARTS, "gpu_operator": "/charts/gpu-operator"}}
BY_OLM: Facts = {**OPENSHIFT_FILE, "llm_d_gpus": {"operator": "nvidia_olm"}}
WITH_SIDECAR: Facts = {"llm_d_model_services": [{**LLAMA, "replicas": 1, "scheduler": {"preset": "disaggregated", **LLAMA["scheduler"]}}]}
OLD_POOLS: Facts = {
    **OPENSHIFT_FILE,
    "llm_d_release": "scheduler-0.7",
    "llm_d_gateway": {"provider": "openshift", "service_type": "ClusterIP", "pool_version": "v1alpha2"},
}


def gpu_operator(namespace: str | None = None, *policies: Facts, **labels: str) -> Facts:
    """A cluster with, or without, a GPU operator: its namespace with labels, and policies."""
    return {"gpu_operator": {"namespace": {"metadata": {"name": namespace, "labels": labels}} if namespace else None, "policies": list(policies)}}


def crds_with(name: str) -> Facts:
    """A healthy cluster with one more CRD."""
    return {"crds": {**HEALTHY["crds"], name: {"version": None, "owner": "kubectl"}}}


def scraping_openshift(config: Facts | None) -> Facts:
    """An OpenShift with this configuration of its monitoring."""
    cluster = openshift("4.21.3", V1, cluster_monitoring=config)
    return {**cluster, "crds": {**cluster["crds"], **crds_with(POD_MONITORS)["crds"]}}


def traced(endpoint: str) -> Facts:
    return {"llm_d_tracing": {"endpoint": endpoint}}


OTHER_PORT: Facts = {"namespace": {"metadata": {}}, "service": {"spec": {"ports": [{"port": 4318}, {"port": 80}]}}}
SCRAPED: Facts = {"llm_d_monitoring": {"scrape": True}}
NOT_SO = "# enableUserWorkload: true\nother:\n  enableUserWorkload: true"
POD_MONITORS = "podmonitors.monitoring.coreos.com"
REFERRING: Facts = {**LLAMA, "engine": {"env": {"HTTP_PROXY": {"config_map": "proxies"}}}}
CLAIMED: Facts = {"llm_d_model_services": [{**LLAMA, "accelerator": {"claim": {"device_class": "gpu.nvidia.com"}}}]}
SERVED: Facts = {"groups": {**HEALTHY["groups"], "resource.k8s.io": ["v1"]}, "nodes": [NODE]}
CLAIMS: dict[str, Facts] = {
    "DeviceClass gpu.nvidia.com": {"accelerator": {"claim": {"device_class": "gpu.nvidia.com"}}},
    "ResourceClaimTemplate llm-d/mine": {"accelerator": {"claim": {"template": "mine"}}},
}
# Objects that a file names, and where.
NAMED: dict[str, Facts] = {
    "ConfigMap llm-d/proxies": REFERRING,
    "Secret llm-d/store": {"scheduler": {**LLAMA["scheduler"], "env": {"X": {"secret": "store", "key": "k"}}}},
    "PriorityClass high": {"pod": {"priorityClassName": "high"}},
    "RuntimeClass nvidia": {"pod": {"runtimeClassName": "nvidia"}},
    "CSIDriver secrets-store.csi.k8s.io": {"pod": {"volumes": [{"name": "s", "csi": {"driver": "secrets-store.csi.k8s.io"}}]}},
    "ConfigMap llm-d/chat": {"pod": {"volumes": [{"name": "t", "configMap": {"name": "chat"}}]}},
    "PersistentVolumeClaim llm-d/data": {"pod": {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}},
    "Secret llm-d/all": {"container": {"envFrom": [{"secretRef": {"name": "all"}}]}},
}
TABLE: list[tuple[str, Facts, Facts]] = [
    # finding, user's file, what the cluster shows
    ("platform/other", {}, openshift("4.21.3", V1)),
    ("platform/other", {**OPENSHIFT_FILE}, {}),
    ("kubernetes/version", {}, {"version": "v1.28.15"}),
    ("openshift/user_id", {**OPENSHIFT_FILE, "llm_d_run_as_user": 65532}, openshift("4.21.3", V1)),
    ("openshift/service_mesh_2", OPENSHIFT_FILE, with_group(openshift("4.21.3", V1), "maistra.io")),
    (
        "openshift/ingress_degraded",
        OPENSHIFT_FILE,
        openshift(
            "4.21.3",
            V1,
            ingress_operator={
                "status": {
                    "conditions": [{"type": "Degraded", "status": "True", "reason": "GatewayAPIInstallConflict", "message": "servicemeshoperator is installed"}]
                }
            },
        ),
    ),
    ("openshift/pool_version", OPENSHIFT_FILE, openshift("4.20.8", V1)),
    ("openshift/no_pools", OPENSHIFT_FILE, openshift("4.18.30", V1)),
    ("openshift/early_build", OLD_POOLS, openshift("4.19.3", OLD)),
    (
        "permissions/lacking",
        {},
        {"permissions": [{"verb": "patch", "group": "apiextensions.k8s.io", "resource": "customresourcedefinitions", "allowed": False}]},
    ),
    ("objects/foreign", {}, {"objects": [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "llama-8b", "namespace": "llm-d"}}]}),
    ("platform/containerd", {**BY_HELM, "llm_d_platform": "rke2"}, {}),
    ("devices/api", CLAIMED, {"groups": {**HEALTHY["groups"], "resource.k8s.io": ["v1beta1"]}}),
    ("devices/few", CLAIMED, {**SERVED, "devices": [{"spec": {"driver": "gpu.nvidia.com", "devices": [{"name": "gpu-0"}]}}]}),
    ("devices/few", {"llm_d_model_services": [{**LLAMA, "accelerator": {"claim": {"template": "mine"}}}]}, {**SERVED, "devices": []}),
    *(("named/missing", {"llm_d_model_services": [{**LLAMA, **options}]}, {**SERVED, "named": {name: None}}) for name, options in CLAIMS.items()),
    ("platform/containerd", BY_HELM, {"version": "v1.34.1+k3s1"}),
    ("namespace/missing", {"llm_d_scope": "namespace", "llm_d_gateway": {"provider": "standalone"}}, {"namespaces": {"llm-d": None}}),
    ("namespace/terminating", {}, {"namespaces": {"llm-d": {"metadata": {}, "status": {"phase": "Terminating"}}}}),
    ("namespace/terminating", {}, {"namespaces": {"envoy-gateway-system": {"metadata": {}, "status": {"phase": "Terminating"}}}}),
    ("namespace/terminating", BY_HELM, {"namespaces": {"gpu-operator": {"metadata": {}, "status": {"phase": "Terminating"}}}}),
    (
        "namespace/pod_security",
        {"llm_d_run_as_user": 0},
        {"namespaces": {"llm-d": {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}}},
    ),
    ("named/missing", {}, {"named": {"Secret llm-d/hf": None}}),
    ("named/key", {}, {"named": {"Secret llm-d/hf": {"keys": {"token": False}}}}),
    *(("named/missing", {"llm_d_model_services": [{**LLAMA, **options}]}, {"named": {name: None}}) for name, options in NAMED.items()),
    ("named/key", {"llm_d_model_services": [REFERRING]}, {"named": {"ConfigMap llm-d/proxies": {"keys": {}}}}),
    ("named/padded", {}, {"named": {"Secret llm-d/hf": {"keys": {"HF_TOKEN": True, "other": False}}}}),
    ("host/helm", {}, {"host": {"helm": None}}),
    ("host/helm_version", {}, {"host": {"helm": "3.5.4"}}),
    ("host/library", {}, {"host": {"helm": "3.19.0", "libraries": {"kubernetes": "12.0.1"}}}),
    ("host/broken", {}, {"host": {"helm": "4.0.1", "libraries": {"kubernetes.core": "6.2.0"}}}),
    ("host/broken", {}, {"host": {"helm": "3.19.0", "libraries": {"kubernetes": "36.0.0"}}}),
    ("host/broken", {}, {"host": {"helm": "3.19.0", "libraries": {"kubernetes": "33.1.0", "urllib3": "2.6.0"}}}),
    ("host/broken", {}, {"host": {"helm": "3.19.0", "libraries": {"requests": "2.28.2", "urllib3": "2.0.7"}}}),
    ("host/chart", {}, {"host": {"helm": "3.19.0", "charts_missing": ["/charts/envoy_gateway"]}}),
    ("host/registry", {"llm_d_image_registry": "mirror:5000"}, {"host": {"helm": "3.19.0", "silent_registries": {"mirror:5000": "Name or service not known"}}}),
    (
        "host/image",
        {},
        {"host": {"helm": "3.19.0", "missing_images": {"ghcr.io/llm-d/llm-d-inference-scheduler:v0.7.1": "the registry refuses access (HTTP 403)"}}},
    ),
    ("host/image", {}, {"host": {"helm": "3.19.0", "missing_images": {"mirror:5000/vllm:1": "the registry does not have it (HTTP 404)"}}}),
    ("host/source", {}, {"host": {"helm": "3.19.0", "silent_sources": {"charts.example.com": "charts.example.com: timed out"}}}),
    ("host/proxy", {}, {"host": {"helm": "3.19.0", "proxy": "http://proxy:3128", "server_name": "api.example.com"}}),
    ("host/proxy", {}, {"host": {"helm": "3.19.0", "helm_proxy": "http://proxy:3128", "server_name": "api.example.com"}}),
    ("gateway_api/missing", {**NO_SOURCES, **ADOPTED}, crds(gateway=None)),
    ("gateway_api/version", {**NO_SOURCES, **ADOPTED}, crds(gateway="1.2.1")),
    ("inference_extension/missing", {**NO_SOURCES, **ADOPTED}, crds(pool=None)),
    (
        "inference_extension/rewrites",
        {**NO_SOURCES, **ADOPTED, "llm_d_model_services": [{**LLAMA, "model": {**LLAMA["model"], "aliases": {"chat": "llama-8b"}}}]},
        {},
    ),
    ("inference_extension/ignored", {}, {"objectives": {"inferenceobjectives": ["batch"]}}),
    ("inference_extension/version", {**NO_SOURCES, **ADOPTED}, crds(pool="1.0.2")),
    ("inference_extension/group", {**NO_SOURCES, **ADOPTED}, {"groups": {V1: ["v1alpha2"], "metallb.io": ["v1"]}}),
    ("provider/missing", ADOPTED, {"crds": {name: entry for name, entry in HEALTHY["crds"].items() if "istio" not in name}}),
    (
        "monitoring/missing",
        {"llm_d_gpus": {"operator": "nvidia_helm", "metrics": True}, "llm_d_charts": {**CHARTS, "gpu_operator": "/charts/gpu-operator"}},
        {},
    ),
    ("monitoring/missing", SCRAPED, {}),
    (
        "certificates/missing",
        {"llm_d_gateway": {"certificate_issuer": {"name": "ca"}, "listener": {"protocol": "HTTPS", "hostname": "a.example.com", "port": 443}}},
        {},
    ),
    ("monitoring/missing", SCRAPED, crds_with("servicemonitors.monitoring.coreos.com")),
    ("monitoring/missing", {"llm_d_monitoring": {"alerts": True}}, crds_with(POD_MONITORS)),
    ("monitoring/missing", {"llm_d_monitoring": {"dashboards": ["grafana", "perses"]}}, crds_with(POD_MONITORS)),
    ("monitoring/user_workloads", {**OPENSHIFT_FILE, **SCRAPED}, scraping_openshift(None)),
    ("monitoring/user_workloads", {**OPENSHIFT_FILE, **SCRAPED}, scraping_openshift({"data": {"config.yaml": "enableUserWorkload: false\n"}})),
    ("monitoring/user_workloads", {**OPENSHIFT_FILE, **SCRAPED}, scraping_openshift({"data": {"config.yaml": NOT_SO}})),
    ("tracing/collector", traced("otel.monitoring:4317"), {"collector": {"namespace": {"metadata": {}}, "service": None}}),
    ("tracing/collector", traced("otel.monitoring.svc:4317"), {"collector": {"namespace": None, "service": None}}),
    ("tracing/collector", traced("otel.monitoring.svc.cluster.local:4317"), {"collector": OTHER_PORT}),
    ("controller/missing", ADOPTED, {"controllers": {"istio-system/istiod": None}}),
    (
        "controller/version",
        ADOPTED,
        {
            "controllers": {
                "istio-system/istiod": {
                    "spec": {"template": {"spec": {"containers": [{**ISTIOD["spec"]["template"]["spec"]["containers"][0], "image": "istio/pilot:1.27.4"}]}}}
                }
            }
        },
    ),
    ("controller/missing", AI_ADOPTED, ai_gateway(None)),
    ("controller/newer", {"llm_d_gateway": {"provider": "envoy_ai_gateway"}}, ai_gateway("1.2.0")),
    ("controller/version", AI_ADOPTED, ai_gateway("1.0.0", envoy_gateway="1.7.0")),
    ("controller/flag", ADOPTED, {"controllers": {"istio-system/istiod": {"spec": {"template": {"spec": {"containers": [{"image": "istio/pilot:1.29.2"}]}}}}}}),
    ("controller/shared", {}, {"extensions": {"envoy-ai-gateway-system": {"metadata": {"labels": OTHERS}}}}),
    ("controller/shared", {}, {"extensions": {"envoy-ai-gateway-system": {"metadata": {"labels": {}}}}}),
    ("controller/shared", {"llm_d_gateway": {"provider": "envoy_ai_gateway"}}, envoy_gateway_of(OTHERS)),
    (
        "controller/foreign",
        {"llm_d_gateway": {"provider": "istio"}},
        {"controllers": {"istio-system/istiod": {"metadata": {"labels": {"app.kubernetes.io/managed-by": "sail-operator"}}}}},
    ),
    ("controller/foreign", {"llm_d_gateway": {"provider": "istio"}}, istiod("1.29.2", release="mesh")),
    ("controller/newer", {"llm_d_gateway": {"provider": "istio"}}, istiod("1.31.1")),
    ("controller/newer", {"llm_d_gateway": {"provider": "istio", "version": "1.29.0"}}, istiod("1.29.1-distroless")),  # one of others is not downgraded
    ("controller/newer", {"llm_d_gateway": {"provider": "istio"}}, istiod("1.31.1", **plan(FILE)["labels"])),
    ("controller/no_pools", KGATEWAY, kgateway("agentgateway", "2.3.1")),
    ("controller/no_pools", {"llm_d_gateway": {**KGATEWAY["llm_d_gateway"], "class_name": "kgateway"}}, kgateway("kgateway", "2.2.1")),
    ("class/foreign", {}, {"gateway_classes": {"envoy-gateway": {**ISTIO_CLASS, "metadata": {"name": "envoy-gateway"}}}}),
    ("limit_range/max", WITH_SIDECAR, {"limit_ranges": [{"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}}]}),  # 2 of vLLM's and the sidecar's
    ("limit_range/min", WITH_SIDECAR, {"limit_ranges": [{"spec": {"limits": [{"type": "Container", "min": {"memory": "100Mi"}}]}}]}),  # it has 64 Mi
    ("quota/exceeded", WITH_SIDECAR, {"quotas": [{"status": {"hard": {"requests.cpu": "5"}, "used": {"requests.cpu": "0"}}}]}),  # 5 and the sidecar's
    ("class/foreign", ADOPTED, {"gateway_classes": {"istio": {**ISTIO_CLASS, "spec": {"controllerName": "openshift.io/gateway-controller/v1"}}}}),
    (
        "class/refused",
        ADOPTED,
        {"gateway_classes": {"istio": {**ISTIO_CLASS, "status": {"conditions": [{"type": "Accepted", "status": "False", "message": "unsupported version"}]}}}},
    ),
    ("class/missing", {"llm_d_scope": "namespace", **ADOPTED}, {"gateway_classes": {}}),
    ("gateway/foreign", {}, {"gateway": GATEWAY}),
    ("gateway/missing", {"llm_d_gateway": {"provider": "none", "name": "shared"}}, {}),
    ("load_balancer/none", {}, {"groups": {"gateway.networking.k8s.io": ["v1"]}}),
    ("accelerators/none", {}, {"nodes": [{**NODE, "status": {"allocatable": {"cpu": "4"}}}]}),
    ("accelerators/product", {}, {"nodes": [{**NODE, "metadata": {"name": "gpu-1", "labels": {"nvidia.com/gpu.product": "Tesla-T4"}}}]}),
    ("accelerators/tainted", {}, {"nodes": [tainted(GPU), PLAIN]}),
    ("accelerators/tainted", {}, {"nodes": [{**NODE, "spec": {"unschedulable": True}}, PLAIN]}),
    ("accelerators/taken", {}, {"pods": [busy(3)]}),
    ("nodes/none", SIMULATED, {"nodes": []}),
    ("nodes/labels", {"llm_d_model_services": [{**SIMULATOR, "node_selector": {"disk": "ssd"}}]}, {}),
    ("nodes/tainted", SIMULATED, {"nodes": [{**PLAIN, "spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}}]}),
    ("nodes/size", {"llm_d_model_services": [{**LLAMA, "resources": {"requests": {"cpu": "64", "memory": "8Gi"}}}]}, {}),
    ("nodes/size", {"llm_d_model_services": [{**LLAMA, "scheduler": {"resources": {"requests": {"cpu": "1", "memory": "1Ti"}}}}]}, {}),
    ("nodes/taken", {"llm_d_model_services": [{**LLAMA, "resources": {"requests": {"cpu": "30", "memory": "8Gi"}}}]}, {}),
    ("nodes/taken", {}, {"pods": [{**busy(0), "spec": {"nodeName": "gpu-1", "containers": [{"resources": {"requests": {"cpu": "47"}}}]}}]}),
    ("leader_worker_set/missing", SPANNING_ADOPTED, {}),
    ("leader_worker_set/version", SPANNING_ADOPTED, lws(image="0.8.0")),
    ("leader_worker_set/controller", SPANNING_ADOPTED, lws(image=None)),
    ("leader_worker_set/foreign", SPANNING, lws()),
    ("leader_worker_set/foreign", SPANNING, {**lws(), "crds": HEALTHY["crds"]}),
    ("leader_worker_set/foreign", SPANNING, {"crds": lws()["crds"], "leader_worker_set": {"namespace": None, "controller": None}}),
    ("leader_worker_set/newer", SPANNING, our_lws("0.11.2")),
    ("leader_worker_set/no_source", {**SPANNING, "llm_d_crd_sources": {"leader_worker_set": []}}, {}),
    ("autoscaling/keda", scaled("keda", "queue", prometheus="http://prometheus:9090"), {}),
    ("autoscaling/metrics", scaled("hpa", "queue"), {"groups": {**HEALTHY["groups"], "metrics.k8s.io": ["v1beta1"]}}),
    ("autoscaling/metrics", scaled("hpa", "cpu"), {"groups": {**HEALTHY["groups"], "custom.metrics.k8s.io": ["v1beta1"]}}),
    ("gpu_operator/foreign", BY_HELM, gpu_operator("gpu-operator", POLICY)),
    ("gpu_operator/foreign", BY_OLM, {**openshift("4.21.3", V1), **gpu_operator("nvidia-gpu-operator", POLICY, **plan(FILE)["labels"])}),
    ("gpu_operator/newer", BY_HELM, gpu_operator("gpu-operator", NEWER, **plan(FILE)["labels"])),
    ("gpu_operator/missing", {**BY_HELM, "llm_d_gpus": {"operator": "nvidia_helm", "install": False}}, gpu_operator()),
    ("quota/exceeded", {}, {"quotas": [QUOTA]}),
    ("quota/exceeded", {}, {"quotas": [{"status": {"hard": {"count/pods": "4"}, "used": {"count/pods": "2"}}}]}),
    ("quota/unstated", {}, {"quotas": [LIMITS]}),
    ("limit_range/max", {}, {"limit_ranges": [{"spec": {"limits": [{"type": "Pod", "max": {"memory": "4Gi"}}]}}]}),
    ("limit_range/max", {}, {"limit_ranges": [{"spec": {"limits": [{"type": "Container", "max": {"memory": "4Gi"}}]}}]}),
    ("limit_range/min", {}, {"limit_ranges": [{"spec": {"limits": [{"type": "Container", "min": {"cpu": "1500m"}}]}}]}),
    ("named/missing", {"llm_d_model_services": [{**LLAMA, "model": {"uri": "pvc://models/llama"}}]}, {"named": {"PersistentVolumeClaim llm-d/models": None}}),
    (
        "named/lost",
        {"llm_d_model_services": [{**LLAMA, "model": {"uri": "pvc://models/llama"}}]},
        {"named": {"PersistentVolumeClaim llm-d/models": {"status": {"phase": "Lost"}}}},
    ),
    ("storage/class", {"llm_d_model_services": [{**LLAMA, "replicas": 1, "storage": {"claim": True, "size": "50Gi"}}]}, {"storage_classes": {"slow": {}}}),
    (
        "storage/class",
        {"llm_d_model_services": [{**LLAMA, "replicas": 1, "storage": {"claim": True, "size": "50Gi", "class_name": "fast"}}]},
        {"storage_classes": {"slow": {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}}},
    ),
]


@pytest.mark.parametrize(("wanted", "user", "cluster"), TABLE, ids=[f"{row[0]} {index}" for index, row in enumerate(TABLE)])
def test_each_cluster_defect_causes_its_finding_and_no_other(wanted: str, user: Facts, cluster: Facts) -> None:
    ids = findings(user, cluster)
    assert wanted in ids
    assert set(ids) <= {wanted, "load_balancer/none"} or wanted.startswith(("platform", "openshift")), ids


def test_every_finding_is_provoked(root: Path) -> None:
    """A finding that no row of the table provokes fails here; so does a row of a finding that no longer exists.

    gpu_use.py checks a removal, not a plan: tests/unit/plugins/modules/test_gpu_use.py provokes its findings.
    """
    known: set[str] = set()
    for path in (root / "plugins/module_utils/preflight").glob("*.py"):
        if path.name == "gpu_use.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "PreflightFinding":
                assert isinstance(node.args[0], ast.Constant), f"{path.name}:{node.lineno}: the id of a finding has to be written out"
                known.add(node.args[0].value)
    assert len(known) > 30
    assert {row[0] for row in TABLE} == known


@pytest.mark.parametrize(
    ("options", "cluster"),
    [
        ({}, istiod("1.29.2")),
        ({}, istiod("1.28.6")),  # older: it is upgraded
        ({"version": "1.30.1"}, istiod("1.30.1")),  # the file keeps it
        ({"version": "1.29.0"}, istiod("1.29.2", **plan(FILE)["labels"])),  # the file downgrades our own
    ],
)
def test_a_controller_that_is_own_or_not_downgraded_causes_no_finding(options: Facts, cluster: Facts) -> None:
    assert not [name for name in findings({"llm_d_gateway": {"provider": "istio", **options}}, cluster) if name.startswith("controller/")]


def test_the_last_of_kgateway_that_serves_pools_is_no_finding() -> None:
    assert not [name for name in findings(KGATEWAY, kgateway("agentgateway", "2.2.1")) if name.startswith("controller/")]


def test_an_image_of_the_users_own_is_compared_with_itself() -> None:
    user = {"llm_d_gateway": {"provider": "istio"}, "llm_d_images": {"gateway": "corp.example.com/pilot:1.30.1-corp"}}
    assert "controller/newer" not in findings(user, istiod("1.30.1-corp"))


@pytest.mark.parametrize("name", [None, "fast"])
def test_a_storage_class_that_is_there_is_no_finding(name: str | None) -> None:
    user = {"llm_d_model_services": [{**LLAMA, "replicas": 1, "storage": {"claim": True, "size": "50Gi", "class_name": name}}]}
    known = {"fast": {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}}
    assert "storage/class" not in findings(user, {"storage_classes": known})
    unread = {key: value for key, value in HEALTHY.items() if key != "storage_classes"}
    assert "storage/class" not in [finding.id for finding in judge(unread, plan({**FILE, **user})["preflight"])]


def test_an_account_that_may_not_read_crds_is_judged_by_api_groups() -> None:
    unread = ("crds", "nodes", "pods", "namespaces", "gateway_classes", "controllers", "named", "load_balancers")
    restricted = {key: value for key, value in HEALTHY.items() if key not in unread}
    user = {"llm_d_scope": "namespace", "llm_d_gateway": {"provider": "istio"}, "llm_d_model_services": []}

    def ids(**groups: list[str]) -> list[str]:
        served = {**HEALTHY["groups"], "metallb.io": [], "networking.istio.io": ["v1"], **groups}
        facts = {**restricted, "groups": {name: versions for name, versions in served.items() if versions}}
        return [finding.id for finding in judge(facts, plan({**FILE, **user})["preflight"])]

    assert ids() == []
    assert ids(**{"networking.istio.io": []}) == ["provider/missing"]
    assert ids(**{"gateway.networking.k8s.io": []}) == ["gateway_api/missing"]
    assert ids(**{"inference.networking.k8s.io": []}) == ["inference_extension/missing"]


def test_accelerators_that_the_operator_will_bring_are_not_missed() -> None:
    bare = {"nodes": [{**NODE, "status": {"allocatable": {"cpu": "40"}}}]}
    charts = {"llm_d_charts": {**CHARTS, "gpu_operator": "/charts/gpu-operator"}}
    assert findings({**charts, "llm_d_gpus": {"operator": "nvidia_helm"}}, bare) == []
    assert findings({**charts, "llm_d_gpus": {"operator": "nvidia_helm", "install": False}}, bare) == ["accelerators/none"]


def test_the_needs_of_services_are_not_those_of_an_administrator() -> None:
    facts = {**HEALTHY, "nodes": [], "named": {"Secret llm-d/hf": None}, "gateway": GATEWAY, "namespaces": {"llm-d": None}}
    assert not judge(facts, plan({**FILE, "llm_d_scope": "prerequisites"})["preflight"])
    assert judge(facts, plan(FILE)["preflight"])


@pytest.mark.parametrize("user", [{}, ADOPTED, {"llm_d_gateway": {"provider": "standalone"}}, {"llm_d_model_services": []}])
def test_a_cluster_that_is_well_has_no_findings(user: Facts) -> None:
    assert not findings(user, {})


@pytest.mark.parametrize(
    ("version", "group", "options"),
    [("4.21.3", V1, {}), ("4.20.8", OLD, OLD_POOLS), ("4.19.14", OLD, OLD_POOLS)],
)
def test_an_openshift_that_is_well_has_no_findings(version: str, group: str, options: Facts) -> None:
    assert not findings({**OPENSHIFT_FILE, **options}, openshift(version, group))


@pytest.mark.parametrize(
    ("user", "cluster"),
    [
        (SCRAPED, crds_with(POD_MONITORS)),
        ({"llm_d_monitoring": {"alerts": {"queue": 5}, "dashboards": ["grafana"]}}, crds_with("prometheusrules.monitoring.coreos.com")),
        ({**OPENSHIFT_FILE, **SCRAPED}, scraping_openshift({"data": {"config.yaml": "prometheusK8s: {}\nenableUserWorkload: true # all\n"}})),
        ({**OPENSHIFT_FILE, **SCRAPED}, {key: value for key, value in scraping_openshift(None).items() if key != "cluster_monitoring"}),  # may not be read
        (OPENSHIFT_FILE, scraping_openshift(None)),  # not requested
    ],
)
def test_a_cluster_that_serves_the_monitors_is_no_finding(user: Facts, cluster: Facts) -> None:
    assert findings(user, cluster) == []


@pytest.mark.parametrize(
    ("endpoint", "cluster"),
    [
        ("otel.monitoring:4317", {"collector": {"namespace": {"metadata": {}}, "service": {"spec": {"ports": [{"port": 4317}]}}}}),
        ("otel.monitoring:80", {"collector": OTHER_PORT}),
        ("example.com:4317", {"collector": {"namespace": None, "service": None}}),  # a host of the internet, perhaps
        ("otel.example.com:4317", {}),
        ("otel.monitoring:4317", {}),  # may not be read
    ],
)
def test_an_existing_external_or_unreadable_collector_causes_no_finding(endpoint: str, cluster: Facts) -> None:
    assert findings(traced(endpoint), cluster) == []


def test_each_missing_monitoring_crd_names_the_option_that_requires_it() -> None:
    facts = {**copy.deepcopy(HEALTHY), **gpu_operator()}
    everything = {"llm_d_monitoring": {"scrape": True, "alerts": True, "dashboards": ["perses"]}}
    user = {**FILE, **BY_HELM, **everything, "llm_d_gpus": {**BY_HELM["llm_d_gpus"], "metrics": True}}
    missing = [finding for finding in judge(facts, plan(user)["preflight"]) if finding.id == "monitoring/missing"]
    assert [(finding.needed, finding.how.partition(", or ")[2]) for finding in missing] == [
        (POD_MONITORS, "write 'scrape: false' under llm_d_monitoring."),
        ("prometheusrules.monitoring.coreos.com", "write 'alerts: false' under llm_d_monitoring."),
        ("persesdashboards.perses.dev", "take 'perses' out of dashboards under llm_d_monitoring."),
        ("servicemonitors.monitoring.coreos.com", "write 'metrics: false' under llm_d_gpus."),
    ]


def test_a_project_that_will_be_requested_is_not_missed() -> None:
    user = {**OPENSHIFT_FILE, "llm_d_scope": "namespace", "llm_d_request_project": True}
    cluster = openshift(
        "4.21.3", V1, namespaces={"llm-d": None}, gateway_classes={"openshift-default": {"spec": {"controllerName": "openshift.io/gateway-controller/v1"}}}
    )
    assert findings(user, cluster) == []
    assert findings({**user, "llm_d_request_project": False}, cluster) == ["namespace/missing"]


def test_facts_that_could_not_be_read_cause_no_finding() -> None:
    facts = {key: value for key, value in HEALTHY.items() if key in ("version", "groups", "permissions", "host")}
    assert not judge(facts, plan(FILE)["preflight"])


def test_accelerators_of_own_running_pods_count_as_free() -> None:
    ours = busy(4)
    ours["metadata"] = {"name": "llama-decode-x", "namespace": "llm-d", "labels": plan(FILE)["labels"]}
    assert not findings({}, {"pods": [ours]})


@pytest.mark.parametrize(
    ("user", "cluster"),
    [
        (SPANNING, {"leader_worker_set": {"namespace": None, "controller": None}}),  # nothing there: we install it
        (SPANNING, our_lws("0.9.0")),
        (SPANNING, {**our_lws("0.9.0"), "leader_worker_set": {"namespace": None, "controller": None}}),  # removed again, the definitions stayed
        ({**SPANNING, "llm_d_crd_sources": {"leader_worker_set": []}}, {"crds": lws()["crds"]}),
        (SPANNING_ADOPTED, lws()),
        (SPANNING_ADOPTED, lws(image="0.10.0")),
        (SPANNING_ADOPTED, {"crds": lws()["crds"]}),  # the controller may not be read
        ({}, lws(image="0.2.0")),  # not needed
    ],
)
def test_a_leader_worker_set_that_will_do_is_no_finding(user: Facts, cluster: Facts) -> None:
    assert findings(user, cluster) == []


@pytest.mark.parametrize(
    ("user", "group"),
    [
        (scaled("keda", "queue", prometheus="http://prometheus:9090"), "keda.sh"),
        (scaled("hpa", "queue"), "custom.metrics.k8s.io"),
        (scaled("hpa", "cpu"), "metrics.k8s.io"),
        ({"llm_d_model_services": [{**scaled("hpa", "cpu")["llm_d_model_services"][0], "autoscaling": {"provider": "external"}}]}, "none"),
    ],
)
def test_autoscalers_that_have_what_they_act_by_are_no_finding(user: Facts, group: str) -> None:
    assert findings(user, {"groups": {**HEALTHY["groups"], group: ["v1"]}}) == []


def test_an_old_or_missing_leader_worker_set_is_reported_with_a_remedy() -> None:
    facts = {**copy.deepcopy(HEALTHY), **lws(image="0.7.0")}
    lines = report(judge(facts, plan({**FILE, **SPANNING_ADOPTED})["preflight"]))
    assert lines == ["error  leader_worker_set/version: LeaderWorkerSet is too old. Found: 0.7.0. Needed: 0.9.0 or newer. Have it upgraded."]
    openshift_file = {**SPANNING, **OPENSHIFT_FILE}
    cluster = openshift("4.21.3", V1, nodes=[NODE])
    problems = judge({**copy.deepcopy(HEALTHY), **cluster}, plan({**FILE, **openshift_file})["preflight"])
    assert [finding.id for finding in problems] == ["leader_worker_set/missing"] and "from OperatorHub" in problems[0].how


def test_each_pod_of_a_multi_node_replica_needs_room_on_a_node() -> None:
    four = {**LLAMA, "replicas": 1, "accelerator": {**LLAMA["accelerator"], "per_replica": 6, "nodes": 2}}
    user, well = {**SPANNING_ADOPTED, "llm_d_model_services": [four]}, lws()
    second = {**NODE, "metadata": {**NODE["metadata"], "name": "gpu-2"}}
    assert findings(user, {**well, "nodes": [NODE, second]}) == []
    facts = {**copy.deepcopy(HEALTHY), **well, "nodes": [NODE]}
    assert "There is room for 1 of 2 parts (2 for each replica) of llama." in report(judge(facts, plan({**FILE, **user})["preflight"]))[0]


def test_a_replica_does_not_span_two_nodes() -> None:
    second = {**NODE, "metadata": {**NODE["metadata"], "name": "gpu-2"}}
    four = {**LLAMA, "replicas": 1, "accelerator": {**LLAMA["accelerator"], "per_replica": 4}}
    assert findings({"llm_d_model_services": [four]}, {"nodes": [NODE, second], "pods": [busy(1)]}) == []
    three_free = [busy(1), {**busy(1), "spec": {**busy(1)["spec"], "nodeName": "gpu-2"}}]
    assert findings({"llm_d_model_services": [four]}, {"nodes": [NODE, second], "pods": three_free}) == ["accelerators/taken"]


def test_two_services_do_not_count_the_same_accelerator_twice() -> None:
    services = [{**LLAMA, "replicas": 3}, {**LLAMA, "name": "other", "replicas": 2, "route": {"path": "/other"}}]
    assert findings({"llm_d_model_services": services}, {}) == ["accelerators/taken"]


def test_definitions_that_may_not_be_read_are_there_if_they_are_served() -> None:
    cluster = {key: value for key, value in openshift("4.21.3", V1).items() if key not in ("crds", "cluster_version", "gateway_classes")}
    facts = {key: value for key, value in {**copy.deepcopy(HEALTHY), **cluster}.items() if key in {*cluster, *HEALTHY} - {"crds", "nodes", "gateway_classes"}}
    user = {**OPENSHIFT_FILE, "llm_d_scope": "namespace", "llm_d_model_services": []}
    assert [finding.id for finding in judge(facts, plan(user)["preflight"])] == []
    del facts["groups"]["gateway.networking.k8s.io"], facts["groups"][V1]
    assert [finding.id for finding in judge(facts, plan(user)["preflight"])] == ["gateway_api/missing", "inference_extension/missing"]


@pytest.mark.parametrize(
    "cluster",
    [
        {"quotas": [{**LIMITS, "spec": {"scopes": ["BestEffort"]}}]},
        {"quotas": [{**LIMITS, "spec": {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}}}]},
        {"quotas": [LIMITS], "limit_ranges": [{"spec": {"limits": [{"type": "Container", "default": {"cpu": "8"}}]}}]},
        {"quotas": [{"status": {"hard": {"requests.memory": "1Ti", "cpu": "200"}}}]},  # our pods state these
        {"limit_ranges": [{"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"memory": "1"}}]}}]},
    ],
)
def test_a_quota_that_our_pods_satisfy_is_no_finding(cluster: Facts) -> None:
    assert findings({}, cluster) == []
    assert findings({}, {"quotas": [{**LIMITS, "spec": {"scopes": ["NotTerminating"]}}]}) == ["quota/unstated"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"metadata": {"namespace": "elsewhere"}}, ["quota/exceeded"]),
        ({"status": {"phase": "Succeeded"}}, ["quota/exceeded"]),
    ],
)
def test_only_running_pods_of_the_namespace_leave_room_in_a_quota(change: Facts, expected: list[str]) -> None:
    metadata = {"labels": plan(FILE)["preflight"]["labels"], **change.get("metadata", {})}
    pod = {"metadata": metadata, "spec": {"containers": [{"resources": {"requests": {"cpu": "100"}}}]}, "status": change.get("status", {})}
    quota = {"status": {"hard": {"requests.cpu": "100"}, "used": {"requests.cpu": "100"}}}
    assert findings({}, {"quotas": [quota], "pods": [pod]}) == expected


def test_sidecars_of_a_model_server_count_towards_quotas_and_limit_ranges() -> None:
    one = [{"type": "Pod", "max": {"cpu": "2050m"}}, {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "64Mi"}}]
    enough = {"limit_ranges": [{"spec": {"limits": one}}], "quotas": [{"status": {"hard": {"requests.cpu": "5050m"}, "used": {}}}]}
    assert findings(WITH_SIDECAR, enough) == []
    sidecar, server = {"restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}}, {"resources": {"requests": {"cpu": "5"}}}
    ours = {"metadata": {"namespace": "llm-d", "labels": plan(FILE)["labels"]}, "spec": {"initContainers": [sidecar], "containers": [server]}}
    full = {"quotas": [{"status": {"hard": {"requests.cpu": "5050m"}, "used": {"requests.cpu": "5050m"}}}]}
    assert findings(WITH_SIDECAR, {**full, "pods": [ours]}) == [], "our own pods make room for the new ones"
    assert findings(WITH_SIDECAR, full) == ["quota/exceeded"]
    facts = {**copy.deepcopy(HEALTHY), "quotas": [LIMITS]}
    (finding,) = judge(facts, plan({**FILE, **WITH_SIDECAR})["preflight"])
    assert finding.found == "not specified for llama-decode, llama-decode/routing-proxy, llama-prefill, llama-epp"


def test_an_own_or_adopted_gpu_operator_causes_no_finding() -> None:
    ours = plan(FILE)["labels"]
    for version in ("v26.7.1", "v26.3.1"):  # kept, and taken back, as the file says
        named = {**BY_HELM, "llm_d_gpus": {"operator": "nvidia_helm", "version": version}}
        assert findings(named, gpu_operator("gpu-operator", NEWER, **ours)) == []
    assert findings(BY_HELM, gpu_operator()) == [] and findings(BY_HELM, gpu_operator("gpu-operator", POLICY, **ours)) == []
    labelled = {"metadata": {"name": "gpu-cluster-policy", "labels": ours}}
    assert findings(BY_OLM, {**openshift("4.21.3", V1), **gpu_operator("nvidia-gpu-operator", labelled)}) == []
    assert findings({**BY_HELM, "llm_d_gpus": {"operator": "nvidia_helm", "install": False}}, gpu_operator("gpu-operator", POLICY)) == []


def test_every_registry_and_every_chart_is_checked() -> None:
    image = {"llm_d_images": {"vllm": "images.example.com/vllm:1"}}
    assert plan(FILE)["preflight"]["registries"] == ["docker.io", "ghcr.io"]
    assert plan({**FILE, **image})["preflight"]["registries"] == ["docker.io", "ghcr.io", "images.example.com"]
    assert plan({**FILE, **image, "llm_d_image_registry": "mirror:5000/x"})["preflight"]["registries"] == ["images.example.com", "mirror:5000"]
    some = {"ghcr.io": "mirror:5000/x"}
    assert plan({**FILE, **image, "llm_d_image_registry": some})["preflight"]["registries"] == ["docker.io", "images.example.com", "mirror:5000"]
    charts = plan({**FILE, **BY_HELM, **SPANNING, "llm_d_charts": {**BY_HELM["llm_d_charts"], "leader_worker_set": "/charts/lws"}})["preflight"]["charts"]
    assert [(chart["name"], chart["brings"]) for chart in charts] == [
        ("envoy-gateway", "controllers"),
        ("lws", "leader_worker_set"),
        ("gpu-operator", "gpu_operator"),
    ]


@pytest.mark.parametrize("severity", ["error", "warning"])
def test_an_unavailable_image_has_the_severity_of_llm_d_preflight_images(severity: str) -> None:
    gone, why = "ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1", "the registry wants an account (HTTP 401)"
    facts = {**copy.deepcopy(HEALTHY), "host": {**HEALTHY["host"], "missing_images": {gone: why, "r.test/x:1": "the registry does not have it (HTTP 404)"}}}
    removed, missing = judge(facts, plan({**FILE, "llm_d_preflight": {"images": severity}})["preflight"])
    assert (removed.id, removed.severity, removed.found) == ("host/image", severity, why) and gone in removed.what
    assert "Upstream removed it for ghcr.io/llm-d/llm-d-router-disagg-sidecar" in removed.how and "llm_d_release" in removed.how
    assert missing.severity == severity and "r.test/x:1" in missing.what and "llm_d_image_pull_credentials" in missing.how


def test_missing_permissions_in_a_project_still_to_be_requested_are_no_finding() -> None:
    user = {**OPENSHIFT_FILE, "llm_d_scope": "namespace", "llm_d_request_project": True}
    permissions = [{"verb": "create", "group": "apps", "resource": "deployments", "namespace": "llm-d", "allowed": False}]
    cluster = openshift(
        "4.21.3", V1, permissions=permissions, gateway_classes={"openshift-default": {"spec": {"controllerName": "openshift.io/gateway-controller/v1"}}}
    )
    assert "permissions/lacking" in findings(user, cluster)
    assert "permissions/lacking" not in findings(user, {**cluster, "namespaces": {"llm-d": None}})
    assert "permissions/lacking" in findings({**user, "llm_d_request_project": False}, {**cluster, "namespaces": {"llm-d": None}})


@pytest.mark.parametrize(
    ("priority_class", "others", "wanted"),
    [
        ({"value": 1000}, -10, []),
        ({"value": 1000}, 1000, ["accelerators/taken"]),
        ({"value": 1000, "preemptionPolicy": "Never"}, -10, ["accelerators/taken"]),
        ({"value": -20}, -10, ["accelerators/taken"]),
        (None, -10, ["named/missing", "accelerators/taken"]),
    ],
)
def test_accelerators_of_preemptible_lower_priority_pods_count_as_free(priority_class: Facts | None, others: int, wanted: list[str]) -> None:
    pod = busy(4)
    pod["spec"]["priority"] = others
    user = {"llm_d_model_services": [{**LLAMA, "pod": {"priorityClassName": "high"}}]}
    assert findings(user, {"pods": [pod], "named": {**HEALTHY["named"], "PriorityClass high": priority_class}}) == wanted
    assert findings({}, {"pods": [pod]}) == ["accelerators/taken"], "without a class there is no preemption"


def test_the_report_lists_all_findings_with_actual_and_required_values() -> None:
    facts = {**copy.deepcopy(HEALTHY), "version": "v1.27.1", "pods": [busy(4)], "named": {"Secret llm-d/hf": None}}
    lines = report(judge(facts, plan(FILE)["preflight"]))
    assert len(lines) == 3
    assert "kubernetes/version: Kubernetes is too old. Found: v1.27.1. Needed: 1.29 or newer." in lines[0]
    assert "There is room for 0 of 2 replicas of llama. Found: free: gpu-1 0 of 4." in lines[2]


@pytest.mark.parametrize(
    ("facts", "name", "flavour"),
    [
        ({"version": "v1.33.5-gke.1201000"}, "gke", "gke"),
        ({"version": "v1.33.5-eks-113cf36"}, "eks", "eks"),
        ({"version": "v1.33.2", "nodes": [{"metadata": {"name": "aks-1", "labels": {"kubernetes.azure.com/cluster": "MC_x"}}}]}, "aks", "aks"),
        ({"version": "v1.32.4+rke2r1"}, "rke2", "rke2"),
        ({"version": "v1.32.4+k3s1"}, "k3s", "k3s"),
        ({"version": "v1.32.4", "nodes": [{"metadata": {"name": "n", "labels": {"microk8s.io/cluster": "true"}}}]}, "microk8s", "microk8s"),
        (
            {"version": "v1.34.0", "nodes": [{"metadata": {"name": "kind-control-plane"}, "spec": {"providerID": "kind://docker/kind/kind-control-plane"}}]},
            "kubernetes",
            "kind",
        ),
        ({"version": "v1.34.4", "nodes": [{"metadata": {"name": "local"}}]}, "kubernetes", "local"),
        (
            {"version": "v1.33.6", "groups": {"config.openshift.io": ["v1"]}, "cluster_version": {"status": {"desired": {"version": "4.20.1"}}}},
            "openshift",
            "openshift",
        ),
    ],
)
def test_a_platform_is_known_by_what_it_shows(facts: Facts, name: str, flavour: str) -> None:
    assert (detect(facts)["name"], detect(facts)["flavour"]) == (name, flavour)


def test_the_summary_condenses_the_facts_of_the_cluster() -> None:
    storage = {"fast": {"metadata": {}}, "standard": {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}}
    amd = {"metadata": {"name": "amd-1", "labels": {}}, "status": {"allocatable": {"amd.com/gpu": "8"}}}
    facts = {**copy.deepcopy(HEALTHY), "pods": [busy(3)], "nodes": [NODE, {**NODE, "metadata": {**NODE["metadata"], "name": "gpu-2"}}, amd]}
    needs = plan(FILE)["preflight"]
    assert summary({**facts, "storage_classes": storage}, needs, detect(facts)) == {
        "user": "admin",
        "nodes": 3,
        "accelerators": {"NVIDIA-L40S": "5 of 8", "amd.com/gpu": "8 of 8"},
        "groups": {"gateway.networking.k8s.io": ["v1", "v1beta1"], "inference.networking.k8s.io": ["v1"]},
        "crds": {name: entry for name, entry in HEALTHY["crds"].items() if entry["version"]},
        "gateway_classes": ["istio"],
        "controllers": {"istio-system/istiod": "1.29.2"},
        "default_storage_class": "standard",
        "load_balancer": True,
    }
    unlisted = {key: value for key, value in facts.items() if key != "pods"}
    assert summary({**unlisted, "own_pods": []}, needs, detect(facts))["accelerators"] is None, "not all pods were read"
    unread = summary({"version": "v1.34.4", "groups": {}, "permissions": []}, needs, detect({"version": "v1.34.4"}))
    assert [unread[key] for key in ("nodes", "accelerators", "load_balancer", "default_storage_class")] == [None] * 4


def test_quantities() -> None:
    assert [amount(text) for text in ("47810m", "4", "1Ki", "2G", "", None)] == [amount("47.81"), 4, 1024, 2 * 10**9, 0, 0]


@pytest.mark.parametrize(
    ("toleration", "right"),
    [
        ({"operator": "Exists"}, True),
        ({"key": GPU, "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": GPU, "value": "x"}, False),
        ({"key": GPU, "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_tolerations(toleration: Facts, right: bool) -> None:
    assert tolerated({"key": GPU, "effect": "NoSchedule"}, [toleration]) is right


@pytest.mark.parametrize(
    ("level", "operator", "value", "right"),
    [
        ("950", "Gt", "900", True),
        ("900", "Gt", "900", False),
        ("899", "Lt", "900", True),
        ("950", "Lt", "900", False),
        ("-1", "Lt", "0", True),
        ("0950", "Gt", "900", False),
        ("high", "Gt", "900", False),
        ("950", "Gt", "9.5", False),
        ("950", "Lt", "Gt", False),
    ],
)
def test_tolerations_that_compare_numbers(level: str, operator: str, value: str, right: bool) -> None:
    """The results are those of kube-scheduler 1.37 with the feature gate TaintTolerationComparisonOperators."""
    taint = {"key": "level", "value": level, "effect": "NoSchedule"}
    assert tolerated(taint, [{"key": "level", "operator": operator, "value": value}]) is right


@pytest.mark.parametrize(
    ("server", "no_proxy", "right"),
    [
        ("api.example.com", "localhost,.example.com", True),
        ("api.example.com", "EXAMPLE.com", True),
        ("api.example.com", "*.example.com", True),
        ("example.com", ".example.com", False),
        ("example.com", "example.com", True),
        ("api.example.org", "example.com,", False),
        ("badexample.com", "example.com", False),
        ("a", "*", True),
        ("api.example.com", "api.example.com:6443", True),
        ("api.example.com", "api.example.com:443", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "192.168.0.0/16, 10.1.2.3", True),
        ("10.1.2.3", "11.0.0.0/8", False),
        ("10.1.2.3", "10.1.2.3:6443", True),
        ("fd00::1", "fd00::/8", True),
        ("fd00::1", "[fd00::1]:6443", True),
        ("fd00::1", "[fd00::1]:443", False),
        ("fd00::1", "[fd00:0::0:1]:6443", True),
        ("api.example.com", "*example.com", False),
        ("api.example.com", "api.example.com other.org", False),
    ],
)
def test_no_proxy_names_hosts_networks_and_ports(server: str, no_proxy: str, right: bool) -> None:
    assert exempt(server, no_proxy, 6443) is right


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        ("https://api.example.com:6443", {"HTTPS_PROXY": "http://p"}, "http://p"),
        ("https://api.example.com:6443", {"https_proxy": "http://p", "no_proxy": "example.com:6443"}, ""),
        ("https://api.example.com:6443", {"HTTP_PROXY": "http://p"}, ""),
        ("http://api.example.com", {"HTTP_PROXY": "http://p"}, "http://p"),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://p"}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": "http://p"}, ""),
        ("https://localhost:6443", {"HTTPS_PROXY": "http://p"}, ""),
    ],
)
def test_the_proxy_of_helm(url: str, environment: dict[str, str], proxy: str) -> None:
    assert proxy_of(url, environment) == proxy


def test_a_client_that_does_not_read_no_proxy_is_named() -> None:
    def message(version: str, **host: t.Any) -> str:
        host = {"helm": "3.19.0", "proxy": "http://proxy:3128", "server_name": "api", "libraries": {"kubernetes": version}, **host}
        [finding] = judge({**HEALTHY, "host": host}, plan(FILE)["preflight"])
        assert (finding.id, finding.severity) == ("host/proxy", "warning")
        return f"{finding.what} {finding.how}"

    assert "this version does not read NO_PROXY" in message("35.0.0", no_proxy=True) and "K8S_AUTH_NO_PROXY" in message("34.1.0", no_proxy=True)
    assert "Put api into NO_PROXY" in message("35.0.0", no_proxy=False) and "Put api into NO_PROXY" in message("37.0.2", no_proxy=True)
    assert message("37.0.2", proxy="", helm_proxy="http://proxy:3128").startswith("Helm reaches")


def test_the_remedy_for_a_kubeconfig_proxy_names_its_proxy_url() -> None:
    """Helm uses proxy-url whatever NO_PROXY says (client-go)."""
    host = {"helm": "3.19.0", "helm_proxy": "http://p:3128", "named_proxy": "http://p:3128", "proxy": "", "server_name": "api", "libraries": {}}
    [finding] = judge({**HEALTHY, "host": host}, plan(FILE)["preflight"])
    assert finding.what.startswith("Helm reaches") and "proxy-url of the kubeconfig" in finding.how and "NO_PROXY" not in finding.how


def test_broken_client_tools_are_reported_with_their_versions() -> None:
    facts = {**HEALTHY, "host": {"helm": "4.0.1", "libraries": {"kubernetes.core": "6.2.0"}}}
    [finding] = judge(facts, plan(FILE)["preflight"])
    assert (finding.severity, finding.found) == ("error", "6.2.0 with helm 4.0.1") and "kubernetes.core:>=6.4.0" in finding.how
    assert findings({}, {"host": {"helm": "4.0.1", "libraries": {"kubernetes.core": "6.6.0", "kubernetes": "37.0.2", "urllib3": "2.8.0"}}}) == []


@pytest.mark.parametrize(
    ("user", "cluster"),
    [
        ({}, {"extensions": {"envoy-ai-gateway-system": {"metadata": {"labels": plan(FILE)["labels"]}}}}),
        ({}, {"extensions": {}}),
        ({}, envoy_gateway_of(OTHERS)),
        ({"llm_d_gateway": {"provider": "envoy_ai_gateway"}}, envoy_gateway_of(plan(FILE)["labels"])),
        ({"llm_d_gateway": {"provider": "envoy_ai_gateway"}}, {**envoy_gateway_of(OTHERS), "controllers": ai_gateway("1.0.0")["controllers"]}),
    ],
)
def test_a_controller_is_shared_with_instances_of_the_same_provider_and_moved_by_its_own(user: Facts, cluster: Facts) -> None:
    assert findings(user, cluster) == []


@pytest.mark.parametrize(
    ("value", "padded"),
    [
        (b"hf_x", False),
        (b"hf_x\n", True),
        (b" x", True),
        (b"Bearer x", True),
        (b'"x"', True),
        (b"'", False),
        (b"", False),
        (b"a b", False),
        (b"\xff", False),
        ("hf_x\u200b".encode(), True),
        ("\ufeffhf_x".encode(), True),
        (b"`x`", True),
        ("\u201cx\u201d".encode(), True),
        (b"bearer:x", True),
        (b"x\r\n", True),
        (base64.b64encode(b"hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"), True),
    ],
)
def test_padding_around_a_credential_in_a_secret_is_detected(value, padded):
    """modelexpress#277: kubectl create secret --from-file keeps the line end of a file."""
    assert _padded(base64.b64encode(value).decode()) is padded and _padded("not base64") is False
