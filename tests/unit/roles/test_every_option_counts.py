"""Every option of the user's file has an effect: a value other than its default changes the plan."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import Mistakes, plan, secret_definitions
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import FORMATS, Field
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES
from ansible_collections.llm_d.inference.plugins.module_utils.validation import benchmark_runs

Facts = dict[str, t.Any]
S = "llm_d_model_services"


def options(fields: t.Mapping[str, Field], path: tuple[str, ...] = ()) -> t.Iterator[tuple[tuple[str, ...], Field]]:
    """(path, field) of every option without nested options; elements of a list have the path of the list and `0`."""
    for name, field in fields.items():
        inner = next((each.options for each in (field, field.otherwise, field.elements) if each and each.options), None)
        if inner:
            yield from options(inner, (*path, name, *(("0",) if field.type == "list" else ())))
        else:
            yield (*path, name), field


def values(field: Field) -> t.Iterator[t.Any]:
    """Valid values that are not the default."""
    if field.type in ("list", "map"):
        element = field.elements or Field("str", "")
        key = FORMATS[field.keys].example if field.keys else "key"
        for value in [field.example] if isinstance(field.example, (list, dict)) else values(element):
            yield value if isinstance(value, (list, dict)) and field.example else [value] if field.type == "list" else {key: value}
        return
    if field.example is not None:
        yield field.example
    if field.format:
        yield FORMATS[field.format].example
    yield from (choice for choice in field.choices if choice != field.default)
    if field.type == "bool":
        yield not field.default
    elif field.type in ("int", "float"):
        base = field.default if field.default is not None else (field.minimum or 0)
        yield from (
            value for value in (base + 1, base + 2, base * 2, 0.5) if (field.minimum or 0) <= value <= (field.maximum or value) and value != field.default
        )
    elif field.type in ("str", "any") and not field.format and not field.choices:
        yield from ("other", True, {"a": 1})
    elif field.type == "quantity":
        yield "3"


SIM: Facts = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "route": {"path": "/sim"}}
VLLM: Facts = {"name": "llama", "model": {"uri": "hf://org/m"}}
QUEUE: Facts = {"preset": "queue"}
OTHERS: dict[str, Facts] = {"sglang": {}, "trtllm": {}, "triton": {"served_name": "m"}, "tgi": {}}
SCALED: Facts = {"provider": "hpa", "max": 9, "metrics": {"queue": 3}}
KEDA: Facts = {"provider": "keda", "max": 9, "metrics": {"queue": 3}, "prometheus": "http://prometheus:9090"}
POOL: Facts = {"name": "a", "node_selector": {"pool": "a"}}
TLS: Facts = {"protocol": "HTTPS", "name": "https", "port": 443, "tls_secret": "tls"}
# Files in which an option may have an effect; it must have one in at least one file. The option is set in the first service.
FILES: dict[str, Facts] = {
    "vllm": {S: [VLLM, SIM]},
    **{name: {S: [{**VLLM, "model": {"uri": "hf://o/m", **names}, "engine": {"type": name}, "scheduler": QUEUE}]} for name, names in OTHERS.items()},
    "simulator": {S: [{**SIM, "engine": {"type": "simulator", "simulator": {}}}]},
    "old line": {S: [VLLM], "llm_d_release": "scheduler-0.7"},
    "two versions": {S: [VLLM, {**VLLM, "name": "next", "route": {"path": "/next"}}]},
    "preset": {S: [{**VLLM, "scheduler": {"preset": "balanced"}}]},
    "sticky": {S: [{**VLLM, "scheduler": {"preset": "sticky"}}]},
    "no preset": {S: [{**VLLM, "scheduler": {"scorers": {"queue": 1}}}]},
    "queued": {S: [{**VLLM, "scheduler": {"preset": "queue", "flow_control": {"bands": [{"priority": 1}]}}}]},
    "weighted": {S: [{**VLLM, "scheduler": {"scorers": {"queue": 1}, "picker": "weighted_random"}}]},
    "prefill apart": {S: [{**VLLM, "scheduler": {"preset": "disaggregated"}, "prefill": {}}]},
    "prefill scaled": {S: [{**VLLM, "scheduler": {"preset": "disaggregated"}, "prefill": {"autoscaling": SCALED}}]},
    "prefill scaled by keda": {S: [{**VLLM, "scheduler": {"preset": "disaggregated"}, "prefill": {"autoscaling": KEDA}}]},
    "scaled": {S: [{**VLLM, "autoscaling": SCALED}]},
    "scaled by keda": {S: [{**VLLM, "autoscaling": KEDA}]},
    "scaled to none": {S: [{**VLLM, "autoscaling": {**KEDA, "min": 0}}]},
    "over nodes": {S: [{**VLLM, "accelerator": {"per_replica": 8, "nodes": 2}}]},
    "eight": {S: [{**VLLM, "accelerator": {"per_replica": 8}}]},
    "claimed": {S: [{**VLLM, "storage": {"claim": True, "size": "9Gi"}}]},
    "sized": {S: [{**VLLM, "storage": {"size": "9Gi"}}]},
    "bucket": {S: [{**VLLM, "model": {"uri": "s3://bucket/m"}}]},
    "secret": {S: [{**VLLM, "model": {"uri": "hf://org/m", "token_secret": "token"}}]},
    "claiming": {S: [{**VLLM, "accelerator": {"claim": {"device_class": "gpu.nvidia.com"}}}]},
    "prefill claiming": {S: [{**VLLM, "scheduler": {"preset": "disaggregated"}, "prefill": {"accelerator": {"claim": {"device_class": "gpu.nvidia.com"}}}}]},
    "keyed": {S: [{**VLLM, "model": {**VLLM["model"], "api_key": {"secret": "keys"}}}]},
    "cached by vllm": {S: [{**VLLM, "cache": {"cpu_size": "8Gi"}}]},
    "cached": {
        S: [
            {
                **VLLM,
                "cache": {
                    "cpu_size": "8Gi",
                    "disk": {"size": "9Gi"},
                    "shared": {"password_secret": "a", "server": {"size": "1Gi", "persistence": {"size": "3Gi"}}},
                },
            }
        ]
    },
    "cached elsewhere": {S: [{**VLLM, "cache": {"cpu_size": "8Gi", "shared": {"url": "redis://a:1"}}}]},
    "cached behind sentinels": {S: [{**VLLM, "cache": {"cpu_size": "8Gi", "shared": {"url": "redis-sentinel://a:1", "sentinel_master": "m"}}}]},
    "cached for a while": {S: [{**VLLM, "engine": {"image": "a/vllm:1"}, "cache": {"cpu_size": "8Gi", "shared": {"url": "valkey://a:1"}}}]},
    "warm": {S: [{**VLLM, "warmup": {"prompts": ["Hello"]}}]},
    "warm from a map": {S: [{**VLLM, "warmup": {"config_map": "prompts"}}]},
    "warm on a schedule": {S: [{**VLLM, "warmup": {"prompts": ["Hello"], "schedule": "@daily"}}]},
    "adapted": {S: [{**VLLM, "model": {"uri": "hf://o/m", "adapters": [{"name": "a", "source": "/a"}]}}]},
    "tolerant": {S: [{**VLLM, "tolerations": [{"key": "a"}]}]},
    "istio": {S: [VLLM], "llm_d_gateway": {"provider": "istio"}},
    "istio by hand": {S: [VLLM], "llm_d_gateway": {"provider": "istio", "connection": "ext_proc", "traffic": {}}},
    "kgateway": {S: [VLLM], "llm_d_gateway": {"provider": "kgateway"}},
    "extended": {S: [VLLM], "llm_d_gateway": {"provider": "envoy_ai_gateway"}},
    "agentgateway": {S: [VLLM], "llm_d_gateway": {"provider": "agentgateway"}},
    "shared": {S: [VLLM], "llm_d_gateway": {"provider": "none", "name": "shared", "namespace": "infra"}},
    "https": {S: [VLLM], "llm_d_gateway": {"listener": TLS}},
    "listeners": {S: [VLLM], "llm_d_gateway": {"listeners": [TLS]}},
    "issued": {S: [VLLM], "llm_d_gateway": {"certificate_issuer": {"name": "ca"}, "listener": {**TLS, "hostname": "a.example.com"}}},
    "openshift": {
        S: [VLLM],
        "llm_d_platform": "openshift",
        "llm_d_gateway": {"provider": "openshift", "service_type": "ClusterIP", "openshift_route": {"enabled": True}},
    },
    "openshift gpus": {
        S: [VLLM],
        "llm_d_platform": "openshift",
        "llm_d_gateway": {"provider": "openshift"},
        "llm_d_gpus": {"operator": "nvidia_olm", "pools": [POOL]},
    },
    "gpus": {S: [VLLM], "llm_d_gpus": {"operator": "nvidia_helm", "pools": [POOL]}},
    "shared gpus": {S: [VLLM], "llm_d_gpus": {"operator": "nvidia_helm", "pools": [{**POOL, "sharing": "time_slicing", "replicas": 4}]}},
    "mig": {
        S: [VLLM],
        "llm_d_gpus": {"operator": "nvidia_helm", "pools": [{**POOL, "product": "H100-80GB", "sharing": "mig", "profiles": {"1g.10gb": 7}}]},
    },
    "gaudi": {S: [VLLM], "llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift"}, "llm_d_gpus": {"operator": "gaudi"}},
    "traced": {S: [VLLM], "llm_d_tracing": {"endpoint": "collector.a:4317"}},
    "scraped": {S: [VLLM], "llm_d_monitoring": {"scrape": True}},
    "scraped by a Service": {S: [VLLM], "llm_d_monitoring": {"scrape": True, "prometheus": {"namespace": "monitoring"}}},
    "job": {S: [VLLM], "llm_d_benchmark": {"job": {"image": "python:3"}}},
    "baseline": {S: [VLLM], "llm_d_benchmark": {"baseline": "/old"}},
    "reports": {S: [VLLM], "llm_d_artifacts": {"s3": {"bucket": "b"}}},
    "credentials": {S: [VLLM], "llm_d_image_pull_credentials": [{"registry": "r.example.com", "username": "u", "password": "p"}]},
}
FILES |= {
    "approved by hand": {
        S: [VLLM],
        "llm_d_platform": "openshift",
        "llm_d_gateway": {"provider": "openshift"},
        "llm_d_gpus": {"operator": "nvidia_olm", "approval": "Manual"},
    },
    "gpus with checks": {S: [VLLM], "llm_d_gpus": {"operator": "nvidia_helm", "pools": [POOL]}},
    "openshift of old": {S: [VLLM], "llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift"}, "llm_d_release": "scheduler-0.7"},
    "openshift https": {
        S: [VLLM],
        "llm_d_platform": "openshift",
        "llm_d_gateway": {"provider": "openshift", "service_type": "ClusterIP", "listener": TLS, "openshift_route": {"enabled": True}},
    },
    "token": {S: [VLLM], "llm_d_model_token": "hf_x"},
    "tokenizer": {
        S: [{**VLLM, "engine": {"image": "mine/vllm:nightly", "version": "0.23.0"}, "scheduler": {"preset": "precise_prefix"}}],
        "llm_d_release": "scheduler-0.7",
    },
    "two": {S: [VLLM, SIM], "llm_d_gateway": {"listener": {**TLS, "protocol": "HTTP", "tls_secret": None}}},
}
FILES["expert"] = {
    S: [{**VLLM, "scheduler": {"plugins": [{"type": "queue-scorer"}], "profiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}]}}]
}
FILES["profiled"] = {S: [{**VLLM, "profile": "ours"}], "llm_d_profiles": {"ours": {"replicas": 3}}}
FILES["data parallel"] = {S: [{**VLLM, "scheduler": {"scorers": {"queue": 1}, "profile_handler": "data_parallel"}}], "llm_d_release": "scheduler-0.7"}
PLUGINS = [{"type": "queue-scorer"}, {"type": "max-score-picker"}, {"type": "single-profile-handler"}]
PROFILES = [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}, {"pluginRef": "max-score-picker"}]}]
# Values of options that have to satisfy more than their type.
RIGHT: dict[str, t.Any] = {
    "llm_d_gateway.drain_seconds": 600,
    "llm_d_benchmark.services": ["sim"],
    "llm_d_gateway.picker_tls": False,
    "llm_d_gpus.driver": False,
    f"{S}.0.model.token_key": "OTHER",
    f"{S}.0.route.weights": {"llama": 90, "next": 10},
    f"{S}.0.scheduler.feature_gates": ["flowControl"],
    f"{S}.0.scheduler.plugins": [{"type": "queue-scorer", "name": "queue-scorer"}],
    f"{S}.0.scheduler.profile_handler": "data_parallel",
    f"{S}.0.scheduler.profile_handler_parameters": {"primaryPort": 8000},
    f"{S}.0.scheduler.profiles": [{"name": "other", "plugins": [{"pluginRef": "queue-scorer"}]}],
    f"{S}.0.scheduler.document": {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": PLUGINS,
        "schedulingProfiles": PROFILES,
    },
    f"{S}.0.scheduler.filters": ["decode"],
    f"{S}.0.scheduler.picker_parameters": {"maxNumOfEndpoints": 2},
    "llm_d_scheduler_overrides": {"*": {"preset": "queue"}},
}
# Options that are checked against others: a value that does not agree with the rest of the file is refused.
CHECKED: dict[str, t.Any] = {
    "llm_d_gateway.listener.protocol": "HTTPS",
    "llm_d_gateway.listeners.0.protocol": "HTTP",
    "llm_d_gateway.openshift_route.termination": "passthrough",
    "llm_d_gpus.pools.0.product": "A30-24GB",
    "llm_d_image_digests": {"docker.io/acme/other:v1": "sha256:" + "0" * 64},
    f"{S}.0.engine.version": "0.1.0",
    # These are for configurations that other tools deploy: there are no encode servers.
    **{f"{S}.0.scheduler.disaggregation.encode.{name}": value for name, value in {"picker": "random", "scorers": {"queue": 1}}.items()},
}


# Options that allow what is refused otherwise, and a file that needs the option.
ALLOWING: dict[str, Facts] = {"llm_d_insecure_charts": {"llm_d_charts": {"envoy_gateway": "http://charts.example.com"}}}


def outcome(file: Facts) -> str | None:
    """Everything that is derived from a file, as JSON; None if it is refused."""
    try:
        planned = plan(file)
    except Mistakes:
        return None
    runs = {key: planned["benchmark"][key] for key in ("api", "api_key", "goodput", "max_lag", "max_lag_share", "processes", "quick", "request_timeout")}
    runs |= {key: planned["benchmark"][key] for key in ("validate_certs", "workload")}
    whole = {**planned, "benchmark": [runs, benchmark_runs.runs(planned)], "secrets of": secret_definitions(file)}
    return json.dumps(whole, sort_keys=True, default=str)


def written(file: Facts, path: tuple[str, ...], value: t.Any) -> Facts | None:
    """The file with this value at a path; None if the path does not exist, as for elements of an empty list."""
    made: t.Any = copy.deepcopy(file)
    node = made
    for key, following in zip(path[:-1], path[1:], strict=True):
        if isinstance(node, list):
            if not node:
                return None
            node = node[0]
        else:
            if node.get(key) is None:
                if following == "0":
                    return None
                node[key] = {}
            node = node[key]
        if isinstance(node, str):
            return None
    node[path[-1]] = value
    return t.cast(Facts, made)


OPTIONS = {".".join(path): (path, field) for path, field in options(VARIABLES)}


@functools.cache
def usual(name: str) -> str | None:
    return outcome(FILES[name])


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_right(name: str) -> None:
    assert usual(name)


@pytest.mark.parametrize("name", sorted(set(OPTIONS) - set(CHECKED) - set(ALLOWING)))
def test_a_value_other_than_the_default_changes_the_plan(name: str) -> None:
    path, field = OPTIONS[name]
    tried = [RIGHT[name]] if name in RIGHT else list(values(field))
    for file, value in itertools.product(FILES, tried):
        made = written(FILES[file], path, value)
        after = outcome(made) if made else None
        if after and after != usual(file):
            return
    pytest.fail(f"it changes nothing in any file: {tried}")


@pytest.mark.parametrize("name", ALLOWING)
def test_an_allowing_option_permits_a_file_that_is_refused_without_it(name: str) -> None:
    for file in FILES.values():
        refused = {**file, **ALLOWING[name]}
        allowed = written(refused, OPTIONS[name][0], True)
        if allowed and outcome(allowed):
            assert outcome(refused) is None
            return
    pytest.fail("it is allowed nowhere")


@pytest.mark.parametrize("name", CHECKED)
def test_a_value_that_conflicts_with_the_rest_of_the_file_is_refused(name: str) -> None:
    made = [written(file, OPTIONS[name][0], CHECKED[name]) for file in FILES.values()]
    assert [file for file in made if file and outcome(file) is None], "it is refused nowhere"
