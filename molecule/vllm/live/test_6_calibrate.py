"""playbooks/calibrate.yml against a real vLLM: a server that dies during the run is one error, and the next run's options match measurements of the server."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import time
import typing as t
from pathlib import Path

import calibrations
import plays
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.common import prometheus_text
from live_stack import Stack, call, until
from real import INVENTORY, MODEL

# Fewer and shorter than by default: tests/benchmarks/calibrate measures the accuracy of the simulator, not these tests.
SHORT = {"requests": 10, "seconds": 20}


@pytest.fixture(name="interrupted")
def _interrupted(stack: Stack, tmp_path: Path) -> t.Iterator[str]:
    """The output of a calibration whose servers are killed during the stages with request rates."""

    def end() -> None:
        for pod in stack.servers("chat"):
            for process in stack.processes(pod, "vllm"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    command = calibrations.command(INVENTORY, "chat", tmp_path, **SHORT)
    yield calibrations.broken_off(stack, command, tmp_path / "calibrate/chat/loaded/requests.csv", 300, end)
    until(lambda: len(stack.servers("chat")) == 2, 300, "the servers are back")


def test_a_vllm_that_dies_during_calibration_is_reported_as_one_error(stack: Stack, interrupted: str, tmp_path: Path) -> None:
    assert len(re.findall(r"^\[ERROR\]", interrupted, re.MULTILINE)) == 1, interrupted
    assert "the run is failed" in interrupted and "error_rate" in interrupted and "Traceback" not in interrupted, interrupted
    assert calibrations.imitations(stack) == [] and not (tmp_path / "calibrate/chat/engine.yml").exists(), "no options of an incomplete measurement"


def milliseconds(address: str, words: int, tokens: int) -> float:
    """The median time of three answers to prompts that no cache holds."""
    took = []
    for number in range(3):
        body = {"model": MODEL, "prompt": f"{time.time()} {number} " + "word " * words, "max_tokens": tokens, "ignore_eos": True}
        begun = time.monotonic()
        assert call(f"http://{address}:8000/v1/completions", body, timeout=120)[0] == 200
        took.append(1000 * (time.monotonic() - begun))
    return statistics.median(took)


def test_calibrated_options_match_the_timings_and_cache_of_the_server(stack: Stack, tmp_path: Path) -> None:
    done = subprocess.run(
        calibrations.command(INVENTORY, "chat", tmp_path, **SHORT), cwd=plays.ROOT, env=plays.environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    folder = tmp_path / "calibrate/chat"
    engine = yaml.safe_load((folder / "engine.yml").read_text(encoding="utf-8"))["engine"]
    times = {name: float(engine["simulator"][name].removesuffix("us")) / 1000 for name in ("prefill_overhead", "prefill_time_per_token", "inter_token_latency")}
    address = next(iter(stack.servers("chat").values()))
    short, long, many_tokens = milliseconds(address, 16, 1), milliseconds(address, 1016, 1), milliseconds(address, 16, 33)
    measured = {"prefill_time_per_token": (long - short) / 1000, "inter_token_latency": (many_tokens - short) / 32}
    print(f"calibrated {times}, measured {measured}\n{(folder / 'table.md').read_text(encoding='utf-8')}")
    for name, value in measured.items():
        assert value / 2.5 < times[name] < value * 2.5, (name, times, measured)
    (cache,) = [sample for sample in prometheus_text.parse(call(f"http://{address}:8000/metrics")[2].decode()) if sample.name == "vllm:cache_config_info"]
    assert engine["simulator"]["kv_cache_size"] == int(cache.labels["num_gpu_blocks"]) and engine["block_size"] == int(cache.labels["block_size"])
    written = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert [set(stage["errors"]) for stage in written["stages"]] == [{"ttft_p50", "ttft_p90", "tpot_p50", "tpot_p90"}] * 3
    assert calibrations.imitations(stack) == []
