"""A real API server with the real CRDs accepts each object that the roles render from each shipped inventory, and refuses objects with a mistake.

By server-side dry run with strict field validation. `local` is the running inventory. Needs the running local cluster (`make site`) and Go for the modules
of the CRDs. tests/contract/dry_run.py describes the objects that it creates and deletes.
"""

from __future__ import annotations

import os
import typing as t

import pytest
from contract.dry_run import CRDS, NAMESPACES, Api, at, dry_run, prepared, refused
from contract.inventory_cases import NAMES, case
from contract.spoiled_objects import MISTAKES, spoiled

Facts = dict[str, t.Any]
KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")


def names(api: Api, path: str) -> set[str]:
    return {item["metadata"]["name"] for item in api.cluster.get(path)["items"]}


@pytest.fixture(scope="module")
def api() -> t.Iterator[Api]:
    """The API server, with the CRDs and namespaces of all inventories; the teardown must remove them."""
    server = at(KUBECONFIG)
    before = [names(server, path) for path in (CRDS, NAMESPACES)]
    with prepared(server, [item for name in NAMES for item in case(name)[1]]):
        yield server
    assert [names(server, path) for path in (CRDS, NAMESPACES)] == before


@pytest.mark.parametrize("name", NAMES)
def test_the_api_server_accepts_every_object(api: Api, name: str) -> None:
    _plan, items = case(name)
    assert items and refused(api, items) == {}


@pytest.mark.parametrize(("kind", "spoil", "word"), MISTAKES)
def test_the_api_server_refuses_a_mistake(api: Api, kind: str, spoil: t.Callable[[Facts], None], word: str) -> None:
    status, message = dry_run(api, spoiled(case("kubernetes")[1], kind, spoil))
    assert status >= 400 and word in message, (status, message)


def test_the_dry_run_leaves_no_objects_in_its_namespaces(api: Api) -> None:
    spaces = [name for name in names(api, NAMESPACES) if name.startswith("dry-run-")]
    assert spaces
    for name in spaces:
        for path in (f"/apis/apps/v1/namespaces/{name}/deployments", f"{NAMESPACES}/{name}/services", f"{NAMESPACES}/{name}/pods"):
            assert names(api, path) == set()
