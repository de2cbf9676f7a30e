# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AWX offers a file as a playbook or inventory only if it recognizes it (awx/main/utils/ansible.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from controller_api.playbooks import is_playbook

ROOT = Path(__file__).resolve().parents[2]
# What older versions recognize as a playbook: a .yml file with a line that begins like this, after blanks and a dash.
SHORT_FORM = re.compile(rb"^\s*?-?\s*?(?:hosts|include|import_playbook):\s*?.*?$", re.MULTILINE)


@pytest.mark.parametrize("path", [ROOT / "site.yml", *sorted((ROOT / "playbooks").glob("*.yml"))], ids=lambda path: path.name)
def test_every_playbook_is_offered(path: Path) -> None:
    """Older versions recognize only the short form."""
    assert is_playbook(path) and SHORT_FORM.search(path.read_bytes())


@pytest.mark.parametrize("path", sorted(ROOT.glob("inventories/*/group_vars/**/*.yml")), ids=lambda path: path.stem)
def test_awx_recognizes_no_vars_file_as_a_playbook(path: Path) -> None:
    assert not is_playbook(path)


@pytest.mark.parametrize("folder", sorted(path for path in (ROOT / "inventories").iterdir() if path.is_dir()), ids=lambda path: path.name)
def test_every_inventory_is_offered(folder: Path) -> None:
    """AWX recognizes the file of an inventory by its name: `hosts`, without an extension."""
    assert (folder / "hosts").is_file()
