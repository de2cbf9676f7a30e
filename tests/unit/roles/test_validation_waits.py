# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""site.yml waits after a change, validate.yml does not. test_stack.py of module_utils/validation tests the durations."""

from __future__ import annotations

import typing as t
from pathlib import Path

import yaml


def test_only_the_verdict_alone_is_impatient(root: Path) -> None:
    def of(name: str) -> list[t.Any]:
        (play,) = yaml.safe_load((root / "playbooks" / name).read_text(encoding="utf-8"))
        return [role.get("vars", {}).get("validation_patient") for role in play["roles"] if role["role"] == "llm_d.inference.validation"]

    assert (of("validate.yml"), of("site.yml")) == ([False], [None])
