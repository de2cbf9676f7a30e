#!/usr/bin/env python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps in each go.sum of the local cluster only the lines that its builds, tests and assets need; `go mod tidy` adds those of everybody else's tests.

    python tools/go_sums.py [GROUP...]

after `go mod tidy -e` in a group's folder. Only removes lines, which tidy has verified. Modules that are not in the module cache are downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROLE = Path(__file__).resolve().parent.parent / "roles/local_cluster"
PROCESSORS = ("amd64", "arm64")
# The checksum database has nothing to add: each line is one of the old file.
ENVIRONMENT = {"GOOS": "linux", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GOSUMDB": "off"}


def main() -> int:
    groups = [ROLE / "files/go" / name for name in sys.argv[1:]] or sorted(path.parent for path in ROLE.glob("files/go/*/go.sum"))
    assets = modules_of_assets(yaml.safe_load((ROLE / "vars/main.yml").read_text(encoding="utf-8")))
    for group in groups:
        lock = group / "go.sum"
        old = lock.read_text(encoding="utf-8").splitlines()
        used = needed(group)
        kept = [line for line in old if line in used or line.split()[0] in assets]
        lock.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        print(f"{group.name}: {len(kept)} of {len(old)} lines")
    return 0


def modules_of_assets(value: object) -> set[str]:
    """The modules that the role copies files out of."""
    if isinstance(value, dict):
        own = {value["module"]} if isinstance(value.get("module"), str) else set()
        return own.union(*map(modules_of_assets, value.values()))
    return set().union(*map(modules_of_assets, value)) if isinstance(value, list) else set()


def needed(group: Path) -> set[str]:
    """The lines that Go writes itself where it loads all packages of the group."""
    found: set[str] = set()
    for processor in PROCESSORS:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, group.name)
            shutil.copytree(group, copy, ignore=shutil.ignore_patterns("go.sum"))
            # Each of the two fails where there is none.
            tools = ["tool"] if "\ntool " in (copy / "go.mod").read_text(encoding="utf-8") else []
            own = ["-test", "./..."] if list(copy.rglob("*.go")) else []
            for packages in filter(None, (tools, own)):
                environment = {**os.environ, **ENVIRONMENT, "GOARCH": processor}
                subprocess.run(["go", "list", "-deps", *packages], cwd=copy, env=environment, check=True, stdout=subprocess.DEVNULL)
            found |= set((copy / "go.sum").read_text(encoding="utf-8").splitlines())
    return found


if __name__ == "__main__":
    sys.exit(main())
