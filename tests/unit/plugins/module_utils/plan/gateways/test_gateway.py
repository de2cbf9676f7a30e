"""The plan of a Gateway and of its routes."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems

from ..test_build import SIMULATOR, user

Facts = dict[str, t.Any]
CHARTS = dict.fromkeys(("envoy_gateway", "istio_base", "istio"), "/chart")


def route(gateway: Facts, **service: t.Any) -> str:
    """The name of the route."""
    platform = gateway["provider"] if gateway["provider"] in ("gke", "openshift") else "kubernetes"
    made = plan(user({**SIMULATOR, **service}, llm_d_gateway=gateway, llm_d_platform=platform, llm_d_charts=CHARTS))["services"][0]["route"]
    return t.cast(str, made["name"])


@pytest.mark.parametrize("provider, end", [("envoy_gateway", ""), ("istio", "-istio"), ("gke", "-gke"), ("openshift", "-openshift")])
def test_a_gateway_that_starts_beside_another_has_routes_of_its_own(provider: str, end: str) -> None:
    name = SIMULATOR["name"]
    assert route({"provider": provider}) == f"{name}{end}"
    assert route({"provider": provider}, route={"name": "mine"}) == "mine"
    assert route({"provider": provider, "name": "front"}) == name, "the Gateway is replaced in place, and so are its routes"


def test_routes_with_the_same_name_are_refused() -> None:
    other = {**SIMULATOR, "name": "other", "route": {"path": "/other", "name": f"{SIMULATOR['name']}-istio"}}
    for provider, refused in (("istio", 1), ("envoy_gateway", 0)):
        assert len(problems(user(SIMULATOR, other, llm_d_gateway={"provider": provider}, llm_d_charts=CHARTS))) == refused
