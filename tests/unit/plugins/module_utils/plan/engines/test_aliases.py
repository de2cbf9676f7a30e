# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Aliases of a model: the object that the endpoint picker reads, the names that have to answer, and mistakes."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from contract.gateway_cases import objects

Facts = dict[str, t.Any]
CANARY = {"chat": "base", "both": {"base": 90, "next": 10}}


def user(aliases: Facts, release: str = "router-0.10", provider: str = "envoy_gateway") -> Facts:
    service = {"name": "sim", "model": {"served_name": "base", "aliases": aliases}, "engine": {"type": "simulator"}}
    return {"llm_d_model_services": [service], "llm_d_release": release, "llm_d_gateway": {"provider": provider}}


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("gie-1.5", "inference.networking.x-k8s.io/v1alpha2"),
        ("scheduler-0.7", "inference.networking.x-k8s.io/v1alpha2"),
        ("router-0.9", "inference.networking.x-k8s.io/v1alpha2"),  # its CRDs have no kind of the newer group
        ("router-0.10", "llm-d.ai/v1alpha2"),
    ],
)
def test_the_rewrite_has_the_group_that_the_endpoint_picker_reads(release: str, version: str) -> None:
    planned = plan(user(CANARY, release))
    (rewrite,) = (item for item in objects(planned) if item["kind"] == "InferenceModelRewrite")
    assert rewrite["apiVersion"] == version and rewrite["metadata"]["name"] == "sim"
    assert rewrite["spec"]["poolRef"] == {"group": "inference.networking.k8s.io", "name": "sim"}
    assert rewrite["spec"]["rules"] == [
        {"matches": [{"model": {"type": "Exact", "value": "chat"}}], "targets": [{"modelRewrite": "base", "weight": 1}]},
        {
            "matches": [{"model": {"type": "Exact", "value": "both"}}],
            "targets": [{"modelRewrite": "base", "weight": 90}, {"modelRewrite": "next", "weight": 10}],
        },
    ]
    assert planned["services"][0]["aliases"] == ["chat", "both", "next"]
    written = [entry for entry in planned["preflight"]["permissions"] if entry["resource"] == "inferencemodelrewrites"]
    assert {(entry["group"], entry["verb"]) for entry in written} >= {(version.partition("/")[0], "patch"), (version.partition("/")[0], "delete")}


def test_without_aliases_no_rewrite_is_planned_but_both_api_groups_are_recorded() -> None:
    planned = plan(user({}))
    assert not [item for item in objects(planned) if item["kind"] == "InferenceModelRewrite"]
    assert {version for version, kind in planned["record"]["kinds"] if kind == "InferenceModelRewrite"} == {
        "llm-d.ai/v1alpha2",
        "inference.networking.x-k8s.io/v1alpha2",
    }


@pytest.mark.parametrize(
    ("aliases", "provider", "place", "why"),
    [
        (CANARY, "standalone", "", "provider standalone has none with router-0.10"),
        ({"chat": {}}, "istio", ".chat", "gives no model any requests"),
        ({"chat": {"chat": 3, "base": 2}}, "istio", ".chat", "is an alias of itself"),
        ({"base": {"base": 3, "next": 2}}, "istio", ".base", "is the served name itself"),
        ({"chat": {"base": -1}}, "istio", ".chat.base", "-1 is less than 0"),
        ({"chat": {"base": 0, "next": 0}}, "istio", ".chat", "gives no model any requests"),
        ({"chat": ["base"]}, "istio", ".chat", "list"),
    ],
)
def test_a_mistake_names_its_place(aliases: Facts, provider: str, place: str, why: str) -> None:
    (problem,) = problems(user(aliases, provider=provider))
    assert problem.path == f"llm_d_model_services[0].model.aliases{place}" and why in str(problem)
