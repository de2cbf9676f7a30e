# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of a gateway provider for one service, by which its proxy calls the endpoint picker, and sends requests to the server that this chooses. Pure."""

from __future__ import annotations

import re

from ...common.objects import Facts
from ...releases.deployed import ENGINE_DEFAULTS
from ...releases.gateways import GATEWAY_PROVIDERS
from ..parts.names import picker_name, scheduler_namespace
from ..parts.pod_spec import front, labels_in
from .sharing import route_name

DOMAIN = "svc.cluster.local"
GKE_TIMEOUT = 300  # seconds, the value of llm-d's charts
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
# By load_balancing of the file, or SESSION: (name, message) of Envoy's policy that selects a server where the endpoint picker has chosen none.
_FALLBACKS = {
    "LEAST_REQUEST": ("least_request", "LeastRequest"),
    "ROUND_ROBIN": ("round_robin", "RoundRobin"),
    "RANDOM": ("random", "Random"),
    "SESSION": ("ring_hash", "RingHash"),
}
_ENVOY_GATEWAY_BALANCERS = {"LEAST_REQUEST": "LeastRequest", "ROUND_ROBIN": "RoundRobin", "RANDOM": "Random"}
UNLIMITED = 40000  # connections or requests: no limit in practice
_POLICIES = "type.googleapis.com/envoy.extensions.load_balancing_policies"
_EXT_PROC = "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3"


def service_policies(service: Facts, user: Facts, gateway: Facts, failure_mode: str, labels: Facts) -> Facts:
    """{rules: DestinationRules of Istio, filter: its EnvoyFilter or None, traffic: see `_backend_traffic`, or None, gke: see `_gke`, or None}.

    gateway: of the plan; failure_mode: FailOpen or FailClose, of the InferencePool; labels: of our objects.
    """
    rules, policy_kind = [], GATEWAY_PROVIDERS[gateway["provider"]]["traffic"]
    if policy_kind == "destination_rule":
        rules = _tls_rule(service, user, gateway, labels) + _service_rule(service, user, gateway, labels)
    with_filter = gateway["connection"] == "ext_proc" and gateway["provider"] in ("istio", "openshift")
    return {
        "rules": rules,
        "filter": _envoy_filter(service, user, gateway, failure_mode, labels) if with_filter else None,
        "traffic": _backend_traffic(gateway) if policy_kind == "backend_traffic_policy" else None,
        "gke": _gke(service, gateway) if gateway["provider"] == "gke" else None,
    }


def seconds(duration: str) -> int:
    """A Gateway API duration in whole seconds, rounded up."""
    total = sum(float(number) * _SECONDS[unit] for number, unit in re.findall(r"([0-9]+)(ms|[hms])", duration))
    return -(-round(total * 1000) // 1000)


def _tls_rule(service: Facts, user: Facts, gateway: Facts, labels: Facts) -> list[Facts]:
    """A rule for TLS to the endpoint picker without verification: its certificate is self-signed."""
    if not gateway["secure_ext_proc"]:
        return []
    name = picker_name(service, gateway)
    return [
        {
            "name": name,
            "namespace": scheduler_namespace(user),
            "labels": labels_in(scheduler_namespace(user), user["llm_d_namespace"], labels),
            "host": f"{name}.{scheduler_namespace(user)}.{DOMAIN}",
            "policy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
        }
    ]


def _service_rule(service: Facts, user: Facts, gateway: Facts, labels: Facts) -> list[Facts]:
    """A rule for requests to the servers, with the load balancing and the limits of the file; none without them."""
    traffic = gateway["traffic"]
    if not traffic:
        return []
    balancer: Facts = {"simple": traffic["load_balancing"]}
    if traffic["session_cookie"]:
        balancer = {"consistentHash": {"httpCookie": {"name": traffic["session_cookie"], "ttl": "0s"}}}
    elif traffic["session_header"]:
        balancer = {"consistentHash": {"httpHeaderName": traffic["session_header"]}}
    policy: Facts = {"loadBalancer": balancer}
    pool: Facts = {}
    if traffic["max_connections"]:
        pool["tcp"] = {"maxConnections": traffic["max_connections"]}
    if traffic["max_requests"]:
        pool["http"] = {"http2MaxRequests": traffic["max_requests"]}
    if pool:
        policy["connectionPool"] = pool
    home = user["llm_d_namespace"]
    return [{"name": service["name"], "namespace": home, "labels": labels, "host": f"{front(service)['name']}.{home}.{DOMAIN}", "policy": policy}]


def _backend_traffic(gateway: Facts) -> Facts:
    """{loadBalancer, circuitBreaker: of Envoy Gateway's BackendTrafficPolicy, picker: backendSettings of its connection to the endpoint picker}.

    The load balancer selects the server that the endpoint picker has chosen, else one by the load balancing of the file. The connection to the endpoint picker
    has a stream for each in-flight request. Envoy rejects requests beyond the limits of a cluster: its default of 1024 is less than the in-flight requests of a
    few servers.
    """
    traffic = gateway["traffic"] or {}
    balancer: Facts = {"type": _ENVOY_GATEWAY_BALANCERS[traffic.get("load_balancing") or "LEAST_REQUEST"]}
    if traffic.get("session_cookie"):
        balancer = {"type": "ConsistentHash", "consistentHash": {"type": "Cookie", "cookie": {"name": traffic["session_cookie"]}}}
    elif traffic.get("session_header"):
        balancer = {"type": "ConsistentHash", "consistentHash": {"type": "Headers", "headers": [{"name": traffic["session_header"]}]}}
    requests = traffic.get("max_requests") or UNLIMITED

    def limits(connections: int, parallel: int) -> Facts:
        return {"maxConnections": connections, "maxParallelRequests": parallel, "maxPendingRequests": parallel}

    return {
        "picker": {"circuitBreaker": limits(UNLIMITED, UNLIMITED)},
        "loadBalancer": {**balancer, "endpointOverride": {"extractFrom": [{"header": gateway["ext_proc"]["destination_header"]}]}},
        "circuitBreaker": limits(traffic.get("max_connections") or UNLIMITED, requests),
    }


def _envoy_filter(service: Facts, user: Facts, gateway: Facts, failure_mode: str, labels: Facts) -> Facts:
    """An EnvoyFilter of three patches: the ext_proc filter, its activation on the service's route only, and a load-balancing policy.

    The filter is disabled until a route enables it: one gateway serves several endpoint pickers. The policy reads the chosen server from the endpoint picker's
    metadata, which clients cannot write, and takes only addresses of the Service, so that the gateway is no open proxy.
    """
    home, name = user["llm_d_namespace"], f"{service['name']}-epp"
    picker = f"{picker_name(service, gateway)}.{scheduler_namespace(user)}"
    filter_name = f"llm-d.ext-proc.{home}.{service['name']}"
    traffic = gateway["traffic"] or {}
    fallback = "SESSION" if traffic.get("session_cookie") or traffic.get("session_header") else traffic.get("load_balancing") or "LEAST_REQUEST"
    return {
        "name": name if gateway["namespace"] == home else f"{home}-{name}",
        "namespace": gateway["namespace"],
        "labels": labels_in(gateway["namespace"], home, labels),
        "workload": {"gateway.networking.k8s.io/gateway-name": gateway["name"]},
        "http_filter": {
            "name": filter_name,
            "disabled": True,
            "typed_config": ext_proc_config(picker, service["scheduler"]["grpc_port"], gateway, failure_mode),
        },
        # The name that Istio gives to the first rule of an HTTPRoute.
        "route": f"{gateway['routes_namespace']}.{route_name(service, gateway['routes_suffix'])}.0",
        "per_route": {filter_name: {"@type": f"{_EXT_PROC}.ExtProcPerRoute", "overrides": {}}},
        "service": f"{front(service)['name']}.{home}.{DOMAIN}",
        "port": front(service)["port"],
        "load_balancing": override_host(gateway["ext_proc"]["destination_header"], fallback),
    }


def ext_proc_config(picker: str, port: int, gateway: Facts, failure_mode: str) -> Facts:
    """The configuration of Envoy's ext_proc filter. picker: NAME.NAMESPACE of the endpoint picker's Service; port: of its gRPC server."""
    return {
        "@type": f"{_EXT_PROC}.ExternalProcessor",
        "grpc_service": {"envoy_grpc": {"cluster_name": f"outbound|{port}||{picker}.{DOMAIN}"}, "timeout": "10s"},
        "failure_mode_allow": failure_mode == "FailOpen",
        **ext_proc_exchange(gateway["ext_proc"]),
    }


def ext_proc_exchange(ext_proc: Facts) -> Facts:
    """What the proxy and the endpoint picker exchange, as fields of the ext_proc filter: parts of requests and responses, and the metadata with the choice.

    ext_proc: of the gateway in the plan.
    """
    body = ext_proc["body_mode"]
    return {
        "message_timeout": ext_proc["message_timeout"],
        "processing_mode": {
            "request_header_mode": "SEND",
            "response_header_mode": "SEND",
            "request_body_mode": body,
            "response_body_mode": body,
            "request_trailer_mode": "SEND",
            "response_trailer_mode": "SEND",
        },
        "metadata_options": {"forwarding_namespaces": {"untyped": ["envoy.lb"]}, "receiving_namespaces": {"untyped": ["envoy.lb"]}},
    }


def override_host(key: str, fallback: str) -> Facts:
    """A load-balancing policy that selects the server named in the metadata if the cluster has it, else by the fallback policy.

    key: of the server in the metadata `envoy.lb`; fallback: a key of _FALLBACKS.
    """
    name, message = _FALLBACKS[fallback]
    return {
        "policies": [
            {
                "typed_extension_config": {
                    "name": "envoy.load_balancing_policies.override_host",
                    "typed_config": {
                        "@type": f"{_POLICIES}.override_host.v3.OverrideHost",
                        "override_host_sources": [{"metadata": {"key": "envoy.lb", "path": [{"key": key}]}}],
                        "fallback_policy": {
                            "policies": [
                                {
                                    "typed_extension_config": {
                                        "name": f"envoy.load_balancing_policies.{name}",
                                        "typed_config": {"@type": f"{_POLICIES}.{name}.v3.{message}"},
                                    }
                                }
                            ]
                        },
                    },
                }
            }
        ]
    }


def _gke(service: Facts, gateway: Facts) -> Facts:
    """Values of GKE's policies: of the health check of the servers, and of the time limit of requests. Times in seconds."""
    limit = seconds(service["route"]["timeouts"]["request"])
    return {
        "health_path": ENGINE_DEFAULTS[service["engine"]["type"]]["health"],
        "health_port": service["engine"]["port"],
        "period": 2,
        "check_timeout": 2,
        "timeout": limit or GKE_TIMEOUT,
    }
