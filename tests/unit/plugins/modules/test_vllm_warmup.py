# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vllm_warmup against real HTTP servers that keep a prefix cache, by URL and pod by pod through an API server."""

from __future__ import annotations

import contextlib
import json
import threading
import time

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.inference.targets import THREADS
from ansible_collections.llm_d.inference.plugins.modules import vllm_warmup
from engine_servers import SECRET, SECRETS, TINY, CachingEngine, cluster, keyed, pod
from local_servers import closed_port, serve
from module_calls import user_output

REPLICAS = {"namespace": "llm-d", "label_selector": "llm-d.ai/model-service=tiny", "port": "8000"}
PROMPT = "You are the patient assistant of a shop for boots and you answer in one short sentence only " * 3
OTHER = "Translate what follows into the language of the fishermen of the northern islands word by word " * 2


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)


def service(**more):
    places = {} if "urls" in more else {"replicas": [{**REPLICAS, "count": 2}]}
    return {"name": "tiny", "model": "acme/tiny", "prompts": [PROMPT, OTHER], **places, **more}


def warned(result):
    return [entry["event"]["msg"] for entry in result.get("warnings", [])]


def states(result):
    return [[prompt["state"] for prompt in server["prompts"]] for entry in result["services"] for server in entry["servers"]]


@pytest.mark.parametrize("api, begin", [("chat_completions", "<system> | You are"), ("completions", "You are")])
def test_the_first_run_warms_every_server_and_the_second_changes_nothing(call, monkeypatch, api, begin):
    servers = CachingEngine(), CachingEngine()
    with cluster(monkeypatch, *servers):
        first = call(vllm_warmup, services=[service(api=api)])
        assert [len(server.prompts) for server in servers] == [2, 2], "each prompt once at each server"
        second = call(vllm_warmup, services=[service(api=api)])
    assert first["changed"] is True and first["warm"] is True and states(first) == [["warmed", "warmed"]] * 2
    assert second["changed"] is False and second["warm"] is True and states(second) == [["warm", "warm"]] * 2
    assert all(server.prompts[0].startswith(begin) for server in servers) and warned(second) == []
    row = first["services"][0]["servers"][1]["prompts"][0]
    assert first["services"][0]["servers"][1]["server"] == "Pod llm-d/pod-1" and row["cached"] == 0 and row["tokens"] > 48
    assert row["prompt"] == f"prompts[0] ({len(PROMPT)} characters)" and "0 of" in row["evidence"]


def test_servers_that_want_a_key_get_that_of_their_secret(call, monkeypatch):
    keyless = service(name="open", replicas=[REPLICAS])
    with cluster(monkeypatch, keyed(CachingEngine()), objects=SECRETS) as api:
        result = call(vllm_warmup, services=[service(replicas=[{**REPLICAS, "api_key_secret": SECRET}]), keyless])
    assert [entry["warm"] for entry in result["services"]] == [True, False] and states(result)[0] == ["warmed", "warmed"] and api.port_forwards
    assert "llm_d_api_key" in result["services"][1]["servers"][0]["prompts"][0]["remedy"] and "sk-model" not in json.dumps(result)


def test_only_a_server_that_has_restarted_is_warmed_again(call, monkeypatch):
    servers = CachingEngine(), CachingEngine()
    with cluster(monkeypatch, *servers):
        call(vllm_warmup, services=[service()])
        servers[1].blocks.clear()
        result = call(vllm_warmup, services=[service()])
    assert result["changed"] is True and states(result) == [["warm", "warm"], ["warmed", "warmed"]]


@pytest.mark.parametrize(("block_size", "states_then"), [(None, ["warm", "warm"]), (16, ["warmed", "warm"])])
def test_the_block_size_is_read_from_the_server_unless_it_is_set(call, monkeypatch, block_size, states_then):
    """Blocks of 32 tokens hold fewer tokens of a prompt than the usual ones, by which a prompt that is cached as far as possible would never be warm."""
    server = CachingEngine(block=32)
    with cluster(monkeypatch, server):
        wanted = [service(replicas=[REPLICAS], **({"block_size": block_size} if block_size else {}))]
        call(vllm_warmup, services=wanted)
        assert states(call(vllm_warmup, services=wanted)) == [states_then]


def test_no_prompt_is_shown(call, monkeypatch):
    mine, theirs = "You are the patient assistant.", "Translate what follows, please."
    objects = {"/api/v1/namespaces/llm-d/configmaps/prompts": {"data": {"a.txt": theirs}}}
    refuses = CachingEngine(fails=lambda prompt: (400, {}, json.dumps({"error": {"message": f"I do not like '{prompt}'"}})))
    wanted = [service(prompts=[mine], config_map={"namespace": "llm-d", "name": "prompts"}, api="completions", replicas=[REPLICAS])]
    with cluster(monkeypatch, refuses, objects=objects):
        result = call(vllm_warmup, services=wanted)
    assert states(result) == [["failed", "failed"]] and "I do not like" in json.dumps(result)
    refused = call(vllm_warmup, services=wanted, request_timeout=0)
    assert refused["failed"] is True and not any(prompt in user_output(result, refused) for prompt in (mine, theirs))
    assert [prompt["prompt"] for prompt in result["services"][0]["servers"][0]["prompts"]] == ["prompts[0] (30 characters)", "config_map a.txt (31 characters)"]


def test_prompts_of_a_config_map_are_sent_as_well(call, monkeypatch):
    server = CachingEngine()
    objects = {"/api/v1/namespaces/llm-d/configmaps/prompts": {"data": {"b": OTHER, "a": OTHER.upper(), "empty": " "}}}
    with cluster(monkeypatch, server, objects=objects):
        result = call(vllm_warmup, services=[service(api="completions", replicas=[REPLICAS], config_map={"namespace": "llm-d", "name": "prompts"})])
    assert server.prompts == [PROMPT, OTHER, OTHER.upper(), OTHER] and result["changed"] is True


@pytest.mark.parametrize(
    "objects, message",
    [({}, "there is no ConfigMap llm-d/prompts"), ({"/api/v1/namespaces/llm-d/configmaps/prompts": {"data": None}}, "has no prompt in its data")],
)
def test_a_config_map_without_prompts_is_reported_and_other_services_go_on(call, monkeypatch, objects, message):
    server = CachingEngine()
    with cluster(monkeypatch, server, objects=objects):
        wanted = [service(prompts=[], config_map={"namespace": "llm-d", "name": "prompts"}), service(name="other", replicas=[REPLICAS])]
        result = call(vllm_warmup, services=wanted)
    broken, other = result["services"]
    assert "failed" not in result and result["warm"] is False and message in broken["problem"] and broken["remedy"] and broken["servers"] == []
    assert other["warm"] is True and [message in line for line in warned(result)] == [True]


def test_a_server_without_cached_token_counts_is_unknown_and_unchanged(call, monkeypatch):
    servers = CachingEngine("never"), CachingEngine("never")
    with cluster(monkeypatch, *servers):
        result = call(vllm_warmup, services=[service()])
    assert result["changed"] is False and result["warm"] is False and states(result) == [["unknown", "unknown"]] * 2
    assert ["--enable-prompt-tokens-details" in line for line in warned(result)] == [True]


def test_a_prompt_is_sent_again_when_the_server_omits_a_zero_cached_count(call, monkeypatch):
    servers = CachingEngine("nonzero"), CachingEngine("nonzero")
    with cluster(monkeypatch, *servers):
        first, second = (call(vllm_warmup, services=[service()]) for _turn in range(2))
    assert states(first) == [["warmed", "warmed"]] * 2 and first["changed"] is True
    assert states(second) == [["warm", "warm"]] * 2 and second["changed"] is False and len(servers[0].prompts) == 6


def test_a_server_that_caches_no_prompt_is_warmed_on_every_run(call, monkeypatch):
    with cluster(monkeypatch, CachingEngine(keeps=False)):
        for _turn in range(2):
            assert states(call(vllm_warmup, services=[service(replicas=[REPLICAS])])) == [["warmed", "warmed"]]


def test_a_prompt_of_long_words_does_not_fill_a_block(call, monkeypatch):
    with cluster(monkeypatch, CachingEngine()):
        result = call(vllm_warmup, services=[service(prompts=["incomprehensibilities everywhere", PROMPT], api="completions", replicas=[REPLICAS])])
    assert states(result) == [["short", "warmed"]] and result["warm"] is False and result["changed"] is True
    row = result["services"][0]["servers"][0]["prompts"][0]
    assert "2 tokens" in row["evidence"] and "longer prompt" in row["remedy"] and len(warned(result)) == 1


@pytest.mark.timing
def test_servers_that_do_not_answer_are_warnings_and_cost_one_timeout(call, monkeypatch):
    release = threading.Event()
    hung = CachingEngine(fails=lambda prompt: release.wait(10) and None)
    dead = pod("pod-dead", f"http://127.0.0.1:{closed_port()}", TINY)
    late = pod("pod-late", f"http://127.0.0.1:{closed_port()}", TINY, ready=False)
    healthy = CachingEngine()
    with cluster(monkeypatch, hung, healthy, dead, late):
        start = time.monotonic()
        result = call(vllm_warmup, services=[service(replicas=[{**REPLICAS, "count": 5}])], request_timeout=1.5)
        taken = time.monotonic() - start
        release.set()
    assert "failed" not in result and result["warm"] is False and states(result) == [["failed"] * 2, ["warmed"] * 2, ["failed"] * 2, ["failed"] * 2]
    assert len(hung.prompts) == 1 and taken < 3 * 1.5, "a server without an answer gets no further requests"
    entry = result["services"][0]
    assert entry["problem"] == "4 of 5 servers exist" and "not ready" in entry["servers"][3]["prompts"][0]["evidence"]
    assert all(prompt["remedy"] for server in (0, 2, 3) for prompt in entry["servers"][server]["prompts"]) and len(warned(result)) == 7


def test_servers_are_warmed_in_parallel_with_one_prompt_at_a_time_each(call, monkeypatch):
    lock, under_way, most, full = threading.Lock(), {}, {"all": 0, "one": 0}, threading.Event()

    def slow(number):
        def wait(_prompt):
            with lock:
                under_way[number] = under_way.get(number, 0) + 1
                most.update(all=max(most["all"], sum(under_way.values())), one=max(most["one"], under_way[number]))
            if most["all"] == THREADS:
                full.set()
            full.wait()
            with lock:
                under_way[number] -= 1

        return wait

    with contextlib.ExitStack() as stack:
        urls = [stack.enter_context(serve(CachingEngine(fails=slow(number)))) for number in range(20)]
        result = call(vllm_warmup, services=[service(urls=urls)])
    assert result["warm"] is True and states(result) == [["warmed", "warmed"]] * 20 and most == {"one": 1, "all": THREADS}


def test_check_mode_sends_no_prompts(call, monkeypatch):
    server = CachingEngine()
    with cluster(monkeypatch, server) as api:
        result = call(vllm_warmup, check=True, services=[service()])
    assert result["changed"] is False and server.prompts == [] and api.port_forwards == [] and "check mode" in result["msg"]


def test_an_unreachable_api_server_is_reported(call, monkeypatch):
    monkeypatch.setenv("K8S_AUTH_HOST", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
    result = call(vllm_warmup, services=[service()])
    assert "failed" not in result and result["warm"] is False and "127.0.0.1" in result["services"][0]["problem"] and warned(result)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"prompts": ["Hello, you!"], "block_size": 16}, "services[0].prompts[0] is too short"),
        ({"prompts": []}, "services[0] has no prompt"),
        ({"replicas": []}, "services[0] names no server"),
        ({"block_size": 0}, "block_size is 0"),
        ({"urls": ["http://127.0.0.1:1"], "replicas": [REPLICAS]}, "mutually exclusive"),
    ],
)
def test_mistakes_in_the_options(call, options, message):
    result = call(vllm_warmup, services=[service(**options)])
    assert result["failed"] is True and message in result["msg"]


def test_a_key_needs_a_port_forward_or_a_url(call, monkeypatch):
    with cluster(monkeypatch, CachingEngine()):
        result = call(vllm_warmup, services=[service(replicas=[REPLICAS])], api_key="sk-key-of-a-server")
    assert result["warm"] is False and "port_forward" in result["services"][0]["problem"] and "sk-key-of-a-server" not in user_output(result)


def test_through_a_port_forward(call, monkeypatch):
    server = CachingEngine()
    with cluster(monkeypatch, server) as api:
        result = call(vllm_warmup, services=[service(replicas=[REPLICAS])], through="port_forward", api_key="sk-key-of-a-server")
    assert result["warm"] is True and {entry[1:] for entry in api.port_forwards} == {("pod-0", 8000)} and api.closed()
