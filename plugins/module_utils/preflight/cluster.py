# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on the cluster: platform, versions, permissions, namespaces, Secrets, and the control host. Pure."""

from __future__ import annotations

import typing as t

from ..common.images import repository_of
from ..common.objects import Facts, condition, dicts, get_path, mapping, text
from ..k8s.platform import older
from ..releases.sources import REMOVED
from .finding import PreflightFinding

Found = t.Iterator[PreflightFinding]


def platform(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """The platform is the one in the user's file: otherwise we would write objects that the platform owns."""
    said = needs["platform"]
    special = ("openshift", "gke")
    if seen["name"] != said and (seen["name"] in special or said in special):
        yield PreflightFinding(
            "platform/other",
            "The cluster is not what llm_d_platform says.",
            seen["flavour"],
            said,
            f"Write 'llm_d_platform: {seen['name']}', or use another kubeconfig.",
        )


def kubernetes(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """Kubernetes is new enough for native sidecars."""
    version, minimum = text(facts.get("version")), needs["minimum"]["kubernetes"]
    if version and older(version, minimum):
        yield PreflightFinding(
            "kubernetes/version", "Kubernetes is too old.", version, f"{minimum} or newer", "Upgrade the cluster: pods need native sidecars."
        )


def openshift(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """OpenShift: a user id that it rejects, a degraded ingress operator, a service mesh that conflicts."""
    if seen["name"] != "openshift":
        return
    if needs["run_as_user"]:
        yield PreflightFinding(
            "openshift/user_id",
            "OpenShift gives each namespace a range of user ids and refuses others.",
            f"llm_d_run_as_user: {needs['run_as_user']}",
            "0",
            "Write 'llm_d_run_as_user: 0'.",
        )
    gateway = needs["gateway"]
    groups = mapping(facts.get("groups"))
    if gateway["provider"] in ("openshift", "istio") and "maistra.io" in groups:
        yield PreflightFinding(
            "openshift/service_mesh_2",
            "OpenShift Service Mesh 2 is installed; beside it no gateway of Istio comes up.",
            "API group maistra.io",
            "none",
            "Remove it, or use provider agentgateway or standalone.",
        )
    degraded = condition(mapping(facts.get("ingress_operator")).get("status"), "Degraded")
    if gateway["provider"] == "openshift" and degraded.get("status") == "True":
        yield PreflightFinding(
            "openshift/ingress_degraded",
            "The ingress operator, which runs the gateway, is degraded.",
            f"{degraded.get('reason')}: {degraded.get('message')}",
            "Degraded=False",
            "Remove OpenShift Service Mesh 2 or the foreign subscription that it names, or use another provider.",
        )


def permissions(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """The account has every permission that the roles need."""
    lacking: dict[str, list[str]] = {}
    there = mapping(facts.get("namespaces"))
    # Whoever requests a project becomes its administrator; before that, nobody has permissions in it.
    coming = [name for name in needs["projects"] if not there.get(name)]
    for review in dicts(facts.get("rights")):
        if not review.get("allowed") and review.get("namespace") not in coming:
            place = f" in {review['namespace']}" if review.get("namespace") else ""
            name = review["resource"] + (f".{review['group']}" if review.get("group") else "") + (f" {review['name']}" if review.get("name") else "")
            lacking.setdefault(name + place, []).append(review["verb"])
    for name, verbs in lacking.items():
        how = f"Have them granted, playbooks/list_rights.yml -e llm_d_scope={needs['scope']} writes the file for that, or use an account that has them."
        if needs["scope"] == "cluster" and " in " not in name:
            how += " With permissions for one namespace only, write 'llm_d_scope: namespace' and have an administrator run playbooks/prerequisites.yml once."
        yield PreflightFinding(
            "rights/lacking", f"The account {text(facts.get('user')) or 'used'} may not {', '.join(verbs)} {name}.", "denied", "allowed", how
        )


def namespaces(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """Namespaces that we do not create exist, and none of them is being deleted."""
    there = mapping(facts.get("namespaces"))
    for name in dict.fromkeys([*needs["namespaces"], *needs["made"]]):
        found = there.get(name, "unread")
        ours = name in needs["projects"] or name in needs["made"]
        if found is None and not ours:
            how = "Have it created (playbooks/prerequisites.yml)"
            if seen["name"] == "openshift":
                how += f", or request it: oc new-project {name}"
            yield PreflightFinding("namespace/missing", f"The namespace {name} does not exist, and is not ours to create.", "none", name, f"{how}.")
        elif isinstance(found, dict) and text(get_path(found, "status", "phase")) == "Terminating":
            yield PreflightFinding(
                "namespace/terminating",
                f"The namespace {name} is being deleted.",
                "Terminating",
                "Active",
                "Wait until it is gone; what holds it stands in its status.conditions.",
            )
    level = text(mapping(get_path(there.get(needs["namespace"]), "metadata", "labels")).get("pod-security.kubernetes.io/enforce"))
    if level == "restricted" and not needs["run_as_user"] and seen["name"] != "openshift":
        yield PreflightFinding(
            "namespace/pod_security",
            "The namespace enforces the restricted profile, and our containers have no user id.",
            "llm_d_run_as_user: 0",
            "a user id",
            "Take llm_d_run_as_user out, or write one such as 65532.",
            "warning",
        )


def secrets(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """Every Secret that pods refer to exists and has its key. Values are not read."""
    there = mapping(facts.get("secrets"))
    for wanted in needs["secrets"]:
        name = f"{wanted['namespace']}/{wanted['name']}"
        keys = there.get(name, "unread")
        if keys is None:
            yield PreflightFinding(
                "secret/missing", f"{wanted['path']} names a Secret that is not there.", "none", f"Secret {name}", f"Create it, with key {wanted['key']}."
            )
        elif isinstance(keys, list) and wanted["key"] not in keys:
            yield PreflightFinding(
                "secret/key",
                f"{wanted['path']} names a Secret without the key that is read.",
                ", ".join(keys) or "no key",
                wanted["key"],
                f"Put the value under {wanted['key']}.",
            )


def control_host(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """Helm, Python libraries, charts, registries and proxies of the control host."""
    host, minimum = mapping(facts.get("host")), needs["minimum"]
    if needs["charts"]:
        version = host.get("helm")
        if not version:
            yield PreflightFinding(
                "host/helm", "There is no helm command.", "none", f"helm {minimum['helm']} or newer", "Install it, or write its path in llm_d_helm."
            )
        elif older(version, minimum["helm"]):
            yield PreflightFinding(
                "host/helm_version", "Helm is too old.", version, f"{minimum['helm']} or newer", "Upgrade it, or write the path of another in llm_d_helm."
            )
    for name, needed in minimum["libraries"].items():
        version = mapping(host.get("libraries")).get(name)
        if version and older(version, needed):
            yield PreflightFinding("host/library", f"The Python library {name} is too old.", version, f"{needed} or newer", f"pip install --upgrade {name}")
    for chart in needs["charts"]:
        if chart["ref"] in (host.get("charts_missing") or []):
            yield PreflightFinding(
                "host/chart", f"The chart of {chart['name']} is not where llm_d_charts says.", "no such file or folder", chart["ref"], "Correct llm_d_charts."
            )
    for name, why in sorted(mapping(host.get("silent_registries")).items()):
        yield PreflightFinding(
            "host/registry",
            f"The image registry {name} does not answer here; nodes may still reach it.",
            why,
            "an answer",
            "Check llm_d_image_registry and llm_d_images, and proxies.",
            "warning",
        )
    for name, why in sorted(mapping(host.get("missing_images")).items()):
        yield PreflightFinding(
            "host/image",
            f"The image {name} cannot be pulled.",
            why,
            "an image that the nodes can pull",
            _other_image(name),
            needs["images"]["severity"],
        )
    for name, why in sorted(mapping(host.get("silent_sources")).items()):
        yield PreflightFinding(
            "host/source",
            f"{name}, the source of charts or CRDs to install, does not answer here.",
            why,
            "an answer",
            "Check proxies, or name mirrors in llm_d_charts and llm_d_crd_sources: playbooks/list_images.yml prints what to mirror.",
            "warning",
        )
    proxy, server = host.get("proxy"), host.get("server_name")
    if proxy and server and not host.get("proxy_exempt"):
        yield PreflightFinding(
            "host/proxy",
            "Requests to the API server go through a proxy.",
            f"{proxy} for {server}",
            "a direct way",
            f"Put {server} into NO_PROXY if they fail.",
            "warning",
        )


def _other_image(name: str) -> str:
    """What to write instead of an image that cannot be pulled."""
    replaced = REMOVED.get(repository_of(name))
    if replaced:
        return f"Upstream removed it for {replaced}: write another llm_d_release, or a mirror that kept it in llm_d_image_registry."
    return "Correct llm_d_images, the version or the mirror; name an account in llm_d_image_pull_credentials or llm_d_image_pull_secrets if it needs one."


def exempt(server: str, no_proxy: str) -> bool:
    """Whether NO_PROXY exempts a host."""
    names = [entry.strip().lstrip(".") for entry in no_proxy.split(",") if entry.strip()]
    return any(entry == "*" or server == entry or server.endswith("." + entry) for entry in names)


def proxy_of(environment: t.Mapping[str, str]) -> str | None:
    """The proxy for HTTPS requests in these environment variables."""
    return environment.get("HTTPS_PROXY") or environment.get("https_proxy") or None


CHECKS = (platform, kubernetes, openshift, permissions, namespaces, secrets, control_host)
