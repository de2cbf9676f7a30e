# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patterns of failures in HTTP responses of gateways, endpoint pickers and servers. Data only; patterns are as in failure_logs.

In each table the first row that matches wins: messages with a cause come before Envoy's messages about any connection, and these before bare statuses.
"""

from __future__ import annotations

_SELECT = "check that pods of the pool are ready, and that the selectors and ports of pool and Service match them"
_QUEUE = "add replicas, or raise the thresholds of saturation, the limits of the queue or the priority of the request"
# The header with which endpoint pickers of router lines from 0.9 on give the reason for dropping a request, and its values in router 0.10:
# code, what it means, remedy. https://github.com/llm-d/llm-d-router/blob/v0.10.0/pkg/common/error/error.go
DROPPED = "x-llm-d-request-dropped-reason"
REASONS = {
    "rejected-saturated": ("F25", "the endpoint picker dropped the request, since its servers are saturated or its queue is full", _QUEUE),
    "rejected-no-endpoints": ("F21", "the endpoint picker has no server for the request", f"{_SELECT}; a pool that is scaled to zero needs an autoscaler"),
    "rejected-ttl-expired": (
        "F25",
        "the request waited in the endpoint picker's queue for as long as it may",
        "add replicas, or raise the time that requests may wait (defaultRequestTTL of flowControl)",
    ),
    "rejected-context-cancelled": (
        "hung",
        "the client, or the gateway, gave up while the request waited in the endpoint picker's queue",
        "add replicas, or raise the time-outs of the client and of the gateway's route",
    ),
    "rejected-shutting-down": ("F21", "the endpoint picker was ending", "send it again; if it stays so, look at the restarts of the endpoint picker"),
    "evicted-queue-pressure": ("F25", "the endpoint picker ended the request at its server, since the queue was too long", _QUEUE),
    "evicted-priority": ("F25", "the endpoint picker ended the request at its server, for one of a higher priority", _QUEUE),
    "rejected": ("F25", "the endpoint picker dropped the request before it reached a server", "look at the endpoint picker's log, which says why"),
    "evicted": ("F25", "the endpoint picker ended the request at its server, for others of a higher priority", _QUEUE),
}

# pattern in the body, code, what it means, remedy: of components in front of servers
GATEWAYS = (
    (
        (r"ext_proc_error_timeout|message_timeout", r"ext_?proc ... (?:time-?out|timed out|deadline)"),
        "hung",
        "the endpoint picker does not answer the gateway in time",
        "look at its CPU limit, its restarts and its log; raise the gateway's time-out for it",
    ),
    (
        r"ext_?proc|ext-proc",
        "F11",
        "the gateway cannot talk to the endpoint picker",
        "check that the picker is ready and that its Service exists, and let both sides agree on TLS",
    ),
    (
        r"no healthy upstream|no healthy (?:backend|endpoint)|no endpoints? (?:are )?available|find endpoint candidates|eliminated all endpoint",
        "F21",
        "the gateway has no ready server behind this route",
        _SELECT,
    ),
    (
        (r"no valid backends|backends? does not exist"),
        "absent",
        "the backend of the route is not there, or is not one that the gateway takes",
        "look at the conditions of the HTTPRoute (ResolvedRefs), and create the pool or Service that it names",
    ),
    (
        r"(?:route|listener|bind) not found|default backend - 404",
        "F23",
        "no route matches the request's host, path or headers",
        "correct the route's path and host names, or the address",
    ),
    (
        r"Application is not available",
        "F23",
        "OpenShift's router has no Route for this host, or no ready pod behind it",
        "check the host name, the Route, and that the Service of the gateway has ready pods",
    ),
    (
        r"upstream connect error ... TLS_error|WRONG_VERSION_NUMBER|CERTIFICATE_VERIFY_FAILED",
        "F11",
        "the gateway and the pods do not agree on TLS",
        "let the gateway speak plain HTTP to pods that serve it, or give it their CA: DestinationRule, PeerAuthentication, BackendTLSPolicy",
    ),
    (
        r"upstream connect error ... reset reason: overflow",
        "F25",
        "the gateway's circuit breaker is open: it has as many connections or requests as it may",
        "raise the limits (BackendTrafficPolicy, or connectionPool of the DestinationRule), or add replicas",
    ),
    (
        r"upstream connect error ... connection timeout",
        "F22",
        "the pods cannot be reached: connections of the gateway time out",
        "check NetworkPolicies between gateway and pods, and the network between their nodes",
    ),
    (
        r"upstream connect error ... protocol error",
        "F22",
        "the pods do not speak the protocol that the gateway uses",
        "let the pool's or the Service's appProtocol be that of the server (vLLM: HTTP/1.1), and check that the port is its port",
    ),
    (
        r"upstream connect error ... connection termination|(?:remote|local) reset",
        "F22",
        "a server, or its sidecar, ended the connection",
        "look at the restarts and the log of the server: it ended, or drains for less time than its answers take",
    ),
    (
        r"upstream connect error|upstream call failed",
        "F22",
        "the pods do not listen on the port that the gateway dials",
        "compare the pool's targetPorts with the server's port",
    ),
    (
        r"local_rate_limited|rate limit exceeded",
        "F25",
        "a rate limit of the gateway refuses the request",
        "raise the limit of its policy, or send fewer requests",
    ),
    (
        r"RBAC: access denied",
        "key",
        "a policy of the gateway, or of the mesh, refuses this client",
        "look at AuthorizationPolicies and SecurityPolicies that select the gateway or the pods; where one asks for an API key, send it",
    ),
    (
        r"\bJwt (?:is|verification|issuer|header|audience)|\bJwks ",
        "key",
        "the gateway wants another JSON Web Token",
        "send one of the issuer that its RequestAuthentication or SecurityPolicy names",
    ),
    (r"request evicted by flow control", *REASONS["evicted"]),
    (r"request timed out in queue", *REASONS["rejected-ttl-expired"]),
    (r"ServiceUnavailable - client disconnected", *REASONS["rejected-context-cancelled"]),
    (r"flow controller shutting down", *REASONS["rejected-shutting-down"]),
)

# status or None for any, pattern in the body, code, what it means, remedy
RESPONSES = (
    *((None, *row) for row in GATEWAYS),
    (None, r"model not found in request body", "F24", "the endpoint picker found no model in the request", "send `model` with a prompt or messages"),
    (None, r"EngineDead|EngineCore encountered", "V10", "the engine of the server has died", "read the first error in its log, then restart it"),
    (None, r"\bmodel ... does not exist|model_not_found", "F24", "this model is not served there", "ask for a model that /v1/models lists"),
    (
        404,
        r"fault filter abort",
        "F23",
        "no route of the load balancer matches, or it is not programmed yet",
        "wait some minutes; then correct the route's path and host names, or the address",
    ),
    (
        None,
        r"fault filter abort",
        "fault",
        "the gateway ends the request itself, before any server",
        "on GKE, turn on the project's Network Services API, through which the load balancer asks the endpoint picker (gcloud services enable"
        " networkservices.googleapis.com), and wait some minutes; elsewhere take the fault out of the route, its policy or its VirtualService",
    ),
    (
        401,
        r"",
        "key",
        "the API key is missing or wrong",
        "send the key that the server was started with; of your file: llm_d_api_key, or the Secret of model.api_key",
    ),
    (403, r"", "key", "this client is refused", "check the API key, and the rules of the proxy in front"),
    (429, r"", "F25", "requests are shed: a queue is full or the picker drops them", "raise priority, thresholds or replicas"),
    (404, r"", "F23", "no route matches the request's host, path or headers", "correct the route's path and host names, or the address"),
    (502, r"", "F22", "the gateway could not talk to a server", "look at the server's log, its restarts and its port"),
    (503, r"", "F21", "the gateway has no server, or no endpoint picker, for this request", "look at the pods of the pool and of its endpoint picker"),
    (504, r"", "hung", "a server did not answer in time", "look at its load and its log; raise the route's timeout"),
    (500, r"", "answer", "the request failed inside a server or the endpoint picker", "look at the logs of both"),
)
