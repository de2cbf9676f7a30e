"""The running stack as the live tests see it: the gateway, the pods behind it, and the playbook that changes the scheduler."""

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
Seen = t.TypeVar("Seen")
SERIES = "inference_extension_plugin_duration_seconds"


class Stack:
    """One gateway and its services. inventory: of the playbooks; models: by service; paths: of services that do not have the gateway for themselves."""

    def __init__(self, inventory: str, models: t.Mapping[str, str], paths: t.Mapping[str, str] | None = None) -> None:
        self._inventory, self._models, self._paths = inventory, models, paths or {}
        config.load_kube_config(os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig"))
        self.core = client.CoreV1Api()

    @property
    def gateway(self) -> str:
        """Its URL at this moment: another one once the Gateway is made again."""
        found = client.CustomObjectsApi().get_namespaced_custom_object("gateway.networking.k8s.io", "v1", NAMESPACE, "gateways", "llm-d-gateway")
        return f"http://{found['status']['addresses'][0]['value']}"

    def url(self, service: str) -> str:
        return self.gateway + self._paths.get(service, "")

    def servers(self, service: str, role: str = "decode") -> dict[str, str]:
        """Addresses of the ready model servers of a role, by pod name."""
        return self._pods(f"llm-d.ai/model-service={service},llm-d.ai/role={role}")

    def picker(self, service: str) -> str:
        """Address of the one endpoint picker that serves."""
        found = self.pickers(service)
        assert len(found) == 1, found
        return next(iter(found.values()))

    def pickers(self, service: str) -> dict[str, str]:
        """Addresses of the ready endpoint pickers, by pod name."""
        return self._pods(f"app.kubernetes.io/instance={service}-epp")

    def ending(self, service: str) -> list[str]:
        """The endpoint pickers that have been told to end and have not yet, by pod name."""
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
        """Numbers of the processes of a pod on this host."""
        uid = self.core.read_namespaced_pod(pod, namespace).metadata.uid
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                group = (path / "cgroup").read_text(encoding="utf-8").replace("_", "-")
                if uid in group and command in (path / "cmdline").read_bytes().decode(errors="replace"):
                    found.append(int(path.name))
        return found

    def metrics(self, service: str) -> str:
        return call(f"http://{self.picker(service)}:9090/metrics")[2].decode()

    def ask(self, service: str, prompt: str, tokens: int = 1) -> str:
        """The pod that answered a completion through the gateway."""
        body = {"model": self._models[service], "prompt": prompt, "max_tokens": tokens}
        status, headers, content = call(f"{self.url(service)}/v1/completions", body)
        assert status == 200, content
        return headers["x-inference-pod"]

    def picks(self, address: str) -> float:
        """How often an endpoint picker has picked."""
        page = call(f"http://{address}:9090/metrics")[2].decode()
        return sum(count for (point, _name), count in observed.plugin_runs(page, SERIES).items() if point == "Picker")

    def obeyed(self, service: str) -> None:
        """Wait until the gateway asks the endpoint picker that is there: for a moment after a switch it still asks the one before."""
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
        """Run playbooks/scorers.yml: what the user's file says, but for these variables."""
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


def until(look: t.Callable[[], Seen], seconds: float, what: str) -> Seen:
    """The first true value of `look`, which has to come within `seconds`. what: names it in the failure."""
    end = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < end, f"not in {seconds:g} s: {what}"
        time.sleep(0.1)
    return seen


def forget_series(core: client.CoreV1Api) -> None:
    """The Prometheus of molecule/monitoring loses its series: its data goes with its pod. Else its last answers count for five minutes."""
    known: t.Any = {"namespace": "monitoring", "label_selector": "app.kubernetes.io/name=prometheus"}
    (before,) = core.list_namespaced_pod(**known).items
    core.delete_namespaced_pod(before.metadata.name, "monitoring")

    def back() -> bool:
        pods = [pod for pod in core.list_namespaced_pod(**known).items if pod.metadata.uid != before.metadata.uid]
        return any(entry.type == "Ready" and entry.status == "True" for pod in pods for entry in pod.status.conditions or [])

    until(back, 120, "the Prometheus is back")
