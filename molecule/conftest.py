"""Output of live tests: each test's end at once, and below the traceback of a failed one a description of the cluster at that moment.

The time limit of unit tests does not apply: live tests bound their own waits.
"""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import live_progress
import pytest

DESCRIBE = Path(__file__).resolve().parents[1] / "tests/describe-cluster"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(0))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    live_progress.show(report)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> t.Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        report.sections.append(("the cluster", subprocess.run([DESCRIBE], capture_output=True, text=True, errors="replace", check=False).stdout))
    return report
