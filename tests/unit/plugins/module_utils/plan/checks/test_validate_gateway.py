"""A mistake in llm_d_gateway is reported at its path, with the value to write instead; valid options are planned."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.checks.validate_gateway import version_parts
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.plan.gateways.gateway_policies import seconds
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES

Facts = dict[str, t.Any]
CHARTS = {key: f"/charts/{key}" for key in VARIABLES["llm_d_charts"].options or {}}
OPENSHIFT = {"llm_d_platform": "openshift"}
_CA = {"name": "ca"}
SERVICE: Facts = {"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}
# (test id, llm_d_gateway, other variables, path of the problem, a part of its text).
MISTAKES: list[tuple[str, Facts, Facts, str, str]] = [
    ("gke on another platform", {"provider": "gke"}, {}, "llm_d_gateway.provider", "llm_d_platform is 'kubernetes'. Write 'llm_d_platform: gke'"),
    ("openshift on another platform", {"provider": "openshift"}, {}, "llm_d_gateway.provider", "Write 'llm_d_platform: openshift'"),
    ("an istiod chart that is only a name", {"provider": "istio"}, {"llm_d_charts": {"istio": "istiod"}}, "llm_d_charts.istio", "a folder, an archive (.tgz)"),
    ("an old istio", {"provider": "istio", "version": "1.27.3"}, {}, "llm_d_gateway.version", "istio 1.27.3 is too old"),
    ("a version of gke, which has none", {"provider": "gke", "version": "1.0.0"}, {"llm_d_platform": "gke"}, "llm_d_gateway.version", "no version of its own"),
    ("kgateway 2.3", {"provider": "kgateway", "version": "2.3.0"}, {}, "llm_d_gateway.version", "Write 'provider: agentgateway'"),
    ("kgateway 2.2.0", {"provider": "kgateway", "version": "2.2.0"}, {}, "llm_d_gateway.version", "Write 2.2.1."),
    ("kgateway 2.2 as envoy", {"provider": "kgateway", "version": "2.2.1", "class_name": "kgateway"}, {}, "llm_d_gateway.version", "Write 2.1.2"),
    ("kgateway mirrored", {"provider": "kgateway"}, {"llm_d_image_registry": "mirror:5000"}, "llm_d_images.proxy", "Write mirror:5000/agentgateway:tag with"),
    ("kgateway 2.1 as agentgateway", {"provider": "kgateway", "version": "2.1.2"}, {}, "llm_d_gateway.version", "Write 2.2.1, or 'class_name: kgateway'"),
    ("a global class of gke", {"provider": "gke", "class_name": "gke-l7-gxlb"}, {"llm_d_platform": "gke"}, "llm_d_gateway.class_name", "or gke-l7-rilb"),
    ("a node port on gke", {"provider": "gke", "service_type": "NodePort"}, {"llm_d_platform": "gke"}, "llm_d_gateway.service_type", "gke-l7-rilb"),
    ("istio's class on openshift", {"provider": "openshift", "class_name": "istio"}, OPENSHIFT, "llm_d_gateway.class_name", "openshift-default"),
    ("provider none without a name", {"provider": "none"}, {}, "llm_d_gateway.name", "Write the name of your Gateway"),
    ("envoy gateway with a pool", {"connection": "pool"}, {}, "llm_d_gateway.connection", "which uses 'ext_proc'"),
    ("agentgateway with ext_proc", {"provider": "agentgateway", "connection": "ext_proc"}, {}, "llm_d_gateway.connection", "which uses 'pool'"),
    ("provider none with ext_proc", {"provider": "none", "name": "x", "connection": "ext_proc"}, {}, "llm_d_gateway.connection", "'connection: pool'"),
    (
        "agentgateway without tls",
        {"provider": "agentgateway", "picker_tls": False},
        {},
        "llm_d_gateway.picker_tls",
        "always calls the endpoint picker over TLS",
    ),
    ("v1alpha2 pools with istio", {"provider": "istio", "pool_version": "v1alpha2"}, {}, "llm_d_gateway.pool_version", "v1 is what it reads"),
    (
        "v1alpha2 pools with a new release line",
        {"provider": "openshift", "pool_version": "v1alpha2"},
        {**OPENSHIFT, "llm_d_release": "router-0.10"},
        "llm_d_release",
        "Write scheduler-0.7",
    ),
    ("HTTPS without a certificate", {"listener": {"protocol": "HTTPS"}}, {}, "llm_d_gateway.listener.tls_secret", "kubernetes.io/tls"),
    ("a certificate without HTTPS", {"listener": {"tls_secret": "x"}}, {}, "llm_d_gateway.listener.protocol", "Write HTTPS"),
    ("an issuer without a host", {"certificate_issuer": _CA, "listener": {"protocol": "HTTPS"}}, {}, "llm_d_gateway.listener.hostname", "issues a certificate"),
    (
        "an issuer for a Secret in another namespace",
        {"certificate_issuer": _CA, "listener": {"protocol": "HTTPS", "hostname": "a.example.com", "tls_secret": "x", "tls_secret_namespace": "certificates"}},
        {},
        "llm_d_gateway.listener.tls_secret_namespace",
        "the Gateway's own namespace. Take it out.",
    ),
    ("an issuer without an HTTPS listener", {"certificate_issuer": _CA}, {}, "llm_d_gateway.certificate_issuer", "no listener speaks HTTPS"),
    (
        "an issuer for a Gateway that is not created",
        {"certificate_issuer": _CA, "create": False, "listener": {"protocol": "HTTPS", "hostname": "a.example.com"}},
        {},
        "llm_d_gateway.certificate_issuer",
        "this file creates none",
    ),
    ("an issuer of an unknown kind", {"certificate_issuer": {"name": "ca", "kind": "CA"}}, {}, "llm_d_gateway.certificate_issuer.kind", "ClusterIssuer"),
    ("two listeners with one name", {"listeners": [{"port": 81}]}, {}, "llm_d_gateway.listeners[0].name", "duplicates llm_d_gateway.listener"),
    ("two listeners on one port", {"listeners": [{"name": "b"}]}, {}, "llm_d_gateway.listeners[0].port", "duplicates llm_d_gateway.listener"),
    (
        "two protocols on one port",
        {"listeners": [{"name": "b", "hostname": "b.example.com", "protocol": "HTTPS", "tls_secret": "x"}]},
        {},
        "llm_d_gateway.listeners[0].protocol",
        "llm_d_gateway.listener speaks HTTP on port 80, and a port speaks one protocol. Write HTTP, or another port.",
    ),
    ("a URL as a host name", {"listener": {"hostname": "https://chat"}}, {}, "llm_d_gateway.listener.hostname", "chat.example.com"),
    (
        "a host that no listener answers to",
        {"listener": {"hostname": "*.example.com"}, "listeners": [{"name": "b", "port": 81, "hostname": "llm.example.org"}]},
        {"llm_d_model_services": [{**SERVICE, "route": {"hostnames": ["chat.example.com", "example.com"]}}]},
        "llm_d_model_services[0].route.hostnames[1]",
        "no listener of the gateway answers to 'example.com'. Write a host of *.example.com or llm.example.org",
    ),
    ("a gateway name with standalone", {"provider": "standalone", "name": "x"}, {}, "llm_d_gateway.name", "there is no Gateway"),
    (
        "tls with standalone",
        {"provider": "standalone", "listener": {"protocol": "HTTPS", "tls_secret": "x"}},
        {},
        "llm_d_gateway.listener.protocol",
        "Write HTTP",
    ),
    (
        "a route path with standalone",
        {"provider": "standalone"},
        {"llm_d_model_services": [{"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "route": {"path": "/a"}}]},
        "llm_d_model_services[0].route.path",
        "an address of its own",
    ),
    ("a Route on another platform", {"openshift_route": {"enabled": True}}, {}, "llm_d_gateway.openshift_route.enabled", "there are no Routes on 'kubernetes'"),
    (
        "edge termination with an HTTPS listener",
        {"provider": "openshift", "listener": {"protocol": "HTTPS", "tls_secret": "x"}, "openshift_route": {"enabled": True, "termination": "edge"}},
        OPENSHIFT,
        "llm_d_gateway.openshift_route.termination",
        "Write passthrough",
    ),
    (
        "a Route with another host than the listener",
        {"provider": "openshift", "listener": {"hostname": "a.example.com"}, "openshift_route": {"enabled": True, "hostname": "b.example.com"}},
        OPENSHIFT,
        "llm_d_gateway.openshift_route.hostname",
        "answers to: a.example.com. Write a.example.com",
    ),
    (
        "a Route without a host, with a wildcard listener",
        {"provider": "openshift", "listener": {"hostname": "*.example.com"}, "openshift_route": {"enabled": True}},
        OPENSHIFT,
        "llm_d_gateway.openshift_route.hostname",
        "is missing, and '*.example.com' of the listener is no single host name, which a Route has. Write one, such as chat.example.com.",
    ),
    (
        "a Route with a wildcard host",
        {"provider": "openshift", "openshift_route": {"enabled": True, "hostname": "*.example.com"}},
        OPENSHIFT,
        "llm_d_gateway.openshift_route.hostname",
        "'*.example.com' is no single host name, which a Route has. Write one, such as chat.example.com.",
    ),
    (
        "a Route with a host that no service has",
        {"provider": "openshift", "listener": {"hostname": "*.example.com"}, "openshift_route": {"enabled": True, "hostname": "b.example.com"}},
        {**OPENSHIFT, "llm_d_model_services": [{**SERVICE, "route": {"hostnames": ["a.example.com"]}}]},
        "llm_d_gateway.openshift_route.hostname",
        "no model service answers to 'b.example.com'. Write a host of a.example.com",
    ),
    (
        "a Route without a host, with services that have hosts",
        {"provider": "openshift", "openshift_route": {"enabled": True}},
        {**OPENSHIFT, "llm_d_model_services": [{**SERVICE, "route": {"hostnames": ["a.example.com", "b.example.com"]}}]},
        "llm_d_gateway.openshift_route.hostname",
        "OpenShift would choose one, and each model service has its own hostnames. Write a host of a.example.com or b.example.com",
    ),
    (
        "route headers with standalone",
        {"provider": "standalone"},
        {"llm_d_model_services": [{"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "route": {"headers": {"a": "b"}}}]},
        "llm_d_model_services[0].route.headers",
        "has an address of its own",
    ),
    ("traffic limits that the provider ignores", {"provider": "envoy_ai_gateway", "traffic": {}}, {}, "llm_d_gateway.traffic", "is for envoy_gateway"),
    (
        "a session by cookie and by header",
        {"provider": "istio", "connection": "ext_proc", "traffic": {"session_cookie": "a", "session_header": "b"}},
        {},
        "llm_d_gateway.traffic.session_header",
        "Take out one of the two",
    ),
    (
        "routes in another namespace than the pools",
        {"provider": "envoy_ai_gateway", "routes_namespace": "routes"},
        {},
        "llm_d_gateway.routes_namespace",
        "no Gateway would accept the pools",
    ),
    ("envoy gateway too old for its extension", {"provider": "envoy_ai_gateway", "version": "1.8.0"}, {}, "llm_d_gateway.version", "Write 1.8.1 or newer"),
    (
        "a digest for the AI gateway",
        {"provider": "envoy_ai_gateway"},
        {"llm_d_images": {"ai_gateway": f"r/a@sha256:{'0' * 64}"}},
        "llm_d_images.ai_gateway",
        "tag",
    ),
    ("envoy AI gateway with ext_proc", {"provider": "envoy_ai_gateway", "connection": "ext_proc"}, {}, "llm_d_gateway.connection", "which uses 'pool'"),
    (
        "a digest for agentgateway",
        {"provider": "agentgateway"},
        {"llm_d_images": {"proxy": f"r/a@sha256:{'0' * 64}"}},
        "llm_d_images.proxy",
        "registry/repository:tag",
    ),
    (
        "fail-open standalone",
        {"provider": "standalone"},
        {"llm_d_model_services": [{"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "scheduler": {"failure_mode": "FailOpen"}}]},
        "llm_d_model_services[0].scheduler.failure_mode",
        "Write FailClose",
    ),
]


@pytest.mark.parametrize(("gateway", "variables", "path", "text"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_a_mistake_names_its_place_and_what_to_write(gateway: Facts, variables: Facts, path: str, text: str) -> None:
    reported = problems({"llm_d_charts": CHARTS, "llm_d_gateway": gateway, **variables})
    assert [problem.path for problem in reported] == [path], [str(problem) for problem in reported]
    assert text in str(reported[0])


@pytest.mark.parametrize("provider", GATEWAY_PROVIDERS)
def test_every_provider_can_be_planned(provider: str) -> None:
    facts = GATEWAY_PROVIDERS[provider]
    platform = (facts["platforms"] or ["kubernetes"])[0]
    name = "mine" if provider == "none" else None
    planned = plan({"llm_d_charts": CHARTS, "llm_d_platform": platform, "llm_d_gateway": {"provider": provider, "name": name}})["gateway"]
    assert planned["provider"] == provider and planned["install"] is bool(facts["charts"])
    extension_namespaces = ["envoy-ai-gateway-system"] if provider == "envoy_ai_gateway" else []
    assert [chart["namespace"] for chart in planned["charts"]] == extension_namespaces + [facts["namespace"]] * (
        len(facts["charts"]) - len(extension_namespaces)
    )


@pytest.mark.parametrize("platform", ["openshift", "gke"])
def test_crds_that_the_platform_provides_are_not_installed(platform: str) -> None:
    crds = plan({"llm_d_platform": platform, "llm_d_gateway": {"provider": platform}})["prerequisites"]["crds"]
    assert [bundle["name"] for bundle in crds] == ["inference-extension"]


def test_a_plan_of_namespace_scope_has_no_cluster_wide_objects() -> None:
    planned = plan({"llm_d_scope": "namespace"})
    assert not planned["gateway"]["charts"] and not planned["gateway"]["proxies"] and planned["gateway"]["create"]
    assert not any(planned["prerequisites"].values())
    assert not planned["gateway"]["create_class"] and not planned["record"]["controllers"]
    assert not [kind for _version, kind in planned["record"]["kinds"] if kind == "GatewayClass"]


def test_a_project_is_requested_and_not_created() -> None:
    user = {"llm_d_platform": "openshift", "llm_d_scope": "namespace", "llm_d_request_project": True, "llm_d_gateway": {"provider": "openshift"}}
    assert {key: value for key, value in plan(user)["prerequisites"].items() if value} == {"projects": ["llm-d"]}
    assert [str(problem) for problem in problems({**user, "llm_d_platform": "kubernetes", "llm_d_gateway": {"provider": "standalone"}})] == [
        "llm_d_request_project: there are no projects on 'kubernetes'. Take it out, or write 'llm_d_platform: openshift'."
    ]


def test_a_new_provider_has_a_gateway_of_its_own() -> None:
    names = [
        plan({"llm_d_charts": CHARTS, "llm_d_gateway": {"provider": provider}})["gateway"]["name"] for provider in ("envoy_gateway", "istio", "agentgateway")
    ]
    assert names == ["llm-d-gateway", "llm-d-gateway-istio", "llm-d-gateway-agentgateway"]


def test_the_istio_chart_enables_inference_pools_and_sets_platform_and_image() -> None:
    planned = plan({"llm_d_charts": CHARTS, "llm_d_platform": "openshift", "llm_d_image_registry": "mirror:5000", "llm_d_gateway": {"provider": "istio"}})
    base, istiod = planned["gateway"]["charts"]
    assert istiod["values"]["pilot"]["env"] == {"ENABLE_GATEWAY_API_INFERENCE_EXTENSION": "true"}
    assert istiod["values"]["pilot"]["image"] == "mirror:5000/istio/pilot:1.30.8" and istiod["values"]["global"]["platform"] == "openshift"
    assert "enableCRDTemplates" not in base["values"]["base"], "with the value false the chart installs every CRD"


def test_a_gateway_class_taken_over_by_another_controller_stays_own() -> None:
    """Provider agentgateway and the agentgateway class of provider kgateway have one Helm release, so the new chart serves every Gateway of the class."""
    user = {"llm_d_charts": CHARTS, "llm_d_gateway": {"provider": "agentgateway"}}
    planned = plan(user)
    assert planned["record"]["releases"] == [["agentgateway-system", "agentgateway"]]
    same_class = plan({**user, "llm_d_gateway": {"provider": "kgateway"}})
    assert same_class["record"]["releases"] == planned["record"]["releases"], "the chart of kgateway replaces that of agentgateway"
    other_class = plan({**user, "llm_d_gateway": {"provider": "kgateway", "class_name": "kgateway"}})
    assert other_class["record"]["releases"] == [["kgateway-system", "kgateway"]]
    rows = [row for row in other_class["record"]["controllers"] if row["release_name"] == "agentgateway"]
    assert [(row["namespace"], row["name"], list(row["classes"])) for row in rows] == [
        ("agentgateway-system", "agentgateway.dev/agentgateway", ["agentgateway"])
    ]
    assert plan({**user, "llm_d_scope": "namespace"})["record"]["controllers"] == []


@pytest.mark.parametrize(
    ("class_name", "release", "version", "probe", "image", "namespace"),
    [
        (None, "agentgateway", "2.2.1", "agentgatewayparameters.agentgateway.dev", "cr.agentgateway.dev/controller:v2.2.1", "agentgateway-system"),
        ("kgateway", "kgateway", "2.1.2", "gatewayparameters.gateway.kgateway.dev", "cr.kgateway.dev/kgateway-dev/kgateway:v2.1.2", "kgateway-system"),
    ],
)
def test_each_gateway_class_of_kgateway_is_installed_from_its_own_chart(
    class_name: str | None, release: str, version: str, probe: str, image: str, namespace: str
) -> None:
    planned = plan({"llm_d_charts": CHARTS, "llm_d_gateway": {"provider": "kgateway", "class_name": class_name}})
    chart = planned["gateway"]["chart"]
    assert (chart["release_name"], chart["version"], planned["gateway"]["controller"]) == (
        release,
        f"v{version}",
        {"kind": "Deployment", "name": release, "namespace": namespace},
    )
    assert chart["namespace"] == namespace and "{registry}/{repository}:{tag}".format(**chart["values"]["controller"]["image"]) == image
    bundle = planned["prerequisites"]["crds"][-1]
    assert (bundle["version"], bundle["probe"]) == (version, probe)
    assert all(f"/v{version}/" in source and probe.partition(".")[2] in source for source in bundle["sources"])
    assert planned["record"]["releases"] == [[namespace, release]]
    istio_record = plan({"llm_d_charts": CHARTS, "llm_d_gateway": {"provider": "istio"}})["record"]
    assert (namespace, release) in {(row["namespace"], row["release_name"]) for row in istio_record["controllers"]}
    assert [namespace, release] not in istio_record["releases"]


@pytest.mark.parametrize(
    ("provider", "releases"),
    [
        ("envoy_gateway", [["envoy-gateway-system", "envoy-gateway"]]),
        ("envoy_ai_gateway", [["envoy-ai-gateway-system", "ai-gateway"], ["envoy-gateway-system", "envoy-gateway"]]),
        ("istio", [["istio-system", "istio-base"], ["istio-system", "istiod"]]),
    ],
)
def test_the_plan_records_the_releases_of_its_provider_and_its_extension(provider: str, releases: list[list[str]]) -> None:
    record = plan({"llm_d_charts": CHARTS, "llm_d_gateway": {"provider": provider}})["record"]
    assert record["releases"] == releases
    named = {row["release_name"]: row["name"] for row in record["controllers"]}
    assert named["ai-gateway"] == named["envoy-gateway"] and set(named) >= {"istio-base", "istiod", "agentgateway", "kgateway", "lws"}


def test_charts_of_upstream_are_installed_by_default() -> None:
    user = {"llm_d_gateway": {"provider": "istio"}, "llm_d_charts": {"istio_base": "/b"}}
    assert problems(user) == []
    assert [(chart["ref"], chart["repo"], chart["version"]) for chart in plan(user)["gateway"]["charts"]] == [
        ("/b", None, "1.30.8"),
        ("oci://ghcr.io/istio/release/charts/istiod", None, "1.30.8"),
    ]


@pytest.mark.parametrize(
    ("provider", "version", "chart_version", "images"),
    [
        ("istio", "1.30.1", "1.30.1", ["docker.io/istio/pilot:1.30.1", "docker.io/istio/proxyv2:1.30.1"]),
        ("agentgateway", "1.5.0", "v1.5.0", ["cr.agentgateway.dev/controller:v1.5.0", "cr.agentgateway.dev/agentgateway:v1.5.0"]),
        ("envoy_gateway", "1.8.0", "v1.8.0", ["docker.io/envoyproxy/gateway:v1.8.0", "docker.io/envoyproxy/envoy:distroless-v1.39.6"]),
    ],
)
def test_gateway_images_and_chart_have_the_version_of_the_option(provider: str, version: str, chart_version: str, images: list[str]) -> None:
    planned = plan({"llm_d_charts": CHARTS, "llm_d_gateway": {"provider": provider, "version": version}})
    assert set(images) <= set(needed(planned)["images"]) and planned["gateway"]["chart"]["version"] == chart_version
    assert [planned["gateway"]["controller_image"], planned["gateway"]["proxy_image"]] == images


def test_an_adopted_kgateway_gets_parameters_only_with_an_image_registry() -> None:
    adopted = {"llm_d_gateway": {"provider": "kgateway", "class_name": "kgateway", "install": False}}
    assert plan(adopted)["gateway"]["parameters"] is None
    mirrored = plan({**adopted, "llm_d_image_registry": "mirror:5000"})["gateway"]
    assert mirrored["parameters"]["kind"] == "GatewayParameters" and mirrored["parameters_image"]["registry"] == "mirror:5000/kgateway-dev"
    assert plan({"llm_d_charts": CHARTS, "llm_d_gateway": {"provider": "kgateway"}})["gateway"]["parameters"] is None


def test_the_agentgateway_image_is_split_into_registry_repository_and_tag() -> None:
    planned = plan({"llm_d_charts": CHARTS, "llm_d_image_registry": "mirror:5000/x", "llm_d_gateway": {"provider": "agentgateway"}})
    image = planned["gateway"]["chart"]["values"]["proxy"]["image"]
    assert image == {"registry": "mirror:5000/x", "repository": "agentgateway", "tag": "v1.7.0"}


@pytest.mark.parametrize(("text", "whole_seconds"), [("0s", 0), ("90s", 90), ("1h30m", 5400), ("1ms", 1), ("1500ms", 2)])
def test_durations(text: str, whole_seconds: int) -> None:
    assert seconds(text) == whole_seconds


def test_versions_are_compared_as_numbers() -> None:
    assert version_parts("v1.28.6") < version_parts("1.29.0-rc.1") < version_parts("1.29.2+x") < version_parts("1.30")


@pytest.mark.parametrize(
    ("listener_hostname", "route_hostname"),
    [(None, "chat.example.com"), ("*.example.com", "a.b.example.com"), ("chat.example.com", "*.example.com"), ("*.b.example.com", "*.example.com")],
)
def test_a_host_that_a_listener_answers_to_is_planned(listener_hostname: str | None, route_hostname: str) -> None:
    service = {**SERVICE, "route": {"hostnames": [route_hostname]}}
    assert not problems({"llm_d_charts": CHARTS, "llm_d_gateway": {"listener": {"hostname": listener_hostname}}, "llm_d_model_services": [service]})


@pytest.mark.parametrize(
    ("gateway", "openshift_route", "service_hostnames", "hostname"),
    [
        ({"listener": {"hostname": "a.example.com"}}, {}, [[]], "a.example.com"),
        ({"listener": {"hostname": "a.example.com"}, "create": False, "name": "theirs"}, {}, [[]], "a.example.com"),
        ({"listener": {"hostname": "a.example.com"}, "create": False, "name": "theirs"}, {"hostname": "b.example.org"}, [[]], "b.example.org"),
        ({"listener": {"hostname": "*.example.com"}}, {"hostname": "a.example.com"}, [["*.example.com"]], "a.example.com"),
        ({}, {"hostname": "a.example.com"}, [["b.example.com"], ["a.example.com"]], "a.example.com"),
        ({}, {"hostname": "a.example.com"}, [["b.example.com"], []], "a.example.com"),
        ({}, {}, [["b.example.com"], []], None),
        ({}, {}, [], None),
    ],
)
def test_a_route_of_a_host_that_is_answered_is_planned(
    gateway: Facts, openshift_route: Facts, service_hostnames: list[list[str]], hostname: str | None
) -> None:
    services = [{**SERVICE, "name": f"s{number}", "route": {"hostnames": each}} for number, each in enumerate(service_hostnames)]
    settings = {"provider": "openshift", **gateway, "openshift_route": {"enabled": True, **openshift_route}}
    assert plan({**OPENSHIFT, "llm_d_gateway": settings, "llm_d_model_services": services})["gateway"]["openshift_route"]["hostname"] == hostname
