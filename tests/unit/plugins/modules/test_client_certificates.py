# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module that connects to an address presents its certificate to a TLS server that requests one, and reports a missing certificate."""

from __future__ import annotations

import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import k8s_job
from ansible_collections.llm_d.inference.plugins.modules import stack_validation, vllm_health, vllm_health_info, vllm_perf
from job_cluster import Cluster, kubeconfig
from local_servers import SSE, InferenceGateway, chunk, serve, stream
from module_calls import user_output

USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 1}}
LOAD = {"model": "acme/tiny", "workload": {"output_len": 1}, "stages": [{"concurrency": 2, "requests": 12}], "max_lag": 5, "max_lag_share": 0}
NAMES = {"requests": "inference_objective_request_total", "scheduler_attempts": "inference_extension_scheduler_attempts_total"}


def answer(*_args):
    return 200, {"Content-Type": SSE}, stream(chunk("To", "length"), USAGE)


@pytest.fixture(name="known")
def options_that_are_let_in(certificate):
    return {"ca_path": certificate[0], "client_cert": certificate[0], "client_key": certificate[1]}


@pytest.mark.parametrize("module", [vllm_health, vllm_health_info])
@pytest.mark.usefixtures("clock")
def test_health(call, certificate, known, module):
    extra = {"timeout": 60} if module is vllm_health else {}
    with serve(InferenceGateway(), certificate, mutual=True) as url:
        assert call(module, url=url, model="acme/tiny", **known, **extra)["healthy"] is True
        assert call(module, url=url, model="acme/tiny", ca_path=certificate[0], **extra)["healthy"] is False


@pytest.mark.parametrize("processes", [1, 2])
def test_a_measurement(call, certificate, known, processes):
    with serve(answer, certificate, mutual=True) as url:
        result = call(vllm_perf, url=url, processes=processes, **known, **LOAD)
    assert result.get("verdict") == "passed" and result["stages"][0]["ok"] == 12, result


@pytest.mark.parametrize("stranger", [False, True])
def test_a_measurement_refused_by_the_tls_server_sends_no_request(call, certificate, other_certificate, stranger):
    requests = []
    shown = {"client_cert": other_certificate[0], "client_key": other_certificate[1]} if stranger else {}
    with serve(lambda *args: requests.append(1) or answer(), certificate, mutual=True) as url:
        result = call(vllm_perf, url=url, ca_path=certificate[0], **shown, **LOAD)
    assert result["failed"] and requests == [] and ("client_cert" in result["msg"] or "the connection was closed" in result["msg"])


def test_a_measurement_by_a_job(call, certificate, known, tmp_path, monkeypatch):
    """The key is in the Secret, as the API key is, which is deleted with the Job."""
    monkeypatch.setattr(k8s_job, "POLL", 0.05)
    cluster = Cluster(tmp_path)
    with serve(answer, certificate, mutual=True) as url, serve(cluster) as api:
        result = call(vllm_perf, url=url, job={"namespace": "llm-d", "image": "python:3.12-slim"}, kubeconfig=kubeconfig(tmp_path, api), **known, **LOAD)
    assert result.get("verdict") == "passed" and result["stages"][0]["ok"] == 12, result
    made = {
        kind: json.dumps([body for method, resource, body in cluster.writes if (method, resource) == ("POST", kind)])
        for kind in ("jobs", "configmaps", "secrets")
    }
    assert "client_key" in made["secrets"] and "client_key" not in made["jobs"] + made["configmaps"] and cluster.left() == []
    with open(certificate[1], encoding="utf-8") as key:
        assert key.read() not in user_output(result)


def test_a_proof(call, certificate, known):
    gateway = InferenceGateway()
    with serve(gateway, certificate, mutual=True) as url, serve(gateway) as pages:
        service = {"name": "llama", "model": "acme/tiny", "url": url, "replicas": 2, "metrics": {"url": pages, "names": NAMES}}
        assert call(stack_validation, services=[{**service, **known}], settle=0.2)["verdict"]["ok"] is True
        gateway.prompts.clear()
        assert (
            call(stack_validation, services=[{**service, "ca_path": certificate[0]}], settle=0.2, wait=0.5)["verdict"]["ok"] is False and gateway.prompts == []
        )


@pytest.mark.parametrize("module", [vllm_health, vllm_health_info, vllm_perf])
def test_an_unusable_client_certificate_is_refused(call, certificate, module):
    options = LOAD if module is vllm_perf else {}
    assert "client_cert" in call(module, url="https://127.0.0.1:1", client_key=certificate[1], **options)["msg"]
    message = call(module, url="https://127.0.0.1:1", client_cert=certificate[1], client_key=certificate[1], **options)["msg"]
    assert f"client_cert {certificate[1]} with client_key" in message and "give readable PEM files" in message


def test_an_unusable_client_certificate_of_a_validated_service_is_refused(call, certificate):
    service = {"name": "llama", "model": "acme/tiny", "url": "https://127.0.0.1:1"}
    assert "client_cert" in call(stack_validation, services=[{**service, "client_key": certificate[1]}])["msg"]
    assert "services[0].url: client_cert /nowhere: " in call(stack_validation, services=[{**service, "client_cert": "/nowhere"}])["msg"]
