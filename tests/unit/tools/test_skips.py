"""--skips-allowed: in the gate a test that skips fails, unless its file is listed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = "tests/contract/test_health_simulator.py"  # without a simulator it skips as a whole


@pytest.mark.parametrize(("listed", "outcome"), [(f"{SKIPS}: simulator", 0), ("tests/contract/test_words.py: nothing", 1), ("", 1), (None, 0)])
def test_a_skip_that_is_not_listed_fails(root: Path, tmp_path: Path, listed: str | None, outcome: int) -> None:
    (tmp_path / "skips.yml").write_text(listed or "", encoding="utf-8")
    allowed = [] if listed is None else ["--skips-allowed", str(tmp_path / "skips.yml")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *allowed, SKIPS]
    done = subprocess.run(command, cwd=root, env={**os.environ, "LLM_D_BINARIES": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == outcome, done.stdout
    assert ("skipped" in done.stdout.splitlines()[-1]) == (outcome == 0)
    assert (f"does not list its file: ('{root}/{SKIPS}'" in done.stdout) == (outcome == 1)
