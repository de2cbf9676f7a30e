# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No test of the gate depends on the speed of the machine: none compares times of a clock or counts its sleeps, and none has a timeout below PATIENCE seconds.

Tests that have to are marked `timing` (or `rest`) and run in `make nightly`. Code that waits takes a clock as an argument (common/clock.py), and its tests a
FakeClock.
"""

from __future__ import annotations

import ast
import collections.abc as c
from pathlib import Path

import pytest

CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "thread_time", "time", "time_ns"}
PATIENCE = 10
# In these, `timeout` is a kind of error, and its value a count.
COUNTS = {"test_comparison.py", "test_result.py", "test_totals.py"}


def of_nightly(node: ast.AST) -> bool:
    """Whether a function, a class or a module (`pytestmark`) is marked for nightly."""
    given = [*getattr(node, "decorator_list", [])]
    for each in getattr(node, "body", []) if isinstance(node, ast.Module) else []:
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "pytestmark":
            given.append(each.value)
    marks = " ".join(map(ast.unparse, given))
    # A mark of single parameters is no mark of the function, whose other cases run in the gate.
    return any(f"pytest.mark.{name}" in marks.replace(f"marks=pytest.mark.{name}", "") for name in ("timing", "rest"))


def reads_a_clock(node: ast.AST, names: c.Container[str]) -> bool:
    """Whether an expression reads a clock, or contains a name that was assigned such a time."""
    return any(
        (isinstance(each, ast.Attribute) and each.attr in CLOCKS and isinstance(each.value, ast.Name) and each.value.id == "time")
        or (isinstance(each, ast.Attribute) and each.attr == "elapsed")
        or (isinstance(each, ast.Name) and each.id in names)
        for each in ast.walk(node)
    )


def counts_its_sleeps(node: ast.AST) -> bool:
    """Whether a loop checks a limited number of times with a pause, which is a time limit."""
    if not isinstance(node, ast.For) or not ast.unparse(node.iter).startswith("range("):
        return False
    called = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return any((each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")) == "sleep" for each in called)


def offenders(source: str) -> list[str]:
    """`LINE: REASON` for each use of time."""
    tree = ast.parse(source)
    rows: list[str] = []

    def visit(node: ast.AST, names: frozenset[str]) -> None:
        if of_nightly(node):
            return
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            assignments = [each for each in ast.walk(node) if isinstance(each, ast.Assign) and reads_a_clock(each.value, names)]
            names |= {each.id for one in assignments for target in one.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        if isinstance(node, ast.Compare) and reads_a_clock(node, names):
            rows.append(f"{node.lineno}: it compares times of a clock: {ast.unparse(node)}")
        if counts_its_sleeps(node):
            rows.append(f"{getattr(node, 'lineno', 0)}: it counts its sleeps, and a busy machine needs more of them: waiting.until has no limit of its own")
        given = [(each.arg, each.value) for each in node.keywords] if isinstance(node, ast.Call) else []
        given += [(getattr(key, "value", ""), value) for key, value in zip(node.keys, node.values, strict=True)] if isinstance(node, ast.Dict) else []
        for name, value in given:
            if str(name).endswith("timeout") and isinstance(value, ast.Constant) and isinstance(value.value, (int, float)) and 0 < value.value < PATIENCE:
                rows.append(f"{value.lineno}: {name} is {value.value}, and a busy machine takes longer")
        for child in ast.iter_child_nodes(node):
            visit(child, names)

    visit(tree, frozenset())
    return rows


def test_no_test_of_the_gate_measures_time(root: Path) -> None:
    files = [file for folder in ("tests/unit", "tests/contract") for file in sorted((root / folder).rglob("*.py")) if file != Path(__file__)]
    rows = [f"{file.relative_to(root)}:{each}" for file in files for each in offenders(file.read_text(encoding="utf-8"))]
    assert [each for each in rows if not (": timeout is " in each and COUNTS & {Path(each.partition(":")[0]).name})] == []
    assert len(files) > 200


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("def test_a():\n    start = time.monotonic()\n    work()\n    assert time.monotonic() - start < 2", 1),
        ("def test_a():\n    start = time.monotonic()\n    work()\n    taken = time.monotonic() - start\n    assert 1 < 2 and taken < 2", 1),
        ("def test_a():\n    assert wait.elapsed < 5", 1),
        ("def test_a():\n    call(module, request_timeout=0.5)", 1),
        ("OPTIONS = {'timeout': 1, 'retries': 0}", 1),
        ("@pytest.mark.timing\ndef test_a():\n    assert time.monotonic() < 5", 0),
        ("pytestmark = [pytest.mark.usefixtures('clock'), pytest.mark.rest]\ndef test_a():\n    assert time.monotonic() < 5", 0),
        ("@pytest.mark.parametrize('how', [pytest.param(1, marks=pytest.mark.timing), 2])\ndef test_a(how):\n    assert time.monotonic() < 5", 1),
        ("def test_a():\n    for _try in range(50):\n        if seen():\n            return\n        time.sleep(0.1)", 1),
        ("def test_a():\n    for number in range(3):\n        assert ask(number)\n    while not seen():\n        time.sleep(0.1)", 0),
        ("def test_a():\n    stamp = time.time()\n    assert call(timeout=60, now=stamp)", 0),
        ("def test_a():\n    assert call(timeout=0)['failed']", 0),
    ],
)
def test_clock_comparisons_short_timeouts_and_counted_sleeps_are_detected(source: str, count: int) -> None:
    assert len(offenders(source)) == count
