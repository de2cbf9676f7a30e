"""How long servers, the endpoint picker and proxies keep in-flight requests: the times agree, or the file is refused."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.releases import vllm
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import ENGINE_DEFAULTS
from planned_pods import main, spec

Facts = dict[str, t.Any]
SIMULATOR: Facts = {"name": "sim", "model": {"served_name": "acme/tiny"}, "engine": {"type": "simulator"}}
LLAMA: Facts = {"name": "llama", "model": {"uri": "hf://acme/tiny"}, "accelerator": {"vendor": "nvidia", "per_replica": 1}}
ON_EACH_NODE = {"llm_d_charts": {"envoy_gateway": "/charts/gateway-helm", "leader_worker_set": "/charts/lws"}}


def user(service: Facts, **variables: t.Any) -> Facts:
    return {**ON_EACH_NODE, "llm_d_model_services": [service], **variables}


def planned(service: Facts, **variables: t.Any) -> Facts:
    result: Facts = plan(user(service, **variables))["services"][0]
    return result


def with_engine(service: Facts, scheduler: Facts | None = None, **engine: t.Any) -> Facts:
    return {**service, "engine": {**service.get("engine", {}), **engine}, **({"scheduler": scheduler} if scheduler else {})}


def times(service: Facts) -> tuple[int, int, list[str]]:
    """(pause before SIGTERM, grace period, arguments with shutdown-timeout) of the servers of a planned service."""
    server = service["server"]
    return (
        main(server)["lifecycle"]["preStop"]["sleep"]["seconds"],
        spec(server)["terminationGracePeriodSeconds"],
        [argument for argument in server["args"] if "shutdown-timeout" in argument],
    )


@pytest.mark.parametrize(
    ("engine", "pause", "timeout"),
    [
        ({}, 10, 120),
        ({"drain_seconds": 300}, 10, 300),
        ({"image": "docker.io/vllm/vllm-openai:v0.18.0"}, 10, 120),
        ({"image": "docker.io/vllm/vllm-openai:v0.33.0"}, 10, 120),  # newer than any that is recorded
        ({"image": "registry.mine/llm:7", "version": "0.20.1"}, 10, 120),
        ({"image": "docker.io/vllm/vllm-openai:v0.17.1"}, 120, None),
        ({"image": "registry.mine/llm:7"}, 120, None),
        ({"image": "registry.mine/llm:7", "args": ["--shutdown-timeout=120"]}, 10, 120),
        ({"image": "registry.mine/llm:7", "args": ["--shutdown-timeout", "90"], "drain_seconds": 90}, 10, 90),
        ({"type": "sglang"}, 120, None),
        ({"type": "trtllm"}, 120, None),
    ],
)
def test_a_server_has_the_time_that_answers_take(engine: Facts, pause: int, timeout: int | None) -> None:
    service = planned(with_engine(LLAMA, **engine), llm_d_gateway={"drain_seconds": 300})
    whole = engine.get("drain_seconds", 120)
    own = [argument for argument in engine.get("args", []) if "shutdown" in argument]
    assert times(service) == (pause, (pause + timeout if timeout else whole) + 55, own or ([f"--shutdown-timeout={timeout}"] if timeout else []))


@pytest.mark.parametrize(("seconds", "pause"), [(None, 15), (5, 5), (60, 30), (600, 570)])
def test_a_simulator_finishes_requests_for_half_a_minute_of_its_own(seconds: int | None, pause: int) -> None:
    service = planned(with_engine(SIMULATOR, drain_seconds=seconds), llm_d_gateway={"drain_seconds": 600})
    assert times(service) == (pause, (seconds or 45) + 55, []) and pause + 30 >= (seconds or 45)


@pytest.mark.parametrize(
    "options",
    [
        {"accelerator": {"vendor": "nvidia", "per_replica": 16, "nodes": 2}},
        {"scheduler": {"preset": "disaggregated"}, "prefill": {"replicas": 1}},
    ],
    ids=["nodes", "prefill"],
)
def test_servers_that_other_servers_need_sleep_for_the_whole_drain_time(options: Facts) -> None:
    """Such servers are the pods of a group, and prefill servers whose KV caches are still fetched."""
    service = planned({**LLAMA, **options})
    servers = (
        [service["server"]["worker"], service["server"]]
        if "accelerator" in options
        else [server for server in service["servers"] if server["role"] == "prefill"]
    )
    assert [main(server)["lifecycle"]["preStop"]["sleep"]["seconds"] for server in servers] == [120] * len(servers)
    assert not any("shutdown-timeout" in argument for server in servers for argument in server["args"])


def test_every_default_leaves_a_stream_of_forty_seconds_alone() -> None:
    for name, facts in ENGINE_DEFAULTS.items():
        assert facts["drain_seconds"] >= 45, name


@pytest.mark.parametrize(
    "service", [LLAMA, SIMULATOR, with_engine(LLAMA, drain_seconds=900), with_engine(SIMULATOR, scheduler={"args": ["--drain-timeout=2m"]})]
)
def test_the_endpoint_picker_has_no_less_than_its_servers(service: Facts) -> None:
    result = planned(service, llm_d_gateway={"drain_seconds": 900})
    picker, own = result["scheduler"], 120 if "scheduler" in service else 30
    assert picker["drain_seconds"] >= 30 and picker["drain_seconds"] + own >= result["server"]["drain_seconds"]
    assert spec(picker)["terminationGracePeriodSeconds"] == picker["drain_seconds"] + own + 10


def test_the_proxies_of_envoy_gateway_have_no_less_either() -> None:
    for provider in ("envoy_gateway", "envoy_ai_gateway"):
        assert plan(user(LLAMA, llm_d_gateway={"provider": provider}))["gateway"]["proxy_drain"] == "120s"
    assert plan(user(LLAMA, llm_d_gateway={"drain_seconds": 600}))["gateway"]["proxy_drain"] == "600s"
    assert plan(user(LLAMA, llm_d_gateway={"provider": "istio"}))["gateway"]["proxy_drain"] is None


@pytest.mark.parametrize(
    ("service", "gateway", "path", "value", "words"),
    [
        (with_engine(LLAMA, drain_seconds=300), {}, "engine.drain_seconds", 300, "Write llm_d_gateway.drain_seconds: 300, or at most 120 here."),
        (LLAMA, {"drain_seconds": 60}, "engine.drain_seconds", 120, "Write llm_d_gateway.drain_seconds: 120, or at most 60 here."),
        (with_engine(LLAMA, args=["--shutdown-timeout=60"]), {}, "engine.args[0]", "--shutdown-timeout=60", "Take it out and write engine.drain_seconds: 60."),
        (with_engine(LLAMA, args=["-v", "--shutdown-timeout", "0"]), {}, "engine.args[1]", "--shutdown-timeout=0", "Take it out."),
        (with_engine(LLAMA, {"drain_seconds": 30}, drain_seconds=120), {}, "scheduler.drain_seconds", 30, "Write 90 or more, leave it out"),
        (with_engine(LLAMA, {"drain_seconds": 30}, drain_seconds=120), {}, "scheduler.drain_seconds", 30, "or write engine.drain_seconds: 60."),
    ],
)
def test_times_that_contradict_each_other_are_refused(service: Facts, gateway: Facts, path: str, value: t.Any, words: str) -> None:
    (problem,) = [each for each in problems(user(service, llm_d_gateway=gateway)) if "drain" in each.reason or "answers" in each.reason]
    assert (problem.path, problem.value) == (f"llm_d_model_services[0].{path}", value) and words in problem.fix


def test_drain_times_that_do_not_contradict_each_other_are_accepted() -> None:
    for service in (with_engine(LLAMA, {"drain_seconds": 30}), with_engine(LLAMA, {"drain_seconds": 90}, drain_seconds=120)):
        assert problems(user(service)) == []
    assert problems(user(with_engine(LLAMA, drain_seconds=600), llm_d_gateway={"provider": "istio"})) == []


def test_a_drain_of_proxies_that_others_set_up_is_refused() -> None:
    for gateway in ({"provider": "istio"}, {"create": False, "name": "theirs"}):
        (problem,) = problems(user(LLAMA, llm_d_gateway={**gateway, "drain_seconds": 60}))
        assert problem.path == "llm_d_gateway.drain_seconds" and "it has no effect" in problem.reason


def test_the_option_is_known_from_its_version_on() -> None:
    assert [vllm.has_option(version, "--shutdown-timeout") for version in ("0.17.1", "0.18.0", "0.18.5", "0.32.0", "0.40.0")] == [False, True, True, True, True]
