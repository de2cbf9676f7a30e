# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a server keeps up: whether answers end as fast as their requests are due. Pure.

A server that keeps up takes about as long for the last request of a stage as for the first, however long that is. Where one does not, a queue grows, and each
later request takes longer. So what counts is the slope of the end-to-end time over the time at which a request was due. With a slope of 1, each request takes
a second longer than one that was due a second earlier, and answers end at 1 / (1 + slope), half of the pace at which their requests are due.
"""

from __future__ import annotations

import math

CHANCE = 3.0  # a slope up to this many of its standard errors may be chance
MIN_ANSWERS = 3  # with fewer, the slope has no standard error
MIN_SHARE = 0.95  # a server keeps up when answers end at no smaller share of the pace at which requests are due


class Pace:
    """The least-squares line through the end-to-end times (`took`) of requests over the times at which they were `due`, both in seconds.

    It is kept as sums, which two clients can add up: `due_took` is the sum of the products.
    """

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
        """The pace at which answers end as a share of the pace at which their requests are due; 1 where it may be lower only by chance."""
        if self.n < MIN_ANSWERS:
            return 1.0
        # sums of squares and of products of the deviations from the means
        squares = self.due_due - self.due * self.due / self.n
        products = self.due_took - self.due * self.took / self.n
        if squares <= 0 or products <= 0:
            return 1.0
        slope = products / squares
        residual_squares = max(0.0, self.took_took - self.took * self.took / self.n - slope * products)
        error = math.sqrt(residual_squares / (self.n - 2) / squares)
        return 1 / (1 + max(0.0, slope - CHANCE * error))

    @property
    def keeps_up(self) -> bool:
        """Whether the server is known to keep up."""
        return self.n >= MIN_ANSWERS and self.share >= MIN_SHARE
