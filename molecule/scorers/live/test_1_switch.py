"""A switch between presets under load loses no request; a switch that fails is rolled back."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from stack import MODELS, Stack, call, until
from steady_load import SteadyLoad

from tools.manifests import user_file

RATE = 50.0
# Neighbours differ, so that each step is a switch. Switches to and from precise prefix and prefill servers replace model servers too.
ROUND = ("queue", "round_robin", "prefix_aware", "precise_prefix", "balanced", "disaggregated", "precise_prefix", "disaggregated", "default", "balanced")
PRESETS = tuple(sorted(set(ROUND)))


def every_pair(names: tuple[str, ...]) -> list[str]:
    """A round trip that contains each ordered pair of names exactly once."""
    walk = []
    for at, left in enumerate(names):
        walk.append(left)
        for right in names[at + 2 :]:
            walk += [right, left]
    return walk + list(reversed(names[:-1]))


@pytest.mark.rest
def test_a_preset_switch_under_load_loses_no_request(stack: Stack) -> None:
    """Ten switches; with LLM_D_SWITCHES=all the 42 between any two presets, which take 15 minutes."""
    stamps = []
    with SteadyLoad(stack.url("sim"), MODELS["sim"], RATE) as load:
        time.sleep(3)
        begin = time.monotonic()
        for preset in every_pair(PRESETS) if os.environ.get("LLM_D_SWITCHES") == "all" else ROUND:
            stamps.append((preset, round(time.monotonic() - begin + 3, 1)))
            done = stack.switch("sim", {"preset": preset})
            assert done.returncode == 0, done.stdout + done.stderr
        # The last old endpoint picker drains and ends under load too.
        until(lambda: not stack.ending("sim"), 60, "no old endpoint picker is left")
    print(load.report, stamps)
    assert not load.report.lost, str(load.report)
    assert set(load.report.statuses) == {200}
    assert load.report.sent > 0.95 * RATE * load.report.seconds
    assert set(stack.servers("sim")) <= set(load.report.pods)


@pytest.mark.rest
def test_a_long_answer_survives_a_switch(stack: Stack) -> None:
    """The collection promises 60 seconds from the switch on; a simulator on a busy host takes longer for its tokens than configured."""
    with SteadyLoad(stack.url("sim"), MODELS["sim"], 1.0, timeout=120, long_every=1, long_tokens=7000) as load:
        time.sleep(2.5)  # three answers of 35 seconds are in flight
        load._end.set()  # no more are sent
        done = stack.switch("sim", {"preset": "queue"})
        assert done.returncode == 0, done.stdout + done.stderr
    print(load.report)
    assert not load.report.lost, str(load.report)
    assert load.report.sent >= 3 and min(load.report.latencies) > 30


def test_a_configuration_that_the_endpoint_picker_refuses_is_rolled_back(stack: Stack) -> None:
    """A configuration for another release passes every check, and the endpoint picker does not start with it."""
    before = stack.core.read_namespaced_config_map("sim-epp", "llm-d").data, stack.picker("sim")
    image = stack.core.list_namespaced_pod("llm-d", label_selector="app.kubernetes.io/instance=sim-epp").items[0].spec.containers[0].image
    with SteadyLoad(stack.url("sim"), MODELS["sim"], 20.0) as load:
        done = stack.switch("sim", {"preset": "round_robin"}, llm_d_release="router-0.9", llm_d_images={**user_file("local")["llm_d_images"], "epp": image})
    assert done.returncode != 0
    assert "the new endpoint picker does not start" in done.stdout
    assert "has been put back and serves" in done.stdout, done.stdout
    assert (stack.core.read_namespaced_config_map("sim-epp", "llm-d").data, stack.picker("sim")) == before
    assert not load.report.lost, str(load.report)
    assert stack.ask("sim", "still there")


@pytest.mark.rest
def test_a_switch_with_an_unknown_scorer_is_refused_and_changes_nothing(stack: Stack) -> None:
    before = stack.core.read_namespaced_config_map("sim-epp", "llm-d").metadata.resource_version
    done = stack.switch("sim", {"scorers": {"quue": 1}})
    assert done.returncode != 0
    assert "llm_d_scheduler_overrides.sim.scorers.quue" in done.stdout and "Did you mean" in done.stdout, done.stdout
    assert stack.core.read_namespaced_config_map("sim-epp", "llm-d").metadata.resource_version == before


@pytest.mark.rest
def test_two_endpoint_pickers_share_the_requests(stack: Stack) -> None:
    with SteadyLoad(stack.url("sim"), MODELS["sim"], 20.0) as load:
        done = stack.switch("sim", {"replicas": 2})
        assert done.returncode == 0, done.stdout
        pickers = stack.pickers("sim")
        assert len(pickers) == 2
        before = {name: stack.picks(address) for name, address in pickers.items()}

        def moved() -> dict[str, float]:
            return {name: stack.picks(address) - before[name] for name, address in pickers.items()}

        until(lambda: min(moved().values()) > 10, 30, "both endpoint pickers pick")
        shares = moved()
        done = stack.switch("sim", {"replicas": 1})
        assert done.returncode == 0, done.stdout
        time.sleep(5)
    print(load.report, shares)
    assert not load.report.lost, str(load.report)


def test_another_service_is_left_alone(stack: Stack) -> None:
    picker = stack.picker("table")
    done = stack.switch("sim", {"scorers": {"queue": 5}})
    assert done.returncode == 0, done.stdout
    assert stack.picker("table") == picker
    assert json.dumps(call(f"{stack.url('table')}/v1/models")[0]) == "200"


def test_a_proxy_that_is_suspended_past_its_probe_timeout_loses_no_request(stack: Stack) -> None:
    """It is suspended for longer than the timeout and the period of its probe: its Service must not refuse connections."""
    proxies = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and runs_envoy(each)]
    assert proxies
    with SteadyLoad(stack.url("sim"), MODELS["sim"], 5.0) as load:
        time.sleep(1)
        for proxy in proxies:
            os.kill(proxy, signal.SIGSTOP)
        try:
            time.sleep(7.5)
        finally:
            for proxy in proxies:
                os.kill(proxy, signal.SIGCONT)
        time.sleep(6)
    print(load.report)
    assert not load.report.lost, str(load.report)
    assert max(load.report.latencies) > 7 and set(load.report.statuses) == {200}


def runs_envoy(process: Path) -> bool:
    """Whether this process of the host is the gateway's proxy."""
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return Path(words[0].decode("utf-8", "replace")).name == "envoy" and any(b"llm-d-gateway" in word for word in words)
