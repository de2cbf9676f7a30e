# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links between documents lead to files and headings that exist, and so do the names of documents in comments, messages and roles."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / name for name in subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()]
DOCUMENTS = [path for path in FILES if path.suffix == ".md"]
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
_NAMED = re.compile(r"(?<![\w/.-])docs/([\w-]{2,}\.(?:md|schema\.json|yml))\b(?:#([a-z][\w-]*))?")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@functools.cache
def anchors(path: Path) -> set[str]:
    """The anchors of the headings of a document, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    lost = []
    for name, anchor in _LINK.findall(_CODE.sub("", path.read_text(encoding="utf-8"))):
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or anchor and target.suffix == ".md" and anchor not in anchors(target):
            lost.append(f"{name}#{anchor}")
    assert not lost


def test_documents_that_are_named_are_there() -> None:
    lost = []
    for path in FILES:
        if path.is_file() and path.suffix in (".py", ".yml", ".j2", ".md", ".sh", "") and path.stat().st_size < 2_000_000:
            for name, anchor in _NAMED.findall(path.read_text(encoding="utf-8", errors="replace")):
                target = ROOT / "docs" / name
                if not target.exists() or anchor and anchor not in anchors(target):
                    lost.append(f"{path.relative_to(ROOT)}: {name}#{anchor}")
    assert not lost


def test_tests_that_documents_name_exist() -> None:
    tests = {name for path in FILES if path.is_file() and path.suffix == ".py" for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))}
    tests |= {path.stem for path in FILES if path.suffix == ".py"}
    named = {name for path in DOCUMENTS for name in re.findall(r"\btest_\w+", path.read_text(encoding="utf-8"))}
    assert named and not named - tests
