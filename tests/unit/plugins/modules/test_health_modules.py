# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules as Ansible runs them: options, results, check mode and messages."""

from __future__ import annotations

import json

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.llm_d.inference.plugins.module_utils.validation import claims
from ansible_collections.llm_d.inference.plugins.modules import stack_validation, vllm_health
from local_servers import InferenceGateway, closed_port, models, serve
from module_calls import user_output

pytestmark = pytest.mark.usefixtures("clock")

NAMES = {"requests": "inference_objective_request_total", "scheduler_attempts": "inference_extension_scheduler_attempts_total"}
KEY = "sk-very-secret"


@pytest.fixture(name="run")
def run_module(capsys):
    """Runs a module with options; gives its result."""

    def run(module, check=False, **options):
        with patch_module_args({**options, "_ansible_check_mode": check}), pytest.raises(SystemExit):
            module.main()
        return json.loads(capsys.readouterr().out)

    return run


def test_a_healthy_server(run):
    with serve(InferenceGateway()) as url:
        result = run(vllm_health, url=url + "/v1", model="acme/tiny", timeout=60)
    assert result["healthy"] is True and result["changed"] is False and result["level"] == "serving" and "failed" not in result
    assert result["models"] == [{"id": "acme/tiny", "max_model_len": 1024}] and len(result["checks"]) == 4


def test_a_server_that_is_not_there(run):
    url = f"http://127.0.0.1:{closed_port()}"
    result = run(vllm_health, url=url, timeout=60, interval=25)
    assert result["failed"] is True and result["healthy"] is False and result["looks"] == 4 and result["waited"] == 60
    assert f"GET {url}/health: connection refused. Remedy: " in result["msg"] and "exception" not in result


def test_the_key_is_never_shown(run):
    with serve(lambda handler, *rest: (401, {}, handler.headers["Authorization"] or "")) as url:
        result = run(vllm_health, url=url, api_key=KEY, timeout=60)
    assert "401" in result["msg"] and KEY not in user_output({**result, "invocation": None})


def test_check_mode_checks_health_once_without_completions_and_does_not_fail(run):
    gateway = InferenceGateway()
    with serve(gateway) as url:
        result = run(vllm_health, check=True, url=url, model="acme/tiny")
        assert result["healthy"] is True and result["level"] == "ready" and result["looks"] == 1 and gateway.prompts == []
    result = run(vllm_health, check=True, url=url, timeout=300)
    assert result["healthy"] is False and "failed" not in result and "check mode" in result["msg"]


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "one of the following is required: url, urls, service, pod, gateway, replicas"),
        ({"url": "localhost:8000"}, "'localhost:8000' is no address of a server; write http://"),
        ({"url": "http://a", "timeout": 0}, "must be more than 0"),
        ({"url": "http://a", "level": "fine"}, "value of level must be one of: alive, ready, serving"),
        ({"service": {"namespace": "a", "name": "b", "port": 1}, "api_key": "x" * 9}, "give url or urls instead"),
        ({"service": {"namespace": "a", "name": "b", "port": 1}, "kubeconfig": "/nowhere/kubeconfig"}, "/nowhere/kubeconfig"),
        ({"url": "https://a", "ca_path": "/nowhere/ca.pem"}, "/nowhere/ca.pem"),
    ],
)
def test_invalid_options_are_reported_in_one_line(run, options, message):
    result = run(vllm_health, **options)
    assert result["failed"] is True and message in result["msg"] and "Traceback" not in result["msg"] and "\n" not in result["msg"]


def test_a_model_that_is_too_short(run):
    with serve(lambda *rest: (200, {"Content-Type": "application/json"}, models("a", length=512))) as url:
        result = run(vllm_health, url=url, min_model_len=1024, timeout=60)
    assert "512" in result["msg"]


def service(url, **more):
    return {"name": "llama-8b", "model": "acme/tiny", "url": url, "replicas": 2, "metrics": {"url": url, "names": NAMES}, **more}


def test_a_proof(run):
    with serve(InferenceGateway()) as url:
        result = run(stack_validation, services=[service(url)])
    verdict = result["verdict"]
    assert verdict["ok"] is True and result["changed"] is False and "failed" not in result and set(verdict["versions"]) == {"kubernetes"}
    assert [entry["id"].split("/")[1] for entry in verdict["claims"]] == ["serving", "scheduled", "counted", "sticky", "cached", "spread"]


def test_a_proof_that_fails_names_every_claim(run):
    with serve(InferenceGateway(sticky=False, scheduler_header=False)) as url:
        result = run(stack_validation, services=[service(url)], settle=0.1)
    assert "failed" not in result and result["verdict"]["ok"] is False
    failures = "\n".join(claims.failures(result["verdict"]["claims"]))
    assert "llama-8b/scheduled: 0 of 10" in failures and "llama-8b/sticky: 6 requests" in failures and failures.count("remedy: ") == 2


def test_stack_validation_in_check_mode_sends_no_prompts(run):
    gateway = InferenceGateway()
    with serve(gateway) as url:
        result = run(stack_validation, check=True, services=[service(url)], gateway={"namespace": "a", "name": "b"}, kubeconfig="/nowhere")
    assert gateway.prompts == [] and "verdict" not in result and "nothing is validated" in result["msg"]
    assert "failed" not in result


def test_all_bad_options_of_a_proof_at_once(run):
    broken = {"name": "c", "model": "m", "url": "https://c", "ca_path": "/nowhere/ca.pem"}
    result = run(
        stack_validation,
        services=[service("a", metrics=None, headers={"x two": "b"}), {"name": "b", "model": "m"}, broken],
        sticky_requests=1,
        request_timeout=0,
    )
    for message in (
        "services[2].url: ca_path /nowhere/ca.pem",
        "services[0].url: 'a' is no address",
        "services[0].headers.x two: 'x two' is no name of a header",
        "services[1]: give url, address (the Service to send requests to), or the option gateway",
        "sticky_requests: 1 must be",
        "request_timeout: 0",
    ):
        assert message in result["msg"]


def test_stack_validation_reports_a_missing_kubeconfig_without_a_traceback(run):
    result = run(stack_validation, services=[{"name": "a", "model": "m"}], gateway={"namespace": "a", "name": "b"}, kubeconfig="/nowhere/kubeconfig")
    assert result["failed"] is True and "there is no such file" in result["msg"] and "Traceback" not in json.dumps(result)
