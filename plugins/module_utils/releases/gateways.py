# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gateway providers: versions, classes, controllers, and how each consults the endpoint picker. Data only.

sources.py has the page of each image repository and chart. See docs/platforms.md.
"""

from __future__ import annotations

import typing as t

from ..common.objects import Facts

GATEWAY_API: Facts = {
    "version": "1.6.3",
    "minimum": "1.3.0",
    "sources": ["https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.6.3/standard-install.yaml"],
}
INFERENCE_EXTENSION_MINIMUM = "1.1.0"

MAX_POOL_PORTS = 8  # maximum number of targetPorts of an InferencePool v1
# API group of InferencePools, by version.
POOL_GROUPS = {"v1": "inference.networking.k8s.io", "v1alpha2": "inference.networking.x-k8s.io"}

# k3s and RKE2 run a containerd of their own, and write its configuration again at each start. NVIDIA's container toolkit therefore gets only the socket: with
# CONTAINERD_CONFIG, a node does not come up after a reboot (NVIDIA/gpu-operator#992). https://docs.rke2.io/add-ons/gpu_operators
_RANCHER: Facts = {"owns": [], "toolkit": {"CONTAINERD_SOCKET": "/run/k3s/containerd/containerd.sock"}, "runtime_class": "nvidia"}
# Platforms. owns: bundles of CRDs that the platform manages, and that we never write. toolkit: environment variables of NVIDIA's container toolkit, where
# containerd is not at its usual path. runtime_class: the RuntimeClass of NVIDIA's runtime, where the platform does not make that runtime its default.
PLATFORMS: dict[str, Facts] = {
    "kubernetes": {"owns": []},
    "k3s": _RANCHER,
    "rke2": _RANCHER,
    # https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html#microk8s
    "microk8s": {
        "owns": [],
        "toolkit": {
            "CONTAINERD_CONFIG": "/var/snap/microk8s/current/args/containerd-template.toml",
            "CONTAINERD_SOCKET": "/var/snap/microk8s/common/run/containerd.sock",
            "CONTAINERD_RUNTIME_CLASS": "nvidia",
            "CONTAINERD_SET_AS_DEFAULT": "true",
        },
    },
    "openshift": {"owns": ["gateway-api"]},
    "gke": {"owns": ["gateway-api"]},
    "eks": {"owns": []},
    "aks": {"owns": []},
}

_GATEWAY_NAME_LABEL = "gateway.networking.k8s.io/gateway-name"
_FULL_DUPLEX = {"message_timeout": "1000s", "status_on_error": 503, "body_mode": "FULL_DUPLEX_STREAMED"}

# Objects of the chart's hooks, which Helm does not delete on uninstall: (version, kind, name); {namespace} is the controller's namespace.
_CERTGEN, _RBAC = "envoy-gateway-gateway-helm-certgen", "rbac.authorization.k8s.io/v1"
_ENVOY_HOOKS = [
    ("v1", "ServiceAccount", _CERTGEN),
    (_RBAC, "Role", _CERTGEN),
    (_RBAC, "RoleBinding", _CERTGEN),
    (_RBAC, "ClusterRole", f"{_CERTGEN}:{{namespace}}"),
    (_RBAC, "ClusterRoleBinding", f"{_CERTGEN}:{{namespace}}"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "envoy-gateway-topology-injector.{namespace}"),
]


def _provider(**facts: t.Any) -> Facts:
    """A row of GATEWAY_PROVIDERS: the facts, and defaults for all other properties."""
    defaults: Facts = {
        "version": None,  # of the controller, installed and tested
        "minimum": None,  # the oldest version that is supported
        "below": None,  # the first version that no longer supports InferencePools
        "classes": [],  # GatewayClasses of the provider
        "class_name": None,  # the default GatewayClass
        "controller_name": None,
        "namespace": None,
        "controller": None,
        "extension": None,  # a second controller, without which the first does not serve InferencePools
        "charts": [],  # in the order of installation; a chart has a namespace and a version where they differ from the controller's
        "controller_image": None,
        "proxy_image": None,
        "proxy_container": None,  # name of the container in proxy pods, where the parameters of a Gateway can patch these pods
        "gateway_api": True,
        "backends": ["InferencePool"],  # backends of an HTTPRoute, the preferred one first
        "pool_versions": ["v1"],
        "failure_modes": ["FailOpen", "FailClose"],
        "secure_ext_proc": True,
        "ext_proc": dict(_FULL_DUPLEX),
        # The object that limits connections and requests to the servers of a model, with connection ext_proc: destination_rule or backend_traffic_policy.
        "traffic": None,
        "route_timeouts": True,
        # How services share the requests of one route by weight. backends: one rule, whose backends have weights, and an endpoint picker each. request_id:
        # one rule for each service, which matches a range of the random request IDs of the proxy; for proxies with one endpoint picker for each rule. None:
        # not supported.
        "weights": None,
        "picker_by_name": False,  # whether proxies resolve the DNS name of the endpoint picker's Service
        "pool_status": False,  # whether the controller writes the status of every InferencePool that it serves
        "routes_beside_pools": False,  # whether the controller accepts a pool only for routes in the namespace of the pool
        "service_types": ["LoadBalancer", "ClusterIP", "NodePort"],
        "platforms": None,  # None: any
        "owning_labels": {"name": _GATEWAY_NAME_LABEL},  # labels of a proxy's Deployment that name its Gateway
        "proxy_namespace": "gateway",  # where proxies run: in the namespace of their Gateway, or of the controller
        "crds_name": None,  # of the bundle of CRDs
        "crds_probe": None,  # the CRD of the bundle whose version is read
        "crds_sources": [],  # URLs
        "crds_in_chart": [],  # CRDs in the chart, which its values exclude
        "default_classes": {},  # GatewayClasses that the controller creates by itself, and again if they are deleted: {name: controllerName}
        "mesh": {},  # labels of namespaces whose pods the controller serves too
        "mesh_pods": [],  # label selectors of single pods that the controller serves
        "by_class": {},  # {class: properties that differ for it}
        "parameters": [],  # (apiVersion, kind) of the parameters of the Gateway, which have its name
        "policies": [],  # (apiVersion, kind) of the policies for each endpoint picker, which have its name
        "tracing": None,  # where the OTLP endpoint of proxies is set: parameters (of the Gateway) or sidecar (the proxy's own configuration)
        "warnings": [],
    }
    return {**defaults, **facts}


_ISTIO_KINDS = [("networking.istio.io/v1", "DestinationRule"), ("networking.istio.io/v1alpha3", "EnvoyFilter")]

_ISTIO_CRDS = [
    *(f"{plural}.extensions.istio.io" for plural in ("trafficextensions", "wasmplugins")),
    *(
        f"{plural}.networking.istio.io"
        for plural in ("destinationrules", "envoyfilters", "gateways", "proxyconfigs", "serviceentries", "sidecars", "virtualservices", "workloadentries")
    ),
    "workloadgroups.networking.istio.io",
    *(f"{plural}.security.istio.io" for plural in ("authorizationpolicies", "peerauthentications", "requestauthentications")),
    "telemetries.telemetry.istio.io",
]
_KGATEWAY_URL = "https://github.com/kgateway-dev/kgateway/raw"
# The project is called Agent Router since September 2026 (theagentrouter.ai). Images, charts, API group and namespace kept their names, and its old repository
# leads to the new one. https://theagentrouter.ai/blog/envoy-ai-gateway-is-now-agent-router/
_AI_VERSION, _AI_NAMESPACE = "1.1.0", "envoy-ai-gateway-system"
_AI_GATEWAY_CRDS = f"https://github.com/envoyproxy/ai-gateway/raw/v{_AI_VERSION}/manifests/charts/ai-gateway-crds-helm/templates/aigateway.envoyproxy.io_"

# Envoy Gateway 1.9.3 fixes CVE-2026-35189. By default it runs Envoy 1.39.5, which still trusts compromised certificate authorities (CVE-2026-111943).
_ENVOY_IMAGE = "docker.io/envoyproxy/envoy:distroless-v1.39.6"

# Shared by envoy_gateway and envoy_ai_gateway: both run Envoy Gateway, the second one with the AI Gateway as its extension.
_ENVOY_GATEWAY: Facts = {
    "version": "1.9.3",
    "minimum": "1.5.0",
    "classes": ["envoy-gateway"],
    "class_name": "envoy-gateway",
    "controller_name": "gateway.envoyproxy.io/gatewayclass-controller",
    "namespace": "envoy-gateway-system",
    "controller": {"kind": "Deployment", "name": "envoy-gateway"},
    "charts": [{"key": "envoy_gateway", "release_name": "envoy-gateway", "name": "gateway-helm", "hook_objects": _ENVOY_HOOKS}],
    "controller_image": "docker.io/envoyproxy/gateway:v1.9.3",
    "proxy_image": _ENVOY_IMAGE,
    "proxy_container": "envoy",
    "owning_labels": {"name": "gateway.envoyproxy.io/owning-gateway-name", "namespace": "gateway.envoyproxy.io/owning-gateway-namespace"},
    "proxy_namespace": "controller",
    "crds_name": "envoy-gateway",
    "crds_probe": "envoyproxies.gateway.envoyproxy.io",
    "crds_sources": ["https://github.com/envoyproxy/gateway/releases/download/v1.9.3/envoy-gateway-crds.yaml"],
    "parameters": [("gateway.envoyproxy.io/v1alpha1", "EnvoyProxy")],
    "tracing": "parameters",
    "weights": "request_id",  # a policy calls one endpoint picker for a route; AI Gateway up to 1.1 refuses two pools in one rule (ai-gateway pull 2657)
}

GATEWAY_PROVIDERS: dict[str, Facts] = {
    "envoy_gateway": _provider(
        **_ENVOY_GATEWAY,
        backends=["Service"],
        failure_modes=["FailClose"],  # a CEL rule of EnvoyExtensionPolicy forbids failing open with full-duplex ext_proc
        secure_ext_proc=False,
        ext_proc={"message_timeout": "10s", "status_on_error": 503, "body_mode": "FullDuplexStreamed"},
        traffic="backend_traffic_policy",
        policies=[("gateway.envoyproxy.io/v1alpha1", "EnvoyExtensionPolicy"), ("gateway.envoyproxy.io/v1alpha1", "BackendTrafficPolicy")],
    ),
    # The AI Gateway controller writes the proxies' configuration for InferencePools into that of Envoy Gateway, and the status of the pools.
    "envoy_ai_gateway": _provider(
        **{
            **_ENVOY_GATEWAY,
            "minimum": "1.8.1",  # AI Gateway 1.0 and 1.1 were built for it
            # Envoy Gateway lists InferencePools from its start, which a role of the other chart permits.
            "charts": [
                {
                    "key": "envoy_ai_gateway",
                    "release_name": "ai-gateway",
                    "name": "ai-gateway-helm",
                    "namespace": _AI_NAMESPACE,
                    "version": _AI_VERSION,
                },
                *_ENVOY_GATEWAY["charts"],
            ],
        },
        extension={
            "version": _AI_VERSION,
            "namespace": _AI_NAMESPACE,
            "controller": {"kind": "Deployment", "name": "ai-gateway-controller"},
            "image": f"docker.io/envoyproxy/ai-gateway-controller:v{_AI_VERSION}",
            "port": 1063,
            "crds": {
                "name": "envoy-ai-gateway",
                "probe": "aigatewayroutes.aigateway.envoyproxy.io",
                "sources": [
                    f"{_AI_GATEWAY_CRDS}{plural}.yaml"
                    for plural in ("aigatewayroutes", "aiservicebackends", "backendsecuritypolicies", "gatewayconfigs", "mcproutes", "quotapolicies")
                ],
            },
        },
        failure_modes=["FailClose"],  # its filter never fails open, whatever failureMode the pool sets
        picker_by_name=True,
        pool_status=True,
        routes_beside_pools=True,
    ),
    # 1.29 ended on 2026-10-15 with 1.29.9; ISTIO-SECURITY-2026-006 and -007 are fixed since 1.30.7. llm-d 0.10 was tested with 1.29.
    "istio": _provider(
        version="1.30.8",
        minimum="1.28.6",
        classes=["istio"],
        class_name="istio",
        controller_name="istio.io/gateway-controller",
        namespace="istio-system",
        controller={"kind": "Deployment", "name": "istiod"},
        charts=[
            {"key": "istio_base", "release_name": "istio-base", "name": "base"},
            {"key": "istio", "release_name": "istiod", "name": "istiod"},
        ],
        controller_image="docker.io/istio/pilot:1.30.8",
        proxy_image="docker.io/istio/proxyv2:1.30.8",
        proxy_container="istio-proxy",
        backends=["InferencePool", "Service"],
        traffic="destination_rule",
        weights="request_id",  # for all pools of one rule, the endpoint picker of the last is called (Istio 1.28 to 1.31)
        crds_name="istio",
        crds_probe="destinationrules.networking.istio.io",
        crds_sources=["https://github.com/istio/istio/raw/1.30.8/manifests/charts/base/files/crd-all.gen.yaml"],
        crds_in_chart=_ISTIO_CRDS,
        default_classes={"istio": "istio.io/gateway-controller", "istio-remote": "istio.io/unmanaged-gateway"},
        mesh={"istio-injection": "enabled", "istio.io/rev": "default", "istio.io/dataplane-mode": "ambient"},
        # The pods of istiod have the label istio.io/rev too, and no sidecar.
        mesh_pods=["sidecar.istio.io/inject=true", "istio.io/rev=default,sidecar.istio.io/inject!=false", "istio.io/dataplane-mode=ambient"],
        parameters=[("v1", "ConfigMap")],
        policies=_ISTIO_KINDS,
        warnings=["A CORS policy or a fault filter on a rule that leads to an InferencePool silently disables the endpoint picker (Istio 1.28 to 1.31)."],
    ),
    "agentgateway": _provider(
        version="1.7.0",
        minimum="1.0.0",
        classes=["agentgateway"],
        class_name="agentgateway",
        controller_name="agentgateway.dev/agentgateway",
        namespace="agentgateway-system",
        controller={"kind": "Deployment", "name": "agentgateway"},
        charts=[{"key": "agentgateway", "release_name": "agentgateway", "name": "agentgateway"}],
        controller_image="cr.agentgateway.dev/controller:v1.7.0",
        proxy_image="cr.agentgateway.dev/agentgateway:v1.7.0",
        proxy_container="agentgateway",
        weights="backends",
        crds_name="agentgateway",
        crds_probe="agentgatewayparameters.agentgateway.dev",
        crds_sources=[
            "https://github.com/agentgateway/agentgateway/raw/v1.7.0/controller/install/helm/agentgateway-crds/templates/"
            f"agentgateway.dev_agentgateway{kind}.yaml"
            for kind in ("parameters", "backends", "policies", "models")
        ],
        default_classes={"agentgateway": "agentgateway.dev/agentgateway"},
        parameters=[("agentgateway.dev/v1alpha1", "AgentgatewayParameters")],
    ),
    # Since 2.2 there are two charts: `kgateway` serves Envoy's class alone, `agentgateway` the other (release notes of 2.2.0, kgateway pull 13062).
    "kgateway": _provider(
        version="2.2.1",
        minimum="2.1.0",
        below="2.3",
        classes=["agentgateway", "kgateway"],
        class_name="agentgateway",
        controller_name="agentgateway.dev/agentgateway",
        namespace="agentgateway-system",
        controller={"kind": "Deployment", "name": "agentgateway"},
        charts=[{"key": "kgateway", "release_name": "agentgateway", "name": "agentgateway"}],
        controller_image="cr.agentgateway.dev/controller:v2.2.1",
        proxy_image=None,  # built into the controller; neither chart nor release notes name its version
        proxy_container="agentgateway",
        weights="backends",
        crds_name="kgateway",
        crds_probe="agentgatewayparameters.agentgateway.dev",
        crds_sources=[
            f"{_KGATEWAY_URL}/v2.2.1/install/helm/agentgateway-crds/templates/agentgateway.dev_agentgateway{kind}.yaml"
            for kind in ("parameters", "backends", "policies")
        ],
        default_classes={"agentgateway": "agentgateway.dev/agentgateway"},
        by_class={
            "kgateway": {
                "version": "2.1.2",
                "namespace": "kgateway-system",
                "below": "2.2",
                "controller_name": "kgateway.dev/kgateway",
                "controller": {"kind": "Deployment", "name": "kgateway"},
                "charts": [{"key": "kgateway", "release_name": "kgateway", "name": "kgateway"}],
                "controller_image": "cr.kgateway.dev/kgateway-dev/kgateway:v2.1.2",
                "proxy_image": "cr.kgateway.dev/kgateway-dev/envoy-wrapper:v2.1.2",
                "proxy_container": None,
                "crds_probe": "gatewayparameters.gateway.kgateway.dev",
                "crds_sources": [
                    f"{_KGATEWAY_URL}/v2.1.2/install/helm/kgateway-crds/templates/gateway.kgateway.dev_{plural}.yaml"
                    for plural in (
                        "backendconfigpolicies",
                        "backends",
                        "directresponses",
                        "gatewayextensions",
                        "gatewayparameters",
                        "httplistenerpolicies",
                        "trafficpolicies",
                    )
                ],
                "default_classes": {"kgateway": "kgateway.dev/kgateway", "kgateway-waypoint": "kgateway.dev/kgateway"},
                "weights": "request_id",
            },
        },
        parameters=[("gateway.kgateway.dev/v1alpha1", "GatewayParameters"), ("agentgateway.dev/v1alpha1", "AgentgatewayParameters")],
        warnings=[
            "kgateway 2.3 no longer has the inference extension: use 'provider: agentgateway', which has the same class and routes.",
            "kgateway 2.2.0 breaks inference routing, and its Envoy class serves InferencePools only up to 2.1: use class agentgateway of 2.2.1.",
        ],
    ),
    "gke": _provider(
        classes=["gke-l7-regional-external-managed", "gke-l7-rilb"],
        class_name="gke-l7-regional-external-managed",
        service_types=["LoadBalancer"],  # Google's load balancer; the class decides whether it is external
        weights="backends",
        route_timeouts=False,  # not accepted; GCPBackendPolicy has the timeout
        platforms=["gke"],
        owning_labels={},
        policies=[("networking.gke.io/v1", "HealthCheckPolicy"), ("networking.gke.io/v1", "GCPBackendPolicy")],
        warnings=["Both classes need a proxy-only subnet in the region, and the Gateway API enabled for the cluster (--gateway-api=standard)."],
    ),
    "openshift": _provider(
        classes=["openshift-default"],
        class_name="openshift-default",
        controller_name="openshift.io/gateway-controller/v1",
        backends=["InferencePool", "Service"],
        pool_versions=["v1", "v1alpha2"],
        traffic="destination_rule",
        weights="request_id",  # it is an Istio
        platforms=["openshift"],
        proxy_container="istio-proxy",
        parameters=[("v1", "ConfigMap")],
        policies=_ISTIO_KINDS,
        warnings=["OpenShift 4.19 and 4.20 read pools of version v1alpha2 only, from 4.21 on v1: see pool_version."],
    ),
    "standalone": _provider(
        gateway_api=False,
        proxy_image=_ENVOY_IMAGE,
        backends=["Service"],
        # Envoy forwards to the address that the endpoint picker chose (an original-destination cluster), and has no other server to fall back to.
        failure_modes=["FailClose"],
        tracing="sidecar",
        secure_ext_proc=False,  # both run in one pod and connect over loopback
        ext_proc={**_FULL_DUPLEX},
        owning_labels={},
    ),
    "none": _provider(
        backends=["InferencePool", "Service"],
        pool_versions=["v1", "v1alpha2"],
        owning_labels={},
    ),
}

# API groups whose objects can change the pods or the traffic of a stack: with any provider, with providers that use the Gateway API, and by provider.
_COMMON_GROUPS = ("networking.k8s.io", "cilium.io")
_GATEWAY_API_GROUPS = ("gateway.networking.k8s.io", "gateway.networking.x-k8s.io", *POOL_GROUPS.values())
_ISTIO_GROUPS = ("networking.istio.io", "security.istio.io", "extensions.istio.io", "telemetry.istio.io")
_PROVIDER_GROUPS = {
    "envoy_gateway": ("gateway.envoyproxy.io",),
    "envoy_ai_gateway": ("gateway.envoyproxy.io",),
    "istio": _ISTIO_GROUPS,
    "openshift": _ISTIO_GROUPS,
    "agentgateway": ("agentgateway.dev",),
    "kgateway": ("gateway.kgateway.dev", "agentgateway.dev"),
    "gke": ("networking.gke.io",),
    "standalone": (),
}
ATTACHMENT_GROUPS = tuple(dict.fromkeys((*_COMMON_GROUPS, *_GATEWAY_API_GROUPS, *(group for groups in _PROVIDER_GROUPS.values() for group in groups))))


def attachment_groups(provider: str) -> tuple[str, ...]:
    """The API groups whose objects can change a stack behind this provider; all of them for provider none, whose gateway is not known."""
    if provider not in _PROVIDER_GROUPS:
        return ATTACHMENT_GROUPS
    return (*_COMMON_GROUPS, *(_GATEWAY_API_GROUPS if GATEWAY_PROVIDERS[provider]["gateway_api"] else ()), *_PROVIDER_GROUPS[provider])


# By minor release of OpenShift: the versions of the Gateway API and of InferencePool that its own gateway serves, None where it serves none. since: the first
# build whose gateway reads InferencePools.
OPENSHIFT: dict[str, Facts] = {
    "4.18": {"gateway_api": None, "pool_version": None},
    "4.19": {"gateway_api": "1.2.1", "pool_version": "v1alpha2", "since": "4.19.9"},  # approximately
    "4.20": {"gateway_api": "1.2.1", "pool_version": "v1alpha2"},
    "4.21": {"gateway_api": "1.3.0", "pool_version": "v1"},
    "4.22": {"gateway_api": "1.4.1", "pool_version": "v1"},
    "4.23": {"gateway_api": "1.5.1", "pool_version": "v1"},
    "5.0": {"gateway_api": "1.5.1", "pool_version": "v1"},
}


def variants(provider: Facts) -> list[Facts]:
    """A row of GATEWAY_PROVIDERS, and one with the properties of each class in its by_class."""
    return [provider, *({**provider, **properties, "class_name": name} for name, properties in provider["by_class"].items())]


def controllers(row: Facts) -> list[Facts]:
    """The controllers of a provider, each {kind, name, namespace}, in the order in which they must start; none where the platform runs them."""
    extensions = [row["extension"]] if row["extension"] else []
    return [{**each["controller"], "namespace": each["namespace"]} for each in [*extensions, row] if each["controller"]]
