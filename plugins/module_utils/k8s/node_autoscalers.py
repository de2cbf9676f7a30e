# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a cluster has a node autoscaler, which adds nodes for pods that no node takes."""

from __future__ import annotations

import re
import typing as t

from ..common.objects import Facts, dicts, get_path, mapping, text
from .client import Cluster
from .errors import ApiError

# (autoscaler, API group, the kind that configures which nodes it adds, its plural; without a kind the served group is enough)
_KINDS = (
    ("Karpenter", "karpenter.sh", "NodePool", "nodepools"),
    ("Karpenter", "karpenter.sh", "Provisioner", "provisioners"),  # until 0.31
    ("GKE", "cloud.google.com", "ComputeClass", "computeclasses"),
    ("GKE Autopilot", "auto.gke.io", "", ""),
    ("Cluster API", "cluster.x-k8s.io", "MachineDeployment", "machinedeployments"),
    ("Cluster API", "cluster.x-k8s.io", "MachinePool", "machinepools"),
    ("OpenShift", "autoscaling.openshift.io", "MachineAutoscaler", "machineautoscalers"),
)
# For kinds that exist without an autoscaler as well: the annotation of the objects that cluster-autoscaler scales. (Its page on Cluster API, "Enabling
# Autoscaling".)
_SCALED = {"cluster.x-k8s.io": "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"}
# Autoscalers that scale node pools without an object of the kind.
_ANYHOW = ("GKE",)
_STATUS = "cluster-autoscaler-status"  # the ConfigMap that cluster-autoscaler writes, that of a cloud too
_IMAGE = re.compile(r"(?:^|/)cluster-autoscaler(?:-(?:amd64|arm64))?(?:[:@]|$)")
_NAMED = 3  # objects that are named


def observe(cluster: Cluster, groups: t.Mapping[str, t.Sequence[str]] | None = None) -> Facts:
    """{active: autoscalers with what shows them, without: those that are installed and have no object to scale}. groups: served versions by API group."""
    if groups is None:
        groups = {group["name"]: [entry["version"] for entry in dicts(group.get("versions"))] for group in dicts((cluster.find("/apis") or {}).get("groups"))}
    rows = [row for row in _KINDS if row[1] in groups]
    lists = cluster.parallel(lambda row: _listed(cluster, [f"/apis/{row[1]}/{version}/{row[3]}" for version in groups[row[1]]] if row[3] else []), rows)
    present: list[str] = []
    without: list[str] = []
    for (name, group, kind, _plural), items in zip(rows, lists, strict=True):
        if items:
            scaled = [item for item in items if not item or group not in _SCALED or _SCALED[group] in mapping(get_path(item, "metadata", "annotations"))]
            if not scaled:
                without.append(f"no {kind} of {name} has the annotation {_SCALED[group]}")
                continue
            items = scaled
        if items == [] and kind:
            without += [] if name in _ANYHOW else [f"{name} has no {kind}"]
        elif items is not None or not kind:
            present.append(f"{name} ({_names(kind, items) if items else f'API group {group}'})")
    return {"active": _status(cluster) + present, "without": without}


def _listed(cluster: Cluster, paths: list[str]) -> list[Facts] | None:
    """The objects of the first path that is served; None where none is. An object without a name stands for objects that may not be read."""
    try:
        return next((dicts(listing.get("items")) for path in paths if (listing := cluster.find(path)) is not None), None)
    except ApiError as error:
        if error.status in (401, 403):
            return [{}]
        raise


def _names(kind: str, items: list[Facts]) -> str:
    names = [name for item in items if (name := text(get_path(item, "metadata", "name")))]
    return " ".join([kind, ", ".join(names[:_NAMED]) + (" and more" if len(names) > _NAMED else "")]).strip()


def _status(cluster: Cluster) -> list[str]:
    """cluster-autoscaler where its status exists, which it writes into kube-system unless another namespace is configured."""
    try:
        status = cluster.find(f"/api/v1/namespaces/kube-system/configmaps/{_STATUS}")
    except ApiError as error:
        if error.status in (401, 403):
            return []
        raise
    return [f"cluster-autoscaler (ConfigMap kube-system/{_STATUS})"] if status else []


def running(pods: t.Iterable[Facts]) -> list[str]:
    """A pod of cluster-autoscaler, whatever namespace it writes its status into; [] without one."""
    return [
        f"cluster-autoscaler (Pod {text(get_path(pod, 'metadata', 'namespace'))}/{text(get_path(pod, 'metadata', 'name'))})"
        for pod in pods
        if any(_IMAGE.search(text(each.get("image"))) or _runs(each) for each in dicts(get_path(pod, "spec", "containers")))
    ][:1]


def _runs(container: Facts) -> bool:
    """Whether a container runs the program, whatever its image is called, as that of OpenShift."""
    command = [text(word) for key in ("command", "args") for word in (container.get(key) or [])]
    return bool(command) and command[0].rpartition("/")[2] == "cluster-autoscaler"
