# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/plugins.md: the modules for playbooks of users, with their examples. All others have the documentation fragment `internal`."""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import yaml

MODULES = Path(__file__).resolve().parent.parent / "plugins/modules"
PUBLIC = {
    "Schedulers": ("scorer_config",),
    "Model servers": ("vllm_health", "vllm_health_info", "vllm_warmup", "vllm_adapters", "vllm_perf"),
    "Stacks": ("stack_validation", "stack_diagnosis", "cluster_drift", "resource_ready"),
    "A cluster to start with": ("cluster_inventory",),
}


def documents(module: str) -> dict[str, str]:
    """The texts DOCUMENTATION, EXAMPLES and RETURN of a module."""
    statements = ast.parse((MODULES / f"{module}.py").read_text(encoding="utf-8")).body
    given = [node for node in statements if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)]
    return {node.targets[0].id: str(t.cast(ast.Constant, node.value).value) for node in given if isinstance(node.targets[0], ast.Name)}


def page() -> str:
    """The modules in groups, what each does, and its examples."""
    lines = [
        "# Modules for your own playbooks",
        "",
        "These run without the roles of this collection, on any cluster or server. `ansible-doc llm_d.inference.vllm_health` has all options and returned",
        "values of one. All other modules are internal to the roles, as `ansible-doc` says of each: their options and results may change in any release.",
        "",
    ]
    for group, modules in PUBLIC.items():
        lines += [f"## {group}", ""]
        for module in modules:
            texts = documents(module)
            about = yaml.safe_load(texts["DOCUMENTATION"])
            lines += [
                f"### `{module}`",
                "",
                f"{about['short_description']}. {_plain(about['description'][0])}",
                "",
                "```yaml",
                texts["EXAMPLES"].strip(),
                "```",
                "",
            ]
    return "\n".join(lines).rstrip() + "\n"


def _plain(text: str) -> str:
    """Ansible's markup as Markdown, without the collection's name."""
    return re.sub(r"(?:RV|[BCIOVMP])\((?:llm_d\.inference\.)?((?:[^()#]|\([^()]*\))*)(?:#\w+)?\)", r"`\1`", text)
