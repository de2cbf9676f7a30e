# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU operators, and the MIG profiles of each GPU product. Data only."""

from __future__ import annotations

from ..common.objects import Facts

COMPUTE_SLICES, MEMORY_SLICES = 7, 8


def _profiles(memory: int, *sizes: int) -> dict[str, int]:
    """MIG profiles of a product with seven slices, with the maximum number per GPU. `sizes` in GB: 1g, 1g with double memory, 2g, 3g, 4g."""
    names = (f"1g.{sizes[0]}gb", f"1g.{sizes[1]}gb", f"2g.{sizes[2]}gb", f"3g.{sizes[3]}gb", f"4g.{sizes[4]}gb", f"7g.{memory}gb")
    return dict(zip(names, (7, 4, 3, 2, 1, 1), strict=True))


_80 = _profiles(80, 10, 20, 20, 40, 40)

# product: {profile: maximum number per GPU}; empty for products without MIG.
MIG: dict[str, dict[str, int]] = {
    "A100-40GB": _profiles(40, 5, 10, 10, 20, 20),
    "A100-80GB": _80,
    "H100-80GB": _80,
    "H100-NVL-94GB": _profiles(94, 12, 24, 24, 47, 47),
    "H200-141GB": _profiles(141, 18, 35, 35, 71, 71),
    "B200-180GB": _profiles(180, 23, 45, 45, 90, 90),
    "A30-24GB": {"1g.6gb": 4, "2g.12gb": 2, "4g.24gb": 1},
    "RTX-PRO-6000": {"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1},
    "L40S": {},
    "L40": {},
    "L4": {},
    "T4": {},
    "A10": {},
}
# Products with fewer slices than COMPUTE_SLICES and MEMORY_SLICES: (compute, memory).
SLICES = {"A30-24GB": (4, 4), "RTX-PRO-6000": (4, 4)}

# Platforms whose nodes include a driver.
DRIVER_THERE = ("gke", "eks", "aks")

# Tag of the images that the Gaudi operator runs, from Intel's sample for OpenShift.
GAUDI_RELEASE = "1.19.1-26"

# Images of the chart at v26.7.0 that our values enable (deployments/gpu-operator/values.yaml, and Chart.yaml of its subchart).
_CHART_IMAGES = {
    "operator": "nvcr.io/nvidia/gpu-operator:v26.7.0",
    "validator": "nvcr.io/nvidia/gpu-operator:v26.7.0",
    "driver": "nvcr.io/nvidia/driver:595.91.07",
    "driver.manager": "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.12.0",
    "toolkit": "nvcr.io/nvidia/k8s/container-toolkit:v1.20.0",
    "devicePlugin": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
    "gfd": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
    "dcgmExporter": "nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-4.8.3-distroless",
    "migManager": "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.15.0",
    "node-feature-discovery": "registry.k8s.io/nfd/node-feature-discovery:v0.19.0",
}

OPERATORS: dict[str, Facts] = {
    "none": {"vendor": "nvidia", "namespace": None},
    "nvidia_olm": {
        "vendor": "nvidia",
        "namespace": "nvidia-gpu-operator",  # monitoring and alerts of the operator depend on this name
        "platforms": ["openshift"],
        "subscriptions": [
            {"name": "nfd", "namespace": "openshift-nfd", "source": "redhat-operators", "channel": "stable"},
            {"name": "gpu-operator-certified", "namespace": "nvidia-gpu-operator", "source": "certified-operators", "channel": None},
        ],
        "ready": {"api_version": "nvidia.com/v1", "kind": "ClusterPolicy", "name": "gpu-cluster-policy"},
    },
    "nvidia_helm": {
        "vendor": "nvidia",
        "namespace": "gpu-operator",
        "platforms": ["kubernetes", "k3s", "rke2", "microk8s", "eks", "aks", "gke"],
        "chart": {"key": "gpu_operator", "release_name": "gpu-operator", "name": "gpu-operator", "version": "v26.7.0", "images": _CHART_IMAGES},
        "ready": {"api_version": "nvidia.com/v1", "kind": "ClusterPolicy", "name": "cluster-policy"},
    },
    "amd": {
        "vendor": "amd",
        "namespace": "kube-amd-gpu",
        "platforms": ["openshift"],
        "subscriptions": [{"name": "amd-gpu-operator", "namespace": "kube-amd-gpu", "source": "certified-operators", "channel": "alpha"}],
        "ready": {"api_version": "amd.com/v1alpha1", "kind": "DeviceConfig", "namespace": "kube-amd-gpu", "name": "default"},
    },
    # Names from Intel's guide for OpenShift.
    "gaudi": {
        "vendor": "intel_gaudi",
        "namespace": "habana-ai-operator",
        "platforms": ["openshift"],
        "subscriptions": [{"name": "habana-ai-operator", "namespace": "habana-ai-operator", "source": "certified-operators", "channel": "stable"}],
        "ready": {"api_version": "habanalabs.habana.ai/v1", "kind": "ClusterPolicy", "name": "habana-ai"},
    },
}
