# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness of what the Operator Lifecycle Manager and GPU operators make. Computes only; see readiness.judge."""

from __future__ import annotations

from ansible_collections.llm_d.inference.plugins.module_utils.conditions import (
    Context,
    Verdict,
    condition,
    describe,
    dicts,
    dig,
    generation,
    mapping,
    text,
    unmet,
)

# The operator calls itself ready although it found no GPU: only this reason is proof.
PROOF = "Reconciled"
_POLICY_REMEDIES = {
    "NFDLabelsMissing": "install Node Feature Discovery and wait until nodes have the label feature.node.kubernetes.io/pci-10de.present",
    "NoGPUNodes": "add nodes with NVIDIA GPUs; none was found",
    "DriverNotReady": "look at the driver's pods: the first start builds or pulls it and takes five to ten minutes",
    "OperandNotReady": "look at the pods of the states that the message names",
}


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


def gaudi_policy(obj: dict, context: Context) -> Verdict:
    """The Gaudi operator's ClusterPolicy. Intel describes no status of it: its conditions are read as those that the same operator gave its DeviceConfig."""
    status, remedy = mapping(obj.get("status")), "look at the pods of namespace habana-ai-operator"
    if not status:
        return Verdict(False, "no status yet", remedy)
    bad = [entry for entry in dicts(status.get("conditions")) if entry.get("type") in ("Error", "Errored") and entry.get("status") == "True"]
    if bad:
        return Verdict(False, "; ".join(describe(entry) for entry in bad), remedy)
    words = unmet(status, ("Ready",), generation(obj)) if condition(status, "Ready") else ""
    return Verdict(False, words, remedy) if words else Verdict(True, "ready")


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
