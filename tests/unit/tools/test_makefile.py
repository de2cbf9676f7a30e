"""`make help` lists and describes every command of the Makefile; its virtual environment has a Python that ansible-core supports."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest


def test_help_lists_every_target(root: Path) -> None:
    phony = re.findall(r"^\.PHONY: (.*)$", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    targets = {target for line in phony for target in line.split()}
    output = subprocess.run(["make", "-C", str(root), "help"], check=True, capture_output=True, text=True).stdout
    listed = re.findall(r"^  make (\S+) +(\S.*)$", output, re.MULTILINE)
    assert len(targets) > 10 and {name for name, _what in listed} == targets and len(listed) == len(targets), output


def test_commands_in_documents_are_targets(root: Path) -> None:
    """Commands are those at the beginning of a line in a code block, or between backquotes."""
    pages = [*(root / "docs").glob("*.md"), *(root / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))]
    targets = re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    written = {name for page in pages for name in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)}
    assert {"site", "test", "nightly", "docs"} <= written <= set(targets)


@pytest.mark.rest
def test_an_environment_of_an_older_python_is_made_anew(root: Path, tmp_path: Path) -> None:
    shutil.copy(root / "Makefile", tmp_path)
    (tmp_path / "requirements.txt").touch()
    old = tmp_path / ".venv/bin"
    old.mkdir(parents=True)
    for name in ("python", "python3"):
        (old / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (old / name).chmod(0o755)
    subprocess.run(["make", "--no-print-directory", ".venv/.ready"], cwd=tmp_path, check=True, capture_output=True)
    assert subprocess.run([old / "python3", "-c", "import sys; sys.exit(sys.version_info < (3, 12))"], check=False).returncode == 0
