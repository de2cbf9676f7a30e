"""Autoscalers pass the real schemas, scale the rendered workloads, and query metrics of the engine."""

from __future__ import annotations

import functools
import itertools
import json
import re
import typing as t

import jsonschema
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.releases.engines import FIRST_TOKEN, SERVED

from . import definitions_of_others as others
from .gateway_cases import CHARTS, ROOT, objects

Facts = dict[str, t.Any]
KUBERNETES = "k8s.io/kubernetes@v1.34.4"
KINDS = ("HorizontalPodAutoscaler", "ScaledObject")
CPU_AND_PODS = {"queue": 5, "requests": 20.5, "kv_cache": 0.85, "cpu": 70}
METRICS = {"queue": 5, "requests": 20.5, "kv_cache": 0.85, "requests_per_second": 3, "ttft_p99": 1.5, "gpu": 80}
SCALING: dict[str, Facts] = {
    "hpa": {"provider": "hpa", "min": 2, "max": 8, "metrics": CPU_AND_PODS, "scale_up_stabilization_seconds": 0},
    "keda": {"provider": "keda", "min": 2, "max": 8, "metrics": METRICS, "prometheus": "https://prometheus.monitoring:9090/api"},
    "keda to none": {"provider": "keda", "min": 0, "max": 8, "metrics": METRICS, "prometheus": "https://prometheus.monitoring:9090/api"},
}
SHAPES: dict[str, Facts] = {
    "one pod each": {},
    "groups": {"accelerator": {"per_replica": 16, "nodes": 2}},
    "prefill apart": {"scheduler": {"preset": "disaggregated"}, "prefill": {}},
    "a cache metric with labels": {"scheduler": {"preset": "balanced", "kv_cache_metric": "vllm:gpu_cache_usage_perc{model_name=a}"}},
}


def made(provider: str, shape: str) -> list[Facts]:
    service: Facts = {"name": "llama", "model": {"uri": "hf://org/llama"}, "autoscaling": SCALING[provider], **SHAPES[shape]}
    if "prefill" in service:
        service["prefill"] = {"autoscaling": SCALING[provider]}
    return objects(plan({"llm_d_charts": {**CHARTS, "leader_worker_set": "/c/lws"}, "llm_d_model_services": [service]}))


@functools.cache
def built_in() -> jsonschema.Draft202012Validator:
    """A validator for the HorizontalPodAutoscaler of the API server's OpenAPI document; an unknown field is an error."""
    path = others.folder(KUBERNETES) / "api/openapi-spec/v3/apis__autoscaling__v2_openapi.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    schemas = {name: others.strict(_plain(schema)) for name, schema in document["components"]["schemas"].items()}
    kind = "#/components/schemas/io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"
    return jsonschema.Draft202012Validator({"components": {"schemas": schemas}, "$ref": kind})


def _plain(schema: t.Any) -> t.Any:
    """A schema in which `allOf` of one reference, next to a default, is replaced by that reference."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if len(schema.get("allOf") or ()) == 1:
        return _plain(schema["allOf"][0])
    return {key: _plain(value) for key, value in schema.items()}


def problems(item: Facts) -> list[str]:
    if item["kind"] == "ScaledObject":
        return others.problems(item)
    return [f"{error.json_path}: {error.message}" for error in built_in().iter_errors(item)]


@pytest.mark.parametrize(("provider", "shape"), [each for each in itertools.product(SCALING, SHAPES) if each != ("keda to none", "prefill apart")])
def test_autoscalers_pass_the_schema_and_scale_what_is_there(provider: str, shape: str) -> None:
    rendered = made(provider, shape)
    scalers = [item for item in rendered if item["kind"] in KINDS]
    assert len(scalers) == (2 if shape == "prefill apart" else 1)
    there = {(item["apiVersion"], item["kind"], item["metadata"]["name"]): item for item in rendered}
    for item in scalers:
        assert not problems(item), item["metadata"]["name"]
        target = item["spec"]["scaleTargetRef"]
        scaled = there[(target["apiVersion"], target["kind"], target["name"])]
        assert "replicas" not in scaled["spec"] and scaled["metadata"]["namespace"] == item["metadata"]["namespace"]


@pytest.mark.parametrize(
    ("provider", "place", "value"),
    [
        ("hpa", ("spec", "maxReplica"), 3),
        ("hpa", ("spec", "minReplicas"), "2"),
        ("hpa", ("spec", "behavior", "scaleDown", "stabilizationWindow"), 3),
        ("keda", ("spec", "maxReplicas"), 3),
        ("keda", ("spec", "triggers"), {}),
        ("keda", ("spec", "advanced", "horizontalPodAutoscalerConfig", "behavior", "scaleUp", "seconds"), 1),
    ],
)
def test_invalid_autoscalers_are_refused_by_the_schema(provider: str, place: tuple[str, ...], value: t.Any) -> None:
    item = next(each for each in made(provider, "one pod each") if each["kind"] in KINDS)
    inner = item
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    assert problems(item)


def test_our_number_is_where_the_scale_subresource_has_it_and_nowhere_when_others_scale() -> None:
    """`kubectl scale` writes the same field as we do, for both kinds of servers; where another controller scales, we do not write it."""
    (crd,) = [item for item in others.definitions("leaderworkerset.x-k8s.io") if item["metadata"]["name"].startswith("leaderworkersets.")]
    scale = crd["spec"]["versions"][0]["subresources"]["scale"]
    assert scale["labelSelectorPath"]
    for path, shape in ((".spec.replicas", {}), (scale["specReplicasPath"], SHAPES["groups"])):  # the first is that of Deployments
        for number in ({"replicas": 3}, {"autoscaling": {"provider": "external", "min": 2}}):
            service = {"name": "llama", "model": {"uri": "hf://org/llama"}, **number, **shape}
            rendered = objects(plan({"llm_d_charts": {**CHARTS, "leader_worker_set": "/c/lws"}, "llm_d_model_services": [service]}))
            (server,) = [item for item in rendered if item["metadata"]["name"] == "llama-decode"]
            assert server["kind"] == ("LeaderWorkerSet" if shape else "Deployment")
            assert functools.reduce(lambda node, key: node.get(key, {}), path.strip(".").split("."), server) == number.get("replicas", {})


def test_the_container_that_is_measured_is_there() -> None:
    rendered = made("hpa", "one pod each")
    (metric,) = [entry for item in rendered if item["kind"] == KINDS[0] for entry in item["spec"]["metrics"] if entry["type"] == "ContainerResource"]
    pod = next(item for item in rendered if item["metadata"]["name"] == "llama-decode" and item["kind"] == "Deployment")["spec"]["template"]["spec"]
    (container,) = [each for each in pod["containers"] if each["name"] == metric["containerResource"]["container"]]
    assert container["resources"]["requests"]["cpu"]


def test_the_simulator_has_each_metric_that_autoscalers_query() -> None:
    """The simulator's source has each of vLLM's metrics."""
    go_mod = (ROOT / "roles/local_cluster/files/go/simulator/go.mod").read_text(encoding="utf-8")
    module = re.search(r"(github.com/llm-d/llm-d-inference-sim) (v\S+)", go_mod)
    sources = others.folder("@".join(module.groups())).glob("pkg/**/*.go")
    text = "".join(path.read_text(encoding="utf-8") for path in sources if not path.name.endswith("_test.go"))
    wanted = [SERVED, FIRST_TOKEN, "vllm:num_requests_waiting", "vllm:num_requests_running", "vllm:kv_cache_usage_perc"]
    assert [name for name in wanted if f'"{name}"' not in text] == []
