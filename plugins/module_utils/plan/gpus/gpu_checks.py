# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the GPUs of each pool (a pod for each resource, DCGM's metrics), and the options that find other users of an operator. Pure."""

from __future__ import annotations

import hashlib
import re

from ...common.objects import Facts
from ...releases.lines import ACCELERATORS
from ..parts.other_pods import pod_of
from ..parts.pod_spec import container_security, pod_security
from ..parts.references import image

GPU = "nvidia.com/gpu"
EXPORTER = "app=nvidia-dcgm-exporter"
LONGEST = 63  # characters: the name of a pod is also its host name
IMAGE = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0"


def checks(user: Facts, facts: Facts, pools: list[Facts], labels: Facts) -> Facts:
    """{pods, metrics, templates}: options of the module gpu_checks, and the result of `pod_of` for each of the pods.

    facts: the row of the operator in releases/gpus.py; pools: as planned; labels: of our objects.
    """
    settings = user["llm_d_gpus"]
    if facts["vendor"] != "nvidia":
        return {"pods": [], "templates": [], "metrics": None}
    result: Facts = {"pods": [], "templates": [], "metrics": None}
    for pool, given in zip(pools, settings["pools"], strict=True):
        for expected in pool["expected"] if settings["checks"]["pods"] else []:
            name = _name(f"gpu-test-{pool['name']}-{expected['resource'].partition('/')[2]}")
            made = pod_of({"metadata": {"labels": labels}, "spec": _spec(user, given["node_selector"], expected["resource"])}, settings["checks"])
            pod = _pod({"name": name, "namespace": user["llm_d_namespace"]}, made["template"])
            result["pods"].append({"pool": pool["name"], "resource": expected["resource"], "labels": given["node_selector"], "pod": pod})
            result["templates"].append(made)
    if settings["checks"]["metrics"] and facts["namespace"] and pools:
        selectors = [{"selector": pool["selector"], "cut": bool(pool["state_label"])} for pool in pools]
        # An adopted operator can be in any namespace.
        result["metrics"] = {"namespace": facts["namespace"] if settings["install"] else None, "selector": EXPORTER, "pools": selectors}
    return result


def pods_of_checks(planned: Facts) -> list[Facts]:
    """The definitions of the test pods, from their templates. planned: as `checks` returns it, with the templates with or without additions of the user."""
    return [_pod(test["pod"]["metadata"], made["template"]) for test, made in zip(planned["pods"], planned["templates"], strict=True)]


def _pod(about: Facts, template: Facts) -> Facts:
    metadata = {"name": about["name"], "namespace": about["namespace"], **template["metadata"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def use(settings: Facts, facts: Facts, subscriptions: list[Facts]) -> Facts:
    """{resources, namespaces, features}: options of the module gpu_use, which finds other users of an operator before it is removed."""
    whole = ACCELERATORS[facts["vendor"]]["resource"]
    return {
        "resources": [whole, "nvidia.com/mig-"] if whole == GPU else [whole],
        "namespaces": list(dict.fromkeys([*(item["namespace"] for item in subscriptions), facts["namespace"]])),
        "features": settings["node_feature_discovery"] and settings["operator"] in ("nvidia_olm", "nvidia_helm"),
    }


def _spec(user: Facts, node_selector: Facts, resource: str) -> Facts:
    """The spec of a pod on the nodes of a pool, with one container that requests one of the resource, under the pod security standard restricted."""
    container = {
        "name": "test",
        "image": image(user, "gpu_test", IMAGE),
        "imagePullPolicy": user["llm_d_image_pull_policy"],
        "resources": {"limits": {resource: "1"}},
        "securityContext": container_security(read_only=False),
    }
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "imagePullSecrets": [{"name": each} for each in user["llm_d_image_pull_secrets"]],
        "nodeSelector": node_selector,
        "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "securityContext": pod_security(user),
        "containers": [container],
    }


def _name(wanted: str) -> str:
    """A valid name of a pod: other characters become '-', and the end of a long name becomes a checksum, so that names stay unique."""
    name = re.sub(r"[^a-z0-9-]", "-", wanted.lower()).rstrip("-")
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 9].rstrip('-')}-{hashlib.sha256(wanted.encode()).hexdigest()[:8]}"
