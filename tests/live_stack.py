"""The running stack for live tests: the gateway, the pods behind it, and the playbook that changes the scheduler."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
import typing as t
import urllib.error
import urllib.request
from pathlib import Path

import plays
from ansible_collections.llm_d.inference.plugins.module_utils.epp import observed
from kubernetes import client, config

NAMESPACE = "llm-d"
Value = t.TypeVar("Value")
SERIES = "inference_extension_plugin_duration_seconds"


class Stack:
    """One gateway and its services. inventory: of the playbooks; models: by service; paths: of services that share the gateway."""

    def __init__(self, inventory: str, models: t.Mapping[str, str], paths: t.Mapping[str, str] | None = None) -> None:
        self._inventory, self._models, self._paths = inventory, models, paths or {}
        config.load_kube_config(os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig"))
        self.core = client.CoreV1Api()

    @property
    def gateway(self) -> str:
        """The present URL of the gateway: it changes when the Gateway is created again."""
        gateway = client.CustomObjectsApi().get_namespaced_custom_object("gateway.networking.k8s.io", "v1", NAMESPACE, "gateways", "llm-d-gateway")
        return f"http://{gateway['status']['addresses'][0]['value']}"

    def url(self, service: str) -> str:
        return self.gateway + self._paths.get(service, "")

    def servers(self, service: str, role: str = "decode") -> dict[str, str]:
        """Addresses of the ready model servers of a role, by pod name."""
        return self._pods(f"llm-d.ai/model-service={service},llm-d.ai/role={role}")

    def picker(self, service: str) -> str:
        """Address of the only ready endpoint picker."""
        pickers = self.pickers(service)
        assert len(pickers) == 1, pickers
        return next(iter(pickers.values()))

    def pickers(self, service: str) -> dict[str, str]:
        """Addresses of the ready endpoint pickers, by pod name."""
        return self._pods(f"app.kubernetes.io/instance={service}-epp")

    def ending(self, service: str) -> list[str]:
        """The names of the terminating endpoint picker pods."""
        pods = self.core.list_namespaced_pod(NAMESPACE, label_selector=f"app.kubernetes.io/instance={service}-epp").items
        return [pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp]

    def _pods(self, selector: str) -> dict[str, str]:
        pods = self.core.list_namespaced_pod(NAMESPACE, label_selector=selector).items
        return {
            pod.metadata.name: pod.status.pod_ip
            for pod in pods
            if not pod.metadata.deletion_timestamp and any(entry.type == "Ready" and entry.status == "True" for entry in pod.status.conditions or [])
        }

    def processes(self, pod: str, command: str, namespace: str = NAMESPACE) -> list[int]:
        """Process IDs of a pod's processes on this host. command: a part of their command lines."""
        uid = self.core.read_namespaced_pod(pod, namespace).metadata.uid
        pids = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                group = (path / "cgroup").read_text(encoding="utf-8").replace("_", "-")
                if uid in group and command in (path / "cmdline").read_bytes().decode(errors="replace"):
                    pids.append(int(path.name))
        return pids

    def metrics(self, service: str) -> str:
        return call(f"http://{self.picker(service)}:9090/metrics")[2].decode()

    def ask(self, service: str, prompt: str, tokens: int = 1) -> str:
        """The pod that answered a completion through the gateway."""
        body = {"model": self._models[service], "prompt": prompt, "max_tokens": tokens}
        status, headers, content = call(f"{self.url(service)}/v1/completions", body)
        assert status == 200, content
        return headers["x-inference-pod"]

    def picks(self, address: str) -> float:
        """The number of picks of an endpoint picker."""
        page = call(f"http://{address}:9090/metrics")[2].decode()
        return sum(count for (point, _name), count in observed.plugin_runs(page, SERIES).items() if point == "Picker")

    def obeyed(self, service: str) -> None:
        """Wait until the gateway calls the present endpoint picker: for a moment after a switch it still calls the previous one."""
        address = self.picker(service)

        def picked() -> bool:
            before = self.picks(address)
            self.ask(service, "who picks?")
            return self.picks(address) > before

        until(lambda: all(picked() for _number in range(3)), 30, f"the gateway asks the new endpoint picker of {service}")

    def switch(self, service: str, block: dict[str, t.Any], **variables: t.Any) -> subprocess.CompletedProcess[str]:
        """Run playbooks/scorers.yml with another scheduler block for one service."""
        return self.as_written(llm_d_scheduler_overrides={service: block}, **variables)

    def as_written(self, **given: t.Any) -> subprocess.CompletedProcess[str]:
        """Run playbooks/scorers.yml with the user's file and these variables."""
        return plays.run("-i", self._inventory, "playbooks/scorers.yml", "-e", json.dumps(given))


def call(url: str, body: t.Any = None, timeout: float = 30.0, headers: t.Mapping[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
    """One HTTP exchange."""
    sent = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), sent)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def until(probe: t.Callable[[], Value], seconds: float, what: str) -> Value:
    """Call `probe` until it returns a true value, which is returned. Fails after `seconds`. what: names the condition in the failure."""
    end = time.monotonic() + seconds
    while not (value := probe()):
        assert time.monotonic() < end, f"not in {seconds:g} s: {what}"
        time.sleep(0.1)
    return value


def reset_prometheus(core: client.CoreV1Api) -> None:
    """Delete the Prometheus pod of molecule/monitoring, and its series with it: samples of the past count for five minutes otherwise."""
    selector: t.Any = {"namespace": "monitoring", "label_selector": "app.kubernetes.io/name=prometheus"}
    (before,) = core.list_namespaced_pod(**selector).items
    core.delete_namespaced_pod(before.metadata.name, "monitoring")

    def back() -> bool:
        pods = [pod for pod in core.list_namespaced_pod(**selector).items if pod.metadata.uid != before.metadata.uid]
        return any(entry.type == "Ready" and entry.status == "True" for pod in pods for entry in pod.status.conditions or [])

    until(back, 120, "the Prometheus is back")
