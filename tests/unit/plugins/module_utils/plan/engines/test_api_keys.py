# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API key of model servers: they read it from a Secret, all components that send them requests know which one, and no plan contains the key."""

from __future__ import annotations

import base64
import json
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import explain, plan, problems, secret_definitions
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.export import exported
from ansible_collections.llm_d.inference.plugins.module_utils.validation import benchmark_runs, targets, verdict
from planned_pods import main

Facts = dict[str, t.Any]
KEY = "clear-7Qd2kVxT9w-gateway"
VLLM: Facts = {"name": "keyed", "model": {"uri": "hf://Qwen/Qwen2.5-7B-Instruct"}, "scheduler": {"preset": "balanced"}}
ADAPTED: Facts = {**VLLM["model"], "adapters": [{"name": "sql", "source": "/models/sql"}], "adapters_at_runtime": True}
WARM: Facts = {"prompts": ["You are the patient assistant of a shop for boots and shoes."], "schedule": "@hourly"}
SIM: Facts = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}
PLACE = "llm_d_model_services[0]"
THEIRS = {"namespace": "llm-d", "name": "theirs", "key": "token"}
OURS = {"namespace": "llm-d", "name": "llm-d-api-key", "key": "API_KEY"}


def file_of(service: Facts | None = None, engine: Facts | None = None, **variables: t.Any) -> Facts:
    service = VLLM if service is None else service
    whole = {**service, "engine": {**service.get("engine", {}), **(engine or {})}}
    return {"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [whole], **variables}


def named(service: Facts | None = None, **engine: t.Any) -> Facts:
    service = VLLM if service is None else service
    return file_of({**service, "model": {**service["model"], "api_key": {"secret": "theirs", "key": "token"}}}, engine)


def environment(container: Facts) -> Facts:
    return {item["name"]: item.get("valueFrom", item.get("value")) for item in container["env"]}


@pytest.mark.parametrize(
    ("file", "variable", "secret"),
    [
        (file_of(llm_d_api_key=KEY), "VLLM_API_KEY", OURS),
        (named(), "VLLM_API_KEY", THEIRS),
        ({**named(), "llm_d_api_key": KEY}, "VLLM_API_KEY", THEIRS),
        (file_of({**VLLM, "scheduler": {"preset": "queue"}}, {"type": "tgi"}, llm_d_api_key=KEY), "API_KEY", OURS),
        (file_of({**VLLM, "scheduler": {"preset": "disaggregated"}}, llm_d_api_key=KEY), "VLLM_API_KEY", OURS),
        (file_of({**VLLM, "accelerator": {"per_replica": 16, "nodes": 2}}, llm_d_api_key=KEY), "VLLM_API_KEY", OURS),
    ],
)
def test_servers_read_it_from_the_secret(file: Facts, variable: str, secret: Facts) -> None:
    planned = plan(file)
    servers = planned["services"][0]["servers"]
    for pod in [*servers, *(server["worker"] for server in servers if server["worker"])]:
        assert environment(main(pod))[variable] == {"secretKeyRef": {"name": secret["name"], "key": secret["key"]}}
        assert not [argument for argument in pod["args"] if "key" in argument]
    assert KEY not in json.dumps(planned) and base64.b64encode(KEY.encode()).decode() not in json.dumps(planned)


def test_the_secret_is_created_for_llm_d_api_key_and_removed_without_it() -> None:
    (made,) = secret_definitions(file_of(llm_d_api_key=KEY))
    assert made["metadata"]["name"] == "llm-d-api-key" and base64.b64decode(made["data"]["API_KEY"]).decode() == KEY
    assert "- Secret llm-d/llm-d-api-key with the key API_KEY; its value is written to no file" in exported(plan(file_of(llm_d_api_key=KEY)), [])["NEEDS.md"]
    assert ["llm-d", "llm-d-api-key"] in plan(file_of())["record"]["secrets"] and secret_definitions(file_of()) == []


def test_pickers_in_another_namespace_get_no_key() -> None:
    made = secret_definitions(file_of(llm_d_api_key=KEY, llm_d_model_token="hf_x", llm_d_scheduler_namespace="pickers"))
    assert [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in made if "api-key" in item["metadata"]["name"]] == [("llm-d", "llm-d-api-key")]


def test_a_secret_of_the_users_own_has_to_be_there_and_may_be_read() -> None:
    planned = plan(named())
    path = f"{PLACE}.model.api_key"
    assert (
        planned["preflight"]["named"] == [{"kind": "Secret", **THEIRS, "object": "Secret llm-d/theirs", "path": path, "alone": True}]
        and planned["secrets"]["present"] == []
    )
    permissions = [
        permission for permission in planned["preflight"]["permissions"] if permission["resource"] == "secrets" and permission.get("name") == "theirs"
    ]
    assert permissions == [{"verb": "get", "group": "", "resource": "secrets", "namespace": "llm-d", "name": "theirs"}]
    forwarded = {"verb": "create", "group": "", "resource": "pods/portforward", "namespace": "llm-d"}
    assert forwarded in planned["preflight"]["permissions"] and forwarded not in plan(file_of())["preflight"]["permissions"]


@pytest.mark.parametrize(
    ("file", "secret"), [(named({**VLLM, "model": ADAPTED, "warmup": WARM}), THEIRS), (file_of(llm_d_api_key=KEY), OURS), (file_of(), None)]
)
def test_every_client_of_a_server_gets_the_api_key_secret(file: Facts, secret: Facts | None) -> None:
    planned = plan(file)
    servers = [each["replicas"] for each in targets.servers(planned)]
    servers += [entry for module in ("warmups", "adapters") for each in planned[module] for entry in each["replicas"]]
    servers += [entry for run in benchmark_runs.runs(planned) for entry in run["servers"]]
    assert [entry.get("api_key_secret") for entry in servers] == [secret] * len(servers) and len(servers) == (
        4 if "warmup" in file["llm_d_model_services"][0] else 2
    )
    through_the_gateway = [*targets.services(planned), *benchmark_runs.runs(planned)]
    assert [entry["api_key_secret"] for entry in through_the_gateway] == [secret, secret]


def test_an_api_key_of_the_benchmark_replaces_the_secret() -> None:
    (run,) = benchmark_runs.runs(plan(file_of(llm_d_api_key=KEY, llm_d_benchmark={"api_key": "sk-of-the-gateway"})))
    assert run["api_key_secret"] is None


def test_a_scheduled_warm_up_has_it_in_its_environment_and_reads_no_secret() -> None:
    job = plan(named({**VLLM, "model": ADAPTED, "warmup": WARM}))["services"][0]["warmup_job"]
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert environment(container) == {"LLM_D_API_KEY": {"secretKeyRef": {"name": "theirs", "key": "token"}}}
    assert "theirs" not in job["options"] and "secrets" not in json.dumps(job["rules"])
    without = plan(file_of({**VLLM, "warmup": WARM}))["services"][0]["warmup_job"]
    assert "env" not in without["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]


CLEAR = "stands in clear in their pods"


@pytest.mark.parametrize(
    ("file", "place", "reason", "fix"),
    [
        (file_of(VLLM, {"env": {"VLLM_API_KEY": KEY}}), "engine.env.VLLM_API_KEY", CLEAR, "model.api_key"),
        (file_of(VLLM, {"args": ["--seed=1", f"--api-key={KEY}"]}), "engine.args[1]", CLEAR, "llm_d_api_key"),
        (file_of(VLLM, {"args": [f"--api_key={KEY}"]}), "engine.args[0]", CLEAR, "llm_d_api_key"),
        (file_of(VLLM, {"args": ["--api-key", KEY], "image": "mine/vllm:latest"}), "engine.args[0]", CLEAR, "llm_d_api_key"),
        (file_of(VLLM, {"args": [f"--api_key {KEY}"], "image": "mine/vllm:latest"}), "engine.args[0]", CLEAR, "llm_d_api_key"),
        (file_of(VLLM, {"type": "tgi", "env": {"API_KEY": KEY}}), "engine.env.API_KEY", CLEAR, "llm_d_api_key"),
        (file_of(VLLM, {"type": "sglang", "args": [f"--api-key={KEY}"]}), "engine.args[0]", CLEAR, "have the gateway ask for keys"),
        # An empty variable sets no key, but overrides the one of the Secret.
        (named(VLLM, env={"VLLM_API_KEY": ""}), "engine.env.VLLM_API_KEY", CLEAR, "Take it out"),
        (named(type="sglang", args=[f"--api-key={KEY}"]), "engine.args[0]", CLEAR, "have the gateway ask for keys"),
        (
            named({**VLLM, "route": {"headers": {"Authorization": "Bearer x"}}}),
            "route.headers.Authorization",
            "model.api_key is sent in",
            "one of the two",
        ),
        (file_of({**VLLM, "model": {**VLLM["model"], "api_key": {"secret": "My Key"}}}), "model.api_key.secret", "lower-case letters", "Write"),
        (file_of({**VLLM, "model": {**VLLM["model"], "api_key": {"key": "x"}}}), "model.api_key.secret", "is missing", "Write"),
        (file_of(VLLM, {"api_key_secret": "theirs"}), "engine.api_key_secret", "not supported any more", "Write secret and key under model.api_key."),
    ],
)
def test_invalid_or_plain_text_api_keys_are_refused_and_not_repeated(file: Facts, place: str, reason: str, fix: str) -> None:
    reported = problems(file)
    assert [problem.path for problem in reported] == [f"{PLACE}.{place}"], [str(problem) for problem in reported]
    assert reason in reported[0].reason and fix in reported[0].fix
    assert KEY not in explain(reported) + repr(reported)


def test_the_header_of_a_route_and_the_key_of_the_file() -> None:
    (problem,) = problems(file_of({**VLLM, "route": {"headers": {"authorization": "Bearer x"}}}, llm_d_api_key=KEY))
    assert problem.path == f"{PLACE}.route.headers.authorization" and "is what llm_d_api_key is sent in" in problem.reason


@pytest.mark.parametrize("value", [f"{KEY}\n", f" {KEY}", f"Bearer {KEY}", f'"{KEY}"', f"{KEY}\u00fc", [KEY], {"value": KEY}])
def test_no_key_that_a_request_cannot_carry(value: t.Any) -> None:
    (problem,) = problems(file_of(llm_d_api_key=value))
    assert problem.path == "llm_d_api_key" and KEY not in explain([problem]) + repr(problem)


@pytest.mark.parametrize(
    ("file", "secret"), [(file_of(SIM, llm_d_api_key=KEY), OURS), (file_of(VLLM, {"type": "sglang"}, llm_d_api_key=KEY), OURS), (named(SIM), THEIRS)]
)
def test_servers_without_key_support_get_none_while_gateway_clients_keep_it(file: Facts, secret: Facts) -> None:
    planned = plan(file)
    service, name = planned["services"][0], file["llm_d_model_services"][0]["name"]
    assert [note for note in service["scheduler"]["notes"] if note.startswith(f"{name}: its servers answer without the API key, since")]
    assert [entry["api_key_secret"] for entry in [*targets.services(planned), *benchmark_runs.runs(planned)]] == [secret, secret]
    assert service["server"]["api_key_secret"] is None and "api_key_secret" not in targets.servers(planned)[0]["replicas"]
    assert not [item for item in main(service["server"])["env"] if "secretKeyRef" in item.get("valueFrom", {})]
    permissions = planned["preflight"]["permissions"]
    assert {"verb": "get", "group": "", "resource": "secrets", "namespace": "llm-d", "name": secret["name"]} in permissions
    assert not [permission for permission in permissions if permission["resource"] == "pods/portforward"], (
        "its servers are reached through the proxy of the API server"
    )


def test_an_endpoint_picker_that_queries_servers_without_a_key_is_noted() -> None:
    plugins = [{"type": "models-data-source"}, {"type": "models-data-extractor"}, {"type": "queue-scorer"}]
    profiles = [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}]
    layer = {"sources": [{"pluginRef": "models-data-source", "extractors": [{"pluginRef": "models-data-extractor"}]}]}
    document = {"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": plugins, "schedulingProfiles": profiles, "dataLayer": layer}
    service = {**VLLM, "scheduler": {"document": document}}
    note = "keyed: the endpoint picker's models-data-source has no API key, so servers refuse its requests."
    assert note in plan(named(service))["services"][0]["scheduler"]["notes"] and note not in plan(file_of(service))["services"][0]["scheduler"]["notes"]


@pytest.mark.parametrize("file", [file_of(VLLM, {"env": {"VLLM_API_KEY": ""}}), file_of(SIM, {"env": {"VLLM_API_KEY": "x"}})])
def test_an_empty_api_key_variable_and_one_of_a_simulator_are_accepted(file: Facts) -> None:
    assert problems(file) == []


@pytest.mark.parametrize(("key", "field"), [("token", "token"), ("api.key", "api\\.key")])
def test_the_curl_line_of_a_verdict_reads_the_key_from_the_secret(key: str, field: str) -> None:
    line = verdict.curl({"url": "http://a", "model": "m", "api_key_secret": {**THEIRS, "key": key}})
    header = f"""-H "Authorization: Bearer $(kubectl -n llm-d get secret theirs -o jsonpath='{{.data.{field}}}' | base64 -d)" """
    assert line.startswith(f"curl -si http://a/v1/completions {header}-H 'Content-Type: application/json'")
