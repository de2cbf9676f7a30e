"""Runs of playbooks/calibrate.yml for live tests. Import `plays` first."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import typing as t
from pathlib import Path

import plays
from live_stack import NAMESPACE, Stack, until


def command(inventory: str, service: str, folder: Path, **given: t.Any) -> list[str]:
    """The command of the play, with options of the role; its results go below the folder."""
    named = {"llm_d_artifacts_dir": str(folder), "calibrate_service": service, **{f"calibrate_{name}": value for name, value in given.items()}}
    return plays.command("-i", inventory, "playbooks/calibrate.yml", "-e", json.dumps(named))


def imitations(stack: Stack) -> list[str]:
    """The pods of simulators that imitate a server."""
    return [pod.metadata.name for pod in stack.core.list_namespaced_pod(NAMESPACE).items if "imitation" in pod.metadata.name]


def interrupted(stack: Stack, arguments: list[str], seconds: float) -> None:
    """End a calibration by Ctrl-C while its simulator runs. seconds: within which the simulator has to start."""
    with subprocess.Popen(
        arguments, cwd=plays.ROOT, env=plays.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as play:
        try:
            until(lambda: bool(imitations(stack)) or play.poll() is not None, seconds, "the simulator runs")
        finally:
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(play.pid, signal.SIGINT)
    assert play.returncode != 0


def broken_off(stack: Stack, arguments: list[str], requests: Path, seconds: float, end: t.Callable[[], None]) -> str:
    """The output of a calibration whose servers are ended by `end` in its middle. requests: the file that appears within these seconds."""
    process = subprocess.Popen(arguments, cwd=plays.ROOT, env=plays.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until(lambda: requests.exists() or process.poll() is not None, seconds, f"{requests.parent.name}: requests are sent")
        time.sleep(6)  # some are answered
        end()
        out, _none = process.communicate(timeout=600)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert process.returncode not in (None, 0), out
    return out
