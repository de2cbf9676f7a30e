# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of code that waits, passed as an argument: tests pass one that only moves when it sleeps."""

from __future__ import annotations

import re
import time
import typing as t


class Clock(t.Protocol):
    """Seconds from any origin, which never go back."""

    def now(self) -> float:
        """The time."""

    def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed."""


class _System:
    now = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)


SYSTEM: Clock = _System()


def retry_after(header: str) -> float:
    """The seconds to wait by the value of a Retry-After header; 0 for a date and for anything else."""
    return float(header) if re.fullmatch(r"[0-9]{1,9}", header) else 0.0
