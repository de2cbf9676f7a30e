"""A change of the scheduler under load loses no request, and the new scheduler decides from then on."""

from __future__ import annotations

from live_stack import Stack, until
from steady_load import SteadyLoad

INVENTORY, SERVICE, MODEL = "inventories/local", "sim", "llm-d/simulated-8b"
RATE = 20.0


def test_switching_the_scheduler_and_back_under_load_loses_no_request() -> None:
    stack = Stack(INVENTORY, {SERVICE: MODEL})
    before = stack.picker(SERVICE)
    with SteadyLoad(stack.gateway, MODEL, RATE, timeout=120) as load:
        there = stack.switch(SERVICE, {"preset": "queue"})
        assert there.returncode == 0, there.stdout + there.stderr
        after = stack.picker(SERVICE)
        stack.obeyed(SERVICE)
        back = stack.as_written()
        assert back.returncode == 0, back.stdout + back.stderr
        until(lambda: not stack.ending(SERVICE), 120, "no old endpoint picker is left")
    print(load.report)
    assert after != before
    assert not load.report.lost, str(load.report)
    assert set(load.report.statuses) == {200}
    # Each server of this service answers, and no other does.
    assert set(load.report.pods) == set(stack.servers(SERVICE))
