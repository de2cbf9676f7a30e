"""A real API server with the real definitions takes every provider's objects: server-side dry run, with defaulting, pruning and CEL rules.

Needs the local cluster up (`make site`) and Go for the definitions' modules. Run by hand or by verify.yml:
  pytest molecule/providers/live
It installs the definitions that the cluster lacks, and takes those away again. Nothing else is written.
Definitions that are only written down (tests/contract/written_down) are installed too: for them this proves no more than their own words.
"""

from __future__ import annotations

import os
import typing as t

import kubernetes
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.cluster import Cluster
from ansible_collections.llm_d.inference.plugins.module_utils.cluster_errors import ApiError
from contract import definitions_of_others as others
from contract.gateway_cases import CASES, STANDALONE, case

Facts = dict[str, t.Any]
KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
WRITTEN_DOWN = sorted({path.stem.partition(".")[2] for path in others.WRITTEN_DOWN.glob("*.yml")})
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES = ["llm-d", "gateways", "routes", "certificates"]


class Api:
    """Plain requests to the API server; a refusal is an answer."""

    def __init__(self) -> None:
        configuration = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(KUBECONFIG, client_configuration=configuration)
        configuration.connection_pool_maxsize = 6
        self.cluster = Cluster(configuration, {})

    def call(self, method: str, path: str, body: Facts | None = None, **query: str) -> tuple[int, Facts]:
        """(status, answer)."""
        try:
            kind = "application/apply-patch+yaml" if method == "PATCH" else "application/json"
            return 200, self.cluster.request(method, path, query, body, content_type=kind)
        except ApiError as error:
            return error.status, {"message": error.message}


@pytest.fixture(scope="module")
def api() -> t.Iterator[Api]:
    """The API server with every definition there; what was not there before goes again."""
    found, made = Api(), []
    for group in [*others.MODULES, *WRITTEN_DOWN]:
        for crd in others.definitions(group):
            path = f"{CRDS}/{crd['metadata']['name']}"
            if found.call("GET", path)[0] == 404:
                body = {**crd, "metadata": {**crd["metadata"], "labels": {"llm-d-test": "providers"}}}
                status, answer = found.call("PATCH", path, body, fieldManager="llm-d-test", force="true")
                assert status < 300, (crd["metadata"]["name"], answer.get("message"))
                made.append(path)
    spaces = [name for name in NAMESPACES if found.call("GET", f"/api/v1/namespaces/{name}")[0] == 404]
    for name in spaces:
        found.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    for path in made:
        _wait_established(found, path)
    yield found
    for path in made:
        found.call("DELETE", path)
    for name in spaces:
        found.call("DELETE", f"/api/v1/namespaces/{name}")


def _wait_established(found: Api, path: str) -> None:
    for _attempt in range(100):
        conditions = {entry["type"]: entry["status"] for entry in found.call("GET", path)[1].get("status", {}).get("conditions", [])}
        if conditions.get("Established") == "True":
            return
    raise AssertionError(f"{path} was never established")


def dry_run(api: Api, item: Facts) -> tuple[int, str]:
    """What the API server says of an object, which it does not keep. An unknown field is an error."""
    path = api.cluster.path(item["apiVersion"], item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
    if path is None:
        return 404, f"no such kind: {item['apiVersion']} {item['kind']}"
    status, answer = api.call("PATCH", path, item, fieldManager="llm_d.inference", force="true", dryRun="All", fieldValidation="Strict")
    return status, str(answer.get("message", ""))


@pytest.mark.parametrize("name", [*CASES, *STANDALONE])
def test_the_api_server_takes_every_object(api: Api, name: str) -> None:
    _plan, found = case(name)
    refused = {f"{item['kind']} {item['metadata']['name']}": said for item in found for status, said in [dry_run(api, item)] if status >= 300}
    assert not refused


def test_the_api_server_refuses_what_is_wrong(api: Api) -> None:
    _plan, found = case("istio")
    rule = next(item for item in found if item["kind"] == "DestinationRule")
    status, said = dry_run(api, {**rule, "spec": {**rule["spec"], "trafficPolicy": {"tls": {"mode": "PLAIN"}}}})
    assert status >= 400 and "mode" in said
