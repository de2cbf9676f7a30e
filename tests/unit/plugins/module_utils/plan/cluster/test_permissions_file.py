# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of playbooks/list_permissions.yml: subject, objects, lines. The permissions of modules: tests/contract/test_permissions.py."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.filter.plan_files import permissions_file as through_the_filter
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.looks import optional_permissions
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.permissions_file import PREFIX, chosen, objects, permissions_file

Facts = dict[str, t.Any]
SIM: Facts = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}
RBAC = "rbac.authorization.k8s.io"


def made(scope: str = "namespace", **variables: t.Any) -> Facts:
    return plan({"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [SIM], "llm_d_scope": scope, **variables})


def written(planned: Facts, **given: t.Any) -> list[Facts]:
    options, problems = chosen({f"{PREFIX}{name}": value for name, value in given.items()})
    assert not problems, problems
    return objects(planned, options)


def keys(items: list[Facts]) -> list[tuple[str, str, str]]:
    return [(item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in items]


def subjects(items: list[Facts]) -> list[Facts]:
    return [subject for item in items for subject in item.get("subjects", [])]


def test_an_account_with_a_role_and_its_binding() -> None:
    items = written(made())
    name = "llm-d-deployer"
    assert keys(items) == [(kind, "llm-d", name) for kind in ("ServiceAccount", "Role", "RoleBinding")]
    assert items[-1]["roleRef"] == {"apiGroup": RBAC, "kind": "Role", "name": name}
    assert subjects(items) == [{"kind": "ServiceAccount", "name": name, "namespace": "llm-d"}]


@pytest.mark.parametrize("scope", ["cluster", "prerequisites"])
def test_permissions_without_a_namespace_are_in_a_cluster_role(scope: str) -> None:
    items = written(made(scope))
    name = "llm-d-administrator" if scope == "prerequisites" else "llm-d-deployer"
    of_cluster = [key for key in keys(items) if not key[1]]
    assert of_cluster == [("ClusterRole", "", f"llm-d:{name}"), ("ClusterRoleBinding", "", f"llm-d:{name}")], "another namespace has one of its own"
    assert ("Namespace", "", "llm-d") not in keys(items) and {kind for kind, *_rest in keys(items)} == {
        "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
    }  # fmt: skip
    bound = [(item["kind"].removesuffix("Binding"), item["metadata"].get("namespace", ""), item["roleRef"]["name"]) for item in items if "roleRef" in item]
    assert bound == [key for key in keys(items) if key[0] in ("Role", "ClusterRole")]
    assert len(subjects(items)) == len(bound) and {subject["name"] for subject in subjects(items)} == {name}


def test_two_deployments_in_one_namespace_have_roles_of_their_own() -> None:
    edge = {"llm_d_gateway": {"namespace": "edge"}}
    all_of_them = [made(**edge), made(llm_d_instance="two", **edge), made(llm_d_namespace="b", **edge)]
    all_keys = [key for planned in all_of_them for key in keys(written(planned))]
    assert len(all_keys) == len(set(all_keys)) and ("Role", "edge", "llm-d:llm-d-deployer") in all_keys and ("Role", "edge", "b:llm-d-deployer") in all_keys


def test_the_account_follows_the_options() -> None:
    items = written(made(), account="bot", account_namespace="ci", token="true")
    assert keys(items)[:2] == [("ServiceAccount", "ci", "bot"), ("Secret", "ci", "bot-token")]
    assert items[1]["type"] == "kubernetes.io/service-account-token" and "data" not in items[1]
    assert items[1]["metadata"]["annotations"] == {"kubernetes.io/service-account.name": "bot"}
    assert subjects(items) == [{"kind": "ServiceAccount", "name": "bot", "namespace": "ci"}]
    existing = written(made(), account="bot", account_namespace="ci", create_account="False")
    assert subjects(existing) == subjects(items) and {kind for kind, *_rest in keys(existing)} == {"Role", "RoleBinding"}


@pytest.mark.parametrize("kind", ["user", "group"])
def test_an_existing_user_or_group_needs_no_account(kind: str) -> None:
    items = written(made(), **{kind: "jane@example.com", "account": ""})
    assert subjects(items) == [{"kind": kind.capitalize(), "apiGroup": RBAC, "name": "jane@example.com"}]
    assert {key[0] for key in keys(items)} == {"Role", "RoleBinding"}


def test_each_subject_has_a_binding_of_its_own() -> None:
    given = [{}, {"account": "bot"}, {"account_namespace": "ci"}, {"user": "jane"}, {"group": "jane"}, {"user": "https://issuer.example.com#jane"}]
    bindings = [item for each in given for item in written(made(), **each) if item["kind"] == "RoleBinding"]
    names = [item["metadata"]["name"] for item in bindings]
    assert len(set(names)) == len(given) and names[0] == "llm-d-deployer" and not [name for name in names if "/" in name or "%" in name], names
    assert {item["roleRef"]["name"] for item in bindings} == {"llm-d-deployer"}


@pytest.mark.parametrize(
    ("given", "path", "words"),
    [
        ({"acount": "x"}, "list_permissions_acount", "Did you mean 'account'?"),
        ({"token": "maybe"}, "list_permissions_token", "true or false"),
        ({"account": "Not A Name"}, "list_permissions_account", "lower-case"),
        ({"state": "gone"}, "list_permissions_state", "present"),
        ({"user": "jane", "token": True}, "list_permissions_token", "Leave it out, or list_permissions_user."),
        ({"user": "jane", "group": "ml"}, "list_permissions_group", "names someone else"),
        ({"group": "ml", "account_namespace": "ci"}, "list_permissions_account_namespace", "names someone else"),
    ],
)
def test_options_that_make_no_sense_are_refused(given: Facts, path: str, words: str) -> None:
    _options, (problem,) = chosen({f"{PREFIX}{name}": value for name, value in given.items()})
    assert problem.path == path and words in f"{problem.reason} {problem.fix}"
    with pytest.raises(Exception, match=path):
        through_the_filter(made(), {f"{PREFIX}{name}": value for name, value in given.items()})


def test_the_permissions_file_is_valid_yaml_and_its_lines_explain_its_use() -> None:
    file = permissions_file(made(), chosen({"list_permissions_token": True})[0])
    assert file["name"] == "permissions-namespace.yml"
    assert list(yaml.safe_load_all(file["content"])) == written(made(), token=True)
    assert file["content"] == permissions_file(made(), chosen({"list_permissions_token": "true"})[0])["content"], "the same text for the same file"
    assert file["lines"][:2] == ["for: ServiceAccount llm-d/llm-d-deployer", "namespaces that must exist (kubectl create namespace NAME): llm-d"]
    assert "kubectl get secret llm-d-deployer-token --namespace llm-d" in file["lines"][2]
    assert "kubectl create token llm-d-deployer --namespace llm-d" in permissions_file(made(), chosen({})[0])["lines"][2]
    assert permissions_file(made(), chosen({"list_permissions_user": "jane"})[0])["lines"] == [
        "for: User jane",
        "namespaces that must exist (kubectl create namespace NAME): llm-d",
    ]


def test_optional_permissions_are_granted_and_not_required() -> None:
    planned = made()
    demanded = {(permission["verb"], permission.get("group", ""), permission["resource"]) for permission in planned["preflight"]["permissions"]}
    granted = {(permission["verb"], permission["group"], permission["resource"]) for permission in optional_permissions(planned)}
    for permission in (("create", "authorization.k8s.io", "localsubjectaccessreviews"), ("list", "autoscaling", "horizontalpodautoscalers")):
        assert permission in granted and permission not in demanded, "an account without it deploys all the same"
    assert not {verb for verb, _group, resource in granted if resource == "secrets"}
    assert not {permission for permission in optional_permissions(planned) if not permission["namespace"]} and any(
        not permission["namespace"] for permission in optional_permissions(made("cluster"))
    )
    assert not [
        permission for permission in optional_permissions(made("cluster")) if permission["verb"] not in ("get", "list") and not permission["namespace"]
    ], "in the cluster it only reads"


def test_a_namespace_is_created_with_the_permissions_of_the_file() -> None:
    """A namespace is applied, which is a patch."""
    verbs = {permission["verb"] for permission in made("prerequisites")["preflight"]["permissions"] if permission["resource"] == "namespaces"}
    assert {"create", "patch"} <= verbs


def test_no_plan() -> None:
    with pytest.raises(Exception, match="takes a plan"):
        through_the_filter([])
