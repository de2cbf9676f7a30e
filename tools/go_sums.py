#!/usr/bin/env python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write roles/local_cluster/files/go/go.sum, with the lines that the builds and tests of the local cluster's programs need.

A group is a folder next to that file with a go.mod; its go.sum is a link to the shared one. After a change of a go.mod, run

    python tools/go_sums.py

`go mod tidy` does not replace this: it writes the lines of one group only, and three times as many, since it includes the tests of third-party modules. Modules
that are not in the module cache are downloaded, and checked against Go's checksum database if that is reachable.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

GROUPS = Path(__file__).resolve().parent.parent / "roles/local_cluster/files/go"
GO_SUM = "go.sum"
ARCHITECTURES = ("amd64", "arm64")
ENVIRONMENT = {"GOOS": "linux", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}


def main() -> int:
    old = set((GROUPS / GO_SUM).read_text(encoding="utf-8").splitlines())
    merged: set[str] = set()
    for go_sum in sorted(GROUPS.glob(f"*/{GO_SUM}")):
        lines = needed(go_sum.parent)
        print(f"{go_sum.parent.name}: {len(lines)} lines")
        merged |= lines
    (GROUPS / GO_SUM).write_text("".join(f"{line}\n" for line in sorted(merged)), encoding="utf-8")
    print(f"{len(merged)} lines, {len(merged - old)} of them new; {len(old - merged)} removed")
    return 0


def needed(group: Path) -> set[str]:
    """The lines that Go writes into an empty go.sum when it loads all packages of a group and of their tests, for all architectures."""
    lines: set[str] = set()
    for architecture in ARCHITECTURES:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, group.name)
            shutil.copytree(group, copy, ignore=shutil.ignore_patterns(GO_SUM))
            # `go list` fails for a pattern that matches no package.
            tools = ["tool"] if "\ntool " in (copy / "go.mod").read_text(encoding="utf-8") else []
            own = ["-test", "./..."] if list(copy.rglob("*.go")) else []
            for packages in filter(None, (tools, own)):
                environment = {**os.environ, **ENVIRONMENT, "GOARCH": architecture}
                subprocess.run(["go", "list", "-deps", *packages], cwd=copy, env=environment, check=True, stdout=subprocess.DEVNULL)
            lines |= set((copy / GO_SUM).read_text(encoding="utf-8").splitlines())
    return lines


if __name__ == "__main__":
    sys.exit(main())
