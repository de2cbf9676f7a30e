"""The running stack of these tests: live_stack.Stack with plays of a whole file."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import plays
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from live_stack import NAMESPACE, call, until
from live_stack import Stack as Running

__all__ = ["MODEL", "NAMESPACE", "SIM", "Stack", "call", "until"]

INVENTORY, MODEL = "inventories/local", "llm-d/simulated-8b"
SIM: dict[str, t.Any] = {
    "name": "sim",
    "profile": "simulated",
    "model": {"served_name": MODEL},
    "replicas": 2,
    "engine": {"simulator": {"inter_token_latency": "5ms"}},
}


class Given:
    """Module parameters for `connect`."""

    def __init__(self, kubeconfig: str) -> None:
        self.params = {"kubeconfig": kubeconfig}


class Stack(Running):
    """One gateway and its model services."""

    def __init__(self, artifacts: Path, kubeconfig: str) -> None:
        super().__init__(INVENTORY, {"sim": MODEL, "second": MODEL}, {"second": "/second"})
        self.cluster = connect(Given(kubeconfig))
        self.artifacts = artifacts

    def serves(self, *services: dict[str, t.Any], options: tuple[str, ...] = (), **given: t.Any) -> str:
        """Run site.yml for these model services, which must succeed (with its verdict, unless the options skip it); returns its output."""
        return plays.well(INVENTORY, "site.yml", self.artifacts, *options, llm_d_model_services=list(services), **given)

    def named(self, api_version: str, kind: str, namespace: str = NAMESPACE) -> dict[str, dict[str, t.Any]]:
        """{name: object} of a kind."""
        items = self.cluster.get(self.cluster.path(api_version, kind, namespace) or "")["items"]
        return {item["metadata"]["name"]: item for item in items}


def sim(**changes: t.Any) -> dict[str, t.Any]:
    """The model service with changed options; those of `engine` are merged."""
    made = copy.deepcopy(SIM)
    made["engine"].update(changes.pop("engine", {}))
    return {**made, **changes}
