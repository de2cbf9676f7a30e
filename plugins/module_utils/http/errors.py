# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The exception of a failed HTTP exchange. Pure."""

from __future__ import annotations


class ExchangeError(Exception):
    """Why one exchange failed.

    kind: for programs, such as "refused" or "timeout"; the text is for people; remedy: what to do about it;
    status: the HTTP status, None when no response came.
    """

    def __init__(self, kind: str, what: str, remedy: str = "", status: int | None = None) -> None:
        super().__init__(what)
        self.kind = kind
        self.remedy = remedy
        self.status = status
