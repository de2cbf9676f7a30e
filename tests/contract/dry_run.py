"""What an API server says of objects that it is asked to take and does not keep: server-side dry run, with defaulting, pruning and CEL rules.

The definitions that a cluster lacks, and namespaces of the test's own, are put there first and taken away again; nothing else is written. A definition
that is only written down (written_down/) proves no more than its own words.
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
# Objects are tried apart from those of a running stack, which would lend them what they lack.
APART = "dry-run-"
MARK = {"llm-d-test": "dry-run"}


class Api:
    """Plain requests to the API server; a refusal is an answer."""

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
    """The same object in the test's own namespace."""
    place = item["metadata"].get("namespace")
    return {**item, "metadata": {**item["metadata"], "namespace": APART + place}} if place else item


@contextlib.contextmanager
def prepared(api: Api, items: t.Sequence[Facts]) -> t.Iterator[None]:
    """The definitions and namespaces that these objects need; what was not there before is gone again when this ends."""
    spaces = sorted({f"{NAMESPACES}/{APART}{item['metadata']['namespace']}" for item in items if item["metadata"].get("namespace")})
    made: list[str] = []
    try:
        for group in sorted({group_of(item) for item in items} - set(BUILT_IN)):
            define(api, group, made)
        for path in spaces:
            _apply(api, path, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": path.rpartition("/")[2], "labels": MARK}})
        yield
    finally:
        # Namespaces first: to empty them, their controller looks at every kind that there is.
        for paths in (spaces, made):
            for path in paths:
                api.call("DELETE", path)
            for path in paths:
                until(lambda path=path: api.call("GET", path)[0] == 404)


def dry_run(api: Api, item: Facts) -> tuple[int, str]:
    """(status, message) of what the API server says of an object, which it does not keep. An unknown field is an error."""
    item = apart(item)
    path = api.cluster.path(item["apiVersion"], item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
    if path is None:
        return 404, f"no such kind: {item['apiVersion']} {item['kind']}"
    status, answer = api.call("PATCH", path, item, fieldManager="llm_d.inference", force="true", dryRun="All", fieldValidation="Strict")
    return status, str(answer.get("message", ""))


def refused(api: Api, items: t.Sequence[Facts]) -> dict[str, str]:
    """What the API server says of the objects that it does not take."""
    said = [(item, dry_run(api, item)) for item in items]
    return {f"{item['kind']} {item['metadata']['name']}": f"{status} {message}" for item, (status, message) in said if status >= 300}


def define(api: Api, group: str, made: list[str]) -> None:
    """Add the definitions of a group that are not there; their paths go to `made`. They are served then."""
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
    status, said = api.call("PATCH", path, body, fieldManager="llm-d-test", force="true")
    assert status < 300, (path, status, said.get("message"))
