# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on the cluster: platform, versions, permissions, namespaces, and the control host. Pure."""

from __future__ import annotations

import ipaddress
import typing as t
import urllib.parse

from ..common.images import repository_of
from ..common.objects import Facts, condition, dicts, get_path, mapping, text
from ..k8s.platform import older
from ..releases.gateways import PLATFORMS
from ..releases.sources import REMOVED
from ..releases.tools import broken
from .finding import PreflightFinding

Findings = t.Iterator[PreflightFinding]
_CONTAINERDS = [name for name, row in PLATFORMS.items() if "toolkit" in row]  # platforms that bring their own containerd


def declared_platform(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The platform is the one that the user's file declares: otherwise we would write objects that the platform owns."""
    declared = needs["platform"]
    special = ("openshift", "gke")
    if platform["name"] != declared and (platform["name"] in special or declared in special):
        yield PreflightFinding(
            "platform/other",
            "The cluster is not what llm_d_platform says.",
            platform["flavour"],
            declared,
            f"Write 'llm_d_platform: {platform['name']}', or use another kubeconfig.",
        )

    if platform["name"] != declared and needs["installs"]["accelerators"] and {platform["name"], declared} & {*_CONTAINERDS}:
        what = "The cluster is not what llm_d_platform says, and the GPU operator expects containerd at another path."
        how = f"Write 'llm_d_platform: {platform['name']}', or llm_d_chart_values.gpu_operator.toolkit.env."
        yield PreflightFinding("platform/containerd", what, platform["flavour"], declared, how, "warning")


def kubernetes(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """Kubernetes is new enough for native sidecars."""
    version, minimum = text(facts.get("version")), needs["minimum"]["kubernetes"]
    if version and older(version, minimum):
        yield PreflightFinding(
            "kubernetes/version", "Kubernetes is too old.", version, f"{minimum} or newer", "Upgrade the cluster: pods need native sidecars."
        )


def openshift(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """OpenShift: a user id that it rejects, a degraded ingress operator, a service mesh that conflicts."""
    if platform["name"] != "openshift":
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
            "OpenShift Service Mesh 2 is installed; no gateway of Istio starts beside it.",
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


def permissions(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The account has every permission that the roles need."""
    lacking: dict[str, list[str]] = {}
    existing = mapping(facts.get("namespaces"))
    # The account that requests a project becomes its administrator; before that, no account has permissions in it.
    requested = [name for name in needs["projects"] if not existing.get(name)]
    for review in dicts(facts.get("permissions")):
        if not review.get("allowed") and review.get("namespace") not in requested:
            place = f" in {review['namespace']}" if review.get("namespace") else ""
            name = review["resource"] + (f".{review['group']}" if review.get("group") else "") + (f" {review['name']}" if review.get("name") else "")
            lacking.setdefault(name + place, []).append(review["verb"])
    for name, verbs in lacking.items():
        how = f"Have them granted, playbooks/list_permissions.yml -e llm_d_scope={needs['scope']} writes the file for that, or use an account that has them."
        if needs["scope"] == "cluster" and " in " not in name:
            how += " With permissions for one namespace only, write 'llm_d_scope: namespace' and have an administrator run playbooks/prerequisites.yml once."
        yield PreflightFinding(
            "permissions/lacking", f"The account {text(facts.get('user')) or 'used'} may not {', '.join(verbs)} {name}.", "denied", "allowed", how
        )


def namespaces(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """Namespaces that we do not create exist, and none of them is being deleted."""
    existing = mapping(facts.get("namespaces"))
    for name in dict.fromkeys([*needs["namespaces"], *needs["made"]]):
        namespace = existing.get(name, "unread")
        ours = name in needs["projects"] or name in needs["made"]
        if namespace is None and not ours:
            how = "Have it created (playbooks/prerequisites.yml)"
            if platform["name"] == "openshift":
                how += f", or request it: oc new-project {name}"
            yield PreflightFinding("namespace/missing", f"The namespace {name} does not exist, and is not ours to create.", "none", name, f"{how}.")
        elif isinstance(namespace, dict) and text(get_path(namespace, "status", "phase")) == "Terminating":
            yield PreflightFinding(
                "namespace/terminating",
                f"The namespace {name} is being deleted.",
                "Terminating",
                "Active",
                "Wait until it is deleted; its status.conditions say what delays that.",
            )
    level = text(mapping(get_path(existing.get(needs["namespace"]), "metadata", "labels")).get("pod-security.kubernetes.io/enforce"))
    if level == "restricted" and not needs["run_as_user"] and platform["name"] != "openshift":
        yield PreflightFinding(
            "namespace/pod_security",
            "The namespace enforces the restricted profile, and our containers have no user id.",
            "llm_d_run_as_user: 0",
            "a user id",
            "Take llm_d_run_as_user out, or write one such as 65532.",
            "warning",
        )


def control_host(facts: Facts, needs: Facts, platform: Facts) -> Findings:
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
    yield from _broken(host)
    yield from _proxies(host)


def _broken(host: Facts) -> Findings:
    """Versions of libraries and tools that are known to be broken, alone or in combination with another."""
    versions = {**mapping(host.get("libraries")), "helm": host.get("helm")}
    for row in broken(versions):
        if not row.proxied:
            beside = "".join(f" with {name} {versions[name]}" for name in row.beside)
            how = f"{row.fix} ({row.source})"
            yield PreflightFinding("host/broken", f"{row.name} {row.what}.", f"{versions[row.name]}{beside}", "another version", how, row.severity)


def _proxies(host: Facts) -> Findings:
    """Proxies through which the Python client and Helm reach the API server."""
    server, client, helm = host.get("server_name"), host.get("proxy"), host.get("helm_proxy")
    for program, proxy in (("The Python library kubernetes", client), *([("Helm", helm)] if helm != client else [])):
        if server and proxy:
            row = next((row for row in broken(mapping(host.get("libraries"))) if row.proxied), None) if proxy == client and host.get("no_proxy") else None
            how = f"If they fail, {row.fix}: this version {row.what} ({row.source})." if row else f"Put {server} into NO_PROXY if they fail."
            how = "It is proxy-url of the kubeconfig: take that out if they fail." if proxy == host.get("named_proxy") else how
            yield PreflightFinding("host/proxy", f"{program} reaches the API server through a proxy.", f"{proxy} for {server}", "a direct way", how, "warning")


def _other_image(name: str) -> str:
    """The remedy for an image that cannot be pulled."""
    replaced = REMOVED.get(repository_of(name))
    if replaced:
        return f"Upstream removed it for {replaced}: write another llm_d_release, or a mirror that kept it in llm_d_image_registry."
    return "Correct llm_d_images, the version or the mirror; name an account in llm_d_image_pull_credentials or llm_d_image_pull_secrets if it needs one."


def proxy_of(url: str, environment: t.Mapping[str, str]) -> str:
    """The proxy that programs in Go, such as Helm, use for a URL with these environment variables (golang.org/x/net/http/httpproxy); empty without one."""
    parts = urllib.parse.urlsplit(url)
    name, scheme = parts.hostname or "", parts.scheme.upper()
    proxy = environment.get(f"{scheme}_PROXY") or environment.get(f"{scheme.lower()}_proxy") or ""
    exceptions = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    direct = name == "localhost" or _in_network(name, "127.0.0.0/8") or _in_network(name, "::1/128")
    return "" if direct or exempt(name, exceptions, parts.port or (443 if scheme == "HTTPS" else 80)) else proxy


def exempt(server: str, no_proxy: str, port: int = 443) -> bool:
    """Whether NO_PROXY exempts a host: by name, with the names below it, by address, by network, or by name and port."""
    return any(_exempts(entry.strip().lower(), server.lower(), port) for entry in no_proxy.split(",") if entry.strip())


def _exempts(entry: str, server: str, port: int) -> bool:
    if entry == "*" or _in_network(server, entry):
        return True
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit() and (":" not in name or name.endswith("]")):
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]")
    entry = entry.removeprefix("*") if entry.startswith("*.") else entry
    return _in_network(server, entry) or server.endswith(f".{entry.lstrip('.')}") or server == entry


def _in_network(address: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


CHECKS = (declared_platform, kubernetes, openshift, permissions, namespaces, control_host)
