# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part `gpus` of the plan, which the role gpu_operator applies: the GPU operator, node pools, and how their GPUs are shared. Pure."""

from __future__ import annotations

import json
import typing as t

from ...common.labels import label_selector
from ...common.objects import Facts
from ...releases.gpus import DRIVER_THERE, OPERATORS
from ...releases.lines import ACCELERATORS
from .gpu_checks import GPU, checks, use
from .gpu_operators import (
    BLOCK,
    DEVICE_CONFIG,
    MIG_CONFIG,
    approval,
    chart_images,
    gaudi_policy,
    installed,
    nvidia_chart,
    nvidia_policy,
    operator_namespaces,
    ready_reference,
    subscriptions,
)


def gpus(user: Facts, owner: Facts) -> Facts:
    """The operator, its configuration, and the node pools with the labels and allocatable resources of their nodes. owner: labels of our objects."""
    settings = user[BLOCK]
    facts = OPERATORS[settings["operator"]]
    shared_pools = [pool for pool in settings["pools"] if pool["sharing"] in ("time_slicing", "mps")]
    mig_pools = [pool for pool in settings["pools"] if pool["sharing"] == "mig"]
    strategy = mig_strategy(mig_pools)
    # Whether the operator installs the driver.
    driver = settings["driver"] if settings["driver"] is not None else user["llm_d_platform"] not in DRIVER_THERE
    # Whether the plan configures the sharing of GPUs. An adopted operator keeps its own configuration.
    configured = settings["install"] and settings["operator"] in ("nvidia_olm", "nvidia_helm")
    used_configs = [name for name, users in ((DEVICE_CONFIG, shared_pools), (MIG_CONFIG, mig_pools)) if users]
    return {
        "operator": settings["operator"],
        "install": settings["install"] and settings["operator"] != "none",
        # Only an administrator installs operators and labels nodes.
        "active": user["llm_d_scope"] != "namespace" and (settings["operator"] != "none" or bool(settings["pools"])),
        "namespace": facts["namespace"],
        "subscriptions": (subscribed := subscriptions(settings, facts)),
        "installed": installed(settings, facts),
        "approval": approval(settings, facts),
        "namespaces": operator_namespaces(settings, facts, owner),
        "node_feature_discovery": settings["node_feature_discovery"] and settings["operator"] == "nvidia_olm",
        "chart": (chart := nvidia_chart(user, facts, strategy, driver, bool(shared_pools), bool(mig_pools))),
        "images": chart_images(user, facts["chart"], driver)[0] if chart else [],
        "cluster_policy": (
            nvidia_policy(strategy, driver, settings["metrics"], bool(shared_pools), bool(mig_pools)) if settings["operator"] == "nvidia_olm" else None
        ),
        "gaudi_policy": gaudi_policy(user),
        "ready": ready_reference(settings, facts),
        "mig_strategy": strategy,
        "device_plugin": {"name": DEVICE_CONFIG, "data": _device_configs(settings["pools"], strategy)} if shared_pools and configured else None,
        "mig_manager": {"name": MIG_CONFIG, "data": {"config.yaml": _mig_configs(mig_pools)}} if mig_pools and configured else None,
        # ConfigMaps that an earlier version of the file may have created, and that no pool uses.
        "prune": [_config_map(name, facts) for name in (DEVICE_CONFIG, MIG_CONFIG) if configured and name not in used_configs],
        "pools": (pools := [_pool(pool, strategy, configured, ACCELERATORS[facts["vendor"]]["resource"]) for pool in settings["pools"]]),
        "checks": checks(user, facts, pools, owner),
        "use": use(settings, facts, subscribed),
    }


def mig_strategy(pools: t.Sequence[Facts]) -> str:
    """The MIG strategy of the cluster: none, single (all slices of a node are equal and count as nvidia.com/gpu) or mixed."""
    if not pools:
        return "none"
    return "single" if all(len(pool["profiles"] or {}) == 1 for pool in pools) else "mixed"


def _config_map(name: str, facts: Facts) -> Facts:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": facts["namespace"]}}


def _pool(pool: Facts, strategy: str, configured: bool, gpu_resource: str | None) -> Facts:
    """Labels for the nodes of a pool, and their expected allocatable resources.

    configured: whether the plan configures the sharing of GPUs; gpu_resource: the resource of an accelerator that is not partitioned.
    """
    expected = []
    gpus_per_node = pool["gpus_per_node"]
    mig = pool["sharing"] == "mig"
    if mig:
        for name, count in (pool["profiles"] or {}).items():
            resource = GPU if strategy == "single" else f"nvidia.com/mig-{name}"
            expected.append({"resource": resource, "count": gpus_per_node * count if gpus_per_node else None})
    else:
        expected.append({"resource": gpu_resource, "count": gpus_per_node * (pool["replicas"] or 1) if gpus_per_node else None})
    # None removes a label. The labels in `corrected` are set only on nodes that have them, which were partitioned before.
    labels = {
        "nvidia.com/device-plugin.config": pool["name"] if pool["sharing"] in ("time_slicing", "mps") else None,
        **({"nvidia.com/mig.config": pool["name"]} if mig else {}),
    }
    return {
        "name": pool["name"],
        "selector": label_selector(pool["node_selector"]),
        "labels": labels if configured else {},
        "corrected": {"nvidia.com/mig.config": "all-disabled"} if configured and not mig else {},
        "expected": expected,
        "state_label": "nvidia.com/mig.config.state" if mig else None,
    }


def _device_configs(pools: t.Sequence[Facts], strategy: str) -> Facts:
    """{name: configuration} of the device plugin: one for each pool that shares GPUs, and `default` for all other nodes."""
    configs = {"default": _yaml({"version": "v1", "flags": {"migStrategy": strategy}})}
    for pool in pools:
        if pool["sharing"] not in ("time_slicing", "mps"):
            continue
        resources = [{"name": GPU, "replicas": pool["replicas"]}]
        if pool["sharing"] == "time_slicing":
            # Without failRequestsGreaterThanOne, a pod that requests two gets the same GPU twice.
            sharing: Facts = {"timeSlicing": {"failRequestsGreaterThanOne": True, "resources": resources}}
        else:
            sharing = {"mps": {"resources": resources}}
        configs[pool["name"]] = _yaml({"version": "v1", "flags": {"migStrategy": strategy}, "sharing": sharing})
    return configs


def _mig_configs(pools: t.Sequence[Facts]) -> str:
    """The configuration file of the MIG manager, with a configuration for each pool."""
    configs: Facts = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
    configs.update({pool["name"]: [{"devices": "all", "mig-enabled": True, "mig-devices": dict(pool["profiles"])}] for pool in pools})
    return _yaml({"version": "v1", "mig-configs": configs})


def _yaml(document: Facts) -> str:
    return json.dumps(document, indent=2) + "\n"  # JSON is YAML
