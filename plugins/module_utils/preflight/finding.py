# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A finding of the preflight: something that is missing before anything is changed. Pure."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class PreflightFinding:
    """What is missing. severity: error (nothing is changed) or warning."""

    id: str
    what: str
    found: str
    needed: str
    how: str
    severity: str = "error"
