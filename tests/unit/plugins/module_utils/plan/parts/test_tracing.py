"""Traces: the settings of each component of each release line, and warnings where one of them sends no spans."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.flags import flags_of
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.vllm import VERSIONS, options
from planned_pods import main, sidecars

Facts = dict[str, t.Any]
VLLM: Facts = {"name": "chat", "model": {"uri": "hf://org/m"}}
SIM: Facts = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "route": {"path": "/sim"}}
COLLECTOR = "otel-collector.monitoring:4317"
ROUTERS = ("router-0.9", "router-0.10", "router-0.11")


def planned(*services: Facts, endpoint: str | None = COLLECTOR, sampling: float = 0.25, **variables: t.Any) -> Facts:
    charts = {"envoy_gateway": "/c", "envoy_ai_gateway": "/c"}
    return plan({"llm_d_charts": charts, "llm_d_model_services": [*services], "llm_d_tracing": {"endpoint": endpoint, "sampling": sampling}, **variables})


def environment(container: Facts) -> dict[str, str]:
    return {item["name"]: item["value"] for item in container["env"] if item["name"].startswith("OTEL_")}


def traced(name: str) -> dict[str, str]:
    return {
        "OTEL_SERVICE_NAME": name,
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{COLLECTOR}",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": "0.25",
    }


@pytest.mark.parametrize("line", RELEASES)
@pytest.mark.parametrize("endpoint", [COLLECTOR, f"http://{COLLECTOR}", f"http://{COLLECTOR}/"])
def test_each_component_has_the_address_of_the_collector(line: str, endpoint: str) -> None:
    made = planned(VLLM, endpoint=endpoint, llm_d_release=line)
    (service,) = made["services"]
    assert flags_of(service["scheduler"]["args"])["tracing"] == "true"
    assert environment(main(service["scheduler"])) == {"OTEL_TRACES_EXPORTER": "otlp", **traced("chat-epp")}
    assert flags_of(service["server"]["args"])["otlp-traces-endpoint"] == f"http://{COLLECTOR}"
    assert environment(main(service["server"])) == traced("chat-decode")
    assert made["gateway"]["tracing"] == {"host": "otel-collector.monitoring", "port": 4317, "numerator": 2500, "denominator": 10000}


@pytest.mark.parametrize("line", RELEASES)
def test_nothing_is_traced_by_default(line: str) -> None:
    made = planned(VLLM, endpoint=None, llm_d_release=line)
    (service,) = made["services"]
    assert flags_of(service["scheduler"]["args"])["tracing"] == "false"
    # Endpoint pickers of the scheduler lines send spans by default, unless the share is 0.
    assert environment(main(service["scheduler"])) == ({"OTEL_TRACES_SAMPLER_ARG": "0"} if line.startswith("scheduler-") else {})
    assert "otlp-traces-endpoint" not in flags_of(service["server"]["args"]) and environment(main(service["server"])) == {}
    assert made["gateway"]["tracing"] is None and not [text for text in made["gateway"]["warnings"] if "llm_d_tracing" in text]


@pytest.mark.parametrize("line", [line for line in RELEASES if line != "gie-1.5"])
@pytest.mark.parametrize("endpoint", [COLLECTOR, None])
def test_a_routing_sidecar_sends_as_its_endpoint_picker_does(line: str, endpoint: str | None) -> None:
    (service,) = planned({**VLLM, "scheduler": {"preset": "disaggregated"}, "prefill": {}}, endpoint=endpoint, llm_d_release=line)["services"]
    (sidecar,) = sidecars(service["server"])
    flag = flags_of(sidecar["args"]).get("tracing")
    assert flag == ("true" if endpoint and line in ROUTERS else None), "older ones stop at a flag that they do not know"
    quiet = {} if line in ROUTERS else {"OTEL_TRACES_SAMPLER_ARG": "0"}
    assert environment(sidecar) == ({"OTEL_TRACES_EXPORTER": "otlp", **traced("chat-sidecar")} if endpoint else quiet)
    assert environment(main(service["servers"][1])) == (traced("chat-prefill") if endpoint else {})


def test_variables_and_flags_of_the_file_override_the_tracing_defaults() -> None:
    own = {"env": {"OTEL_SERVICE_NAME": "mine"}, "args": ["--tracing=false"]}
    (service,) = planned({**VLLM, "scheduler": own, "engine": {"env": {"OTEL_TRACES_SAMPLER_ARG": "1"}}})["services"]
    assert environment(main(service["scheduler"]))["OTEL_SERVICE_NAME"] == "mine" and flags_of(service["scheduler"]["args"])["tracing"] == "false"
    assert environment(main(service["server"]))["OTEL_TRACES_SAMPLER_ARG"] == "1"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_of_vllm_knows_the_flag(version: str) -> None:
    assert "--otlp-traces-endpoint" in options(version)


@pytest.mark.parametrize("provider", GATEWAY_PROVIDERS)
def test_a_gateway_without_tracing_is_warned_about(provider: str) -> None:
    platform = (GATEWAY_PROVIDERS[provider]["platforms"] or ["kubernetes"])[0]
    gateway = {"provider": provider, **({"name": "theirs"} if provider == "none" else {})}
    made = planned(VLLM, llm_d_gateway=gateway, llm_d_platform=platform)
    proxy = made["services"][0]["scheduler"]["proxy"]
    warnings = [text for text in made["gateway"]["warnings"] if "the gateway" in text and "llm_d_tracing" in text]
    ours = provider in ("envoy_gateway", "envoy_ai_gateway", "standalone")
    assert bool(made["gateway"]["tracing"] or (proxy and "OpenTelemetryConfig" in proxy["config"])) == ours == (not warnings)


def test_a_gateway_of_another_owner_is_not_traced() -> None:
    made = planned(VLLM, llm_d_gateway={"provider": "envoy_gateway", "create": False})
    assert made["gateway"]["tracing"] is None and any("whoever owns it" in text for text in made["gateway"]["warnings"])


def test_the_proxy_of_a_standalone_service_sends_its_share() -> None:
    (service,) = planned(VLLM, llm_d_gateway={"provider": "standalone"})["services"]
    static = json.loads(service["scheduler"]["proxy"]["config"])["static_resources"]
    tracing = static["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]["tracing"]
    provider = tracing["provider"]["typed_config"]
    assert "random_sampling" not in tracing and provider["service_name"] == "chat-gateway"
    (share,) = [each["sampling_percentage"] for each in (provider["sampler"]["typed_config"]["wrapped_sampler"]["typed_config"],)]
    assert share == {"numerator": 2500, "denominator": "TEN_THOUSAND"}
    (cluster,) = [each for each in static["clusters"] if each["name"] == provider["grpc_service"]["envoy_grpc"]["cluster_name"]]
    address = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]["address"]["socket_address"]
    assert address == {"address": "otel-collector.monitoring", "port_value": 4317} and cluster["type"] == "STRICT_DNS"


@pytest.mark.parametrize(("line", "joins"), [("gie-1.5", False), ("scheduler-0.7", False), ("router-0.9", True), ("router-0.10", True)])
def test_lines_that_begin_a_trace_of_their_own_are_named(line: str, joins: bool) -> None:
    warnings = planned(VLLM, llm_d_release=line)["gateway"]["warnings"]
    assert any(f"an endpoint picker of {line} begins a trace of its own" in text for text in warnings) == (not joins)


def test_model_servers_that_send_no_spans_are_warned_about() -> None:
    made = planned(VLLM, SIM)
    assert any("the model servers of sim send no spans" in text for text in made["gateway"]["warnings"])
    server = made["services"][1]["server"]
    assert environment(main(server)) == {} and "otlp-traces-endpoint" not in flags_of(server["args"])
    assert not [text for text in planned(VLLM)["gateway"]["warnings"] if "llm_d_tracing" in text]


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("https://otel.example.com:4317", "send their spans without TLS. Write http:// with a collector in the cluster"),
        ("localhost:4317", "'localhost' is each pod itself"),
        ("http://127.0.0.1:4317", "'127.0.0.1' is each pod itself"),
        ("otel-collector.monitoring:4318", "OTLP over HTTP, and spans are sent by gRPC. Write port 4317."),
        ("otel-collector.monitoring:0", "Write a number from 1 to 65535"),
        ("otel-collector.monitoring:70000", "70000 is no port."),
        (
            "otel-collector:4317",
            "is looked up in the namespace of each pod, and not all of them are in one. Write its namespace as well: otel-collector.NAMESPACE:4317.",
        ),
        ("otel-collector", "is not HOST:PORT"),
        ("otel-collector:4317/v1/traces", "is not HOST:PORT"),
        ("user:secret@otel-collector:4317", "is not HOST:PORT"),
    ],
)
def test_an_unusable_collector_endpoint_is_refused(endpoint: str, words: str) -> None:
    mistakes = problems({"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [VLLM], "llm_d_tracing": {"endpoint": endpoint}})
    assert [problem.path for problem in mistakes] == ["llm_d_tracing.endpoint"] and words in str(mistakes[0])


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("otel.monitoring", {"namespace": "monitoring", "name": "otel", "port": 4317, "sure": False}),
        ("otel.monitoring.svc", {"namespace": "monitoring", "name": "otel", "port": 4317, "sure": True}),
        ("otel.monitoring.svc.cluster.local", {"namespace": "monitoring", "name": "otel", "port": 4317, "sure": True}),
        ("otel.example.com", None),
        ("10.0.0.1", None),
    ],
)
def test_the_preflight_has_the_service_of_the_collector(host: str, place: Facts | None) -> None:
    assert planned(VLLM, endpoint=f"{host}:4317")["preflight"]["collector"] == place
    assert planned(VLLM, endpoint=None)["preflight"]["collector"] is None


@pytest.mark.parametrize(("sampling", "words"), [(10, "10 is more than 1."), (-0.1, "less than 0."), ("10%", "is a string, not a number")])
def test_a_share_is_from_zero_to_one(sampling: t.Any, words: str) -> None:
    mistakes = problems(
        {"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [VLLM], "llm_d_tracing": {"endpoint": COLLECTOR, "sampling": sampling}}
    )
    assert [problem.path for problem in mistakes] == ["llm_d_tracing.sampling"] and words in str(mistakes[0])
