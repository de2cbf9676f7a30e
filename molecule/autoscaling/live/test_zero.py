"""KEDA removes the last server, and requests start one: requests that the endpoint picker refuses and the client repeats, or requests that it queues."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

import pytest
from live_stack import call, until
from scaled import MODEL, SERVICE, Scaled

BODY = {"model": MODEL, "prompt": "Is anybody there?", "max_tokens": 5}
TO_NONE = {"min": 0, "idle_seconds": 120}
CASES: dict[str, dict[str, t.Any] | None] = {"refused": None, "held": {"flow_control": {"enabled": True}}}


@pytest.fixture(scope="module", name="later")
def _later(stack: Scaled, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[None]:
    yield
    stack.site(tmp_path_factory.mktemp("later"), {})


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("case", CASES)
def test_from_none_to_one(stack: Scaled, case: str, tmp_path: Path) -> None:
    stack.site(tmp_path, TO_NONE, scheduler=CASES[case])
    until(lambda: stack.number == stack.pods() == 0, 400, "no server")
    assert "changed=0 " in stack.site(tmp_path, TO_NONE, "--skip-tags", "validation", scheduler=CASES[case]) and stack.number == 0
    begun, answers = time.time(), list[int]()
    while not answers or answers[-1] != 200:
        assert time.time() - begun < 180, answers
        answers.append(call(f"{stack.url(SERVICE)}/v1/completions", BODY, timeout=180)[0])
        if answers[-1] != 200:
            time.sleep(2)
    print(f"\n{case}: served {time.time() - begun:.1f} s after the first request; answers {answers}")
    assert set(answers) <= {503, 200} and stack.number == 1
    # A queued request ends with 503 here once there is a server: Envoy Gateway had no route to a Service without endpoints when the request arrived.
    assert answers[0] == 503 if case == "refused" else len(answers) <= 2
