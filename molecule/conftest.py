"""What live tests show: their end at once, and of one that fails what the cluster says of itself at that moment, below its traceback.

The limit of each unit test does not hold here: live tests bound what they wait for themselves.
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
