"""Changes of the servers and of their number under load lose no request."""

from __future__ import annotations

from pathlib import Path

from live_stack import Stack
from real import MODEL, changed, deploy
from steady_load import SteadyLoad

RATE = 1.0


def test_a_change_of_engine_options_under_load_loses_no_request(stack: Stack, tmp_path: Path) -> None:
    before = set(stack.servers("chat"))
    with SteadyLoad(stack.url("chat"), MODEL, RATE, timeout=120, long_tokens=64) as load:
        deploy(tmp_path, llm_d_model_services=changed(engine={"max_num_seqs": 32}))
    print(load.report)
    assert not load.report.lost, str(load.report)
    assert len(stack.servers("chat")) == 2 and not before & set(stack.servers("chat")), "all servers are replaced"


def test_scaling_down_and_up_under_load_loses_no_request(stack: Stack, tmp_path: Path) -> None:
    with SteadyLoad(stack.url("chat"), MODEL, RATE, timeout=120, long_tokens=64) as load:
        deploy(tmp_path, llm_d_model_services=changed(replicas=1))
        assert len(stack.servers("chat")) == 1
        deploy(tmp_path)
    print(load.report)
    assert not load.report.lost, str(load.report)
    assert len(stack.servers("chat")) == 2
