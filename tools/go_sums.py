#!/usr/bin/env python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the go.sum of the local cluster's programs, which all groups share by links: the lines that their builds and tests need.

    python tools/go_sums.py

after a change of a go.mod. `go mod tidy` writes the lines of one group, and three times as many, for the tests of third-party modules. Modules that are not in
the module cache are downloaded, and checked against Go's checksum database where that is reachable.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

GROUPS = Path(__file__).resolve().parent.parent / "roles/local_cluster/files/go"
LOCK = "go.sum"
PROCESSORS = ("amd64", "arm64")
ENVIRONMENT = {"GOOS": "linux", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}


def main() -> int:
    old = set((GROUPS / LOCK).read_text(encoding="utf-8").splitlines())
    merged: set[str] = set()
    for lock in sorted(GROUPS.glob(f"*/{LOCK}")):
        lines = needed(lock.parent)
        print(f"{lock.parent.name}: {len(lines)} lines")
        merged |= lines
    (GROUPS / LOCK).write_text("".join(f"{line}\n" for line in sorted(merged)), encoding="utf-8")
    print(f"{len(merged)} lines, {len(merged - old)} of them new; {len(old - merged)} removed")
    return 0


def needed(group: Path) -> set[str]:
    """The lines that Go writes when it loads all packages of a group."""
    lines: set[str] = set()
    for processor in PROCESSORS:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, group.name)
            shutil.copytree(group, copy, ignore=shutil.ignore_patterns(LOCK))
            # Go fails for a pattern without packages.
            tools = ["tool"] if "\ntool " in (copy / "go.mod").read_text(encoding="utf-8") else []
            own = ["-test", "./..."] if list(copy.rglob("*.go")) else []
            for packages in filter(None, (tools, own)):
                environment = {**os.environ, **ENVIRONMENT, "GOARCH": processor}
                subprocess.run(["go", "list", "-deps", *packages], cwd=copy, env=environment, check=True, stdout=subprocess.DEVNULL)
            lines |= set((copy / LOCK).read_text(encoding="utf-8").splitlines())
    return lines


if __name__ == "__main__":
    sys.exit(main())
