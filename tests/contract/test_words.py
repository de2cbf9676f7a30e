# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing uses words that docs/glossary.md bans, and cited pages exist."""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

from plays import ROOT

ROOMS = (
    *("plugins", "roles", "playbooks", "molecule", "inventories", "docs", "tools", "meta", "tests", "extensions", "changelogs"),
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "galaxy.yml", "noxfile.py", ".github"),
)
TEXT = {".py", ".yml", ".j2", ".md", ".mod", ""}
GLOSSARY = ROOT / "docs/glossary.md"
# Former names that users may still write, by the place where they are accepted.
ALIASES = {"roles/gateway_provider": "leftovers", "tests/": "leftovers"}
# Names that do not say what their value is, and words that are in no name.
EMPTY = {"found", "told", "said", "asked", "wrong", "seen"}
NOWHERE = EMPTY - {"found"}
# A key, and the variable of a result, in a line of YAML.
_KEY = re.compile(r"^\s*(?:- )?(\w+):|\bregister: (\w+)")
# Fields that differences and findings have beside `planned` and `needed`.
RETURNED = {("drift.py", "found"), ("finding.py", "found"), ("test_cluster_drift.py", "found")}


def out() -> dict[str, str]:
    """{regular expression of a banned word: its replacement}."""
    table = GLOSSARY.read_text(encoding="utf-8").partition("## Words that are out")[2]
    return {word: row[0].strip() for row in re.findall(r"^\| (.+?) \| (`.+`) \|$", table, re.MULTILINE) for word in re.findall(r"`([^`]+)`", row[1])}


def files() -> list[Path]:
    paths = [path for room in ROOMS for path in ([ROOT / room] if (ROOT / room).is_file() else sorted((ROOT / room).rglob("*")))]
    return [path for path in paths if path.is_file() and not path.is_symlink() and path.suffix in TEXT and path != GLOSSARY and "__pycache__" not in path.parts]


def test_words_that_are_out_stay_out() -> None:
    words = out()
    assert len(words) > 15
    banned = re.compile(r"\b(" + "|".join(words) + r")\b", re.IGNORECASE)
    violations = []
    for path in files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            violations += [
                f"{path.relative_to(ROOT)}:{number}: {match.group()!r} in {line.strip()[:160]}"
                for match in banned.finditer(line)
                if not any(str(path.relative_to(ROOT)).startswith(folder) and match.group() == word for folder, word in ALIASES.items())
            ]
    assert not violations, "\n".join(violations)


def names(tree: ast.Module) -> t.Iterator[tuple[int, str]]:
    """(line, name) of each variable, parameter, attribute, function, class and key of a mapping that a file defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Dict):
            yield from ((key.lineno, key.value) for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Constant):
            yield node.lineno, str(node.slice.value)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def names_of(path: Path) -> t.Iterator[tuple[int, str]]:
    """(line, name) of the file itself, and of what a file of Python or YAML names."""
    yield 0, path.stem
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from names(ast.parse(text))
    elif path.suffix == ".yml":
        yield from ((number, name) for number, line in enumerate(text.splitlines(), 1) for pair in _KEY.findall(line) for name in pair)


def test_names_contain_no_meaningless_words() -> None:
    violations = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files()
        for line, name in names_of(path)
        if (name.strip("_").lower() in EMPTY and (path.name, name) not in RETURNED) or NOWHERE & {*name.lower().split("_")}
    ]
    assert not violations, "\n".join(violations)


def test_docstrings_begin_with_their_noun_or_verb() -> None:
    """A beginning such as "Of 10 values" leaves the reader to guess what of them."""
    fragment = re.compile(r"(Of|That of|Those of|So that|Nor) ")
    violations = [
        f"{path.relative_to(ROOT)}:{node.body[0].lineno}: {text[:60]}"
        for path in files()
        if path.suffix == ".py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and (text := ast.get_docstring(node) or "") and fragment.match(text)
    ]
    assert not violations, "\n".join(violations)


def test_a_cited_page_can_be_opened() -> None:
    """Pages that text names are in the repository. Whole URLs are not checked."""
    pages = {path.name for path in [*files(), GLOSSARY] if path.suffix == ".md"}
    written = {"index.md", "table.md", "diagnosis.md", "endpoint_picker.md", "contributing.md", "internal.md", "reports.md"}  # by playbooks and the site
    missing = [
        f"{path.relative_to(ROOT)} cites {name}"
        for path in files()
        if path.suffix != ".md"
        for name in sorted(set(re.findall(r"\b([a-z0-9_-]+\.md)\b", re.sub(r"https://\S+", "", path.read_text(encoding="utf-8")))) - pages - written)
    ]
    assert not missing, "\n".join(missing)
