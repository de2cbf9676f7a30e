# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of playbooks as this user runs them. Texts name them as in a checkout; an installed collection has neither that folder nor the Makefile."""

from __future__ import annotations

import functools
import re
import typing as t
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
_PLAYBOOK = "llm_d.inference."
# From a command of make, or the path of a playbook, to the name of the playbook.
_NAMES: tuple[tuple[re.Pattern[str], str | t.Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\bmake (?:site|validate) INVENTORY=[^\s,]+, or: "), ""),  # the second command does the same
    (re.compile(r"\bmake (site|validate) INVENTORY=([^\s,;)]+)"), rf"ansible-playbook -i \2 {_PLAYBOOK}\1"),
    (re.compile(r"\bmake inventory NAME=([^\s,;)]+)"), rf"ansible-playbook {_PLAYBOOK}inventory -e inventory_name=\1"),
    (re.compile(r"\bmake down\b"), f"ansible-playbook {_PLAYBOOK}local_cluster -e local_cluster_state=absent"),
    (re.compile(r"\bmake (site|validate|inventory)\b"), rf"ansible-playbook {_PLAYBOOK}\1"),
    (re.compile(r"(?<![\w/.-])(?:playbooks/(\w+)|(site))\.yml\b"), lambda match: _PLAYBOOK + (match[1] or match[2])),
)


@functools.cache
def installed() -> bool:
    """Whether the collection was installed by ansible-galaxy, which writes a manifest, or was sent to another host."""
    return (_ROOT / "MANIFEST.json").is_file() or not (_ROOT / "galaxy.yml").is_file()


def spelled(value: t.Any, leave: t.Collection[str] = ()) -> t.Any:
    """A text, and every text in data, with playbooks named as this user starts them. leave: keys of a mapping whose values stay."""
    if not installed():
        return value
    if isinstance(value, str):
        if ".yml" in value or "make " in value:
            for pattern, name in _NAMES:
                value = pattern.sub(name, value)
        return value
    if isinstance(value, dict):
        return {key: item if key in leave else spelled(item, leave) for key, item in value.items()}
    return [spelled(item, leave) for item in value] if isinstance(value, list) else value
