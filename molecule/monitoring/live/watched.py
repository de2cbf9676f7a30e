"""The stack of this scenario: one gateway with the model service `sim`, and a Prometheus."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import threading
import typing as t
import urllib.parse

from kubernetes import client
from live_stack import NAMESPACE, Stack, call, until

INVENTORY = "molecule/monitoring/inventory"
SERVICE, MODEL, SPACE = "sim", "llm-d/simulated-8b", "monitoring"


class Watched(Stack):
    """The running stack."""

    def __init__(self) -> None:
        super().__init__(INVENTORY, {SERVICE: MODEL})
        self._apps = client.AppsV1Api()

    @property
    def prometheus(self) -> str:
        """The URL of the Prometheus."""
        return f"http://{self.pod('prometheus').status.pod_ip}:9090"

    def pod(self, name: str) -> client.V1Pod:
        """The pod of the Prometheus or the Alertmanager."""
        (pod,) = self.core.list_namespaced_pod(SPACE, label_selector=f"app.kubernetes.io/name={name}").items
        return pod

    def ready(self) -> bool:
        """Whether the pod of Prometheus is ready."""
        return any(entry.type == "Ready" and entry.status == "True" for entry in self.pod("prometheus").status.conditions)

    def alerts(self) -> dict[str, dict[str, t.Any]]:
        """{name: alert} of the Alertmanager's active alerts."""
        status, _headers, content = call(f"http://{self.pod('alertmanager').status.pod_ip}:9093/api/v2/alerts")
        assert status == 200, content
        return {alert["labels"]["alertname"]: alert for alert in json.loads(content)}

    def query(self, expr: str) -> list[t.Any]:
        """The series that a query returns."""
        status, _headers, content = call(f"{self.prometheus}/api/v1/query?query={urllib.parse.quote(expr)}")
        assert status == 200, content
        return t.cast("list[t.Any]", json.loads(content)["data"]["result"])

    def scrapes(self) -> bool:
        """Whether pods of the stack are active targets."""
        status, _headers, content = call(f"{self.prometheus}/api/v1/targets?state=active")
        assert status == 200, content
        return any(target["labels"].get("namespace") == NAMESPACE for target in json.loads(content)["data"]["activeTargets"])

    def firing(self) -> set[str]:
        """Names of the alerts that fire."""
        content = call(f"{self.prometheus}/api/v1/alerts")[2]
        return {alert["labels"]["alertname"] for alert in json.loads(content)["data"]["alerts"] if alert["state"] == "firing"}

    def fires(self, *names: str) -> None:
        until(lambda: set(names) <= self.firing(), 120, f"{', '.join(names)} fire")

    def resolves(self, *names: str, seconds: float = 120) -> None:
        until(lambda: not set(names) & self.firing(), seconds, f"{', '.join(names)} resolve")

    def scale(self, name: str, replicas: int) -> None:
        """Scale a Deployment and wait until its pods are ready."""
        self._apps.patch_namespaced_deployment_scale(name, NAMESPACE, {"spec": {"replicas": replicas}})
        until(lambda: (self._apps.read_namespaced_deployment(name, NAMESPACE).status.ready_replicas or 0) == replicas, 120, f"{name} has {replicas}")


@contextlib.contextmanager
def load(addresses: t.Iterable[str], each: int, prompt: str, tokens: int) -> t.Iterator[None]:
    """Send completions directly to servers, `each` in parallel per server."""
    over = threading.Event()

    def send(address: str) -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                call(f"http://{address}:8000/v1/completions", {"model": MODEL, "prompt": prompt, "max_tokens": tokens}, timeout=120)

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        for address in addresses:
            for _number in range(each):
                pool.submit(send, address)
        try:
            yield
        finally:
            over.set()
