# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the user's file for the gateway. Data only."""

from __future__ import annotations

from ..releases.gateways import GATEWAY_PROVIDERS
from .fields import Field
from .pods import container_field, pod_field

_LISTENER = {
    "name": Field("str", "Name of the listener.", default="http", format="dns_label"),
    "port": Field("int", "Port that clients connect to.", default=80, minimum=1, maximum=65535),
    "protocol": Field(
        "str",
        "Protocol of the listener. C(HTTPS) needs a certificate: O(tls_secret), or O(llm_d_gateway.certificate_issuer).",
        default="HTTP",
        choices=("HTTP", "HTTPS"),
    ),
    "hostname": Field("str", "Host name that the listener accepts. If omitted, every host name.", format="hostname"),
    "tls_secret": Field(
        "str",
        (
            "Name of the Secret with the certificate and key of an C(HTTPS) listener. With O(llm_d_gateway.certificate_issuer) cert-manager writes it; if"
            " omitted there, C(GATEWAY-LISTENER-tls)."
        ),
        format="dns_subdomain",
        example="chat-example-com-tls",
    ),
    "tls_secret_namespace": Field(
        "str",
        "Namespace of that Secret. If omitted, the namespace of the Gateway. For another namespace, a ReferenceGrant is created there.",
        format="dns_label",
    ),
}

_CERTIFICATE_ISSUER = {
    "name": Field("str", "Name of the issuer.", required=True, format="dns_subdomain", example="letsencrypt"),
    "kind": Field("str", "Kind of the issuer. An C(Issuer) is in the namespace of the Gateway.", default="ClusterIssuer", choices=("ClusterIssuer", "Issuer")),
}

_OPENSHIFT_ROUTE = {
    "enabled": Field("bool", "Publish the gateway through an OpenShift Route.", default=False),
    "hostname": Field("str", "Host name of the Route. If omitted, that of the first listener; without one, OpenShift generates one.", format="hostname"),
    "timeout": Field("str", "Timeout of the router for a response. OpenShift's own default is 30 seconds.", default="3600s", format="gateway_duration"),
    "termination": Field("str", "Where TLS terminates: C(edge) for C(HTTP) listeners, C(passthrough) for C(HTTPS).", choices=("edge", "passthrough")),
}

_TRAFFIC = {
    "load_balancing": Field(
        "str",
        "How requests are balanced when the endpoint picker named no server.",
        default="LEAST_REQUEST",
        choices=("LEAST_REQUEST", "ROUND_ROBIN", "RANDOM"),
    ),
    "session_cookie": Field("str", "Cookie for session affinity, instead of O(load_balancing).", format="env_name"),
    "session_header": Field("str", "Request header for session affinity, instead of O(load_balancing).", format="header_name", example="x-session-id"),
    "max_connections": Field(
        "int", "Maximum number of connections to all servers of a model. If omitted, the provider's; with C(envoy_gateway) 40000.", minimum=1
    ),
    "max_requests": Field(
        "int", "Maximum number of in-flight requests to all servers of a model. If omitted, the provider's; with C(envoy_gateway) 40000.", minimum=1
    ),
}

GATEWAY = {
    "provider": Field("str", "The Gateway API implementation.", default="envoy_gateway", choices=tuple(GATEWAY_PROVIDERS)),
    "install": Field("bool", "Install the provider's controller. Set C(false) if the cluster already has it.", default=True),
    "version": Field("str", "Version of the provider's chart, or of the installed controller. If omitted, the tested version.", format="version"),
    "create": Field("bool", "Create the GatewayClass and the Gateway. Set C(false) if O(name) is an existing Gateway.", default=True),
    "name": Field(
        "str",
        (
            "Name of the Gateway. If omitted, C(llm-d-gateway) for C(envoy_gateway), and C(llm-d-gateway-PROVIDER) for other providers, so that a change"
            " of provider creates the new gateway beside the old one."
        ),
        format="dns_label",
    ),
    "namespace": Field("str", "Namespace of the Gateway. If omitted, O(llm_d_namespace).", format="dns_label"),
    "routes_namespace": Field(
        "str",
        "Namespace of the HTTPRoutes. If omitted, O(llm_d_namespace). For another namespace, ReferenceGrants allow the routes to refer to our backends.",
        format="dns_label",
    ),
    "class_name": Field("str", "Name of the GatewayClass. If omitted, the provider's usual one.", format="dns_subdomain"),
    "service_type": Field(
        "str", "Type of the Service in front of the gateway's proxy.", default="LoadBalancer", choices=("LoadBalancer", "ClusterIP", "NodePort")
    ),
    "listener": Field("dict", "The first listener of the Gateway.", default={}, options=_LISTENER),
    "listeners": Field("list", "Additional listeners.", default=[], most=63, elements=Field("dict", "One listener.", options=_LISTENER)),
    "certificate_issuer": Field(
        "dict",
        (
            "The issuer of cert-manager that issues the certificates of all C(HTTPS) listeners, each of which needs a host name. cert-manager has to run with"
            " C(enableGatewayAPI)."
        ),
        options=_CERTIFICATE_ISSUER,
    ),
    "connection": Field(
        "str",
        (
            "How the gateway consults the endpoint picker. C(pool): routes refer to the InferencePool. C(ext_proc): routes refer to a Service, and the"
            " proxy calls the endpoint picker through the provider's own resources (policies of Envoy Gateway, an EnvoyFilter of Istio). If omitted, the"
            " better one for the provider."
        ),
        choices=("pool", "ext_proc"),
    ),
    "pool_version": Field(
        "str",
        "Version of the InferencePool API that the gateway reads. C(v1alpha2) for OpenShift 4.19 and 4.20.",
        default="v1",
        choices=("v1", "v1alpha2"),
    ),
    "picker_tls": Field("bool", "Whether the gateway connects to the endpoint picker over TLS. If omitted, the provider's default."),
    "pod": pod_field("of the proxy that the provider creates for the Gateway"),
    "container": container_field("of the proxy that the provider creates for the Gateway"),
    "openshift_route": Field("dict", "An OpenShift Route in front of the gateway. Only on OpenShift.", default={}, options=_OPENSHIFT_ROUTE),
    "drain_seconds": Field(
        "int",
        (
            "Seconds for which a terminating proxy of the gateway keeps connections on which requests are in flight: no less than"
            " O(llm_d_model_services[].engine.drain_seconds), since answers pass through it. With C(envoy_gateway) and C(envoy_ai_gateway), where it is 120 if"
            " omitted; other providers have settings of their own."
        ),
        minimum=5,
        maximum=3600,
    ),
    "traffic": Field(
        "dict",
        (
            "Limits for the servers of each model, and how requests are balanced without a choice of the endpoint picker: in the BackendTrafficPolicies of"
            " C(envoy_gateway), and in DestinationRules of Istio and OpenShift with C(connection: ext_proc)."
        ),
        options=_TRAFFIC,
    ),
}
