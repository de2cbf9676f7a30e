"""Plain requests to the API server."""

from __future__ import annotations

import types
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError

Facts = dict[str, t.Any]


class Api:
    """One API server."""

    def __init__(self, kubeconfig: str, user: str = "") -> None:
        self.kubeconfig = kubeconfig
        self.cluster = connect(types.SimpleNamespace(params={"kubeconfig": kubeconfig, "impersonate_user": user or None}))

    def speaking_as(self, user: str) -> Api:
        """The same, as another user."""
        return Api(self.kubeconfig, user)

    def call(self, method: str, path: str, body: Facts | None = None, kind: str = "application/json", **query: str) -> Facts:
        """One request. A refusal is an ApiError."""
        return self.cluster.request(method, path, query, body, content_type=kind)

    def items(self, path: str, selector: str = "") -> list[Facts]:
        """The objects of a kind; none where the kind is not known."""
        return (self.cluster.find(path, {"labelSelector": selector} if selector else None) or {}).get("items") or []

    def find(self, path: str) -> Facts | None:
        return self.cluster.find(path)

    def path(self, item: Facts) -> str:
        """Where an object is."""
        found = self.cluster.path(item["apiVersion"], item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
        assert found, f"no such kind: {item['apiVersion']} {item['kind']}"
        return found

    def apply(self, item: Facts, manager: str = "openshift") -> Facts:
        """Create or change an object."""
        return self.call("PATCH", self.path(item), item, "application/apply-patch+yaml", fieldManager=manager, force="true")

    def merge(self, path: str, change: Facts) -> None:
        """Change some fields. What has gone meanwhile is left."""
        try:
            self.call("PATCH", path, change, "application/merge-patch+json")
        except ApiError as error:
            if error.status != 404:
                raise

    def status(self, item: Facts, status: Facts) -> None:
        """Write a status, if it is another."""
        if {key: (item.get("status") or {}).get(key) for key in status} != status:
            self.merge(f"{self.path(item)}/status", {"status": status})

    def delete(self, path: str, **body: t.Any) -> None:
        try:
            self.call("DELETE", path, body or None)
        except ApiError as error:
            if error.status != 404:
                raise


def condition(kind: str, good: bool, reason: str, message: str = "", generation: int | None = None) -> Facts:
    """A condition; its time stays the same, so that a status that says the same is the same."""
    found: Facts = {"type": kind, "status": str(good), "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return found if generation is None else {**found, "observedGeneration": generation}
