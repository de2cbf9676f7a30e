"""`make help` lists every command of the Makefile, each with what it does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path


def test_help_lists_every_target(root: Path) -> None:
    phony = re.findall(r"^\.PHONY: (.*)$", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    targets = {target for line in phony for target in line.split()}
    said = subprocess.run(["make", "-C", str(root), "help"], check=True, capture_output=True, text=True).stdout
    listed = re.findall(r"^  make (\S+) +(\S.*)$", said, re.MULTILINE)
    assert len(targets) > 10 and {name for name, _what in listed} == targets and len(listed) == len(targets), said
