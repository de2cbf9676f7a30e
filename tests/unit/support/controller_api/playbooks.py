# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks that AWX finds in the checkout of a project."""

from __future__ import annotations

import hashlib
import os
import pathlib
import re

HIDDEN = {"roles", "tasks", "group_vars", "host_vars"}
PLAYBOOK = re.compile(r"^\s*?-?\s*?(?:hosts|(?:ansible\.builtin\.)?include|(?:ansible\.builtin\.)?import_playbook):", re.MULTILINE)


def playbooks(folder: pathlib.Path) -> list[str]:
    """The playbooks of a checkout, by their path within it."""
    names = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in HIDDEN and not name.startswith(".")]
        paths = [pathlib.Path(place, name) for name in files if name.endswith((".yml", ".yaml"))]
        names += [str(path.relative_to(folder)) for path in paths if is_playbook(path)]
    return sorted(names, key=str.lower)


def is_playbook(path: pathlib.Path) -> bool:
    """Whether it looks like one to AWX (awx/main/utils/ansible.py)."""
    text = path.read_text(encoding="utf-8", errors="ignore")
    return text.startswith("$ANSIBLE_VAULT;") or bool(PLAYBOOK.search(text))


def revision(folder: pathlib.Path, branch: str) -> str:
    """A digest in place of the commit of a checkout; it changes with the playbooks and with the branch."""
    return hashlib.sha1(repr((str(folder), branch, playbooks(folder))).encode(), usedforsecurity=False).hexdigest()
