# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No test finds a free port, closes it and uses it later: by then another test may use it. Use the helpers of tests/unit/support/local_servers.py."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest


def offenders(source: str) -> list[int]:
    """The lines of `with` statements that open a socket, keep its number and close it."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.With)
        and any("socket" in ast.unparse(item.context_expr) for item in node.items)
        and all(isinstance(each, (ast.Assign, ast.Return)) or ".bind(" in ast.unparse(each) for each in node.body)
        and calls(node.body[-1]) in ({"getsockname"}, {"getsockname", "str"}, {"getsockname", "int"})
    ]


def calls(node: ast.AST) -> set[str]:
    """The names of the functions that a statement calls."""
    functions = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return {each.attr if isinstance(each, ast.Attribute) else ast.unparse(each) for each in functions}


def test_no_test_uses_a_free_port_after_closing_its_socket(root: Path) -> None:
    files = [file for folder in ("tests", "molecule") for file in sorted((root / folder).rglob("*.py"))]
    rows = [f"{file.relative_to(root)}:{line}" for file in files for line in offenders(file.read_text(encoding="utf-8"))]
    assert len(files) > 200 and rows == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("with socket.create_server(('127.0.0.1', 0)) as listener:\n    port = listener.getsockname()[1]", 1),
        ("def free():\n    with socket.socket() as listener:\n        listener.bind(('', 0))\n        return listener.getsockname()[1]", 1),
        ("with socket.create_server(('127.0.0.1', 0)) as server:\n    port = server.getsockname()[1]\n    ask(port)", 0),
        ("with socket.create_server(('127.0.0.1', 0)) as server:\n    reply = ask(server.getsockname()[1])", 0),
    ],
)
def test_a_port_used_after_its_socket_is_closed_is_detected(source: str, count: int) -> None:
    assert len(offenders(source)) == count
