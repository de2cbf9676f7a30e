# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words that docs/glossary.md has taken out stay out; what text cites is in the repository."""

from __future__ import annotations

import re
from pathlib import Path

from plays import ROOT

ROOMS = ("plugins", "roles", "playbooks", "molecule", "inventories", "docs", "tools", "meta", "README.md", "CONTRIBUTING.md")
TEXT = {".py", ".yml", ".j2", ".md", ""}
GLOSSARY = ROOT / "docs/glossary.md"
# Former names that users may still write, by the folder where they are accepted.
ALIASES = {"roles/gateway_provider": "leftovers"}


def out() -> dict[str, str]:
    """What not to write, by regular expression, with what to write instead."""
    table = GLOSSARY.read_text(encoding="utf-8").partition("## Words that are out")[2]
    return {word: row[0].strip() for row in re.findall(r"^\| (.+?) \| (`.+`) \|$", table, re.MULTILINE) for word in re.findall(r"`([^`]+)`", row[1])}


def files() -> list[Path]:
    found = [path for room in ROOMS for path in ([ROOT / room] if (ROOT / room).is_file() else sorted((ROOT / room).rglob("*")))]
    return [path for path in found if path.is_file() and not path.is_symlink() and path.suffix in TEXT and path != GLOSSARY and "__pycache__" not in path.parts]


def test_words_that_are_out_stay_out() -> None:
    words = out()
    assert len(words) > 15
    banned = re.compile(r"\b(" + "|".join(words) + r")\b", re.IGNORECASE)
    found = []
    for path in files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found += [
                f"{path.relative_to(ROOT)}:{number}: {match.group()!r} in {line.strip()[:160]}"
                for match in banned.finditer(line)
                if not any(str(path.relative_to(ROOT)).startswith(folder) and match.group() == word for folder, word in ALIASES.items())
            ]
    assert not found, "\n".join(found)


def test_a_cited_page_can_be_opened() -> None:
    """`docs/x.md`, `x.md section 3`: a reader of the repository finds it. A whole URL says where it is."""
    pages = {path.name for path in [*files(), GLOSSARY] if path.suffix == ".md"}
    written = {"index.md", "table.md", "diagnosis.md", "endpoint_picker.md", "contributing.md", "internal.md", "reports.md"}  # what playbooks and the site write
    wrong = [
        f"{path.relative_to(ROOT)} cites {name}"
        for path in files()
        if path.suffix != ".md"
        for name in sorted(set(re.findall(r"\b([a-z0-9_-]+\.md)\b", re.sub(r"https://\S+", "", path.read_text(encoding="utf-8")))) - pages - written)
    ]
    assert not wrong, "\n".join(wrong)
