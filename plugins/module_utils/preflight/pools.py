# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on InferencePools and on other objects that endpoint pickers read. Pure."""

from __future__ import annotations

from ..common.objects import Facts, mapping
from ..k8s.platform import older
from ..releases.gateways import OPENSHIFT
from ..releases.lines import NEWER_GROUP, OLDER_GROUP
from .finding import ADMINISTRATOR, Findings, PreflightFinding, crd_of


def inference_extension(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The cluster serves InferencePools in the version that the gateway reads."""
    gateway = needs["gateway"]
    if not gateway["pool"] or needs["installs"]["inference_extension"]:
        return
    crd = crd_of(facts, f"inferencepools.{gateway['pool_group']}")
    if crd is None:
        yield PreflightFinding(
            "inference_extension/missing",
            "The cluster has no InferencePools.",
            "no such CRD",
            f"{gateway['pool_group']}/{gateway['pool_version']}",
            ADMINISTRATOR,
        )
        return
    if gateway["pool_version"] not in mapping(facts.get("groups")).get(gateway["pool_group"], []):
        served = ", ".join(mapping(facts.get("groups")).get(gateway["pool_group"], []))
        yield PreflightFinding(
            "inference_extension/group",
            "The cluster does not serve InferencePools in the version that the gateway reads.",
            served or "none",
            gateway["pool_version"],
            ADMINISTRATOR,
        )
    minimum = needs["minimum"]["inference_extension"]
    if crd.get("version") and older(crd["version"], minimum):
        yield PreflightFinding("inference_extension/version", "The inference extension is too old.", crd["version"], f"{minimum} or newer", ADMINISTRATOR)


def rewrites(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The cluster has the CRD of the objects that give endpoint pickers the aliases of models."""
    for name in needs["rewrites"]:
        if not needs["installs"]["inference_extension"] and crd_of(facts, name) is None:
            yield PreflightFinding(
                "inference_extension/rewrites",
                "model.aliases need InferenceModelRewrites, which the cluster does not have.",
                "no such CRD",
                name,
                f"{ADMINISTRATOR} Or remove model.aliases.",
            )


def ignored_objects(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """No objects of the older API group are ignored: endpoint pickers read them only as long as the newer group does not serve their kind."""
    for kind, names in mapping(facts.get("objectives")).items():
        crd = f"{kind}.{NEWER_GROUP}"
        if names and (kind in needs["objectives"]["brings"] or crd_of(facts, crd) is not None):
            yield PreflightFinding(
                "inference_extension/ignored",
                f"The endpoint picker ignores the {kind} of the older API group: the newer group serves them too.",
                f"{', '.join(names)} in {OLDER_GROUP}",
                f"{NEWER_GROUP}/v1alpha2",
                f"Create them again with 'apiVersion: {NEWER_GROUP}/v1alpha2', then delete the older ones.",
                "warning",
            )


def openshift_pools(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The pool_version is the one that OpenShift's own gateway reads, which depends on the release."""
    if needs["gateway"]["provider"] != "openshift" or platform["name"] != "openshift" or not platform["version"]:
        return
    minor = ".".join(platform["version"].split(".")[:2])
    row = OPENSHIFT.get(minor)
    if older(minor, "4.19") or (row and row["pool_version"] is None):
        yield PreflightFinding(
            "openshift/no_pools",
            "This OpenShift has no gateway that reads InferencePools.",
            platform["version"],
            "4.19 or newer",
            "Upgrade OpenShift, or use provider istio, agentgateway or standalone.",
        )
    elif row and row["pool_version"] != needs["gateway"]["pool_version"]:
        yield PreflightFinding(
            "openshift/pool_version",
            f"The gateway of OpenShift {minor} does not read InferencePools of this version.",
            f"pool_version: {needs['gateway']['pool_version']}",
            row["pool_version"],
            f"Write 'pool_version: {row['pool_version']}' under llm_d_gateway"
            + (", with 'llm_d_release: scheduler-0.7'." if minor in ("4.19", "4.20") else "."),
        )


def openshift_builds(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The build of OpenShift has a gateway that reads InferencePools; early builds of a release do not. The first such build is not known exactly."""
    if needs["gateway"]["provider"] != "openshift" or platform["name"] != "openshift" or not platform["version"]:
        return
    minor = ".".join(platform["version"].split(".")[:2])
    since = OPENSHIFT.get(minor, {}).get("since")
    if since and older(platform["version"], since):
        yield PreflightFinding(
            "openshift/early_build",
            f"The gateway of the first builds of OpenShift {minor} reads no InferencePools at all.",
            platform["version"],
            f"about {since} or newer",
            "Upgrade OpenShift if the image of Deployment istiod-openshift-gateway in openshift-ingress is older than Istio 1.26.",
            "warning",
        )


CHECKS = (inference_extension, rewrites, ignored_objects, openshift_pools, openshift_builds)
