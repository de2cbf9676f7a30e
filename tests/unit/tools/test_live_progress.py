"""The lines that live tests show while their scenario runs."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from live_progress import SHOWN_AT

TESTS = """
import pytest
def test_well():
    pass
def test_broken():
    assert False
@pytest.fixture
def missing():
    raise OSError
def test_unmade(missing):
    pass
def test_left_out():
    pytest.skip("elsewhere")
"""


@pytest.mark.parametrize("place", ["shown", "", "no/such/folder/shown"])
def test_each_test_shows_its_end_once_where_somebody_looks(tmp_path: Path, root: Path, place: str) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "conftest.py").write_text("from live_progress import show as pytest_runtest_logreport\n", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {root}/tests\n", encoding="utf-8")
    environment = {"PATH": "/usr/bin:/bin", SHOWN_AT: place and str(tmp_path / place)}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", tmp_path], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed, 1 skipped, 1 error" in done.stdout
    shown = tmp_path / "shown"
    lines = shown.read_text(encoding="utf-8").splitlines() if shown.exists() else []
    lines = [re.sub(r"^\d\d:\d\d:\d\d test_some\.py::(.*) \(\d+ s\)$", r"\1", line) for line in lines]
    assert lines == (["test_well: passed", "test_broken: failed", "test_unmade: failed at its setup", "test_left_out: skipped"] if place == "shown" else [])


def test_the_live_tests_of_all_scenarios_do(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHOWN_AT, str(tmp_path / "shown"))
    report = pytest.TestReport("live/test_1.py::test_it", ("", None, ""), {}, "passed", None, "call", duration=3)
    runpy.run_path(str(root / "molecule/conftest.py"))["pytest_runtest_logreport"](report)
    assert (tmp_path / "shown").read_text(encoding="utf-8").endswith(" live/test_1.py::test_it: passed (3 s)\n")
