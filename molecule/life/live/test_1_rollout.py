"""A run that changes the number, image, arguments or model of the servers loses no request, under 50 requests a second."""

from __future__ import annotations

import json
import typing as t
import urllib.request

import pytest
from stack import MODEL, NAMESPACE, Stack, sim, until
from steady_load import SteadyLoad

RATE = 50.0
REGISTRY, TYPE = "http://127.0.0.1:5215/v2", "application/vnd.oci.image.manifest.v1+json"


@pytest.fixture(name="running", scope="module")
def _running(stack: Stack) -> None:
    stack.serves(sim())


def other_image(stack: Stack) -> str:
    """The servers' image under another tag, pushed to the registry of this host."""
    (pod, *_others) = stack.servers("sim")
    image = stack.core.read_namespaced_pod(pod, NAMESPACE).spec.containers[0].image
    name, _colon, tag = image.rpartition(":")
    with urllib.request.urlopen(urllib.request.Request(f"{REGISTRY}/{name}/manifests/{tag}", headers={"Accept": TYPE}), timeout=10) as answer:
        manifest, kind = answer.read(), answer.headers["Content-Type"]
    put = urllib.request.Request(f"{REGISTRY}/{name}/manifests/{tag}-again", manifest, {"Content-Type": kind}, method="PUT")
    with urllib.request.urlopen(put, timeout=10) as answer:
        assert answer.status == 201
    return f"{name}:{tag}-again"


CHANGES: dict[str, t.Callable[[Stack], dict[str, t.Any]]] = {
    "more servers": lambda _stack: sim(replicas=4),
    "fewer servers": lambda _stack: sim(replicas=1),
    "another argument": lambda _stack: sim(engine={"max_num_seqs": 7}),
    "another model under the same name": lambda _stack: sim(engine={"args": ["--model=org/another"]}),
    "another image": lambda stack: sim(engine={"image": other_image(stack)}),
}


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("change", CHANGES)
def test_no_request_is_lost(stack: Stack, change: str) -> None:
    before = set(stack.servers("sim"))
    service = CHANGES[change](stack)
    with SteadyLoad(stack.url("sim"), MODEL, RATE) as load:
        out = stack.serves(service, options=("--skip-tags", "validation"))
    print(f"\n{change}: {load.report}")
    assert not load.report.lost and load.report.sent > 100
    after = stack.servers("sim")
    assert len(after) == service["replicas"]
    containers = [stack.core.read_namespaced_pod(pod, NAMESPACE).spec.containers[0] for pod in after]
    if service["replicas"] == sim()["replicas"]:
        assert not before & set(after), "all servers are replaced"
    wanted = [*service["engine"].get("args", ()), *([f"--max-num-seqs={service['engine']['max_num_seqs']}"] if "max_num_seqs" in service["engine"] else [])]
    assert all(set(wanted) <= set(container.args) for container in containers), json.dumps([container.args for container in containers])
    assert all(container.image == service["engine"].get("image", container.image) for container in containers)
    events = server_events(stack)
    assert events and events[-1].startswith("Changed by a run of llm_d.inference: "), events
    assert ("spec.replicas" in events[-1]) == (service["replicas"] != sim()["replicas"]), events
    assert "changed=0 " in stack.serves(service), out[-3000:]
    assert server_events(stack) == events, "a run that changes nothing writes no event"
    stack.serves(sim(), options=("--skip-tags", "validation"))


# Tokens of an answer of 40 seconds, by the simulator's time between tokens; and a seat for each in-flight request, since a queued one takes longer.
LONG, SEATS = 8000, {"max_num_seqs": 32}
ROLLOUTS: dict[str, t.Callable[[Stack], dict[str, t.Any]]] = {
    "another argument": lambda _stack: sim(engine={**SEATS, "args": ["--seed=7"]}),
    "another image": lambda stack: sim(engine={**SEATS, "image": other_image(stack)}),
    "fewer servers": lambda _stack: sim(engine=SEATS, replicas=1),
}


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("change", ROLLOUTS)
def test_no_long_answer_is_cut(stack: Stack, change: str) -> None:
    """Answers of 40 seconds, half of them streams, begin before, during and after the rollout, under 50 requests a second."""
    stack.serves(sim(engine=SEATS), options=("--skip-tags", "validation"))
    service, url = ROLLOUTS[change](stack), stack.url("sim")
    before = set(stack.servers("sim"))
    with SteadyLoad(url, MODEL, 0.3, timeout=90, long_every=1, long_tokens=LONG) as answers, SteadyLoad(url, MODEL, RATE) as load:
        until(lambda: answers.report.sent > 4, 30, "some long answers are in flight")
        stack.serves(service, options=("--skip-tags", "validation"))
    print(f"\n{change}: long: {answers.report}\n  beside: {load.report}")
    assert before - set(stack.servers("sim")), "a server ended"
    assert not answers.report.lost and not load.report.lost
    assert min(answers.report.latencies) > LONG * 0.005 * 0.9


def server_events(stack: Stack) -> list[str]:
    """The messages of the collection's events on the servers' Deployment, which `kubectl describe` shows, oldest first."""
    uid = stack.named("apps/v1", "Deployment")["sim-decode"]["metadata"]["uid"]
    items = stack.core.list_namespaced_event(NAMESPACE, field_selector=f"involvedObject.uid={uid},source=llm_d.inference").items
    return [event.message for event in sorted(items, key=lambda event: event.metadata.name)]
