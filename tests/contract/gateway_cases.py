"""User's files for every gateway provider, and the objects that the roles render from them."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render

Facts = dict[str, t.Any]
ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = (
    "roles/gateway_provider/templates/gateway.yml.j2",
    "roles/gaie_scheduler/templates/scheduler.yml.j2",
    "roles/model_service/templates/servers.yml.j2",
)
CHARTS = {key: f"/charts/{key}" for key in VARIABLES["llm_d_charts"].options or {}}
SERVICES = [
    {"name": "llama", "model": {"uri": "hf://meta-llama/Llama-3.1-8B-Instruct"}, "route": {"path": "/llama", "hostnames": ["chat.example.com"]}},
    {"name": "sim", "model": {"served_name": "llm-d/simulated-8b"}, "engine": {"type": "simulator"}, "route": {"path": "/sim", "timeouts": {"request": "90s"}}},
]
SHARED = [
    {**SERVICES[1], "route": {"path": "/sim", "weights": {"sim": 90, "next": 10}}},
    {**SERVICES[1], "name": "next", "route": {"path": "/sim", "headers": {"x-variant": "next"}}},
]
_TLS = {"protocol": "HTTPS", "name": "https", "port": 443, "tls_secret": "tls", "tls_secret_namespace": "certificates"}
_APART = {"namespace": "gateways", "routes_namespace": "routes"}
_PATCHED = {"pod": {"nodeSelector": {"pool": "edge"}, "labels": {"a": "b"}}, "container": {"resources": {"limits": {"memory": "3Gi"}}}}

# name of the case: (llm_d_gateway, other variables)
CASES: dict[str, tuple[Facts, Facts]] = {
    "envoy_gateway": ({"provider": "envoy_gateway"}, {}),
    "envoy_gateway traced": ({"provider": "envoy_gateway"}, {"llm_d_tracing": {"endpoint": "otel-collector.monitoring:4317"}}),
    "envoy_gateway apart": ({"provider": "envoy_gateway", "listener": _TLS, **_APART}, {}),
    "envoy_ai_gateway": ({"provider": "envoy_ai_gateway"}, {}),
    "envoy_ai_gateway with credentials": ({"provider": "envoy_ai_gateway", "service_type": "ClusterIP"}, {"llm_d_image_pull_secrets": ["mirror"]}),
    **{f"{name} patched": ({"provider": name, **_PATCHED}, {}) for name in ("envoy_gateway", "istio", "agentgateway", "kgateway")},
    "istio": ({"provider": "istio"}, {}),
    "istio apart": ({"provider": "istio", "service_type": "NodePort", "listeners": [_TLS], **_APART}, {}),
    "istio adopted": ({"provider": "istio", "install": False, "picker_tls": False}, {}),
    "istio by hand": (
        {"provider": "istio", "connection": "ext_proc", "service_type": "ClusterIP", "traffic": {"session_header": "x-session-id", "max_requests": 9}},
        {},
    ),
    "istio by hand, apart": (
        {"provider": "istio", "connection": "ext_proc", "listeners": [_TLS], "traffic": {"load_balancing": "ROUND_ROBIN"}, **_APART},
        {},
    ),
    "agentgateway": ({"provider": "agentgateway"}, {}),
    "agentgateway with credentials": ({"provider": "agentgateway"}, {"llm_d_image_pull_secrets": ["mirror"]}),
    "envoy_gateway with credentials": ({"provider": "envoy_gateway"}, {"llm_d_image_pull_secrets": ["mirror"]}),
    "agentgateway inside": ({"provider": "agentgateway", "service_type": "ClusterIP"}, {}),
    "kgateway": ({"provider": "kgateway", "service_type": "ClusterIP"}, {}),
    "kgateway envoy": ({"provider": "kgateway", "class_name": "kgateway", "service_type": "NodePort"}, {}),
    "kgateway mirrored": (
        {"provider": "kgateway"},
        {"llm_d_image_registry": "mirror:5000", "llm_d_image_pull_secrets": ["mirror"], "llm_d_images": {"proxy": "mirror:5000/agentgateway:v0.11.2"}},
    ),
    "kgateway envoy mirrored": (
        {"provider": "kgateway", "class_name": "kgateway"},
        {"llm_d_image_registry": "mirror:5000/all", "llm_d_image_pull_secrets": ["mirror"]},
    ),
    "limited": ({"provider": "envoy_gateway", "traffic": {"session_cookie": "chat", "max_connections": 8, "max_requests": 9}}, {}),
    "aliases": (
        {"provider": "envoy_gateway"},
        {
            "llm_d_release": "scheduler-0.7",
            "llm_d_model_services": [{**SERVICES[1], "model": {"served_name": "base", "aliases": {"chat": {"base": 90, "next": 10}}}}],
        },
    ),
    "weights": ({"provider": "envoy_gateway"}, {"llm_d_model_services": SHARED}),
    "weights apart": ({"provider": "istio", "listeners": [_TLS], **_APART}, {"llm_d_model_services": SHARED}),
    "weights of pools": ({"provider": "agentgateway"}, {"llm_d_model_services": SHARED}),
    "issued": (
        {
            "provider": "envoy_gateway",
            "certificate_issuer": {"name": "letsencrypt"},
            "listener": {"protocol": "HTTPS", "hostname": "chat.example.com", "port": 443},
        },
        {},
    ),
    "gke": ({"provider": "gke"}, {"llm_d_platform": "gke"}),
    "gke inside": ({"provider": "gke", "class_name": "gke-l7-rilb"}, {"llm_d_platform": "gke"}),
    "openshift": (
        {"provider": "openshift", "service_type": "ClusterIP", "openshift_route": {"enabled": True, "hostname": "llm.apps.example.com"}},
        {"llm_d_platform": "openshift", "llm_d_run_as_user": 0},
    ),
    "openshift 4.20": ({"provider": "openshift", "pool_version": "v1alpha2"}, {"llm_d_platform": "openshift", "llm_d_release": "scheduler-0.7"}),
    "openshift https": (
        {"provider": "openshift", "service_type": "ClusterIP", "listener": {**_TLS, "tls_secret_namespace": None}, "openshift_route": {"enabled": True}},
        {"llm_d_platform": "openshift"},
    ),
    "none": ({"provider": "none", "name": "shared", "namespace": "infra"}, {}),
    "namespace only": ({"provider": "agentgateway", "install": False}, {"llm_d_scope": "namespace"}),
}
STANDALONE: dict[str, tuple[Facts, Facts]] = {
    "standalone": ({"provider": "standalone", "service_type": "ClusterIP"}, {"llm_d_release": "scheduler-0.7"}),
    "standalone without pools": ({"provider": "standalone"}, {"llm_d_release": "router-0.10"}),
    "standalone traced": (
        {"provider": "standalone"},
        {"llm_d_release": "scheduler-0.7", "llm_d_tracing": {"endpoint": "http://otel-collector.monitoring:4317", "sampling": 0.5}},
    ),
}


def file_of(gateway: Facts, variables: Facts) -> Facts:
    """A user's file."""
    services = copy.deepcopy(SERVICES)
    if gateway["provider"] == "standalone":
        for service in services:
            del service["route"]
    return {"llm_d_gateway": gateway, "llm_d_charts": CHARTS, "llm_d_model_services": services, **variables}


def objects(planned: Facts) -> list[Facts]:
    """All objects of a plan, in order."""
    return [item for template in TEMPLATES for item in render(ROOT / template, planned)]


def case(name: str) -> tuple[Facts, list[Facts]]:
    """(plan, objects) of a case."""
    planned = plan(file_of(*{**CASES, **STANDALONE}[name]))
    return planned, objects(planned)
