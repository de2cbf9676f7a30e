"""A real API server with the real CRDs accepts the objects of each provider: server-side dry run, with defaulting, pruning and CEL rules.

Needs the running local cluster (`make site`) and Go for the modules of the CRDs. Run by hand or by verify.yml:
  pytest molecule/providers/live
tests/contract/dry_run.py describes the objects that it creates and deletes.
"""

from __future__ import annotations

import os
import typing as t

import pytest
from contract.dry_run import Api, at, dry_run, prepared, refused
from contract.gateway_cases import CASES, STANDALONE, case

Facts = dict[str, t.Any]
KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")


@pytest.fixture(scope="module")
def api() -> t.Iterator[Api]:
    """The API server, with the CRDs and namespaces of all cases."""
    server = at(KUBECONFIG)
    with prepared(server, [item for name in [*CASES, *STANDALONE] for item in case(name)[1]]):
        yield server


@pytest.mark.parametrize("name", [*CASES, *STANDALONE])
def test_the_api_server_accepts_every_object(api: Api, name: str) -> None:
    assert refused(api, case(name)[1]) == {}


def test_the_api_server_refuses_an_invalid_destination_rule(api: Api) -> None:
    _plan, objects = case("istio")
    rule = next(item for item in objects if item["kind"] == "DestinationRule")
    status, message = dry_run(api, {**rule, "spec": {**rule["spec"], "trafficPolicy": {"tls": {"mode": "PLAIN"}}}})
    assert status >= 400 and "mode" in message
