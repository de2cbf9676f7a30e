# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness of what the Operator Lifecycle Manager and GPU operators make. Computes only; see readiness.judge."""

from __future__ import annotations

from ...common.objects import Context, Verdict, condition, describe, dicts, dig, generation, mapping, number, text, unmet

# The operator calls itself ready although it found no GPU: only this reason is proof.
PROOF = "Reconciled"
_POLICY_REMEDIES = {
    "NFDLabelsMissing": "install Node Feature Discovery and wait until nodes have the label feature.node.kubernetes.io/pci-10de.present",
    "NoGPUNodes": "add nodes with NVIDIA GPUs; none was found",
    "DriverNotReady": "look at the driver's pods: the first start builds or pulls it and takes five to ten minutes",
    "OperandNotReady": "look at the pods of the states that the message names",
}


_DEVICE_REMEDIES = {
    "NoMatchingNodes": "check that nodes bear the labels of spec.selector, which Node Feature Discovery gives, and that their driver is loaded",
    "ValidationError": "correct the DeviceConfig as the message says",
    "driver": "look at the pods of the Kernel Module Management operator: it builds or pulls the driver, which takes some minutes",
    "devicePlugin": "look at the pods of the device plugin in that namespace",
    "metricsExporter": "look at the pods of the metrics exporter in that namespace",
}
# parts of a DeviceConfig that report numbers: name, what turns each on, and whether it is on where that is not written
_DEVICE_PARTS = (
    ("driver", "enable", True, "driver"),
    ("devicePlugin", "enableDevicePlugin", True, "device plugin"),
    ("metricsExporter", "enable", False, "metrics exporter"),
)


def cluster_policy(obj: dict, context: Context) -> Verdict:
    """The NVIDIA GPU operator's ClusterPolicy: state ready, and for the reason that counts."""
    state = text(dig(obj, "status", "state"))
    ready = condition(mapping(obj.get("status")), "Ready")
    reason = text(ready.get("reason"))
    if state == "ready" and (not reason or (ready.get("status") == "True" and reason == PROOF)):
        return Verdict(True, "ready")
    bad = [entry for entry in dicts(dig(obj, "status", "conditions")) if entry.get("type") == "Error" and entry.get("status") == "True"]
    reasons = [reason, *(text(entry.get("reason")) for entry in bad)]
    remedy = next((_POLICY_REMEDIES[each] for each in reasons if each in _POLICY_REMEDIES), "look at the pods of the operator's namespace" if bad else "")
    if bad:
        return Verdict(False, "; ".join(describe(entry) for entry in bad), remedy)
    return Verdict(False, describe(ready) if state == "ready" else state or "no state yet", remedy)


def device_config(obj: dict, context: Context) -> Verdict:
    """AMD's DeviceConfig (status of releases 1.2 to 1.5). It calls itself Ready once it has been read, on no node even: the numbers are the proof."""
    status, current = mapping(obj.get("status")), generation(obj)
    error = condition(status, "Error")
    if error.get("status") == "True":
        return Verdict(False, describe(error), _DEVICE_REMEDIES.get(text(error.get("reason")), "look at the log of the operator in that namespace"))
    seen = number(status.get("observedGeneration"))
    if not seen:
        return Verdict(False, "no status yet", "look at the operator's Deployment in that namespace, and at its log")
    if seen < current:
        return Verdict(False, f"generation {seen} is seen, not yet {current}", "look at the log of the operator in that namespace")
    words = unmet(status, ("Ready",), current)
    if words:
        return Verdict(False, words, "look at the pods of that namespace")
    there = []
    for part, switch, usual, what in _DEVICE_PARTS:
        asked = dig(obj, "spec", part, switch)
        desired, available = (number(dig(status, part, f"{key}Number")) for key in ("desired", "available"))
        if not (usual if asked is None else asked):
            continue
        if available < desired:
            return Verdict(False, f"{what} on {available} of {desired} nodes", _DEVICE_REMEDIES[part])
        if part == "devicePlugin" and not desired:
            return Verdict(False, "the device plugin is on no node", _DEVICE_REMEDIES["NoMatchingNodes"])
        there += [f"{what} on {available}"] if desired else []  # a driver that is loaded otherwise, or that nodes bring, has no number
    return Verdict(True, f"{', '.join(there)} nodes" if there else "read by its operator")


def gaudi_policy(obj: dict, context: Context) -> Verdict:
    """The Gaudi operator's ClusterPolicy. Intel describes no status of it: its conditions are read as those that the same operator gave its DeviceConfig.

    While there is none, it is judged as Intel's guide does: by the pods of its DaemonSets, of which the device plugin comes last.
    """
    status, remedy = mapping(obj.get("status")), "look at the pods of namespace habana-ai-operator"
    if not status:
        return _by_pods(context.pods, remedy)
    bad = [entry for entry in dicts(status.get("conditions")) if entry.get("type") in ("Error", "Errored") and entry.get("status") == "True"]
    if bad:
        return Verdict(False, "; ".join(describe(entry) for entry in bad), remedy)
    words = unmet(status, ("Ready",), generation(obj)) if condition(status, "Ready") else ""
    return Verdict(False, words, remedy) if words else Verdict(True, "ready")


def _by_pods(pods: list[dict], remedy: str) -> Verdict:
    """Every pod of the operator's DaemonSets is ready, and one of the device plugin is among them."""
    names = {text(dig(pod, "metadata", "name")): condition(pod.get("status"), "Ready").get("status") == "True" for pod in dicts(pods)}
    if not names:
        return Verdict(False, "no status yet, and no pod of the operator's DaemonSets", f"{remedy}, and that nodes are labelled by Node Feature Discovery")
    waiting = [name for name, ready in names.items() if not ready]
    if waiting:
        return Verdict(False, f"no status yet, and {len(waiting)} of {len(names)} pods of the operator are not ready: {', '.join(waiting[:3])}", remedy)
    if not any("device-plugin" in name for name in names):
        return Verdict(False, f"no status yet, and no pod of the device plugin among the {len(names)} that are ready", f"{remedy}: the driver comes first")
    return Verdict(True, f"no status, and all {len(names)} pods of the operator are ready")


def subscription(obj: dict, context: Context) -> Verdict:
    """The catalogue's newest of the channel is installed."""
    status = mapping(obj.get("status"))
    if text(status.get("state")) == "AtLatestKnown" and status.get("installedCSV"):
        return Verdict(True, text(status.get("installedCSV")))
    for kind, remedy in (
        ("ResolutionFailed", "correct channel and catalogue source of the Subscription, or remove what is installed in its place"),
        ("CatalogSourcesUnhealthy", "look at the pods of openshift-marketplace"),
        ("BundleUnpackFailed", "check that nodes can pull the bundle's image"),
        ("InstallPlanFailed", "look at the InstallPlan that the Subscription names"),
    ):
        found = condition(status, kind)
        if found.get("status") == "True":
            return Verdict(False, describe(found), remedy)
    if text(status.get("state")) == "UpgradePending" and dig(obj, "spec", "installPlanApproval") == "Manual":
        if status.get("installedCSV"):  # it runs; the newer one waits for a person, as was asked
            return Verdict(True, f"{text(status.get('installedCSV'))}; {text(status.get('currentCSV'))} waits for approval")
        plan = text(dig(status, "installPlanRef", "name"))
        how = f"name it under llm_d_gpus.approved, or set spec.approved of InstallPlan {plan} to true"
        return Verdict(False, f"waits for approval of {text(status.get('currentCSV'))}", how)
    return Verdict(False, text(status.get("state")) or "not yet looked at")


def service_version(obj: dict, context: Context) -> Verdict:
    """A ClusterServiceVersion whose operator runs."""
    status = mapping(obj.get("status"))
    phase = text(status.get("phase"))
    if phase == "Succeeded":
        return Verdict(True, "succeeded")
    words = ": ".join(part for part in (phase, text(status.get("reason")), text(status.get("message"))) if part)
    return Verdict(False, words or "no phase yet", "look at the operator's Deployment in that namespace" if phase == "Failed" else "")
