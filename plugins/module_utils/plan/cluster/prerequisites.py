# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that are applied before all others: namespaces, OpenShift projects, CRDs. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...k8s.crds import address
from ...releases.gateways import GATEWAY_API, PLATFORMS
from ...schema.fields import Problem
from ..parts.names import scheduler_namespace
from .leader_workers import trial_permissions

SOURCES = "llm_d_crd_sources"


def prerequisites(user: Facts, release: Facts, gateway: Facts, groups: Facts | None) -> Facts:
    """Namespaces, OpenShift projects and CRD bundles to apply first, in this order.

    groups: the planned LeaderWorkerSet controller; None if it is not needed.
    """
    homes = list(dict.fromkeys((user["llm_d_namespace"], scheduler_namespace(user))))
    requested = homes if user["llm_d_request_project"] else []
    # The account that requests a project becomes its administrator, so the account that deploys has to request it.
    projects = requested if user["llm_d_scope"] != "prerequisites" else []
    if user["llm_d_scope"] == "namespace":
        none: Facts = {key: [] for key in ("namespaces", "crds", "permissions")}
        return {**none, "projects": projects, "leader_worker_set": groups}
    crds = []
    if gateway["gateway_api"] and not platform_owns(user, "gateway-api"):
        annotation, probe = "gateway.networking.k8s.io/bundle-version", "gateways.gateway.networking.k8s.io"
        crds.append(_crd_bundle(user, "gateway-api", GATEWAY_API["version"], annotation, probe, GATEWAY_API["sources"]))
    if gateway["pool"]:
        annotation, probe = "inference.networking.k8s.io/bundle-version", f"inferencepools.{gateway['pool_group']}"
        crds.append(_crd_bundle(user, "inference-extension", release["crds_version"], annotation, probe, release["crds_sources"]))
    if gateway["install"] and gateway["crds"]["name"]:
        crds.append(_crd_bundle(user, gateway["crds"]["name"], gateway["version"], None, gateway["crds"]["probe"], gateway["crds"]["sources"]))
    if gateway["install"] and gateway["extension"]:
        extension_crds = gateway["extension"]["crds"]
        crds.append(_crd_bundle(user, extension_crds["name"], gateway["extension"]["version"], None, extension_crds["probe"], extension_crds["sources"]))
    charts = list(gateway["charts"])
    if groups and groups["install"]:
        crds.append(_crd_bundle(user, "leader-worker-set", groups["version"], None, groups["crd"], groups["sources"]))
        charts.append(groups["chart"])
    # We do not create the namespace of a Gateway in another namespace.
    names = [*homes, *(chart["namespace"] for chart in charts)]
    return {
        "namespaces": [{"name": name} for name in dict.fromkeys(names) if name not in requested],
        "projects": projects,
        "crds": crds,
        "permissions": _permissions(crds) + trial_permissions(groups),
        "leader_worker_set": groups,
    }


def _crd_bundle(user: Facts, name: str, version: str, annotation: str | None, probe: str, default: list[str]) -> Facts:
    """A bundle of CRDs. annotation: the one with the version of a CRD, None for an annotation of ours; probe: a CRD that shows whether it is installed."""
    own = user[SOURCES][name.replace("-", "_")]
    return {"name": name, "version": version, "annotation": annotation, "probe": probe, "sources": default if own is None else own}


def source_problems(user: Facts) -> list[Problem]:
    """URLs of CRDs and charts over plain http that the user's file does not allow, and URLs of CRDs with credentials."""
    sources = [(f"{SOURCES}.{name}[{index}]", source) for name, given in user[SOURCES].items() for index, source in enumerate(given or [])]
    problems = [
        Problem(
            f"llm_d_charts.{name}",
            source,
            f"'{source}' is plain http, which anybody on the way can change, and a chart may create anything in the cluster.",
            "Write https:// or oci://, the path of a downloaded chart, or allow it: 'llm_d_insecure_charts: true'.",
        )
        for name, source in user["llm_d_charts"].items()
        if str(source).lower().startswith("http://") and not user["llm_d_insecure_charts"]
    ]
    problems += [
        Problem(
            place,
            source,
            "is a URL with credentials, which every message about it would show.",
            "Take them out, and write them into the file .netrc of the user who runs the play.",
        )
        for place, source in sources
        if "@" in address(source).partition("://")[2].partition("/")[0]
    ]
    return problems + [
        Problem(
            place,
            source,
            f"'{address(source)}' is plain http, which anybody on the way can change.",
            f"Write https://, or allow it: {{url: {address(source)}, insecure: true}}, best with the sha256 of the file.",
        )
        for place, source in sources
        if address(source).lower().startswith("http://") and not (isinstance(source, dict) and source["insecure"])
    ]


def _permissions(crds: list[Facts]) -> list[Facts]:
    """Permissions that the first task of a run requires."""
    verbs = ("get", "patch", "create") if any(bundle["sources"] for bundle in crds) else ("get",) if crds else ()
    rows: list[Facts] = [{"verb": verb, "group": "apiextensions.k8s.io", "resource": "customresourcedefinitions"} for verb in verbs]
    return rows + [{"verb": verb, "resource": "namespaces"} for verb in ("get", "list", "create", "patch", "delete")]


def platform_owns(user: Facts, bundle: str) -> bool:
    """Whether the platform owns this bundle of CRDs, so that we must not apply it."""
    return bundle in PLATFORMS[user["llm_d_platform"]]["owns"]
