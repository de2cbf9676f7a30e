"""The inventories that are shipped, and all objects that the roles make of them."""

from __future__ import annotations

import typing as t
from pathlib import Path

import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, secret_definitions
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render

Facts = dict[str, t.Any]
ROOT = Path(__file__).resolve().parents[2]
# In the order in which the roles of site.yml apply them.
TEMPLATES = (
    "prerequisites/templates/namespaces.yml.j2",
    "gpu_operator/templates/operator.yml.j2",
    "gpu_operator/templates/policy.yml.j2",
    "gateway_provider/templates/gateway.yml.j2",
    "gaie_scheduler/templates/scheduler.yml.j2",
    "model_service/templates/claims.yml.j2",
    "model_service/templates/servers.yml.j2",
)
# `local` is deployed for real by molecule, and speaks in variables of the local cluster.
NAMES = sorted(path.name for path in (ROOT / "inventories").iterdir() if path.name != "local")


def file_of(name: str) -> Facts:
    """The user's file of an inventory."""
    return yaml.safe_load((ROOT / f"inventories/{name}/group_vars/all/llm_d.yml").read_text(encoding="utf-8"))


def case(name: str) -> tuple[Facts, list[Facts]]:
    """(plan, objects) of an inventory."""
    user = file_of(name)
    planned = plan(user)
    return planned, [*(item for template in TEMPLATES for item in render(ROOT / "roles" / template, planned)), *secret_definitions(user)]
