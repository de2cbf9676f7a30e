"""The running stack, and objects of the cluster's administrators: classes, Secrets, ConfigMaps."""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import plays
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

Facts = dict[str, t.Any]
INVENTORY, NAMESPACE, KEY = "inventories/local", "llm-d", "sk-live-of-the-gateway"
SIM: Facts = {
    "name": "sim",
    "model": {"served_name": "llm-d/simulated-8b"},
    "replicas": 2,
    "engine": {"type": "simulator", "block_size": 16, "simulator": {"prefill_time_per_token": "500us", "inter_token_latency": "5ms", "kv_cache_size": 1400}},
    "scheduler": {"preset": "balanced", "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}}},
}
GATEWAY: Facts = {"provider": "envoy_gateway", "service_type": "ClusterIP"}


class Stack:
    """One gateway and the model service `sim`. artifacts: folder of its runs."""

    def __init__(self, artifacts: Path) -> None:
        config.load_kube_config(os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig"))
        self.artifacts, self.core, self.custom = artifacts, client.CoreV1Api(), client.CustomObjectsApi()

    def prepare(self) -> None:
        """Create the objects that the file refers to."""
        classes, scheduling = client.NodeV1Api(), client.SchedulingV1Api()
        self.once(lambda: classes.create_runtime_class({"metadata": {"name": "second"}, "handler": "second"}))
        for name, value in (("inference", 1000), ("batch", -10)):
            self.once(lambda name=name, value=value: scheduling.create_priority_class({"metadata": {"name": name}, "value": value}))
        self.config_map("chat-templates", {"llama.jinja": "{{ messages }}"})
        self.config_map("proxy-settings", {"NO_PROXY": "127.0.0.1"})
        self.once(lambda: self.core.create_namespaced_secret(NAMESPACE, {"metadata": {"name": "object-store"}, "stringData": {"access": "planted-access"}}))

    def config_map(self, name: str, data: dict[str, str]) -> None:
        self.once(lambda: self.core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": name}, "data": data}))

    @staticmethod
    def once(create: t.Callable[[], t.Any]) -> None:
        """Create an object unless it exists."""
        try:
            create()
        except ApiException as error:
            if error.status != 409:
                raise

    def site(self, *services: Facts, **given: t.Any) -> tuple[Facts, str]:
        """Run site.yml, which must succeed: (verdict, output)."""
        verdict, out = plays.site(INVENTORY, self.artifacts, llm_d_model_services=[*services], **given)
        assert verdict["ok"], [claim for claim in verdict["claims"] if not claim["ok"]]
        return verdict, out

    def play(self, playbook: str, **given: t.Any) -> tuple[int, str]:
        """Run a playbook: (exit status, output on one line)."""
        done = plays.run("-i", INVENTORY, playbook, "-e", json.dumps({"llm_d_artifacts_dir": str(self.artifacts), **given}))
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def pods(self, selector: str, namespace: str = NAMESPACE) -> list[t.Any]:
        """Pods that are not being deleted."""
        return [pod for pod in self.core.list_namespaced_pod(namespace, label_selector=selector).items if not pod.metadata.deletion_timestamp]

    def servers(self, role: str = "decode") -> list[t.Any]:
        return self.pods(f"llm-d.ai/model-service=sim,llm-d.ai/role={role}")

    def versions(self) -> dict[str, str]:
        """The resourceVersion of each Deployment and ConfigMap of the namespace."""
        objects = [*client.AppsV1Api().list_namespaced_deployment(NAMESPACE).items, *self.core.list_namespaced_config_map(NAMESPACE).items]
        return {f"{type(each).__name__} {each.metadata.name}": each.metadata.resource_version for each in objects}
