# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deployments are identified by their objects, and the changes of a run are reported: by the objects of two files, one deployed, one planned."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.changes import changes
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.report import WIDTH, judge, shown
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.running import description, line_of, running, scorers
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from survey_cases import CHARTS, cluster

Facts = dict[str, t.Any]
SIM: Facts = {"name": "sim", "model": {"served_name": "acme/sim"}, "replicas": 4, "engine": {"type": "simulator"}, "scheduler": {"preset": "balanced"}}
CHAT: Facts = {"name": "chat", "model": {"served_name": "acme/chat"}, "replicas": 2, "engine": {"type": "simulator"}, "route": {"path": "/chat"}}
FILE: Facts = {
    "llm_d_charts": CHARTS,
    "llm_d_release": "scheduler-0.7",
    "llm_d_gateway": {"provider": "envoy_gateway", "service_type": "ClusterIP"},
    "llm_d_model_services": [SIM],
}


def objects(**options: t.Any) -> list[Facts]:
    return copy.deepcopy(definitions(plan({**FILE, **options})))


def differences(before: list[Facts], after: Facts, unread: t.Sequence[str] = ()) -> list[str]:
    """The changes that a run of the file with these options would make to these objects."""
    planned = plan({**FILE, **after})
    needs = {**planned["preflight"], "planned": next(iter(running(definitions(planned))))}
    return changes({"running": {"objects": before, "unread": list(unread)}}, needs)


def test_an_instance_is_known_by_its_objects_wherever_they_are() -> None:
    everywhere = {"llm_d_scheduler_namespace": "pickers", "llm_d_gateway": {"service_type": "ClusterIP", "namespace": "edge"}}
    blue = {"llm_d_instance": "blue", "llm_d_namespace": "b", "llm_d_release": "router-0.10", "llm_d_model_services": [SIM, CHAT], **everywhere}
    deployments = running([*objects(**blue), *objects(), {"kind": "Deployment", "metadata": {"name": "other", "namespace": "llm-d"}}])
    assert [description(each) for each in deployments] == [
        "blue in namespace b: router-0.10, chat (2 servers), sim (4 servers)",
        "llm-d in namespace llm-d: scheduler-0.7, sim (4 servers)",
    ]
    assert deployments[0]["gateways"] == {"edge/llm-d-gateway": "envoy-gateway"}
    assert deployments[1]["services"]["sim"]["servers"] == {
        "sim-decode": {"replicas": 4, "image": "ghcr.io/llm-d/llm-d-inference-sim:v0.10.2", "model": "acme/sim"}
    }
    assert deployments[1]["services"]["sim"]["scorers"] == "queue 1, kv_cache 2, prefix 3"
    assert running([]) == [] and running(definitions(plan({"llm_d_scope": "prerequisites"}))) == []


@pytest.mark.parametrize(("name", "image"), [(name, row["epp_image"]) for name, row in RELEASES.items()])
def test_the_release_line_is_derived_from_the_endpoint_picker_image(name: str, image: str) -> None:
    assert line_of(image) == name and line_of(f"mirror.example.com:5000/m/{image.partition('/')[2]}@sha256:{'0' * 64}") == name
    assert line_of("acme/epp:own") == "" == line_of("")


@pytest.mark.parametrize("text", ["", "[", "- a", "plugins: 7", "kind: EndpointPickerConfig\nschedulingProfiles: [{plugins: [{pluginRef: gone, weight: x}]}]"])
def test_an_invalid_endpoint_picker_configuration_has_no_scorers(text: str) -> None:
    assert scorers(text, "router-0.10") in ("", "no scorers")


def test_no_change_is_reported_for_equal_missing_or_foreign_deployments() -> None:
    assert differences(objects(), {}) == []
    assert differences([], {}) == [], "there is no deployment yet"
    assert differences(objects(llm_d_instance="other"), {}) == [], "it is another instance"
    assert differences(objects(llm_d_namespace="elsewhere"), {}) == [], "it is in another namespace"
    scaled = [each for each in objects() if each["kind"] != "Gateway"]
    assert differences(scaled, {}, ["Gateway"]) == [] and differences([], {}, ["Deployment", "Gateway"]) == [], "a kind that is not read is no difference"


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"llm_d_release": "router-0.10"}, ["release line: from scheduler-0.7 to router-0.10"]),
        (
            {"llm_d_model_services": [{**SIM, "scheduler": {"preset": "queue"}}]},
            ["sim: scorers: from queue 1, kv_cache 2, prefix 3 to queue 1"],
        ),
        (
            {"llm_d_model_services": [{**SIM, "scheduler": {"preset": "balanced", "scorers": {"prefix": 5}}}]},
            ["sim: scorers: from queue 1, kv_cache 2, prefix 3 to queue 1, kv_cache 2, prefix 5"],
        ),
        ({"llm_d_model_services": [{**SIM, "replicas": 1}]}, ["sim: servers sim-decode: from 4 to 1"]),
        (
            {"llm_d_model_services": [{**SIM, "model": {"served_name": "acme/other"}}]},
            ["sim: model of sim-decode: from acme/sim to acme/other"],
        ),
        (
            {"llm_d_images": {"simulator": "acme/sim:2"}},
            ["sim: image of sim-decode: from ghcr.io/llm-d/llm-d-inference-sim:v0.10.2 to acme/sim:2"],
        ),
        (
            {"llm_d_images": {"epp": "acme/epp:2"}},
            ["sim: image of the endpoint picker: from ghcr.io/llm-d/llm-d-inference-scheduler:v0.7.1 to acme/epp:2"],
        ),
        (
            {"llm_d_gateway": {"provider": "istio", "service_type": "ClusterIP"}},
            ["gateway: from Gateway llm-d/llm-d-gateway of class envoy-gateway to Gateway llm-d/llm-d-gateway-istio of class istio"],
        ),
        (
            {"llm_d_gateway": {"provider": "standalone"}},
            ["gateway: from Gateway llm-d/llm-d-gateway of class envoy-gateway to a proxy beside each endpoint picker"],
        ),
        ({"llm_d_model_services": [CHAT]}, ["chat: added, with 2 servers", "sim: removed, with 4 servers"]),
        ({"llm_d_model_services": [CHAT], "llm_d_prune": {"services": False}}, ["chat: added, with 2 servers"]),
    ],
)
def test_each_relevant_difference_is_reported_as_a_line(options: Facts, lines: list[str]) -> None:
    assert differences(objects(), options) == lines


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_another_model_behind_the_same_served_name_is_reported(engine: str) -> None:
    served = {"name": "m", "model": {"uri": "hf://acme/big", "served_name": "chat"}, "engine": {"type": engine}}
    other = {**served, "model": {"uri": "hf://acme/small", "served_name": "chat"}}
    before = objects(llm_d_model_services=[served])
    assert differences(before, {"llm_d_model_services": [served]}) == []
    line = "m: model of m-decode: from acme/big, served as chat to acme/small, served as chat"
    assert differences(before, {"llm_d_model_services": [other]}) == [line]


def test_changed_server_arguments_are_reported_without_their_values() -> None:
    """A run replaces the servers because of them."""
    other = {**SIM, "engine": {"type": "simulator", "max_model_len": 8192, "args": ["--seed=7", "--api-key=sesame-open"]}}
    before = objects(llm_d_model_services=[other])
    assert differences(before, {"llm_d_model_services": [other]}) == []
    assert differences(before, {}) == ["sim: other arguments of sim-decode: --api-key, --max-model-len, --seed"]
    newer = {"llm_d_images": {"simulator": "acme/sim:2"}}
    assert differences(before, newer) == ["sim: image of sim-decode: from ghcr.io/llm-d/llm-d-inference-sim:v0.10.2 to acme/sim:2"]


def test_parameters_without_other_scorers_are_a_line() -> None:
    before = objects()
    for each in before:
        if each["kind"] == "ConfigMap":
            each["data"] = {name: value + "\n# changed\n" for name, value in each["data"].items()}
    assert differences(before, {}) == ["sim: other parameters of the endpoint picker, the same scorers"]


def test_a_number_that_an_autoscaler_sets_is_no_difference() -> None:
    scaled = {**SIM, "autoscaling": {"min": 1, "provider": "external"}}
    scaled.pop("replicas")
    assert [line for line in differences(objects(), {"llm_d_model_services": [scaled]}) if "servers" in line] == []


def test_preflight_output_starts_with_errors_and_fits_the_terminal_width() -> None:
    planned = plan(dict(FILE))
    before = running(objects(llm_d_release="router-0.10", llm_d_model_services=[{**SIM, "replicas": 9}]))
    needs = {**planned["preflight"], "planned": next(iter(running(definitions(planned))))}
    findings = judge({**cluster(version="v1.20.1"), "user": "jane"}, needs)
    lines = shown(findings, ["release line: from router-0.10 to scheduler-0.7", "sim: " + "long " * 40], needs)
    assert before and findings[0].severity == "error" and lines[0].startswith("preflight: ")
    assert lines[1].startswith(f"error {findings[0].id}: ") and [line for line in lines if len(line) > WIDTH and " " in line.strip()] == []
    at = lines.index("this changes an existing deployment: llm-d in namespace llm-d")
    assert lines[at + 1] == "  release line: from router-0.10 to scheduler-0.7" and not any(line.startswith(("error", "warning")) for line in lines[at:])
    assert shown([], [], needs) == ["preflight: nothing is missing"]
