"""Make the checkout importable as ansible_collections.llm_d.inference, as Ansible itself does it; load the profile of the property tests.

With --skips-allowed FILE, a test that skips fails, but those in files that FILE lists with what they need.
"""

from __future__ import annotations

import gc
import os
import typing as t
from pathlib import Path

import plays
import property_tests
import pytest
import yaml

# As in the Makefile, so that a test behaves the same however it is started.
os.environ["ANSIBLE_CONFIG"] = str(plays.ROOT / "ansible.cfg")
property_tests.load_profiles()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--skips-allowed", metavar="FILE", help="a test that skips fails, but those in the files that FILE lists")


def pytest_collection_finish() -> None:
    """Exclude all modules and tests from garbage collection, which would otherwise take a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> t.Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    listed = item.config.getoption("--skips-allowed")
    if listed and report.skipped and not hasattr(report, "wasxfail"):
        allowed = yaml.safe_load(Path(listed).read_text(encoding="utf-8")) or {}
        if item.path.relative_to(plays.ROOT).as_posix() not in allowed:
            report.outcome, report.longrepr = "failed", f"it skips, and {listed} does not list its file: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return plays.ROOT
