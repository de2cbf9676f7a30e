# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Responses of an API server in whose cluster stacks are deployed: discovery, and lists of the kinds that identify a deployment."""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.running import KINDS
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions

Facts = dict[str, t.Any]
PLURALS = {"Deployment": "deployments", "ConfigMap": "configmaps", "Gateway": "gateways"}


def stack(**user: t.Any) -> list[Facts]:
    """The objects of a user's file with one simulated service; `user` adds or replaces variables."""
    service = {"name": "sim", "model": {"served_name": "acme/sim"}, "replicas": 3, "engine": {"type": "simulator"}}
    given = {"llm_d_charts": {"envoy_gateway": "/charts"}, "llm_d_gateway": {"service_type": "ClusterIP"}, "llm_d_model_services": [service], **user}
    return copy.deepcopy(definitions(plan(given)))


def answers(items: list[Facts]) -> dict[str, Facts]:
    """{path: response body}: the lists of these objects, in the whole cluster and in each namespace."""
    bodies: dict[str, Facts] = {}
    for api_version, kind in KINDS:
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if kind not in PLURALS:
            continue
        resources = bodies.setdefault(root, {"resources": []})["resources"]
        resources.append({"name": PLURALS[kind], "kind": kind, "namespaced": True})
        listed = [item for item in items if item["kind"] == kind]
        bodies[f"{root}/{PLURALS[kind]}"] = {"items": listed}
        for namespace in {item["metadata"]["namespace"] for item in listed}:
            bodies[f"{root}/namespaces/{namespace}/{PLURALS[kind]}"] = {"items": [item for item in listed if item["metadata"]["namespace"] == namespace]}
    return bodies
