# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness of objects of the Operator Lifecycle Manager and of accelerator operators. Pure. See readiness.judge."""

from __future__ import annotations

from ...common.objects import Context, Facts, Verdict, condition, describe, dicts, generation, get_path, mapping, number, text, unmet

# The operator reports ready even when it found no GPU; with this reason it did find some.
PROOF = "Reconciled"
_POLICY_REMEDIES = {
    "NFDLabelsMissing": "install Node Feature Discovery and wait until nodes have the label feature.node.kubernetes.io/pci-10de.present",
    "NoGPUNodes": "add nodes with NVIDIA GPUs; none was found",
    "DriverNotReady": "look at the driver's pods: the first start builds or pulls it and takes five to ten minutes",
    "OperandNotReady": "look at the pods of the states that the message names",
}


_DEVICE_REMEDIES = {
    "NoMatchingNodes": "check that nodes have the labels of spec.selector, which Node Feature Discovery sets, and that their driver is loaded",
    "ValidationError": "correct the DeviceConfig as the message says",
    "driver": "look at the pods of the Kernel Module Management operator: it builds or pulls the driver, which takes some minutes",
    "devicePlugin": "look at the pods of the device plugin in that namespace",
    "metricsExporter": "look at the pods of the metrics exporter in that namespace",
}
# Parts of a DeviceConfig with numbers in its status: name, the field that enables it, its default, text for messages.
_DEVICE_PARTS = (
    ("driver", "enable", True, "driver"),
    ("devicePlugin", "enableDevicePlugin", True, "device plugin"),
    ("metricsExporter", "enable", False, "metrics exporter"),
)


def cluster_policy(obj: Facts, context: Context) -> Verdict:
    """The ClusterPolicy of the NVIDIA GPU operator: state ready, with reason Reconciled if it has one."""
    state = text(get_path(obj, "status", "state"))
    ready = condition(mapping(obj.get("status")), "Ready")
    reason = text(ready.get("reason"))
    if state == "ready" and (not reason or (ready.get("status") == "True" and reason == PROOF)):
        return Verdict(True, "ready")
    bad = [entry for entry in dicts(get_path(obj, "status", "conditions")) if entry.get("type") == "Error" and entry.get("status") == "True"]
    reasons = [reason, *(text(entry.get("reason")) for entry in bad)]
    remedy = next((_POLICY_REMEDIES[each] for each in reasons if each in _POLICY_REMEDIES), "look at the pods of the operator's namespace" if bad else "")
    if bad:
        return Verdict(False, "; ".join(describe(entry) for entry in bad), remedy)
    return Verdict(False, describe(ready) if state == "ready" else state or "no state yet", remedy)


def device_config(obj: Facts, context: Context) -> Verdict:
    """The DeviceConfig of AMD's operator, releases 1.2 to 1.5. Its Ready condition is True even without a node, so the numbers of its parts decide."""
    status, current = mapping(obj.get("status")), generation(obj)
    error = condition(status, "Error")
    if error.get("status") == "True":
        return Verdict(False, describe(error), _DEVICE_REMEDIES.get(text(error.get("reason")), "look at the log of the operator in that namespace"))
    observed = number(status.get("observedGeneration"))
    if not observed:
        return Verdict(False, "no status yet", "look at the operator's Deployment in that namespace, and at its log")
    if observed < current:
        return Verdict(False, f"generation {observed} is observed, not yet {current}", "look at the log of the operator in that namespace")
    words = unmet(status, ("Ready",), current)
    if words:
        return Verdict(False, words, "look at the pods of that namespace")
    there = []
    for part, switch, usual, what in _DEVICE_PARTS:
        enabled = get_path(obj, "spec", part, switch)
        desired, available = (number(get_path(status, part, f"{key}Number")) for key in ("desired", "available"))
        if not (usual if enabled is None else enabled):
            continue
        if available < desired:
            return Verdict(False, f"{what} on {available} of {desired} nodes", _DEVICE_REMEDIES[part])
        if part == "devicePlugin" and not desired:
            return Verdict(False, "the device plugin is on no node", _DEVICE_REMEDIES["NoMatchingNodes"])
        there += [f"{what} on {available}"] if desired else []  # a driver that the node brings itself has no number
    return Verdict(True, f"{', '.join(there)} nodes" if there else "read by its operator")


def gaudi_policy(obj: Facts, context: Context) -> Verdict:
    """The ClusterPolicy of the Gaudi operator. Intel does not document its status; conditions are read like those of the DeviceConfig of that operator.

    Without a status, the pods of the operator's DaemonSets decide, as in Intel's guide; the device plugin starts last.
    """
    status, remedy = mapping(obj.get("status")), "look at the pods of namespace habana-ai-operator"
    if not status:
        return _by_pods(context.pods, remedy)
    bad = [entry for entry in dicts(status.get("conditions")) if entry.get("type") in ("Error", "Errored") and entry.get("status") == "True"]
    if bad:
        return Verdict(False, "; ".join(describe(entry) for entry in bad), remedy)
    words = unmet(status, ("Ready",), generation(obj)) if condition(status, "Ready") else ""
    return Verdict(False, words, remedy) if words else Verdict(True, "ready")


def _by_pods(pods: list[Facts], remedy: str) -> Verdict:
    """Every pod of the operator's DaemonSets is ready, among them one of the device plugin."""
    names = {text(get_path(pod, "metadata", "name")): condition(pod.get("status"), "Ready").get("status") == "True" for pod in dicts(pods)}
    if not names:
        return Verdict(False, "no status yet, and no pod of the operator's DaemonSets", f"{remedy}, and that nodes are labelled by Node Feature Discovery")
    waiting = [name for name, ready in names.items() if not ready]
    if waiting:
        return Verdict(False, f"no status yet, and {len(waiting)} of {len(names)} pods of the operator are not ready: {', '.join(waiting[:3])}", remedy)
    if not any("device-plugin" in name for name in names):
        return Verdict(False, f"no status yet, and no pod of the device plugin among the {len(names)} that are ready", f"{remedy}: the driver comes first")
    return Verdict(True, f"no status, and all {len(names)} pods of the operator are ready")


def subscription(obj: Facts, context: Context) -> Verdict:
    """The newest version of the channel is installed, or an older one while the newest waits for approval."""
    status = mapping(obj.get("status"))
    if text(status.get("state")) == "AtLatestKnown" and status.get("installedCSV"):
        return Verdict(True, text(status.get("installedCSV")))
    for kind, remedy in (
        ("ResolutionFailed", "correct channel and catalogue source of the Subscription, or remove what is installed in its place"),
        ("CatalogSourcesUnhealthy", "look at the pods of openshift-marketplace"),
        ("BundleUnpackFailed", "check that nodes can pull the bundle's image"),
        ("InstallPlanFailed", "look at the InstallPlan that the Subscription names"),
    ):
        problem = condition(status, kind)
        if problem.get("status") == "True":
            return Verdict(False, describe(problem), remedy)
    if text(status.get("state")) == "UpgradePending" and get_path(obj, "spec", "installPlanApproval") == "Manual":
        if status.get("installedCSV"):  # it runs; installPlanApproval Manual keeps the newer one waiting
            return Verdict(True, f"{text(status.get('installedCSV'))}; {text(status.get('currentCSV'))} waits for approval")
        plan = text(get_path(status, "installPlanRef", "name"))
        how = f"name it under llm_d_gpus.approved, or set spec.approved of InstallPlan {plan} to true"
        return Verdict(False, f"waits for approval of {text(status.get('currentCSV'))}", how)
    return Verdict(False, text(status.get("state")) or "no state yet")


def service_version(obj: Facts, context: Context) -> Verdict:
    """A ClusterServiceVersion whose operator is installed and runs."""
    status = mapping(obj.get("status"))
    phase = text(status.get("phase"))
    if phase == "Succeeded":
        return Verdict(True, "succeeded")
    words = ": ".join(part for part in (phase, text(status.get("reason")), text(status.get("message"))) if part)
    return Verdict(False, words or "no phase yet", "look at the operator's Deployment in that namespace" if phase == "Failed" else "")
