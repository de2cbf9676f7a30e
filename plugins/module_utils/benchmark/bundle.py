# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packs a program of this collection into one file, which Python 3.11 or newer runs without Ansible, such as `python perf.pyz OPTIONS.json`."""

from __future__ import annotations

import ast
import io
import pathlib
import zipfile

FIRST = "benchmark/cli"  # of the load client
PACKAGE = "ansible_collections/llm_d/inference/plugins/module_utils"
_MAIN = "import sys\nfrom {} import main\nraise SystemExit(main(sys.argv[1:]))\n"


def names(folder: pathlib.Path, first: str = FIRST) -> list[str]:
    """The modules of the program, such as `benchmark/cli`, the main module first, found by their relative imports. `folder` holds the packages."""
    modules, waiting = [], [first]
    while waiting:
        name = waiting.pop()
        if name in modules:
            continue
        modules.append(name)
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                package = [*name.split("/")[: -node.level], *(node.module or "").split(".")]
                path = "/".join(part for part in package if part)
                waiting += [path] if (folder / f"{path}.py").is_file() else [f"{path}/{alias.name}" for alias in node.names]
    return modules


def bundle(folder: pathlib.Path | None = None, first: str = FIRST) -> bytes:
    """The content of the file, whose main module is `first`. The same sources give the same bytes."""
    where = folder or pathlib.Path(__file__).parent.parent
    content = {f"{PACKAGE}/{name}.py": (where / f"{name}.py").read_text(encoding="utf-8") for name in sorted(names(where, first))}
    packages = {str(parent) for name in content for parent in pathlib.PurePosixPath(name).parents if parent.name}
    content |= {f"{package}/__init__.py": "" for package in packages}
    main = _MAIN.format(f"{PACKAGE}/{first}".replace("/", "."))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted({**content, "__main__.py": main}.items()):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return made.getvalue()
