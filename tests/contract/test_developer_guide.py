"""docs/developer-guide.md names only files, folders and tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/developer-guide.md").read_text(encoding="utf-8")
# A path has a folder and no placeholder: `tasks/main.yml` is one of any role, `provider_<name>.yml.j2` of any provider.
TOP = ("changelogs", "docs", "meta", "molecule", "plugins", "roles", "tests", "tools")
OF_A_ROLE = {"meta/main.yml", "meta/argument_specs.yml"}
NAMED = sorted({word for span in re.findall(r"`([^`]+)`", GUIDE) for word in span.split() if word.partition("/")[0] in TOP and "/" in word} - OF_A_ROLE)
TESTS = [name for name in NAMED if "::" in name]
PATHS = [name for name in NAMED if "::" not in name and not re.search("<|[A-Z]{3}", name)]


@pytest.mark.parametrize("name", TESTS)
def test_a_named_test_exists(name: str) -> None:
    path, _colons, test = name.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert test in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("path", PATHS)
def test_a_named_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_guide_names_a_test_for_each_part() -> None:
    parts = [
        part
        for part in GUIDE.split("\n## ")[1:]
        if part.startswith(("An option", "A gateway", "A release", "An engine", "A claim", "A finding", "A benchmark"))
    ]
    assert len(parts) == 8 and all("First failing test: `tests/" in part for part in parts)
    assert len(TESTS) > 15 and len(PATHS) > 40
