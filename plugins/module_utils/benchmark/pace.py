# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether answers end as fast as their requests are due. Pure.

A server that keeps up takes about as long for the last request of a stage as for the first, however long that is. Behind one that does not, a queue grows, and
with it the time that each later request takes. So what counts is how the end-to-end time grows with the moment at which a request was due.
"""

from __future__ import annotations

import math

SURE = 3.0  # standard errors of the growth that may be chance
LEAST = 3  # answers that a line takes at least
KEPT = 0.95  # a server keeps up when answers end at no smaller share of the pace at which requests are due


class Pace:
    """The least-squares line through the end-to-end times of requests by when they were due, in sums that two clients can add up."""

    __slots__ = ("n", "due", "took", "due_due", "due_took", "took_took")

    def __init__(self) -> None:
        self.n = 0
        self.due = self.took = self.due_due = self.due_took = self.took_took = 0.0

    def add(self, due: float, took: float) -> None:
        """Add an answer: when its request was due and how long it took from then, both in seconds."""
        self.n += 1
        self.due += due
        self.took += took
        self.due_due += due * due
        self.due_took += due * took
        self.took_took += took * took

    def merge(self, other: Pace) -> None:
        """Add all answers of another client of the same stage."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def share(self) -> float:
        """The pace at which answers end as a share of the pace at which their requests are due, beyond chance; 1 where they keep up."""
        if self.n < LEAST:
            return 1.0
        spread = self.due_due - self.due * self.due / self.n
        both = self.due_took - self.due * self.took / self.n
        if spread <= 0 or both <= 0:
            return 1.0
        growth = both / spread
        rest = max(0.0, self.took_took - self.took * self.took / self.n - growth * both)
        error = math.sqrt(rest / (self.n - 2) / spread)
        return 1 / (1 + max(0.0, growth - SURE * error))

    @property
    def kept(self) -> bool:
        """Whether the server is known to keep up."""
        return self.n >= LEAST and self.share >= KEPT
