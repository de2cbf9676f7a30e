"""The stack of this scenario: one gateway with the service `sim`, and a Prometheus."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import threading
import typing as t
import urllib.parse
from pathlib import Path

from kubernetes import client
from live_stack import NAMESPACE, Stack, call, until

INVENTORY = "molecule/monitoring/inventory"
SERVICE, MODEL = "sim", "llm-d/simulated-8b"


class Watched(Stack):
    """The running stack."""

    def __init__(self) -> None:
        super().__init__(INVENTORY, {SERVICE: MODEL})
        self._apps = client.AppsV1Api()

    @property
    def prometheus(self) -> str:
        """The URL of the Prometheus."""
        (pod,) = self.core.list_namespaced_pod("monitoring", label_selector="app.kubernetes.io/name=prometheus").items
        return f"http://{pod.status.pod_ip}:9090"

    def query(self, expr: str) -> list[t.Any]:
        """The series of an expression."""
        status, _headers, content = call(f"{self.prometheus}/api/v1/query?query={urllib.parse.quote(expr)}")
        assert status == 200, content
        return t.cast("list[t.Any]", json.loads(content)["data"]["result"])

    def firing(self) -> set[str]:
        """Names of the alerts that fire."""
        content = call(f"{self.prometheus}/api/v1/alerts")[2]
        return {alert["labels"]["alertname"] for alert in json.loads(content)["data"]["alerts"] if alert["state"] == "firing"}

    def fires(self, *names: str) -> None:
        until(lambda: set(names) <= self.firing(), 120, f"{', '.join(names)} fire")

    def resolves(self, *names: str, seconds: float = 120) -> None:
        until(lambda: not set(names) & self.firing(), seconds, f"{', '.join(names)} resolve")

    def scale(self, name: str, replicas: int) -> None:
        """Another number of pods of a Deployment, until they are ready."""
        self._apps.patch_namespaced_deployment_scale(name, NAMESPACE, {"spec": {"replicas": replicas}})
        until(lambda: (self._apps.read_namespaced_deployment(name, NAMESPACE).status.ready_replicas or 0) == replicas, 120, f"{name} has {replicas}")

    def processes(self, pod: str, command: str) -> list[int]:
        """Numbers of the processes of a pod on this host."""
        uid = self.core.read_namespaced_pod(pod, NAMESPACE).metadata.uid
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                group = (path / "cgroup").read_text(encoding="utf-8").replace("_", "-")
                if uid in group and command in (path / "cmdline").read_bytes().decode(errors="replace"):
                    found.append(int(path.name))
        return found


@contextlib.contextmanager
def load(addresses: t.Iterable[str], each: int, prompt: str, tokens: int) -> t.Iterator[None]:
    """Completions sent to servers directly, `each` at a time to each."""
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
