# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resources that each Helm chart creates, hooks included, as (API group, plural). Data only.

Recorded from charts that Helm rendered with our values (gateway-helm 1.9.1, ai-gateway-helm 1.1.0, Istio 1.29.2, agentgateway 1.4.1, gpu-operator v26.7.0)
and from the templates of LeaderWorkerSet 0.9.0 and kgateway. The versions that are installed are in gateways.py and lines.py, and may be newer.
"""

from __future__ import annotations

Resources = list[tuple[str, str]]

_RBAC = "rbac.authorization.k8s.io"
_WEBHOOKS = "admissionregistration.k8s.io"
_ROLES: Resources = [(_RBAC, "roles"), (_RBAC, "rolebindings")]
_CLUSTER_ROLES: Resources = [(_RBAC, "clusterroles"), (_RBAC, "clusterrolebindings")]
_CONTROLLER: Resources = [("", "serviceaccounts"), ("", "services"), ("apps", "deployments")]

# Chart, by its key in llm_d_charts, to the resources that it creates in the namespace of its release, and cluster-wide.
CHART_WRITES: dict[str, dict[str, Resources]] = {
    "envoy_gateway": {
        "namespaced": [*_CONTROLLER, ("", "configmaps"), *_ROLES, ("batch", "jobs")],
        "cluster": [*_CLUSTER_ROLES, (_WEBHOOKS, "mutatingwebhookconfigurations")],
    },
    "envoy_ai_gateway": {
        "namespaced": [*_CONTROLLER, ("", "secrets")],
        "cluster": [*_CLUSTER_ROLES, (_WEBHOOKS, "mutatingwebhookconfigurations")],
    },
    "istio_base": {"namespaced": [("", "serviceaccounts")], "cluster": [(_WEBHOOKS, "validatingwebhookconfigurations")]},
    "istio": {
        "namespaced": [*_CONTROLLER, ("", "configmaps"), *_ROLES, ("autoscaling", "horizontalpodautoscalers")],
        "cluster": [*_CLUSTER_ROLES, (_WEBHOOKS, "mutatingwebhookconfigurations"), (_WEBHOOKS, "validatingwebhookconfigurations")],
    },
    "agentgateway": {"namespaced": _CONTROLLER, "cluster": _CLUSTER_ROLES},
    "kgateway": {"namespaced": _CONTROLLER, "cluster": _CLUSTER_ROLES},
    "leader_worker_set": {
        "namespaced": [*_CONTROLLER, ("", "configmaps"), ("", "secrets"), *_ROLES],
        "cluster": [*_CLUSTER_ROLES, (_WEBHOOKS, "mutatingwebhookconfigurations"), (_WEBHOOKS, "validatingwebhookconfigurations")],
    },
    "gpu_operator": {
        "namespaced": [("", "serviceaccounts"), ("", "configmaps"), *_ROLES, ("apps", "daemonsets"), ("apps", "deployments"), ("batch", "jobs")],
        "cluster": [*_CLUSTER_ROLES, ("nvidia.com", "clusterpolicies")],
    },
}

# Objects that stay in the namespace of a Helm release after it is uninstalled, since its controller or a hook created them, by name of the release.
CHART_LEAVES: dict[str, list[dict[str, str]]] = {
    # certificates, by the hook certgen (internal/provider/kubernetes/secrets.go of Envoy Gateway 1.9.1)
    "envoy-gateway": [{"kind": "Secret", "name": name} for name in ("envoy-gateway", "envoy", "envoy-rate-limit", "envoy-oidc-hmac")],
    # the certificate authority that istiod creates if its namespace has no cacerts
    "istiod": [{"kind": "Secret", "name": "istio-ca-secret"}],
}

# Chart, by its key in llm_d_charts, to paths of values that displace what the plan relies on, under another path than the plan's value: the name and the
# namespace of the controller, its image, pull Secrets and pull policy, the controllerName of its GatewayClasses, whether it serves InferencePools.
# Source: the templates of gateway-helm 1.9.1, ai-gateway-helm 1.0.0, agentgateway 1.4.1 and LeaderWorkerSet 0.9.0 (tests/contract/test_charts.py renders them),
# and those in the repositories of Istio, kgateway and gpu-operator.
_NAMES = ("nameOverride", "fullnameOverride")
_ISTIO_SWITCHES = (
    "ENABLE_GATEWAY_API_INFERENCE_EXTENSION",
    "PILOT_ENABLE_GATEWAY_API",
    "PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER",
    "PILOT_ENABLE_GATEWAY_API_GATEWAYCLASS_CONTROLLER",
    "PILOT_ENABLE_GATEWAY_API_STATUS",
    "PILOT_GATEWAY_API_CONTROLLER_NAME",
    "PILOT_GATEWAY_API_DEFAULT_GATEWAYCLASS_NAME",
)
CHART_DISPLACES: dict[str, tuple[str, ...]] = {
    "envoy_gateway": (
        *_NAMES,
        "namespaceOverride",
        "createNamespace",
        "global.imageRegistry",
        "global.imagePullSecrets",
        "global.images.envoyGateway.pullSecrets",
        "global.images.envoyProxy",
        "deployment.envoyGateway.image",
        "deployment.envoyGateway.imagePullPolicy",
        "deployment.envoyGateway.imagePullSecrets",
        "config.envoyGateway.gateway.controllerName",
        "config.envoyGateway.provider.type",
        "config.envoyGateway.provider.kubernetes.deploy",
    ),
    "envoy_ai_gateway": ("controller.fullnameOverride", "controller.service.ports", "global.imagePullSecrets"),
    "istio_base": ("base.enableCRDTemplates",),
    # The chart merges values under `pilot` over the other ones.
    "istio": tuple(f"{above}{place}" for above in ("", "pilot.") for place in ("image", "revision", *(f"env.{name}" for name in _ISTIO_SWITCHES)))
    + ("global.resourceScope", "istiodRemote.enabled"),
    "agentgateway": (*_NAMES, "controllerName", "gatewayClassName", "controller.image.pullPolicy"),
    "kgateway": _NAMES,
    "leader_worker_set": _NAMES,
    "gpu_operator": ("operator.image", "operator.repository", "operator.version"),
}
