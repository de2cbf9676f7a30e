"""Requests move to another model service in steps, under load. They move back if the new version fails, and by site.yml if the play is interrupted."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import typing as t

import plays
from stack import INVENTORY, MODEL, SIM, Stack, call, sim, until
from steady_load import SteadyLoad

ROUTE = ("gateway.networking.k8s.io/v1", "HTTPRoute")
VARIANT = {**SIM, "name": "second", "replicas": 1, "route": {"headers": {"x-variant": "b"}}}
PLAYBOOK = "playbooks/canary.yml"
NOTHING = "none"  # matches no request ID


def services(sim_weight: int, second_weight: int) -> list[dict[str, t.Any]]:
    return [{**SIM, "route": {"weights": {"sim": sim_weight, "second": second_weight}}}, VARIANT]


def given(stack: Stack, file: list[dict[str, t.Any]], **options: t.Any) -> list[str]:
    """Arguments of the play; `options` are its variables."""
    variables = {"llm_d_artifacts_dir": str(stack.artifacts), "llm_d_model_services": file, "canary_pause": 0, **options}
    return ["-i", INVENTORY, PLAYBOOK, "-e", json.dumps(variables)]


def canary(stack: Stack, file: list[dict[str, t.Any]], *arguments: str, **options: t.Any) -> tuple[int, str]:
    """Run the play: (exit status, output on one line)."""
    done = plays.run(*given(stack, file, **options), *arguments)
    print(done.stdout[-3000:])
    return done.returncode, " ".join(done.stdout.replace("\\n", " ").split())


def part(stack: Stack) -> str:
    """The pattern of the request IDs that are routed to the second model service."""
    (match,) = stack.named(*ROUTE)["sim.second"]["spec"]["rules"][0]["matches"]
    return str(match["headers"][-1]["value"])


def answered_by(stack: Stack, requests: int) -> collections.Counter[str]:
    """{model service: number of requests to the shared path that its pods answered}; each must be answered."""
    return collections.Counter(stack.ask("sim", f"Who answers {number}?").partition("-")[0] for number in range(requests))


def settled(stack: Stack, service: str) -> None:
    until(lambda: set(answered_by(stack, 30)) == {service}, 30, f"the proxy sends all requests to {service}")


def inject(stack: Stack, percent: int) -> None:
    """Make the second model service answer this percentage of its requests with an error."""
    for address in stack.servers("second").values():
        status, _headers, body = call(f"http://{address}:8000/admin/config", {"failure-injection-rate": percent, "failure-types": ["server_error"]})
        assert status == 200, body


@contextlib.contextmanager
def under_way(stack: Stack, file: list[dict[str, t.Any]], **options: t.Any) -> t.Iterator[subprocess.Popen[str]]:
    """The running play, after its first step is applied."""
    command = plays.command(*given(stack, file, **options))
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=plays.ROOT, env=plays.environment(), start_new_session=True, **streams) as play:  # type: ignore[call-overload]
        try:
            until(lambda: part(stack) != NOTHING, 180, "the first step is applied")
            yield play
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(play.pid, signal.SIGKILL)


def test_a_successful_canary_loses_no_request_and_its_weights_cause_no_change(stack: Stack) -> None:
    stack.serves(*services(80, 20))
    verdict = json.loads((stack.artifacts / "verdict.json").read_text(encoding="utf-8"))
    claims = {claim["id"]: claim for claim in verdict["claims"]}
    assert claims["sim/weights"]["ok"] and "of 200 requests: sim 1" in claims["sim/weights"]["evidence"], claims["sim/weights"]
    assert [entry["headers"] for entry in verdict["endpoints"]] == [{"x-llm-d-service": "sim"}, {"x-variant": "b"}]
    shares = answered_by(stack, 200)
    assert shares["sim"] + shares["second"] == 200 and 15 <= shares["second"] <= 70, shares  # outside by chance once in a million runs
    assert "changed=0 " in stack.serves(*services(80, 20))

    file = services(100, 0)
    stack.serves(*file)
    settled(stack, "sim")
    status, shown = canary(stack, file, "--check")
    assert status == 0 and "changed=0 " in shown and "50 %: sim: 50, second: 50" in shown and part(stack) == NOTHING
    with SteadyLoad(stack.url("sim"), MODEL, rate=10, long_every=1000) as load:
        status, shown = canary(stack, file, canary_steps="50,100")
    print(f"\n{load.report}")
    assert status == 0 and not load.report.lost and set(load.report.statuses) == {200}, load.report
    assert {pod.partition("-")[0] for pod in load.report.pods} == {"sim", "second"}, load.report.pods
    assert "llm_d_model_services[0].route.weights: {sim: 0, second: 100}" in shown
    settled(stack, "second")
    for _run in range(2):
        assert "changed=0 " in stack.serves(*services(0, 100)), "the file contains the weights that the canary has set"
    status, shown = canary(stack, services(0, 100), canary_steps="50,100")
    assert status == 0 and "changed=0 " in shown and "Nothing to move" in shown


def test_a_canary_is_rolled_back_when_the_new_version_fails(stack: Stack) -> None:
    file = services(100, 0)
    stack.serves(*file)
    settled(stack, "sim")
    inject(stack, 0)
    with under_way(stack, file, canary_steps=[20, 50], canary_pause=5) as play:
        inject(stack, 100)
        shown = " ".join((play.communicate(timeout=300)[0] or "").replace("\\n", " ").split())
    assert play.returncode == 2 and "At 20 % (sim: 80, second: 20) claims do not hold:" in shown, shown[-4000:]
    assert re.search(r"second/(serving|servers): ", shown) and "The weights of your file are back: sim: 100, second: 0" in shown, shown[-4000:]
    assert "sim/serving: " not in shown, "only failed claims are reported"
    assert part(stack) == NOTHING
    settled(stack, "sim")
    status, shown = canary(stack, file, canary_steps=[20])
    assert status == 2 and "At 0 % (sim: 100, second: 0) claims do not hold" in shown and part(stack) == NOTHING, "it receives no request"
    inject(stack, 0)
    assert "changed=0 " in stack.serves(*file)


def test_a_canary_that_is_cut_off_is_ended_by_the_file(stack: Stack) -> None:
    file = services(100, 0)
    stack.serves(*file)
    with under_way(stack, file, canary_steps=[50], canary_pause=300) as play:
        os.killpg(play.pid, signal.SIGINT)
        play.communicate(timeout=60)
    assert play.returncode != 0 and part(stack) != NOTHING
    stack.serves(*file)
    assert part(stack) == NOTHING
    settled(stack, "sim")
    stack.serves(SIM)
    assert "sim.second" not in stack.named(*ROUTE), "pruned with the weights"


def test_a_canary_moves_an_alias_to_another_model_in_steps(stack: Stack) -> None:
    """The next model is an adapter of the same servers; the endpoint picker rewrites the model name."""
    adapter = ['--lora-modules={"name":"next"}']
    file = [sim(engine={"args": adapter}, model={"served_name": MODEL, "aliases": {"chat": {MODEL: 100, "next": 0}}})]
    body = {"model": "chat", "prompt": "Who answers?", "max_tokens": 1}

    def models(requests: int) -> set[str]:
        return {json.loads(call(f"{stack.gateway}/v1/completions", body)[2])["model"] for _each in range(requests)}

    stack.serves(*file)
    assert models(30) == {MODEL}
    status, shown = canary(stack, file, canary_steps=[50])
    assert status == 0 and "model.aliases.chat: {" in shown and ", next: 50}" in shown, shown[-3000:]
    until(lambda: models(40) == {MODEL, "next"}, 30, "both models answer")
    stack.serves(*file)
    (rule,) = stack.named("inference.networking.x-k8s.io/v1alpha2", "InferenceModelRewrite")["sim"]["spec"]["rules"]
    assert [each["modelRewrite"] for each in rule["targets"]] == [MODEL], "site.yml restores the targets of the file"
    stack.serves(SIM)
