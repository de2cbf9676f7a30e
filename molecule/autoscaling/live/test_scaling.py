"""Servers are added under load and removed after it by each autoscaler, no request is lost, and no run of site.yml changes their number."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from live_stack import until
from scaled import SERVERS, SERVICE, Clients, Scaled

# 48 clients keep five requests running and more than four waiting on each of four servers; six clients need one server.
MANY, FEW = 48, 6
PROVIDERS = {"keda": {}, "hpa": {"provider": "hpa", "prometheus": None}}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_from_one_to_four_and_back(stack: Scaled, provider: str, tmp_path: Path) -> None:
    changes = PROVIDERS[provider]
    stack.site(tmp_path, changes)  # its claims pass, `scaling` among them
    assert stack.autoscalers() == {SERVERS: provider}
    until(lambda: stack.number == stack.pods() == 1, 180, "one server")
    with Clients(stack.url(SERVICE), MANY, tokens=100) as clients:
        begun, clients.number = time.time(), MANY
        until(lambda: len(clients.first()) >= 4, 240, f"four servers answer; now {stack.number}")
        took = [f"{at - begun:.0f}" for at in sorted(clients.first().values())]
        print(f"\n{provider}: the four servers first answered {', '.join(took)} s after the load began")
        quiet = ("--skip-tags", "validation")
        assert "changed=0 " in stack.site(tmp_path, changes, "--check", *quiet) and stack.number == 4
        assert "changed=0 " in stack.site(tmp_path, changes, *quiet) and stack.number == 4
        clients.tokens, clients.number = 400, FEW  # eight seconds each, so that servers receive SIGTERM during some
        less, left = time.time(), dict[str, float]()

        def one() -> bool:
            left.update(stack.leaving())
            return stack.number == stack.pods() == 1

        until(one, 300, "one server again")
        print(f"{provider}: one server {time.time() - less:.0f} s after the load fell")
        clients.number = 0
    finished = [answer for answer in clients.answers if answer.pod in left and answer.begun < left[answer.pod] < answer.ended]
    print(f"{provider}: {len(clients.answers)} requests, {len(clients.lost)} lost; {len(finished)} were answered by terminating servers")
    assert not clients.lost, clients.lost[:5]
    assert len(left) == 3 and finished
