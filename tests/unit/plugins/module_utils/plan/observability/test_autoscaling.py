"""Autoscaling of the servers of a service: its plan, and mistakes."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.validation import targets
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render

Facts = dict[str, t.Any]
SERVERS = Path(__file__).resolve().parents[6] / "roles/model_service/templates/servers.yml.j2"
LEFT = SERVERS.parent / "prune_autoscalers.yml.j2"
SIM: Facts = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}
LLAMA: Facts = {"name": "llama", "model": {"uri": "hf://org/llama"}}
HPA: Facts = {"provider": "hpa", "min": 2, "max": 6, "metrics": {"queue": 5}}
KEDA: Facts = {**HPA, "provider": "keda", "prometheus": "http://prometheus.monitoring:9090"}
ALL = {"hpa": HPA, "keda": KEDA, "external": {"provider": "external"}}
APART: Facts = {"scheduler": {"preset": "disaggregated"}}
PODS = 'namespace="llm-d",pod=~"sim-decode-[0-9a-z]+-[0-9a-z]{5}"'


def file_of(scaling: Facts | None, service: Facts | None = None, **options: t.Any) -> Facts:
    charts = {"envoy_gateway": "/c", "leader_worker_set": "/c"}
    known = {name: options.pop(name) for name in list(options) if name.startswith("llm_d_")}
    return {"llm_d_charts": charts, **known, "llm_d_model_services": [{**(service or SIM), **({"autoscaling": scaling} if scaling else {}), **options}]}


def objects(made: Facts) -> dict[tuple[str, str], Facts]:
    return {(item["kind"], item["metadata"]["name"]): item for item in render(SERVERS, plan(made))}


def query(metric: str, service: Facts | None = None, **options: t.Any) -> tuple[str, str]:
    rendered = objects(file_of({**KEDA, "metrics": {metric: 1}}, service, **options))
    (trigger,) = rendered[("ScaledObject", f"{(service or SIM)['name']}-decode")]["spec"]["triggers"]
    return trigger["metadata"]["query"], trigger["metricType"]


@pytest.mark.parametrize("provider", ALL)
def test_an_autoscaler_owns_the_number_of_replicas(provider: str) -> None:
    rendered = objects(file_of(ALL[provider]))
    assert "replicas" not in rendered[("Deployment", "sim-decode")]["spec"]
    kinds = {kind for kind, _name in rendered} & {"HorizontalPodAutoscaler", "ScaledObject"}
    assert kinds == {"hpa": {"HorizontalPodAutoscaler"}, "keda": {"ScaledObject"}, "external": set()}[provider]


def test_replicas_without_an_autoscaler_are_fixed_and_default_to_one() -> None:
    for options, wanted in (({}, 1), ({"replicas": 4}, 4), ({"replicas": 0}, 0)):
        assert objects(file_of(None, **options))[("Deployment", "sim-decode")]["spec"]["replicas"] == wanted


def test_a_horizontal_pod_autoscaler() -> None:
    metrics = {"queue": 5, "requests": 12.5, "kv_cache": 0.8, "cpu": 70}
    spec = objects(file_of({**HPA, "metrics": metrics, "scale_down_stabilization_seconds": 900}))[("HorizontalPodAutoscaler", "sim-decode")]["spec"]
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "sim-decode"}
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 6)
    assert spec["behavior"] == {"scaleUp": {"stabilizationWindowSeconds": 60}, "scaleDown": {"stabilizationWindowSeconds": 900}}
    *pods, cpu = spec["metrics"]
    averages = [(entry["pods"]["metric"]["name"], entry["pods"]["target"]["averageValue"]) for entry in pods]
    assert averages == [("vllm:num_requests_waiting", "5"), ("vllm:num_requests_running", "12500m"), ("vllm:kv_cache_usage_perc", "800m")]
    assert cpu["containerResource"] == {"name": "cpu", "container": "server", "target": {"type": "Utilization", "averageUtilization": 70}}


def test_a_scaled_object_has_the_same_bounds_and_patience() -> None:
    spec = objects(file_of({**KEDA, "scale_down_stabilization_seconds": 900}))[("ScaledObject", "sim-decode")]["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (2, 6)
    behavior = {"scaleUp": {"stabilizationWindowSeconds": 60}, "scaleDown": {"stabilizationWindowSeconds": 900}}
    assert spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"] == behavior


def test_each_autoscaling_metric_has_its_promql_query() -> None:
    idle = f"or sum(vllm:num_requests_running{{{PODS}}}) * 0"
    assert query("queue") == (f"sum(vllm:num_requests_waiting{{{PODS}}})", "AverageValue")
    assert query("requests") == (f"sum(vllm:num_requests_running{{{PODS}}})", "AverageValue")
    assert query("requests_per_second") == (f"sum(rate(vllm:request_success_total{{{PODS}}}[2m])) {idle}", "AverageValue")
    promql, kind = query("ttft_p99")
    assert promql == f"histogram_quantile(0.99, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket{{{PODS}}}[2m]))) >= 0 {idle}" and kind == "Value"
    pods = PODS.replace("sim", "llama")
    exported = pods.replace("namespace", "exported_namespace").replace("pod=", "exported_pod=")
    assert query("gpu", LLAMA) == (f"avg(DCGM_FI_DEV_GPU_UTIL{{{pods}}} or DCGM_FI_DEV_GPU_UTIL{{{exported}}})", "Value")


@pytest.mark.parametrize(("interval", "window", "cooldown"), [(1, "2m", 180), (30, "2m", 180), (60, "4m", 60), (120, "8m", 0), (200, "800s", 0)])
def test_a_rate_has_two_scrapes_in_its_range_however_rare_they_are(interval: int, window: str, cooldown: int) -> None:
    """Otherwise it has no value, and a service under load would count as idle."""
    made = file_of({**KEDA, "min": 0, "metrics": {"requests_per_second": 1, "ttft_p99": 2}}, llm_d_monitoring={"interval": interval})
    spec = objects(made)[("ScaledObject", "sim-decode")]["spec"]
    ranges = {duration for trigger in spec["triggers"] for duration in re.findall(r"\[(\w+)\]", trigger["metadata"]["query"])}
    assert ranges == {window} and spec["cooldownPeriod"] == cooldown


def test_missing_series_do_not_scale_down() -> None:
    (trigger,) = objects(file_of(KEDA))[("ScaledObject", "sim-decode")]["spec"]["triggers"]
    assert trigger["metadata"]["ignoreNullValues"] == "false" and trigger["metadata"]["serverAddress"] == KEDA["prometheus"]
    assert trigger["metadata"]["threshold"] == "5" and trigger["name"] == "queue"


def test_a_metric_of_ones_own_for_the_cache_is_queried() -> None:
    own = {"scheduler": {"preset": "balanced", "kv_cache_metric": "vllm:gpu_cache_usage_perc{model=a,role=b}"}}
    promql, _kind = query("kv_cache", **own)
    assert promql == f'sum(vllm:gpu_cache_usage_perc{{{PODS},model="a",role="b"}})'
    (metric,) = objects(file_of({**HPA, "metrics": {"kv_cache": 0.5}}, **own))[("HorizontalPodAutoscaler", "sim-decode")]["spec"]["metrics"]
    assert metric["pods"]["metric"] == {"name": "vllm:gpu_cache_usage_perc", "selector": {"matchLabels": {"model": "a", "role": "b"}}}


def test_prefill_and_decode_are_scaled_apart() -> None:
    apart = {"scheduler": {"preset": "disaggregated"}, "prefill": {"autoscaling": {**KEDA, "min": 3}}}
    rendered = objects(file_of(HPA, **apart))
    assert "replicas" not in rendered[("Deployment", "sim-prefill")]["spec"] and "replicas" not in rendered[("Deployment", "sim-decode")]["spec"]
    assert rendered[("HorizontalPodAutoscaler", "sim-decode")]["spec"]["scaleTargetRef"]["name"] == "sim-decode"
    spec = rendered[("ScaledObject", "sim-prefill")]["spec"]
    assert spec["scaleTargetRef"]["name"] == "sim-prefill" and spec["minReplicaCount"] == 3 and "sim-prefill-" in spec["triggers"][0]["metadata"]["query"]
    fixed = objects(file_of(HPA, **{**apart, "prefill": {"replicas": 2}}))
    assert fixed[("Deployment", "sim-prefill")]["spec"]["replicas"] == 2 and ("ScaledObject", "sim-prefill") not in fixed


def test_scaling_to_and_from_zero_follows_endpoint_picker_metrics() -> None:
    made = file_of({**KEDA, "min": 0, "metrics": {"queue": 5, "ttft_p99": 2}, "idle_seconds": 150}, llm_d_release="scheduler-0.7")
    spec = objects(made)[("ScaledObject", "sim-decode")]["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"], spec["cooldownPeriod"], spec["pollingInterval"]) == (0, 6, 30, 5), (
        "the metrics look back for 120 s"
    )
    queue, first_token, arriving = spec["triggers"]
    picker = PODS.replace("sim-decode-", "sim-epp-")
    none = f" or sum(inference_pool_ready_pods{{{picker}}}) == 0"
    assert queue["metadata"]["query"] == f"sum(vllm:num_requests_waiting{{{PODS}}}){none}"
    assert first_token["metadata"]["query"].endswith(f" or sum(vllm:num_requests_running{{{PODS}}}) * 0{none}")
    query = arriving["metadata"]["query"]
    assert query.startswith(f"sum(inference_pool_ready_pods{{{picker}}}) * 0 + ("), "no data where the endpoint picker is not scraped"
    gauges = "inference_objective_running_requests|inference_extension_flow_control_queue_size"
    assert f'(sum({{__name__=~"{gauges}",{picker}}}) or vector(0))' in query
    assert f"(sum(increase(inference_objective_request_total{{{picker}}}[2m])) or vector(0))" in query
    assert f'inference_objective_request_error_total{{{picker},error_code!~"BadRequest|' in query
    assert float(arriving["metadata"]["threshold"]) > 10_000, "it starts the first server and asks for no second"
    kept = objects(file_of({**KEDA, "min": 1}))[("ScaledObject", "sim-decode")]["spec"]
    assert len(kept["triggers"]) == 1 and not {"cooldownPeriod", "pollingInterval"} & set(kept) and "ready" not in json.dumps(kept)
    assert objects(file_of({**KEDA, "min": 0}))[("ScaledObject", "sim-decode")]["spec"]["cooldownPeriod"] == 180


def test_groups_are_scaled_as_a_whole() -> None:
    made = file_of({**KEDA}, LLAMA, accelerator={"per_replica": 16, "nodes": 2})
    rendered = objects(made)
    spec = rendered[("ScaledObject", "llama-decode")]["spec"]
    assert spec["scaleTargetRef"] == {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "llama-decode"}
    assert "replicas" not in rendered[("LeaderWorkerSet", "llama-decode")]["spec"]
    assert 'pod=~"llama-decode-[0-9]+"' in spec["triggers"][0]["metadata"]["query"], "leaders answer, workers have no metrics"


def test_every_possible_autoscaler_is_either_created_or_pruned() -> None:
    everything = {(kind, f"sim-{role}") for kind in ("HorizontalPodAutoscaler", "ScaledObject") for role in ("decode", "prefill")}
    both = {"scheduler": {"preset": "disaggregated"}, "prefill": {"autoscaling": KEDA}}
    for scaling, options in ((None, {}), (HPA, {}), (KEDA, {}), (ALL["external"], {}), (HPA, both), (HPA, {"prefill": {"autoscaling": KEDA}})):
        made = file_of(scaling, **options)
        kept = set(objects(made)) & everything
        gone = {(item["kind"], item["metadata"]["name"]) for item in render(LEFT, plan(made))}
        assert kept | gone == everything and not kept & gone, (scaling, options)


@pytest.mark.parametrize(("scaling", "kind"), [(HPA, "horizontalpodautoscalers"), (KEDA, "scaledobjects"), (ALL["external"], None), (None, None)])
def test_permissions(scaling: Facts | None, kind: str | None) -> None:
    permissions = plan(file_of(scaling))["preflight"]["permissions"]
    verbs = {
        resource: {permission["verb"] for permission in permissions if permission["resource"] == resource}
        for resource in ("horizontalpodautoscalers", "scaledobjects")
    }
    whole, read = {"get", "list", "create", "patch", "delete"}, {"list"} if scaling else set()
    assert verbs == {name: whole if name == kind else read if name == "horizontalpodautoscalers" else set() for name in verbs}


def test_validation_accepts_any_number_of_replicas_of_an_autoscaled_service() -> None:
    fixed, scaled = (plan(file_of(scaling, **options)) for scaling, options in ((None, {"replicas": 4}), (HPA, {})))
    assert [(target["replicas"], target["endpoints"]) for made in (fixed, scaled) for target in targets.services(made)] == [(4, 4), (None, None)]
    assert [group["replicas"]["count"] for made in (fixed, scaled) for group in targets.servers(made)] == [4, 1]
    assert [each["autoscaled"] for made in (fixed, scaled) for each in targets.autoscaled_services(made)] == [[], ["sim-decode"]]
    assert targets.autoscaled_services(plan(file_of(ALL["external"])))[0]["autoscaled"] == []


def test_preflight_requires_the_minimum_number() -> None:
    needs = plan(file_of(HPA, LLAMA))["preflight"]
    assert [wanted["replicas"] for wanted in needs["resources"] if wanted["server"]] == [2] and needs["autoscaling"] == {"custom.metrics.k8s.io": ["llama"]}


# {mistake: (autoscaling, other options of the service, path, part of the reason, part of the fix)}
REFUSED: dict[str, tuple[Facts, Facts, str, str, str]] = {
    "max < min": ({**HPA, "max": 1}, {}, "autoscaling.max", "less than min, which is 2", "Write 2 or more"),
    "no max": ({**HPA, "max": None}, {}, "autoscaling.max", "is missing", "such as 5"),
    "replicas too": (HPA, {"replicas": 4}, "replicas", "cannot be combined with autoscaling", "autoscaling.min: 4"),
    "replicas too, external": (ALL["external"], {"replicas": 4}, "replicas", "cannot be combined with autoscaling", "Take it out"),
    "no provider": ({"max": 2, "metrics": {"queue": 1}}, {}, "autoscaling.provider", "is missing", "hpa, keda, external"),
    "no metric": ({**HPA, "metrics": {}}, {}, "autoscaling.metrics", "is missing", "{queue: 5}"),
    "no target": ({**HPA, "metrics": {"queue": 0}}, {}, "autoscaling.metrics.queue", "0 is less than 0.001", "Write a number"),
    "no part": ({**HPA, "metrics": {"kv_cache": 80}}, {}, "autoscaling.metrics.kv_cache", "80 is more than 1", "Write a number"),
    "unknown metric": ({**HPA, "metrics": {"queues": 1}}, {}, "autoscaling.metrics.queues", "no such option", "queue"),
    "hpa asks prometheus": ({**HPA, "prometheus": "http://p"}, {}, "autoscaling.prometheus", "read by KEDA only", "provider: keda"),
    "hpa and a rate": ({**HPA, "metrics": {"ttft_p99": 2}}, {}, "autoscaling.metrics.ttft_p99", "provider: hpa", "provider: keda"),
    "keda and cpu": ({**KEDA, "metrics": {"cpu": 70}}, {}, "autoscaling.metrics.cpu", "provider: keda", "provider: hpa"),
    "keda asks nobody": ({**KEDA, "prometheus": None}, {}, "autoscaling.prometheus", "is missing", "http://"),
    "keda asks no URL": ({**KEDA, "prometheus": "prometheus:9090"}, {}, "autoscaling.prometheus", "is not a URL", "http://"),
    "gpus of a simulator": ({**KEDA, "metrics": {"gpu": 80}}, {}, "autoscaling.metrics.gpu", "vendor none", "{queue: 5}"),
    "cpu of no request": (
        {**HPA, "metrics": {"cpu": 70}},
        {"resources": {"requests": {"memory": "1Gi"}}},
        "autoscaling.metrics.cpu",
        "request no processors",
        "resources.requests",
    ),
    "external has a max": ({"provider": "external", "max": 3}, {}, "autoscaling.max", "this one is external", "Take it out"),
    "external has a metric": ({"provider": "external", "metrics": {"queue": 3}}, {}, "autoscaling.metrics.queue", "this one is external", "Take it out"),
    "hpa to none": ({**HPA, "min": 0}, {}, "autoscaling.min", "keeps the last server", "provider: keda"),
    "prefill servers and none": ({**KEDA, "min": 0}, APART, "autoscaling.min", "requests need one of each", "Write 1 or more"),
    "idle, and one stays": ({**KEDA, "idle_seconds": 150}, {}, "autoscaling.idle_seconds", "min: 0", "Take it out"),
    "idle, and someone else scales": ({"provider": "external", "min": 0, "idle_seconds": 150}, {}, "autoscaling.idle_seconds", "min: 0", "Take it out"),
    "idle for less than can be observed": (
        {**KEDA, "min": 0, "idle_seconds": 150},
        {"llm_d_monitoring": {"interval": 60}},
        "autoscaling.idle_seconds",
        "is less than 4 scrapes take, 240 s",
        "Write 240 or more, or an llm_d_monitoring.interval of 37 or less.",
    ),
    "no prefill server": (KEDA, {**APART, "prefill": {"autoscaling": {**KEDA, "min": 0}}}, "prefill.autoscaling.min", "0 is less than 1", "Write"),
    "prefill": (HPA, {"prefill": {"replicas": 1, "autoscaling": HPA}}, "prefill.replicas", "cannot be combined with autoscaling", "autoscaling.min: 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_autoscaling_options_are_refused_with_their_path_and_a_fix(case: str) -> None:
    scaling, options, place, reason, fix = REFUSED[case]
    (problem,) = problems(file_of(scaling, **options))
    assert problem.path == f"llm_d_model_services[0].{place}" and reason in problem.reason and fix in problem.fix, str(problem)


@pytest.mark.parametrize(("idle", "interval", "cooldown"), [(240, 60, 0), (120, 30, 0), (150, 37, 2), (None, 240, 0)])
def test_idle_seconds_that_the_scrape_interval_can_observe_are_accepted(idle: int | None, interval: int, cooldown: int) -> None:
    made = file_of({**KEDA, "min": 0, "idle_seconds": idle}, llm_d_monitoring={"interval": interval})
    assert objects(made)[("ScaledObject", "sim-decode")]["spec"]["cooldownPeriod"] == cooldown


@pytest.mark.parametrize("scaling", [HPA, {"provider": "external"}])
def test_a_service_that_scales_out_needs_a_claim_for_several_pods(scaling: Facts) -> None:
    stored = {"storage": {"claim": True, "size": "50Gi"}}
    (problem,) = problems(file_of(scaling, LLAMA, **stored))
    assert problem.path == "llm_d_model_services[0].storage.access_mode"
    assert not problems(file_of({**HPA, "min": 1, "max": 1}, LLAMA, **stored))
