"""tests/what-failed: the end of a failed run's log says which test or task it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

JUNIT = """<testsuites><testsuite><testcase classname="live.test_1" name="test_good"/>
<testcase classname="live.test_1" name="test_bad"><failure message="AssertionError: 3 requests lost&#10;assert 3 == 0">traceback
live/test_1.py:9: AssertionError</failure></testcase></testsuite></testsuites>"""
LOG = "  \x1b[2m│\x1b[0m TASK [Apply]\n  \x1b[2m│\x1b[0m [ERROR]: Task failed: the\n  \x1b[2m│\x1b[0m   pool has no server\n"


def said(root: Path, log: Path, junit: Path) -> list[str]:
    return subprocess.run([root / "tests/what-failed", log, junit], check=True, capture_output=True, text=True).stdout.split("\n")


def test_a_failed_test_is_named_with_its_reason_and_place(root: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG, encoding="utf-8")
    (tmp_path / "junit.xml").write_text(JUNIT, encoding="utf-8")
    lines = said(root, tmp_path / "log", tmp_path / "junit.xml")
    assert lines[2:] == ["live.test_1::test_bad", "  AssertionError: 3 requests lost", "  assert 3 == 0", "  live/test_1.py:9: AssertionError", ""]


def test_where_no_test_failed_it_was_a_task(root: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG, encoding="utf-8")
    assert said(root, tmp_path / "log", tmp_path / "none")[2] == "[ERROR]: Task failed: the pool has no server"


def test_what_a_play_said_of_its_failure_is_told_however_long_its_output(root: Path, tmp_path: Path) -> None:
    """Live tests show the whole output of a play: its beginning tells nothing, and pytest's message is cut after it."""
    told = "\n".join(["PLAY [Validate] ***", *(f"ok: [localhost] {number}" for number in range(40))])
    failed = "\n        FAIL  sim/sticky  0.61 s  6 requests went to two\n\nfatal: [localhost]: FAILED! =>\n    msg: no claim\n"
    (tmp_path / "test_it.py").write_text(f"def test_it(record_property):\n    record_property('cluster', 'envoy restarted')\n    assert 0, {told + failed!r}\n")
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-c/dev/null", "--junit-xml=junit.xml", "test_it.py"], cwd=tmp_path, check=False, capture_output=True)
    lines = [line.removeprefix("  E").strip() for line in said(root, tmp_path / "log", tmp_path / "junit.xml")]
    assert {"FAIL  sim/sticky  0.61 s  6 requests went to two", "fatal: [localhost]: FAILED! =>", "msg: no claim", "envoy restarted"} <= set(lines), lines
    assert len(lines) < 30
