"""Server-side dry run of objects by an API server, with defaulting, pruning and CEL rules.

The CRDs that the cluster lacks, and namespaces for the test, are created first and deleted afterwards; nothing else is written. A CRD that is written by
hand (written_down/) proves only what it contains.
"""

from __future__ import annotations

import contextlib
import typing as t

import kubernetes
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import Cluster
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError
from waiting import until

from . import definitions_of_others as others

Facts = dict[str, t.Any]
BUILT_IN = ("", "apps", "autoscaling", "rbac.authorization.k8s.io")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES = "/api/v1/namespaces"
# Objects are tried in other namespaces than those of a running stack, whose objects could hide a missing one.
APART = "dry-run-"
MARK = {"llm-d-test": "dry-run"}


class Api:
    """Requests to the API server; a refusal is an answer, not an error."""

    def __init__(self, configuration: kubernetes.client.Configuration) -> None:
        configuration.connection_pool_maxsize = 6
        self.cluster = Cluster(configuration, {})

    def call(self, method: str, path: str, body: Facts | None = None, **query: str) -> tuple[int, Facts]:
        """(status, answer)."""
        try:
            kind = "application/apply-patch+yaml" if method == "PATCH" else "application/json"
            return 200, self.cluster.request(method, path, query, body, content_type=kind)
        except ApiError as error:
            return error.status, {"message": error.message}


def at(kubeconfig: str) -> Api:
    """The API server of a kubeconfig."""
    configuration = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(kubeconfig, client_configuration=configuration)
    return Api(configuration)


def group_of(item: Facts) -> str:
    """The API group of an object."""
    return item["apiVersion"].rpartition("/")[0]


def apart(item: Facts) -> Facts:
    """The same object in the namespace of the test."""
    place = item["metadata"].get("namespace")
    return {**item, "metadata": {**item["metadata"], "namespace": APART + place}} if place else item


@contextlib.contextmanager
def prepared(api: Api, items: t.Sequence[Facts]) -> t.Iterator[None]:
    """Create the missing CRDs and the namespaces that these objects need; at the end, delete them again."""
    spaces = sorted({f"{NAMESPACES}/{APART}{item['metadata']['namespace']}" for item in items if item["metadata"].get("namespace")})
    made: list[str] = []
    try:
        for group in sorted({group_of(item) for item in items} - set(BUILT_IN)):
            define(api, group, made)
        for path in spaces:
            _apply(api, path, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": path.rpartition("/")[2], "labels": MARK}})
        yield
    finally:
        # Namespaces first: to empty them, their controller lists every kind.
        for paths in (spaces, made):
            for path in paths:
                api.call("DELETE", path)
            for path in paths:
                until(lambda path=path: api.call("GET", path)[0] == 404)


def dry_run(api: Api, item: Facts) -> tuple[int, str]:
    """(status, message) of the API server's dry run of an object. An unknown field is an error."""
    item = apart(item)
    path = api.cluster.path(item["apiVersion"], item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
    if path is None:
        return 404, f"no such kind: {item['apiVersion']} {item['kind']}"
    status, answer = api.call("PATCH", path, item, fieldManager="llm_d.inference", force="true", dryRun="All", fieldValidation="Strict")
    return status, str(answer.get("message", ""))


def refused(api: Api, items: t.Sequence[Facts]) -> dict[str, str]:
    """The refused objects, each with the status and message of the API server."""
    answers = [(item, dry_run(api, item)) for item in items]
    return {f"{item['kind']} {item['metadata']['name']}": f"{status} {message}" for item, (status, message) in answers if status >= 300}


def define(api: Api, group: str, made: list[str]) -> None:
    """Create the missing CRDs of a group, and wait until they are served. made: their paths are added to it."""
    for crd in others.definitions(group):
        path = f"{CRDS}/{crd['metadata']['name']}"
        if api.call("GET", path)[0] == 404:
            made.append(path)
            _apply(api, path, {**crd, "metadata": {**crd["metadata"], "labels": MARK}})
            until(lambda crd=crd: _served(api, crd))


def _served(api: Api, crd: Facts) -> bool:
    spec = crd["spec"]
    versions = [f"{spec['group']}/{version['name']}" for version in spec["versions"] if version["served"]]
    return all(api.cluster.resource(version, spec["names"]["kind"], refresh=True) for version in versions)


def _apply(api: Api, path: str, body: Facts) -> None:
    status, answer = api.call("PATCH", path, body, fieldManager="llm-d-test", force="true")
    assert status < 300, (path, status, answer.get("message"))
