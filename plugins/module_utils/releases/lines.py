# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release lines: images, API versions, CRDs, metrics and permissions; minimum versions; LeaderWorkerSet. Data only.

sources.py has the page of each image repository. Plugins of each release line are in epp/catalog.
"""

from __future__ import annotations

import typing as t

from .metrics import GIE_15_METRICS, GIE_METRICS, ROUTER_10_METRICS, ROUTER_11_METRICS, ROUTER_METRICS

_POOL_GROUP = "inference.networking.k8s.io"
_EXTENSION_GROUP = "inference.networking.x-k8s.io"
_GIE_URL = "https://github.com/kubernetes-sigs/gateway-api-inference-extension/releases/download"
_ROUTER_URL = "https://github.com/llm-d/llm-d-router/raw"
_READ_VERBS = ("get", "list", "watch")
# Resources with which users prioritize and rewrite requests. The router reads each of them in one API group only: in the newer one if the cluster has that CRD.
OBJECTIVE_KINDS = ("inferenceobjectives", "inferencemodelrewrites")
NEWER_GROUP, OLDER_GROUP = "llm-d.ai", _EXTENSION_GROUP


def _rules(*groups: str) -> list[dict[str, list[str]]]:
    """The RBAC rules of an endpoint picker in its namespace. All are required: it waits until it can list all of these resources.

    groups: the API groups in which it reads OBJECTIVE_KINDS.
    """
    return [
        {"apiGroups": [""], "resources": ["pods"], "verbs": list(_READ_VERBS)},
        {"apiGroups": [_POOL_GROUP], "resources": ["inferencepools"], "verbs": list(_READ_VERBS)},
        {"apiGroups": list(groups), "resources": list(OBJECTIVE_KINDS), "verbs": list(_READ_VERBS)},
    ]


# Sidecar image to the tokenizer image of the same release. Only scheduler-0.7 has one: the router uses a render service of vLLM instead.
_TOKENIZERS = {
    "ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1": "ghcr.io/llm-d/llm-d-uds-tokenizer:v0.7.1",
}


# Resources of an endpoint picker, from upstream's charts: inferencepool of gateway-api-inference-extension up to 1.5, and routerlib of the router.
_GIE_RESOURCES = {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"memory": "16Gi"}}
_ROUTER_RESOURCES = {"requests": {"cpu": "8", "memory": "8Gi"}, "limits": {"memory": "16Gi"}}


def _release(epp: str, sidecar: str, api: str, crds: str, metrics: dict[str, str], rules: list[dict[str, list[str]]], *sources: str) -> dict[str, t.Any]:
    """A row of RELEASES. epp, sidecar: images (sidecar "" without one); api: apiVersion of the EndpointPickerConfig; crds: version of the inference extension's
    CRDs; rules: RBAC rules; sources: URLs of CRDs, by default the manifests of that version."""
    router = metrics.items() >= ROUTER_METRICS.items()  # whether it is a release of llm-d-router, not of an older project
    return {
        "epp_image": epp,
        "sidecar_image": sidecar,
        "tokenizer_image": _TOKENIZERS.get(sidecar),
        "config_api_version": api,
        "pool_api_version": f"{_POOL_GROUP}/v1",
        "pool_group": _POOL_GROUP,
        "crds_version": crds,
        "crds_sources": list(sources) or [f"{_GIE_URL}/v{crds}/manifests.yaml"],
        "metrics": metrics,
        "rules": rules,
        "destination_header": "x-gateway-destination-endpoint",
        "newer_group": router,  # whether it can read OBJECTIVE_KINDS in NEWER_GROUP
        "resources": _ROUTER_RESOURCES if router else _GIE_RESOURCES,
        # Whether it reads KV events as vLLM encodes them since vllm.EVENTS_AS_MAPS. Older lines drop each with "failed to decode vLLM event", and score as if
        # no server cached anything. https://github.com/llm-d/llm-d-kv-cache/pull/661, in go.mod since router 0.9.
        "events_as_maps": router,
        # The label of the metric scheduler_attempts with the server that was picked; None where the metric does not name servers.
        "picked_label": "endpoint_name" if router else "pod_name" if metrics is GIE_15_METRICS else None,
        # Whether --endpoint-selector works instead of a pool. Older lines have the flag, but require --pool-name too, and refuse both together.
        "endpoint_selector": router,
        # joins: its spans continue the trace of the request's header traceparent (pkg/epp/handlers/server.go); older lines begin a new trace. always: it
        # sends spans even with --tracing=false (cmd/epp/main.go).
        "tracing": {"joins": router, "always": bool(sidecar) and not router},
    }


# apiVersion of the EndpointPickerConfig, and repositories of the images.
_OLD_API = "inference.networking.x-k8s.io/v1alpha1"
_NEW_API = "llm-d.ai/v1alpha1"
_SCHEDULER = "ghcr.io/llm-d/llm-d-inference-scheduler"
_ROUTER = "ghcr.io/llm-d/llm-d-router-endpoint-picker"
_OLD_SIDECAR = "ghcr.io/llm-d/llm-d-routing-sidecar"
_NEW_SIDECAR = "ghcr.io/llm-d/llm-d-router-disagg-sidecar"


def _with_own_crds(tag: str, crds: str, metrics: dict[str, str]) -> dict[str, t.Any]:
    """A release of the router that has CRDs of its own beside those of the inference extension."""
    own = [f"{_ROUTER_URL}/{tag}/config/crd/bases/llm-d.ai_{plural}.yaml" for plural in OBJECTIVE_KINDS]
    rules, gie = _rules(_EXTENSION_GROUP, "llm-d.ai"), f"{_GIE_URL}/v{crds}/manifests.yaml"
    return _release(f"{_ROUTER}:{tag}", f"{_NEW_SIDECAR}:{tag}", _NEW_API, crds, metrics, rules, gie, *own)


RELEASES: dict[str, dict[str, t.Any]] = {
    "gie-1.5": _release("registry.k8s.io/gateway-api-inference-extension/epp:v1.5.0", "", _OLD_API, "1.5.0", GIE_15_METRICS, _rules(_EXTENSION_GROUP)),
    "scheduler-0.7": _release(f"{_SCHEDULER}:v0.7.1", f"{_OLD_SIDECAR}:v0.7.1", _OLD_API, "1.4.0", GIE_METRICS, _rules(_EXTENSION_GROUP)),
    "router-0.9": _release(f"{_ROUTER}:v0.9.0", f"{_NEW_SIDECAR}:v0.9.0", _NEW_API, "1.5.0", ROUTER_METRICS, _rules(_EXTENSION_GROUP, "llm-d.ai")),
    "router-0.10": _with_own_crds("v0.10.0", "1.6.2", ROUTER_10_METRICS),
    "router-0.11": _with_own_crds("v0.11.0", "1.5.0", ROUTER_11_METRICS),
}

# Former lines, with the line that replaces each: router-0.9 is the same project as scheduler 0.8, renamed.
REPLACED_RELEASES = {"scheduler-0.8": "router-0.9"}

# Minimum versions: Kubernetes for native sidecars, Helm for oci:// references, and Python libraries on the control host.
MINIMUM: dict[str, t.Any] = {"kubernetes": "1.29", "helm": "3.8.0", "libraries": {"kubernetes": "24.2.0", "yaml": "5.1"}}

# By vendor: the extended resource that pods request, and the node label with the product name.
ACCELERATORS: dict[str, dict[str, str | None]] = {
    "nvidia": {"resource": "nvidia.com/gpu", "product_label": "nvidia.com/gpu.product"},
    "amd": {"resource": "amd.com/gpu", "product_label": "amd.com/gpu.product-name"},
    # Of the driver xe. With the older driver i915, users write accelerator.resource: gpu.intel.com/i915.
    "intel": {"resource": "gpu.intel.com/xe", "product_label": None},
    "intel_gaudi": {"resource": "habana.ai/gaudi", "product_label": None},
    "google": {"resource": "google.com/tpu", "product_label": "cloud.google.com/gke-tpu-accelerator"},
    "none": {"resource": None, "product_label": None},
}

# LeaderWorkerSet runs a model server on several nodes. Controllers before 0.9 do not report observedGeneration, so readiness of a changed group
# cannot be determined; an upgrade of a release up to 0.7 may delete its CRD.
_LWS_GROUP = "leaderworkerset.x-k8s.io"
_LWS_CRDS = "https://github.com/kubernetes-sigs/lws/raw/v{version}/config/crd/bases"
LEADER_WORKER_SET: dict[str, t.Any] = {
    "version": "0.11.0",
    "minimum": "0.9.0",
    "group": _LWS_GROUP,
    "api_version": f"{_LWS_GROUP}/v1",
    "kind": "LeaderWorkerSet",
    "crd": f"leaderworkersets.{_LWS_GROUP}",
    # (URL of a CRD, first version whose controller needs it). The controller also watches DisaggregatedSets, and does not start without their CRDs.
    "sources": [
        (f"{_LWS_CRDS}/disaggregatedset.x-k8s.io_disaggregatedsets.yaml", "0.9.0"),
        (f"{_LWS_CRDS}/disaggregatedset.x-k8s.io_disaggregatedsetrolescalers.yaml", "0.10.0"),
        (f"{_LWS_CRDS}/{_LWS_GROUP}_leaderworkersets.yaml", "0.9.0"),
    ],
    "image": "registry.k8s.io/lws/lws:v{version}",
    "chart": "lws",
    "release_name": "lws",
    "namespace": "lws-system",
    "controller": "lws-controller-manager",
    # Namespace of the platform's own operator, which an administrator installs from the catalog of OpenShift.
    "platform_namespaces": {"openshift": "openshift-lws-operator"},
}
