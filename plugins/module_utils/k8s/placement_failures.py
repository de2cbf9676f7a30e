# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why no node takes a pod, why a node rejected it, and why a node evicted or ended it. Pure."""

from __future__ import annotations

import re

from ..common.text import shorten
from .node_failures import Failure

# Taints that Kubernetes sets while a node has a problem, and what to do instead of tolerating them. The first key with which a taint begins counts.
_TAINTS = {
    "node.kubernetes.io/unschedulable": "the node was cordoned: uncordon it (kubectl uncordon)",
    "node.kubernetes.io/disk-pressure": "free space on the node's disk",
    "node.kubernetes.io/memory-pressure": "free memory on the node",
    "node.kubernetes.io/pid-pressure": "the node runs too many processes: find out which",
    "node.kubernetes.io/": "the node is not ready: check its kubelet and its network",
    "node.cloudprovider.kubernetes.io/uninitialized": "the node is not initialized: check the cloud controller manager",
}
_UNNAMED_TAINT = "see the taints of the nodes (kubectl describe nodes), and tolerate the one that is meant"
# Taints of nodes that are not meant for our pods: they are not the reason where other nodes do not match.
_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
# Resources of every node. A device plugin offers any other one, except huge pages.
_NODE_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")
_ACCELERATOR = re.compile(r"(?:nvidia|amd|habana|google|intel)\.(?:com|ai)/|gpu\.intel\.com/")
# (pattern in the message of the scheduler, code of the failure, what it means, remedy); the first that matches counts
_UNSCHEDULED = (
    (
        r"allocate all claims|resource ?claim",
        "F13",
        "no device for its ResourceClaim",
        "check that the claim and its template exist, that a ResourceSlice of the device's driver offers such a device, and the selectors of the claim",
    ),
    (r"scheduling gates", "unschedulable", "it has scheduling gates", "the controller that set the gate removes it: look at its queue and its log"),
    (r"no nodes available", "unschedulable", "the cluster has no node for pods", "add a node, or wait for a node autoscaler"),
    (
        r"volume node affinity conflict",
        "F20",
        "its volume is in another zone, or on another node",
        "let nodes of the volume's zone take the pod, or create the claim again with a storage class whose volumeBindingMode is WaitForFirstConsumer",
    ),
    (
        r"ReadWriteOncePod",
        "F20",
        "another pod has its volume",
        "the claim is ReadWriteOncePod, for one pod at a time: use one replica, or a claim that several may use",
    ),
    (r"max volume count", "F20", "the nodes have as many volumes as they can hold", "use another kind of node, more nodes, or fewer volumes"),
    (r"volume|persistentvolumeclaim", "F20", "its volume is missing or not bound", "check the PersistentVolumeClaim and its storage class"),
    (
        r"free ports for the requested",
        "port",
        "its host port is taken on every node",
        "use fewer replicas than nodes, another hostPort, or none",
    ),
    (
        r"topology spread|anti-affinity|pod affinity",
        "unschedulable",
        "no node takes it",
        "lower the replicas, add nodes, or soften the rule: topology spread (ScheduleAnyway) or affinity between pods (preferred)",
    ),
    (r"were unschedulable", "F14", "the nodes are cordoned", "uncordon a node (kubectl uncordon)"),
)
# (reason in the status of a failed pod, any where empty; pattern in its message; code of the failure; remedy); the first that matches counts
_ENDED = (
    (
        "UnexpectedAdmissionError",
        r"healthy",
        "device",
        "the device plugin reports the accelerator as unhealthy: check its driver and the node's kernel log (Xid), then delete the failed pod",
    ),
    (
        "UnexpectedAdmissionError",
        r"devices unavailable",
        "F13",
        "another pod has the devices, or the device plugin was just started again: delete the failed pod; if it stays so, restart the plugin",
    ),
    ("UnexpectedAdmissionError", r"shared|request size", "F37", "request no more shares than one pod may have (usually 1), then delete the failed pod"),
    ("UnexpectedAdmissionError", r"", "device", "look at the log of the device plugin on this node, then delete the failed pod"),
    ("Evicted", r"EmptyDir volume", "evicted", "it wrote more than its emptyDir may hold: raise the size limit of this volume"),
    (
        "Evicted",
        r"ephemeral local storage|local ephemeral storage limit",
        "evicted",
        "it wrote more than its limit of ephemeral-storage: raise the limit, or write to a volume",
    ),
    ("Evicted", r"", "evicted", "the node is short of memory or disk: free some, or lower the requests"),
    ("Preempting", r"", "failed", "a pod of a higher priority took its place: give it a priority class, or add nodes"),
    ("TopologyAffinityError", r"", "failed", "the node cannot give CPUs and devices of one NUMA node: request fewer, or change its topology manager's policy"),
    ("NodeAffinity", r"", "failed", "the node's labels changed after the pod was assigned to it: delete the failed pod"),
    ("", r"Node didn't have enough resource", "failed", "another pod took the resources first: delete the failed pod"),
    ("", r"node shutdown|Node is shutting down", "failed", "its node was shut down: a new pod goes to another node; delete the failed one"),
)
# Codes of pods that a node refused to admit because of their devices: a wait ends, since a new pod most likely fails in the same way.
_REFUSED = ("F37", "device", "F13")


def unscheduled_failure(message: str) -> Failure:
    """Why no node takes a pod, from the message of its condition PodScheduled.

    A node with too little of a resource has passed the filters of the scheduler that come before, so that this counts first. A taint of the control plane
    counts only where the message has no other reason.
    """
    short, reasons = shorten(message), message.partition("preemption: ")[0]  # what follows is why preemption does not help
    insufficient = re.search(r"Insufficient ([\w./-]*\w)", reasons)
    if insufficient:
        return _insufficient_failure(insufficient.group(1), short)
    if "Too many pods" in reasons:
        return Failure("F35", f"no node has room for another pod: {short}", "lower the replicas, or add a node")
    taints = [taint.strip().removesuffix(":") for taint in re.findall(r"untolerated taint(?:\(s\))?(?: \{([^}]*)\})?", reasons)]  # {KEY: } has no value
    worker_taints = [name for name in taints if not name.startswith(_CONTROL_PLANE)]
    known = next((row for row in _UNSCHEDULED if re.search(row[0], reasons, re.IGNORECASE)), None)
    if worker_taints or (taints and not known and "match" not in reasons):
        name = worker_taints[0] if worker_taints else taints[0]
        advice = next((remedy for key, remedy in _TAINTS.items() if name.startswith(key)), f"tolerate the taint {name}" if name else _UNNAMED_TAINT)
        return Failure("F14", f"every node has a taint: {short}", advice)
    if known:
        return Failure(known[1], f"{known[2]}: {short}", known[3])
    return Failure("unschedulable", f"no node takes it: {short}", "check node selector, affinity and the nodes' conditions")


def _insufficient_failure(name: str, short: str) -> Failure:
    """The failure of nodes that have too little of a resource. short: the message, shortened."""
    if name in _NODE_RESOURCES:
        return Failure("F35", f"no node has enough {name}: {short}", "lower the requests or the replicas, or add a node")
    if name.startswith("hugepages-"):
        return Failure("F35", f"no node has enough {name}: {short}", "reserve huge pages on the nodes, or request none")
    provider = "the accelerator's operator" if _ACCELERATOR.match(name) else "the device plugin that offers it"
    return Failure("F13", f"no node has {name} free: {short}", f"check {provider} and the resource's name, or use fewer replicas")


def ended_failure(reason: str, message: str) -> Failure | None:
    """Why a node rejected, evicted or ended a pod, from the reason and the message of its status; None where both are unknown here."""
    row = next((row for row in _ENDED if row[0] in (reason, "") and re.search(row[1], message)), None)
    if row is None:
        return None
    short = shorten(message)
    what = f"evicted: {short}" if row[2] == "evicted" else f"the node refused the pod: {short}" if row[2] in _REFUSED else f"failed: {reason} {short}".strip()
    return Failure(row[2], what, row[3], row[2] in _REFUSED)
