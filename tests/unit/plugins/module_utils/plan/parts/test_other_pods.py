# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Additions of users to warm-ups, cache servers, benchmarks and GPU tests."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.k8s_job_objects import definitions as job_of
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.shown import without_additions
from ansible_collections.llm_d.inference.plugins.module_utils.plan.gpus.gpu_checks import pods_of_checks
from ansible_collections.llm_d.inference.plugins.module_utils.validation import benchmark_runs
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions

Facts = dict[str, t.Any]
ADDED: Facts = {
    "pod": {"runtimeClassName": "nvidia", "tolerations": [{"key": "a", "operator": "Exists"}], "labels": {"example.com/cost": "1"}},
    "container": {"securityContext": {"seLinuxOptions": {"level": "s0"}}},
}
SERVICE: Facts = {
    "name": "a",
    "model": {"uri": "hf://o/m"},
    "warmup": {"prompts": ["You are the patient assistant of a shop for boots and shoes."], "schedule": "@hourly"},
    "cache": {"cpu_size": "8Gi", "shared": {"password_secret": "pw", "server": {"size": "32Gi"}}},
}
POOL: Facts = {"name": "p", "node_selector": {"pool": "a100"}, "product": "A100-80GB", "gpus_per_node": 1}
# Where each kind of pod has its block.
PLACES = ("llm_d_model_services[0].warmup", "llm_d_model_services[0].cache.shared.server", "llm_d_benchmark.job", "llm_d_gpus.checks")


def file_of(place: str = "", added: Facts | None = None) -> Facts:
    own = {each: (added or {}) if each == place else {} for each in PLACES}
    shared = {**SERVICE["cache"]["shared"], "server": {"size": "32Gi", **own[PLACES[1]]}}
    service = {**SERVICE, "warmup": {**SERVICE["warmup"], **own[PLACES[0]]}, "cache": {**SERVICE["cache"], "shared": shared}}
    return {
        "llm_d_charts": {"envoy_gateway": "/c", "gpu_operator": "/c"},
        "llm_d_model_services": [service],
        "llm_d_benchmark": {"job": {"image": "python:3.12-slim", **own[PLACES[2]]}},
        "llm_d_gpus": {"operator": "nvidia_helm", "pools": [POOL], "checks": own[PLACES[3]]},
    }


def templates(file: Facts) -> dict[str, Facts]:
    """The pod templates as they are applied, by the place of their block."""
    planned = plan(file)
    by_kind = {item["kind"]: item for item in definitions(planned) if item["metadata"]["name"] in ("a-warmup", "a-cache")}
    (run,) = benchmark_runs.runs(planned)
    job = {"run_as_user": 5, "resources": None, "patch": None, **run["job"]}
    (test,) = planned["gpus"]["checks"]["pods"]
    return {
        PLACES[0]: by_kind["CronJob"]["spec"]["jobTemplate"]["spec"]["template"],
        PLACES[1]: by_kind["Deployment"]["spec"]["template"],
        PLACES[2]: job_of({"job": job, "processes": None}, "http://a", "benchmark", b"", {})[0]["spec"]["template"],
        PLACES[3]: {key: test["pod"][key] for key in ("metadata", "spec")},
    }


@pytest.mark.parametrize("place", PLACES)
def test_a_block_reaches_its_pod_and_no_other(place: str) -> None:
    before, after = templates(file_of()), templates(file_of(place, ADDED))
    assert [each for each in PLACES if before[each] != after[each]] == [place]
    spec, was = after[place]["spec"], before[place]["spec"]
    assert (spec["runtimeClassName"], spec["tolerations"]) == ("nvidia", ADDED["pod"]["tolerations"])
    assert after[place]["metadata"]["labels"] == {**before[place]["metadata"]["labels"], "example.com/cost": "1"}
    assert spec["containers"][0]["securityContext"] == {**was["containers"][0]["securityContext"], "seLinuxOptions": {"level": "s0"}}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("added", "path"),
    [
        ({"container": {"image": "x/y:1"}}, "container.image"),
        ({"container": {"command": ["x"]}}, "container.command"),
        ({"container": {"args": ["x"]}}, "container.args"),
        ({"pod": {"restartPolicy": "Always"}}, "pod.restartPolicy"),
        ({"pod": {"imagePullSecrets": [{"name": "x"}]}}, "pod.imagePullSecrets[0].name"),
        ({"pod": {"serviceAccount": "x"}}, "pod.serviceAccount"),
        ({"pod": {"runtimeClass": "x"}}, "pod.runtimeClass"),
        ({"pod": {"volumes": [{"emptyDir": {}}]}}, "pod.volumes[0].name"),
        ({"pod": {"labels": {"llm-d.ai/model-service": "b"}}}, "pod.labels.llm-d.ai/model-service"),
        ({"pod": {"labels": {"gateway.networking.k8s.io/gateway-name": "b"}}}, "pod.labels.gateway.networking.k8s.io/gateway-name"),
        ({"container": {"volumeMounts": [{"name": "x"}]}}, "container.volumeMounts[0].mountPath"),
    ],
)
def test_fields_that_the_plan_decides_are_refused_at_their_path(place: str, added: Facts, path: str) -> None:
    assert [problem.path for problem in problems(file_of(place, added))] == [f"{place}.{path}"]


def test_changing_the_pool_or_gpu_limit_of_a_gpu_test_pod_is_refused() -> None:
    assert [problem.path for problem in problems(file_of(PLACES[3], {"pod": {"nodeSelector": {"pool": "x"}}}))] == ["llm_d_gpus.checks.pod.nodeSelector.pool"]
    other = {"container": {"resources": {"limits": {"nvidia.com/gpu": 2}}}}
    assert [problem.path for problem in problems(file_of(PLACES[3], other))] == ["llm_d_gpus.checks.container.resources.limits.nvidia.com/gpu"]


@pytest.mark.parametrize("place", PLACES)
def test_the_preflight_has_the_objects_that_additions_name(place: str) -> None:
    named = {each["object"]: each["path"] for each in plan(file_of(place, {"pod": {"priorityClassName": "low"}}))["preflight"]["named"]}
    assert named["PriorityClass low"] == f"{place}.pod.priorityClassName"


def shown(file: Facts, added: bool = True) -> list[Facts]:
    """The objects that playbooks/show.yml prints, with or without additions of the file."""
    planned = plan(file) if added else without_additions(plan(file))
    return [*definitions(planned), *pods_of_checks(planned["gpus"]["checks"]), *benchmark_runs.job_definitions(planned, added)]


@pytest.mark.parametrize(("place", "kind"), [*zip(PLACES, ("CronJob", "Deployment", "Job", "Pod"), strict=True)])
def test_the_pods_are_shown_with_additions_and_without(place: str, kind: str) -> None:
    with_them, without = shown(file_of(place, ADDED)), shown(file_of(place, ADDED), added=False)
    assert without == shown(file_of())
    (changed,) = (one for one, other in zip(with_them, without, strict=True) if one != other)
    assert changed["kind"] == kind and "nvidia" in str(changed)


def test_the_shown_test_pods_are_those_of_the_run() -> None:
    planned = plan(file_of(PLACES[3], ADDED))
    assert pods_of_checks(planned["gpus"]["checks"]) == [each["pod"] for each in planned["gpus"]["checks"]["pods"]]
    (run,) = benchmark_runs.runs(plan(file_of(PLACES[2], ADDED)))
    made = job_of({"job": {"resources": None, "timeout": 3600, "patch": None, **run["job"]}, "processes": None}, "http://a", "benchmark", b"", {})[0]
    assert benchmark_runs.job_definitions(plan(file_of(PLACES[2], ADDED))) == [made]


def test_images_of_their_sidecars_are_listed() -> None:
    side = {"pod": {"initContainers": [{"name": "first", "image": "registry.example.com/first:1"}]}}
    for place in PLACES[:2]:
        assert "registry.example.com/first:1" in needed(plan(file_of(place, side)))["images"]
