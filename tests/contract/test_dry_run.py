"""The dry run of the live tests, against a server that stores, serves and validates by the real CRDs as an API server does."""

from __future__ import annotations

import contextlib
import json
import typing as t
from urllib.parse import parse_qsl, urlsplit

import kubernetes
import pytest
from local_servers import JSON, serve

from . import definitions_of_others as others
from .dry_run import APART, BUILT_IN, CRDS, MARK, NAMESPACES, Api, apart, group_of, prepared, refused
from .inventory_cases import NAMES, case
from .spoiled_objects import OF_CUSTOM_KINDS, spoiled

Facts = dict[str, t.Any]
PLURALS = {
    "Namespace": "namespaces",
    "ServiceAccount": "serviceaccounts",
    "ConfigMap": "configmaps",
    "Service": "services",
    "Secret": "secrets",
    "Deployment": "deployments",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}
OF = {"Deployment": "apps/v1", "Role": "rbac.authorization.k8s.io/v1", "RoleBinding": "rbac.authorization.k8s.io/v1"}


class Server:
    """Objects by path. A dry run is validated by the existing CRDs, and not stored. A deleted namespace is returned once more."""

    def __init__(self, *there: Facts) -> None:
        self.kept: dict[str, Facts] = {f"{CRDS}/{crd['metadata']['name']}": crd for crd in there}
        self.before = dict(self.kept)
        self.ending: set[str] = set()
        self.tried: list[tuple[str, dict[str, str]]] = []

    def __call__(self, _handler: t.Any, method: str, url: str, body: bytes) -> tuple[int, Facts, str]:
        path, query = urlsplit(url).path, dict(parse_qsl(urlsplit(url).query))
        status, answer = getattr(self, method)(path, query, json.loads(body) if body else {})
        return status, {"Content-Type": JSON}, json.dumps(answer)

    def GET(self, path: str, _query: Facts, _body: Facts) -> tuple[int, Facts]:
        if path.startswith((CRDS, NAMESPACES)):
            item = self.kept.get(path)
            if path in self.ending:
                self.ending.discard(path)
                self.kept.pop(path)
            return (200, item) if item else self._status(404, "not found")
        return 200, {"resources": self._resources(path.partition("/api")[2].removeprefix("s").strip("/"))}

    def PATCH(self, path: str, query: Facts, body: Facts) -> tuple[int, Facts]:
        if "dryRun" not in query:
            self.kept[path] = body
            return 201, body
        self.tried.append((path, query))
        space = path.partition("/namespaces/")[2].partition("/")[0]
        if space and body["kind"] != "Namespace" and f"{NAMESPACES}/{space}" not in self.kept:
            return self._status(404, f'namespaces "{space}" not found')
        problems = [] if group_of(body) in BUILT_IN else others.problems(body)
        return self._status(422, "; ".join(problems)) if problems else (200, body)

    def DELETE(self, path: str, _query: Facts, _body: Facts) -> tuple[int, Facts]:
        if path not in self.kept:
            return self._status(404, "not found")
        if path.startswith(NAMESPACES):
            self.ending.add(path)
        else:
            self.kept.pop(path)
        return 200, {}

    def _resources(self, version: str) -> list[Facts]:
        if group_of({"apiVersion": version}) in BUILT_IN:
            return [{"kind": kind, "name": name, "namespaced": kind != "Namespace"} for kind, name in PLURALS.items() if OF.get(kind, "v1") == version]
        specs = [crd["spec"] for path, crd in self.kept.items() if path.startswith(CRDS)]
        return [
            {"kind": spec["names"]["kind"], "name": spec["names"]["plural"], "namespaced": spec["scope"] == "Namespaced"}
            for spec in specs
            if version in [f"{spec['group']}/{each['name']}" for each in spec["versions"] if each["served"]]
        ]

    @staticmethod
    def _status(code: int, message: str) -> tuple[int, Facts]:
        return code, {"kind": "Status", "code": code, "message": message, "reason": "x"}


@contextlib.contextmanager
def running(server: Server) -> t.Iterator[Api]:
    with serve(server) as url:
        configuration = kubernetes.client.Configuration()
        configuration.host = url
        yield Api(configuration)


@pytest.fixture(name="ready", scope="module")
def ready_for_all() -> t.Iterator[tuple[Server, Api]]:
    """A server with the CRDs and namespaces of all inventories; afterwards they are deleted."""
    server = Server()
    with running(server) as api:
        with prepared(api, [item for name in NAMES for item in case(name)[1]]):
            assert server.kept and all(entry["metadata"]["labels"] == MARK for entry in server.kept.values())
            yield server, api
        assert server.kept == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_object_of_an_inventory_is_tried_once_and_kept_never(ready: tuple[Server, Api], name: str) -> None:
    (server, api), items = ready, case(name)[1]
    before = set(server.kept)
    server.tried.clear()
    assert refused(api, items) == {}
    assert len(server.tried) == len({path for path, _query in server.tried}) == len(items) and set(server.kept) == before
    assert all(query.items() >= {"dryRun": "All", "fieldValidation": "Strict", "force": "true"}.items() for _path, query in server.tried)
    spaces = [item["metadata"]["namespace"] for item in items if item["metadata"].get("namespace")]
    assert [path.split("/namespaces/")[1].split("/")[0] for path, _query in server.tried if "/namespaces/dry" in path] == [APART + name for name in spaces]


@pytest.mark.parametrize(("kind", "spoil", "word"), OF_CUSTOM_KINDS)
def test_a_mistake_in_a_custom_resource_is_reported(ready: tuple[Server, Api], kind: str, spoil: t.Callable[[Facts], None], word: str) -> None:
    items = case("kubernetes")[1]
    mistake = spoiled(items, kind, spoil)
    answers = refused(ready[1], [*items, mistake])
    assert list(answers) == [f"{kind} {mistake['metadata']['name']}"] and word in answers[f"{kind} {mistake['metadata']['name']}"]


def test_existing_objects_stay_and_an_unknown_kind_is_reported() -> None:
    items = [item for item in case("kubernetes")[1] if group_of(item) not in ("networking.istio.io", "gateway.networking.k8s.io")]
    server = Server(*others.definitions("inference.networking.k8s.io"))
    with running(server) as api:
        with prepared(api, items):
            answers = refused(api, case("kubernetes")[1])
        assert server.kept == server.before
    assert answers and all(
        what.split()[0] in ("DestinationRule", "Gateway", "GatewayClass", "HTTPRoute") and "no such kind" in why for what, why in answers.items()
    )


def test_created_objects_are_deleted_after_a_failure_too() -> None:
    items = case("simulator")[1]
    server = Server()
    with running(server) as api:
        with pytest.raises(ZeroDivisionError), prepared(api, items):
            raise ZeroDivisionError
        assert server.kept == {}


def test_an_object_is_tried_apart_and_is_else_the_same() -> None:
    for item in case("openshift")[1]:
        moved = apart(item)
        assert {**moved, "metadata": None} == {**item, "metadata": None}
        assert {**moved["metadata"], "namespace": None} == {**item["metadata"], "namespace": None}
