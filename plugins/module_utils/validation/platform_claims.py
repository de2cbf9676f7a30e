# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about the cluster under a stack: its version, CRDs, gateway controller, and the permissions of this account. Pure.

The claims are the checks of the preflight, applied to the present state.
"""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import Facts, mapping
from ..k8s.platform import detect, image_version
from ..preflight import cluster, pools
from ..preflight import gateway as preflight_gateway
from ..preflight.finding import PreflightFinding
from .claims import Judged, claim

FACTS = ("crds", "namespaces", "user", "gateway_classes", "controllers", "cluster_version", "ingress_operator", "infrastructure")
_CRDS = (
    preflight_gateway.gateway_api,
    pools.inference_extension,
    pools.openshift_pools,
    preflight_gateway.provider,
    preflight_gateway.monitoring,
)
_CONTROLLER = (preflight_gateway.controller, preflight_gateway.gateway_class)
_WRITES = ("create", "patch", "delete")


def judge(facts: Facts, needs: Facts, seconds: float) -> Judged:
    """Claims about the facts of preflight.facts.collect. `needs`: the needs of a plan, with nothing left to install."""
    platform = detect(facts)
    groups: list[tuple[str, c.Sequence[c.Callable[..., c.Iterator[PreflightFinding]]], str]] = [
        (
            "kubernetes",
            (cluster.kubernetes, cluster.openshift),
            f"Kubernetes {facts['version']}" + (f" ({platform['flavour']})" if platform["flavour"] != "kubernetes" else ""),
        )
    ]
    if needs["gateway"]["gateway_api"] or needs["gateway"]["pool"]:
        groups.append(("crds", _CRDS, _crds(facts, needs)))
    if needs["gateway"]["controller"]:
        groups.append(("controller", _CONTROLLER, _controller(facts, needs)))
    claims, skipped = [], []
    for name, checks, evidence in groups:
        findings = [finding for check in checks for finding in check(facts, needs, platform)]
        claims.append(_claim(f"platform/{name}", findings, evidence, seconds))
    permissions = facts["permissions"]
    if not any(entry["allowed"] for entry in permissions if entry["verb"] in _WRITES):
        skipped.append(
            {"id": "platform/permissions", "why": f"the account {facts.get('user') or 'used'} is read-only: it can create or change nothing of this plan"}
        )
    else:
        evidence = f"the account {facts.get('user') or 'used'} has the {len(permissions)} permissions that this file needs"
        claims.append(_claim("platform/permissions", list(cluster.permissions(facts, needs, platform)), evidence, seconds))
    return claims, skipped


def _claim(name: str, findings: list[PreflightFinding], evidence: str, seconds: float) -> dict[str, t.Any]:
    shown = "; ".join(f"{finding.what} Found: {finding.found}. Needed: {finding.needed}." for finding in findings[:4])
    rest = f" And {len(findings) - 4} more." if len(findings) > 4 else ""
    return claim(name, not findings, shown + rest if findings else evidence, findings[0].how if findings else "", seconds)


def _crds(facts: Facts, needs: Facts) -> str:
    """The CRDs that exist, with their versions."""
    gateway, crds = needs["gateway"], mapping(facts.get("crds"))
    probes = {
        "gateways.gateway.networking.k8s.io": gateway["gateway_api"],
        f"inferencepools.{gateway['pool_group']}": gateway["pool"],
        needs["provider_crd"]: bool(needs["provider_crd"]),
    }
    wanted = [name for name, needed in probes.items() if needed]
    shown = [f"{name} {mapping(crds.get(name)).get('version') or ''}".rstrip() for name in wanted]
    return f"installed: {', '.join(shown)}" + (f"; served: {gateway['pool_group']}/{gateway['pool_version']}" if gateway["pool"] else "")


def _controller(facts: Facts, needs: Facts) -> str:
    wanted, gateway = needs["gateway"]["controller"], needs["gateway"]
    workload = mapping(facts.get("controllers")).get(f"{wanted['namespace']}/{wanted['name']}")
    version = image_version(workload) if workload else None
    return f"{gateway['provider']} {version or 'of a version that this account may not read'}" + (
        f", GatewayClass {gateway['class_name']}" if gateway["class_name"] and gateway["class_name"] in mapping(facts.get("gateway_classes")) else ""
    )
