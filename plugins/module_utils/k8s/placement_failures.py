# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why no node takes a pod, why a node rejected it, and why a node evicted or ended it. Pure."""

from __future__ import annotations

import re

from ..common.text import shorten
from .node_failures import Failure

# Taints that Kubernetes sets while a node has a problem, and what to do instead of tolerating them.
_TAINTS = {
    "node.kubernetes.io/unschedulable": "the node was cordoned: uncordon it (kubectl uncordon)",
    "node.kubernetes.io/disk-pressure": "free space on the node's disk",
    "node.kubernetes.io/memory-pressure": "free memory on the node",
    "node.kubernetes.io/pid-pressure": "the node runs too many processes: find out which",
    "node.kubernetes.io/": "the node is not ready: check its kubelet and its network",
    "node.cloudprovider.kubernetes.io/uninitialized": "the node is not initialized: check the cloud controller manager",
}
_ANY_TAINT = "see the taints of the nodes (kubectl describe nodes), and tolerate the one that is meant"
# Of nodes that are not meant for pods of ours: where other nodes do not match, these are not the reason.
_CONTROL = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_COUNTED = ("cpu", "memory", "ephemeral-storage", "pods")
_ACCELERATOR = re.compile(r"(?:nvidia|amd|habana|google|intel)\.(?:com|ai)/|gpu\.intel\.com/")
# pattern in the message of the scheduler, code, what it means, remedy; the first that matches wins
_UNSCHEDULED = (
    (
        r"allocate all claims|resource ?claim",
        "F13",
        "no device for its ResourceClaim",
        "check that the claim and its template exist, that a ResourceSlice of the device's driver offers such a device, and the selectors of the claim",
    ),
    (r"scheduling gates", "unschedulable", "it has scheduling gates", "the controller that has set the gate takes it away: look at its queue and its log"),
    (r"no nodes available", "unschedulable", "the cluster has no node for pods", "add a node, or wait for a node autoscaler"),
    (
        r"volume node affinity conflict",
        "F20",
        "its volume is in another zone, or on another node",
        "let nodes of the volume's zone take the pod, or make the claim again with a storage class of volumeBindingMode WaitForFirstConsumer",
    ),
    (
        r"ReadWriteOncePod",
        "F20",
        "another pod has its volume",
        "the claim is ReadWriteOncePod, for one pod at a time: use one replica, or a claim that several may use",
    ),
    (r"max volume count", "F20", "the nodes have as many volumes as they can hold", "use another kind of node, more nodes, or fewer volumes"),
    (r"volume|persistentvolumeclaim", "F20", "its volume is not there", "check the PersistentVolumeClaim and its storage class"),
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
# reason of a failed pod, pattern in its message, code, remedy
_ENDED = (
    (
        "UnexpectedAdmissionError",
        r"healthy",
        "device",
        "the device plugin holds the accelerator for faulty: check its driver and the node's kernel log (Xid), then delete the failed pod",
    ),
    (
        "UnexpectedAdmissionError",
        r"devices unavailable",
        "F13",
        "another pod has the devices, or the device plugin was just started again: delete the failed pod; if it stays so, restart the plugin",
    ),
    ("UnexpectedAdmissionError", r"shared|request size", "F37", "request what one shared device may give (usually 1), then delete the failed pod"),
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
    ("TopologyAffinityError", r"", "failed", "the node cannot give CPUs and devices of one NUMA node: ask for less, or change its topology manager's policy"),
    ("NodeAffinity", r"", "failed", "the node's labels changed after the pod was assigned to it: delete the failed pod"),
    ("", r"Node didn't have enough resource", "failed", "another pod got there first: delete the failed pod"),
    ("", r"node shutdown|Node is shutting down", "failed", "its node was shut down: a new pod goes to another node; delete the failed one"),
)
# Codes after which no other pod of a Job or Deployment comes by itself.
_LASTING = ("F37", "device", "F13")


def unscheduled_failure(message: str) -> Failure:
    """Why no node takes a pod, from the message of its condition PodScheduled.

    A node that lacks room has passed all checks before, so that counts first. A taint does not count where other nodes do not match, if it is of the control
    plane.
    """
    short, reasons = shorten(message), message.partition("preemption: ")[0]
    short_of = re.search(r"Insufficient ([\w./-]*\w)", message)
    if short_of:
        return _short_of(short_of.group(1), short)
    if "Too many pods" in message:
        return Failure("F35", f"no node has room for another pod: {short}", "lower the replicas, or add a node")
    taints = re.findall(r"untolerated taint(?:\(s\))?(?: \{([^}]*)\})?", message)
    meant = [name.strip() for name in taints if not name.startswith(_CONTROL)]
    rest = next((row for row in _UNSCHEDULED if re.search(row[0], reasons, re.IGNORECASE)), None)
    if meant or (taints and not rest and "match" not in reasons):
        name = meant[0] if meant else taints[0].strip()
        advice = next((remedy for key, remedy in _TAINTS.items() if name.startswith(key)), f"tolerate the taint {name}" if name else _ANY_TAINT)
        return Failure("F14", f"every node has a taint: {short}", advice)
    if rest:
        return Failure(rest[1], f"{rest[2]}: {short}", rest[3])
    return Failure("unschedulable", f"no node takes it: {short}", "check node selector, affinity and the nodes' conditions")


def _short_of(name: str, short: str) -> Failure:
    if name in _COUNTED:
        return Failure("F35", f"no node has enough {name}: {short}", "lower the requests or the replicas, or add a node")
    if name.startswith("hugepages-"):
        return Failure("F35", f"no node has enough {name}: {short}", "reserve huge pages on the nodes, or request none")
    of = "the accelerator's operator" if _ACCELERATOR.match(name) else "the device plugin that offers it"
    return Failure("F13", f"no node has {name} free: {short}", f"check {of} and the resource's name, or use fewer replicas")


def ended_failure(reason: str, message: str) -> Failure | None:
    """Why a node rejected, evicted or ended a pod; None for another end."""
    row = next((row for row in _ENDED if row[0] in (reason, "") and re.search(row[1], message)), None)
    if row is None:
        return None
    short = shorten(message)
    what = f"evicted: {short}" if row[2] == "evicted" else f"the node refused the pod: {short}" if row[2] in _LASTING else f"failed: {reason} {short}".strip()
    return Failure(row[2], what, row[3], row[2] in _LASTING)
