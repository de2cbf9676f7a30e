# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Helm charts of a gateway provider's controller, with their values. Pure.

No chart installs CRDs: the role prerequisites applies them server-side, because Helm does not upgrade CRDs and should not own them.
"""

from __future__ import annotations

import typing as t

from ...common.objects import Facts
from ...releases.gateways import GATEWAY_PROVIDERS, POOL_GROUPS
from .chart_values import with_own
from .references import chart as chart_source
from .references import image

_RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_RESTRICTED_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def charts(user: Facts) -> list[Facts]:
    """The charts to install, in order: {key, release_name, namespace, ref, repo, version, values, decided, hook_objects}.

    Empty where the plan installs no controller. hook_objects: objects of hooks, which Helm does not delete.
    """
    settings, facts = user["llm_d_gateway"], provider_facts(user)
    if not settings["install"] or user["llm_d_scope"] == "namespace":
        return []
    return [
        {
            "key": chart["key"],
            "release_name": chart["release_name"],
            "namespace": chart_namespace(facts, chart),
            **chart_source(user, chart["key"], chart["name"], chart.get("version") or settings["version"] or facts["version"]),
            **with_own(user, chart["key"], _VALUES[chart["key"]](user, facts)),
            "hook_objects": hook_objects(chart, chart_namespace(facts, chart)),
        }
        for chart in facts["charts"]
    ]


def chart_namespace(facts: Facts, chart: Facts) -> str:
    """The namespace of a chart in a provider's row: its own, else the controller's."""
    return str(chart.get("namespace", facts["namespace"]))


def hook_objects(chart: Facts, namespace: str) -> list[Facts]:
    """References to the objects that hooks of a chart create and Helm does not delete. They are in the namespace, or cluster-wide."""
    return [
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": name.format(namespace=namespace), **({} if "{namespace}" in name else {"namespace": namespace})},
        }
        for version, kind, name in chart.get("hook_objects", ())
    ]


def provider_facts(user: Facts) -> Facts:
    """The row of the provider in releases/gateways.py for the configured class and version."""
    settings = user["llm_d_gateway"]
    row = GATEWAY_PROVIDERS[settings["provider"]]
    facts = {**row, **row["by_class"].get(settings["class_name"], {})}
    return {**facts, **{key: _of_version(facts[key], facts["version"], settings["version"]) for key in ("controller_image", "proxy_image")}}


def _of_version(tested: str | None, version: str | None, requested: str | None) -> str | None:
    """The image in the configured version where its tag is the provider's version; a proxy with versions of its own stays as tested."""
    name, colon, tag = (tested or "").rpartition(":")
    return f"{name}{colon}{tag.replace(version, requested)}" if tested and version and requested else tested


def _envoy_gateway(user: Facts, facts: Facts) -> Facts:
    controller = {"image": image(user, "gateway", facts["controller_image"]), "pullPolicy": user["llm_d_image_pull_policy"]}
    pull = [{"name": name} for name in user["llm_d_image_pull_secrets"]]
    # The chart runs one replica. With an election it stops for a minute whenever the API server was away for ten seconds, and proxies keep old endpoints.
    settings: Facts = {"provider": {"kubernetes": {"leaderElection": {"disable": True}}}}
    values: Facts = {
        "crds": {"enabled": False},
        "config": {"envoyGateway": settings},
        "global": {"images": {"envoyGateway": controller}, **({"imagePullSecrets": pull} if pull else {})},
    }
    if facts["extension"]:
        settings["extensionManager"] = _extension_manager(facts["extension"])
        # Restarts an existing controller, which would read its new configuration a minute later, and report until then that there are no InferencePools.
        values["deployment"] = {"pod": {"annotations": {"llm-d.ai/extension": f"{facts['extension']['controller']['name']}-{facts['extension']['version']}"}}}
    return values


def _extension_manager(extension: Facts) -> Facts:
    """The settings by which Envoy Gateway calls its extension: for InferencePools, and for listeners, routes and clusters of the proxies."""
    host = f"{extension['controller']['name']}.{extension['namespace']}.svc.cluster.local"
    return {
        "backendResources": [{"group": POOL_GROUPS["v1"], "kind": "InferencePool", "version": "v1"}],
        "hooks": {
            "xdsTranslator": {
                "translation": {part: {"includeAll": True} for part in ("listener", "route", "cluster", "secret")},
                "post": ["Translation", "Cluster", "Route"],
            }
        },
        "service": {"fqdn": {"hostname": host, "port": extension["port"]}},
    }


def _envoy_ai_gateway(user: Facts, facts: Facts) -> Facts:
    repository, tag = image(user, "ai_gateway", facts["extension"]["image"]).rsplit(":", 1)
    # Since 1.1 the chart has 65532 for both, in the pod's context and the container's; Helm takes a default out where a value is null.
    run_as = dict.fromkeys(("runAsUser", "runAsGroup"), user["llm_d_run_as_user"] or None)
    return {
        # The image of the other container, extProc, is left to the chart: it serves AIGatewayRoutes, and we write HTTPRoutes only.
        "controller": {
            "image": {"repository": repository, "tag": tag},
            "imagePullPolicy": user["llm_d_image_pull_policy"],
            "imagePullSecrets": [{"name": name} for name in user["llm_d_image_pull_secrets"]],
            "securityContext": {**_RESTRICTED, **run_as},
            "podSecurityContext": {**_RESTRICTED_POD, **run_as},
        },
        "envoyGateway": {"namespace": facts["namespace"]},
    }


def _istio_base(user: Facts, facts: Facts) -> Facts:
    # Not `enableCRDTemplates: false`: with it the chart installs every CRD (1.28.6 and 1.29.2).
    return {"base": {"excludedCRDs": list(facts["crds_in_chart"])}, "global": {"istioNamespace": facts["namespace"]}}


def _istio(user: Facts, facts: Facts) -> Facts:
    everywhere: Facts = {
        "istioNamespace": facts["namespace"],
        "imagePullPolicy": user["llm_d_image_pull_policy"],
        "imagePullSecrets": list(user["llm_d_image_pull_secrets"]),
        "proxy": {"image": image(user, "proxy", facts["proxy_image"])},
    }
    if user["llm_d_platform"] == "openshift":
        everywhere["platform"] = "openshift"
    pilot = {"image": image(user, "gateway", facts["controller_image"]), "env": {"ENABLE_GATEWAY_API_INFERENCE_EXTENSION": "true"}}
    return {"global": everywhere, "pilot": pilot}


def _agentgateway(user: Facts, facts: Facts) -> Facts:
    return {
        "inferenceExtension": {"enabled": True},
        "controller": {"image": split_image(image(user, "gateway", facts["controller_image"]))},
        "proxy": {"image": split_image(image(user, "proxy", facts["proxy_image"]))},
        "image": {"pullPolicy": user["llm_d_image_pull_policy"]},
        "imagePullSecrets": [{"name": name} for name in user["llm_d_image_pull_secrets"]],
        "securityContext": _RESTRICTED,
        "podSecurityContext": _RESTRICTED_POD,
    }


def _kgateway(user: Facts, facts: Facts) -> Facts:
    controller = split_image(image(user, "gateway", facts["controller_image"]))
    values = {
        "inferenceExtension": {"enabled": True},
        "controller": {"image": {**controller, "pullPolicy": user["llm_d_image_pull_policy"]}},
        "imagePullSecrets": [{"name": name} for name in user["llm_d_image_pull_secrets"]],
        "securityContext": _RESTRICTED,
        "podSecurityContext": _RESTRICTED_POD,
    }
    # The chart 2.1 has an option for the other class, 2.2 serves the agentgateway class only.
    return {**values, "agentgateway": {"enabled": False}} if user["llm_d_gateway"]["class_name"] == "kgateway" else values


def split_image(reference: str) -> Facts:
    """An image as {registry, repository, tag}, which the charts join again."""
    name, tag = reference.rsplit(":", 1)
    registry, repository = name.rsplit("/", 1)
    return {"registry": registry, "repository": repository, "tag": tag}


_VALUES: dict[str, t.Callable[[Facts, Facts], Facts]] = {
    "envoy_gateway": _envoy_gateway,
    "envoy_ai_gateway": _envoy_ai_gateway,
    "istio_base": _istio_base,
    "istio": _istio,
    "agentgateway": _agentgateway,
    "kgateway": _kgateway,
}
