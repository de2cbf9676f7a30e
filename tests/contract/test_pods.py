"""Pods with every option set pass the real schema of a pod template, and claims that of a claim: LeaderWorkerSet's CRD has both."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render

from . import definitions_of_others as others
from .gateway_cases import CHARTS, ROOT, objects

Facts = dict[str, t.Any]
PLACED: Facts = {
    "labels": {"example.com/team": "research"},
    "node_selector": {"cloud.google.com/gke-tpu-topology": "2x4"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "service_account": "bucket-reader",
    "resources": {"requests": {"cpu": 4, "memory": "16Gi"}, "limits": {"memory": "32Gi"}},
    "scheduler": {
        "preset": "precise_prefix",
        "verbosity": 5,
        "args": ["--tracing=true"],
        "env": {"A": "b"},
        "resources": {"limits": {"cpu": 1}},
    },
}
ENGINE: Facts = {
    "image": "mine/vllm:v1",
    "prefix_caching": True,
    "gpu_memory_utilization": 0.8,
    "quantization": "fp8",
    "log_level": "debug",
    "startup_timeout": 3600,
    "env": {"AWS_ENDPOINT_URL": "http://minio:9000"},
}
CASES: dict[str, Facts] = {
    "a claim of ours": {"model": {"uri": "hf://o/m", "revision": "v1", "token_secret": "hf"}, "storage": {"claim": True, "size": "80Gi", "class_name": "fast"}},
    "caches": {
        "model": {"uri": "hf://o/m"},
        "cache": {
            "cpu_size": "8Gi",
            "eviction": "lfu",
            "disk": {"size": "90Gi", "class_name": "fast"},
            "shared": {"password_secret": "pw", "server": {"size": "8Gi", "persistence": {"size": "20Gi", "class_name": "fast", "delete_claim": True}}},
        },
    },
    "a bucket": {"model": {"uri": "s3://b/m", "bucket_secret": "reader"}},
    "a claim that is there": {"model": {"uri": "pvc://c/m"}},
    "an image": {"model": {"uri": "file:///m"}},
}


def file_of(name: str) -> Facts:
    service = {"name": "a", "engine": ENGINE, **PLACED, **CASES[name]}
    tokenizer = {"tokenizer": "acme/tokenizer:v1"}  # for precise prefix matching, where the weights are in an image
    return {"llm_d_charts": CHARTS, "llm_d_model_services": [service], "llm_d_image_pull_secrets": ["mirror"], "llm_d_images": tokenizer}


def grouped(template: Facts, claims: t.Sequence[Facts] = ()) -> Facts:
    """A LeaderWorkerSet of these pods, whose CRD describes pods field by field."""
    parts: Facts = {"workerTemplate": template}
    if claims:
        parts["volumeClaimTemplates"] = list(claims)
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {"leaderWorkerTemplate": parts},
    }


@pytest.mark.parametrize("name", CASES)
def test_pods_pass_the_schema(name: str) -> None:
    deployments = [item for item in objects(plan(file_of(name))) if item["kind"] == "Deployment"]
    assert [item["metadata"]["name"] for item in deployments] == ["a-epp", *(["a-cache"] if name == "caches" else []), "a-decode"]
    for item in deployments:
        template = item["spec"]["template"]
        assert not others.problems(grouped(template)), item["metadata"]["name"]
        mistake = {**template, "spec": {**template["spec"], "imagePullSecret": "mirror"}}
        assert others.problems(grouped(mistake)), "an unknown field is a problem"


def test_a_claim_passes_the_schema() -> None:
    planned = plan(file_of("a claim of ours"))
    (rendered,) = render(ROOT / "roles/model_service/templates/claims.yml.j2", planned)
    pod = next(item for item in objects(planned) if item["kind"] == "Deployment")["spec"]["template"]
    claim = {**rendered, "metadata": {}}
    assert not others.problems(grouped(pod, [claim]))
    assert others.problems(grouped(pod, [{**claim, "spec": {**claim["spec"], "storageClass": "fast"}}]))
