# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The workload_run module as Ansible runs it, against servers on loopback."""

from __future__ import annotations

import json

import pytest
from ansible_collections.llm_d.inference.plugins.modules import workload_run
from local_servers import SSE, chunk, serve, stream

SMALL = {"groups": 2, "prompts_per_group": 2, "system_prompt_len": 8, "question_len": 4, "output_len": 1}
STAGES = [{"rate": 50, "requests": 5}, {"rate": 100, "seconds": 0.1}]
USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}}}
OPTIONS = {"model": "acme/tiny", "workload": SMALL, "stages": STAGES, "max_lag": 1}


class Server:
    """Answers every completion and remembers the prompts."""

    def __init__(self, fail_after=None):
        self.prompts, self.keys, self.fail_after = [], set(), fail_after

    def __call__(self, handler, method, path, body):
        self.prompts.append(json.loads(body)["prompt"])
        self.keys.add(handler.headers.get("Authorization"))
        if self.fail_after is not None and len(self.prompts) > self.fail_after:
            return 503, {"Content-Type": "text/plain"}, "no healthy upstream sk-secret"
        return 200, {"Content-Type": SSE, "x-inference-pod": "pod-a"}, stream(chunk("To", "length"), USAGE)


def test_stages_are_measured_and_the_warm_up_is_not(call, tmp_path):
    server = Server()
    with serve(server) as url:
        result = call(
            workload_run, url=url, warmup={"rate": 50, "requests": 4}, progress_path=str(tmp_path / "progress"), server_api_key="sk-secret", **OPTIONS
        )
    assert "failed" not in result and result["changed"] is False and [stage["requests"] for stage in result["stages"]] == [5, 10]
    assert result["total"] == {"requests": 15, "ok": 15, "failed": 0, "hit_ratio": 0.25, "servers": {"pod-a": 15}, "valid": True}
    assert len(server.prompts) == 19 and len(set(server.prompts)) == 4 and server.keys == {"Bearer sk-secret"}
    assert [line.split(":")[0] for line in (tmp_path / "progress").read_text().splitlines()] == ["warm-up", "5 requests at 50/s", "10 requests at 100/s"]


def test_prefixes_are_new_in_each_run_unless_told_otherwise(call):
    server = Server()
    with serve(server) as url:
        first, second = (call(workload_run, url=url, **OPTIONS)["workload"]["nonce"] for dummy in range(2))
        told = call(workload_run, url=url, **{**OPTIONS, "workload": {**SMALL, "nonce": "mine"}})["workload"]["nonce"]
    assert len({first, second, told}) == 3 and told == "mine"
    assert {prompt.split()[0] for prompt in server.prompts} == {first, second, told}


def test_some_failures_are_counted(call):
    with serve(Server(fail_after=9)) as url:
        result = call(workload_run, url=url, **OPTIONS)
    assert "failed" not in result and result["total"]["failed"] == 6 and result["stages"][1]["errors"] == {"http_503": 6}
    assert "no healthy upstream" in result["stages"][1]["error_example"]


def test_nothing_but_failures_fails(call):
    with serve(Server(fail_after=0)) as url:
        result = call(workload_run, url=url, server_api_key="sk-secret", **OPTIONS)
    assert result["failed"] is True and "none of 15 requests" in result["msg"] and "answered 503" in result["msg"] and "sk-secret" not in json.dumps(result)


def test_check_mode_sends_nothing(call):
    server = Server()
    with serve(server) as url:
        result = call(workload_run, check=True, url=url, **OPTIONS)
    assert "check mode" in result["msg"] and server.prompts == [] and "stages" not in result


def test_all_mistakes_at_once(call):
    result = call(workload_run, url="ftp://x", model="m", stages=[{"rate": 0, "seconds": 1}, {"rate": 2}], workload={"groups": 0}, request_timeout=0)
    for said in ("request_timeout: 0", "workload.groups: 0", "stages[0].rate", "stages[1]: give either", "no address of a server"):
        assert said in result["msg"]


@pytest.mark.parametrize("where", [{}, {"url": "http://127.0.0.1:1", "gateway": {"namespace": "a", "name": "b"}}])
def test_one_place_to_send_to(call, where):
    assert call(workload_run, model="m", stages=STAGES, **where)["failed"] is True


def test_without_a_gateway_the_service_is_asked(call):
    server = Server()

    def answer(handler, method, path, body):
        if method == "POST":
            return server(handler, method, path, body)
        assert path == "/api/v1/namespaces/llm-d/services/sim-gateway"
        return 200, {}, json.dumps({"kind": "Service", "spec": {"type": "ClusterIP", "clusterIP": "127.0.0.1"}, "status": {}})

    with serve(answer) as url:
        address = {"namespace": "llm-d", "name": "sim-gateway", "port": int(url.rsplit(":", 1)[1])}
        result = call(workload_run, host=url, api_key="sesame-open", address=address, **OPTIONS)
        missing = call(workload_run, host=url, api_key="sesame-open", address={**address, "name": "other"}, wait=0, **OPTIONS)
    assert result["total"]["ok"] == len(server.prompts) == 15 and result["url"] == url
    assert missing["failed"] and "Service llm-d/other has no address" in missing["msg"] and "bring it up first" in missing["msg"]
