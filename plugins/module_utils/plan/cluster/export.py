# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployment as files for GitOps: one per object, with its wave for Argo CD, a kustomization, and a list of prerequisites. Pure."""

from __future__ import annotations

import collections.abc as c
import copy

from ...common.objects import Facts
from ...common.yaml_text import to_yaml
from ..engines.api_keys import OWN_KEY, api_key_name
from ..servers.warmup_job import PROMPTS_KEY
from .images import needed
from .secrets import PULL_KEY, TOKEN_KEY, token_name

KUSTOMIZATION, NEEDS = "kustomization.yaml", "NEEDS.md"
# It marks the files that an export may overwrite or remove.
BANNER = "# Written by playbooks/export.yml of llm_d.inference, which overwrites it, and removes it with its object."
# https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/
WAVE = "argocd.argoproj.io/sync-wave"
# Argo CD begins a wave when the objects of the one before are healthy. Objects that pods refer to are in wave 0, before the pods; objects that send them
# requests or change their number are in wave 2, after them. A claim may wait for its first pod, so it is with the pods in wave 1, as every other kind.
_WAVES = {
    0: ("Namespace", "ServiceAccount", "Role", "RoleBinding", "ConfigMap", "GatewayClass", "ReferenceGrant", "ResourceClaimTemplate"),
    2: ("HTTPRoute", "HorizontalPodAutoscaler", "ScaledObject", "PodMonitor", "PrometheusRule", "PersesDashboard", "Route"),
}
_WAVE_OF = {kind: wave for wave, kinds in _WAVES.items() for kind in kinds}


def exported(plan: Facts, objects: c.Sequence[Facts]) -> dict[str, str]:
    """{file name: content}. objects: all that site.yml applies for the plan, in its order. The same plan gives the same bytes."""
    files = {_name(item): f"---\n{BANNER}\n{to_yaml(_in_wave(item))}" for item in objects}
    listed = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list(files)}
    return {**files, KUSTOMIZATION: f"---\n{BANNER}\n{to_yaml(listed)}", NEEDS: _needs(plan)}


def _name(item: Facts) -> str:
    """The file name of an object: its kind, namespace and name, which are unique and need no quotes."""
    metadata = item["metadata"]
    return "-".join([item["kind"].lower(), *([metadata["namespace"]] if metadata.get("namespace") else []), metadata["name"]]) + ".yml"


def _in_wave(item: Facts) -> Facts:
    made = copy.deepcopy(item)
    annotations = made["metadata"].setdefault("annotations", {})
    annotations[WAVE] = str(_WAVE_OF.get(item["kind"], 1))
    return made


def _needs(plan: Facts) -> str:
    """The list of prerequisites, which are not in the files: CRDs, charts, Secrets and objects that the user's file names."""
    downloads = needed(plan)
    lines = ["# What has to be there before these files are applied", ""]
    lines += ["`playbooks/prerequisites.yml` brings all of it but the objects that the user's file names, with their path in it. Without it:", ""]
    lines += [f"- CRDs: {source}" for source in downloads["definitions"]]
    lines += [f"- chart {chart['release']}: {chart['ref']}" + (f" {chart['version']}" if chart["version"] else "") for chart in downloads["charts"]]
    instance = {"llm_d_instance": plan["instance"]}
    keys = {token_name(instance): TOKEN_KEY, api_key_name(instance): OWN_KEY}
    for secret in plan["secrets"]["present"]:
        metadata = secret["metadata"]
        key = keys.get(metadata["name"], PULL_KEY)
        lines.append(f"- Secret {metadata['namespace']}/{metadata['name']} with the key {key}; its value is written to no file")
    for job in filter(None, (service["warmup_job"] for service in plan["services"])):
        lines.append(f"- Secret {plan['namespace']}/{job['name']} with the key {PROMPTS_KEY}, the prompts of the warm-up as a list in JSON")
    for each in plan["preflight"]["named"]:
        key = f" with the key {each['key']}" if each["key"] else ""
        lines.append(f"- {each['object']}{key} ({each['path']})")
    return "\n".join([*lines, ""])
