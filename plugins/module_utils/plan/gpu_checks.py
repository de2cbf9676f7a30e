# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the GPUs of each pool are tried: a pod for each resource, and DCGM's metrics; and by what it is known who else uses an operator. Pure."""

from __future__ import annotations

import typing as t

from ..releases.lines import ACCELERATORS
from .pod_spec import container_security, image, pod_security

Facts = dict[str, t.Any]
GPU = "nvidia.com/gpu"
EXPORTER = "app=nvidia-dcgm-exporter"
IMAGE = "nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0"


def checks(user: Facts, facts: Facts, pools: list[Facts], labels: Facts) -> Facts:
    """{pods, metrics}: what module gpu_checks takes. facts: the operator's row; pools: as planned; labels: of what is ours."""
    settings = user["llm_d_gpus"]
    if facts["vendor"] != "nvidia":
        return {"pods": [], "metrics": None}
    found: Facts = {"pods": [], "metrics": None}
    for pool, given in zip(pools, settings["pools"]):
        for expected in pool["expected"] if settings["checks"]["pods"] else []:
            pod = _pod(user, pool, given["node_selector"], expected["resource"], labels)
            found["pods"].append({"pool": pool["name"], "resource": expected["resource"], "labels": given["node_selector"], "pod": pod})
    if settings["checks"]["metrics"] and facts["namespace"] and pools:
        asked = [{"selector": pool["selector"], "cut": bool(pool["state_label"])} for pool in pools]
        # An operator of someone else's may be anywhere.
        found["metrics"] = {"namespace": facts["namespace"] if settings["install"] else None, "selector": EXPORTER, "pools": asked}
    return found


def use(settings: Facts, facts: Facts, subscriptions: list[Facts]) -> Facts:
    """{resources, namespaces, features}: what module gpu_use looks for before an operator goes. facts: the operator's row."""
    whole = ACCELERATORS[facts["vendor"]]["resource"]
    return {
        "resources": [whole, "nvidia.com/mig-"] if whole == GPU else [whole],
        "namespaces": list(dict.fromkeys([*(item["namespace"] for item in subscriptions), facts["namespace"]])),
        "features": settings["node_feature_discovery"] and settings["operator"] in ("nvidia_olm", "nvidia_helm"),
    }


def _pod(user: Facts, pool: Facts, node_selector: Facts, resource: str, labels: Facts) -> Facts:
    """One container that asks for one of the resource, on the pool's nodes, and fits restricted pod security."""
    name = f"gpu-test-{pool['name']}-{resource.partition('/')[2].replace('.', '-')}"[:63]
    container = {
        "name": "test",
        "image": image(user, "gpu_test", IMAGE),
        "imagePullPolicy": user["llm_d_image_pull_policy"],
        "resources": {"limits": {resource: "1"}},
        "securityContext": container_security(read_only=False),
    }
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "imagePullSecrets": [{"name": each} for each in user["llm_d_image_pull_secrets"]],
        "nodeSelector": node_selector,
        "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "securityContext": pod_security(user),
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": user["llm_d_namespace"], "labels": labels}, "spec": spec}
