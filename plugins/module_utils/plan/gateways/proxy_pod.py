# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of the gateway's proxy, which its controller creates: the patch of their template, with the additions of the user. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from ...common.yaml_text import to_yaml
from ...schema.fields import REDACTED, Problem
from ...schema.pods import BLOCKS, TEMPLATE, Type, merged
from ..parts.charts import provider_facts
from ..parts.overlays import ALIKE, Governed, overlay_problems, overlays_of, planned_pod
from ..parts.pod_spec import PROXY_READINESS

BLOCK = "llm_d_gateway"
_CONTROLLER = Governed(whole=True)  # the controller writes it
GOVERNED = {
    **ALIKE,
    **{f"container.{field}": _CONTROLLER for field in ("args", "command", "lifecycle", "livenessProbe", "ports", "readinessProbe", "startupProbe")},
    "container.image": Governed("llm_d_images.proxy", whole=True),
    "container.imagePullPolicy": Governed("llm_d_image_pull_policy", whole=True),
    "pod.serviceAccount": _CONTROLLER,
    "pod.serviceAccountName": _CONTROLLER,
    "pod.terminationGracePeriodSeconds": Governed("llm_d_gateway.drain_seconds", whole=True),
}


def proxy_pod(user: Facts, create: bool) -> Facts | None:
    """The patch of the pod template as `planned_pod` returns it, with text: {ours, template} as YAML; None where the provider takes no patch, or the plan does
    not create the Gateway."""
    container = provider_facts(user)["proxy_container"]
    if not container or not create:
        return None
    planned = planned_pod(_ours(user, container), overlays_of(user[BLOCK], "", container), patch=True)
    patches = {name: planned[name] for name in ("ours", "template")}
    return {**planned, "text": {name: to_yaml({"spec": {"template": patch}}) if patch else "" for name, patch in patches.items()}}


def proxy_pod_problems(user: Facts) -> list[Problem]:
    """Additions of the user to the proxy's pods that are not allowed."""
    settings, container = user[BLOCK], provider_facts(user)["proxy_container"]
    added = [name for name in BLOCKS if settings[name]]
    if container and settings["create"]:
        made = merged(_ours(user, container), {"spec": {"containers": [{"name": container}]}}, Type(TEMPLATE))
        return overlay_problems(made, overlays_of(settings, BLOCK, container), container, GOVERNED) if added else []
    if settings["provider"] == "standalone":
        why, fix = "is of no use: the proxy is in the pod of the endpoint picker.", "Write scheduler.pod of a model service."
    elif not settings["create"] or settings["provider"] == "none":
        why, fix = "is of no use: someone else creates the Gateway.", "Take it out."
    else:
        why, fix = f"is not supported with {settings['provider']}, whose controller takes no patch for its proxies.", "Take it out, or write another provider."
    return [Problem(f"{BLOCK}.{name}", REDACTED, why, fix) for name in added]


def _ours(user: Facts, container: str) -> Facts:
    pull = [{"name": name} for name in user["llm_d_image_pull_secrets"]]
    # With Envoy Gateway's own probe, one response later than 1 s makes the proxy unready for 5 s.
    containers = [{"name": container, "readinessProbe": dict(PROXY_READINESS)}] if container == "envoy" else []
    spec = {**({"imagePullSecrets": pull} if pull else {}), **({"containers": containers} if containers else {})}
    return {"spec": spec} if spec else {}
