# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the user's file for GPU operators and GPU sharing. Data only."""

from __future__ import annotations

from ..releases.gpus import MIG, OPERATORS
from .fields import Field
from .pods import container_field, pod_field

_POOL = {
    "name": Field("str", "Name of the node pool. The generated configurations are named after it.", required=True, format="dns_label"),
    "node_selector": Field(
        "map",
        "Labels that select its nodes.",
        required=True,
        keys="label_key",
        elements=Field("str", "The value.", format="label_value"),
        example={"node.kubernetes.io/instance-type": "p4d.24xlarge"},
    ),
    "product": Field("str", "GPU product of the nodes. Required for C(sharing: mig).", choices=tuple(MIG)),
    "gpus_per_node": Field("int", "Number of GPUs per node. If omitted, the number is not verified.", minimum=1, maximum=64),
    "sharing": Field(
        "str",
        (
            "How pods share a GPU. C(exclusive): one pod per GPU. C(mig): each GPU is partitioned into isolated instances. C(time_slicing): pods take"
            " turns and share memory and faults. C(mps): pods compute concurrently, each with a part of the memory; experimental."
        ),
        default="exclusive",
        choices=("exclusive", "mig", "time_slicing", "mps"),
    ),
    "profiles": Field(
        "map",
        "With C(sharing: mig), the number of instances of each MIG profile per GPU.",
        elements=Field("int", "Number of instances.", minimum=1),
        example={"3g.40gb": 1, "1g.10gb": 4},
    ),
    # float, so that plan/gpus/validate_gpus.py can explain why a fraction is not possible
    "replicas": Field("float", "With C(time_slicing) or C(mps), how many pods share one GPU, as an integer.", example=2),
}

GPUS = {
    "operator": Field(
        "str",
        "What installs drivers and the device plugin. C(none): they are already there and are only verified.",
        default="none",
        choices=tuple(OPERATORS),
    ),
    "install": Field("bool", "Install the operator. With C(false), it must already be there; it is verified and left unchanged.", default=True),
    "version": Field(
        "str",
        "Version of the operator's chart; with C(gaudi), of the driver and the other images that the operator runs. If omitted, the tested version.",
        format="version",
    ),
    "channel": Field("str", "Channel of the operator's Subscription. If omitted, the default of the catalog.", example="v26.3"),
    "approval": Field("str", "Whether upgrades of the operator need manual approval.", default="Automatic", choices=("Automatic", "Manual")),
    "approved": Field(
        "list",
        "With C(approval: Manual), the ClusterServiceVersions to approve for the first installation. All others wait for manual approval.",
        default=[],
        elements=Field("str", "The name.", format="dns_subdomain"),
        example=["gpu-operator-certified.v26.3.1"],
    ),
    "gaudi": Field(
        "dict",
        "With C(operator: gaudi), the settings of the operator's ClusterPolicy.",
        default={},
        options={
            "registry": Field("str", "Registry with Intel's images. If omitted, O(llm_d_image_registry).", format="image_prefix"),
            "packages": Field("str", "Host that serves the driver packages. If omitted, the host of the registry.", format="image_prefix"),
            "system": Field("str", "Operating system of the nodes, as in the names of Intel's drivers.", default="rhel_9.4", format="label_value"),
        },
    ),
    "driver": Field("bool", "Whether the operator installs the driver. If omitted, C(false) on GKE, EKS and AKS, whose nodes include a driver."),
    "node_feature_discovery": Field("bool", "Install Node Feature Discovery. Set C(false) if it is already there.", default=True),
    "metrics": Field("bool", "Have Prometheus scrape the metrics of DCGM. Requires the ServiceMonitor CRD.", default=False),
    "checks": Field(
        "dict",
        "What is verified for NVIDIA GPUs beyond the allocatable resources of the nodes.",
        default={},
        options={
            "pods": Field("bool", "Run a test pod on each pool that requests what the pool offers, if a GPU is free. It must run to completion.", default=True),
            "pod": pod_field("of the tests of O(llm_d_gpus.checks.pods)"),
            "container": container_field("of the tests of O(llm_d_gpus.checks.pods)"),
            "metrics": Field("bool", "The DCGM exporter must respond on each node of the pools. Ignored with C(operator: none).", default=True),
        },
    ),
    "pools": Field("list", "Node pools, and how the GPUs of each pool are shared.", default=[], elements=Field("dict", "One node pool.", options=_POOL)),
}
