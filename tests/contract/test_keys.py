# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key that plugins read from a mapping is one that they, or a program that they run, write: facts and results are plain mappings, unknown to mypy."""

from __future__ import annotations

import ast
import typing as t

from plays import ROOT

# Keys that other programs write, by writer.
OTHERS = {
    "the kernel, in /proc/meminfo": {"MemAvailable"},
    "ip -json": {"dst", "ifname", "prefixlen"},
    "an image of the Open Container Initiative": {"layers"},
    "a JSON schema": {"not"},
    "ansible-core, in argument_specs.yml and MANIFEST.json": {"argument_specs", "collection_info"},
}
# Keys that are formatted, as f"{measure}_ratio".
FORMATTED = {"ttft_p90_ratio", "ttft_p90_differs"}


def reads(tree: ast.AST) -> dict[ast.Constant, str]:
    """{the node of a key: the key} of each `mapping["key"]` that is not written to."""
    subscripts = (node for node in ast.walk(tree) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load))
    return {node.slice: node.slice.value for node in subscripts if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)}


def names(tree: ast.AST, without: t.Container[ast.AST]) -> t.Iterator[str]:
    """Each text, keyword, parameter and annotated name, without the keys that are read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in without:
            yield node.value
        elif isinstance(node, ast.keyword | ast.arg) and node.arg:
            yield node.arg
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def unwritten(sources: dict[str, str]) -> list[str]:
    """`place: key` of each key that the sources read, and that is written nowhere in them. sources: {path: text}."""
    trees = {path: ast.parse(text) for path, text in sources.items()}
    keys = {path: reads(tree) for path, tree in trees.items()}
    written = {name for path, tree in trees.items() for name in names(tree, keys[path])}.union(FORMATTED, *OTHERS.values())
    return [f"{path}:{node.lineno}: {key}" for path, nodes in keys.items() for node, key in nodes.items() if key not in written]


def test_each_key_that_is_read_is_written() -> None:
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted((ROOT / "plugins").rglob("*.py"))}
    assert not unwritten(sources)
    renamed = {"writer.py": 'observation["aliases"] = {"requested": []}\n', "reader.py": 'print(observation["aliases"]["asked"])\n'}
    assert unwritten(renamed) == ["reader.py:1: asked"], "a key that was renamed where it is written is noticed"
