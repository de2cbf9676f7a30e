# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies of a gateway provider for one service, by which its proxy calls the endpoint picker and follows its choice. Pure."""

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
_FALLBACKS = {
    "LEAST_REQUEST": ("least_request", "LeastRequest"),
    "ROUND_ROBIN": ("round_robin", "RoundRobin"),
    "RANDOM": ("random", "Random"),
    "SESSION": ("ring_hash", "RingHash"),
}
_ENVOY_GATEWAY_BALANCERS = {"LEAST_REQUEST": "LeastRequest", "ROUND_ROBIN": "RoundRobin", "RANDOM": "Random"}
MANY = 40000  # connections or requests: no limit in practice
_POLICIES = "type.googleapis.com/envoy.extensions.load_balancing_policies"
_EXT_PROC = "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3"


def service_policies(service: Facts, user: Facts, gateway: Facts, failure_mode: str, labels: Facts) -> Facts:
    """{rules: DestinationRules, filter: EnvoyFilter or None, traffic: what _backend_traffic returns or None, gke: policies or None}."""
    rules, kind = [], GATEWAY_PROVIDERS[gateway["provider"]]["traffic"]
    if kind == "destination_rule":
        rules = _tls_rule(service, user, gateway, labels) + _service_rule(service, user, gateway, labels)
    filtered = gateway["connection"] == "ext_proc" and gateway["provider"] in ("istio", "openshift")
    return {
        "rules": rules,
        "filter": _filter(service, user, gateway, failure_mode, labels) if filtered else None,
        "traffic": _backend_traffic(gateway) if kind == "backend_traffic_policy" else None,
        "gke": _gke(service, gateway) if gateway["provider"] == "gke" else None,
    }


def seconds(duration: str) -> int:
    """A Gateway API duration in whole seconds, rounded up."""
    total = sum(float(number) * _SECONDS[unit] for number, unit in re.findall(r"([0-9]+)(ms|[hms])", duration))
    return -(-int(total * 1000) // 1000)


def _tls_rule(service: Facts, user: Facts, gateway: Facts, labels: Facts) -> list[Facts]:
    """TLS to the endpoint picker without verification: its certificate is self-signed."""
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
    """{loadBalancer, circuitBreaker} of a BackendTrafficPolicy: the choice of the endpoint picker, else the policy of the file; and {picker}, the settings
    of the connection to the endpoint picker, which has a stream for each in-flight request.

    Envoy rejects requests beyond the limits of a cluster. Its default of 1024 is less than the in-flight requests of a few servers.
    """
    traffic = gateway["traffic"] or {}
    balancer: Facts = {"type": _ENVOY_GATEWAY_BALANCERS[traffic.get("load_balancing") or "LEAST_REQUEST"]}
    if traffic.get("session_cookie"):
        balancer = {"type": "ConsistentHash", "consistentHash": {"type": "Cookie", "cookie": {"name": traffic["session_cookie"]}}}
    elif traffic.get("session_header"):
        balancer = {"type": "ConsistentHash", "consistentHash": {"type": "Headers", "headers": [{"name": traffic["session_header"]}]}}
    requests = traffic.get("max_requests") or MANY

    def limits(connections: int, parallel: int) -> Facts:
        return {"maxConnections": connections, "maxParallelRequests": parallel, "maxPendingRequests": parallel}

    return {
        "picker": {"circuitBreaker": limits(MANY, MANY)},
        "loadBalancer": {**balancer, "endpointOverride": {"extractFrom": [{"header": gateway["ext_proc"]["destination_header"]}]}},
        "circuitBreaker": limits(traffic.get("max_connections") or MANY, requests),
    }


def _filter(service: Facts, user: Facts, gateway: Facts, failure_mode: str, labels: Facts) -> Facts:
    """An EnvoyFilter of three patches: the ext_proc filter, its activation on the service's route only, and a load-balancing policy that follows the choice.

    The filter is disabled until a route enables it: one gateway serves several endpoint pickers. The choice is read from the endpoint picker's
    metadata, which clients cannot write, and is limited to the addresses of the Service, so that the gateway is no open proxy.
    """
    home, name = user["llm_d_namespace"], f"{service['name']}-epp"
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
            "typed_config": processor(f"{picker_name(service, gateway)}.{scheduler_namespace(user)}", service["scheduler"]["grpc_port"], gateway, failure_mode),
        },
        "route": f"{gateway['routes_namespace']}.{route_name(service, gateway['routes_suffix'])}.0",
        "per_route": {filter_name: {"@type": f"{_EXT_PROC}.ExtProcPerRoute", "overrides": {}}},
        "service": f"{front(service)['name']}.{home}.{DOMAIN}",
        "port": front(service)["port"],
        "load_balancing": override_host(gateway["ext_proc"]["destination_header"], fallback),
    }


def processor(picker: str, port: int, gateway: Facts, failure_mode: str) -> Facts:
    """The configuration of Envoy's ext_proc filter; `picker` is NAME.NAMESPACE of the endpoint picker's Service."""
    return {
        "@type": f"{_EXT_PROC}.ExternalProcessor",
        "grpc_service": {"envoy_grpc": {"cluster_name": f"outbound|{port}||{picker}.{DOMAIN}"}, "timeout": "10s"},
        "failure_mode_allow": failure_mode == "FailOpen",
        **exchange(gateway["ext_proc"]),
    }


def exchange(ext_proc: Facts) -> Facts:
    """The part of that configuration for the parts of requests and responses that the endpoint picker receives, and for its choice. ext_proc: of the plan."""
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
    """A load-balancing policy that selects the server named in the metadata if the cluster has it, else by the fallback policy."""
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
    limit = seconds(service["route"]["timeouts"]["request"])
    return {
        "health_path": ENGINE_DEFAULTS[service["engine"]["type"]]["health"],
        "health_port": service["engine"]["port"],
        "period": 2,
        "check_timeout": 2,
        "timeout": limit or GKE_TIMEOUT,
    }
