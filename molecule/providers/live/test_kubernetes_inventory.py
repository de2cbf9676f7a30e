"""inventories/kubernetes with a simulator, on the local cluster as on any other: images are pulled by upstream's names. Needs `make site` first.

The overrides are those that this host requires: Envoy Gateway and the release line that can be compiled here, charts and CRDs from a folder, since the host
has no internet, and an endpoint picker that fits 2 cores.
"""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import plays
from kubernetes import client, config

from tools.manifests import user_file

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
HERE = ("llm_d_kubeconfig", "llm_d_helm", "llm_d_charts", "llm_d_crd_sources", "llm_d_images", "llm_d_preflight")


def laid_over() -> dict[str, t.Any]:
    """The variables that override those of the inventory."""
    local, (service,) = user_file("local"), user_file("kubernetes")["llm_d_model_services"]
    simulated = {
        "name": service["name"],
        "model": {"served_name": "meta-llama/Llama-3.1-8B-Instruct"},
        "replicas": service["replicas"],
        "engine": {"type": "simulator", "block_size": 16},
        "scheduler": {**service["scheduler"], "resources": local["llm_d_model_services"][0]["scheduler"]["resources"]},
    }
    gateway = {"provider": "envoy_gateway", "service_type": "ClusterIP"}
    return {**{name: local[name] for name in HERE}, "llm_d_release": local["llm_d_release"], "llm_d_gateway": gateway, "llm_d_model_services": [simulated]}


def test_the_kubernetes_inventory_deploys_a_stack_with_upstreams_images(tmp_path: Path) -> None:
    over = laid_over()
    plays.well("inventories/local", "playbooks/teardown.yml", tmp_path)
    verdict, _out = plays.site("inventories/kubernetes", tmp_path, **over)
    assert verdict["ok"], [claim for claim in verdict["claims"] if not claim["ok"]]
    assert "changed=0 " in plays.site("inventories/kubernetes", tmp_path, **over)[1]
    config.load_kube_config(KUBECONFIG)
    core = client.CoreV1Api()
    pods = [pod for space in ("llm-d", "envoy-gateway-system") for pod in core.list_namespaced_pod(space).items]
    images = {container.image for pod in pods if not pod.metadata.deletion_timestamp for container in pod.spec.containers}
    assert {image.rpartition(":")[0] for image in images} == {
        "ghcr.io/llm-d/llm-d-inference-scheduler",
        "ghcr.io/llm-d/llm-d-inference-sim",
        "docker.io/envoyproxy/gateway",
        "docker.io/envoyproxy/envoy",
    }
    plays.well("inventories/kubernetes", "playbooks/teardown.yml", tmp_path, **over)
    back, _out = plays.site("inventories/local", tmp_path)
    assert back["ok"] and "sim/serving" in {claim["id"] for claim in back["claims"]}
    assert not [name for name in (item.metadata.name for item in client.AppsV1Api().list_namespaced_deployment("llm-d").items) if name.startswith("llama")]
