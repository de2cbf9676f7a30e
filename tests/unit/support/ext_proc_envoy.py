# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Envoy on loopback that calls an endpoint picker by external processing, and routes requests to the picked endpoint."""

from __future__ import annotations

import contextlib
import glob
import json
import typing as t
from collections.abc import Iterator
from pathlib import Path

from local_servers import port_for_a_program
from own_api_server import program

ENVOYS = glob.glob("/var/cache/llm-d-local/python/lib/python3*/site-packages/envoy/_bin/envoy")
_TYPE = "type.googleapis.com/envoy.extensions"


def _cluster(name: str, address: str, **options: t.Any) -> dict[str, t.Any]:
    host, _colon, port = address.rpartition(":")
    endpoint = {"endpoint": {"address": {"socket_address": {"address": host, "port_value": int(port)}}}}
    return {"name": name, "type": "STATIC", "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]}, **options}


def bootstrap(port: int, picker: str, fallback: str, fail_open: bool, tls: bool) -> dict[str, t.Any]:
    """The configuration of Envoy. picker: ip:port of the endpoint picker; fallback: ip:port for requests without a picked endpoint, with fail_open."""
    mode = {
        "request_header_mode": "SEND",
        "response_header_mode": "SEND",
        "request_body_mode": "FULL_DUPLEX_STREAMED",
        "response_body_mode": "FULL_DUPLEX_STREAMED",
        "request_trailer_mode": "SEND",
        "response_trailer_mode": "SEND",
    }
    ext_proc = {
        "@type": f"{_TYPE}.filters.http.ext_proc.v3.ExternalProcessor",
        "grpc_service": {"envoy_grpc": {"cluster_name": "picker"}, "timeout": "5s"},
        "processing_mode": mode,
        "message_timeout": "5s",
        "failure_mode_allow": fail_open,
    }
    named = {"prefix": "/", "headers": [{"name": "x-gateway-destination-endpoint", "present_match": True}]}
    routes = [{"match": named, "route": {"cluster": "named", "timeout": "30s"}}, {"match": {"prefix": "/"}, "route": {"cluster": "fallback"}}]
    manager = {
        "@type": f"{_TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "test",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": [
            {"name": "ext_proc", "typed_config": ext_proc},
            {"name": "router", "typed_config": {"@type": f"{_TYPE}.filters.http.router.v3.Router"}},
        ],
    }
    listener = {
        "name": "test",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    }
    http2 = {"@type": f"{_TYPE}.upstreams.http.v3.HttpProtocolOptions", "explicit_http_config": {"http2_protocol_options": {}}}
    options: dict[str, t.Any] = {"typed_extension_protocol_options": {f"{_TYPE.partition('/')[2]}.upstreams.http.v3.HttpProtocolOptions": http2}}
    if tls:  # as gateways do: the certificate is not verified
        context = {"@type": f"{_TYPE}.transport_sockets.tls.v3.UpstreamTlsContext"}
        options["transport_socket"] = {"name": "envoy.transport_sockets.tls", "typed_config": context}
    # Without a health check, a request fails open or gets 500, depending on whether Envoy has sent part of its body when the connection to the picker fails.
    check = {"timeout": "1s", "interval": "0.1s", "no_traffic_interval": "0.1s", "unhealthy_threshold": 1, "healthy_threshold": 1, "tcp_health_check": {}}
    options |= {"health_checks": [check], "common_lb_config": {"healthy_panic_threshold": {"value": 0}}}
    original = {
        "name": "named",
        "type": "ORIGINAL_DST",
        "lb_policy": "CLUSTER_PROVIDED",
        "connect_timeout": "1s",
        "original_dst_lb_config": {"use_http_header": True, "http_header_name": "x-gateway-destination-endpoint"},
    }
    return {"static_resources": {"listeners": [listener], "clusters": [original, _cluster("picker", picker, **options), _cluster("fallback", fallback)]}}


@contextlib.contextmanager
def envoy(folder: Path, picker: str, fallback: str, fail_open: bool = False, tls: bool = True) -> Iterator[str]:
    """Runs Envoy; gives its URL."""
    port = port_for_a_program()
    path = folder / f"envoy-{port}.json"
    path.write_text(json.dumps(bootstrap(port, picker, fallback, fail_open, tls)), encoding="utf-8")
    with program(folder, str(port), ENVOYS[0], "-c", str(path), "--use-dynamic-base-id", "--concurrency", "1", "--disable-hot-restart"):
        yield f"http://127.0.0.1:{port}"
