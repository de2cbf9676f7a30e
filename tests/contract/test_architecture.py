# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages of plugins/module_utils: imports in one direction, pure modules that reach no I/O, unique names."""

from __future__ import annotations

import ast
import collections
import collections.abc as c
import functools
import re
from pathlib import Path

import pytest
from plays import ROOT

MODULE_UTILS = ROOT / "plugins/module_utils"
# The rows of the table in CONTRIBUTING.md, from the bottom up: a package imports from itself and from rows above it.
ORDER = (
    "common", "releases", "schema", "epp", "http", "k8s", "inference", "loadgen", "report", "schedulers", "benchmark", "plan", "preflight", "inventory",
    "validation", "conformance", "diagnosis", "local_cluster",
)  # fmt: skip
# Rooms within a package, in the same order; the modules next to them may import from all of them.
ROOMS = {"plan": ("parts", "engines", "gateways", "servers", "observability", "gpus", "checks", "cluster")}
# A module with one of these in its docstring computes from its arguments alone.
PURE = re.compile(r"\b(Pure|Computes only|Data only|Shapes only)\b")
# Modules that read or change anything outside of the process, or wait.
IMPURE = {
    "ansible", "ansible_collections", "asyncio", "concurrent", "ctypes", "fcntl", "ftplib", "glob", "http", "kubernetes", "multiprocessing", "openshift",
    "os", "pathlib", "requests", "resource", "selectors", "shutil", "signal", "socket", "ssl", "subprocess", "sys", "tempfile", "threading", "time",
    "urllib3",
}  # fmt: skip
# Parts of impure packages that only compute.
HARMLESS = {"http.HTTPStatus", "urllib.parse"}
CALLS = {"open", "input", "print", "exec", "eval", "__import__"}


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def modules() -> list[Path]:
    return sorted(MODULE_UTILS.rglob("*.py"))


def name_of(path: Path) -> str:
    """The name of a module, such as `k8s.readiness.judge`."""
    return ".".join(path.relative_to(MODULE_UTILS).with_suffix("").parts)


def package_of(path: Path) -> str:
    """The package of a module, such as `k8s`."""
    return path.relative_to(MODULE_UTILS).parts[0]


@functools.cache
def ours(path: Path) -> tuple[tuple[int, str], ...]:
    """(line, module) for each import of one of our modules."""
    return tuple(_ours(path))


def _ours(path: Path) -> c.Iterator[tuple[int, str]]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            package = [*path.relative_to(MODULE_UTILS).parts[: -node.level], *(node.module.split(".") if node.module else [])]
            if MODULE_UTILS.joinpath(*package).with_suffix(".py").is_file() and package:
                yield node.lineno, ".".join(package)
            else:
                yield from ((node.lineno, ".".join([*package, alias.name])) for alias in node.names)


def outside(path: Path) -> c.Iterator[str]:
    """The imports of a module that are not ours, at any time, with their full names: `urllib.parse`, `http.HTTPStatus`."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_pure(path: Path) -> bool:
    return PURE.search((ast.get_docstring(tree(path)) or "").split("\n\n")[0]) is not None


@functools.cache
def io_of(path: Path) -> set[str]:
    """The impure imports and calls of a module itself."""
    imported = {name for name in outside(path) if name.split(".")[0] in IMPURE and name not in HARMLESS and not name.startswith("urllib.parse")}
    called = {node.func.id for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS}
    return imported | called


def test_every_module_is_in_a_package_of_the_table():
    assert {path.name for path in MODULE_UTILS.iterdir() if path.name != "__pycache__"} == set(ORDER)
    assert modules(), "no modules to check"


def test_packages_import_downwards_only():
    upwards = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules()
        for line, name in ours(path)
        if ORDER.index(name.split(".")[0]) > ORDER.index(package_of(path))
    ]
    assert upwards == []


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_import_downwards_only(package):
    rooms = ROOMS[package]
    assert {path.name for path in (MODULE_UTILS / package).iterdir() if path.is_dir() and path.name != "__pycache__"} == set(rooms)

    def floor(parts: c.Sequence[str]) -> int:
        return rooms.index(parts[1]) if parts[1] in rooms else len(rooms)

    arrows = [(path, line, name.split(".")) for path in modules() if package_of(path) == package for line, name in ours(path)]
    upwards = [
        f"{path.relative_to(ROOT)}:{line} imports {'.'.join(parts)}"
        for path, line, parts in arrows
        if parts[0] == package and floor(parts) > floor(name_of(path).split("."))
    ]
    assert upwards == []


def test_no_cycles():
    graph = {name_of(path): {name for _line, name in ours(path)} for path in modules()}
    assert set().union(*graph.values()) <= set(graph), "an import was read wrongly"
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " imports ".join([*way[way.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*way, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("room", ["action", "filter", "lookup", "module_utils", "modules", "plugin_utils"])
def test_our_own_modules_are_imported_relatively(room):
    absolute = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "plugins" / room).rglob("*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "ansible_collections.llm_d" in ast.unparse(node)
    ]
    assert absolute == []


def test_modules_documented_as_pure_reach_no_io():
    paths = {name_of(path): path for path in modules()}
    pure = [path for path in modules() if is_pure(path)]
    assert len(pure) > 100, "most modules are pure, and say so in the first paragraph of their docstring"
    problems = []
    for path in pure:
        visited, waiting = set(), [name_of(path)]
        while waiting:
            name = waiting.pop()
            if name not in visited:
                visited.add(name)
                waiting += [other for _line, other in ours(paths[name])]
        problems += [f"{path.relative_to(ROOT)} reaches {what} in {name}" for name in sorted(visited) for what in sorted(io_of(paths[name]))]
    assert problems == []


def test_programs_are_started_in_one_place():
    # ansible-test refuses other places from ansible-core 2.21 on; that of the gate is older.
    callers = {
        path for path in [*modules(), *(ROOT / "plugins" / "modules").glob("*.py")] if re.search(r"subprocess\.(run|Popen|call|check_)\w*\(", path.read_text())
    }

    assert callers == {MODULE_UTILS / "common" / "programs.py"}


def test_no_base_name_twice_in_a_package():
    """A relative import such as `from .gateway import` is unambiguous. Packages within a package count as part of it."""
    names = collections.Counter((package_of(path), path.stem) for path in modules())
    assert [key for key, count in names.items() if count > 1] == []


def test_no_two_classes_of_one_name():
    names = collections.defaultdict(list)
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        if path.is_symlink():
            continue
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and node.name not in ("ActionModule", "CallbackModule", "FilterModule", "LookupModule", "ModuleDocFragment"):
                names[node.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in names.items() if len(paths) > 1} == {}


def test_unit_tests_mirror_the_packages():
    """The tests of `k8s/wait.py` are in `k8s/test_wait.py`."""
    tests = ROOT / "tests/unit/plugins/module_utils"
    stray = [path.relative_to(ROOT) for path in tests.rglob("test_*.py") if not (MODULE_UTILS / path.relative_to(tests)).with_name(path.name[5:]).is_file()]
    assert list(tests.rglob("test_*.py")) and stray == []


def test_the_table_in_contributing_has_the_packages_in_their_order():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert tuple(name for name in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) if name in ORDER) == ORDER
