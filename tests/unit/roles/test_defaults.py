"""The default of every option: fails if a default changes or is missing."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import Field
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES
from planned_pods import spec

S = "llm_d_model_services[]"
# All others are empty, or have none.
DEFAULTS: dict[str, t.Any] = {
    f"{S}.model.token_key": "HF_TOKEN",
    f"{S}.model.api_key.key": "API_KEY",
    f"{S}.autoscaling.min": 1,
    f"{S}.autoscaling.scale_up_stabilization_seconds": 60,
    f"{S}.accelerator.data": 1,
    f"{S}.accelerator.expert": False,
    f"{S}.accelerator.pipeline": 1,
    f"{S}.scheduler.grpc_port": 9002,
    f"{S}.autoscaling.scale_down_stabilization_seconds": 300,
    f"{S}.prefill.autoscaling.min": 1,
    f"{S}.prefill.autoscaling.scale_up_stabilization_seconds": 60,
    f"{S}.prefill.autoscaling.scale_down_stabilization_seconds": 300,
    f"{S}.accelerator.per_replica": 1,
    f"{S}.accelerator.nodes": 1,
    f"{S}.engine.type": "vllm",
    f"{S}.engine.port": 8000,
    f"{S}.engine.simulator.kv_cache_size": 1024,
    f"{S}.scheduler.replicas": 1,
    f"{S}.scheduler.verbosity": 2,
    f"{S}.route.path": "/",
    f"{S}.route.timeouts.request": "0s",
    f"{S}.storage.claim": False,
    f"{S}.storage.delete_claim": False,
    f"{S}.cache.disk.medium": "node",
    f"{S}.cache.shared.compression": "none",
    f"{S}.cache.shared.password_key": "password",
    f"{S}.cache.shared.server.eviction": "allkeys-lru",
    f"{S}.cache.shared.server.persistence.delete_claim": False,
    f"{S}.warmup.api": "chat_completions",
    f"{S}.warmup.suspend": False,
    f"{S}.model.adapters_at_runtime": False,
    "llm_d_gateway.provider": "envoy_gateway",
    "llm_d_gateway.install": True,
    "llm_d_gateway.create": True,
    "llm_d_gateway.service_type": "LoadBalancer",
    "llm_d_gateway.certificate_issuer.kind": "ClusterIssuer",
    "llm_d_gateway.listener.name": "http",
    "llm_d_gateway.listener.port": 80,
    "llm_d_gateway.listener.protocol": "HTTP",
    "llm_d_gateway.listeners[].name": "http",
    "llm_d_gateway.listeners[].port": 80,
    "llm_d_gateway.listeners[].protocol": "HTTP",
    "llm_d_gateway.pool_version": "v1",
    "llm_d_gateway.openshift_route.enabled": False,
    "llm_d_gateway.openshift_route.timeout": "3600s",
    "llm_d_gateway.traffic.load_balancing": "LEAST_REQUEST",
    "llm_d_gpus.operator": "none",
    "llm_d_gpus.install": True,
    "llm_d_gpus.approval": "Automatic",
    "llm_d_gpus.gaudi.system": "rhel_9.4",
    "llm_d_gpus.node_feature_discovery": True,
    "llm_d_gpus.metrics": False,
    "llm_d_gpus.checks.pods": True,
    "llm_d_gpus.checks.metrics": True,
    "llm_d_gpus.pools[].sharing": "exclusive",
    "llm_d_monitoring.scrape": False,
    "llm_d_monitoring.interval": 15,
    "llm_d_monitoring.alerts": False,
    "llm_d_tracing.sampling": 0.1,
    "llm_d_benchmark.quick": False,
    "llm_d_benchmark.seconds": 30,
    "llm_d_benchmark.warmup_seconds": 10,
    "llm_d_benchmark.api": "completions",
    "llm_d_benchmark.validate_certs": True,
    "llm_d_benchmark.request_timeout": 300,
    "llm_d_benchmark.max_lag": 0.1,
    "llm_d_benchmark.max_lag_share": 0.1,
    "llm_d_benchmark.job.timeout": 3600,
    "llm_d_release": "router-0.11",
    "llm_d_namespace": "llm-d",
    "llm_d_instance": "llm-d",
    "llm_d_state": "present",
    "llm_d_platform": "kubernetes",
    "llm_d_scope": "cluster",
    "llm_d_request_project": False,
    "llm_d_wait_timeout": 300,
    "llm_d_artifacts_dir": "artifacts",
    "llm_d_artifacts.config_map": False,
    "llm_d_artifacts.s3.prefix": "llm-d",
    "llm_d_adopt": False,
    "llm_d_insecure_charts": False,
    "llm_d_events": True,
    "llm_d_force_removal": False,
    "llm_d_confirm": False,
    "llm_d_preflight.images": "warning",
    "llm_d_preflight.node_autoscaler": "detect",
    "llm_d_preflight.wait": 0,
    "llm_d_prune.claims": False,
    "llm_d_prune.services": True,
    "llm_d_image_pull_policy": "IfNotPresent",
    "llm_d_run_as_user": 65532,
}


def defaults(fields: t.Mapping[str, Field], path: str = "") -> t.Iterator[tuple[str, t.Any]]:
    """(path, default) of every option with a default that is not empty."""
    for name, field in fields.items():
        place = f"{path}.{name}".lstrip(".")
        if field.default not in (None, [], {}):
            yield place, field.default
        yield from defaults(field.options or {}, place)
        yield from defaults((field.elements.options if field.elements else None) or {}, f"{place}[]")


def test_the_defaults_are_these() -> None:
    assert dict(defaults(VARIABLES)) == DEFAULTS


def test_a_file_of_two_lines_has_them() -> None:
    planned = plan({"llm_d_model_services": [{"name": "llama", "model": {"uri": "hf://org/llama"}}]})
    (service,) = planned["services"]
    assert (planned["namespace"], planned["instance"], planned["gateway"]["provider"]) == ("llm-d", "llm-d", "envoy_gateway")
    for security in (spec(service[part])["securityContext"] for part in ("server", "scheduler")):
        assert (security["runAsUser"], security["runAsGroup"], security["fsGroup"]) == (65532,) * 3
    assert service["server"]["replicas"] == service["scheduler"]["replicas"] == 1 and service["pool"]["target_ports"] == [8000]


def test_0_leaves_the_user_to_the_cluster() -> None:
    planned = plan({"llm_d_run_as_user": 0, "llm_d_model_services": [{"name": "llama", "model": {"uri": "hf://org/llama"}}]})
    assert not {"runAsUser", "runAsGroup", "fsGroup"} & set(spec(planned["services"][0]["server"])["securityContext"])
