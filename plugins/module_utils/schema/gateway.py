# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the user's file about the gateway."""

from __future__ import annotations

from ..releases.gateways import GATEWAY_PROVIDERS
from .fields import Field

_LISTENER = {
    "name": Field("str", "Name of the listener.", default="http", format="dns_label"),
    "port": Field("int", "Port clients connect to.", default=80, minimum=1, maximum=65535),
    "protocol": Field("str", "C(HTTPS) needs O(tls_secret).", default="HTTP", choices=("HTTP", "HTTPS")),
    "hostname": Field("str", "Host name the listener answers to. Left out, every host.", format="hostname"),
    "tls_secret": Field("str", "Secret with the certificate and key of an C(HTTPS) listener.", format="dns_subdomain", example="chat-example-com-tls"),
    "tls_secret_namespace": Field("str", "Where that Secret is. Left out, with the Gateway. Elsewhere, a ReferenceGrant is made there.", format="dns_label"),
}

_OPENSHIFT_ROUTE = {
    "enabled": Field("bool", "Publish the gateway by an OpenShift Route.", default=False),
    "hostname": Field("str", "Host name of the Route. Left out, OpenShift makes one.", format="hostname"),
    "timeout": Field("str", "How long the router waits for an answer; by itself it gives up after 30 seconds.", default="3600s", format="gateway_duration"),
    "termination": Field("str", "Where TLS ends: C(edge) for C(HTTP) listeners, C(passthrough) for C(HTTPS).", choices=("edge", "passthrough")),
}

_DESTINATION_RULE = {
    "load_balancing": Field(
        "str",
        "Who gets a request for which the endpoint picker named no server.",
        default="LEAST_REQUEST",
        choices=("LEAST_REQUEST", "ROUND_ROBIN", "RANDOM"),
    ),
    "session_cookie": Field("str", "Cookie by which a client stays with one server. Instead of O(load_balancing).", format="env_name"),
    "session_header": Field("str", "Header by which a client stays with one server. Instead of O(load_balancing).", format="label_key", example="x-session-id"),
    "max_connections": Field("int", "Connections to all servers of a model.", minimum=1),
    "max_requests": Field("int", "Requests under way to all servers of a model.", minimum=1),
}

GATEWAY = {
    "provider": Field("str", "Which Gateway API implementation serves requests.", default="envoy_gateway", choices=tuple(GATEWAY_PROVIDERS)),
    "install": Field("bool", "Install the provider's controller. C(false) where the cluster has it already.", default=True),
    "version": Field("str", "Version of the provider's chart, or of the controller that is there. Left out, the tested one.", format="version"),
    "create": Field("bool", "Create GatewayClass and Gateway. C(false) where O(name) is a Gateway that exists.", default=True),
    "name": Field(
        "str",
        "Name of the Gateway. Left out, C(llm-d-gateway), with the provider's name after it where that is not C(envoy_gateway): so that a change of the"
        " provider brings up a new gateway beside the old one.",
        format="dns_label",
    ),
    "namespace": Field("str", "Namespace of the Gateway. Left out, O(llm_d_namespace).", format="dns_label"),
    "routes_namespace": Field(
        "str", "Namespace of the HTTPRoutes. Left out, O(llm_d_namespace). Elsewhere, ReferenceGrants let them lead to our backends.", format="dns_label"
    ),
    "class_name": Field("str", "Name of the GatewayClass. Left out, the provider's usual one.", format="dns_subdomain"),
    "service_type": Field(
        "str", "Type of the Service in front of the gateway's proxy.", default="LoadBalancer", choices=("LoadBalancer", "ClusterIP", "NodePort")
    ),
    "listener": Field("dict", "Where the Gateway listens.", default={}, options=_LISTENER),
    "listeners": Field("list", "Further listeners.", default=[], elements=Field("dict", "One listener.", options=_LISTENER)),
    "connection": Field(
        "str",
        "How requests get to the endpoint picker. C(pool): routes lead to the InferencePool. C(ext_proc): routes lead to a Service, and the proxy is told by"
        " hand to ask the endpoint picker and to obey it (Envoy Gateway's policies, Istio's EnvoyFilter). Left out, what the provider does best.",
        choices=("pool", "ext_proc"),
    ),
    "pool_version": Field(
        "str",
        "Version of the InferencePool that the gateway reads. C(v1alpha2) for OpenShift 4.19 and 4.20.",
        default="v1",
        choices=("v1", "v1alpha2"),
    ),
    "picker_tls": Field("bool", "Whether the gateway asks the endpoint picker over TLS. Left out, what the provider does."),
    "openshift_route": Field("dict", "A Route in front of the gateway, on OpenShift only.", default={}, options=_OPENSHIFT_ROUTE),
    "destination_rule": Field("dict", "Traffic to the Services of models, with Istio or OpenShift and C(connection: ext_proc).", options=_DESTINATION_RULE),
}
