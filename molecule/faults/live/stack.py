"""The running stack of these tests: plays on it, its API server, its Helm releases."""

from __future__ import annotations

import json
import os
import subprocess
import types
import typing as t
from pathlib import Path

import plays
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ClusterError

Object = dict[str, t.Any]
NAMESPACE = "llm-d"
CACHE, HOME = Path("/var/cache/llm-d-local"), Path("/var/lib/llm-d-local")
SIM = {
    "name": "sim",
    "model": {"served_name": "llm-d/simulated-8b"},
    "engine": {"type": "simulator", "block_size": 16},
    "scheduler": {"resources": {"requests": {"cpu": "50m", "memory": "128Mi"}}},  # the default requests exceed this node
}


class Stack:
    """One gateway and the model service `sim`."""

    def __init__(self, artifacts: Path) -> None:
        self.kubeconfig = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
        self.cluster = connect(types.SimpleNamespace(params={"kubeconfig": self.kubeconfig}))
        self.artifacts = artifacts

    def start(self, playbook: str = "site.yml", **variables: t.Any) -> subprocess.Popen[str]:
        """Start a play; `variables` take precedence over those of the inventory."""
        given = {"llm_d_artifacts_dir": str(self.artifacts), **variables}
        command = plays.command("-i", "inventories/local", playbook, "-e", json.dumps(given))
        return subprocess.Popen(command, cwd=plays.ROOT, env=plays.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def play(self, playbook: str = "site.yml", **variables: t.Any) -> tuple[int, str]:
        """Run a play to its end: (exit status, output)."""
        with self.start(playbook, **variables) as run:
            out, _err = run.communicate()
        return run.returncode, out

    def converges(self, **variables: t.Any) -> str:
        """Run site.yml, which must end with a passed verdict; returns its output."""
        status, out = self.play(**variables)
        assert status == 0, out[-6000:]
        assert json.loads((self.artifacts / "verdict.json").read_text(encoding="utf-8"))["ok"]
        return out

    def settled(self) -> None:
        """Run site.yml, which must change nothing."""
        assert "changed=0 " in self.converges()

    def versions(self) -> dict[str, str]:
        """{kind and name: uid and generation, or resourceVersion} of the objects that the roles write."""
        kinds = {
            "Deployment": "apps/v1",
            "ConfigMap": "v1",
            "Service": "v1",
            "ServiceAccount": "v1",
            "Role": "rbac.authorization.k8s.io/v1",
            "Gateway": "gateway.networking.k8s.io/v1",
            "HTTPRoute": "gateway.networking.k8s.io/v1",
            "InferencePool": "inference.networking.k8s.io/v1",
        }
        versions = {}
        for kind, version in kinds.items():
            for item in self.cluster.get(self.cluster.path(version, kind, NAMESPACE) or "")["items"]:
                # the generation ignores the status, which controllers write
                generation = item["metadata"].get("generation", item["metadata"]["resourceVersion"])
                versions[f"{kind} {item['metadata']['name']}"] = f"{item['metadata']['uid']} {generation}"
        return versions

    def create(self, api_version: str, made: Object) -> str:
        """Create an object; returns its path."""
        path = self.cluster.path(api_version, made["kind"], made["metadata"].get("namespace"))
        assert path, made["kind"]
        self.cluster.request("POST", path, body={"apiVersion": api_version, **made})
        return f"{path}/{made['metadata']['name']}"

    def delete(self, path: str) -> None:
        self.cluster.request("DELETE", path)

    def helm(self, *arguments: str) -> list[str]:
        """The command line of Helm on the cluster."""
        return [str(CACHE / "bin/helm"), "--kubeconfig", self.kubeconfig, "--namespace", "envoy-gateway-system", *arguments]

    def helm_records(self) -> list[tuple[str, str]]:
        """(name, status) of Helm's release records of the gateway controller."""
        secrets = self.cluster.get("/api/v1/namespaces/envoy-gateway-system/secrets", {"labelSelector": "owner=helm,name=envoy-gateway"})["items"]
        return sorted((item["metadata"]["name"], item["metadata"]["labels"]["status"]) for item in secrets)

    def answers(self) -> bool:
        """Whether the API server is ready."""
        try:
            return self.cluster.read_text("/readyz", timeout=5) == "ok"
        except ClusterError:
            return False


def assert_failure(out: str, *words: str) -> None:
    """Assert that the output of a failed play contains these words and no traceback."""
    folded = " ".join(out.split())
    assert not [word for word in words if word not in folded], out[-6000:]
    assert "Traceback" not in out, out[-6000:]
