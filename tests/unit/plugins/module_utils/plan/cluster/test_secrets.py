"""Secrets of the user's values: who uses them, and that the values are only in their definitions."""

from __future__ import annotations

import base64
import json
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.applyset import MEMBER
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems, secret_definitions
from planned_pods import main

Facts = dict[str, t.Any]
TOKEN, PASSWORD, KEY = "hf_" + "q7" * 12, "s3same-" + "z9" * 8, "sk-" + "w3" * 9
GATED = {"name": "llama", "model": {"uri": "hf://meta-llama/Llama-3.1-8B-Instruct"}}
FILE: Facts = {
    "llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"},
    "llm_d_model_token": TOKEN,
    "llm_d_api_key": KEY,
    "llm_d_image_pull_credentials": [{"registry": "registry.example.com:5000", "username": "robot", "password": PASSWORD}],
    "llm_d_model_services": [GATED],
}
NONE: Facts = {"llm_d_model_token": None, "llm_d_api_key": None, "llm_d_image_pull_credentials": []}
OURS = ("llm-d-model-token", "llm-d-image-pull", "llm-d-api-key")


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_the_values_are_in_the_definitions_and_in_no_plan() -> None:
    token, pull, key = secret_definitions(FILE)
    assert base64.b64decode(token["data"]["HF_TOKEN"]).decode() == TOKEN and token["type"] == "Opaque"
    config = json.loads(base64.b64decode(pull["data"][".dockerconfigjson"]))
    assert config == {"auths": {"registry.example.com:5000": {"username": "robot", "password": PASSWORD, "auth": encoded(f"robot:{PASSWORD}")}}}
    assert pull["type"] == "kubernetes.io/dockerconfigjson"
    planned = json.dumps(plan(FILE))
    assert not [value for value in (TOKEN, PASSWORD, KEY, encoded(TOKEN), encoded(PASSWORD), encoded(KEY), encoded(f"robot:{PASSWORD}")) if value in planned]
    assert secret_definitions(FILE) == [token, pull, key]


@pytest.mark.parametrize("model", [{}, {"token_key": "token"}])
def test_models_and_pods_use_them(model: Facts) -> None:
    planned = plan({**FILE, "llm_d_model_services": [{**GATED, "model": {**GATED["model"], **model}}]})
    env = {item["name"]: item.get("valueFrom") for item in main(planned["services"][0]["server"])["env"]}
    assert env["HF_TOKEN"] == {"secretKeyRef": {"name": "llm-d-model-token", "key": "HF_TOKEN"}}
    assert planned["image_pull_secrets"] == [{"name": "llm-d-image-pull"}]
    labels = {**planned["labels"], MEMBER: planned["record"]["id"]}
    assert [item["metadata"] for item in planned["secrets"]["present"]] == [{"name": name, "namespace": "llm-d", "labels": labels} for name in OURS]
    assert planned["secrets"]["prune"] == [] and planned["preflight"]["named"] == []  # the Secrets that we create need not exist


def refused(**options: t.Any) -> str:
    """The problems of the file with these options, as one text."""
    return "\n".join(map(str, problems({**FILE, **options})))


# text-embeddings-inference#29, modelexpress#277: the line end of a file; text around a copied token
@pytest.mark.parametrize("around", ["{}\n", " {}", "{}\r\n", "{}\t", '"{}"', "'{}'", "Bearer {}", "bearer {}\n", "\ufeff{}", "{}\u200b", "a b{}"])
def test_a_token_with_more_than_the_token_is_refused_with_its_place(around: str) -> None:
    for path, options in (
        ("llm_d_model_token", {"llm_d_model_token": around.format(TOKEN)}),
        ("llm_d_benchmark.api_key", {"llm_d_benchmark": {"api_key": around.format(TOKEN)}}),
    ):
        text = refused(**options)
        assert text.startswith(f"{path}: ") and "trim" in text and TOKEN not in text, text


@pytest.mark.parametrize("around", ["{}\n", " {}", "{}\r\n", '"{}"', "'{}'", "\ufeff{}"])
def test_registry_credentials_with_surrounding_blanks_or_quotes_are_refused(around: str) -> None:
    both = {"registry": "r.example.com", "username": around.format("robot"), "password": around.format(PASSWORD)}
    text = refused(llm_d_image_pull_credentials=[both])
    assert "llm_d_image_pull_credentials[0].username: " in text and "llm_d_image_pull_credentials[0].password: " in text and PASSWORD not in text


@pytest.mark.parametrize("password", ["p", "with 'quotes' within", '{\n  "type": "service_account"\n}', '"', "ümlaut", "a\"b'c"])
def test_a_registry_password_may_contain_any_characters(password: str) -> None:
    assert not refused(llm_d_image_pull_credentials=[{"registry": "gcr.io", "username": "_json_key", "password": password}])


@pytest.mark.parametrize(
    "token", [TOKEN, f"{TOKEN}\n", f"Bearer {TOKEN}", f'"{TOKEN}"', "github_pat_" + "a1" * 12, "sk-proj-" + "b2" * 12, "nvapi-" + "c3" * 12]
)
@pytest.mark.parametrize("option", ["token_secret", "token_key", "served_name", "revision"])
def test_a_token_in_an_option_for_a_name_is_refused_and_not_shown(option: str, token: str) -> None:
    text = refused(llm_d_model_services=[{**GATED, "model": {**GATED["model"], option: token}}])
    assert f"llm_d_model_services[0].model.{option}: " in text and "llm_d_model_token" in text
    assert not [part for part in (TOKEN, "a1a1", "b2b2", "c3c3") if part in text]


def test_a_secret_of_the_user_takes_precedence_over_the_created_one() -> None:
    model = {**GATED["model"], "token_secret": "gated", "token_key": "token"}
    planned = plan({**FILE, "llm_d_image_pull_secrets": ["theirs"], "llm_d_model_services": [{**GATED, "model": model}]})
    assert [(need["name"], need["key"]) for need in planned["preflight"]["named"]] == [("theirs", ".dockerconfigjson"), ("gated", "token")]
    env = {item["name"]: item.get("valueFrom") for item in main(planned["services"][0]["server"])["env"]}
    assert env["HF_TOKEN"] == {"secretKeyRef": {"name": "gated", "key": "token"}}
    assert [each["name"] for each in planned["image_pull_secrets"]] == ["theirs", "llm-d-image-pull"]


def test_secrets_that_the_file_does_not_request_are_pruned() -> None:
    planned = plan({**FILE, **NONE})
    assert planned["record"]["secrets"] == [["llm-d", name] for name in OURS] and planned["secrets"]["present"] == [] == secret_definitions({**FILE, **NONE})


def test_an_administrator_makes_none() -> None:
    user = {**FILE, "llm_d_scope": "prerequisites"}
    assert plan(user)["secrets"] == {"present": [], "prune": []} and secret_definitions(user) == []


@pytest.mark.parametrize(("provider", "room"), [("envoy_gateway", "envoy-gateway-system"), ("istio", "istio-system"), ("agentgateway", "agentgateway-system")])
def test_a_controller_opens_the_registry_where_it_is(provider: str, room: str) -> None:
    charts = dict.fromkeys(("envoy_gateway", "istio", "istio_base", "agentgateway"), "/c")
    user = {**FILE, "llm_d_gateway": {"provider": provider}, "llm_d_charts": charts}
    made = {
        scope: [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in plan({**user, "llm_d_scope": scope})["secrets"]["present"]]
        for scope in ("prerequisites", "namespace", "cluster")
    }
    home = [("llm-d", name) for name in OURS]
    assert made == {"prerequisites": [(room, "llm-d-image-pull")], "namespace": home, "cluster": [*home, (room, "llm-d-image-pull")]}
    assert [item["metadata"]["namespace"] for item in secret_definitions({**user, "llm_d_scope": "prerequisites"})] == [room]
    requested = {
        (permission["verb"], permission.get("name"))
        for permission in plan(user)["preflight"]["permissions"]
        if permission["resource"] == "secrets" and permission["namespace"] == room
    }
    assert {("create", None), ("patch", "llm-d-image-pull")} <= requested
    adopted = plan({**user, "llm_d_gateway": {"provider": provider, "install": False}})["secrets"]["present"]
    assert [item["metadata"]["namespace"] for item in adopted] == ["llm-d"] * 3
    assert "llm-d-image-pull" in json.dumps(plan(user)["gateway"]["chart"]["values"])
    without = plan({**user, "llm_d_image_pull_credentials": []})
    assert room in [item["metadata"]["namespace"] for item in without["secrets"]["prune"]]


def test_an_account_needs_permissions_to_these_secrets_only() -> None:
    permissions = [permission for permission in plan({**FILE, "llm_d_scope": "namespace"})["preflight"]["permissions"] if permission["resource"] == "secrets"]
    assert {(permission["verb"], permission.get("name")) for permission in permissions} == {
        ("create", None),
        *((verb, name) for verb in ("get", "patch", "delete") for name in OURS),
    }
    assert not [permission for permission in plan({**FILE, **NONE})["preflight"]["permissions"] if permission["resource"] == "secrets"]


ENTRY = FILE["llm_d_image_pull_credentials"][0]


@pytest.mark.parametrize(
    "variables",
    [
        {"llm_d_model_tokn": TOKEN},
        {"llm_d_model_token": [TOKEN]},
        {"llm_d_model_token": {"value": TOKEN}},
        {"llm_d_image_pull_credentials": {**ENTRY}},
        {"llm_d_image_pull_credentials": f"robot:{PASSWORD}"},
        {"llm_d_image_pull_credentials": [f"robot:{PASSWORD}"]},
        {"llm_d_image_pull_credentials": [{**ENTRY, "passwrd": PASSWORD}]},
        {"llm_d_image_pull_credentials": [{**ENTRY, "password": [PASSWORD]}]},
        {"llm_d_image_pull_credentials": [[ENTRY]]},
        {"llm_d_model_services": {"engine": {"env": {"TOKEN": TOKEN}}}},
    ],
)
def test_no_mistake_shows_a_value(variables: Facts) -> None:
    reported = problems({**FILE, **variables})
    assert reported
    shown = "".join(f"{problem} {problem.value}" for problem in reported)
    assert TOKEN not in shown and PASSWORD not in shown, shown
