"""When a live test fails: what the cluster says of the last minutes, among the test's properties, from which tests/what-failed shows it."""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

import pytest

LINES = 12


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> t.Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        report.user_properties.append(("cluster", "\n".join(seen())))
    return report


def seen() -> list[str]:
    """The last warnings of the cluster, and the containers that have restarted or are not ready."""
    config = Path(os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig"))
    warnings = ask(
        config,
        *("events", "--field-selector=type=Warning", "--sort-by=.lastTimestamp"),
        "-ocustom-columns=T:.lastTimestamp,N:.involvedObject.name,C:.count,W:.message",
    )
    pods = ask(config, "pods", "-ocustom-columns=N:.metadata.name,READY:.status.containerStatuses[*].ready,R:.status.containerStatuses[*].restartCount")
    return [*warnings[-LINES:], *[line for line in pods if "false" in line or any(count not in "0,<none>" for count in line.split()[-1:])][:LINES]]


def ask(config: Path, *arguments: str) -> list[str]:
    """The lines of `kubectl get` in all namespaces; a cluster that does not answer has none."""
    command = [config.parent / "bin/kubectl", f"--kubeconfig={config}", "--request-timeout=10s", "get", "--all-namespaces", "--no-headers", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines()
