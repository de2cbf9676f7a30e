# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIGINT and SIGTERM as an exception, for work that has to be cleaned up."""

from __future__ import annotations

import collections.abc as c
import contextlib
import os
import signal
import typing as t


class Interrupted(BaseException):
    """SIGINT or SIGTERM was received."""


@contextlib.contextmanager
def signals() -> c.Iterator[dict[str, bool]]:
    """Turn SIGINT and SIGTERM into an exception, and give them their usual effect afterwards. Once `closing` is set, none is raised."""
    guard, received = {"closing": False}, []

    def handle(number: int, _frame: t.Any) -> None:
        received.append(number)
        if not guard["closing"]:
            guard["closing"] = True
            raise Interrupted

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield guard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if received:
            os.kill(os.getpid(), received[0])
