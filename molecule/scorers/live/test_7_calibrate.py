"""playbooks/calibrate.yml determines the known options of a simulator; a server that ends during the run is one error."""

from __future__ import annotations

import json
import re
import subprocess
import typing as t
from pathlib import Path

import calibrations
import plays
import pytest
import yaml
from stack import NAMESPACE, Stack, until

pytestmark = pytest.mark.rest


def command(folder: Path) -> list[str]:
    return calibrations.command("molecule/scorers/inventory", "sim", folder, seconds=8)


@pytest.fixture(name="interrupted")
def _interrupted(stack: Stack, tmp_path: Path) -> t.Iterator[str]:
    """The output of a calibration whose servers are deleted during the run."""

    def end() -> None:
        for pod in stack.servers("sim"):
            stack.core.delete_namespaced_pod(pod, NAMESPACE, grace_period_seconds=0)

    yield calibrations.broken_off(stack, command(tmp_path), tmp_path / "calibrate/sim/together/requests.csv", 120, end)
    until(lambda: len(stack.servers("sim")) == 4, 120, "the servers are back")


def test_a_server_that_ends_during_calibration_is_reported_as_one_error(stack: Stack, interrupted: str) -> None:
    assert len(re.findall(r"^\[ERROR\]", interrupted, re.MULTILINE)) == 1, interrupted
    assert "the run is failed" in interrupted and "error_rate" in interrupted and "Traceback" not in interrupted, interrupted
    assert calibrations.imitations(stack) == []


def test_the_next_run_removes_the_simulator_of_an_interrupted_calibration(stack: Stack, tmp_path: Path) -> None:
    """Ansible runs no cleanup then; the simulator is a model service that the file does not contain."""
    calibrations.interrupted(stack, command(tmp_path), 300)
    plays.well("molecule/scorers/inventory", "site.yml", tmp_path, "--skip-tags", "validation")
    until(lambda: not calibrations.imitations(stack), 60, "the simulator is gone")


def test_calibration_determines_the_options_of_a_simulator_and_cleans_up(stack: Stack, tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path), cwd=plays.ROOT, env=plays.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    engine = yaml.safe_load((tmp_path / "calibrate/sim/engine.yml").read_text(encoding="utf-8"))["engine"]
    per_token, between = (float(engine["simulator"][name].removesuffix("us")) for name in ("prefill_time_per_token", "inter_token_latency"))
    # The inventory configures 100 us, 5 ms and 4 places (group_vars/all/scorers.yml); a busy host makes times longer, not much shorter.
    assert 80 < per_token < 300 and 4500 < between < 15000, engine
    assert engine["max_num_seqs"] == 4, engine
    assert engine["simulator"]["kv_cache_size"] == 1400 and engine["block_size"] == 16
    speed = yaml.safe_load((tmp_path / "calibrate/sim/scheduler.yml").read_text(encoding="utf-8"))["scheduler"]["peak_prefill_throughput"]
    assert 3000 < speed < 10500, speed  # 10,000 at 100 us
    written = json.loads((tmp_path / "calibrate/sim/results.json").read_text(encoding="utf-8"))
    assert written["prefill"]["peak_prefill_throughput"] == speed and written["prefill"]["prompt_tokens"] >= 8192
    assert len(written["stages"]) == 3 and all({"ttft_p50", "tpot_p90"} <= set(stage["errors"]) for stage in written["stages"])
    assert (tmp_path / "calibrate/sim/table.md").read_text(encoding="utf-8").count("simulated") == 12
    assert calibrations.imitations(stack) == []
