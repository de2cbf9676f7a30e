# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real API server accepts the routes that services share, and a real Envoy splits their requests by the weights, with its own request IDs."""

from __future__ import annotations

import collections
import contextlib
import http.client
import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ext_proc_envoy import ENVOYS
from local_servers import answers, port_for_a_program
from own_api_server import api_server, program
from waiting import until

from . import dry_run
from .gateway_cases import SHARED, case, objects

Facts = dict[str, t.Any]
_TYPE = "type.googleapis.com/envoy.extensions.filters"
REQUESTS = 2000
with_envoy = pytest.mark.skipif(not ENVOYS, reason="needs the Envoy of the local cluster")


def matches(weights: Facts) -> list[tuple[str, list[Facts]]]:
    """(service, headers) of each match of the HTTPRoutes, in the order in which Envoy Gateway and Istio sort them: those with more headers first."""
    services = [{**SHARED[0], "route": {**SHARED[0]["route"], "weights": weights}}, SHARED[1]]
    routes = [item for item in objects(plan({"llm_d_model_services": services})) if item["kind"] == "HTTPRoute"]
    rows = [(rule["backendRefs"][0]["name"], match.get("headers", [])) for route in routes for rule in route["spec"]["rules"] for match in rule["matches"]]
    return sorted(rows, key=lambda entry: -len(entry[1]))


def header(each: Facts) -> Facts:
    kind = {"safe_regex": {"regex": each["value"]}} if each.get("type") == "RegularExpression" else {"exact": each["value"]}
    return {"name": each["name"], "string_match": kind}


@contextlib.contextmanager
def envoy(folder: Path, weights: Facts) -> t.Iterator[t.Callable[..., str]]:
    """Yield a function that sends a request to a real Envoy with these routes and returns the chosen service."""
    routes = [
        {"match": {"prefix": "/", "headers": list(map(header, headers))}, "direct_response": {"status": 200, "body": {"inline_string": name}}}
        for name, headers in matches(weights)
    ]
    manager = {
        "@type": f"{_TYPE}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "test",
        "use_remote_address": True,  # as in gateways
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": [{"name": "router", "typed_config": {"@type": f"{_TYPE}.http.router.v3.Router"}}],
    }
    port = port_for_a_program()
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    listener = {"name": "test", "address": address, "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}]}
    path = folder / "envoy.json"
    path.write_text(json.dumps({"static_resources": {"listeners": [listener]}}), encoding="utf-8")

    def ask(**headers: str) -> str:
        connection.request("POST", "/v1/completions", headers={name.replace("_", "-"): value for name, value in headers.items()})
        return connection.getresponse().read().decode()

    with program(folder, "envoy", ENVOYS[0], "-c", str(path), "--use-dynamic-base-id", "--concurrency", "1", "--disable-hot-restart"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        until(lambda: answers(f"http://127.0.0.1:{port}/"))
        yield ask
        connection.close()


@with_envoy
def test_requests_are_shared_by_weight_and_a_named_service_gets_all_of_its_own(tmp_path: Path) -> None:
    with envoy(tmp_path, {"sim": 90, "next": 10}) as ask:
        shares = collections.Counter(ask() for _request in range(REQUESTS))
        assert shares["sim"] + shares["next"] == REQUESTS and 120 < shares["next"] < 280, shares  # fails by chance once in a billion runs
        assert {ask(x_llm_d_service="sim") for _request in range(100)} == {"sim"}
        assert {ask(x_variant="next") for _request in range(100)} == {"next"}
        chosen = collections.Counter(ask(x_request_id="00000000-0000-4000-8000-000000000000") for _request in range(200))
        assert chosen["sim"] > 100, "a client cannot choose the service by its own request ID"


@with_envoy
@pytest.mark.parametrize(("weights", "wanted"), [({"sim": 1, "next": 0}, "sim"), ({"sim": 0, "next": 1}, "next")])
def test_a_service_of_weight_zero_gets_requests_only_by_its_name(weights: Facts, wanted: str, tmp_path: Path) -> None:
    with envoy(tmp_path, weights) as ask:
        assert collections.Counter(ask() for _request in range(REQUESTS)) == {wanted: REQUESTS}
        assert ask(x_llm_d_service="sim") == "sim"


@pytest.fixture(name="api", scope="module")
def _api(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[dry_run.Api]:
    """A real API server with the CRDs of all groups of these cases."""
    with api_server(tmp_path_factory.mktemp("api")) as running:
        api = dry_run.at(str(running.kubeconfig))
        for group in {dry_run.group_of(item) for name in WEIGHTED for item in case(name)[1]} - set(dry_run.BUILT_IN):
            dry_run.define(api, group, [])
        for name in ("llm-d", "routes", "gateways", "certificates"):
            made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": dry_run.APART + name}}
            assert api.call("POST", dry_run.NAMESPACES, made)[0] < 300
        yield api


WEIGHTED = ("weights", "weights apart", "weights of pools")


@pytest.mark.filterwarnings("ignore:Unverified HTTPS")
@pytest.mark.parametrize("name", WEIGHTED)
def test_the_api_server_accepts_every_object_of_a_shared_route(name: str, api: dry_run.Api) -> None:
    """The API server applies all validation rules, such as that a rule that replaces the prefix of a path has one match."""
    _plan, items = case(name)
    assert not dry_run.refused(api, [item for item in items if item["kind"] != "Namespace"])
    route = next(item for item in items if item["kind"] == "HTTPRoute")
    one, other = route["spec"]["rules"]
    mistake = {**route, "spec": {**route["spec"], "rules": [{**one, "matches": [*one["matches"], *other["matches"]]}]}}
    (why,) = dry_run.refused(api, [mistake]).values()
    assert "exactly one PathPrefix match must be specified" in why
