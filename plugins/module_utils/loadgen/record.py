# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One request as it was measured. Pure."""

from __future__ import annotations

import dataclasses

CLIENT = "client"  # kind of failure: the client's host lacks something that it needs to send
MOST = 10**12  # tokens or milliseconds that a server may report of one request; a larger number is wrong, and may not fit a float


@dataclasses.dataclass(slots=True)
class Record:
    """The times and counts of one request. Times are seconds from the start of its stage."""

    number: int
    group: int
    planned: float
    sent: float | None = None
    first: float | None = None  # the first chunk with content
    last: float | None = None  # the last chunk with content
    end: float = 0.0  # the last byte, or the failure
    status: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    server: str | None = None
    gaps: list[float] = dataclasses.field(default_factory=list)  # between chunks with content
    queue_ms: float | None = None  # in the server's queue, where it reports that
    chunks: int = 0  # events with content
    model: str = ""
    turn: int = 0  # of a conversation
    token_source: str = "usage"  # who counted: usage, tokenize, chunks, none
    text: str | None = None  # of the answer, where it is kept
    error: str | None = None  # kind of failure
    detail: str | None = None  # the failure for people

    @property
    def lag(self) -> float | None:
        """Seconds by which the client sent late."""
        return None if self.sent is None else self.sent - self.planned

    @property
    def ttft(self) -> float | None:
        """Time to first token from the actual send."""
        return None if self.first is None or self.sent is None else self.first - self.sent

    @property
    def ttft_from_schedule(self) -> float | None:
        """Time to first token from the planned send: how long a user waited who came at that moment."""
        return None if self.first is None else self.first - self.planned

    @property
    def e2e(self) -> float | None:
        """From the actual send to the last content."""
        return None if self.last is None or self.sent is None else self.last - self.sent

    @property
    def e2e_from_schedule(self) -> float | None:
        """From the planned send to the last content."""
        return None if self.last is None else self.last - self.planned

    @property
    def tpot(self) -> float | None:
        """Time per output token after the first; undefined with fewer than two tokens, and where all of them came in one piece: then the time
        between them is unknown."""
        if self.first is None or self.last is None or self.last <= self.first or not self.output_tokens or self.output_tokens < 2:
            return None
        return (self.last - self.first) / (self.output_tokens - 1)

    @property
    def ntpot(self) -> float | None:
        """End-to-end time per output token."""
        return self.e2e / self.output_tokens if self.e2e is not None and self.output_tokens else None

    def fail(self, kind: str, detail: str) -> None:
        """Note a failure. Only the first counts, since later ones follow from it."""
        if not self.error:
            self.error, self.detail = kind, detail
