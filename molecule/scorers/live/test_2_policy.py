"""For every preset that runs here, the endpoint picker's metrics show that exactly its plugins ran, and the answering pods show its purpose."""

from __future__ import annotations

import base64
import collections
import threading
import time
import uuid

import pytest
import random_picks
from ansible_collections.llm_d.inference.plugins.module_utils.common import prometheus_text
from ansible_collections.llm_d.inference.plugins.module_utils.epp import observed
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build
from stack import MODELS, NAMESPACE, SERIES, Stack, call, until

PRESETS = ("round_robin", "queue", "balanced", "prefix_aware", "default", "precise_prefix", "disaggregated")
# The presets of `make test`: together they have most of the plugins.
BRIEFLY = ("precise_prefix", "disaggregated")
GIE = "registry.k8s.io/gateway-api-inference-extension/epp"


def switched(stack: Stack, preset: str, release: str) -> None:
    done = stack.switch("sim", {"preset": preset}, llm_d_release=release)
    assert done.returncode == 0, done.stdout + done.stderr
    stack.obeyed("sim")


@pytest.mark.parametrize("release", [pytest.param("gie-1.5", marks=pytest.mark.rest), "scheduler-0.7"])
@pytest.mark.parametrize("preset", [pytest.param(name, marks=() if name in BRIEFLY else pytest.mark.rest) for name in PRESETS])
def test_exactly_the_intended_plugins_ran(stack: Stack, preset: str, release: str) -> None:
    if release == "gie-1.5" and call(f"http://127.0.0.1:5215/v2/{GIE}/tags/list")[0] != 200:
        pytest.skip("the local registry has no endpoint picker of gie-1.5")
    wanted = build({"preset": preset}, release, {"engine": "simulator", "model": MODELS["sim"], "block_size": 16, "epp_service": "sim-events"})
    if wanted.problems:
        pytest.skip(f"{release} has no {preset}: {wanted.problems[0].reason}")
    switched(stack, preset, release)
    for number in range(20):
        stack.ask("sim", f"{number} {uuid.uuid4()} " + "so long that a prefill server is worth it " * 100)
    runs = observed.plugin_runs(stack.metrics("sim"), SERIES)
    print({f"{point}/{kind}": int(count) for (point, kind), count in runs.items() if point in observed.EXTENSION_POINTS})
    assert observed.unexpected_runs(wanted.document, release, runs) == []
    assert all(count >= 20 for (point, _kind), count in runs.items() if point in observed.EXTENSION_POINTS)


@pytest.mark.rest
def test_round_robin_picks_at_random_and_evenly(stack: Stack) -> None:
    switched(stack, "round_robin", "scheduler-0.7")
    picks = [stack.ask("sim", "always the same prompt, of many words, which no cache attracts " * 4) for _number in range(400)]
    counts = collections.Counter(picks)
    print(dict(counts))
    assert len(counts) == 4
    assert random_picks.chance_of(list(counts.values())) > random_picks.FALSE_ALARM, counts
    assert random_picks.repeats(picks) > 0, "servers take turns, which no release line implements"


@pytest.mark.rest
def test_queue_avoids_the_busy_server(stack: Stack) -> None:
    switched(stack, "queue", "scheduler-0.7")
    servers = stack.servers("sim")
    busy, address = sorted(servers.items())[0]
    body = {"model": MODELS["sim"], "prompt": "a long story", "max_tokens": 3000, "ignore_eos": True}
    hogs = [threading.Thread(target=call, args=(f"http://{address}:8000/v1/completions", body, 120), daemon=True) for _number in range(10)]
    for hog in hogs:
        hog.start()
    # Wait until the endpoint picker has read the queue: it cannot avoid a queue that it has not read.
    until(lambda: observed_queue(stack, busy) >= 3, 15, "the endpoint picker observes the queue of the busy server")
    counts = collections.Counter(stack.ask("sim", f"{number} {uuid.uuid4()}") for number in range(60))
    assert waiting(address) >= 1, "the busy server finished too early for a proof"
    print(busy, dict(counts))
    assert counts[busy] == 0
    assert len(counts) == 3
    for hog in hogs:
        hog.join()


def observed_queue(stack: Stack, pod: str) -> float:
    """The queue of a server as the endpoint picker last read it."""
    samples = prometheus_text.parse(stack.metrics("sim"))
    sizes = [each.value for each in samples if each.name == "inference_pool_per_pod_queue_size" and each.labels["model_server_pod"].startswith(pod)]
    return max(sizes, default=0.0)


def waiting(address: str) -> float:
    samples = prometheus_text.parse(call(f"http://{address}:8000/metrics")[2].decode())
    return prometheus_text.total(samples, "vllm:num_requests_waiting") or 0.0


@pytest.mark.rest
@pytest.mark.parametrize("preset", ["balanced", "prefix_aware"])
def test_prefix_sticks(stack: Stack, preset: str) -> None:
    switched(stack, preset, "scheduler-0.7")
    homes: dict[str, set[str]] = collections.defaultdict(set)
    for _turn in range(8):
        for story in ("river", "stone", "cloud", "field", "storm", "glass"):
            homes[story].add(stack.ask("sim", f"{story} {preset} " * 200 + uuid.uuid4().hex))
    print({story: sorted(pods) for story, pods in homes.items()})
    assert all(len(pods) == 1 for pods in homes.values())
    assert len(set().union(*homes.values())) > 1


@pytest.mark.rest
def test_a_session_sticks_to_the_server_that_its_token_names(stack: Stack) -> None:
    """This release adds the token after the headers of the response are sent, so the test computes it from the server's name."""
    done = stack.switch("sim", {"scorers": {"session_affinity": 1}}, llm_d_release="scheduler-0.7")
    assert done.returncode == 0, done.stdout + done.stderr
    stack.obeyed("sim")

    def ask(headers: dict[str, str]) -> tuple[str, bool]:
        """(server, whether the response has a token)."""
        body = {"model": MODELS["sim"], "prompt": f"{uuid.uuid4()} and then?", "max_tokens": 1}
        status, back, content = call(f"{stack.url('sim')}/v1/completions", body, headers=headers)
        assert status == 200, content
        return back["x-inference-pod"], "x-session-token" in back

    servers = set(stack.servers("sim"))
    assert len(servers) == 4
    for server in servers:
        token = base64.b64encode(f"{NAMESPACE}/{server}-rank-0".encode()).decode()
        assert {ask({"x-session-token": token}) for _number in range(12)} == {(server, False)}
    strangers = collections.Counter(ask({})[0] for _number in range(40))
    print(dict(strangers))
    assert set(strangers) == servers, "without a token any server may answer"  # one is missing by chance once in 25,000 runs


def test_precise_prefix_follows_kv_events(stack: Stack) -> None:
    """Prompts are sent directly to servers, past the endpoint picker: only the servers' events report which one has cached them."""
    switched(stack, "precise_prefix", "scheduler-0.7")
    servers = stack.servers("sim")
    assert len(servers) == 4

    def followed(turn: int) -> bool:
        homes = {name: f"{uuid.uuid4()} " + f"tale {turn} " * 200 for name in servers}
        for name, address in servers.items():
            assert call(f"http://{address}:8000/v1/completions", {"model": MODELS["sim"], "prompt": homes[name], "max_tokens": 1})[0] == 200
        time.sleep(1)  # events are sent at once, and indexed soon after
        answers = {name: stack.ask("sim", prompt + " and then?") for name, prompt in homes.items()}
        print({name[-5:]: pod[-5:] for name, pod in answers.items()})
        return answers == {name: name for name in servers}

    # Events of a server that has just started are lost until it is connected to the endpoint picker. One check passes by chance once in four times, six in a
    # row once in 4,000.
    until(lambda: all(followed(0) for dummy in range(6)), 90, "all servers are connected to the endpoint picker")
    assert all(followed(turn) for turn in range(1, 6))


@pytest.mark.rest
def test_disaggregated_sends_only_long_uncached_prompts_to_prefill_servers(stack: Stack) -> None:
    switched(stack, "disaggregated", "scheduler-0.7")
    (prefill,) = stack.servers("sim", "prefill").values()
    decode = set(stack.servers("sim"))

    def prefilled(*prompts: str) -> float:
        before = served(prefill)
        assert {stack.ask("sim", prompt) for prompt in prompts} <= decode, "the answer comes from a decode server"
        return served(prefill) - before

    cold = [f"{uuid.uuid4()} " + "a long story " * 300 for _number in range(10)]
    assert prefilled(*cold) == 10
    time.sleep(0.5)
    warm = prefilled(*cold)
    short = prefilled(*(f"{uuid.uuid4()} {number}" for number in range(10)))
    print(f"prefilled elsewhere: 10 of 10 cold, {warm:.0f} of 10 warm, {short:.0f} of 10 short")
    assert (warm, short) == (0, 0)


def served(address: str) -> float:
    samples = prometheus_text.parse(call(f"http://{address}:8000/metrics")[2].decode())
    return prometheus_text.total(samples, "vllm:request_success_total") or 0.0
