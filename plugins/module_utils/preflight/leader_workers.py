# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on LeaderWorkerSet, where the plan needs it. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import dig, mapping
from ..k8s.platform import image_version, older
from .finding import PreflightFinding
from .gateway import crd_of

Facts = dict[str, t.Any]
Found = t.Iterator[PreflightFinding]
_ADOPT = "Write 'install: false' under llm_d_leader_worker_set to use it as it is."


def adopted(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """One that we do not install is there, and new enough."""
    wanted = needs["leader_worker_set"]
    if not wanted or wanted["install"]:
        return
    if crd_of(facts, wanted["crd"]) is None:
        yield PreflightFinding(
            "leader_worker_set/missing",
            "A model service spans several nodes, and LeaderWorkerSets are not known here.",
            "no such definition",
            f"{wanted['crd']}, LeaderWorkerSet {wanted['minimum']} or newer",
            _how(seen),
        )
        return
    if "leader_worker_set" not in facts:  # not ours to read
        return
    controller, name = facts["leader_worker_set"]["controller"], f"{wanted['controller']['namespace']}/{wanted['controller']['name']}"
    if controller is None:
        yield PreflightFinding(
            "leader_worker_set/controller",
            "LeaderWorkerSets are known, and their controller is not where it usually is.",
            "none",
            f"Deployment {name}",
            "Nothing to do where it runs elsewhere; else install it, or model servers that span several nodes will never come.",
            "warning",
        )
    version = image_version(controller)
    if version and older(version, wanted["minimum"]):
        yield PreflightFinding("leader_worker_set/version", "LeaderWorkerSet is too old.", version, f"{wanted['minimum']} or newer", "Have it upgraded.")


def _how(seen: Facts) -> str:
    if seen["name"] == "openshift":
        return (
            "Install the operator leader-worker-set from the catalogue, with a LeaderWorkerSetOperator named cluster; or write 'install: true' under"
            " llm_d_leader_worker_set for upstream's."
        )
    return "An administrator installs it once (playbooks/prerequisites.yml); where you may, write 'install: true' under llm_d_leader_worker_set and we do."


def installed(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """One that we shall install takes the place of nobody else's, and of no newer one of ours."""
    wanted = needs["leader_worker_set"]
    if not wanted or not wanted["install"]:
        return
    there = mapping(facts.get("leader_worker_set"))
    crd = mapping(facts.get("crds")).get(wanted["crd"])
    if crd is None and not wanted["brings_crd"] and "crds" in facts:
        yield PreflightFinding(
            "leader_worker_set/no_source",
            "LeaderWorkerSets are not known here, and llm_d_crd_sources names no source of their definition.",
            "no such definition",
            wanted["crd"],
            "Write a path or URL under llm_d_crd_sources.leader_worker_set, or take it out.",
        )
    namespace = there.get("namespace")
    labels = mapping(dig(namespace, "metadata", "labels"))
    ours = isinstance(namespace, dict) and needs["labels"].items() <= labels.items()
    version = image_version(there.get("controller"))
    if (isinstance(namespace, dict) and not ours) or (crd and not crd["version"] and wanted["brings_crd"]):
        place = f"namespace {wanted['controller']['namespace']}" if isinstance(namespace, dict) and not ours else f"definition {wanted['crd']}"
        yield PreflightFinding(
            "leader_worker_set/foreign",
            "LeaderWorkerSet shall be installed, and someone else has done so.",
            place + (f", version {version}" if version else ""),
            "none, or ours",
            _ADOPT,
        )
    elif version and older(wanted["version"], version):
        yield PreflightFinding(
            "leader_worker_set/newer",
            "A newer LeaderWorkerSet is installed, and going back could cost the objects of others.",
            version,
            f"{wanted['version']} or older",
            f"Write 'version: {version}' under llm_d_leader_worker_set.",
        )


CHECKS = (adopted, installed)
