# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about permissions and privileges, against an API server on loopback that reviews permissions."""

from __future__ import annotations

import json
import types

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.validation.security_claims import SecurityCheck
from local_servers import JSON, serve

RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}, {"apiGroups": ["x.io"], "resources": ["pools/status"], "verbs": ["patch"]}]
SERVICE = {"name": "sim", "account": "sim-epp", "rules": RULES, "selectors": [{"app": "sim"}, {"app": "sim-epp"}]}
SAFE = {"allowPrivilegeEscalation": False}
NEEDED = {("get", "pods"), ("list", "pods"), ("patch", "pools/status")}


class Server:
    """`may`: the permissions of the account; `pods`: the running pods; `status`: of the replies to reviews."""

    def __init__(self, may=frozenset(NEEDED), pods=None, status=201):
        self.may, self.status, self.reviews = may, status, []
        self.pods = [{"metadata": {"name": "sim-1"}, "spec": {"containers": [{"name": "server", "securityContext": SAFE}]}}] if pods is None else pods

    def __call__(self, _handler, method, path, body):
        if method == "POST":
            spec = json.loads(body)["spec"]
            self.reviews.append(spec)
            permission = spec["resourceAttributes"]
            name = permission["resource"] + ("/" + permission["subresource"] if permission.get("subresource") else "")
            return (
                self.status,
                {"Content-Type": JSON},
                json.dumps(
                    {"status": {"allowed": (permission["verb"], name) in self.may}} if self.status == 201 else {"kind": "Status", "message": "may not review"}
                ),
            )
        return 200, {"Content-Type": JSON}, json.dumps({"items": self.pods if "app%3Dsim&" in path + "&" else []})


@pytest.fixture(name="prove")
def proof():
    def prove(server, accounts=None):
        with serve(server) as api:
            claims, skipped = SecurityCheck(connect(types.SimpleNamespace(params={"host": api, "api_key": "x-token-12345678"})), "llm-d", accounts).service(
                SERVICE
            )
        return {"claims": claims, "not_checked": skipped}

    return prove


def test_accounts_of_another_namespace_have_their_permissions_in_that_of_the_servers(prove):
    server = Server()
    result = prove(server, "pickers")
    assert [entry["ok"] for entry in result["claims"]] == [True, True] and "account pickers/sim-epp" in result["claims"][0]["evidence"]
    assert {spec["user"] for spec in server.reviews} == {"system:serviceaccount:pickers:sim-epp"}
    assert all("system:serviceaccounts:pickers" in spec["groups"] and spec["resourceAttributes"]["namespace"] == "llm-d" for spec in server.reviews)
    assert "none of 2 pods" in result["claims"][1]["evidence"], "one in each namespace"


def test_least_permissions_and_unprivileged_pods_pass_the_security_claims(prove):
    server = Server()
    result = prove(server)
    assert [(entry["id"], entry["ok"]) for entry in result["claims"]] == [("sim/permissions", True), ("sim/unprivileged", True)] and result["not_checked"] == []
    assert "secrets" in result["claims"][0]["evidence"] and {spec["user"] for spec in server.reviews} == {"system:serviceaccount:llm-d:sim-epp"}
    assert all(spec["resourceAttributes"]["namespace"] == "llm-d" for spec in server.reviews)


@pytest.mark.parametrize(
    ("may", "evidence"),
    [
        (NEEDED | {("list", "secrets")}, "may list secrets"),
        (NEEDED | {("create", "pods/exec")}, "may create pods/exec"),
        (NEEDED - {("list", "pods")}, "lacks list pods"),
        (NEEDED - {("patch", "pools/status")}, "lacks patch pools/status"),
    ],
)
def test_excess_or_missing_permissions_fail_the_permissions_claim(prove, may, evidence):
    permissions, pods = prove(Server(may))["claims"]
    assert not permissions["ok"] and evidence in permissions["evidence"] and permissions["remedy"] and pods["ok"]


@pytest.mark.parametrize(
    ("spec", "evidence"),
    [
        ({"hostNetwork": True, "containers": []}, "sim-1: hostNetwork"),
        ({"containers": [{"name": "c", "securityContext": {"privileged": True}}]}, "container c is privileged"),
        ({"containers": [{"name": "c"}]}, "container c may escalate privileges"),
        ({"containers": [{"name": "c", "securityContext": SAFE}], "initContainers": [{"name": "i"}]}, "container i may escalate privileges"),
    ],
)
def test_pods_that_are_privileged(prove, spec, evidence):
    permissions, pods = prove(Server(pods=[{"metadata": {"name": "sim-1"}, "spec": spec}]))["claims"]
    assert permissions["ok"] and not pods["ok"] and evidence in pods["evidence"]


def test_no_pod_is_no_proof(prove):
    assert [entry["ok"] for entry in prove(Server(pods=[]))["claims"]] == [True, False]


def test_permissions_are_not_checked_when_access_reviews_are_forbidden(prove):
    result = prove(Server(status=403))
    assert [entry["id"] for entry in result["claims"]] == ["sim/unprivileged"] and result["not_checked"][0]["id"] == "sim/permissions"
