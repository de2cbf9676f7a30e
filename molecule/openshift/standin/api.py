"""Requests to the API server."""

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
        """A client that impersonates a user."""
        return Api(self.kubeconfig, user)

    def call(self, method: str, path: str, body: Facts | None = None, kind: str = "application/json", **query: str) -> Facts:
        """Send one request; a refusal raises ApiError."""
        return self.cluster.request(method, path, query, body, content_type=kind)

    def items(self, path: str, selector: str = "") -> list[Facts]:
        """The objects of a kind; none where the kind is unknown."""
        return (self.cluster.find(path, {"labelSelector": selector} if selector else None) or {}).get("items") or []

    def find(self, path: str) -> Facts | None:
        return self.cluster.find(path)

    def path(self, item: Facts) -> str:
        """The URL path of an object."""
        where = self.cluster.path(item["apiVersion"], item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
        assert where, f"no such kind: {item['apiVersion']} {item['kind']}"
        return where

    def apply(self, item: Facts, manager: str = "openshift") -> Facts:
        """Create or change an object by server-side apply."""
        return self.call("PATCH", self.path(item), item, "application/apply-patch+yaml", fieldManager=manager, force="true")

    def merge(self, path: str, change: Facts) -> None:
        """Change some fields by a merge patch; an object that no longer exists is ignored."""
        try:
            self.call("PATCH", path, change, "application/merge-patch+json")
        except ApiError as error:
            if error.status != 404:
                raise

    def status(self, item: Facts, status: Facts) -> None:
        """Write a status, if it differs."""
        if {key: (item.get("status") or {}).get(key) for key in status} != status:
            self.merge(f"{self.path(item)}/status", {"status": status})

    def delete(self, path: str, **body: t.Any) -> None:
        try:
            self.call("DELETE", path, body or None)
        except ApiError as error:
            if error.status != 404:
                raise


def condition(kind: str, good: bool, reason: str, message: str = "", generation: int | None = None) -> Facts:
    """A condition; its time is constant, so that equal statuses compare equal."""
    entry: Facts = {"type": kind, "status": str(good), "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return entry if generation is None else {**entry, "observedGeneration": generation}
