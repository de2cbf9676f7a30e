# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests of one route that services share by weight: rules with weights, rules with parts of the request IDs, and mistakes."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.gateways.sharing import beginnings
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.pod_spec import SERVICE_LABEL
from contract.gateway_cases import objects
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

Facts = dict[str, t.Any]
WHOLE = 4096


def service(name: str, served: str = "base", **route: t.Any) -> Facts:
    return {"name": name, "model": {"served_name": served}, "engine": {"type": "simulator"}, "route": route}


def user(weights: Facts, provider: str = "envoy_gateway", *others: Facts, **gateway: t.Any) -> Facts:
    platform = provider if provider in ("gke", "openshift") else "kubernetes"
    services = [service("old", weights=weights, path="/v"), service("new", path="/v", headers={"x-variant": "new"}), *others]
    return {"llm_d_model_services": services, "llm_d_gateway": {"provider": provider, **gateway}, "llm_d_platform": platform}


def many(provider: str = "envoy_gateway", headers: int = 0, variants: int = 1) -> Facts:
    """A file whose first service has this number of headers, and shares its requests with this number of others."""
    others = [service(f"new{number}", path=f"/{number}") for number in range(variants)]
    given_file = user({"old": 1, **{each["name"]: 1 for each in others}}, provider, *others)
    given_file["llm_d_model_services"][0]["route"]["headers"] = {f"x-{number}": "a" for number in range(headers)}
    return given_file


def routes(planned: Facts) -> dict[str, Facts]:
    """The HTTPRoutes by name, without the suffix of the provider."""
    return {item["metadata"]["name"].removesuffix(planned["gateway"]["routes_suffix"]): item for item in objects(planned) if item["kind"] == "HTTPRoute"}


def headers(rule: Facts) -> list[list[str]]:
    """The names of the headers of each match."""
    return [[each["name"] for each in match.get("headers", [])] for match in rule["matches"]]


@pytest.mark.parametrize("provider", ["agentgateway", "kgateway", "gke"])
def test_where_each_backend_has_its_endpoint_picker_one_rule_has_the_weights(provider: str) -> None:
    planned = routes(plan(user({"old": 90, "new": 10}, provider)))
    shared, pinned = planned["old"]["spec"]["rules"]
    assert headers(pinned) == [["x-llm-d-service"]] and headers(shared) == [[]]
    assert [ref["name"] for ref in pinned["backendRefs"]] == ["old"] and "weight" not in pinned["backendRefs"][0]
    assert [(ref["kind"], ref["name"], ref["weight"]) for ref in shared["backendRefs"]] == [("InferencePool", "old", 90), ("InferencePool", "new", 10)]
    assert list(planned) == ["old", "new"] and [ref["name"] for ref in planned["new"]["spec"]["rules"][0]["backendRefs"]] == ["new"]


@pytest.mark.parametrize("provider", ["envoy_gateway", "envoy_ai_gateway", "istio", "openshift"])
def test_otherwise_each_service_has_a_rule_for_its_part_of_the_request_ids(provider: str) -> None:
    planned = routes(plan(user({"old": 90, "new": 10}, provider)))
    (own, pinned), (part,) = planned["old"]["spec"]["rules"], planned["old.new"]["spec"]["rules"]
    assert (headers(own), headers(pinned)) == ([[]], [["x-llm-d-service", "x-request-id"]])
    assert [ref["name"] for rule in (own, pinned) for ref in rule["backendRefs"]] == ["old", "old"]
    assert headers(part) == [["x-request-id"]] and [ref["name"] for ref in part["backendRefs"]] == ["new"]
    assert part["matches"][0]["path"] == own["matches"][0]["path"] and part["filters"] == own["filters"]
    pattern = part["matches"][0]["headers"][0]["value"]
    assert sum(bool(re.fullmatch(pattern, f"{number:03x}4e5f6-0000")) for number in range(WHOLE)) == round(WHOLE / 10)
    assert planned["old.new"]["metadata"]["labels"][SERVICE_LABEL] == "new"


def test_the_endpoint_picker_of_a_service_is_called_on_all_of_its_routes() -> None:
    planned = plan(user({"old": 90, "new": 0}))
    targets = {
        (item["kind"], item["metadata"]["name"]): [ref["name"] for ref in item["spec"]["targetRefs"]]
        for item in objects(planned)
        if item["kind"] in ("EnvoyExtensionPolicy", "BackendTrafficPolicy")
    }
    assert targets == {
        (kind, f"{name}-epp"): wanted
        for kind in ("EnvoyExtensionPolicy", "BackendTrafficPolicy")
        for name, wanted in (("old", ["old"]), ("new", ["new", "old.new"]))
    }
    # The route exists before the first request, so that a canary changes only its rule.
    part = routes(planned)["old.new"]["spec"]["rules"][0]["matches"][0]["headers"][0]["value"]
    assert not [number for number in range(WHOLE) if re.fullmatch(part, f"{number:03x}")]


def test_the_direct_route_is_never_shared() -> None:
    given_file = user({"old": 90, "new": 10})
    given_file["llm_d_model_services"][0]["route"]["direct_path"] = "/past"
    (rule,) = routes(plan(given_file))["old-direct"]["spec"]["rules"]
    assert headers(rule) == [[]] and [(ref["kind"], ref["name"]) for ref in rule["backendRefs"]] == [("Service", "old")]


@given(weights=st.lists(st.integers(0, 1000000), min_size=2, max_size=5).filter(any))
@examples(30)
def test_the_parts_are_those_of_the_weights_and_never_overlap(weights: list[int]) -> None:
    names = [f"s{number}" for number in range(len(weights))]
    services = [service(name, path=f"/{name}") for name in names]
    services[0]["route"] = {"weights": dict(zip(names, weights, strict=True))}
    planned = routes(plan({"llm_d_model_services": services}))
    patterns = [planned[f"s0.{name}"]["spec"]["rules"][0]["matches"][0]["headers"][0]["value"] for name in names[1:]]
    matches = [[bool(re.fullmatch(pattern, f"{number:03x}0")) for number in range(WHOLE)] for pattern in patterns]
    assert max(map(sum, zip(*matches, strict=True))) <= 1
    assert all(abs(sum(part) - WHOLE * weight / sum(weights)) <= 1 for part, weight in zip(matches, weights[1:], strict=True))


@given(st.integers(0, WHOLE), st.integers(0, WHOLE))
@examples(50)
def test_beginnings_are_those_from_start_to_end(start: int, end: int) -> None:
    pattern = re.compile(beginnings(start, end))
    assert [number for number in range(WHOLE) if pattern.fullmatch(f"{number:03x}-rest")] == list(range(start, end))
    assert len(pattern.pattern) < 200  # of the 4,096 characters that a header match may have


def requiring(provider: str, header: str) -> Facts:
    """A file whose shared route requires a header."""
    given_file = user({"old": 1, "new": 1}, provider)
    given_file["llm_d_model_services"][0]["route"]["headers"] = {header: "a"}
    given_file["llm_d_model_services"][1]["route"]["path"] = "/new"
    return given_file


def test_a_header_that_the_rules_of_a_provider_do_not_have_may_be_required() -> None:
    assert not problems(requiring("agentgateway", "x-request-id"))


NAMED: Facts = {**service("third", path="/t"), "route": {"path": "/t", "name": "old.new-istio"}}


@pytest.mark.parametrize(
    ("given_file", "place", "why", "fix"),
    [
        (user({"old": 9, "nwe": 1}), "[0].route.weights.nwe", "is no model service", "those that are: new"),
        (user({"new": 1}), "[0].route.weights", "no weight for the service itself", "'old: 90'"),
        (user({"old": 1}), "[0].route.weights", "names no other service", "take weights out"),
        (many(headers=15), "[0].route.headers", "has 15 elements", "at most 14 beside weights"),
        (many("agentgateway", headers=16), "[0].route.headers", "has 16 elements", "at most 15 beside weights"),
        (many("agentgateway", variants=16), "[0].route.weights", "has 17 elements", "at most 16 beside weights"),
        (user({"old": 0, "new": 0}), "[0].route.weights", "gives no service any requests", "above 0"),
        (requiring("agentgateway", "X-LLM-D-Service"), "[0].route.headers.X-LLM-D-Service", "that weights need", "another one, or take weights out"),
        (requiring("istio", "x-request-id"), "[0].route.headers.x-request-id", "that weights need", "another one, or take weights out"),
        (user({"old": 1, "other": 1}, "istio", service("other", "another", path="/o")), "[0].route.weights.other", "serves 'another'", "served_name: base"),
        (user({"old": 1, "chain": 1}, "istio", service("chain", path="/c", weights={"chain": 1, "new": 1})), "[0].route.weights.chain", "itself", "Take"),
        (user({"old": 1, "new": 1}, "istio", connection="ext_proc"), "[0].route.weights", "connection: ext_proc", "connection: pool"),
        (user({"old": 1, "new": 1}, "none", name="theirs"), "[0].route.weights", "provider none", "Name the provider"),
        (
            user({"old": 1, "new": 1}, "envoy_gateway", service("third", path="/v", headers={"x-variant": "third"})),
            "[2].route.headers",
            "as many headers",
            "one header more",
        ),
        (user({"old": 1, "new": 1}, "istio", NAMED), "[2].route.name", "route.weights gives 'new' its requests", "another name"),
        (user({"old": -1, "new": 1}), "[0].route.weights.old", "less than 0", "from 0"),
        (
            {"llm_d_gateway": {"provider": "standalone"}, "llm_d_model_services": [service("old", weights={"old": 1, "new": 1}), service("new")]},
            "[0].route.weights",
            "no route",
            "Take it out",
        ),
    ],
)
def test_a_mistake_names_its_place(given_file: Facts, place: str, why: str, fix: str) -> None:
    (mistake,) = problems(given_file)
    assert mistake.path == f"llm_d_model_services{place}" and why in str(mistake) and fix in mistake.fix


def test_a_service_with_a_mistake_of_its_own_can_have_a_weight() -> None:
    given_file = user({"old": 1, "new": 1})
    given_file["llm_d_model_services"][1]["replicas"] = -1
    assert [problem.path for problem in problems(given_file)] == ["llm_d_model_services[1].replicas"]


def test_all_mistakes_are_reported_at_once_and_variants_with_different_headers_are_valid() -> None:
    assert len(problems(user({"nwe": 0, "other": 0}))) == 4
    two = service("third", path="/v", headers={"x-c": "d", "x-e": "f"})
    assert not problems(user({"old": 1, "new": 1}, "envoy_gateway", two))
    assert not problems(many(headers=14, variants=20)) and not problems(many("agentgateway", headers=15, variants=15))
    assert not problems(user({"old": 1, "new": 1}, "agentgateway", NAMED)), "one rule has the weights: no route of that name"
    assert not problems(user({"old": 1, "new": 1}, "agentgateway", service("third", path="/v", headers={"x-variant": "third"})))
