# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Provider standalone: an Envoy sidecar in the endpoint picker's pod, which calls it over the loopback and sends requests to the chosen server. Pure."""

from __future__ import annotations

import hashlib
import json

from ...common.objects import Facts
from ..parts.pod_spec import PROXY_READINESS, container_security
from ..parts.tracing import collector
from .gateway_policies import UNLIMITED, ext_proc_exchange

PORT, READY_PORT, ADMIN_PORT = 8081, 19001, 19000
PORTS = {"requests": PORT, "readiness of the proxy": READY_PORT, "administration of the proxy": ADMIN_PORT}
FOLDER, KEY = "/etc/envoy", "envoy.yaml"
VOLUME = "proxy-config"
_TYPE = "type.googleapis.com/envoy."
_FILTERS = f"{_TYPE}extensions.filters.http"
_HTTP = {"name": "envoy.filters.network.http_connection_manager"}
_NO_LIMIT = dict.fromkeys(("max_connections", "max_pending_requests", "max_requests"), UNLIMITED)


def sidecar(service: Facts, user: Facts, gateway: Facts, labels: Facts, selector: Facts, grpc_port: int) -> Facts | None:
    """The proxy of a service: its container, configuration and Service; None with any other provider."""
    if gateway["connection"] != "sidecar":
        return None
    name = f"{service['name']}-gateway"
    text = json.dumps(configuration(gateway["ext_proc"], grpc_port, name, collector(user)), indent=1, sort_keys=True) + "\n"
    listener = gateway["listener"]
    return {
        "name": name,
        "labels": labels,
        "selector": selector,
        "service_type": gateway["service_type"],
        "port": listener["port"],
        "port_name": listener["name"],
        "target_port": PORT,
        "config": text,
        "config_key": KEY,
        "checksum": hashlib.sha256(text.encode()).hexdigest(),
        "container": _container(user, gateway),
        "volume": {"name": VOLUME, "configMap": {"name": name}},
    }


def _container(user: Facts, gateway: Facts) -> Facts:
    """A native sidecar: it accepts requests until the endpoint picker has ended."""
    ready = {"httpGet": {"path": "/ready", "port": READY_PORT}}
    return {
        "name": "proxy",
        "image": gateway["proxy_image"],
        "imagePullPolicy": user["llm_d_image_pull_policy"],
        "restartPolicy": "Always",
        "args": ["--config-path", f"{FOLDER}/{KEY}", "--disable-hot-restart", "--log-level", "warn"],
        "ports": [{"name": "proxy", "containerPort": PORT}, {"name": "proxy-ready", "containerPort": READY_PORT}],
        "startupProbe": {**ready, "periodSeconds": 1, "failureThreshold": 60},
        "readinessProbe": {**ready, **PROXY_READINESS},
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": container_security(read_only=True),
        "volumeMounts": [{"name": VOLUME, "mountPath": FOLDER, "readOnly": True}],
    }


def configuration(ext_proc: Facts, grpc_port: int, name: str = "gateway", traced: Facts | None = None) -> Facts:
    """Envoy's bootstrap configuration. name: the service name of its spans; traced: their collector."""
    return {
        "admin": {"address": _address("127.0.0.1", ADMIN_PORT)},
        "static_resources": {
            "listeners": [_traffic(ext_proc, _tracing(name, traced) if traced else {}), _ready()],
            "clusters": [_servers(ext_proc["destination_header"]), _picker(grpc_port), _admin(), *([_collector(traced)] if traced else [])],
        },
    }


def _address(address: str, port: int) -> Facts:
    return {"socket_address": {"address": address, "port_value": port}}


def _listener(name: str, port: int, manager: Facts) -> Facts:
    typed = {"@type": f"{_TYPE}extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": name, **manager}
    return {"name": name, "address": _address("0.0.0.0", port), "filter_chains": [{"filters": [{**_HTTP, "typed_config": typed}]}]}


def _router() -> Facts:
    return {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{_FILTERS}.router.v3.Router"}}


def _traffic(ext_proc: Facts, tracing: Facts) -> Facts:
    header = ext_proc["destination_header"]
    route = {
        "match": {"prefix": "/"},
        "route": {"cluster": "servers", "timeout": "0s", "idle_timeout": "86400s", "upgrade_configs": [{"upgrade_type": "websocket"}]},
    }
    manager = {
        "codec_type": "AUTO",
        "use_remote_address": True,
        "normalize_path": True,
        "merge_slashes": True,
        "server_header_transformation": "PASS_THROUGH",
        "common_http_protocol_options": {"headers_with_underscores_action": "REJECT_REQUEST"},
        "http2_protocol_options": {"max_concurrent_streams": 100},
        "route_config": {"name": "all", "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
        # Clients cannot choose the server: their own value of the destination header is removed first.
        "http_filters": [_strip(header), _ext_proc(ext_proc), _router()],
        **tracing,
    }
    return {**_listener("traffic", PORT, manager), "per_connection_buffer_limit_bytes": 32768}


def _tracing(name: str, traced: Facts) -> Facts:
    """Envoy's own share (random_sampling) would override a traceparent: it stays at its default of 100 %, and the sampler decides."""
    share = {"numerator": traced["numerator"], "denominator": "TEN_THOUSAND"}
    sampler = _sampler(
        "parent_based", "ParentBased", {"wrapped_sampler": _sampler("trace_id_ratio_based", "TraceIdRatioBased", {"sampling_percentage": share})}
    )
    provider = {
        "@type": f"{_TYPE}config.trace.v3.OpenTelemetryConfig",
        "grpc_service": {"envoy_grpc": {"cluster_name": "collector"}},
        "service_name": name,
        "sampler": sampler,
    }
    return {"tracing": {"provider": {"name": "envoy.tracers.opentelemetry", "typed_config": provider}, "spawn_upstream_span": True}}


def _sampler(name: str, message: str, settings: Facts) -> Facts:
    kind = f"{_TYPE}extensions.tracers.opentelemetry.samplers.v3.{message}SamplerConfig"
    return {"name": f"envoy.tracers.opentelemetry.samplers.{name}", "typed_config": {"@type": kind, **settings}}


def _collector(traced: Facts) -> Facts:
    cluster = {**_static("collector", traced["port"], traced["host"]), "type": "STRICT_DNS", "connect_timeout": "1s"}
    return {**cluster, "typed_extension_protocol_options": _http2()}


def _strip(header: str) -> Facts:
    mutation = {"mutations": {"request_mutations": [{"remove": header}]}}
    typed = {"@type": f"{_FILTERS}.header_mutation.v3.HeaderMutation", **mutation}
    return {"name": "envoy.filters.http.header_mutation", "typed_config": typed}


def _ext_proc(ext_proc: Facts) -> Facts:
    return {
        "name": "envoy.filters.http.ext_proc",
        "typed_config": {
            "@type": f"{_FILTERS}.ext_proc.v3.ExternalProcessor",
            "grpc_service": {"envoy_grpc": {"cluster_name": "picker"}, "timeout": "10s"},
            "status_on_error": {"code": "ServiceUnavailable"},
            **ext_proc_exchange(ext_proc),
        },
    }


def _ready() -> Facts:
    """Health and statistics; the admin interface listens on the loopback only."""
    stats = {"match": {"prefix": "/stats/prometheus"}, "route": {"cluster": "admin"}}
    health = {
        "name": "envoy.filters.http.health_check",
        "typed_config": {
            "@type": f"{_FILTERS}.health_check.v3.HealthCheck",
            "pass_through_mode": False,
            "headers": [{"name": ":path", "string_match": {"exact": "/ready"}}],
        },
    }
    routes = {"name": "ready", "virtual_hosts": [{"name": "ready", "domains": ["*"], "routes": [stats]}]}
    return _listener("ready", READY_PORT, {"route_config": routes, "http_filters": [health, _router()]})


def _servers(header: str) -> Facts:
    """The address that the endpoint picker chose, from the destination header."""
    return {
        "name": "servers",
        "type": "ORIGINAL_DST",
        "lb_policy": "CLUSTER_PROVIDED",
        "connect_timeout": "10s",
        "original_dst_lb_config": {"use_http_header": True, "http_header_name": header},
        "circuit_breakers": {"thresholds": [_NO_LIMIT]},
    }


def _picker(port: int) -> Facts:
    return {
        **_static("picker", port),
        "connect_timeout": "10s",
        "lb_policy": "LEAST_REQUEST",
        "circuit_breakers": {"thresholds": [_NO_LIMIT]},
        "typed_extension_protocol_options": _http2(),
    }


def _http2() -> Facts:
    options = {"@type": f"{_TYPE}extensions.upstreams.http.v3.HttpProtocolOptions", "explicit_http_config": {"http2_protocol_options": {}}}
    return {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options}


def _admin() -> Facts:
    return {**_static("admin", ADMIN_PORT), "connect_timeout": "1s"}


def _static(name: str, port: int, address: str = "127.0.0.1") -> Facts:
    endpoint = {"endpoint": {"address": _address(address, port)}}
    return {"name": name, "type": "STATIC", "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]}}
