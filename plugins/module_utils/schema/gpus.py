# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the user's file about GPUs and how they are shared."""

from __future__ import annotations

from ..releases.gpus import MIG, OPERATORS
from .fields import Field

_POOL = {
    "name": Field("str", "Name of the node pool. The configurations are named after it.", required=True, format="dns_label"),
    "node_selector": Field(
        "map",
        "Labels of its nodes.",
        required=True,
        keys="label_key",
        elements=Field("str", "The value.", format="label_value"),
        example={"node.kubernetes.io/instance-type": "p4d.24xlarge"},
    ),
    "product": Field("str", "What GPUs the nodes have. Needed for C(sharing: mig).", choices=tuple(MIG)),
    "gpus_per_node": Field("int", "GPUs of each node. Left out, the number is not verified.", minimum=1, maximum=64),
    "sharing": Field(
        "str",
        "C(exclusive): one GPU, one pod. C(mig): each GPU is cut into slices of their own memory. C(time_slicing): pods take turns, memory and faults are"
        " shared. C(mps): pods compute at the same time, each with its part of the memory; experimental.",
        default="exclusive",
        choices=("exclusive", "mig", "time_slicing", "mps"),
    ),
    "profiles": Field(
        "map",
        "With C(sharing: mig), how many slices of which profile each GPU is cut into.",
        elements=Field("int", "How many.", minimum=1),
        example={"3g.40gb": 1, "1g.10gb": 4},
    ),
    "replicas": Field("any", "With C(time_slicing) or C(mps), how many pods share one GPU: the oversubscription, a whole number.", example=2),
}

GPUS = {
    "operator": Field(
        "str",
        "Who brings drivers and device plugin. C(none): they are there, and are only verified.",
        default="none",
        choices=tuple(OPERATORS),
    ),
    "install": Field("bool", "Install the operator. C(false): it is there, is verified, and is not changed.", default=True),
    "version": Field(
        "str",
        "Version of the operator's chart; with C(gaudi), of the driver and the other images that the operator runs. Left out, the tested one.",
        format="version",
    ),
    "channel": Field("str", "Channel of the operator's Subscription. Left out, the catalogue's default.", example="v26.3"),
    "approval": Field("str", "Whether upgrades of the operator wait for a person.", default="Automatic", choices=("Automatic", "Manual")),
    "approved": Field(
        "list",
        "With C(approval: Manual), names of the ClusterServiceVersions that the first installation may bring. Others wait for a person.",
        default=[],
        elements=Field("str", "The name."),
        example=["gpu-operator-certified.v26.3.1"],
    ),
    "gaudi": Field(
        "dict",
        "With C(operator: gaudi), what the operator's ClusterPolicy says.",
        default={},
        options={
            "registry": Field("str", "Registry with Intel's images. Left out, O(llm_d_image_registry).", format="image_prefix"),
            "packages": Field("str", "Host with the packages of the driver. Left out, that of the registry.", format="image_prefix"),
            "system": Field("str", "Operating system of the nodes, as Intel names its drivers.", default="rhel_9.4", format="label_value"),
        },
    ),
    "driver": Field("bool", "Whether the operator installs the driver. Left out, C(false) on GKE, EKS and AKS, whose nodes bring one."),
    "node_feature_discovery": Field("bool", "Install Node Feature Discovery too. C(false) where it is there.", default=True),
    "metrics": Field("bool", "Have Prometheus scrape DCGM's metrics; needs the ServiceMonitor's definition.", default=False),
    "checks": Field(
        "dict",
        "What is verified of NVIDIA's GPUs, beyond what nodes have allocatable.",
        default={},
        options={
            "pods": Field("bool", "On each pool, a pod that asks for what the pool offers has to run to its end, where one is free.", default=True),
            "metrics": Field("bool", "DCGM's exporter has to answer on each node of the pools. With C(operator: none) it is not looked for.", default=True),
        },
    ),
    "pools": Field("list", "Node pools, and how the GPUs of each are shared.", default=[], elements=Field("dict", "One node pool.", options=_POOL)),
}
