# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/architecture.md: the packages of plugins/module_utils and what each imports, read from the sources."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE_UTILS = ROOT / "plugins/module_utils"


def imports() -> dict[str, set[str]]:
    """For each package, the packages that it imports from."""
    graph: dict[str, set[str]] = {path.name: set() for path in sorted(MODULE_UTILS.iterdir()) if path.is_dir() and path.name != "__pycache__"}
    for path in sorted(MODULE_UTILS.rglob("*.py")):
        parts = path.relative_to(MODULE_UTILS).parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == len(parts):
                for package in [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]:
                    if package != parts[0]:
                        graph[parts[0]].add(package)
    return graph


def order(graph: dict[str, set[str]]) -> list[str]:
    """The packages from the bottom up, each after all that it imports from. Raises ValueError for a cycle."""
    placed: list[str] = []
    while len(placed) < len(graph):
        free = [name for name in graph if name not in placed and graph[name] <= set(placed)]
        if not free:
            raise ValueError(f"the packages {sorted(set(graph) - set(placed))} import each other in a cycle")
        placed += free
    return placed


def direct(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that no longer way implies: few enough for a picture."""
    reach: dict[str, set[str]] = {}
    for name in order(graph):
        reach[name] = graph[name].union(*(reach[other] for other in graph[name]))
    return [(name, other) for name in graph for other in sorted(graph[name]) if not any(other in reach[between] for between in graph[name] if between != other)]


def page() -> str:
    """The text of docs/architecture.md, without its banner."""
    graph = imports()
    placed = order(graph)
    lines = [
        "# Architecture", "", "## The way of a request", "",
        "![A client sends to the gateway, which asks the endpoint picker for a server, and sends the request there](pictures/request.svg)", "",
        "## The way of a value", "",
        "What `replicas: 2` of a model service passes on its way from the user's file to `spec.replicas` of a Deployment;",
        "[CONTRIBUTING.md](../CONTRIBUTING.md#the-way-of-a-value) has the functions.", "",
        "![The files that a value passes, and what each adds](pictures/value.svg)", "",
        "## Packages and their imports", "",
        "Read from the imports of `plugins/module_utils`. An arrow leads from a package to one that it imports from;",
        "arrows that a longer way implies are left out.",
        "`tests/contract/test_architecture.py` fails for an import in the other direction. What each package holds:",
        "[CONTRIBUTING.md](../CONTRIBUTING.md#the-packages-of-pluginsmodule_utils).", "",
        "![The packages, each above those that it imports from](pictures/packages.svg)", "",
        "| package | imports from |", "|---|---|",
    ]  # fmt: skip
    lines += [f"| `{name}` | {', '.join(sorted(graph[name], key=placed.index)) or 'nothing of ours'} |" for name in reversed(placed)]
    return "\n".join(lines) + "\n"
