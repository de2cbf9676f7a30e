# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image repositories and Helm charts of a deployment, each with the page of upstream that names it. Data only.

The other tables name images as registry/repository:tag; each repository is a key here. URLs of CRDs are in the rows of their bundles.
"""

from __future__ import annotations

import typing as t

_ARTIFACTS = "https://github.com/llm-d/llm-d/blob/main/docs/api-reference/artifacts.md"
_ENVOY_GATEWAY = "https://gateway.envoyproxy.io/docs/install/install-helm/"
_AI_GATEWAY = "https://theagentrouter.ai/docs/getting-started/installation"
_ISTIO = "https://istio.io/latest/news/releases/1.30.x/"
# The Google Cloud locations of Istio's charts end in December 2026.
_ISTIO_CHARTS = "https://istio.io/latest/blog/2026/retirement-of-gcp/"
_AGENTGATEWAY = "https://github.com/agentgateway/agentgateway/blob/v1.7.0/controller/install/helm/agentgateway/values.yaml"
_KGATEWAY = "https://github.com/kgateway-dev/kgateway/releases/tag/v2.2.1"
_GIE = "https://github.com/kubernetes-sigs/gateway-api-inference-extension/blob/v1.5.0/config/charts/inferencepool/values.yaml"
_LWS = "https://lws.sigs.k8s.io/docs/installation/"
_GPU_OPERATOR = "https://github.com/NVIDIA/gpu-operator/blob/v26.7.0/deployments/gpu-operator/values.yaml"

# Image repository to the page that names it.
IMAGES: dict[str, str] = {
    "ghcr.io/llm-d/llm-d-router-endpoint-picker": _ARTIFACTS,
    "ghcr.io/llm-d/llm-d-router-disagg-sidecar": _ARTIFACTS,
    "ghcr.io/llm-d/llm-d-inference-scheduler": _ARTIFACTS,
    "ghcr.io/llm-d/llm-d-routing-sidecar": "https://github.com/llm-d/llm-d/releases/tag/v0.8.1",
    "ghcr.io/llm-d/llm-d-uds-tokenizer": "https://github.com/llm-d/llm-d-kv-cache/blob/v0.8.0/.github/workflows/ci-release-uds-tokenizer.yaml",
    "ghcr.io/llm-d/llm-d-inference-sim": "https://github.com/llm-d/llm-d-inference-sim#readme",
    "registry.k8s.io/gateway-api-inference-extension/epp": _GIE,
    "docker.io/vllm/vllm-openai": _ARTIFACTS,
    "docker.io/vllm/vllm-openai-cpu": _ARTIFACTS,
    "docker.io/vllm/vllm-openai-rocm": _ARTIFACTS,
    "docker.io/vllm/vllm-openai-xpu": _ARTIFACTS,
    "docker.io/vllm/vllm-tpu": _ARTIFACTS,
    "vault.habana.ai/gaudi-docker/1.24.1/ubuntu24.04/habanalabs/vllm-0.26.0-ptupstream-2.11.0": "https://github.com/vllm-project/vllm-gaudi#readme",
    "docker.io/lmsysorg/sglang": _ARTIFACTS,
    "nvcr.io/nvidia/tensorrt-llm/release": _ARTIFACTS,
    "nvcr.io/nvidia/tritonserver": "https://github.com/triton-inference-server/vllm_backend#readme",
    "ghcr.io/huggingface/text-generation-inference": "https://github.com/huggingface/text-generation-inference#readme",
    "docker.io/library/python": "https://github.com/docker-library/python#readme",
    "docker.io/valkey/valkey": "https://github.com/valkey-io/valkey-container#readme",
    "docker.io/envoyproxy/gateway": _ENVOY_GATEWAY,
    "docker.io/envoyproxy/envoy": _ENVOY_GATEWAY,
    "docker.io/envoyproxy/ai-gateway-controller": _AI_GATEWAY,
    "docker.io/istio/pilot": _ISTIO,
    "docker.io/istio/proxyv2": _ISTIO,
    "cr.agentgateway.dev/controller": _AGENTGATEWAY,
    "cr.agentgateway.dev/agentgateway": _AGENTGATEWAY,
    "cr.kgateway.dev/kgateway-dev/kgateway": _KGATEWAY,
    "cr.kgateway.dev/kgateway-dev/envoy-wrapper": _KGATEWAY,
    "registry.k8s.io/lws/lws": _LWS,
    "nvcr.io/nvidia/gpu-operator": _GPU_OPERATOR,
    "nvcr.io/nvidia/driver": _GPU_OPERATOR,
    "nvcr.io/nvidia/k8s-device-plugin": _GPU_OPERATOR,
    "nvcr.io/nvidia/cloud-native/k8s-driver-manager": _GPU_OPERATOR,
    "nvcr.io/nvidia/cloud-native/k8s-mig-manager": _GPU_OPERATOR,
    "nvcr.io/nvidia/k8s/container-toolkit": _GPU_OPERATOR,
    "nvcr.io/nvidia/k8s/dcgm-exporter": _GPU_OPERATOR,
    "nvcr.io/nvidia/k8s/cuda-sample": "https://github.com/NVIDIA/k8s-device-plugin#readme",
    "registry.k8s.io/nfd/node-feature-discovery": _GPU_OPERATOR,
}

# Packages that upstream has removed, to their replacements.
REMOVED: dict[str, str] = {
    "ghcr.io/llm-d/llm-d-inference-scheduler": "ghcr.io/llm-d/llm-d-router-endpoint-picker",
    "ghcr.io/llm-d/llm-d-routing-sidecar": "ghcr.io/llm-d/llm-d-router-disagg-sidecar",
}


# Registry of the images that the Gaudi operator runs, named by its ClusterPolicy (Intel's guide for OpenShift).
GAUDI_REGISTRY = "vault.habana.ai"


class Chart(t.NamedTuple):
    """A Helm chart.

    reference: oci://…, or the URL of a chart repository. version: how upstream tags its version. page: the page that names it.
    """

    reference: str
    version: str
    page: str


# (option of llm_d_charts, name of the chart) to the chart.
CHARTS: dict[tuple[str, str], Chart] = {
    ("envoy_gateway", "gateway-helm"): Chart("oci://docker.io/envoyproxy/gateway-helm", "v{version}", _ENVOY_GATEWAY),
    ("envoy_ai_gateway", "ai-gateway-helm"): Chart("oci://docker.io/envoyproxy/ai-gateway-helm", "v{version}", _AI_GATEWAY),
    ("istio_base", "base"): Chart("oci://ghcr.io/istio/release/charts/base", "{version}", _ISTIO_CHARTS),
    ("istio", "istiod"): Chart("oci://ghcr.io/istio/release/charts/istiod", "{version}", _ISTIO_CHARTS),
    ("agentgateway", "agentgateway"): Chart("oci://cr.agentgateway.dev/charts/agentgateway", "v{version}", _AGENTGATEWAY),
    ("kgateway", "agentgateway"): Chart("oci://cr.agentgateway.dev/charts/agentgateway", "v{version}", _KGATEWAY),
    ("kgateway", "kgateway"): Chart("oci://cr.kgateway.dev/kgateway-dev/charts/kgateway", "v{version}", _KGATEWAY),
    ("leader_worker_set", "lws"): Chart("oci://registry.k8s.io/lws/charts/lws", "{version}", _LWS),
    ("gpu_operator", "gpu-operator"): Chart("https://helm.ngc.nvidia.com/nvidia", "v{version}", _GPU_OPERATOR),
}
