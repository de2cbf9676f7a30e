"""When a live test fails: what the cluster says of the last minutes, among the test's properties, from which tests/what-failed shows it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import typing as t
from pathlib import Path

import pytest

LINES = 12
EVERYWHERE = ("get", "--all-namespaces", "--no-headers")
# The gateway's proxy says of each request how it ended; `-` is an answer that it passed on.
PROXY = ("-l", "gateway.envoyproxy.io/owning-gateway-name", "-c", "envoy", "--since=15m", "--tail=-1")
FLAGS = re.compile(r'"response_flags":"([^"-][^"]*)"')
TELLING = ("start_time", "duration", "response_code", "response_code_details", "response_flags", "connection_termination_details", "upstream_host")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> t.Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        report.user_properties.append(("cluster", "\n".join(seen())))
    return report


def seen() -> list[str]:
    """The last warnings of the cluster, the containers that have restarted or are not ready, and the requests that the proxy did not answer plainly."""
    config = Path(os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig"))
    of_event = "-ocustom-columns=T:.lastTimestamp,N:.involvedObject.name,C:.count,W:.message"
    of_pod = "-ocustom-columns=N:.metadata.name,READY:.status.containerStatuses[*].ready,R:.status.containerStatuses[*].restartCount"
    warnings = ask(config, *EVERYWHERE, "events", "--field-selector=type=Warning", "--sort-by=.lastTimestamp", of_event)
    pods = [line for line in ask(config, *EVERYWHERE, "pods", of_pod) if "false" in line or set(line.split()[-1]) - set("0,<none>")]
    return [*warnings[-LINES:], *pods[:LINES], *proxied(ask(config, "--namespace=envoy-gateway-system", "logs", *PROXY))]


def proxied(log: list[str]) -> list[str]:
    """What the proxy says of the last requests that it did not answer plainly. A line may be cut off."""
    bad = [line for line in log if FLAGS.search(line) and line.endswith("}")]
    return [json.dumps({name: json.loads(line).get(name) for name in TELLING}) for line in bad[-LINES:]]


def ask(config: Path, *arguments: str) -> list[str]:
    """The lines that kubectl prints; none where the cluster does not answer."""
    command = [config.parent / "bin/kubectl", f"--kubeconfig={config}", "--request-timeout=10s", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines()
