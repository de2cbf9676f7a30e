"""Listeners with ports, protocols, certificates and host names of the user: the Gateway of every provider passes the real CRD."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS
from ansible_collections.llm_d.inference.plugins.module_utils.validation.targets import services as targets_of

from . import definitions_of_others as others
from .gateway_cases import file_of, objects

Facts = dict[str, t.Any]
PROVIDERS = [name for name, facts in GATEWAY_PROVIDERS.items() if facts["gateway_api"] and name != "none"]
LISTENERS: Facts = {
    "listener": {"name": "secure", "port": 8443, "protocol": "HTTPS", "hostname": "*.example.com", "tls_secret": "wildcard-tls"},
    "listeners": [
        {"name": "plain", "port": 8080, "hostname": "chat.example.com"},
        {"name": "other", "port": 8443, "protocol": "HTTPS", "hostname": "chat.example.org", "tls_secret": "org-tls", "tls_secret_namespace": "certificates"},
    ],
}


def made(provider: str) -> tuple[Facts, list[Facts]]:
    """(plan, objects) with these listeners."""
    facts = GATEWAY_PROVIDERS[provider]
    platform = {"llm_d_platform": (facts["platforms"] or ["kubernetes"])[0]}
    planned = plan(file_of({"provider": provider, "service_type": facts["service_types"][0], **LISTENERS}, platform))
    return planned, objects(planned)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_gateway_has_the_listeners_of_the_file(provider: str) -> None:
    planned, rendered = made(provider)
    gateway = next(item for item in rendered if item["kind"] == "Gateway")
    assert not others.problems(gateway)
    namespace = planned["gateway"]["namespace"]
    listeners = [
        (
            each["name"],
            each["port"],
            each["protocol"],
            each["hostname"],
            [(ref["name"], ref["namespace"]) for ref in each.get("tls", {}).get("certificateRefs", [])],
        )
        for each in gateway["spec"]["listeners"]
    ]
    assert listeners == [
        ("secure", 8443, "HTTPS", "*.example.com", [("wildcard-tls", namespace)]),
        ("plain", 8080, "HTTP", "chat.example.com", []),
        ("other", 8443, "HTTPS", "chat.example.org", [("org-tls", "certificates")]),
    ]
    grants = [(item["metadata"]["namespace"], item["spec"]["to"]) for item in rendered if item["kind"] == "ReferenceGrant"]
    assert ("certificates", [{"group": "", "kind": "Secret", "name": "org-tls"}]) in grants
    assert {(need["name"], need["namespace"]) for need in planned["preflight"]["named"]} == {("wildcard-tls", namespace), ("org-tls", "certificates")}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_routes_have_their_hostnames_and_validation_sends_a_matching_one(provider: str) -> None:
    planned, rendered = made(provider)
    routes = {item["metadata"]["name"].removesuffix(planned["gateway"]["routes_suffix"]): item for item in rendered if item["kind"] == "HTTPRoute"}
    assert not [problem for route in routes.values() for problem in others.problems(route)]
    assert {name: route["spec"]["hostnames"] for name, route in routes.items()} == {"llama": ["chat.example.com"], "sim": []}
    assert {target["name"]: target["host_header"] for target in targets_of(planned)} == {"llama": "chat.example.com", "sim": "validation.example.com"}


def test_the_definition_refuses_what_is_no_listener() -> None:
    _planned, rendered = made("envoy_gateway")
    gateway = next(item for item in rendered if item["kind"] == "Gateway")
    for mistake in ({"port": 0}, {"hostname": "https://chat"}, {"hostnam": "chat.example.com"}):
        listeners = [{**gateway["spec"]["listeners"][0], **mistake}]
        assert others.problems({**gateway, "spec": {**gateway["spec"], "listeners": listeners}}), mistake


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("kind", "annotation"), [("ClusterIssuer", "cert-manager.io/cluster-issuer"), ("Issuer", "cert-manager.io/issuer")])
def test_certificates_are_requested_from_cert_manager_by_an_annotation(provider: str, kind: str, annotation: str) -> None:
    facts = GATEWAY_PROVIDERS[provider]
    listeners = {
        "listener": {"name": "one", "port": 443, "protocol": "HTTPS", "hostname": "a.example.com"},
        "listeners": [{"name": "two", "port": 443, "protocol": "HTTPS", "hostname": "b.example.com", "tls_secret": "b-tls"}, {"name": "plain", "port": 80}],
    }
    given = {"provider": provider, "service_type": facts["service_types"][0], "certificate_issuer": {"name": "405", "kind": kind}, **listeners}
    planned = plan(file_of(given, {"llm_d_platform": (facts["platforms"] or ["kubernetes"])[0]}))
    gateway = next(item for item in objects(planned) if item["kind"] == "Gateway")
    assert not others.problems(gateway)
    assert gateway["metadata"]["annotations"] == {annotation: "405"}
    secrets = [ref["name"] for each in gateway["spec"]["listeners"] for ref in each.get("tls", {}).get("certificateRefs", [])]
    assert secrets == [f"{gateway['metadata']['name']}-one-tls", "b-tls"]
    assert planned["preflight"]["named"] == [], "cert-manager creates them"
