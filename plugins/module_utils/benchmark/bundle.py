# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packs a program of this collection into one zip file that Python 3.11 or newer runs without Ansible. Of the load client: `python perf.pyz OPTIONS.json`."""

from __future__ import annotations

import ast
import io
import pathlib
import zipfile

LOAD_CLIENT = "benchmark/cli"  # its main module
PACKAGE = "ansible_collections/llm_d/inference/plugins/module_utils"
_MAIN_PY = "import sys\nfrom {} import main\nraise SystemExit(main(sys.argv[1:]))\n"


def module_names(folder: pathlib.Path, main: str = LOAD_CLIENT) -> list[str]:
    """The modules of a program, such as `benchmark/cli`: `main`, and all that it imports with relative imports. `folder`: module_utils."""
    modules, waiting = [], [main]
    while waiting:
        name = waiting.pop()
        if name in modules:
            continue
        modules.append(name)
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                package = [*name.split("/")[: -node.level], *(node.module or "").split(".")]
                path = "/".join(part for part in package if part)
                # `from .module import name`, or `from .package import module`
                waiting += [path] if (folder / f"{path}.py").is_file() else [f"{path}/{alias.name}" for alias in node.names]
    return modules


def bundle(folder: pathlib.Path | None = None, main: str = LOAD_CLIENT) -> bytes:
    """The content of the zip file that runs the function `main` of the module `main`. The same sources give the same bytes."""
    folder = folder or pathlib.Path(__file__).parent.parent
    content = {f"{PACKAGE}/{name}.py": (folder / f"{name}.py").read_text(encoding="utf-8") for name in sorted(module_names(folder, main))}
    packages = {str(parent) for name in content for parent in pathlib.PurePosixPath(name).parents if parent.name}
    content |= {f"{package}/__init__.py": "" for package in packages}
    main_py = _MAIN_PY.format(f"{PACKAGE}/{main}".replace("/", "."))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted({**content, "__main__.py": main_py}.items()):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
