# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on operators that the plan needs: KEDA and metrics for autoscaling, LeaderWorkerSet, GPU operators. Pure."""

from __future__ import annotations

import typing as t

from ..common.labels import has_labels
from ..common.objects import Facts, dicts, get_path, mapping, text
from ..k8s.platform import image_version, older
from ..plan.observability.autoscaling import KEDA, PODS, RESOURCES
from .finding import PreflightFinding, crd_of

Findings = t.Iterator[PreflightFinding]
_OTHER_SCALING = "or write 'provider: external' under autoscaling, or a fixed number in replicas."
_ADOPT = "Write 'install: false' under llm_d_leader_worker_set to use it as it is."


def keda(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The cluster serves ScaledObjects where KEDA scales servers: otherwise they would be rejected."""
    if lacking := _services_without(facts, needs, KEDA):
        how = "the operator openshift-custom-metrics-autoscaler-operator" if platform["name"] == "openshift" else "KEDA"
        yield PreflightFinding(
            "autoscaling/keda", f"KEDA is to scale {lacking}, and is not installed.", "none", f"API group {KEDA}", f"Have {how} installed, {_OTHER_SCALING}"
        )


def scaling_metrics(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The cluster serves the metrics of HorizontalPodAutoscalers; without them the stack works, and nothing scales."""
    for group, what, source in (
        (PODS, "metrics of pods", "an adapter, such as prometheus-adapter, which reads them from Prometheus"),
        (RESOURCES, "the processor time of pods", "the metrics server"),
    ):
        if lacking := _services_without(facts, needs, group):
            what = f"A HorizontalPodAutoscaler is to scale {lacking} by {what}, which the cluster does not serve."
            yield PreflightFinding("autoscaling/metrics", what, "none", f"API group {group}", f"Have {source} installed, {_OTHER_SCALING}", "warning")


def _services_without(facts: Facts, needs: Facts, group: str) -> str:
    """The services that need an API group that is not served; empty where it is served, or was not read."""
    return ", ".join(needs["autoscaling"].get(group, ())) if "groups" in facts and group not in mapping(facts["groups"]) else ""


def adopted_leader_worker_set(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """A LeaderWorkerSet controller that we do not install exists and is new enough."""
    wanted = needs["leader_worker_set"]
    if not wanted or wanted["install"]:
        return
    if crd_of(facts, wanted["crd"]) is None:
        yield PreflightFinding(
            "leader_worker_set/missing",
            "A model service spans several nodes, and the cluster has no LeaderWorkerSets.",
            "no such CRD",
            f"{wanted['crd']}, LeaderWorkerSet {wanted['minimum']} or newer",
            _how_to_get_leader_worker_set(platform),
        )
        return
    if "leader_worker_set" not in facts:  # not readable
        return
    controller, name = facts["leader_worker_set"]["controller"], f"{wanted['controller']['namespace']}/{wanted['controller']['name']}"
    if controller is None:
        yield PreflightFinding(
            "leader_worker_set/controller",
            "The cluster has LeaderWorkerSets, and their controller is not in its usual place.",
            "none",
            f"Deployment {name}",
            "Nothing to do where it runs elsewhere; else install it, or model servers that span several nodes never start.",
            "warning",
        )
    version = image_version(controller)
    if version and older(version, wanted["minimum"]):
        yield PreflightFinding("leader_worker_set/version", "LeaderWorkerSet is too old.", version, f"{wanted['minimum']} or newer", "Have it upgraded.")


def _how_to_get_leader_worker_set(platform: Facts) -> str:
    if platform["name"] == "openshift":
        return (
            "Install the operator leader-worker-set from OperatorHub, with a LeaderWorkerSetOperator named cluster; or write 'install: true' under"
            " llm_d_leader_worker_set for upstream's."
        )
    return "An administrator installs it once (playbooks/prerequisites.yml); where you may, write 'install: true' under llm_d_leader_worker_set and we do."


def installed_leader_worker_set(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """A LeaderWorkerSet controller that we install replaces neither a controller of others nor a newer one."""
    wanted = needs["leader_worker_set"]
    if not wanted or not wanted["install"]:
        return
    existing = mapping(facts.get("leader_worker_set"))
    crd = mapping(facts.get("crds")).get(wanted["crd"])
    if crd is None and not wanted["brings_crd"] and "crds" in facts:
        yield PreflightFinding(
            "leader_worker_set/no_source",
            "The cluster has no LeaderWorkerSets, and llm_d_crd_sources names no source of their CRD.",
            "no such CRD",
            wanted["crd"],
            "Write a path or URL under llm_d_crd_sources.leader_worker_set, or take it out.",
        )
    namespace = existing.get("namespace")
    labels = mapping(get_path(namespace, "metadata", "labels"))
    ours = isinstance(namespace, dict) and needs["labels"].items() <= labels.items()
    version = image_version(existing.get("controller"))
    if (isinstance(namespace, dict) and not ours) or (crd and not crd["version"] and wanted["brings_crd"]):
        place = f"namespace {wanted['controller']['namespace']}" if isinstance(namespace, dict) and not ours else f"CRD {wanted['crd']}"
        yield PreflightFinding(
            "leader_worker_set/foreign",
            "LeaderWorkerSet is to be installed, and others have installed it already.",
            place + (f", version {version}" if version else ""),
            "none, or ours",
            _ADOPT,
        )
    elif version and older(wanted["version"], version):
        yield PreflightFinding(
            "leader_worker_set/newer",
            "A newer LeaderWorkerSet is installed, and a downgrade could break the objects of others.",
            version,
            f"{wanted['version']} or older",
            f"Write 'version: {version}' under llm_d_leader_worker_set.",
        )


def gpu_operator(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """A GPU operator that we do not install exists; one that we install does not replace an operator of others."""
    wanted = needs["gpu_operator"]
    if not wanted or "gpu_operator" not in facts:  # not needed, or not readable
        return
    policies, namespace = dicts(facts["gpu_operator"]["policies"]), mapping(facts["gpu_operator"]["namespace"])
    if not wanted["install"]:
        if not policies:
            yield PreflightFinding(
                "gpu_operator/missing",
                "There is no such GPU operator, and we do not install one ('install: false' under llm_d_gpus).",
                "none",
                f"a {wanted['kind']} of {wanted['api_version']}",
                "Install it, write 'install: true', or 'operator: none' where device plugins run without an operator.",
            )
        return
    if wanted["by_chart"] and has_labels(namespace, needs["labels"]):  # the chart creates the policy, without our labels
        version = next((text(label) for item in policies if (label := get_path(item, "metadata", "labels", "app.kubernetes.io/version"))), "")
        if version and older(wanted["version"], version) and not wanted["named"]:
            yield PreflightFinding(
                "gpu_operator/newer",
                "The GPU operator, which this instance installed, would be downgraded.",
                version,
                f"{wanted['version']} or older",
                f"Write 'version: {version}' under llm_d_gpus with its chart under llm_d_charts to keep it; 'version: {wanted['version']}' takes it back.",
            )
        return
    others = [text(get_path(item, "metadata", "name")) for item in policies if not has_labels(item, needs["labels"])]
    if others:
        yield PreflightFinding(
            "gpu_operator/foreign",
            "A GPU operator is to be installed, and others have installed one already.",
            f"{wanted['kind']} {', '.join(others)}",
            "none, or ours",
            "Write 'install: false' under llm_d_gpus to use it as it is.",
        )


CHECKS = (adopted_leader_worker_set, installed_leader_worker_set, keda, scaling_metrics, gpu_operator)
